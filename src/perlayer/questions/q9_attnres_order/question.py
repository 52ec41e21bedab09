"""Why does AttnRes scramble what its layers hold?"""

from __future__ import annotations

import math
from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, layers, listed, noise_of, percent

READOUTS = {"probes": "probes", "logit_lens": "the logit lens", "tuned_lens": "the tuned lens"}
ATTNRES = ("attnres_full", "attnres_block")
CHANCE = "no clearer an order than chance makes"


class Order(NamedTuple):
    """How the loss of the plain models of one design goes with depth, by one readout."""

    residual: str
    design: str
    readout: str
    tau: float
    rises: list[int] | None  # beyond the noise
    ups: list[int] | None
    unclear: list[int] | None
    noise_known: bool
    by_chance: bool  # its order is no clearer than chance makes

    def __str__(self) -> str:
        if not self.ups:
            text = "falls with every layer"
            if self.noise_known and self.unclear:
                text += f", but within the noise at {layers(self.unclear)}"
            notes = [] if self.noise_known else [noise_of(None)]
            notes += [CHANCE] if self.by_chance else []
            return f"{text} ({'; '.join(notes)})" if notes else text
        if self.rises:
            text = f"rises beyond the noise at {layers(self.rises)}"
        elif self.noise_known:
            text = f"rises within the noise alone, at {layers(self.ups)}"
        else:
            text = f"rises at {layers(self.ups)}, {noise_of(None)}"
        chance = f", {CHANCE}" if self.by_chance else ""
        return f"{text} (tau {self.tau:+.2f}{chance})"


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Whether the loss falls with depth in each design, by each readout, and over what AttnRes attends."""
    rows = connection.execute(
        """SELECT residual, design_name(residual), readout, tau, rises, ups, unclear, noise_known, tau >= chance
        FROM depth_order
        ORDER BY design_place(residual), residual, array_position(['probes', 'logit_lens', 'tuned_lens'], readout)"""
    ).fetchall()
    orders = [Order(*row) for row in rows]
    if not orders:
        if connection.execute("SELECT count(*) FROM depth_steps").fetchone()[0]:
            return "The plain models that have been read have one layer, and it takes two to speak of an order."
        return "No plain model has been read after every layer yet."
    sentences = []
    for residual in ("sandwich", *ATTNRES):
        mine = [order for order in orders if order.residual == residual]
        if mine:
            name = "the baseline" if residual == "sandwich" else mine[0].design
            sentences.append(f"The loss of {name}, read after each layer, {_by_readout(mine)}.")
    if not any(order.residual in ATTNRES for order in orders):
        sentences.append("No AttnRes model has been read yet.")
    sentences += _others([order for order in orders if order.residual not in ("sandwich", *ATTNRES)])
    sentences += [*_noise(connection), *_sources(connection)]
    return " ".join([*sentences, claims_fared(connection, "Q9", "tested claim")])


def _by_readout(orders: list[Order]) -> str:
    """What is said of a design, once for all readouts of which the same can be said."""
    parts = []
    for text in dict.fromkeys(str(order) for order in orders):
        readouts = listed([READOUTS[order.readout] for order in orders if str(order) == text])
        parts.append(f"{text} by {readouts}")
    return "; ".join(parts)


def _others(orders: list[Order]) -> list[str]:
    """Of the other designs: by which readouts they rise beyond the noise, or are no longer ordered."""
    designs = list(dict.fromkeys(order.design for order in orders))
    if not designs:
        return []
    parts = []
    for readout, words in READOUTS.items():
        mine = [order for order in orders if order.readout == readout]
        rise = [f"{order.design} ({layers(order.rises)})" for order in mine if order.rises]
        lost = [order.design for order in mine if order.by_chance and order.ups]
        fall = [order.design for order in mine if order.by_chance and not order.ups]
        if rise:
            parts.append(f"by {words} the loss rises beyond the noise in {listed(rise)}")
        if lost:
            parts.append(f"by {words} the order is no clearer than chance in {listed(lost)}")
        if fall:
            parts.append(f"by {words} the loss falls with every layer in {listed(fall)}, {CHANCE}")
    if any(order.ups and not order.noise_known for order in orders):
        parts.append(f"where the loss rises, whether by more than noise cannot be said ({noise_of(None)})")
    text = "; ".join(parts) or "the loss rises nowhere beyond the noise, and its order is clearer than chance in all"
    return [f"Of the {len(designs)} other design{'' if len(designs) == 1 else 's'}, {text}."]


def _noise(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Whose seeds tell the noise."""
    rows = connection.execute(
        """SELECT design_name(residual), max(runs) FROM depth_order WHERE noise_known AND runs > 1
        GROUP BY residual ORDER BY design_place(residual), residual"""
    ).fetchall()
    if not rows:
        return []
    several = [f"{design} ({runs})" for design, runs in rows]
    return [f"Seeds, which the other designs borrow, are those of {listed(several)}."]


def _sources(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """How the head of AttnRes models spreads its attention over depth."""
    rows = connection.execute(
        """SELECT design_name(residual), count(source_weight), arg_max(source_weight, other_layer), max(source_entropy)
        FROM routing JOIN recipe_runs USING (run)
        WHERE sublayer = 'head' AND starts_with(residual, 'attnres') AND full_depth AND standard
            AND readouts IN ('none', 'probes')
        GROUP BY run, residual, readouts, seed
        QUALIFY row_number() OVER (PARTITION BY residual ORDER BY seed, run) = 1
        ORDER BY design_place(residual)"""
    ).fetchall()
    if not rows:
        return []
    parts = [
        f"in {design} over {sources} sources, the last of which weighs {percent(last)} (the entropy of the weights is "
        f"{entropy:.2f} of at most {math.log(sources):.2f} nats)"
        for design, sources, last, entropy in rows
    ]
    return [f"The head of an AttnRes model reads an average: {listed(parts)}."]


QUESTION = Question(
    key="Q9",
    title="Why does AttnRes scramble what its layers hold?",
    background=(
        "After every layer of a plain model the held-out loss is read by a probe that was trained with it, by the "
        "logit lens (its own norm and head) and by the tuned lens. Where layers hold ever more of the prediction, it "
        "falls with depth. How far it departs from that is Kendall's tau of layer and loss, -1 when every layer lowers "
        "it, beside the exact probability p that no more pairs of layers rise when their order says nothing. A step "
        "from one layer to the next is a mean over seeds and counts when it is beyond the noise: three standard "
        "errors of that mean, which designs with a single seed borrow from the others, and for lenses never less than "
        "three standard errors of the held-out text. Probes read all of that text, lenses the first lens.sequences of "
        "it, as params.yaml says: the heights of both compare where that is all. Every sublayer of an AttnRes model "
        "reads a weighted average of what came before, and so does its head."
    ),
    runs=sql("q9_runs"),
    numbers=sql("q9_numbers"),
    numbers_title="How the held-out loss goes with depth",
    signed=("tau",),
    testing="SELECT coalesce(bool_or(runs < 3), true) FROM depth_order WHERE starts_with(residual, 'attnres')",
    claims=sql("q9_claims"),
    figures=("depth_order",),
    verdict=verdict,
)
