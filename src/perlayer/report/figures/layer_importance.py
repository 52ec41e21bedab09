"""What taking away each layer does to perplexity, with intervals and categories."""

from perlayer.questions.a2_ablation.question import QUESTION
from perlayer.report.figures import panels, perplexity_scale, style

TITLE = "What every layer is worth"
CAPTION = (
    "By how many percent perplexity on held-out text rises without a layer, on a scale that is linear up to 1 % and "
    "logarithmic beyond. Large marks: its weights become the mean of its neighbours' weights, in the run of the lowest "
    "seed of each setup, coloured by category (ours), with the 95 % interval over documents; small ones beside them: "
    "the same in other seeds. Crosses: the layer gives nothing, or its mean over tokens. Last: the published table of "
    "SmolLM2-135M, layers counted from 1, with the categories that it uses."
)
EMPTY = perplexity_scale.UNMEASURED
SOURCE = "SmolLM2-135M, published"
CATEGORIES = {
    "critical": "#D55E00",
    "important": "#E69F00",
    "minor": "#56B4E9",
    "redundant": "#999999",
    "anti": "#AA4499",
}
OTHER_WAYS = {"skip": ("gives nothing", "#222222", "x"), "mean_ablation": ("gives its mean", "#0072B2", "+")}


def data(connection: style.Connection) -> style.Table:
    """One row a model, layer and way; of the published model what its table says."""
    sql = f"""SELECT label, run, run = representative AS is_representative, layer, way, degradation, low, high, category
        FROM ablations JOIN anatomy_runs USING (run) WHERE sublayer IS NULL
        UNION ALL BY NAME
        SELECT '{SOURCE}' AS label, NULL AS run, true AS is_representative, substr(layer, 2)::INTEGER + 1 AS layer,
            'neighbour_average' AS way, degradation, category
        FROM ({QUESTION.sql("published")}) WHERE (SELECT count(*) FROM ablations) > 0
        ORDER BY label = '{SOURCE}', label <> 'baseline', label, run, layer, way"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    figure, stacks = panels.stacked(table, table["label"], (1,), height=4.2)
    for mine, (axes,) in stacks:
        average, shown = mine[mine["way"] == "neighbour_average"], mine[mine["is_representative"]]
        representative, seeds = average[average["is_representative"]], average[~average["is_representative"]]
        axes.axhline(0, color="#222222", linewidth=0.8)
        bars = {"fmt": "none", "ecolor": "#555555", "elinewidth": 1, "capsize": 2.5}
        perplexity_scale.draw_changes(axes, representative.dropna(subset="low"), "layer", **bars)
        dots = {"color": representative["category"].map(CATEGORIES), "s": 34 if len(representative) <= 12 else 18}
        axes.scatter(representative["layer"], representative["degradation"], linewidth=0, zorder=3, **dots)
        axes.scatter(seeds["layer"] + 0.22, seeds["degradation"], color="#777777", s=9, alpha=0.7, linewidth=0)
        for way, (_, colour, marker) in OTHER_WAYS.items():
            rows = shown[shown["way"] == way]
            axes.scatter(rows["layer"] - 0.22, rows["degradation"], color=colour, marker=marker, s=22, linewidth=1)
        panels.depth_axis(axes, mine["layer"])
        panels.label_stack([axes], "Rise of perplexity")
        perplexity_scale.percent_scale(axes, table["degradation"].min(), table["degradation"].max())
    categories = [(name, colour, "o") for name, colour in CATEGORIES.items() if (table["category"] == name).any()]
    looks = style.looks([*categories, *OTHER_WAYS.values()], linestyle="")
    return perplexity_scale.finished(figure, connection, looks)
