"""An update of each stage of growth training beside one of the whole model."""

from __future__ import annotations

from benchmarks.measure import Row, alternate
from benchmarks.training_step import NANO, build, prepare, step_of
from perlayer.algorithms.growth.algorithm import Growth
from perlayer.algorithms.growth.compute import relative_cost
from perlayer.algorithms.growth.settings import Settings
from perlayer.algorithms.growth.stages import Stage, plan_stages

UPDATES = 1110  # of a run, for the shares of its stages
ABOVE = 0.1  # what freezing may leave beyond the operations that it saves: norms, the optimizer, what reads no products
PAIRS = 30


def rows() -> list[Row]:
    prepare()
    settings = Settings(protocol="six_stages")
    stages = plan_stages(settings, NANO.shape.config.layers, UPDATES)
    return [row_of(settings, stage) for stage in stages if stage.layers]


def row_of(settings: Settings, stage: Stage) -> Row:
    """How long an update of a stage takes; without a compiler."""
    grown, whole = build(NANO, "none", compiled=False), build(NANO, "none", compiled=False)
    growth = Growth(settings, UPDATES)
    growth.decoder = grown.model.decoder
    growth.train_only(stage)
    measured = alternate(step_of(grown, NANO), step_of(whole, NANO), PAIRS, warmup=2)
    cost = relative_cost(NANO.shape.config, stage.layers, outside=settings.outside == "trained")
    names = ", ".join(map(str, stage.layers))
    return measured.row(f"update of layers {names} ÷ whole, nano", cost + ABOVE, f"{cost:.3f} by operations")
