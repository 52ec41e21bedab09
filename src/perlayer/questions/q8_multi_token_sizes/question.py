"""Does multi-token prediction help at larger sizes?"""

from __future__ import annotations

import math
from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import CHANCE_OF_PAIRS, beyond, claims_fared, listed, noise_of, place, signed

SIZES = 4  # as many as the question was asked of


class Size(NamedTuple):
    """What multi-token prediction changes in the last layer's next-token loss at one size."""

    way: str
    size: str
    parameters: float
    difference: float
    noise: float | None  # None: not known

    @property
    def outcome(self) -> str:
        """Where the last layer ends beside the plain model, or that the runs cannot tell."""
        return place(self.difference, self.noise)


OUTCOMES = {
    "below": "below the plain model beyond the noise",
    "above": "above the plain model beyond the noise",
    "within": "within the noise of the plain model",
    "unknown": "where no seeds tell the noise",
}


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Where the last layer ends beside the plain model at each size, and whether that changes with size."""
    sizes = [
        Size(*row)
        for row in connection.execute(
            """SELECT way, size, backbone_parameters, difference, noise FROM multi_token_sizes
            WHERE residual = 'sandwich' ORDER BY backbone_parameters, size"""
        ).fetchall()
    ]
    if not sizes:
        return "No model with multi-token prediction stands beside a plain model of its size and seed yet."
    (deepseek,) = connection.execute("SELECT deepseek_v3()").fetchone()
    mine = [size for size in sizes if size.way == deepseek]
    if not mine:
        return "DeepSeek-V3's way, one module of weight 0.3, has no pair of one seed at any size yet."
    parts = [f"{signed(size.difference)} at {size.size} ({_detail(size)})" for size in mine]
    sentences = [f"With multi-token prediction the last layer's next-token loss changes, in nats, by {listed(parts)}."]
    parts = []
    for outcome, words in OUTCOMES.items():
        found = [size.size for size in mine if size.outcome == outcome]
        if found:
            parts.append(f"{words} at {listed(found)}")
    sentences.append(f"It ends {'; '.join(parts)}.")
    sentences += _trend(mine)
    if len(mine) < SIZES:
        are = "is one" if len(mine) == 1 else f"are {len(mine)}"
        sentences.append(f"The question was asked of {SIZES} sizes, and here {are}.")
    here = f"over {len(mine)} size{'' if len(mine) == 1 else 's'}"
    return " ".join([*sentences, claims_fared(connection, "Q8", "tested claim", here)])


def _detail(size: Size) -> str:
    return f"{_counted(size.parameters)} parameters, {noise_of(size.noise)}"


def _counted(number: float) -> str:
    """A number of parameters in words: 92 thousand."""
    for unit, word in ((1e9, " billion"), (1e6, " million"), (1e3, " thousand")):
        if number >= unit:
            return f"{number / unit:.3g}{word}"
    return f"{number:.0f}"


def _trend(sizes: list[Size]) -> list[str]:
    """Whether the largest size fares better than the smallest."""
    small, large = sizes[0], sizes[-1]
    if small.parameters == large.parameters:
        return []
    change = large.difference - small.difference
    noise = None if None in (small.noise, large.noise) else math.hypot(small.noise, large.noise)
    text = f"From the smallest size to the largest that changes by {signed(change)} ({noise_of(noise)})"
    if not beyond(change, noise):
        return [f"{text}, which says nothing of a trend."]
    return [f"{text}: the larger model {'gains more, or loses less' if change < 0 else 'gains less, or loses more'}."]


QUESTION = Question(
    key="Q8",
    title="Does multi-token prediction help at larger sizes?",
    background=(
        "At every size a model is trained with and without one module that predicts the token after next (the form of "
        "DeepSeek-V3, weight 0.3), on the same batches and from the same seed. What is compared is the next-token loss "
        "of the last layer, with minus without: below zero it helps. It is the mean over the last 50 updates at every "
        "size: of a training of a few hundred that is a large share, over which the loss still falls. The sizes are "
        "the recipe in use and the rungs of params.yaml; how many parameters and training tokens each "
        "has, the table says. What counts as noise is three standard errors over pairs of one seed, and with fewer "
        f"than three pairs never less than how far plain runs of that size end apart. {CHANCE_OF_PAIRS}."
    ),
    runs=sql("q8_runs"),
    numbers=sql("q8_numbers"),
    numbers_title="Final training loss of the last layer without and with multi-token prediction, by size",
    signed=("difference",),
    testing=f"""SELECT count(*) < {SIZES} OR bool_or(seeds < 3) FROM multi_token_sizes
        WHERE residual = 'sandwich' AND way = deepseek_v3()""",
    claims=sql("q8_claims"),
    figures=("multi_token_sizes",),
    verdict=verdict,
)
