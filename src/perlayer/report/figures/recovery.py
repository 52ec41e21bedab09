"""How long layers take to recover from noise, beside how important they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style
from perlayer.report.figures.panels import label_stack, panel_rows, stacked_panels
from perlayer.report.figures.perplexity_scale import LEADS, UNMEASURED, finish, percent_scale

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Do layers that matter more take longer to recover?"
CAPTION = (
    "One column a setup, by its run of the lowest seed; a mark a layer, named by its number. Across: importance, by "
    "how many percent perplexity rises when its weights become the mean of its neighbours'. Above: updates of the "
    "layer alone until perplexity is back after noise on its weights; open marks had not recovered when training "
    "ended. Below: what remained at the end. In brackets Spearman's rank correlation."
)


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a model and layer, with the rank correlation of the model."""
    return connection.execute(
        f"""SELECT label, run, layer, degradation AS importance, steps, recovered, perturbation, remaining, rho
        FROM recoveries JOIN ({LEADS}) USING (run)
        LEFT JOIN (SELECT run, layer, degradation FROM ablations WHERE way = 'neighbour_average') USING (run, layer)
        LEFT JOIN recovery_orders USING (run)
        ORDER BY place, layer"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    table = data(connection)
    if table.empty:
        (taken,) = connection.execute("SELECT count(*) FROM anatomy_runs").fetchone()
        return style.empty_figure("No layer has been trained back yet." if taken else UNMEASURED)
    figure = style.new_figure(10.5, 5.0 * panel_rows(table["label"]) + 0.5)
    panels = stacked_panels(figure, table["label"], (1, 1))
    for label, (above, below) in panels.items():
        mine = table[table["label"] == label]
        if mine["importance"].isna().all():
            style.say(above, "An only layer has no neighbours\nby which importance goes.")
            below.set_axis_off()
            continue
        _draw_marks(above, mine, "steps")
        _draw_marks(below, mine, "remaining")
        above.set_ylim(-0.14 * table["steps"].max() - 0.5, 1.12 * table["steps"].max() + 0.5)
        percent_scale(below, table["remaining"].min(), table["remaining"].max())
        for axes in (above, below):
            percent_scale(axes, table["importance"].min(), table["importance"].max(), along="x")
        label_stack([above, below], ["Updates until recovered", "Remaining rise of perplexity"])
        below.set_xlabel("Importance: rise of perplexity")
        rho = mine["rho"].iloc[0]
        if rho == rho:  # all layers may recover alike
            above.set_title(f"{above.get_title(loc='left')}\n(rank correlation {rho:+.2f})", fontsize="medium")
    finish(figure, connection, [])
    return figure


def _draw_marks(axes: Axes, table: pd.DataFrame, column: str) -> None:
    faces = ["#D55E00" if recovered else "white" for recovered in table["recovered"]]
    axes.scatter(table["importance"], table[column], color=faces, edgecolors="#D55E00", s=26, linewidth=1.2, zorder=3)
    for number, row in enumerate(table.sort_values("importance").itertuples()):
        point, height = (row.importance, getattr(row, column)), (5, -12)[number % 2]  # neighbours may be close
        axes.annotate(
            str(row.layer), point, (0, height), textcoords="offset points", ha="center", fontsize="small",
            path_effects=style.halo(), zorder=4,
        )  # fmt: skip
