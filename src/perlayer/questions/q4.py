"""Why does Hyper-Connections pay only half for separate heads?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, listed, percent, signed


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
        """Whether it pays less or more than the baseline, or the runs cannot tell."""
        if None in (self.less, self.less_noise) or abs(self.less) <= self.less_noise:
            return "unclear"
        return "less" if self.less > 0 else "more"

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
    sentences += _plain(connection)
    return " ".join([*sentences, claims_fared(connection, "Q4", "tested claim")])


def _baseline(baseline: Cost | None) -> list[str]:
    if baseline is None:
        return ["The baseline has not been trained with separate heads yet: what half of its cost is cannot be said."]
    text = f"The baseline's last layer pays {signed(baseline.cost)} nats for separate heads ({_noise(baseline)})"
    if baseline.noise is None or baseline.cost <= baseline.noise:
        return [f"{text}, which is no more than noise: shares of it say nothing."]
    return [f"{text}."]


def _noise(one: Cost) -> str:
    noise = "no noise known" if one.noise is None else f"noise {one.noise:.3f}"
    return f"{noise}, {one.seeds} pair{'' if one.seeds == 1 else 's'} of one seed"


def _streams(costs: dict[str, Cost]) -> list[str]:
    one = costs.get("hyper_connections")
    if one is None:
        return ["Hyper-Connections has not been trained with and without separate heads yet."]
    text = f"{one.design} pays {signed(one.cost)} ({_noise(one)})"
    if one.less is None:
        return [f"{text}."]
    if one.fraction is not None:
        share = "" if one.fraction_noise is None else f" ± {percent(one.fraction_noise)}"
        text += f", {percent(one.fraction)}{share} of what the baseline pays"
    if one.less_noise is None:
        return [f"{text}; nothing says yet what seeds change."]
    words = f"{abs(one.less):.3f} {'less' if one.less > 0 else 'more'}, noise {one.less_noise:.3f}"
    outcomes = {
        "less": f"that is less beyond the noise ({words})",
        "more": f"that is more, not less, beyond the noise ({words})",
        "unclear": f"these runs cannot tell it from the baseline ({words})",
    }
    return [f"{text}: {outcomes[one.outcome]}."]


def _others(costs: dict[str, Cost]) -> list[str]:
    others = [cost for name, cost in costs.items() if name not in ("sandwich", "hyper_connections")]
    if not others or "sandwich" not in costs:
        return []
    parts = []
    for outcome, words in (("less", "pay less"), ("more", "pay more"), ("unclear", "cannot be told from the baseline")):
        found = [str(cost) for cost in others if cost.outcome == outcome]
        if found:
            words = words if len(found) > 1 else words.replace("pay", "pays")
            parts.append(f"{listed(found)} {words}")
    return [f"Of the other designs, {'; '.join(parts)}."]


def _plain(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Whether it has less to lose: where its plain model ends."""
    row = connection.execute(
        """SELECT difference, noise FROM design_layers
        WHERE residual = 'hyper_connections' AND readouts = 'probes' AND layer = layers AND difference IS NOT NULL"""
    ).fetchone()
    if row is None or row[1] is None:
        return []
    difference, noise = row
    words = "within the noise of" if abs(difference) <= noise else "above" if difference > 0 else "below"
    return [
        f"The plain Hyper-Connections model ends {words} the plain baseline ({signed(difference)}, noise {noise:.3f})."
    ]


QUESTION = Question(
    key="Q4",
    title="Why does Hyper-Connections pay only half?",
    background=(
        "In every residual design a model is trained plain and with a separate head after every layer, on the same "
        "batches and from the same seed: what its last layer ends higher by is what it pays. Where a design has fewer "
        "than three such pairs, what counts as noise is never less than how far plain runs end apart, for most designs "
        "those of the baseline. Two costs share no run: the noise of their difference is the root of the sum of both "
        "squares. That a design pays less than the baseline is judged, by how much less is not."
    ),
    runs=sql("q4_runs"),
    numbers=sql("q4_numbers"),
    numbers_title="What separate heads cost the last layer by residual design",
    signed=("cost", "less_than_baseline"),
    testing="SELECT bool_or(seeds < 3) FROM design_costs WHERE residual IN ('sandwich', 'hyper_connections')",
    claims=sql("q4_claims"),
    figures=("design_cost",),
    verdict=verdict,
)
