"""Why does supervising shallow layers hurt the final performance?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, listed, noise_of, percent, signed

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
    other: str
    loss: float
    difference: float
    noise: float | None  # None: not known
    saved: float | None
    saved_noise: float | None
    removed: float | None
    usual: bool  # every loss weighs 1 throughout and trains all layers below
    measured_on: str
    floor: float | None  # the noise of one pair

    @property
    def outcome(self) -> str:
        """Where the last layer ends: above, below or level with the baseline, or too near to both to say."""
        if self.noise is None:
            return "unknown"
        if abs(self.difference) > self.noise:
            return "above" if self.difference > 0 else "below"
        back = self.saved is not None and self.saved > 0 and beyond(self.saved, self.saved_noise)
        return "level" if back else "unclear"


class Pair(NamedTuple):
    """Two runs of one seed that one choice alone sets apart, and what it changes in the loss of the last layer."""

    choice: str
    without: str
    run: str
    change: float
    noise: float | None


# What may set two runs apart, and how the second of them differs from the first.
CHOICES: dict[str, tuple[str, Callable[[Way, Way], bool]]] = {
    "less weight": ("weighting", lambda one, two: _shape(one) == _shape(two) and _less(one, two)),
    "weights that rise with depth": ("weighting", lambda one, two: _rises(one, two)),
    "each loss training its own layer alone": ("reach", lambda one, two: two.reach == "own layer"),
    "gradient surgery": ("surgery", lambda one, two: two.surgery == "per token"),
}
KEYS = ("readouts", "seed", "weighting", "schedule", "reach", "surgery", "layer_dropout", "other")


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What supervision costs, which ways bring the last layer back, what each choice changes, how gradients lie."""
    ways = _ways(connection)
    if not ways:
        return "No supervised run stands beside its baseline yet."
    paragraphs = [
        [*_costs(ways), *_outcomes(ways)],
        _choices(pairs(ways)),
        [*_gradients(connection), claims_fared(connection, "Q5")],
    ]
    return "\n\n".join(" ".join(sentences) for sentences in paragraphs if sentences)


def _ways(connection: duckdb.DuckDBPyConnection) -> list[Way]:
    rows = connection.execute(
        """SELECT run, readouts, seed, weighting, total, schedule, reach, surgery, layer_dropout, other, loss,
            difference, noise, saved, saved_noise, removed, standard, measured_on, floor
        FROM supervision WHERE residual = 'sandwich' AND full_depth AND difference IS NOT NULL
        ORDER BY difference, run"""
    ).fetchall()
    return [Way(*row) for row in rows]


def _costs(ways: list[Way]) -> list[str]:
    usual = {way.readouts: way for way in ways if way.usual}
    costs = [
        f"{signed(usual[readouts].difference)} nats with {name} ({noise_of(usual[readouts].noise)})"
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
    noise = max((way.noise for way in others if way.noise is not None), default=None)
    parts = []
    for outcome, words in OUTCOMES.items():
        found = [_said(way) for way in others if way.outcome == outcome]
        if found:
            parts.append(f"{len(found)} {'ends' if len(found) == 1 else 'end'} {words}: {listed(found)}")
    known = noise_of(None) if noise is None else f"noise up to {noise:.3f}"
    sentences = [f"Of {len(others)} other way{'' if len(others) == 1 else 's'} ({known}), {'; '.join(parts)}."]
    if len(others) > 1 and noise is not None:
        sentences.append(
            f"With {len(others)} of them beside one baseline and one noise floor, some may pass it by chance, or all "
            "lean one way with that baseline."
        )
    if any(way.measured_on != "train" for way in ways):
        sentences.append(
            "Those marked * drop layers while they train, so they are judged by held-out loss, and all else by final "
            "training loss."
        )
    return sentences


OUTCOMES = {
    "below": "below the baseline",
    "level": "back at the baseline within the noise",
    "unclear": "within the noise of both the baseline and the same heads in the usual way, which cannot be told apart",
    "above": "above the baseline still",
    "unknown": "where no noise says whether that is the baseline's level",
}


def _said(way: Way) -> str:
    name = way.run if way.measured_on == "train" else f"{way.run}*"
    if way.removed is None or way.outcome != "above":
        return f"{name} ({signed(way.difference)})"
    share = f"{percent(abs(way.removed))} of the cost {'removed' if way.removed >= 0 else 'added'}"
    return f"{name} ({signed(way.difference)}, {share})"


def pairs(ways: list[Way]) -> list[Pair]:
    """What each choice alone changes, in every pair of runs of one seed that it alone sets apart."""
    own = sorted({way.other for way in ways} - {""})  # keys of which nothing but their name is known
    named = sorted(ways, key=lambda way: way.run)
    choices = CHOICES | {key: ("other", _adds(key)) for key in own}
    return [
        Pair(choice, one.run, two.run, two.loss - one.loss, one.floor)
        for choice, (key, leads) in choices.items()
        for one in named
        for two in named
        if all(getattr(one, other) == getattr(two, other) for other in KEYS if other != key)
        and getattr(one, key) != getattr(two, key)
        and leads(one, two)
    ]


def _adds(key: str) -> Callable[[Way, Way], bool]:
    return lambda one, two: (one.other, two.other) == ("", key)


def _shape(way: Way) -> str:
    return way.weighting.split()[0]


def _less(one: Way, two: Way) -> bool:
    return None not in (one.total, two.total) and two.total < one.total


def _rises(one: Way, two: Way) -> bool:
    same = None not in (one.total, two.total) and math.isclose(one.total, two.total)
    return same and (_shape(one), _shape(two)) == ("uniform", "linear")


def _choices(found: list[Pair]) -> list[str]:
    """Every pair, since the mean over pairs of unlike runs would hide that what a choice does hangs on the others."""
    if not found:
        return []
    grouped = {
        choice: [pair for pair in found if pair.choice == choice] for choice in dict.fromkeys(p.choice for p in found)
    }
    parts = [
        f"{choice} {listed([f'{signed(pair.change)} ({pair.without} to {pair.run})' for pair in mine])}"
        for choice, mine in grouped.items()
    ]
    noise = max((pair.noise for pair in found if pair.noise is not None), default=None)
    sentences = [
        f"Between two runs that one choice alone sets apart ({noise_of(noise)}), the last layer changes by: "
        f"{'; '.join(parts)}."
    ]
    if noise is None:
        return sentences
    effects = []
    for words, sign in (("lowered", -1), ("raised", 1)):
        named = [
            choice
            + ("" if len(counted) == len(mine) else f" ({listed([f'{p.without} to {p.run}' for p in counted])} alone)")
            for choice, mine in grouped.items()
            if (counted := [pair for pair in mine if sign * pair.change > 0 and beyond(pair.change, pair.noise)])
        ]
        if named:
            effects.append(f"{words} by {listed(named)}")
    if effects:
        sentences.append(f"Beyond the noise it is {' and '.join(effects)}.")
    else:
        sentences.append("None of these is beyond the noise.")
    several = {choice: mine for choice, mine in grouped.items() if len(mine) > 1}
    if several:
        sentences.append(_agreement(several, noise))
    return sentences


def _agreement(several: dict[str, list[Pair]], noise: float) -> str:
    """Whether what a choice changes is the same whatever else the runs do; two pairs differ by the root of two more."""
    noise *= math.sqrt(2)
    apart = {
        choice: max(pair.change for pair in mine) - min(pair.change for pair in mine)
        for choice, mine in several.items()
    }
    far = [f"{choice} (by {by:.3f})" for choice, by in apart.items() if beyond(by, noise)]
    if not far:
        return (
            f"Pairs of one choice disagree by no more than the noise of two pairs ({noise:.3f}): nothing shows that "
            "the choices interact."
        )
    return (
        f"Pairs disagree by more than the noise of two pairs ({noise:.3f}) about {listed(far)}: there the choices "
        "interact, and no one number says what such a choice is worth."
    )


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
        "supervise. Where layers are dropped in training, training loss is no measure of the finished model: such a "
        "run is judged by held-out loss. Gradients are compared while runs train: those of all layer losses summed "
        "with that of the final loss, for the baseline counterfactually, through its own norm and head."
    ),
    runs=sql("q5_runs"),
    numbers=sql("q5_numbers"),
    numbers_title="What every way to supervise costs the last layer",
    signed=("minus_baseline",),
    claims=sql("q5_claims"),
    figures=("related_work", "fixes", "mix", "switch_off", "gradient_cosines"),
    verdict=verdict,
)
