"""The claims of D9 against plain models made so that the answer is known."""

import made_up_results as made_up
import numpy as np
import pytest

from perlayer.questions.d9_depth_helps.question import QUESTION

NOISE = (0.001, -0.002, 0.0015, -0.001, 0.0, 0.002)


def connect(by_depth, depths=(1, 2, 3, 4, 6, 8), rungs=()):
    """Models of some depths at one width, and of rungs with twice the width, each of which lowers the loss by 0.2."""
    every = [(layers, None) for layers in depths] + [(layers, f"rung_{layers}") for layers in rungs]
    plain = {"residual": "sandwich", "readouts": "none", "seed": 0}
    runs = {
        f"{rung}_{layers}": {**plain, "layers": layers, **({"rung": rung} if rung else {})} for layers, rung in every
    }
    ends = {
        f"{rung}_{layers}": {
            "backbone_parameters": layers * (4000.0 if rung else 1000.0),
            "final_loss": 3.0 + by_depth * np.log2(layers) - 0.2 * bool(rung) + NOISE[number % 6],
        }
        for number, (layers, rung) in enumerate(every)
    }
    return made_up.in_memory([], runs, 6, QUESTION, {rung: {} for _, rung in every if rung}, ends)


@pytest.mark.parametrize("by_depth, verdict", [(-0.1, "yes"), (0.1, "no"), (0.0, "no effect")])
def test_depth_helps_hurts_or_does_nothing(by_depth, verdict):
    with connect(by_depth, rungs=(3, 6)) as connection:
        assert made_up.verdicts(connection) == {"one_width": verdict, "beside_width": verdict}


@pytest.mark.parametrize(
    "depths, rungs, verdicts",
    [
        ((), (), ("not run", "not run")),
        ((1, 2, 4), (), ("undecided", "not run")),
        ((1, 2, 3, 4, 6, 8), (), ("yes", "not run")),
        ((3,), (6,), ("not run", "not run")),  # depth goes with width
    ],
)
def test_too_few_models_decide_nothing(depths, rungs, verdicts):
    with connect(-0.1, depths, rungs) as connection:
        assert tuple(made_up.verdicts(connection).values()) == verdicts


def test_the_regression_is_that_of_least_squares():
    with connect(-0.1, rungs=(3, 6)) as connection:
        table = connection.execute("FROM depth_regression").df().set_index("scope")
        runs = connection.execute(
            "SELECT log2(layers), log2(backbone_parameters / layers) / 2, final_loss FROM runs"
        ).df()
        (interval,) = connection.execute("SELECT high - low FROM contrasts WHERE part = 'with rungs'").fetchone()
    design, loss = np.column_stack([np.ones(len(runs)), runs.iloc[:, :2]]), runs.iloc[:, 2]
    found, squares, *_ = np.linalg.lstsq(design, loss, rcond=None)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * squares / 5)
    row = table.loc["with rungs"]
    assert row[["intercept", "by_depth", "by_width"]].tolist() == pytest.approx(found)
    assert (row["by_depth_standard_error"], row["degrees_of_freedom"]) == (pytest.approx(errors[1]), 5)
    assert row["r_squared"] == pytest.approx(1 - squares[0] / ((loss - loss.mean()) ** 2).sum())
    assert interval == pytest.approx(2 * 4.0321430 * errors[1])  # t of 5 degrees of freedom at 0.995, from a table
