"""The tables of how a finished model uses its depth: a frozen dataclass a kind of row."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.tables import Int16, Int32, Int64, Measured


@dataclass(frozen=True)
class Contribution:
    """What a layer or a sublayer adds to the residual; of layer 0, the embedding, there is a residual alone."""

    run: str
    layer: Int16
    sublayer: str | None
    relative_contribution: Measured[float] | None = None
    relative_contribution_p95: Measured[float] | None = None
    greatest_relative_contribution: Measured[float] | None = None
    cosine: Measured[float] | None = None
    residual_cosine: Measured[float] | None = None
    contribution_norm: Measured[float] | None = None
    residual_norm: Measured[float] | None = None
    relative_contribution_without_first: Measured[float] | None = None
    cosine_without_first: Measured[float] | None = None


@dataclass(frozen=True)
class ResidualLens:
    """How near the model's own readout of the residual after a layer is to its output."""

    run: str
    layer: Int16
    kl_lens_final: Measured[float]
    kl_final_lens: Measured[float]
    top5_overlap: Measured[float]


@dataclass(frozen=True)
class SkipEffect:
    """What leaving out a layer or a sublayer changes in a later layer; null where no token shows it."""

    run: str
    layer: Int16
    sublayer: str | None
    later_layer: Int16
    stat: str
    effect_all: Measured[float] | None = None
    effect_future: Measured[float] | None = None
    local_effect_all: Measured[float] | None = None
    local_effect_future: Measured[float] | None = None


@dataclass(frozen=True)
class OutputEffect:
    """What leaving out a layer or a sublayer changes in predictions; null where no token shows it."""

    run: str
    layer: Int16
    sublayer: str | None
    stat: str
    output_effect_all: Measured[float] | None = None
    output_effect_future: Measured[float] | None = None


@dataclass(frozen=True)
class DepthScore:
    """The mean layer, weighted by what leaving it out does."""

    run: str
    layers: Int16
    sublayer: str | None
    stat: str
    depth_score: Measured[float] | None
    output_depth_score: Measured[float] | None


@dataclass(frozen=True)
class EffectiveDepth:
    """At which layer a model turns from reading to predicting."""

    run: str
    layers: Int16
    cosine: Measured[Int16] | None
    kl: Measured[Int16] | None
    overlap: Measured[Int16] | None


@dataclass(frozen=True)
class GroupScore:
    """The depth scores of the prompts of one group."""

    run: str
    prompts: str
    prompt_group: str
    difficulty: Measured[float] | None
    layers: Int16
    prompts_read: Measured[Int32]
    too_long: Measured[Int32]
    answered: Measured[float] | None
    depth_score: Measured[float] | None
    standard_error: Measured[float] | None
    output_depth_score: Measured[float] | None
    output_standard_error: Measured[float] | None
    depth_score_by_max: Measured[float] | None


@dataclass(frozen=True)
class TokenEffect:
    """What the answer of a text owes to one of its tokens at one depth."""

    run: str
    text: str
    position: Int32
    token: Measured[str]
    layer: Int16
    erasure: Measured[float] | None = None
    attribution: Measured[float] | None = None
    attention_attribution: Measured[float] | None = None
    mlp_attribution: Measured[float] | None = None


@dataclass(frozen=True)
class LinearMap:
    """How well a linear map takes a layer of one run to a layer of another."""

    pair: str
    kind: str
    layer: Int64
    source_layer: Int64
    layers: Int64
    source_layers: Int64
    error: Measured[float]
    unexplained: Measured[float]
    penalty: Measured[float]
    mean_error: Measured[float]
    from_diagonal: Measured[float]
    best: Measured[bool]


@dataclass(frozen=True)
class Route:
    """By which weights a sublayer reads and writes a stream or a source, or how far mixing amplifies."""

    run: str
    layer: Int16
    sublayer: str
    place: Int16
    other_layer: Int16 | None
    read: Measured[float] | None = None
    write: Measured[float] | None = None
    source_weight: Measured[float] | None = None
    source_entropy: Measured[float] | None = None
    forward_gain: Measured[float] | None = None
    greatest_forward_gain: Measured[float] | None = None
    backward_gain: Measured[float] | None = None
    greatest_backward_gain: Measured[float] | None = None
    least_column_sum: Measured[float] | None = None


TABLES: dict[str, type] = {
    "contributions": Contribution,
    "residual_lens": ResidualLens,
    "skip_effects": SkipEffect,
    "output_effects": OutputEffect,
    "depth_scores": DepthScore,
    "effective_depths": EffectiveDepth,
    "group_scores": GroupScore,
    "token_effects": TokenEffect,
    "linear_maps": LinearMap,
    "routing": Route,
}
