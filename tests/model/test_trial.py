"""What is wrong with the file of a design is said in one line, before any work."""

import copy

import pytest

import perlayer.model.residual as residual
from perlayer.closure import ImportClosure
from perlayer.errors import UserError
from perlayer.model.config import design_names
from perlayer.model.trial import trial_decoder
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import load
from perlayer.plan import check_params, run_files
from perlayer.runs import ALGORITHMS, parse_run

SETTINGS = OptimizerSettings(0.02, 0.008, 0.95, 0.9, 0.98, 1e-20, 1e-5, 5, 1.0, "linear", 0.8, 0)
HEAD = "from perlayer.model.residual.protocol import ResidualDesign\n\n\n"
WORKS = HEAD + "class Design(ResidualDesign):\n    def read(self, state, sublayer):\n        return state\n\n"
SUM = "    def write(self, state, sublayer, output):\n        return state + output\n\n"


@pytest.fixture
def design(tmp_path, monkeypatch):
    """Write a design file, and return its name."""
    import sys

    def write(text, name="trial_toy"):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(tmp_path / f"{name}.py", mode) as file:
            file.write(text)
        sys.modules.pop(f"perlayer.model.residual.{name}", None)
        return name

    monkeypatch.setattr(residual, "__path__", [*residual.__path__, str(tmp_path)])
    monkeypatch.setattr("perlayer.model.residual.protocol.design_names", lambda: [*design_names(), "trial_toy"])
    yield write
    sys.modules.pop("perlayer.model.residual.trial_toy", None)


@pytest.mark.parametrize("name", design_names())
def test_every_design_passes(name):
    assert trial_decoder(name, None, SETTINGS).config.residual == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "AttributeError: .*no attribute 'Design'"),
        (HEAD + "def Design(config):\n    return None\n", "TypeError: Design: expected a subclass of ResidualDesign"),
        (HEAD + "class Design(:\n", "SyntaxError"),
        (WORKS, "NotImplementedError"),
        (WORKS + "    def write(self, state, sublayer, output):\n        pass\n", "found (TypeError|AttributeError)"),
        (
            WORKS + SUM + "    def tap(self, state, layer):\n        return state[..., :3]\n",
            r"tap of layer 0: .*\(1, 4, 3\)",
        ),
        (
            WORKS + SUM + "    def tap(self, state, layer):\n        return state, state\n",
            "tap of layer 0: .*found tuple",
        ),
        (WORKS + SUM + "    def layer_modules(self, layer):\n        return []\n", "line|AttributeError"),
        (
            WORKS.replace("\n\n\n", "\n\nfrom perlayer.model.norm import RMSNorm\n\n\n", 1)
            + SUM
            + "    def layer_modules(self, layer):\n        return {'own': RMSNorm(8, 1e-5)}\n\n"
            + "    def parameter_group(self, name):\n        return 'muonh'\n",
            "parameter_group: expected muonh for matrices",
        ),
        (
            "from perlayer.model.residual import pre_ln\n\n\nclass Design(pre_ln.Design):\n"
            "    def initialize(self, model):\n        model.model.layers[1].mlp.down_proj.weight.data.zero_()\n",
            r"model\.layers\.1\.mlp\.down_proj\.weight starts at zero: muonh .* norm zero cannot turn",
        ),
        (HEAD + "from perlayer.nowhere import x\n", "ModuleNotFoundError: No module named 'perlayer.nowhere'"),
    ],
)
def test_a_broken_design_is_named(design, text, message):
    with pytest.raises(UserError, match=rf"src/perlayer/model/residual/trial_toy\.py.*{message}") as caught:
        trial_decoder(design(text), None, SETTINGS)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_python_is_named(tmp_path):
    import shutil

    package = tmp_path / "perlayer"
    shutil.copytree(ALGORITHMS.parent, package)
    run = parse_run({"runs": {"mine": {"residual": "sandwich", "readouts": "none", "seed": 0}}}, "mine")
    for content in (b"class Design(:\n", b"# caf\xe9\n", b"x = 1\0\n"):
        (package / "model/residual/sandwich.py").write_bytes(content)
        with pytest.raises(UserError, match=r"sandwich\.py: expected Python, found"):
            run_files(run, ImportClosure(package))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"residual": "mhc", "readouts": "separate", "gradient_surgery": "per_token"}, "gradient_surgery: .*'mhc'"),
        ({"residual": "moda", "layer_dropout": {"most": 0.1}}, "layer_dropout: .*'moda'"),
        (
            {"residual": "pre_ln", "value_residual": "identity", "layer_dropout": {"most": 0.1}},
            "layer_dropout: .*'pre_ln with identity value residual'",
        ),
    ],
)
def test_what_does_not_go_together_is_said_by_the_plan(keys, message):
    params = copy.deepcopy(load())
    params["runs"]["mine"] = {"readouts": "none", "seed": 0, **keys}
    with pytest.raises(UserError, match=rf"params\.yaml: runs\.mine\.{message}"):
        check_params(params)
