"""Why does AttnRes scramble what its layers hold?"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, layers, listed

READOUTS = {"probes": "probes", "logit_lens": "the logit lens", "tuned_lens": "the tuned lens"}
ATTNRES = ("attnres_full", "attnres_block")


class Order(NamedTuple):
    """How the loss of one plain model goes with depth, by one readout."""

    residual: str
    design: str
    readout: str
    pairs: int
    rising: int
    tau: float
    p: float
    rises: list[int] | None
    falls: str
    by_chance: bool  # its order is no clearer than chance makes

    def __str__(self) -> str:
        if self.falls == "yes":
            text = "it falls with every layer"
        elif self.rises:
            text = f"it rises beyond the noise at {layers(self.rises)}"
        elif self.rising:
            text = "it rises within the noise alone"
        else:
            text = "it falls with every layer, not everywhere beyond the noise"
        chance = ", no clearer an order than chance makes" if self.by_chance else ""
        return f"by {READOUTS[self.readout]} {text} (tau {self.tau:+.2f}, p = {self.p:.2g}{chance})"


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Whether the loss falls with depth in each design, by each readout."""
    rows = connection.execute(
        """SELECT residual, design_name(residual), readout, pairs, rising, tau, p, rises, falls, tau >= chance
        FROM depth_order
        ORDER BY design_place(residual), residual, array_position(['probes', 'logit_lens', 'tuned_lens'], readout)"""
    ).fetchall()
    orders = [Order(*row) for row in rows]
    if not orders:
        return "No plain model has been read after every layer yet."
    sentences = []
    for residual in ("sandwich", *ATTNRES):
        mine = [order for order in orders if order.residual == residual]
        if mine:
            name = "the baseline" if residual == "sandwich" else mine[0].design
            sentences.append(f"Read after each layer, the loss of {name}: {'; '.join(str(order) for order in mine)}.")
    if not any(order.residual in ATTNRES for order in orders):
        sentences.append("No AttnRes model has been read yet.")
    sentences += _others([order for order in orders if order.residual not in ("sandwich", *ATTNRES)])
    return " ".join([*sentences, *_noise(connection), claims_fared(connection, "Q9", "tested claim")])


def _others(orders: list[Order]) -> list[str]:
    """Of the other designs: by which readouts they rise beyond the noise, or are no longer ordered."""
    designs = list(dict.fromkeys(order.design for order in orders))
    if not designs:
        return []
    parts = []
    for readout, words in READOUTS.items():
        mine = [order for order in orders if order.readout == readout]
        rise = [f"{order.design} ({layers(order.rises)})" for order in mine if order.rises]
        lost = [order.design for order in mine if order.by_chance]
        if rise:
            parts.append(f"by {words} the loss rises beyond the noise in {listed(rise)}")
        if lost:
            parts.append(f"by {words} the order is no clearer than chance in {listed(lost)}")
    text = "; ".join(parts) or "the loss rises nowhere beyond the noise, and its order is clearer than chance in all"
    return [f"Of the {len(designs)} other design{'' if len(designs) == 1 else 's'}, {text}."]


def _noise(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        """SELECT DISTINCT design_name(residual), design_place(residual) AS place, residual FROM depth_order
        WHERE runs > 1 ORDER BY place, residual"""
    ).fetchall()
    if not rows:
        return []
    return [f"Seeds, which the other designs borrow, are those of {listed([design for design, _, _ in rows])}."]


QUESTION = Question(
    key="Q9",
    title="Why does AttnRes scramble what its layers hold?",
    background=(
        "After every layer of a plain model the held-out loss is read by a probe that was trained with it, by the "
        "logit lens (its own norm and head) and by the tuned lens. Where layers hold ever more of the prediction, it "
        "falls with depth. How far it departs from that is Kendall's tau of layer and loss, -1 when every layer lowers "
        "it, beside the exact probability p that no more pairs of layers rise when their order says nothing. A rise "
        "from one layer to the next counts when it is beyond the noise: three standard deviations of that step over "
        "seeds, which designs with a single seed borrow from the others, and for lenses never less than three standard "
        "errors of the held-out text."
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
