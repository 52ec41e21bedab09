"""Every supervision of shallow layers, by what it costs the last layer."""

from typing import Any

from perlayer.report.figures import by_layer, style

TITLE = "What every supervision of shallow layers costs the last layer"
CAPTION = (
    "Left: final training loss of the last layer minus the baseline, means over seeds; where a claim is judged by it, "
    "with the interval of that. A run marked * drops layers while it trains, so that its training loss is no measure "
    "of the finished model: held-out losses stand there. Right: final training loss of layer 1; the dotted line is the "
    "depth-matched baseline. Sorted by the last layer; under each run how it is supervised."
)
EMPTY = "No supervised run stands beside a baseline yet."


def data(connection: style.Connection) -> style.Table:
    """One row a supervision, the cheapest for the last layer first."""
    sql = """WITH intervals AS (
            SELECT DISTINCT part AS run, low, high FROM contrasts
            WHERE question = 'Q5' AND claim IN ('cost', 'switched_off', 'llal', 'deeply_supervised')
        )
        SELECT run, readouts, weighting, schedule, reach, surgery, layer_dropout, other, cost, low, high, seeds,
            first_layer_loss, measured_on
        FROM supervision LEFT JOIN intervals USING (run)
        WHERE residual = 'sandwich' AND full_depth AND cost IS NOT NULL
        ORDER BY cost, run"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure = style.new_figure(10, 1.9 + 0.36 * len(table))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.6, 1])
    left.axvline(0, color="#222222", linewidth=0.8)
    for place, run in enumerate(table.itertuples()):
        _, colour, marker = style.SETUPS[run.readouts]
        look = {"marker": marker, "s": 42, "color": colour, "zorder": 3}
        left.plot([run.low, run.high], [place, place], color=colour, linewidth=1.2)
        left.scatter(run.cost, place, **look)
        right.scatter(run.first_layer_loss, place, **look)
    names = [f"{run.run}{'' if run.measured_on == 'train' else '*'}\n{_how(run)}" for run in table.itertuples()]
    left.set_yticks(range(len(table)), names, fontsize="small", linespacing=1.1)
    left.set_ylim(len(table) - 0.5, -0.5)
    left.set(title="Last layer minus the baseline", xlabel="Difference (nats per token)")
    right.set(title="Layer 1", xlabel="Loss (nats per token)")
    for (one,) in connection.execute(f"SELECT loss FROM ({style.DEPTH_MATCHED}) WHERE layers = 1").fetchall():
        right.axvline(one, color="#222222", linewidth=1, linestyle=":")
    shown = [style.SETUPS[setup] for setup in style.TRAINED if setup in set(table["readouts"])]
    style.legend(figure, style.looks(shown, linestyle=""), side="right")
    dropping = (table["measured_on"] != "train").any()
    held_out = "* by held-out loss: layers are dropped in training" if dropping else ""
    return style.noted(figure, by_layer.absent(connection, "true"), held_out)


def _how(run: Any) -> str:
    """What sets it apart, in a line."""
    surgery = "" if run.surgery == "none" else "surgery"
    dropout = "" if run.layer_dropout == "none" else f"layer dropout {run.layer_dropout}"
    parts = [f"weights {run.weighting}", run.schedule, run.reach, surgery, dropout, run.other]
    return ", ".join(part for part in parts if part not in ("", "constant", "all below"))
