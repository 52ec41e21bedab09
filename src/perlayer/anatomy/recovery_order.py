"""Whether layers that matter more take longer to recover (Wietrzykowski 2026, arXiv 2603.19348)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perlayer.anatomy.importance import of_layers
from perlayer.anatomy.rank_correlation import rank_correlation
from perlayer.anatomy.tables import Ablation, Recovery, RecoveryOrder


def measure_recovery_order(
    name: str, ablations: Iterable[Ablation], recoveries: Sequence[Recovery]
) -> list[RecoveryOrder]:
    """Spearman's rank correlation of recovery with importance over layers.

    And how likely chance gives one at least as high, `p_high`, or at most as high, `p_low`. A layer recovers later the
    more updates it takes; of those that are not back at the end, the more remains. No row where all layers recover
    alike, or none has been trained back.
    """
    if len(recoveries) < 2:
        return []
    late = {row.layer: (row.steps, 0.0 if row.recovered else row.remaining) for row in recoveries}
    order, layers = sorted(set(late.values())), of_layers(ablations)
    correlation = rank_correlation(
        [row.degradation for row in layers], [order.index(late[row.layer]) for row in layers]
    )
    return [] if correlation is None else [RecoveryOrder(name, *correlation)]
