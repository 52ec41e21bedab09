"""Does the residual design change what each layer contributes?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, listed, signed


class Beside(NamedTuple):
    """What one design ends at, minus the baseline; `noise` is None where nothing tells."""

    design: str
    difference: float
    noise: float | None

    @property
    def outcome(self) -> str:
        if self.noise is None or abs(self.difference) <= self.noise:
            return "within"
        return "above" if self.difference > 0 else "below"


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Which designs end apart from the baseline beyond the noise: plain, read by probes, and in what heads cost."""
    depth = connection.execute("SELECT max(layers) FROM design_layers WHERE difference IS NOT NULL").fetchone()[0]
    if depth is None:
        return "No other residual design stands beside the baseline yet."
    early = sorted({1, (depth + 1) // 2} - {depth})
    places = [("The last layer of the plain model ends", depth)]
    places += [(f"Read by probes, layer {layer} ends", layer) for layer in early]
    sentences = []
    for words, layer in places:
        rows = connection.execute(
            """SELECT design_name(residual), difference, noise FROM design_layers
            WHERE readouts = 'probes' AND layer = ? AND difference IS NOT NULL
            ORDER BY abs(difference) DESC, residual""",
            [layer],
        ).fetchall()
        sentences += said(words, [Beside(*row) for row in rows])
    rows = connection.execute(
        """SELECT design_name(residual), -less, less_noise FROM design_costs
        WHERE less IS NOT NULL ORDER BY abs(less) DESC, residual"""
    ).fetchall()
    sentences += said("What separate heads cost the last layer lies", [Beside(*row) for row in rows])
    sentences += _borrowed(connection)
    return " ".join([*sentences, "No figure is published.", claims_fared(connection, "Q3", "tested claim")])


def said(words: str, rows: list[Beside]) -> list[str]:
    """One sentence that says of each design whether it is above, below or within the noise of the baseline."""
    if not rows:
        return []
    noises = [row.noise for row in rows if row.noise is not None]
    parts = [
        f"{outcome} the baseline with "
        + listed([f"{row.design} ({signed(row.difference)})" for row in rows if row.outcome == outcome])
        for outcome in ("above", "below")
        if any(row.outcome == outcome for row in rows)
    ]
    within = [row.design for row in rows if row.outcome == "within"]
    if within:
        parts.append(f"within the noise of it with {listed(within)}" if parts else _all_within(rows))
    noise = f"noise up to {max(noises):.3f}" if noises else "nothing says yet what seeds change"
    return [f"{words} {'; '.join(parts)} ({noise})."]


def _all_within(rows: list[Beside]) -> str:
    if len(rows) == 1:
        return f"within the noise of the baseline with {rows[0].design}"
    return f"within the noise of the baseline with all {len(rows)} other designs"


def _borrowed(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Which designs bring no seeds of their own to the noise."""
    rows = connection.execute(
        """SELECT design_name(residual), max(runs) AS runs FROM design_layers
        GROUP BY residual ORDER BY design_place(residual), residual"""
    ).fetchall()
    single = [design for design, runs in rows if runs == 1]
    several = [f"{design} ({runs})" for design, runs in rows if runs > 1]
    if not single or not several:
        return []
    who = "All other designs have a single seed and borrow" if len(single) > 1 else f"{single[0]} has one and borrows"
    return [f"Seeds are those of {listed(several)}. {who} them."]


QUESTION = Question(
    key="Q3",
    title="Does the residual design change what each layer contributes?",
    background=(
        "Models of different residual designs are trained plain, with probes, which leave them as they are, and with "
        "separate heads, on the same batches; the baseline is Sandwich-LN. Designs share no initial weights, so means "
        "over seeds are compared, and what counts as noise is three standard errors from the seeds of all designs "
        "together: a design with a single seed borrows those of the others. With four seeds of one design, about one "
        "of 17 comparisons passes that by chance, so that a single one says little. Separate heads are held against "
        "the plain model of the same design and seed."
    ),
    runs=sql("q3_runs"),
    numbers=sql("q3_numbers"),
    numbers_title="Final training loss by residual design",
    signed=("last_minus_baseline", "first_minus_baseline", "middle_minus_baseline", "separate_minus_plain"),
    testing="SELECT bool_or(runs < 3) FROM design_layers",
    claims=sql("q3_claims"),
    figures=("designs", "routing"),
    verdict=verdict,
)
