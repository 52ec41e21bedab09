"""Which layers matter for later layers, and for tokens to come?"""

from __future__ import annotations

import duckdb

from perlayer.questions.depth_use import NO_HALVES, NOISE, UNDISSECTED, baseline, beside, dissected
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, noise_of, percent


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What skipping the second half changes at future tokens beside the first, and what supervision does to it."""
    if not dissected(connection):
        return UNDISSECTED
    sentences = [*_halves(connection), *_shares(connection)]
    words = "what skipping a layer of the second half changes in predictions of future tokens, over the first, is"
    sentences += beside(connection, "future_output_ratio", words)
    words = "what it changes in all predictions, over the first, is"
    sentences += beside(connection, "output_ratio", words)
    return " ".join([*sentences, claims_fared(connection, "D2")])


def _halves(connection: duckdb.DuckDBPyConnection) -> list[str]:
    named = ("future_effect_ratio", "future_output_ratio", "output_ratio")
    later, future, everywhere = (baseline(connection, name) for name in named)
    if later is None or future is None or everywhere is None:
        return [NO_HALVES]
    return [
        "In the baseline, skipping a layer of the second half changes later layers at future tokens "
        f"{later.mean:.3f} times as much as skipping one of the first half ({noise_of(later.noise)}), predictions of "
        f"future tokens {future.mean:.3f} times ({noise_of(future.noise)}) and all predictions {everywhere.mean:.3f} "
        f"times ({noise_of(everywhere.noise)})."
    ]


def _shares(connection: duckdb.DuckDBPyConnection) -> list[str]:
    first, second = (baseline(connection, f"future_share_{half}") for half in ("first", "second"))
    if first is None or second is None:
        return []
    return [
        f"What reaches predictions of future tokens is {percent(first.mean)} of what skipping changes everywhere in "
        f"the first half and {percent(second.mean)} in the second."
    ]


QUESTION = Question(
    key="D2",
    title="Which layers matter for later layers, and for tokens to come?",
    background=(
        "A layer is skipped: it gives nothing to the residual, and all later layers work on. Its effect on a later "
        "layer is how far that one's contribution changes, relative to its length; its effect on the output is the "
        "distance between the distributions of the next token. All tokens: skipped and looked at everywhere but at the "
        "first token of a text. Future tokens: skipped before a split and looked at from there on, so that only what "
        "attention carries forward counts. Local: as if that later layer alone read the change. Means over tokens; "
        "halves leave out layer 1, without which hardly a residual is left, and the last layer, which can change "
        f"nothing at future tokens. The claims are about the baseline. {NOISE}"
    ),
    runs=sql("depth_runs"),
    numbers=sql("d2_numbers"),
    numbers_title="What skipping a layer changes, second half over first",
    testing=sql("depth_testing"),
    claims=sql("d2_claims"),
    figures=("skip_effects", "depth_profile"),
    verdict=verdict,
)
