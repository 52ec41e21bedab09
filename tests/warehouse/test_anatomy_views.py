"""The views of what layers are made of, against the runs and the numbers they were made from."""

import math

import made_up_anatomy
import made_up_results as made_up
from made_up_anatomy import anatomy

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}


def rows(connection, sql):
    return connection.execute(sql).fetchall()


def test_a_run_is_not_lost_to_one_that_trains_alike_and_is_not_taken_apart():
    runs = {"a": PLAIN, "watched": {**PLAIN, "gradient_cosines": {"every": 5}}}
    found = made_up.in_memory(anatomy("watched"), runs, made_up_anatomy.LAYERS)
    assert rows(found, "SELECT run, label, layers FROM anatomy_runs") == [("watched", "baseline", 6)]


def test_what_nothing_bounds_lies_anywhere():
    estimates = {
        ("random controls", "gate_lead", "q_proj"): (0.25, 0.125), ("text", "importance_span", None): (2.0, None)
    }  # fmt: skip
    with made_up.in_memory(anatomy("a", estimates=estimates), {"a": PLAIN}, made_up_anatomy.LAYERS) as connection:
        found = rows(connection, "FROM baseline_estimates ORDER BY statistic")
    assert found == [
        ("gate_lead", "q_proj", "a", 0.25, 0.125, 0.375, "random controls"),
        ("importance_span", None, "a", 2.0, -math.inf, math.inf, "text"),
    ]


def test_of_the_runs_of_a_seed_one_that_has_been_taken_apart_stands_for_all():
    """Also where another of the same training has a shorter name; one with keys of its own stands for itself."""
    runs = {
        "a": PLAIN,
        "baseline_with_a_long_name": {**PLAIN, "readouts": "probes"},
        "weighted": {**PLAIN, "readouts": "separate", "weighting": {"shape": "uniform", "weight": 0.2}},
        "not_taken": {**PLAIN, "readouts": "separate"},
    }
    taken = made_up.together(anatomy("baseline_with_a_long_name"), anatomy("weighted"))
    with made_up.in_memory(taken, runs, 6) as connection:
        found = rows(connection, "SELECT run, representative, setup, label FROM anatomy_runs ORDER BY place")
        assert found == [
            ("baseline_with_a_long_name", "baseline_with_a_long_name", "baseline", "baseline"),
            ("weighted", "weighted", "separate", "separate heads, weighting (shape uniform, weight 0.2)"),
        ]
