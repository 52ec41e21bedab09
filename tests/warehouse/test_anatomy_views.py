"""The views of what layers are made of, against the numbers they were made from; growth training beside uniform."""

import math
import re

import made_up_anatomy
import made_up_results as made_up
import pandas as pd
import pytest
from made_up_anatomy import KINDS, PROFILE, anatomy

from perlayer.anatomy.categories import category

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}


@pytest.fixture(scope="module")
def connection():
    return made_up.in_memory(anatomy("a"), {"a": PLAIN}, made_up_anatomy.LAYERS)


def rows(connection, sql):
    return connection.execute(sql).fetchall()


def test_ablations_have_intervals_and_categories(connection):
    found = rows(connection, "FROM ablations WHERE way = 'neighbour_average' ORDER BY layer")
    assert len(found) == made_up_anatomy.LAYERS
    for row, percent, name in zip(
        found, PROFILE["importance"], ("critical", "critical", "important", "minor", "redundant", "anti")
    ):
        assert row[2:4] == (None, "neighbour_average") and row[7] == name
        assert row[4:7] == pytest.approx((percent, percent - 0.1 * abs(percent), percent + 0.1 * abs(percent)))
    assert rows(connection, "SELECT count(*) FROM ablations") == [(6 * 7,)]


def test_a_run_is_not_lost_to_one_that_trains_alike_and_is_not_taken_apart():
    runs = {"a": PLAIN, "watched": {**PLAIN, "gradient_cosines": {"every": 5}}}
    found = made_up.in_memory(anatomy("watched"), runs, made_up_anatomy.LAYERS)
    assert rows(found, "SELECT run, label, layers FROM anatomy_runs") == [("watched", "baseline", 6)]


@pytest.mark.parametrize("mean", [-40.0, -0.6, -0.5, -0.1, 0.0, 1.9, 2.0, 19.9, 20.0, 99.9, 100.0, 5000.0])
@pytest.mark.parametrize("reach", [0.05, 0.3, 50.0])
def test_categories_are_those_by_which_layers_are_chosen(connection, mean, reach):
    assert rows(connection, f"SELECT importance({mean}, {mean - reach}, {mean + reach})") == [
        (category(mean, mean - reach, mean + reach),)
    ]


def test_manipulations_replacements_and_recoveries(connection):
    found = rows(connection, "SELECT kind, strength, degradation, low, high FROM manipulations WHERE layer = 6")
    assert len(found) == 2 * len(PROFILE["manipulations"])
    for kind, strength, percent, low, high in found:
        expected = 0.5 * PROFILE["manipulations"][kind][int(strength == 1)]
        assert (percent, low, high) == pytest.approx((expected, 0.9 * expected, 1.1 * expected))
    found = rows(connection, "SELECT replaced, layer, degradation FROM replacements ORDER BY replaced")
    assert found == list(zip(range(1, 7), PROFILE["order"], PROFILE["replaced"]))
    found = rows(connection, "SELECT layer, steps, recovered, perturbation, remaining FROM recoveries ORDER BY layer")
    for (layer, steps, recovered, perturbation, remaining), percent in zip(found, PROFILE["remaining"]):
        assert (steps, recovered) == (PROFILE["steps"][layer - 1], percent <= 5)
        assert (perturbation, remaining) == (2 * percent, percent)
    assert rows(connection, "FROM recovery_orders") == [("a", PROFILE["rank_correlation"][0])]


def test_predictability_and_structure_stand_beside_their_nulls(connection):
    table = connection.execute("FROM predictability").df().set_index(["layer", "matrix"])
    assert len(table) == 6 * len(KINDS)
    gate = table.loc[(3, "gate_proj")]
    assert (gate["r2"], gate["initial"], gate["shuffled"], gate["entries_alone"]) == pytest.approx(
        (0.53, -0.01, 0.05, 0.25)
    )
    assert (gate["best_penalty"], gate["worst_penalty"]) == pytest.approx((0.5, 0.4))
    found = rows(connection, "SELECT correlation, independent, initial, excess FROM delta_correlations")
    assert len(found) == 4 * len(KINDS)
    assert len(set(found)) == 1 and found[0] == pytest.approx((-0.4, -0.52, -0.5, 0.12))
    found = rows(
        connection, "SELECT explained, independent, initial, excess FROM weight_components WHERE components = 2"
    )
    assert len(found) == len(KINDS) and found[0] == pytest.approx((0.7, 0.4, 0.41, 0.3))


def test_estimates_carry_their_intervals():
    estimates = {("controls", "gate_lead", "q_proj"): (0.2, 0.1), ("ablation", "importance_span", None): (2.0, None)}
    with made_up.in_memory(anatomy("a", estimates=estimates), {"a": PLAIN}, made_up_anatomy.LAYERS) as connection:
        found = rows(connection, "FROM anatomy_estimates ORDER BY statistic")
    assert found == [
        ("a", "gate_lead", "q_proj", 0.2, pytest.approx(0.1), pytest.approx(0.3), "random controls"),
        ("a", "importance_span", None, 2.0, -math.inf, math.inf, "text"),
    ]


def test_of_the_runs_of_a_seed_one_that_has_been_taken_apart_stands_for_all():
    """Also where another of the same training has a shorter name; one with keys of its own stands for itself."""
    runs = {
        "a": PLAIN,
        "baseline_with_a_long_name": {**PLAIN, "readouts": "probes"},
        "weighted": {**PLAIN, "readouts": "separate", "weighting": {"shape": "uniform", "weight": 0.2}},
        "not_taken": {**PLAIN, "readouts": "separate"},
    }
    taken = pd.concat([anatomy("baseline_with_a_long_name"), anatomy("weighted")], ignore_index=True)
    with made_up.in_memory(taken, runs, 6) as connection:
        found = rows(connection, "SELECT run, lead, setup, label FROM anatomy_runs ORDER BY place")
        assert found == [
            ("baseline_with_a_long_name", "baseline_with_a_long_name", "baseline", "baseline"),
            ("weighted", "weighted", "run weighted", "run weighted"),
        ]


def test_the_tables_say_what_their_numbers_are(connection):
    comments = dict(
        rows(connection, "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'dissections'")
    )
    for column in ("analysis", "metric"):
        words = set(re.findall(r"\w+", comments[column]))
        for (name,) in rows(connection, f"SELECT DISTINCT {column} FROM dissections"):
            assert re.sub("_(initial|independent)$", "", name) in words or name in words, name
