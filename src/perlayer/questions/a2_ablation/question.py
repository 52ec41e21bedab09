"""How important is each layer?"""

from __future__ import annotations

import duckdb

from perlayer.questions.made_of import ABOUT_BASELINE, baseline, beside, findings, in_percent, unmeasured
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, layers, listed, noise_of

LEAD = """
    SELECT label, layer, in_nats(degradation) AS importance, category
    FROM ablations JOIN anatomy_runs USING (run)
    WHERE way = 'neighbour_average' AND full_depth AND run = lead
"""


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Between what importance spans, which layers are called what, and whether any interval says that one does harm."""
    if not findings(connection, "importance_range"):
        return unmeasured(connection, 2)
    sentences = [*_span(connection), *_categories(connection), *_harm(connection)]
    words = "the most important layer's lead over the least, in nats of log-perplexity, is"
    sentences += beside(connection, "importance_range", words)
    return " ".join([*sentences, claims_fared(connection, "A2")])


def _span(connection: duckdb.DuckDBPyConnection) -> list[str]:
    row = connection.execute(
        f"""SELECT arg_min(layer, importance), min(importance), arg_max(layer, importance), max(importance)
        FROM ({LEAD}) WHERE label = 'baseline' HAVING count(*) > 0"""
    ).fetchone()
    half = baseline(connection, "first_half_lead")
    if row is None:
        return []
    least, low, most, high = row
    sentences = [
        "In the baseline, replacing the weights of a layer by the mean of its neighbours' changes perplexity by "
        f"{in_percent(low)} (layer {least}) to {in_percent(high)} (layer {most})."
    ]
    if half is not None:
        sentences.append(
            "The most important layer of the first half of the depth lies above that of the second by "
            f"{half.mean:+.2f} nats of log-perplexity ({noise_of(half.noise, 2)})."
        )
    return sentences


def _categories(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        f"""SELECT category, list(layer ORDER BY layer) FROM ({LEAD}) WHERE label = 'baseline' GROUP BY category
        ORDER BY list_position(['critical', 'important', 'minor', 'redundant', 'anti'], category)"""
    ).fetchall()
    if not rows:
        return []
    return [f"By our thresholds {listed([f'{layers(some)} would be called {name}' for name, some in rows])}."]


def _harm(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        """SELECT run, list(layer ORDER BY layer) FILTER (high < 0), count(*)
        FROM ablations JOIN anatomy_runs USING (run) WHERE way = 'neighbour_average' AND full_depth
        GROUP BY run ORDER BY run"""
    ).fetchall()
    harmful = [f"{layers(some)} of {run}" for run, some, _ in rows if some]
    models = "one model" if len(rows) == 1 else f"{len(rows)} models"
    looked = f"of {sum(count for *_, count in rows)} intervals of {models}"
    if not harmful:
        return [f"No layer does harm: {looked} none lies below 0."]
    return [
        f"Perplexity falls without {listed(harmful)}: {looked} those lie below 0, where chance alone would put one in "
        "forty."
    ]


QUESTION = Question(
    key="A2",
    title="How important is each layer?",
    background=(
        "A layer is taken away, and importance is by how many percent perplexity on held-out text rises. As in the "
        "source its weights become the mean of its neighbours' weights; the first and the last layer have one "
        "neighbour, which is ours. Beside it the layer, its attention or its MLP gives nothing to the residual, or its "
        "mean over tokens. Intervals are of a bootstrap over documents. Categories (ours) are critical from +100 %, "
        "important from +20 %, minor from +2 %, redundant below, and anti below -0.5 % where the interval excludes 0. "
        f"{ABOUT_BASELINE}"
    ),
    runs=sql("anatomy_runs"),
    numbers=sql("a2_numbers"),
    numbers_title="By how many percent perplexity rises without a layer",
    signed=(
        "neighbour_average",
        "low",
        "high",
        "skipped",
        "attention_skipped",
        "mlp_skipped",
        "mean_ablated",
    ),
    testing=sql("anatomy_testing"),
    claims=sql("a2_claims"),
    figures=("layer_importance",),
    verdict=verdict,
    published=sql("a2_published"),
    published_title="Wietrzykowski 2026: SmolLM2-135M, 10 sentences, layers from 0, percent",
)
