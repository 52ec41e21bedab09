"""Does depth help?"""

from __future__ import annotations

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, noise_of, percent, signed


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What a doubling of depth changes at one width, and beside width over all sizes."""
    rows = connection.execute(
        """SELECT scope, runs, depths, widths, by_depth, 3 * by_depth_standard_error, by_width,
            3 * by_width_standard_error, r_squared
        FROM depth_regression ORDER BY scope"""
    ).fetchall()
    if not rows:
        return "There are no plain models of two depths yet."
    return " ".join([*(_regression(*row) for row in rows), claims_fared(connection, "D9")])


def _regression(
    scope: str,
    runs: int,
    depths: int,
    widths: int,
    by_depth: float,
    depth_noise: float | None,
    by_width: float | None,
    width_noise: float | None,
    r_squared: float | None,
) -> str:
    """What one regression finds, in one sentence."""
    where = "At the size in use" if scope == "size in use" else "With rungs of other sizes"
    models = f"{runs} plain models of {depths} depths" + (f" and {widths} widths" if widths > 1 else "")
    text = f"{where}, over {models}, twice as many layers change the final training loss by {signed(by_depth)} nats "
    text += f"({_error(depth_noise)})"
    if by_width is not None:
        text += f" and twice the width by {signed(by_width)} ({_error(width_noise)})"
    elif widths > 1:
        text += ", as width goes with depth"
    if r_squared is not None:
        text += f", which explains {percent(r_squared)} of the variance"
    return text + "."


def _error(noise: float | None) -> str:
    return "too few runs for an error" if noise is None else noise_of(noise)


QUESTION = Question(
    key="D9",
    title="Does depth help?",
    background=(
        "Ordinary least squares of the final training loss of plain models on the binary logarithms of depth and "
        "width: a coefficient is what a doubling changes. Models of the size in use have one width and see the same "
        "tokens; those of the rungs grow in depth, width and tokens together, so that what tokens bring is in both "
        "coefficients. Width is told by the parameters of a layer, which grow with its square. What counts as noise is "
        "three standard errors of the coefficient."
    ),
    runs=sql("d9_runs"),
    numbers=sql("d9_numbers"),
    numbers_title="What a doubling of depth and of width adds to the loss",
    signed=("by_depth", "by_width"),
    testing="SELECT coalesce(max(runs - depths), 0) < 1 AND coalesce(max(depths), 0) < 4 FROM depth_regression",
    claims=sql("d9_claims"),
    figures=("depth_and_width",),
    verdict=verdict,
)
