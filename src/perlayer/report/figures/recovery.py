"""How long layers take to recover from noise, beside how important they are."""

from perlayer.report.figures import panels, perplexity_scale, style

TITLE = "Do layers that matter more take longer to recover?"
CAPTION = (
    "One column a setup, by its run of the lowest seed; a mark a layer, named by its number. Across: importance, by "
    "how many percent perplexity rises when its weights become the mean of its neighbours'. Above: updates of the "
    "layer alone until perplexity is back after noise on its weights; open marks had not recovered when training "
    "ended. Below: what remained at the end. In brackets Spearman's rank correlation."
)
EMPTY = {"anatomy_runs": "No layer has been trained back yet.", "": perplexity_scale.UNMEASURED}


def data(connection: style.Connection) -> style.Table:
    """One row a model and layer, with the rank correlation of the model."""
    sql = f"""SELECT label, run, layer, degradation AS importance, steps, recovered, perturbation, remaining, rho
        FROM recoveries JOIN ({perplexity_scale.MODELS}) USING (run)
        LEFT JOIN (SELECT run, layer, degradation FROM ablations WHERE way = 'neighbour_average') USING (run, layer)
        LEFT JOIN recovery_orders USING (run)
        ORDER BY place, layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure, stacks = panels.stacked(table, table["label"], (1, 1), height=5.0, rest=0.5)
    for mine, (above, below) in stacks:
        if mine["importance"].isna().all():
            style.say(above, "An only layer has no neighbours\nby which importance goes.")
            below.set_axis_off()
            continue
        _draw_marks(above, mine, "steps")
        _draw_marks(below, mine, "remaining")
        above.set_ylim(-0.14 * table["steps"].max() - 0.5, 1.12 * table["steps"].max() + 0.5)
        perplexity_scale.percent_scale(below, table["remaining"].min(), table["remaining"].max())
        for axes in (above, below):
            perplexity_scale.percent_scale(axes, table["importance"].min(), table["importance"].max(), along="x")
        panels.label_stack([above, below], "Updates until recovered", "Remaining rise of perplexity")
        below.set_xlabel("Importance: rise of perplexity")
        rho = mine["rho"].iloc[0]
        if rho == rho:  # all layers may recover alike
            above.set_title(f"{above.get_title(loc='left')}\n(rank correlation {rho:+.2f})", fontsize="medium")
    return perplexity_scale.finished(figure, connection, {})


def _draw_marks(axes: style.Axes, table: style.Table, column: str) -> None:
    faces = ["#D55E00" if recovered else "white" for recovered in table["recovered"]]
    axes.scatter(table["importance"], table[column], color=faces, edgecolors="#D55E00", s=26, linewidth=1.2, zorder=3)
    words = {"ha": "center", "fontsize": "small", "path_effects": style.halo(), "zorder": 4}
    for number, (_, row) in enumerate(table.sort_values("importance").iterrows()):
        height = (5, -12)[number % 2]  # neighbours may be close
        style.write(axes, str(row["layer"]), (row["importance"], row[column]), (0, height), **words)
