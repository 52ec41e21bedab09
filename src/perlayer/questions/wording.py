"""Words that verdicts share."""

from __future__ import annotations

import duckdb


def signed(value: float) -> str:
    """A difference in nats, with its sign."""
    return f"{round(value, 3) + 0.0:+.3f}"


def percent(share: float) -> str:
    """A share of one."""
    return f"{100 * share:.0f} %"


def listed(parts: list[str]) -> str:
    """The parts as a sentence lists them."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def layers(numbers: list[int]) -> str:
    """Layers as a sentence names them."""
    return f"layer{'' if len(numbers) == 1 else 's'} {listed([str(number) for number in numbers])}"


def noise_of(noise: float | None) -> str:
    """What counts as noise, or that nothing says what does."""
    return "noise not known: no seeds" if noise is None else f"noise {noise:.3f}"


def beyond(value: float, noise: float | None) -> bool:
    """Whether a difference is greater than its noise; nothing is beyond a noise that is not known."""
    return noise is not None and abs(value) > noise


def claims_fared(connection: duckdb.DuckDBPyConnection, question: str, claim: str = "published claim") -> str:
    """How the claims of a question fare, in one sentence."""
    counts = dict(
        connection.execute(
            "SELECT holds, count(*) FROM claims WHERE question = ? GROUP BY holds", [question]
        ).fetchall()
    )
    size = connection.execute("SELECT any_value(size) FROM recipe_runs").fetchone()[0]
    words = {"yes": "held", "no": "not held", "within noise": "within noise", "no run": "without a run"}
    parts = [f"{counts[holds]} {word}" for holds, word in words.items() if holds in counts]
    total = sum(counts.values())
    return f"Of {total} {claim}{'' if total == 1 else 's'}, at size {size}: {', '.join(parts)}."
