"""All readouts of a finished model as one module, the model's own among them."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from perlayer.errors import UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import Readout, auxiliary_readouts
from perlayer.model.weights import READOUTS, load_readouts, load_weights, readouts_file


def every_readout(model_folder: Path, decoder: Decoder) -> nn.ModuleDict:
    """A readout for each layer of a finished run, keyed "1" .. "layers": the last is a copy of its final norm and head.

    Raises:
        UserError: the run has no auxiliary readouts, or they do not fit it.
    """
    if not readouts_file(model_folder).exists():
        raise UserError(
            f"{model_folder}: this run was trained without readouts of its own (probes or separate heads); "
            "expected one that has some to retrain"
        )
    readouts = load_readouts(model_folder)
    last = Readout(decoder.config)
    with torch.no_grad():
        last.norm.weight.copy_(decoder.model.norm.weight)
        last.lm_head.weight.copy_(decoder.lm_head.weight)
    readouts[str(decoder.config.layers)] = last
    return readouts


def load_retrained(folder: Path, config: ModelConfig) -> nn.ModuleDict:
    """Read the retrained readouts of a model of this shape, keyed "1" .. "layers".

    Raises:
        UserError: the file is missing or broken, or belongs to another model.
    """
    readouts = auxiliary_readouts(config, seed=0)
    readouts[str(config.layers)] = Readout(config)
    load_weights(readouts, readouts_file(folder), READOUTS)
    return readouts
