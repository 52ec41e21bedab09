"""Does multi-token prediction change what each layer knows?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import CHANCE_OF_PAIRS, claims_fared, layers, listed, noise_of, place, signed

TOKENS = {1: "the next token", 2: "the token after next"}


class Change(NamedTuple):
    """What multi-token prediction changes in the loss of one token read after one layer."""

    way: str
    ahead: int
    layer: int
    last: bool
    loss: float
    difference: float
    noise: float | None  # None: not known
    seeds: int
    module: float | None  # the loss of the module that predicts this token

    @property
    def outcome(self) -> str:
        """Whether the loss lies above or below that without multi-token prediction, or the runs cannot tell."""
        return place(self.difference, self.noise)


# Of the layers that fare alike: what is said of one, and of several.
OUTCOMES = {
    "below": ("knows more beyond the noise", "know more beyond the noise"),
    "above": ("knows less beyond the noise", "know less beyond the noise"),
    "within": ("changes within the noise alone", "change within the noise alone"),
    "unknown": ("cannot be judged, since no seeds tell the noise", "cannot be judged, since no seeds tell the noise"),
}


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Which layers know more or less of the next token and of the one after it, and what the module itself reaches."""
    changes = [
        Change(*row)
        for row in connection.execute(
            """SELECT way, ahead, layer, layer = layers, loss, difference, noise, seeds, module FROM multi_token_layers
            WHERE residual = 'sandwich' AND full_depth AND NOT at_rung AND ahead <= 2
            ORDER BY way, ahead, layer"""
        ).fetchall()
    ]
    if not changes:
        return "No model with multi-token prediction stands beside a plain model of its seed yet."
    (deepseek,) = connection.execute("SELECT deepseek_v3()").fetchone()
    mine = [change for change in changes if change.way == deepseek]
    sentences = [] if mine else ["DeepSeek-V3's way, one module of weight 0.3, has no pair of one seed yet."]
    for ahead in TOKENS:
        sentences += _token([change for change in mine if change.ahead == ahead], ahead)
    sentences += _module(mine)
    sentences += _others([change for change in changes if change.way != deepseek and change.last])
    return " ".join([*sentences, claims_fared(connection, "Q7", "tested claim")])


def _token(changes: list[Change], ahead: int) -> list[str]:
    if not changes:
        return []
    opening = f"Of {TOKENS[ahead]} ({_pairs(changes)})"
    parts = []
    for outcome, (one, several) in OUTCOMES.items():
        found = [change for change in changes if change.outcome == outcome and not change.last]
        if found:
            differences = ", ".join(signed(change.difference) for change in found)
            words = one if len(found) == 1 else several
            parts.append(f"{layers([change.layer for change in found])} {words} ({differences})")
    for change in changes:
        if change.last:
            difference = f"{signed(change.difference)}, {noise_of(change.noise)}"
            parts.append(f"the last layer {OUTCOMES[change.outcome][0]} ({difference})")
    sentences = [f"{opening}, {listed(parts)}."]
    if any(change.seeds < 3 and change.outcome in ("above", "below") and not change.last for change in changes):
        sentences.append("With fewer than three pairs, that some layer below the last leaves the noise may be chance.")
    return sentences


def _pairs(changes: list[Change]) -> str:
    """From how many pairs of one seed it is known; layers below the last have been read in the same runs."""
    counts = {change.last: change.seeds for change in changes}
    words = {last: f"{count} pair{'' if count == 1 else 's'} of one seed" for last, count in counts.items()}
    if len(set(counts.values())) == 1:
        return words.popitem()[1]
    return f"{words[False]} below the last layer, {words[True]} at it"


def _module(changes: list[Change]) -> list[str]:
    """What the module that predicts the token after next reaches, beside the probe on the layer it starts from."""
    for change in changes:
        if change.module is not None:
            below = change.loss - change.module
            return [
                f"The module itself ends at {change.module:.3f} nats for {TOKENS[change.ahead]}, {abs(below):.3f} "
                f"{'below' if below > 0 else 'above'} the probe on the last layer of the same model."
            ]
    return []


def _others(changes: list[Change]) -> list[str]:
    """What other ways of multi-token prediction change at the last layer."""
    sentences = []
    for way in dict.fromkeys(change.way for change in changes):
        parts = [
            f"{signed(change.difference)} for {TOKENS[change.ahead]} ({noise_of(change.noise)})"
            for change in changes
            if change.way == way
        ]
        sentences.append(f"With {way}, the last layer changes by {listed(parts)}.")
    return sentences


QUESTION = Question(
    key="Q7",
    title="Does multi-token prediction change what each layer knows?",
    background=(
        "A module after the last layer predicts the token after next while the model trains, as in DeepSeek-V3: it "
        "reads the last layer and the embedding of the next token, and its loss trains the model with weight 0.3. "
        "Probes on every layer say what it knows of the next token and of the token after next, with and without that "
        "module, on the same batches and from the same seed; the next token is read at the last layer by the model's "
        "own head. Below zero, a layer knows more with multi-token prediction. What counts as noise is three standard "
        "errors over pairs of one seed, and with fewer than three pairs never less than how far plain runs end apart. "
        f"{CHANCE_OF_PAIRS}; that any of five layers does, in up to 68 and 39. Of the layers below the last one is "
        "enough, and so it takes three pairs to say that they change. No direction was published: a change to either "
        "side counts."
    ),
    runs=sql("q7_runs"),
    numbers=sql("q7_numbers"),
    numbers_title="Final training loss by layer without and with multi-token prediction",
    signed=("difference",),
    testing="""SELECT bool_or(seeds < 3) FROM multi_token_layers
        WHERE residual = 'sandwich' AND full_depth AND NOT at_rung AND way = deepseek_v3() AND ahead <= 2""",
    claims=sql("q7_claims"),
    figures=("future_layers",),
    verdict=verdict,
)
