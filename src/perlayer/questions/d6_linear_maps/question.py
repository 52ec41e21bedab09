"""Does a deeper model stretch the layers of a shallow one, or compute further?"""

from __future__ import annotations

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, percent


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How far from the same relative depth the layers that map best are, for each pair of models."""
    rows = connection.execute(
        """SELECT pair, source_layers, layers, distance, least, chance, p, nearest, error, mean_error
        FROM map_diagonals WHERE kind = 'residual' ORDER BY source_layers >= layers, pair"""
    ).fetchall()
    if not rows:
        return f"No pair of models has been mapped onto each other yet. {claims_fared(connection, 'D6')}"
    return " ".join([*(_pair(*row) for row in rows), claims_fared(connection, "D6")])


def _pair(
    pair: str,
    source_layers: int,
    layers: int,
    distance: float,
    least: float,
    chance: float,
    p: float,
    nearest: float,
    error: float,
    mean_error: float,
) -> str:
    """What one pair shows, in one sentence."""
    return (
        f"In {pair.replace('_', ' ')} ({source_layers} to {layers} layers) the layer that maps best is {distance:.3f} "
        f"of the depth from the same relative depth, where {least:.3f} is the least and chance gives {chance:.3f} "
        f"(p = {p:.2g}); for {percent(nearest)} of layers it is the nearest. Best maps miss {error:.3f} of the length "
        f"of a residual, the mean {mean_error:.3f}."
    )


QUESTION = Question(
    key="D6",
    title="Does a deeper model stretch the layers of a shallow one, or compute further?",
    background=(
        "A linear map is fitted from the residual after every layer of one model to that after every layer of another, "
        "on training text; its error on held-out text is relative to the length of the residual. Where layers at the "
        "same relative depth map best, the deeper model does the same in smaller steps. Two models of one depth that "
        "differ in their seed show how clear a diagonal can be. Chance takes each layer as equally likely to map best; "
        "a distance that it gives in 5 of 100 cases or more is within noise. That is counted as if what maps best onto "
        "one layer said nothing of what maps best onto the next; neighbours are alike, so that p is rather too small. "
        "The claim is about two plain models of one design. Embeddings are left out, as in the source."
    ),
    runs=sql("d6_runs"),
    numbers=sql("d6_numbers"),
    numbers_title="How far from the same relative depth the layers that map best are",
    testing="SELECT count(*) FILTER (layers = source_layers) = 0 FROM map_diagonals",
    claims=sql("d6_claims"),
    figures=("linear_maps",),
    verdict=verdict,
)
