"""Whether layers that matter more take longer to recover (Wietrzykowski 2026, arXiv 2603.19348)."""

from __future__ import annotations

from collections.abc import Sequence

from perlayer.anatomy.ablation import NEIGHBOUR_AVERAGE
from perlayer.anatomy.rank_correlation import rank_correlation
from perlayer.depth.tables import SINGLE, Number


def measure_recovery_order(ablation: Sequence[Number], recovery: Sequence[Number]) -> list[Number]:
    """Spearman's rank correlation of recovery steps with importance over layers, at the last of them.

    `rank_correlation`, and `rank_correlation_p`, how likely one at least as high is by chance. Importance is what the
    neighbours' average does to perplexity. No numbers where all layers take as long, or none has been trained back.

    Args:
        ablation: as `measure_ablation`; `recovery` as `measure_recovery`.
    """
    importance = {
        number.layer: number.value
        for number in ablation
        if (number.metric, number.stat, number.sublayer) == (NEIGHBOUR_AVERAGE, "mean", None)
    }
    steps = {number.layer: number.value for number in recovery if number.metric == "recovery_steps"}
    layers = sorted(importance.keys() & steps.keys())
    if len(layers) < 2:
        return []
    found = rank_correlation([importance[layer] for layer in layers], [steps[layer] for layer in layers])
    if found is None:
        return []
    names = ("rank_correlation", "rank_correlation_p")
    return [Number(layers[-1], None, metric, SINGLE, value) for metric, value in zip(names, found)]
