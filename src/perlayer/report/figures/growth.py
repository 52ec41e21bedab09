"""Where growth training ends beside uniform training, over what it costs."""

from perlayer.report.figures import style

TITLE = "Growth training beside uniform training"
CAPTION = (
    "Left: where validation loss of the last layer ends over the compute of training, in updates of the whole model; a "
    "mark a run, lines through the means of runs of as many updates. Right: the end of growth training minus that of "
    "uniform training, at equal steps, at equal compute and with about half the steps of uniform training, means over "
    "seeds with the intervals by which claims are judged, where there are some; below 0 growth ends lower."
)
EMPTY = "No growth training is here yet."
UNIFORM = {"color": "#222222", "marker": "s"}
COLOURS, MARKERS = ("#D55E00", "#0072B2", "#009E73", "#AA4499"), ("D", "^", "v", "P", "o")
BUDGETS = ("equal steps", "equal compute", "half the budget")
ABSENT = "SELECT run FROM recipe_runs WHERE growth IS NOT NULL AND NOT present ORDER BY run"


def data(connection: style.Connection) -> style.Table:
    """One row a run, where it ends; and one a group of runs and budget, where growth ends beside uniform training."""
    sql = """SELECT * FROM (
            SELECT method, run, seed, steps AS step, compute, val_loss FROM growth_runs
            WHERE NOT uniform OR "group" IN (SELECT uniform_group FROM growth_effects)
                OR run IN (SELECT run FROM recipe_runs WHERE changes = 'steps')
            UNION ALL BY NAME
            SELECT method, "group" AS run, steps AS step, uniform_steps, compute, val_loss, budget,
                val_loss - uniform_loss AS difference, low, high
            FROM growth_effects
            LEFT JOIN contrasts ON question = 'A6' AND claim = replace(budget, ' ', '_') AND part = "group"
        ) ORDER BY method <> 'uniform', method, run, step, budget NULLS FIRST, uniform_steps"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    methods = [method for method in dict.fromkeys(table["method"]) if method != "uniform"]
    looks = {"uniform": UNIFORM} | style.in_turn(methods, COLOURS, MARKERS)
    figure = style.new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    for method, look in looks.items():
        ends = table[table["budget"].isna() & (table["method"] == method)]
        means = ends.groupby("step")[["compute", "val_loss"]].mean()
        left.plot(means["compute"], means["val_loss"], color=look["color"], linewidth=1)
        left.scatter(ends["compute"], ends["val_loss"], s=22, linewidth=0, alpha=0.8, **look)
    left.set(xlabel="Compute (updates of the whole model)", ylabel="Validation loss (nats per token)", title="Loss")
    _draw_differences(right, table.dropna(subset="budget"), looks)
    style.legend(figure, {method: look | {"markersize": 5} for method, look in looks.items()}, columns=4)
    style.noted(figure, style.absent(connection, ABSENT))
    figure.get_layout_engine().set(w_pad=0.1)  # inches
    return figure


def _draw_differences(axes: style.Axes, table: style.Table, looks: dict[str, dict[str, str]]) -> None:
    if table.empty:
        style.say(axes, "No growth training stands beside\nuniform training yet.")
        return
    axes.axhline(0, color="#222222", linewidth=0.8)
    methods = list(dict.fromkeys(table["method"]))
    for number, method in enumerate(methods):
        shift = 0.5 * (number - (len(methods) - 1) / 2) / len(methods)
        for place, budget in enumerate(BUDGETS):
            mine = table[(table["method"] == method) & (table["budget"] == budget)]
            at = [place + shift] * len(mine)
            axes.vlines(at, mine["low"], mine["high"], color=looks[method]["color"], linewidth=1.2)
            axes.plot(at, mine["difference"], markersize=6, linestyle="", **looks[method])
    axes.set_xticks(range(len(BUDGETS)), BUDGETS)
    axes.set_xlim(-0.5, len(BUDGETS) - 0.5)
    style.signed_ticks(axes)
    axes.set(title="Growth minus uniform", ylabel="Difference (nats per token)")
    axes.grid(False, axis="x")
