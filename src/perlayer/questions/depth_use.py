"""What the questions that take models apart share: findings of the baseline, and of setups and designs beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import duckdb

from perlayer.questions.wording import beyond, listed

UNDISSECTED = "No finished model of the recipe's depth has shown yet how it uses its depth."
NO_TOKENS = "No token has been looked at alone yet; recipes.SIZE.depth.texts says in how many texts that is done."
NO_HALVES = "The baseline has not been dissected, or has too few layers for halves."
NOISE = (
    "What counts as noise is three standard errors over seeds, which setups and designs with a single seed borrow from "
    "the others."
)


class Finding(NamedTuple):
    """One number of one setup or design, mean over seeds; its difference from the baseline is None for that itself."""

    label: str
    mean: float
    noise: float | None  # None: not known
    difference: float | None
    difference_noise: float | None
    seeds: int


def dissected(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether any model of the depth of the recipe has shown how it uses its depth."""
    return connection.execute("SELECT count(*) > 0 FROM dissected_runs WHERE full_depth").fetchone()[0]


def findings(connection: duckdb.DuckDBPyConnection, statistic: str, view: str = "depth_findings") -> list[Finding]:
    """Those of the depth of the recipe that have this number of a view of findings, in the order shown."""
    rows = connection.execute(
        f"""SELECT label, mean, noise, difference, difference_noise, seeds FROM {view}
        WHERE full_depth AND statistic = ? ORDER BY place""",
        [statistic],
    ).fetchall()
    return [Finding(*row) for row in rows]


def baseline(connection: duckdb.DuckDBPyConnection, statistic: str, view: str = "depth_findings") -> Finding | None:
    """That of the baseline; None where it has not been dissected, or is too shallow for this number."""
    return next((finding for finding in findings(connection, statistic, view) if finding.label == "baseline"), None)


def beside(
    connection: duckdb.DuckDBPyConnection,
    statistic: str,
    words: str,
    show: Callable[[float], str] = "{:.3f}".format,
    view: str = "depth_findings",
) -> list[str]:
    """One sentence that begins with `words` and says which setups and designs lie above or below the baseline.

    Args:
        show: how a number is written.
    """
    others = [finding for finding in findings(connection, statistic, view) if finding.difference is not None]
    if not others:
        return []
    known = [finding for finding in others if finding.difference_noise is not None]
    parts = []
    for side, sign in (("above", 1), ("below", -1)):
        found = [
            f"{finding.label} ({show(finding.mean)})"
            for finding in known
            if beyond(finding.difference, finding.difference_noise) and sign * finding.difference > 0
        ]
        if found:
            parts.append(f"{side} it with {listed(found)}")
    within = [finding for finding in known if not beyond(finding.difference, finding.difference_noise)]
    if within:
        parts.append(f"within the noise of it with {_shown(within, show)}")
    unknown = [finding for finding in others if finding.difference_noise is None]
    if unknown:
        parts.append(f"at {_shown(unknown, show)}, where no seeds tell the noise")
    return [f"Beside the baseline, {words} {'; '.join(parts)}."]


def _shown(some: list[Finding], show: Callable[[float], str]) -> str:
    return listed([f"{finding.label} ({show(finding.mean)})" for finding in some])
