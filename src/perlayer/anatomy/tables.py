"""The tables of what the layers of a finished model are made of: a frozen dataclass a kind of row."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.tables import Int16, Int32, Measured


@dataclass(frozen=True)
class Ablation:
    """What taking away a layer or a sublayer does to perplexity, in percent, with its interval over documents."""

    run: str
    layer: Int16
    sublayer: str | None
    way: str
    degradation: Measured[float]
    low: Measured[float]
    high: Measured[float]
    category: Measured[str]


@dataclass(frozen=True)
class Predictability:
    """R2 of one matrix of a layer, predicted from the layers before and after."""

    run: str
    layer: Int16
    matrix: str
    r2: Measured[float]
    initial: Measured[float]
    shuffled: Measured[float] | None  # two layers have no other order
    entries_alone: Measured[float]
    best_penalty: Measured[float]
    worst_penalty: Measured[float]


@dataclass(frozen=True)
class LayersReplaced:
    """What replacing so many layers by their predictions does to perplexity, as in `Ablation`."""

    run: str
    replaced: Int32
    layer: Int16
    degradation: Measured[float]
    low: Measured[float]
    high: Measured[float]


@dataclass(frozen=True)
class DeltaCorrelation:
    """Of the change of a matrix up to a layer with the change after it."""

    run: str
    layer: Int16
    matrix: str
    correlation: Measured[float]
    independent: Measured[float]
    initial: Measured[float]
    excess: Measured[float]


@dataclass(frozen=True)
class WeightComponents:
    """Which share of the variance of a matrix over layers so many principal components explain."""

    run: str
    matrix: str
    components: Int32
    explained: Measured[float]
    independent: Measured[float]
    initial: Measured[float]
    excess: Measured[float]


@dataclass(frozen=True)
class Manipulation:
    """What moving the weights of a layer some of the way to others does to perplexity, as in `Ablation`."""

    run: str
    layer: Int16
    kind: str
    strength: float
    degradation: Measured[float]
    low: Measured[float]
    high: Measured[float]


@dataclass(frozen=True)
class Recovery:
    """How a layer recovers from noise when it alone is trained; perplexity in percent above the untouched model's."""

    run: str
    layer: Int16
    steps: Measured[Int32]
    recovered: Measured[bool]
    perturbation: Measured[float]
    remaining: Measured[float]


@dataclass(frozen=True)
class RecoveryOrder:
    """Rank correlation of recovery with importance, and how likely chance gives one as high, or as low."""

    run: str
    rho: Measured[float]
    p_high: Measured[float]
    p_low: Measured[float]


@dataclass(frozen=True)
class AnatomyEstimate:
    """A number by which a claim is judged; its interval is null where nothing bounds it."""

    run: str
    statistic: str
    part: str | None
    value: Measured[float]
    low: Measured[float] | None
    high: Measured[float] | None
    covers: Measured[str]


TABLES: dict[str, type] = {
    "ablations": Ablation,
    "predictability": Predictability,
    "replacements": LayersReplaced,
    "delta_correlations": DeltaCorrelation,
    "weight_components": WeightComponents,
    "manipulations": Manipulation,
    "recoveries": Recovery,
    "recovery_orders": RecoveryOrder,
    "anatomy_estimates": AnatomyEstimate,
}
