"""Does the residual design change what each layer contributes?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, digits_apart, layers, listed, noise_of, noises_of, place, signed


class Beside(NamedTuple):
    """What one design ends at, minus the baseline; `noise` is None where nothing tells."""

    design: str
    difference: float
    noise: float | None

    @property
    def outcome(self) -> str:
        return place(self.difference, self.noise)

    def __str__(self) -> str:
        digits = digits_apart(self.difference, self.noise)
        noise = "" if digits == 3 else f", barely beyond {noise_of(self.noise, digits)}"
        return f"{self.design} ({signed(self.difference, digits)}{noise})"


class Below(NamedTuple):
    """Where a design ends beyond the noise below the last layer, all on one side of the baseline."""

    design: str
    above: bool
    layers: list[int]  # all of them
    layer: int  # where that is most, with its difference and noise
    difference: float
    noise: float

    def __str__(self) -> str:
        digits = digits_apart(self.difference, self.noise)
        most = f"{signed(self.difference, digits)}, {noise_of(self.noise, digits)}"
        where = "" if len(self.layers) == 1 else f"most at layer {self.layer}: "
        return f"{self.design} at {layers(self.layers)} ({where}{most})"


HANGS = {
    "last": "that plain models end apart at the last layer",
    "probes": "that probes end apart at every layer below it",
    "separate": "that separate heads end apart at every layer below it",
    "cost": "that designs differ in what separate heads cost",
}


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Which designs end apart from the baseline beyond the noise, plain, read by probes and with separate heads."""
    if not connection.execute("SELECT bool_or(difference IS NOT NULL) FROM design_layers").fetchone()[0]:
        return "No other residual design stands beside the baseline yet."
    plain = said("The last layer of the plain model ends", _last(connection, "probes"))
    plain += _below(connection, "probes", "Read by probes below the last layer")
    separate = said("With separate heads the last layer ends", _last(connection, "separate"))
    separate += _below(connection, "separate", "Read by them below the last layer")
    rows = connection.execute(
        """SELECT design_name(residual), -less, less_noise FROM design_costs
        WHERE less IS NOT NULL ORDER BY abs(less) DESC, residual"""
    ).fetchall()
    separate += said("What separate heads cost the last layer lies", [Beside(*row) for row in rows])
    claims = [*_hangs(connection), *_borrowed(connection), "No figure is published."]
    claims.append(claims_fared(connection, "Q3", "tested claim"))
    return "\n\n".join(" ".join(sentences) for sentences in (plain, separate, claims) if sentences)


def _last(connection: duckdb.DuckDBPyConnection, readouts: str) -> list[Beside]:
    rows = connection.execute(
        """SELECT design, difference, noise FROM design_layers
        WHERE readouts = ? AND layer = layers AND difference IS NOT NULL ORDER BY abs(difference) DESC, design""",
        [readouts],
    ).fetchall()
    return [Beside(*row) for row in rows]


def said(words: str, rows: list[Beside]) -> list[str]:
    """One sentence that says of each design whether it is above, below or within the noise of the baseline."""
    if not rows:
        return []
    known = [row for row in rows if row.outcome != "unknown"]
    parts = [
        f"{outcome} the baseline with {listed([str(row) for row in known if row.outcome == outcome])}"
        for outcome in ("above", "below")
        if any(row.outcome == outcome for row in known)
    ]
    within = [row.design for row in known if row.outcome == "within"]
    if within:
        parts.append(f"within the noise of it with {listed(within)}" if parts else _all_within(within))
    if parts:
        parts[-1] += f" ({noises_of([row.noise for row in known])})"
    unknown = [str(row) for row in rows if row.outcome == "unknown"]
    if unknown:
        parts.append(f"apart from the baseline with {listed(unknown)} ({noise_of(None)})")
    return [f"{words} {'; '.join(parts)}."]


def _all_within(designs: list[str]) -> str:
    who = designs[0] if len(designs) == 1 else f"all {len(designs)} others"
    return f"within the noise of the baseline with {who}"


def _below(connection: duckdb.DuckDBPyConnection, readouts: str, words: str) -> list[str]:
    """One sentence that says which designs lie beyond the noise at any layer below the last, and where."""
    compared, known = connection.execute(
        """SELECT count(*), count(noise) FROM design_layers
        WHERE readouts = ? AND layer < layers AND difference IS NOT NULL""",
        [readouts],
    ).fetchone()
    if not compared:
        return []
    if not known:
        return [f"{words} nothing is judged: {noise_of(None)}."]
    rows = connection.execute(
        """SELECT design, difference > 0 AS above, list(layer ORDER BY layer), arg_max(layer, abs(difference)),
            arg_max(difference, abs(difference)), arg_max(noise, abs(difference))
        FROM design_layers WHERE readouts = ? AND layer < layers AND abs(difference) > noise
        GROUP BY design, above ORDER BY max(abs(difference)) DESC, design""",
        [readouts],
    ).fetchall()
    found = [Below(*row) for row in rows]
    parts = [
        f"{side} the baseline {listed([str(one) for one in mine])}"
        for side, above in (("above", True), ("below", False))
        if (mine := [one for one in found if one.above is above])
    ]
    if not parts:
        return [f"{words} no design leaves the noise of the baseline at any layer."]
    return [f"{words} these lie beyond the noise: {'; '.join(parts)}."]


def _hangs(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Which claims hold with all designs and would not without one of them."""
    rows = connection.execute(
        """SELECT whole.measure, design_name(rest.left_out), whole.stds, rest.stds, rest.seed_stds
        FROM design_spread AS whole JOIN design_spread AS rest USING (measure)
        WHERE whole.left_out IS NULL AND rest.left_out IS NOT NULL AND whole.apart = 'yes' AND rest.apart <> 'yes'
        ORDER BY array_position(['last', 'probes', 'separate', 'cost'], measure), design_place(rest.left_out)"""
    ).fetchall()
    sentences = []
    for measure, design, stds, without, seeds in rows:
        numbers = ""
        if len(stds) == 1:
            numbers = f": over designs the standard deviation is {stds[0]:.3f} with it and {without[0]:.3f} without"
            numbers += f", against 3 × {seeds[0]:.3f} over seeds"
        sentences.append(f"Without {design}, {HANGS[measure]} would be within noise{numbers}.")
    return sentences


def _borrowed(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Which designs bring no seeds of their own to the noise."""
    rows = connection.execute(
        """SELECT design, max(runs) AS runs FROM design_layers
        GROUP BY residual, value_residual, design
        ORDER BY design_place(residual), residual, value_residual NULLS FIRST"""
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
        "together: a design with a single seed borrows those of the others. By chance one of 17 comparisons passes "
        "that with four seeds of one design, as many as plain models have by default, and one of 10 with three, as "
        "many as separate heads have: a single one says little. Separate heads are held against the plain model of the "
        "same design and seed. Designs end further apart than seeds do where their standard deviation is more than "
        "three times that over seeds; with four seeds of one design that happens by chance in 5 of 100 cases, and with "
        "three in 10."
    ),
    runs=sql("q3_runs"),
    numbers=sql("q3_numbers"),
    numbers_title="Final training loss by residual design",
    signed=("last_minus_baseline", "first_minus_baseline", "middle_minus_baseline", "separate_last_minus_baseline"),
    testing="SELECT bool_or(runs < 3) FROM design_layers",
    claims=sql("q3_claims"),
    figures=("designs",),
    verdict=verdict,
)
