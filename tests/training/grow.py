"""Trains a few updates in stages: `grow.py SHARDS`."""

import sys
from pathlib import Path

from perlayer.params import load
from perlayer.runs import parse_recipe, parse_run
from perlayer.training.start import start_training

ROOT = Path(__file__).parents[2]
# Of eight updates two train layer 2, two train layers 1 and 3, and four train all.
STAGES = [{"layers": [2], "share": 0.25}, {"layers": [1, 3], "share": 0.25}]


def grow(shards):
    keys = {"residual": "sandwich", "readouts": "separate", "seed": 0, "steps": 8}
    start_training(
        parse_run({"runs": {"growing": {**keys, "growth": {"stages": STAGES, "outside": "frozen"}}}}, "growing"),
        parse_recipe({**load(ROOT / "params.yaml"), "size": "smoke"}),
        shards,
        models=Path("models"),
        metrics=Path("metrics"),
    )


if __name__ == "__main__":
    grow(Path(sys.argv[1]))
