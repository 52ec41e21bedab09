"""The lenses: how each turns the tap of a layer into what the model's own head unembeds, and how they are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from torch import Tensor, nn

from perlayer.errors import UserError
from perlayer.model.decoder import Decoder
from perlayer.model.weights import load_weights, save_weights
from perlayer.store import verified

WEIGHTS, DESCRIPTION = "lens.safetensors", "lens.json"


class Lens(Protocol):
    """A way to read every layer of a finished decoder through its own final norm and head."""

    name: str  # the readout in the per-layer tables

    def hidden(self, decoder: Decoder, layer: int, tap: Tensor) -> Tensor:
        """What the head unembeds, from the tap after `layer` (0: the embedding), (..., hidden) both."""


class LogitLens:
    """The final norm and head after every layer, as they are (nostalgebraist 2020)."""

    name = "logit_lens"

    def hidden(self, decoder: Decoder, layer: int, tap: Tensor) -> Tensor:
        return decoder.model.norm(tap)


class TunedLens(nn.Module):
    """The final norm and head after an affine translator: norm(h + W h + b), a translator for each layer but the last.

    Belrose et al. 2023, section 3. W and b start at zero, where it equals the logit lens, and weight decay pulls them
    back there.
    """

    name = "tuned_lens"

    def __init__(self, layers: int, hidden_size: int):
        super().__init__()
        self.layers, self.hidden_size = layers, hidden_size
        self.translators = nn.ModuleDict({str(layer): nn.Linear(hidden_size, hidden_size) for layer in range(layers)})
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    def hidden(self, decoder: Decoder, layer: int, tap: Tensor) -> Tensor:
        if layer < self.layers:
            tap = tap + self.translators[str(layer)](tap)
        return decoder.model.norm(tap)


def unembedding_hash(decoder: Decoder) -> str:
    """The SHA-256 of what a lens reads through: final norm and head, in float32."""
    return _hash(repr(decoder.config.norm_epsilon), (decoder.model.norm.weight, decoder.lm_head.weight))


def decoder_hash(decoder: Decoder) -> str:
    """The SHA-256 of a whole decoder, its configuration, weights and buffers, in float32."""
    tensors = {**dict(decoder.named_parameters()), **dict(decoder.named_buffers())}
    return _hash(repr(decoder.config), (tensors[name] for name in sorted(tensors)))


def _hash(description: str, weights: Iterable[Tensor]) -> str:
    digest = hashlib.sha256(description.encode())
    for weight in weights:
        digest.update(repr(tuple(weight.shape)).encode())
        digest.update(weight.detach().float().cpu().contiguous().numpy())
    return digest.hexdigest()


def save_lens(folder: Path, lens: TunedLens, decoder: Decoder) -> None:
    """Write a tuned lens, and the hash of the unembedding it belongs to, into an existing folder."""
    save_weights(lens.state_dict(), folder / WEIGHTS)
    described = {"layers": lens.layers, "hidden_size": lens.hidden_size, "unembedding": unembedding_hash(decoder)}
    (folder / DESCRIPTION).write_text(json.dumps(described, indent=1) + "\n")


def load_lens(folder: Path, decoder: Decoder) -> TunedLens:
    """Read the tuned lens that `save_lens` wrote for this very decoder.

    Raises:
        UserError: a file is missing or broken, or the lens was trained for another unembedding.
    """
    path = folder / DESCRIPTION
    described = json.loads(verified(path).read_text())
    lens, trained_for = TunedLens(described["layers"], described["hidden_size"]), described["unembedding"]
    if trained_for != unembedding_hash(decoder):
        raise UserError(
            f"{folder}: this lens belongs to the unembedding {str(trained_for)[:12]}, and the model has "
            f"{unembedding_hash(decoder)[:12]}: a lens reads the model that it was trained for"
        )
    if (lens.layers, lens.hidden_size) != (decoder.config.layers, decoder.config.hidden_size):
        raise UserError(
            f"{path}: expected {decoder.config.layers} layers of width {decoder.config.hidden_size}, found "
            f"{lens.layers} of {lens.hidden_size}"
        )
    load_weights(lens, folder / WEIGHTS)
    return lens
