import pytest

from perlayer.environment import Machine
from perlayer.model.config import AttentionSettings, ModelSettings
from perlayer.optim.settings import OptimizerSettings
from perlayer.runs import TrainSettings, parse_run


@pytest.fixture(scope="session")
def shards(small_shards):
    return small_shards


@pytest.fixture(scope="session")
def recipe():
    """A recipe of a second or two."""
    from perlayer.runs import Recipe

    return Recipe(
        size="tiny",
        model=ModelSettings(3, 16, 24, 2, 1, 8, 10000.0, 1e-5),
        optimizer=OptimizerSettings(0.02, 0.008, 0.95, 0.9, 0.98, 1e-20, 1e-5, 5, 1.0, "linear", 0.8, 0),
        train=TrainSettings(steps=12, batch=4, compute_dtype="float32"),
        attention=AttentionSettings(block_cross_document=True),
    )


@pytest.fixture(scope="session")
def run_of():
    """A run by the mapping that params.yaml would hold."""

    def build(name="separate", **keys):
        return parse_run({"runs": {name: {"residual": "sandwich", "readouts": "separate", "seed": 0, **keys}}}, name)

    return build


@pytest.fixture(scope="session")
def machine():
    return Machine(device="cpu", threads=1, checkpoint_steps=2, compile="off")
