"""Why does supervising shallow layers hurt the final performance?"""

from __future__ import annotations

import math
from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, listed, percent, signed

NAMES = {
    "separate": "separate heads",
    "shared": "a shared head",
    "shared_stop_gradient": "a shared head with stop-gradient",
}


class Way(NamedTuple):
    """One way to supervise shallow layers, and what its last layer ends at."""

    run: str
    readouts: str
    seed: int
    weighting: str
    total: float | None
    schedule: str
    reach: str
    surgery: str
    layer_dropout: str
    loss: float
    difference: float
    noise: float
    saved: float | None
    saved_noise: float | None
    removed: float | None
    usual: bool  # every loss weighs 1 throughout and trains all layers below

    @property
    def outcome(self) -> str:
        """Where the last layer ends: above, below or level with the baseline, or too near to both to say."""
        if abs(self.difference) > self.noise:
            return "above" if self.difference > 0 else "below"
        return "level" if self.saved is not None and self.saved > self.saved_noise else "unclear"


class Effect(NamedTuple):
    """What one choice alone changes in the loss of the last layer."""

    choice: str
    change: float
    noise: float
    pairs: int


# What may set two runs apart, and how the second of them differs from the first.
CHOICES = {
    "less weight": ("weighting", lambda one, two: _shape(one) == _shape(two) and _less(one, two)),
    "weights that rise with depth": ("weighting", lambda one, two: _rises(one, two)),
    "each loss training its own layer alone": ("reach", lambda one, two: two.reach == "own layer"),
    "gradient surgery": ("surgery", lambda one, two: two.surgery == "per token"),
}
KEYS = ("readouts", "seed", "weighting", "schedule", "reach", "surgery", "layer_dropout")


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What supervision costs, which ways bring the last layer back, what each choice changes, how gradients lie."""
    ways = _ways(connection)
    if not ways:
        return "No supervised run stands beside its baseline yet."
    floor = connection.execute(
        "SELECT coalesce(max(spread), 0) FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'"
    ).fetchone()[0]
    sentences = [*_costs(ways), *_outcomes(ways), *_choices(effects(ways, floor)), *_gradients(connection)]
    return " ".join([*sentences, claims_fared(connection, "Q5")])


def _ways(connection: duckdb.DuckDBPyConnection) -> list[Way]:
    rows = connection.execute(
        """SELECT run, readouts, seed, weighting, total, schedule, reach, surgery, layer_dropout, loss, difference,
            coalesce(noise, 0), saved, coalesce(saved_noise, 0), removed, algorithms = '{}'
        FROM supervision WHERE residual = 'sandwich' AND full_depth AND difference IS NOT NULL
        ORDER BY difference, run"""
    ).fetchall()
    return [Way(*row) for row in rows]


def _costs(ways: list[Way]) -> list[str]:
    usual = {way.readouts: way for way in ways if way.usual}
    costs = [
        f"{signed(usual[readouts].difference)} nats with {name} (noise {usual[readouts].noise:.3f})"
        for readouts, name in NAMES.items()
        if readouts in usual
    ]
    if not costs:
        return []
    return [f"Against the baseline of the same seed the last layer ends at {listed(costs)}."]


def _outcomes(ways: list[Way]) -> list[str]:
    others = [way for way in ways if not way.usual]
    if not others:
        return ["No other way to supervise the layers is here yet."]
    noise = max(way.noise for way in others)
    parts = []
    for outcome, words in OUTCOMES.items():
        found = [_said(way) for way in others if way.outcome == outcome]
        if found:
            parts.append(f"{len(found)} {'ends' if len(found) == 1 else 'end'} {words}: {listed(found)}")
    return [f"Of {len(others)} other ways (noise up to {noise:.3f}), {'; '.join(parts)}."]


OUTCOMES = {
    "below": "below the baseline",
    "level": "back at the baseline within the noise",
    "unclear": "within the noise of both the baseline and the same heads in the usual way, which cannot be told apart",
    "above": "above the baseline still",
}


def _said(way: Way) -> str:
    if way.removed is None or way.outcome != "above":
        return f"{way.run} ({signed(way.difference)})"
    share = f"{percent(abs(way.removed))} of the cost {'removed' if way.removed >= 0 else 'added'}"
    return f"{way.run} ({signed(way.difference)}, {share})"


def effects(ways: list[Way], floor: float) -> list[Effect]:
    """What each choice alone changes, over all pairs of runs of one seed that it alone sets apart.

    The noise of a mean over pairs falls with the root of the number of pairs that share no run.
    """
    found = []
    for choice, (key, leads) in CHOICES.items():
        pairs = [
            (one, two)
            for one in ways
            for two in ways
            if all(getattr(one, other) == getattr(two, other) for other in KEYS if other != key)
            and getattr(one, key) != getattr(two, key)
            and leads(one, two)
        ]
        if pairs:
            change = math.fsum(two.loss - one.loss for one, two in pairs) / len(pairs)
            apart = min(len({pair[side].run for pair in pairs}) for side in (0, 1))
            found.append(Effect(choice, change, floor / math.sqrt(apart), len(pairs)))
    return found


def _shape(way: Way) -> str:
    return way.weighting.split()[0]


def _less(one: Way, two: Way) -> bool:
    return None not in (one.total, two.total) and two.total < one.total


def _rises(one: Way, two: Way) -> bool:
    same = None not in (one.total, two.total) and math.isclose(one.total, two.total)
    return same and (_shape(one), _shape(two)) == ("uniform", "linear")


def _choices(found: list[Effect]) -> list[str]:
    if not found:
        return []
    parts = [
        f"{effect.choice} {signed(effect.change)} ({effect.pairs} pair{'' if effect.pairs == 1 else 's'}, noise "
        f"{effect.noise:.3f})"
        for effect in found
    ]
    text = f"Between runs that one choice alone sets apart, the last layer changes by: {listed(parts)}."
    beyond = sorted((effect for effect in found if abs(effect.change) > effect.noise), key=lambda effect: effect.change)
    lowered = [effect.choice for effect in beyond if effect.change < 0]
    raised = [effect.choice for effect in beyond if effect.change > 0]
    sentences = [text]
    if lowered:
        then = f", then by {listed(lowered[1:])}" if lowered[1:] else ""
        sentences.append(f"Most is gained by {lowered[0]}{then}.")
    else:
        sentences.append("None of these lowers it by more than the noise.")
    if raised:
        sentences.append(f"It is made worse by {listed(raised)}.")
    return sentences


def _gradients(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        """SELECT run, setup IN ('baseline', 'probes') AS plain, avg(summed_cosine)
        FROM gradient_cosines JOIN setups USING (run)
        WHERE residual = 'sandwich' AND backbone_layer IS NULL AND summed_cosine IS NOT NULL
        GROUP BY run, setup, seed, ema
        QUALIFY row_number() OVER (
            PARTITION BY CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END ORDER BY seed, ema, setup, run
        ) = 1
        ORDER BY plain, run"""
    ).fetchall()
    trained = [(run, cosine) for run, plain, cosine in rows if not plain]
    counterfactual = [f"{cosine:+.2f} in {run}" for run, plain, cosine in rows if plain]
    parts = []
    if trained:
        parts.append(listed([f"{cosine:+.2f} in {run}" for run, cosine in trained]))
    if counterfactual:
        parts.append(f"{'counterfactually ' if trained else ''}{counterfactual[0]}")
    if not parts:
        return []
    text = (
        "The cosine of the layer losses' summed gradient with that of the final loss is, on average over training, "
        + ", and ".join(parts)
    )
    if not trained:
        return [f"{text}, whose layers no such loss trains."]
    if all(cosine > 0 for _, cosine in trained):
        return [f"{text}: the losses of a supervised run pull the same way, so it is no open conflict that hurts."]
    return [f"{text}: the losses pull against each other."]


QUESTION = Question(
    key="Q5",
    title="Why does supervising shallow layers hurt the final performance?",
    background=(
        "Supervised layers leave the last layer worse than the baseline's. Four fixes ask why, each against the "
        "baseline of the same seed: layer losses that weigh one in all; each loss training its own layer alone; both; "
        "weights that rise with depth, without and with gradient surgery, which cuts at every token what opposes the "
        "gradient from above. Beside them stand a shared head that is switched off early and three published ways to "
        "supervise. Gradients are compared while runs train: those of all layer losses summed with that of the final "
        "loss, for the baseline counterfactually, through its own norm and head."
    ),
    runs=sql("q5_runs"),
    numbers=sql("q5_numbers"),
    numbers_title="What every way to supervise costs the last layer",
    signed=("minus_baseline",),
    claims=sql("q5_claims"),
    figures=("related_work", "fixes", "mix", "switch_off", "gradient_cosines"),
    verdict=verdict,
)
