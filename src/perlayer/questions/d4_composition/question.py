"""Are later steps of a computation done in deeper layers?"""

from __future__ import annotations

import duckdb

from perlayer.questions.depth_use import NO_TOKENS, NOISE, UNDISSECTED, baseline, beside, dissected
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, noise_of

MEASURES = {"erasure": "forgetting a token", "attribution": "what is attributed to a token"}


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Until which layer tokens matter, and whether later ones do until a deeper one."""
    if not dissected(connection):
        return UNDISSECTED
    seen = connection.execute("SELECT count(*) > 0 FROM token_effects JOIN dissected_runs USING (run) WHERE full_depth")
    if not seen.fetchone()[0]:
        return NO_TOKENS
    sentences = [sentence for measure in MEASURES for sentence in _tokens(connection, measure)]
    if not sentences:
        sentences.append("The baseline has not been dissected yet.")
    words = "by erasure, the rise of that line is"
    sentences += beside(connection, "erasure_rise", words, "{:+.2f}".format)
    return " ".join([*sentences, claims_fared(connection, "D4")])


def _tokens(connection: duckdb.DuckDBPyConnection, measure: str) -> list[str]:
    depth, rise = (baseline(connection, f"{measure}_{what}") for what in ("depth", "rise"))
    if depth is None:
        return []
    text = (
        f"In the baseline {MEASURES[measure]} is at least half of what it is at most until layer {depth.mean:.2f} on "
        f"average ({noise_of(depth.noise, 2)})"
    )
    if rise is not None:
        layers = round(rise.mean, 2)
        text += "; from the first token that counts to the last, a line through these layers "
        text += f"{'falls' if layers < 0 else 'rises'} by {abs(layers):.2f} ({noise_of(rise.noise, 2)})"
    return [f"{text}."]


QUESTION = Question(
    key="D4",
    title="Are later steps of a computation done in deeper layers?",
    background=(
        "Residual erasure replaces the residual of one token after one layer by its mean: how far does the prediction "
        "of the answer move? Integrated gradients share the probability of the answer out among tokens. A token "
        "matters until the last layer at which its effect, or its absolute share, is at least half of what it is at "
        "most. Where a model composes, later operands matter until deeper layers. Texts are held-out windows, whose "
        "last tokens stand for an answer, so that tokens stand for operands; the first token that the answer sees and "
        "those that predict it are left out. AttnRes has no one residual that could be "
        "replaced, and is not shown. A rise along the text of less than a sixth of the depth, by least "
        "squares, is no sign of composition, and the middle is less than a sixth away from a half. The claims are "
        f"about the baseline. {NOISE}"
    ),
    runs=sql("depth_runs"),
    numbers=sql("d4_numbers"),
    numbers_title="Until which layer tokens matter, and how much deeper later ones do",
    signed=("erasure_rise", "attribution_rise"),
    testing=sql("depth_testing"),
    claims=sql("d4_claims"),
    figures=("erasure", "integrated_gradients"),
    verdict=verdict,
)
