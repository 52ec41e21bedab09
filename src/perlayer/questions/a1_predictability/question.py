"""Can the weights of a layer be predicted from those of its neighbours?"""

from __future__ import annotations

import duckdb

from perlayer.questions.made_of import ABOUT_BASELINE, baseline, beside, findings, in_percent, unmeasured
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, noise_of


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How well weights are predicted beside chance, how much hangs on the penalty, and what replaced layers cost."""
    if not findings(connection, "r2"):
        return unmeasured(connection, 2)
    sentences = [*_predicted(connection), *_penalties(connection), *_replaced(connection)]
    sentences += beside(connection, "r2", "R2 is")
    return " ".join([*sentences, claims_fared(connection, "A1")])


def _predicted(connection: duckdb.DuckDBPyConnection) -> list[str]:
    named = ("r2", "r2_initial", "r2_over_initial", "r2_shuffled", "r2_over_shuffled")
    r2, initial, over_initial, shuffled, over_shuffled = (baseline(connection, name) for name in named)
    if r2 is None or initial is None or over_initial is None:
        return []
    above = [one for one in (r2, over_initial, over_shuffled) if one is not None]
    better = all(one.mean > 0 and beyond(one.mean, one.noise) for one in above)
    # two layers have the same neighbours in any order
    reordered = "" if shuffled is None else f" and {shuffled.mean:.3f} with the layers in other orders"
    return [
        f"In the baseline R2 is {r2.mean:.3f} over all layers and kinds of matrix ({noise_of(r2.noise)}), beside "
        f"{initial.mean:.3f} before training{reordered}: neighbours tell {'more' if better else 'no more'} of an "
        "entry than chance does."
    ]


def _penalties(connection: duckdb.DuckDBPyConnection) -> list[str]:
    best, alone = connection.execute(
        """SELECT max(best), max(alone) FROM (
            SELECT avg(best_penalty) AS best, avg(entries_alone) AS alone
            FROM predictability JOIN anatomy_runs USING (run)
            WHERE residual = 'sandwich' AND full_depth AND setup = 'baseline' GROUP BY matrix
        )"""
    ).fetchone()
    if best is None:
        return []
    return [
        f"With the best penalty for each layer no kind of matrix has a mean above {best:.3f}, and from entries alone "
        f"none above {alone:.3f}."
    ]


def _replaced(connection: duckdb.DuckDBPyConnection) -> list[str]:
    one, whole = baseline(connection, "one_replaced"), baseline(connection, "all_replaced")
    if one is None or whole is None:
        return []
    return [
        f"On average over seeds the best predicted layer replaced by its prediction changes perplexity by "
        f"{in_percent(one.mean)}, all of them by {in_percent(whole.mean)}."
    ]


QUESTION = Question(
    key="A1",
    title="Can the weights of a layer be predicted from those of its neighbours?",
    background=(
        "Each matrix of a layer is predicted entry by entry from the same matrix of the layers before and after, by "
        "ridge regression on their entries there and on mean and standard deviation of their rows and columns; it is "
        "fitted to half of a sample of entries, and R2 is of the other half. Chance is what the same gives before "
        "training, and with the layers in other orders, in which no layer has its own neighbours: 0 is no better than "
        "the mean. Features, penalty and split are ours, as the source does not publish its own. Then layers are "
        "replaced by their predictions, best predicted first, and perplexity is measured on held-out text. "
        f"{ABOUT_BASELINE}"
    ),
    runs=sql("anatomy_runs"),
    numbers=sql("a1_numbers"),
    numbers_title="R2 of weights predicted from neighbouring layers, beside chance",
    signed=("r2", "entries_alone", "before_training", "other_orders", "best_penalty"),
    testing=sql("anatomy_testing"),
    claims=sql("a1_claims"),
    figures=("weight_predictability",),
    verdict=verdict,
)
