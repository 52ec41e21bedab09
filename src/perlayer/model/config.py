"""The shape of a decoder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from perlayer.errors import left_out, require

LARGEST = 2**20
MOST_LAYERS = 2**12
VALUE_RESIDUALS = ("identity", "learnable", "constant")


def design_names() -> list[str]:
    """The residual designs that exist: the files of their folder."""
    folder = Path(__file__).with_name("residual")
    return sorted(path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "protocol"))


def require_design(residual: str, value_residual: str | None) -> None:
    """Raise `InvalidValue` unless both are what they are called."""
    require(residual in design_names(), "residual", f"one of {', '.join(design_names())}{left_out()}", residual)
    known = value_residual is None or value_residual in VALUE_RESIDUALS
    require(known, "value_residual", f"one of {', '.join(VALUE_RESIDUALS)}", value_residual)


@dataclass(frozen=True)
class AttentionSettings:
    """What a model reads of the `data` section of a recipe."""

    block_cross_document: bool


@dataclass(frozen=True)
class ModelSettings:
    """The `model` section of a recipe."""

    layers: int
    hidden_size: int
    intermediate_size: int
    attention_heads: int
    key_value_heads: int
    head_dim: int
    rope_theta: float
    norm_epsilon: float

    def __post_init__(self):
        require(1 <= self.layers <= MOST_LAYERS, "layers", f"from 1 to {MOST_LAYERS}", self.layers)
        for key in ("hidden_size", "intermediate_size", "attention_heads", "key_value_heads", "head_dim"):
            require(1 <= getattr(self, key) <= LARGEST, key, f"from 1 to {LARGEST}", getattr(self, key))
        require(
            self.hidden_size == self.attention_heads * self.head_dim,
            "hidden_size",
            f"attention_heads x head_dim = {self.attention_heads * self.head_dim}",
            self.hidden_size,
        )
        require(
            self.attention_heads % self.key_value_heads == 0,
            "key_value_heads",
            f"a divisor of attention_heads = {self.attention_heads}",
            self.key_value_heads,
        )
        require(self.head_dim % 2 == 0, "head_dim", "an even number, since rotary embedding turns pairs", self.head_dim)
        require(self.rope_theta > 0, "rope_theta", "a positive number", self.rope_theta)
        require(0 < self.norm_epsilon < 1, "norm_epsilon", "a number between 0 and 1", self.norm_epsilon)


@dataclass(frozen=True)
class ModelConfig:
    """Everything that fixes a decoder's shape and function; stored beside its weights as config.json."""

    residual: str
    layers: int
    hidden_size: int
    intermediate_size: int
    attention_heads: int
    key_value_heads: int
    head_dim: int
    rope_theta: float
    norm_epsilon: float
    vocab_size: int
    sequence_length: int
    eos_id: int
    block_cross_document: bool
    value_residual: str | None = None  # one of VALUE_RESIDUALS, or none
    bos_is_eos: bool = False  # one token begins and ends a document

    @property
    def design(self) -> str:
        """The residual design, and what it is combined with, in words."""
        return (
            self.residual
            if self.value_residual is None
            else f"{self.residual} with {self.value_residual} value residual"
        )


def check_config(config: ModelConfig) -> None:
    """Raise `InvalidValue` or `TypeError` for a value that no decoder has."""
    ModelSettings(*(getattr(config, field.name) for field in dataclasses.fields(ModelSettings)))
    require_design(config.residual, config.value_residual)
    for key in ("vocab_size", "sequence_length"):
        require(getattr(config, key) >= 1, key, "at least 1", getattr(config, key))
