"""Words that verdicts share."""

from __future__ import annotations

import duckdb


def signed(value: float, digits: int = 3) -> str:
    """A difference in nats, with its sign."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def digits_apart(value: float, noise: float | None) -> int:
    """How many digits tell a difference from its noise: three, unless both read the same then; six at most."""
    if noise is None:
        return 3
    return next((digits for digits in (3, 4, 5) if round(abs(value), digits) != round(noise, digits)), 6)


def percent(share: float) -> str:
    """A share of one."""
    return f"{100 * share:.0f} %"


def listed(parts: list[str]) -> str:
    """The parts as a sentence lists them."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def layers(numbers: list[int]) -> str:
    """Layers, in rising order, as a sentence names them: three and more in a row by the first and the last."""
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    parts = [part for row in rows for part in ([f"{row[0]} to {row[-1]}"] if len(row) > 2 else map(str, row))]
    return f"layer{'' if len(numbers) == 1 else 's'} {listed(parts)}"


def noise_of(noise: float | None, digits: int = 3) -> str:
    """What counts as noise, or that nothing says what does."""
    return "noise not known: no seeds" if noise is None else f"noise {noise:.{digits}f}"


def noises_of(noises: list[float | None]) -> str:
    """The same of several differences: one number where they read alike."""
    known = [noise for noise in noises if noise is not None]
    if not known:
        return noise_of(None)
    least, greatest = noise_of(min(known)), noise_of(max(known))
    return greatest if least == greatest else f"noise up to {max(known):.3f}"


# Student's t of one and of two degrees of freedom.
CHANCE_OF_PAIRS = (
    "By chance alone a mean passes three of its standard errors in up to 20 of 100 cases with two pairs, and in 10 "
    "with three"
)


def beyond(value: float, noise: float | None) -> bool:
    """Whether a difference is greater than its noise; nothing is beyond a noise that is not known."""
    return noise is not None and abs(value) > noise


def place(difference: float, noise: float | None) -> str:
    """Where a difference from the baseline puts it: above, below, within the noise, or unknown where that is."""
    if noise is None:
        return "unknown"
    if not beyond(difference, noise):
        return "within"
    return "above" if difference > 0 else "below"


def claims_fared(
    connection: duckdb.DuckDBPyConnection, question: str, claim: str = "published claim", here: str | None = None
) -> str:
    """How the claims of a question fare, in one sentence; `here` says at which sizes when it is not the one in use."""
    counts = dict(
        connection.execute(
            "SELECT holds, count(*) FROM claims WHERE question = ? GROUP BY holds", [question]
        ).fetchall()
    )
    if here is None:
        here = f"at size {connection.execute('SELECT any_value(size) FROM recipe_runs').fetchone()[0]}"
    words = {"yes": "held", "no": "not held", "within noise": "within noise", "no run": "without a run"}
    parts = [f"{counts[holds]} {word}" for holds, word in words.items() if holds in counts]
    total = sum(counts.values())
    return f"Of {total} {claim}{'' if total == 1 else 's'}, {here}: {', '.join(parts)}."
