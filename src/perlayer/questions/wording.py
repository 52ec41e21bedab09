"""Words that the page has for what was measured and judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import duckdb

from perlayer.questions.question import Question
from perlayer.verdicts import UNDECIDED, VERDICTS

if TYPE_CHECKING:
    from perlayer.comparison import Contrast

FEW = 3  # parts of a claim that are written out


def signed(value: float, digits: int = 3) -> str:
    """A difference in nats, with its sign."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def percent(share: float) -> str:
    """A share of one."""
    return f"{100 * share:.0f} %"


def _ratio(logarithm: float) -> str:
    """What a difference of logarithms is as a change."""
    change = 100 * math.expm1(logarithm)
    if abs(change) < 1000:
        return f"{change:+.3g} %"
    return f"{change:+,.0f} %" if abs(change) < 1e6 else f"{change:+.2e} %"


UNITS: dict[str, Callable[[float], str]] = {
    "nats": signed,
    "log ratio": _ratio,  # a difference of logarithms: of perplexities it is one in nats
    "share": lambda share: f"{100 * share:+.1f} %",
    "number": lambda number: f"{number:+.3f}",
    "layers": lambda layers: f"{layers:+.1f} layers",
}


def listed(parts: Sequence[str]) -> str:
    """The parts as a sentence lists them."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def interval(contrast: Contrast, unit: str) -> str:
    """An estimate with its interval."""
    write = UNITS[unit]
    if contrast.low is None or contrast.high is None:
        return f"{write(contrast.estimate)} (no interval)"
    if contrast.low == contrast.high:
        return write(contrast.estimate)
    return f"{write(contrast.estimate)} [{write(contrast.low)}, {write(contrast.high)}]"


def measured(parts: Sequence[Contrast], unit: str) -> str | None:
    """What the parts of a claim came to: few of them written out, of many the least and the greatest."""
    found = [part for part in parts if part.estimate is not None]
    if not found:
        return None
    if len(found) > FEW:
        ends = (min(found, key=lambda part: part.estimate), max(found, key=lambda part: part.estimate))
        return " to ".join(f"{interval(part, unit)} ({part.part})" for part in ends) + f", {len(found)} parts"
    if len(parts) == 1:
        return interval(found[0], unit)
    return "; ".join(f"{part.part} {interval(part, unit)}" for part in found)


def verdict(connection: duckdb.DuckDBPyConnection, question: Question) -> list[str]:
    """The verdict on a question, by paragraph: the answer, what it rests on, and how its claims fare."""
    first = [question.key, question.claims[0].name]
    statement, found, judged, small, more = connection.execute(
        "SELECT statement, measured, verdict, small, more_seeds FROM claims WHERE question = ? AND claim = ?", first
    ).fetchone()
    answer = question.answers[judged] + (" The effect is small." if small else "")
    if found is not None:
        answer += f" {statement}: {found}."
    if judged == UNDECIDED and more is not None:
        rows = connection.execute(
            """SELECT "group", seeds FROM more_seeds WHERE question = ? AND claim = ? ORDER BY ALL""", first
        ).fetchall()
        needed = [f"{seeds} more seed{'' if seeds == 1 else 's'} of {group}" for group, seeds in rows]
        answer += f" {listed(needed)} would decide it."
    return [answer, *filter(None, [further(connection, question)]), claims_fared(connection, question)]


def further(connection: duckdb.DuckDBPyConnection, question: Question) -> str:
    """What a question says beyond its claims; nothing where there is nothing to say."""
    words = connection.execute(question.sql("further")).fetchall() if question.further else []
    return question.further.format(listed([said for (said,) in words])) if words else ""


def claims_fared(connection: duckdb.DuckDBPyConnection, question: Question) -> str:
    """How the claims of a question fare, in one sentence."""
    counts = dict(
        connection.execute(
            "SELECT verdict, count(*) FROM claims WHERE question = ? GROUP BY verdict", [question.key]
        ).fetchall()
    )
    ((size,),) = connection.execute("SELECT any_value(size) FROM recipe_runs").fetchall()
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts]
    total = len(question.claims)
    return f"Of {total} published claim{'' if total == 1 else 's'}, at size {size}: {listed(parts)}."
