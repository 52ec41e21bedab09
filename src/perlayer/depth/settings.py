"""Which runs are dissected."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.params import names


@dataclass(frozen=True)
class RoutedRuns:
    """The section `routing` of params.yaml."""

    runs: list

    def __post_init__(self):
        names(self.runs, "runs")
