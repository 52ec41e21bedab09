"""Why does Hyper-Connections pay only half for separate heads?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, digits_apart, listed, noise_of, percent, signed


class Cost(NamedTuple):
    """What separate heads cost the last layer of one design; noises are None where nothing tells."""

    residual: str
    design: str
    seeds: int
    cost: float
    noise: float | None
    less: float | None
    less_noise: float | None
    fraction: float | None
    fraction_noise: float | None

    @property
    def outcome(self) -> str:
        """Whether it pays less or more than the baseline, or the runs cannot tell, or no noise is known."""
        if self.less_noise is None:
            return "unknown"
        if not beyond(self.less, self.less_noise):
            return "unclear"
        return "less" if self.less > 0 else "more"

    @property
    def paid(self) -> str:
        """The cost, what counts as noise in it and how many pairs of one seed it comes from."""
        digits = digits_apart(self.cost, self.noise)
        pairs = f"{self.seeds} pair{'' if self.seeds == 1 else 's'}"
        return f"{signed(self.cost, digits)} nats ({pairs}, {noise_of(self.noise, digits)})"

    def __str__(self) -> str:
        share = "" if self.fraction is None else f", {percent(self.fraction)}"
        return f"{self.design} ({signed(self.cost)}{share})"


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What the baseline pays, what Hyper-Connections pays, and which other designs pay less or more."""
    rows = connection.execute(
        """SELECT residual, design_name(residual), seeds, cost, noise, less, less_noise, fraction, fraction_noise
        FROM design_costs ORDER BY cost, residual"""
    ).fetchall()
    costs = {row[0]: Cost(*row) for row in rows}
    if not costs:
        return "No model with separate heads stands beside a plain model of its design and seed yet."
    sentences = [*_baseline(costs.get("sandwich")), *_streams(costs), *_others(costs)]
    sentences += [*_plain(connection), *_gains(connection)]
    return " ".join([*sentences, claims_fared(connection, "Q4", "tested claim")])


def _baseline(baseline: Cost | None) -> list[str]:
    if baseline is None:
        return ["The baseline has not been trained with separate heads yet: what half of its cost is cannot be said."]
    text = f"For separate heads the baseline's last layer pays {baseline.paid}"
    if baseline.noise is None:
        return [f"{text}, and whether that is more than noise cannot be said: shares of it say nothing."]
    if baseline.cost < -baseline.noise:
        return [f"{text}: it gains, beyond the noise, so that shares of what it pays say nothing."]
    if baseline.cost <= baseline.noise:
        return [f"{text}, which is no more than noise: shares of it say nothing."]
    return [f"{text}."]


def _streams(costs: dict[str, Cost]) -> list[str]:
    one = costs.get("hyper_connections")
    if one is None:
        return ["Hyper-Connections has not been trained with and without separate heads yet."]
    text = f"{one.design} pays {one.paid}"
    if one.less is None:
        return [f"{text}."]
    if one.fraction is not None:
        share = "" if one.fraction_noise is None else f" ± {percent(one.fraction_noise)}"
        text += f", {percent(one.fraction)}{share} of what the baseline pays"
    digits = digits_apart(one.less, one.less_noise)
    words = f"{abs(one.less):.{digits}f} {'less' if one.less > 0 else 'more'}, {noise_of(one.less_noise, digits)}"
    outcomes = {
        "less": f"that is less beyond the noise ({words})",
        "more": f"that is more, not less, beyond the noise ({words})",
        "unclear": f"these runs cannot tell it from the baseline ({words})",
        "unknown": f"whether that differs from the baseline cannot be said ({words})",
    }
    return [f"{text}: {outcomes[one.outcome]}."]


def _others(costs: dict[str, Cost]) -> list[str]:
    others = [cost for name, cost in costs.items() if name not in ("sandwich", "hyper_connections")]
    if not others or "sandwich" not in costs:
        return []
    parts = []
    for outcome, words in OUTCOMES.items():
        found = [str(cost) for cost in others if cost.outcome == outcome]
        if found:
            words = words if len(found) > 1 else words.replace("pay", "pays")
            parts.append(f"{listed(found)} {words}")
    return [f"Of the other designs, {'; '.join(parts)}."]


OUTCOMES = {
    "less": "pay less",
    "more": "pay more",
    "unclear": "cannot be told from the baseline",
    "unknown": f"cannot be judged ({noise_of(None)})",
}


def _plain(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Whether it has less to lose: where its plain model ends."""
    row = connection.execute(
        """SELECT difference, noise FROM design_layers
        WHERE residual = 'hyper_connections' AND value_residual IS NULL AND readouts = 'probes' AND layer = layers
            AND difference IS NOT NULL"""
    ).fetchone()
    if row is None:
        return []
    difference, noise = row
    digits = digits_apart(difference, noise)
    numbers = f"({signed(difference, digits)}, {noise_of(noise, digits)})"
    if noise is None:
        return [f"How the plain Hyper-Connections model ends beside the plain baseline cannot be judged {numbers}."]
    words = "within the noise of" if abs(difference) <= noise else "above" if difference > 0 else "below"
    return [f"The plain Hyper-Connections model ends {words} the plain baseline {numbers}."]


def _gains(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """How far the mixing of streams is from carrying them through unchanged."""
    rows = connection.execute(
        """SELECT design_name(residual), max(forward_gain), max(greatest_forward_gain), max(backward_gain),
            max(greatest_backward_gain)
        FROM routing JOIN recipe_runs USING (run)
        WHERE forward_gain IS NOT NULL AND full_depth AND standard
            AND readouts IN ('none', 'probes', 'separate')
        GROUP BY run, residual, readouts, seed
        QUALIFY row_number() OVER (PARTITION BY residual ORDER BY readouts = 'separate', seed, run) = 1
        ORDER BY design_place(residual), residual"""
    ).fetchall()
    if not rows:
        return []
    gains = [
        f"up to {forward:.2f} forwards and {backward:.2f} backwards in {design} (at single tokens {forward_most:.2f} "
        f"and {backward_most:.2f})"
        for design, forward, forward_most, backward, backward_most in rows
    ]
    return [f"The product of the matrices that mix streams has gains of {listed(gains)}."]


QUESTION = Question(
    key="Q4",
    title="Why does Hyper-Connections pay only half?",
    background=(
        "In every residual design a model is trained plain and with a separate head after every layer, on the same "
        "batches and from the same seed: what its last layer ends higher by is what it pays. Where a design has fewer "
        "than three such pairs, what counts as noise is never less than how far plain runs end apart, for most designs "
        "those of the baseline. Two costs share no run: the noise of their difference is the root of the sum of both "
        "squares. That a design pays less than the baseline is judged, by how much less is not. How streams are mixed "
        "is read from a finished model: were the product of its mixing matrices doubly stochastic, its gains, means "
        "over tokens here, would be 1."
    ),
    runs=sql("q4_runs"),
    numbers=sql("q4_numbers"),
    numbers_title="What separate heads cost the last layer by residual design",
    signed=("cost", "less_than_baseline"),
    testing="SELECT bool_or(seeds < 3) FROM design_costs WHERE residual IN ('sandwich', 'hyper_connections')",
    claims=sql("q4_claims"),
    figures=("design_cost", "routing"),
    verdict=verdict,
)
