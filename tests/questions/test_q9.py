"""The claims of Q9 and its measure of order against results made so that the answer is known."""

import itertools
import math

import made_up_results as made_up
import pytest
from scipy.stats import kendalltau

from perlayer.questions.q9_attnres_order.question import QUESTION

DESIGNS = ("sandwich", "attnres_full", "attnres_block")
FALLING, MIXED, RISING = (9, 8, 7, 6, 5, 4), (4, 6, 9, 5, 8, 7), (4, 5, 6, 7, 8, 9)
# Of every other seed two pairs of layers rise, and three, from which on an order is no clearer than chance makes.
EDGE = ((7, 9, 8, 6, 5, 4), (7, 8, 9, 6, 5, 4))
SCATTER = (-0.003, 0.0, 0.003)
CLAIMS = ("full_probes", "full_lens", "block_probes", "block_lens", "baseline_falls")


def connect(losses, seeds=range(5), defaults=FALLING):
    """The results of plain models whose layers have such losses by probes and by the logit lens."""
    rows, runs = [], {}
    for residual in DESIGNS if defaults else {residual for residual, _ in losses}:
        for seed in seeds:
            run = f"{residual}_{seed}"
            runs[run] = {"residual": residual, "readouts": "probes", "seed": seed}
            for readout in ("probes", "logit_lens"):
                read = losses.get((residual, readout), defaults)
                read = read[seed % 2] if read is EDGE else read
                for layer, loss in enumerate(read, start=1):
                    kind = readout if readout != "probes" else "head" if layer == len(read) else "probe"
                    value = loss + SCATTER[seed % 3] * layer
                    rows.append({"run": run, "layer": layer, "readout": kind, "split": "val", "value": value})
    depth = max((row["layer"] for row in rows), default=6)
    return made_up.in_memory(rows, runs, depth, QUESTION)


def judge(losses, **options):
    with connect(losses, **options) as connection:
        return tuple(made_up.verdicts(connection)[claim] for claim in CLAIMS)


def test_layers_in_order():
    assert judge({}) == ("no", "no", "no", "no", "yes")


@pytest.mark.parametrize("place, design, readout", [
    (0, "attnres_full", "probes"), (1, "attnres_full", "logit_lens"),
    (2, "attnres_block", "probes"), (3, "attnres_block", "logit_lens"),
])  # fmt: skip
def test_layers_without_order(place, design, readout):
    for losses, verdict in ((MIXED, "yes"), (RISING, "yes"), (EDGE, "no effect")):
        expected = ["no", "no", "no", "no", "yes"]
        expected[place] = verdict
        assert judge({(design, readout): losses}, seeds=range(18)) == tuple(expected)


@pytest.mark.parametrize("losses, verdict", [(RISING, "no"), ((9, 8, 7, 6, 5, 5), "no effect")])
def test_the_baseline(losses, verdict):
    assert judge({("sandwich", "probes"): losses})[-1] == verdict


def test_what_has_run():
    assert judge({}, seeds=(0,)) == ("undecided",) * 5
    assert judge({}, seeds=()) == ("not run",) * 5
    assert judge({("attnres_full", "probes"): MIXED}, defaults=())[1:] == ("not run",) * 4
    # Of three layers one order in six falls throughout by chance.
    assert judge({}, defaults=(9, 8, 7)) == ("not run",) * 4 + ("yes",)


@pytest.mark.parametrize("layers", [4, 5, 6])
def test_order_beside_all_orders(layers):
    """Tau is scipy's; as few rising pairs as make an order clearer than chance come in less than 5 of 100 orders."""
    losses = [9, 7, 8, 5, 6, 4][:layers]
    with connect({}, seeds=(1,), defaults=tuple(losses)) as connection:
        tau, chance, rising, pairs = connection.execute(
            "SELECT tau, chance, rising, pairs FROM depth_order WHERE readout = 'probes' LIMIT 1"
        ).fetchone()
    assert tau == pytest.approx(kendalltau(range(layers), losses).statistic)
    orders = list(itertools.permutations(range(layers)))
    rises = [sum(one < other for one, other in itertools.combinations(order, 2)) for order in orders]
    assert pairs == math.comb(layers, 2) and rising == sum(
        one < other for one, other in itertools.combinations(losses, 2)
    )
    least = min(k for k in range(pairs) if sum(rise <= k for rise in rises) / len(orders) >= 0.05)
    assert chance == pytest.approx((2 * least - 1) / pairs - 1)  # half a pair of layers below
