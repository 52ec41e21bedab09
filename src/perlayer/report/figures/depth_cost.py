"""What separate heads cost the last layer, and where each layer ends, in models of growing depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "What separate heads cost models of growing depth"
CAPTION = (
    "Left: final training loss read after each layer, one line a depth, ending at that model's last layer; squares "
    "are plain models with as many layers. Right: the last layer minus the plain model of the same depth, means over "
    "seeds, with the interval that the claim is judged by. Depth is logarithmic."
)
SEPARATE = "residual = 'sandwich' AND readouts = 'separate' AND standard"


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a depth: the last layer plain and with separate heads, cost with interval, and every layer."""
    costs = _costs(connection).set_index("depth")
    rows = _layers(connection).pivot_table(index="depth", columns="layer", values="loss")
    rows.columns = [f"layer_{layer}" for layer in rows.columns]
    return costs.join(rows, how="left").reset_index()


def _costs(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    return connection.execute(
        f"""SELECT layers AS depth, baseline_loss AS plain, loss AS separate, cost, low, high, supervision.seeds
        FROM supervision LEFT JOIN contrasts ON question = 'Q2' AND part = format('{{}} layers', layers)
        WHERE {SEPARATE} ORDER BY layers"""
    ).df()


def _layers(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    return connection.execute(
        f"""SELECT layers AS depth, layer, final_loss.loss FROM supervision JOIN final_loss USING (run)
        WHERE {SEPARATE} ORDER BY ALL"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    costs, rows = _costs(connection), _layers(connection)
    if costs.empty:
        return style.empty_figure("No model with separate heads is here yet.")
    palette = style.layer_colours(costs["depth"])
    figure = style.new_figure(10.5, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=[1.2, 1])
    _draw_layers(left, rows, connection, palette)
    beside = costs.dropna(subset="cost")
    if beside.empty:
        style.say(right, "None stands beside a plain model of its depth yet.")
    else:
        _draw_costs(right, beside, palette)
    style.add_note(figure, _absent(connection))
    # Named where they begin, since they end on top of each other.
    starts = [(depth, *start) for depth, start in rows.groupby("depth")[["layer", "loss"]].first().iterrows()]
    named = [
        (layer, loss, f"{depth} layer{'' if depth == 1 else 's'}", palette[depth]) for depth, layer, loss in starts
    ]
    style.label_lines(left, named, side="left")
    return figure


def _draw_layers(axes: Axes, rows: pd.DataFrame, connection: duckdb.DuckDBPyConnection, palette: dict) -> None:
    import seaborn

    plain = connection.execute("SELECT layers, loss FROM ordinary WHERE residual = 'sandwich' ORDER BY layers").df()
    seaborn.lineplot(
        rows, x="layer", y="loss", hue="depth", palette=palette, marker="D", markersize=5, markeredgewidth=0,
        estimator=None, legend=False, ax=axes,
    )  # fmt: skip
    look = {"color": "#222222", "marker": "s", "linestyle": ":", "linewidth": 1, "markersize": 5, "markeredgewidth": 0}
    axes.plot(plain["layers"], plain["loss"], zorder=1, label="plain models", **look)
    axes.set(title="Loss by layer", xlabel="Layer", ylabel="Final training loss (nats per token)")
    _depth_axis(axes, [*rows["layer"], *plain["layers"]], room=0.3)
    if not plain.empty:
        axes.legend(frameon=False, loc="upper right")


def _draw_costs(axes: Axes, costs: pd.DataFrame, palette: dict) -> None:
    axes.axhline(0, color="#222222", linewidth=0.8)
    axes.plot(costs["depth"], costs["cost"], color="#999999", linewidth=1.2, zorder=2)
    for row in costs.itertuples():
        axes.plot([row.depth, row.depth], [row.low, row.high], color=palette[row.depth], linewidth=1.2)
        axes.scatter(row.depth, row.cost, color=[palette[row.depth]], marker="D", s=42, zorder=3)
        axes.annotate(
            f"{row.cost:+.3f}", (row.depth, row.cost), (6, 6), textcoords="offset points",
            path_effects=style.halo(), zorder=4,
        )  # fmt: skip
    axes.set(title="Last layer minus the plain model", xlabel="Layers", ylabel="Difference (nats per token)")
    axes.margins(y=0.15)
    _depth_axis(axes, costs["depth"])


def _depth_axis(axes: Axes, layers: list[int] | pd.Series, room: float = 0.0) -> None:
    """Depths on a logarithmic axis, with `room` for words before the first, as a share of the width."""
    from matplotlib.ticker import NullLocator

    ticks = sorted({int(layer) for layer in layers})
    ticks = [layer for layer in ticks if layer <= 4 or layer % 2 == 0 and layer <= 12 or layer % 12 == 0]
    axes.set_xscale("log", base=2)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(ticks, [str(layer) for layer in ticks])
    least, most = min(layers) / 1.2, max(layers) * 1.2
    axes.set_xlim(least / (most / least) ** (room / (1 - room)), most)


def _absent(connection: duckdb.DuckDBPyConnection) -> str:
    rows = connection.execute(
        f"""SELECT min_by(run, row(seed, readouts, run)) AS run FROM recipe_runs
        WHERE residual = 'sandwich' AND standard AND readouts IN ('none', 'probes', 'separate')
            AND layers IN (SELECT layers FROM recipe_runs WHERE {SEPARATE})
        GROUP BY layers, readouts = 'separate' HAVING NOT bool_or(present) ORDER BY layers, run"""
    ).fetchall()
    return "Not drawn, no results yet: " + ", ".join(run for (run,) in rows) if rows else ""
