"""The section `published` of params.yaml, and what the config.json of a published model says, without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perlayer.errors import UserError, require
from perlayer.model.config import LARGEST, MOST_LAYERS
from perlayer.params import check_names, is_number, parse

SIZE = "published"  # what the tables call the recipe of a model that is not ours
MODEL_TYPES = ("llama", "qwen3")
NUMBERS = {"vocab_size": LARGEST, "num_hidden_layers": MOST_LAYERS, "max_position_embeddings": None}  # at most
OPTIONAL = {  # what may stand there, beside null
    "rms_norm_eps": ("a number above 0", lambda value: is_number(value) and value > 0),
    "rope_theta": ("a number above 0", lambda value: is_number(value) and value > 0),
    "partial_rotary_factor": ("1", lambda value: is_number(value) and value == 1),
    "rope_scaling": ("a mapping", lambda value: isinstance(value, dict)),
    "sliding_window": ("a whole number", lambda value: type(value) is int),
    "max_window_layers": ("a whole number", lambda value: type(value) is int),
    "layer_types": ("a list", lambda value: isinstance(value, list)),
}


@dataclass(frozen=True)
class PublishedSettings:
    """What is read of one published model, and how."""

    path: str  # a folder with config.json, tokenizer.json and weights
    sequence_length: int = 256
    sequences: int = 32  # held-out sequences that the lens reads
    tuned_steps: int = 0  # updates of a tuned lens; 0: the logit lens alone
    tuned_batch: int = 8
    depth: dict = field(default_factory=dict)  # how much of it is dissected; `perlayer.depth.settings` knows the keys

    def __post_init__(self):
        require(self.path != "", "path", "the folder of a published model", self.path)
        for key, least in (("sequence_length", 1), ("sequences", 2), ("tuned_batch", 1)):  # 2: for a standard error
            require(least <= getattr(self, key) <= LARGEST, key, f"from {least} to {LARGEST}", getattr(self, key))
        require(self.tuned_steps >= 0, "tuned_steps", "a whole number of at least 0", self.tuned_steps)


def parse_published(params: Mapping[str, Any]) -> dict[str, PublishedSettings]:
    """Read and check the whole section `published`, by name; it may be empty or absent.

    Raises:
        UserError: names the key that is wrong, what was expected and what was found.
    """
    return {name: parse_published_model(params, name) for name in _section(params)}


def parse_published_model(params: Mapping[str, Any], name: str) -> PublishedSettings:
    """Read and check `published.NAME`.

    Raises:
        UserError: no such name, a bad one, an unknown key, or an impossible value.
    """
    section = _section(params)
    if name not in section:
        raise UserError(
            f"params.yaml: published.{name}: no such model; models: {', '.join(map(str, section)) or 'none'}"
        )
    check_names([name], "published")
    if name in params["runs"]:
        raise UserError(f"params.yaml: published.{name}: expected another name than that of a run")
    return parse(PublishedSettings, section[name], f"published.{name}")


def _section(params: Mapping[str, Any]) -> Mapping[str, Any]:
    section = params.get("published")
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise UserError(f"params.yaml: published: expected a mapping of names, found {section!r}")
    return section


def read_published_config(folder: str | Path, sequence_length: int) -> dict[str, Any]:
    """Read config.json of a published model, and check that its sequences can be read as this project reads them.

    Raises:
        UserError: there is no such folder or config.json, it is not of a known type, its weights are quantized or
            come with an adapter, or it does not read `sequence_length` tokens with plain causal attention.
    """
    path = Path(folder, "config.json")
    if not path.parent.is_dir():
        raise UserError(f"{folder}: no such folder; expected a published model")
    for adapter in sorted(path.parent.glob("adapter_*")):
        raise UserError(f"{adapter}: expected the weights of a whole model, found an adapter; merge it into them first")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; expected a published model in the Hugging Face format") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(config, dict):
        raise UserError(f"{path}: expected the configuration of a model, found {config!r}"[:300])
    if config.get("model_type") not in MODEL_TYPES:
        raise UserError(
            f"{path}: model_type: expected one of {', '.join(MODEL_TYPES)}, found {config.get('model_type')!r}"
        )
    for key, most in NUMBERS.items():
        if type(config.get(key)) is not int or config[key] < 1:
            raise UserError(f"{path}: {key}: expected a whole number of at least 1, found {config.get(key)!r}")
        if most is not None and config[key] > most:
            raise UserError(f"{path}: {key}: expected at most {most}, found {config[key]}")
    for key, (expected, fits) in OPTIONAL.items():
        if config.get(key) is not None and not fits(config[key]):
            raise UserError(f"{path}: {key}: expected {expected}, found {config[key]!r}"[:300])
    if config.get("quantization_config"):
        raise UserError(f"{path}: quantization_config: expected weights that are not quantized")
    if sequence_length > config["max_position_embeddings"]:
        raise UserError(
            f"{path}: max_position_embeddings: expected at least the sequence length of {sequence_length}, "
            f"found {config['max_position_embeddings']}"
        )
    if "rope_parameters" in config:  # which transformers 4 would pass over in silence
        raise UserError(f"{path}: rope_parameters: expected rope_theta and rope_scaling, as transformers 4 writes them")
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type", scaling.get("type")) == "longrope":
        raise UserError(f"{path}: rope_scaling: expected frequencies that do not change with the length of the text")
    window = _sliding_window(config)
    if window is not None and window < sequence_length:
        raise UserError(
            f"{path}: sliding_window: expected at least the sequence length of {sequence_length}, found {window}"
        )
    return config


def _sliding_window(config: dict[str, Any]) -> int | None:
    """How far back the layers with a sliding window see; None where there is no such layer (as in Qwen3Config)."""
    if config["model_type"] != "qwen3" or not config.get("use_sliding_window"):
        return None
    kinds = config.get("layer_types")
    if kinds is None:
        some = config["num_hidden_layers"] > config.get("max_window_layers", 28)
    else:
        some = "sliding_attention" in kinds
    return config.get("sliding_window", 4096) if some else None
