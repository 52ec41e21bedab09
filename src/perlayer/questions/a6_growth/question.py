"""Does training that spends by importance beat uniform training?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, listed, noise_of, place, signed


class Effect(NamedTuple):
    """Where one way of growth training ends beside uniform training of one budget."""

    budget: str
    way: str
    pairs: int
    cost: float  # over that of uniform training
    difference: float
    noise: float | None  # None: not known

    @property
    def outcome(self) -> str:
        """Whether the validation loss ends above or below uniform training, or that the runs cannot tell."""
        return place(self.difference, self.noise)


BUDGETS = {
    "equal steps": "At equal steps",
    "equal compute": "At equal compute",
    "half the budget": "With about half the steps of uniform training",
}
OUTCOMES = {
    "below": "ends below uniform training, as claimed",
    "within": "ends within the noise of uniform training, so that the claim is not borne out",
    "above": "ends above uniform training: the claim fails",
    "unknown": "ends where no seeds tell the noise",
}


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Where growth training ends beside uniform training at each budget, and what it costs."""
    effects = [
        Effect(*row)
        for row in connection.execute(
            """SELECT budget, way, pairs, compute / baseline_compute, mean_difference, noise FROM growth_effects
            ORDER BY way, steps, baseline_steps"""
        ).fetchall()
    ]
    if not effects:
        return "No growth training stands beside uniform training of its seed yet."
    sentences = []
    for budget, words in BUDGETS.items():
        mine = [effect for effect in effects if effect.budget == budget]
        if not mine:
            sentences.append(f"{words} nothing has been compared yet.")
        for outcome, said in OUTCOMES.items():
            parts = [_said(effect) for effect in mine if effect.outcome == outcome]
            if parts:
                sentences.append(f"{words} growth training {said}: {listed(parts)}.")
    sentences += _cost([effect for effect in effects if effect.budget == "equal steps"])
    return " ".join([*sentences, claims_fared(connection, "A6")])


def _said(effect: Effect) -> str:
    pairs = f"{effect.pairs} pair{'' if effect.pairs == 1 else 's'}"
    return f"{signed(effect.difference)} nats for {effect.way} ({noise_of(effect.noise)}, {pairs} of one seed)"


def _cost(effects: list[Effect]) -> list[str]:
    if not effects:
        return []
    return [
        "At equal steps it costs "
        + listed([f"{100 * effect.cost:.0f} % of the compute for {effect.way}" for effect in effects])
        + "."
    ]


QUESTION = Question(
    key="A6",
    title="Does training that spends by importance beat uniform training?",
    background=(
        "Growth training goes through stages in which only some layers train, those that matter most longest, and ends "
        "with one in which all do. Stages follow the source's six by relative depth, or the importance (A2) of a "
        "finished model's layers. Beside it stands uniform training of the same seed, on the same data in the same "
        "order: at equal steps, at equal compute, and with about twice the steps. Compute counts an update of the "
        "whole model as one; where layers are frozen, the gradients of their weights are saved. The source's loss of "
        "0.127 is that of a model which knows a tiny text by heart. What counts as noise is three standard errors over "
        "pairs of one seed, and with fewer than three pairs never less than how far uniform runs end apart."
    ),
    runs=sql("a6_runs"),
    numbers=sql("a6_numbers"),
    numbers_title="Validation loss of growth training beside uniform training",
    signed=("difference",),
    testing="SELECT coalesce(max(pairs), 0) < 3 FROM growth_effects WHERE residual = 'sandwich' AND full_depth",
    claims=sql("a6_claims"),
    figures=("growth",),
    verdict=verdict,
)
