"""What separate heads cost a training step."""

from benchmarks.measure import Row
from benchmarks.readout_step import rows_of


def rows() -> list[Row]:
    return rows_of("separate", "separate heads")
