"""Whether layers that matter more take longer to recover (Wietrzykowski 2026, arXiv 2603.19348)."""

from __future__ import annotations

from collections.abc import Sequence

from perlayer.anatomy.ablation import NEIGHBOUR_AVERAGE
from perlayer.anatomy.rank_correlation import rank_correlation
from perlayer.depth.tables import SINGLE, Number


def measure_recovery_order(ablation: Sequence[Number], recovery: Sequence[Number]) -> list[Number]:
    """Spearman's rank correlation of recovery with importance over layers, at the last of them.

    `rank_correlation`, and how likely chance gives one at least as high, `rank_correlation_p`, or at most as high,
    `rank_correlation_p_low`. Importance is what the neighbours' average does to perplexity. A layer recovers later the
    more updates it takes; of those that are not back at the end, the more remains. No numbers where all layers recover
    alike, or none has been trained back.

    Args:
        ablation: as `measure_ablation`; `recovery` as `measure_recovery`.
    """
    importance = {
        number.layer: number.value
        for number in ablation
        if (number.metric, number.stat, number.sublayer) == (NEIGHBOUR_AVERAGE, "mean", None)
    }
    found = {(number.metric, number.layer): number.value for number in recovery}
    layers = sorted(layer for metric, layer in found if metric == "recovery_steps" and layer in importance)
    if len(layers) < 2:
        return []
    late = [
        (found["recovery_steps", layer], 0.0 if found["recovered", layer] else found["remaining", layer])
        for layer in layers
    ]
    order = sorted(set(late))
    correlation = rank_correlation([importance[layer] for layer in layers], [order.index(each) for each in late])
    if correlation is None:
        return []
    names = ("rank_correlation", "rank_correlation_p", "rank_correlation_p_low")
    return [Number(layers[-1], None, metric, SINGLE, value) for metric, value in zip(names, correlation)]
