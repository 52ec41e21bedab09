"""The `optimizer` section of a recipe."""

from __future__ import annotations

from dataclasses import dataclass

from perlayer.errors import require

SMALLEST = 1e-37  # what is smaller may be zero in float32, and then 0 is divided by 0


@dataclass(frozen=True)
class OptimizerSettings:
    """Rates and constants of the recipe."""

    learning_rate: float
    adam_learning_rate: float
    momentum: float
    beta1: float
    beta2: float
    adam_epsilon: float
    muon_epsilon: float
    newton_schulz_steps: int
    max_grad_norm: float
    schedule: str
    decay: float
    warmup: int
    rate_multiplier: float = 1.0

    def __post_init__(self):
        for key in ("learning_rate", "adam_learning_rate"):
            require(0 < getattr(self, key) <= 10, key, "a number above 0 and up to 10", getattr(self, key))
        require(0 < self.rate_multiplier <= 100, "rate_multiplier", "a number above 0, up to 100", self.rate_multiplier)
        for key in ("adam_epsilon", "muon_epsilon", "max_grad_norm"):
            require(getattr(self, key) >= SMALLEST, key, f"a number of at least {SMALLEST}", getattr(self, key))
        for key in ("momentum", "beta1", "beta2"):
            require(0 <= getattr(self, key) < 1, key, "a number from 0 to below 1", getattr(self, key))
        require(self.newton_schulz_steps >= 1, "newton_schulz_steps", "at least 1", self.newton_schulz_steps)
        require(self.schedule in ("linear", "cosine"), "schedule", "linear or cosine", self.schedule)
        require(0 < self.decay <= 1, "decay", "a share above 0 and up to 1", self.decay)
        require(self.warmup >= 0, "warmup", "0 or more steps", self.warmup)
