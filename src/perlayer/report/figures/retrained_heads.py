"""Held-out loss of every layer before and after its readout is retrained on the frozen layers."""

from perlayer.report.figures import style

TITLE = "Held-out loss by layer before and after the readouts are retrained"
CAPTION = (
    "Left: the loss of the readouts that training left (hollow, dashed) and of the same readouts retrained on the "
    "frozen layers (filled, solid). Right: what retraining changes, and for comparison the gap between probes and "
    "separate heads (squares), before and after; bars across the marks are the intervals by which claims are judged, "
    "where there are some. The right axis is linear near zero and logarithmic beyond."
)
EMPTY = "No readouts of probes or separate heads have been retrained yet."
SHOWN = ("probes", "separate")
GAPS = {"gap_before": ("gap before", "--", "white"), "gap_after": ("gap after", "-", "#222222")}


def data(connection: style.Connection) -> style.Table:
    """One row a layer: losses of both setups, what retraining changes, and the gap between them."""
    sql = """SELECT retrained_gap.*, probes_before - separate_before AS gap_before,
            probes_after - separate_after AS gap_after, change.low AS separate_change_low,
            change.high AS separate_change_high, gap.low AS gap_after_low, gap.high AS gap_after_high
        FROM retrained_gap
        LEFT JOIN contrasts AS change
            ON change.question = 'Q6' AND change.claim = 'separate_higher' AND change.part = format('layer {}', layer)
        LEFT JOIN contrasts AS gap
            ON gap.question = 'Q6' AND gap.claim = 'probes_worse' AND gap.part = format('layer {}', layer)
        ORDER BY layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    setups = [setup for setup in SHOWN if table[f"{setup}_after"].notna().any()]
    if not setups:
        return style.empty_figure(EMPTY)
    figure = style.new_figure(10, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    ends = _draw_losses(left, table, setups)
    labels = _draw_changes(right, table, setups)
    style.noted(figure, style.absent_setups("Not drawn, not retrained yet", SHOWN, setups))
    style.label_lines(left, ends, side="left")
    style.label_lines(right, labels, side="left")
    return figure


def _draw_losses(axes: style.Axes, table: style.Table, setups: list[str]) -> list[tuple[float, float, str, str]]:
    """Draw losses before and after; returns the labels of the lines."""
    labels = []
    for setup in setups:
        label, colour, marker = style.SETUPS[setup]
        look = {"color": colour, "marker": marker}
        hollow = {"markersize": 8, "markerfacecolor": "white", "markeredgecolor": colour, "markeredgewidth": 1.1}
        style.draw_line(axes, table, "layer", f"{setup}_before", linestyle="--", linewidth=1.1, **look, **hollow)
        style.draw_line(axes, table, "layer", f"{setup}_after", markersize=5, markeredgewidth=0, **look)
        first = table.dropna(subset=f"{setup}_after").iloc[0]
        labels.append((first["layer"], first[f"{setup}_after"], label, colour))
    axes.set(title="Loss", ylabel="Held-out loss (nats per token)")
    style.layer_ticks(axes, table["layer"], room=0.36)
    grey = {"color": "#555555", "marker": "o"}
    before = {"linestyle": "--", "markersize": 8, "markerfacecolor": "white", **grey}
    handles = style.handles({"before": before, "after": {"markersize": 5, **grey}})
    axes.legend(handles=handles, frameon=False, loc="upper right")
    return labels


def _draw_changes(axes: style.Axes, table: style.Table, setups: list[str]) -> list[tuple[float, float, str, str]]:
    """Draw what retraining changes beside the gap; returns the labels of the lines."""
    axes.axhline(0, color="#222222", linewidth=0.8)
    looks = {}
    for setup in setups:
        label, colour, marker = style.SETUPS[setup]
        looks[f"{setup}_change"] = (label, colour, {"marker": marker})
    for column, (label, dashes, face) in GAPS.items():
        squares = {"marker": "s", "markerfacecolor": face, "markeredgecolor": "#222222", "linestyle": dashes}
        looks[column] = (label, "#222222", squares)
    labels, values = [], []
    for column, (label, colour, look) in looks.items():
        mine = table.dropna(subset=column)
        if mine.empty:
            continue
        style.draw_line(axes, mine, "layer", column, color=colour, markersize=5, **look)
        if f"{column}_low" in mine:
            axes.vlines(mine["layer"], mine[f"{column}_low"], mine[f"{column}_high"], color=colour, linewidth=1)
        labels.append((mine["layer"].iloc[0], mine[column].iloc[0], label, colour))
        values.append(mine.filter(regex=f"^{column}(_low|_high)?$").stack())
    axes.set(title="What retraining changes, beside the gap", ylabel="Difference (nats per token)")
    style.layer_ticks(axes, table["layer"], room=0.36)
    style.difference_scale(axes, min(part.min() for part in values), max(part.max() for part in values))
    return labels
