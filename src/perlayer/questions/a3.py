"""Do layers that matter more take longer to recover?"""

from __future__ import annotations

import duckdb

from perlayer.questions.made_of import ABOUT_BASELINE, beside
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, layers, listed

UNTRAINED = "No layer of a finished model of the recipe's depth has been trained back yet."


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How recovery goes with importance in each model, which layers never recover, and what chance would give."""
    rows = connection.execute(
        """SELECT label, recoveries.run, count(*), list(layer ORDER BY layer) FILTER (NOT recovered), max(steps),
            list(layer ORDER BY layer) FILTER (steps = 0), count(DISTINCT steps)
        FROM recoveries JOIN anatomy_runs USING (run) WHERE full_depth
        GROUP BY label, place, recoveries.run, seed ORDER BY place, seed"""
    ).fetchall()
    if not rows:
        return UNTRAINED
    correlations = dict(
        connection.execute("SELECT run, row(max(value) FILTER (metric = 'rank_correlation'), "
            "max(value) FILTER (metric = 'rank_correlation_p')) FROM dissections "
            "WHERE starts_with(metric, 'rank_correlation') GROUP BY run").fetchall()
    )  # fmt: skip
    parts = [
        f"{correlations[run][0]:+.2f} in {run} (p {correlations[run][1]:.3f})"
        for _, run, *_ in rows
        if run in correlations
    ]
    sentences = []
    if parts:
        sentences.append(
            "The rank correlation of the updates until a layer has recovered with its importance is "
            f"{listed(parts)}; p is how often an order by chance gives one as high."
        )
    alike = [run for _, run, *_, different in rows if different == 1]
    if alike:
        sentences.append(f"All layers of {listed(alike)} take the same, which has no order.")
    label, run, count, unrecovered, most, at_once, _ = rows[0]
    if unrecovered:
        sentences.append(f"In {run}, {layers(unrecovered)} of {count} had not recovered after {most} updates.")
    if at_once:
        sentences.append(f"In {run}, {layers(at_once)} needed none: noise hardly raised perplexity.")
    sentences += beside(connection, "recovery_rank_correlation", "the mean rank correlation is", "{:+.2f}".format)
    return " ".join([*sentences, claims_fared(connection, "A3")])


QUESTION = Question(
    key="A3",
    title="Do layers that matter more take longer to recover?",
    background=(
        "Noise of half the standard deviation of each matrix is added to the attention and MLP of one layer. Then that "
        "layer alone is trained until perplexity on held-out text is back within 5 % of the untouched model's, or a "
        "cap is reached. Importance is that of A2. What is not in the source is ours: the noise formula, AdamW and its "
        "rate, and when a layer counts as recovered. With six layers only an almost perfect order is beyond chance. "
        f"{ABOUT_BASELINE}"
    ),
    runs=sql("anatomy_runs"),
    numbers=sql("a3_numbers"),
    numbers_title="Recovery of every layer beside its importance",
    signed=("importance", "perturbation", "remaining"),
    testing=sql("anatomy_testing"),
    claims=sql("a3_claims"),
    figures=("recovery",),
    verdict=verdict,
)
