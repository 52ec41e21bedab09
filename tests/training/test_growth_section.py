"""The runs of growth training in params.yaml, and the importance that some of them go by."""

import pytest

from perlayer.anatomy.importance import Importance, write_importance
from perlayer.errors import UserError
from perlayer.params import load
from perlayer.training.growth import by_importance, check_growth, growth_run

RUN = {"residual": "sandwich", "readouts": "none", "seed": 0, "growth": {"protocol": "by_importance"}}


def growing(**keys):
    return growth_run({**load(), "growth": {"importance": "baseline", "runs": {"mine": {**RUN, **keys}}}}, "mine")


def importance(tmp_path, values):
    write_importance(Importance(values, []), tmp_path / "mine")
    return tmp_path / "mine"


def test_stages_are_written_out_by_importance(tmp_path):
    run = by_importance(growing(layers=2), importance(tmp_path, [1.0, 3.0]))
    assert [stage["layers"] for stage in run.algorithms["growth"].stages] == [[2], [1]]
    uniform = growing(growth={"protocol": "six_stages"})
    assert by_importance(uniform, tmp_path / "nowhere") is uniform and uniform.layers is None


@pytest.mark.parametrize(("keys", "expected"), [({}, 6), ({"layers": 2}, 2)])  # nano has six
def test_importance_of_other_layers_is_refused(tmp_path, keys, expected):
    path = importance(tmp_path, [1.0, 2.0, 3.0])
    with pytest.raises(UserError) as error:
        by_importance(growing(**keys), path)
    said = f"{path}: expected the importance of {expected} layers, as mine has, found that of 3; "
    assert str(error.value) == said + "`dvc repro importance@mine` makes it anew"


def test_importance_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError) as error:
        by_importance(growing(), tmp_path / "nowhere")
    assert str(error.value).startswith(f"{tmp_path}/nowhere/manifest.json: no such file; remove ")


def test_growth_and_anatomy_can_be_switched_off():
    params = {**load(), "anatomy": {"runs": [], "published_recovery": []}}
    assert check_growth({**params, "growth": {"importance": None, "runs": {}}}) == []
    with pytest.raises(UserError, match=r"growth\.importance: expected one of anatomy\.runs \(\), found None"):
        check_growth({**params, "growth": {"importance": None, "runs": {"mine": RUN}}})
