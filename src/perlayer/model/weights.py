"""Finished models as files: model.safetensors, readouts.safetensors and config.json."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from perlayer.errors import UserError
from perlayer.model.config import ModelConfig, check_config
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts
from perlayer.store import verified

READOUTS = "readouts."  # before the names of auxiliary readouts


def save_model(
    folder: Path,
    decoder: Decoder,
    readouts: nn.ModuleDict | None = None,
    auxiliary: Mapping[str, nn.Module] | None = None,
) -> None:
    """Write a model into an existing folder, with its auxiliary readouts and what else was trained, if it has any.

    Args:
        auxiliary: further modules, each of which gets a file of its name, NAME.safetensors.
    """
    save_weights(decoder.state_dict(), weights_file(folder))
    if readouts is not None:
        save_weights(readouts.state_dict(), readouts_file(folder), READOUTS)
    for name, module in (auxiliary or {}).items():
        save_weights(module.state_dict(), folder / f"{name}.safetensors", f"{name}.")
    (folder / "config.json").write_text(json.dumps(_describe(decoder.config), indent=1) + "\n")


def load_model(folder: Path) -> Decoder:
    """Read a model that `save_model` wrote.

    Raises:
        UserError: a file is missing or broken, or the weights do not fit the configuration beside them.
    """
    decoder = Decoder(load_config(folder))
    load_weights(decoder, weights_file(folder))
    return decoder


def load_config(folder: Path) -> ModelConfig:
    """Read the configuration of a model that `save_model` wrote."""
    path = folder / "config.json"
    try:
        config = ModelConfig(**json.loads(verified(path).read_text())["perlayer"])
        check_config(config)
        return config
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a model configuration of this project: {error}") from None


def load_readouts(folder: Path) -> nn.ModuleDict:
    """Read a model's auxiliary readouts, keyed by layer.

    Raises:
        UserError: the model has none, or they do not fit it.
    """
    readouts = auxiliary_readouts(load_config(folder), seed=0)
    load_weights(readouts, readouts_file(folder), READOUTS)
    return readouts


def weights_file(folder: Path) -> Path:
    """Where a model's own weights are kept."""
    return folder / "model.safetensors"


def readouts_file(folder: Path) -> Path:
    """Where a model's auxiliary readouts are kept."""
    return folder / "readouts.safetensors"


def save_weights(tensors: dict[str, torch.Tensor], path: Path, prefix: str = "") -> None:
    """Write tensors, their names after `prefix`, as a safetensors file."""
    try:
        save_file({prefix + name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        raise UserError(f"{path}: cannot be written: {error}") from None


def load_weights(module: nn.Module, path: Path, prefix: str = "") -> None:
    """Fill a module from a safetensors file in which its names stand after `prefix`.

    Raises:
        UserError: the file is missing or damaged, or holds other weights.
    """
    try:
        found = {name.removeprefix(prefix): tensor for name, tensor in load_file(verified(path)).items()}
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a readable safetensors file: {error}") from None
    expected = module.state_dict()
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise UserError(f"{path}: {prefix}{name} is missing; expected the shape {tuple(expected[name].shape)}")
        if name not in expected:
            raise UserError(f"{path}: {prefix}{name} belongs to no part of the model that config.json describes")
        if found[name].shape != expected[name].shape:
            raise UserError(
                f"{path}: {prefix}{name}: expected the shape {tuple(expected[name].shape)}, "
                f"found {tuple(found[name].shape)}"
            )
    module.load_state_dict(found)


def _describe(config: ModelConfig) -> dict:
    is_qwen3 = config.residual == "pre_ln" and config.value_residual is None
    described = {
        "model_type": "qwen3" if is_qwen3 else "perlayer",
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.attention_heads,
        "num_key_value_heads": config.key_value_heads,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": config.sequence_length,
        "rms_norm_eps": config.norm_epsilon,
        "rope_theta": config.rope_theta,
        "attention_bias": False,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "eos_token_id": config.eos_id,
    }
    if is_qwen3:
        described["architectures"] = ["Qwen3ForCausalLM"]
    own = dataclasses.asdict(config)
    if not config.bos_is_eos:  # said only where it holds
        del own["bos_is_eos"]
    return {**described, "perlayer": own}
