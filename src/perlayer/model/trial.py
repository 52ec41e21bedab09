"""A small model of a run's residual design, by which what is wrong with the design is seen before any work."""

from __future__ import annotations

import dataclasses
import traceback
from pathlib import Path

import torch

from perlayer.errors import InvalidValue, UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.residual.protocol import ResidualDesign, design_class
from perlayer.optim.groups import parameter_groups
from perlayer.optim.settings import OptimizerSettings

SMALL = ModelConfig("", 2, 8, 16, 2, 2, 4, 10000.0, 1e-5, 8, 4, 1, True)


def trial_decoder(residual: str, value_residual: str | None, optimizer: OptimizerSettings) -> Decoder:
    """A decoder of two narrow layers that has read a few tokens and been given its optimizer groups.

    Raises:
        UserError: the file of the design cannot be imported, holds no design, or one that cannot do this.
    """
    try:
        design = design_class(residual)
        if not (isinstance(design, type) and issubclass(design, ResidualDesign)):
            raise TypeError(f"Design: expected a subclass of ResidualDesign, found {design!r}")
        decoder = Decoder(dataclasses.replace(SMALL, residual=residual, value_residual=value_residual))
        decoder.initialize(0)
        tokens = torch.zeros(1, SMALL.sequence_length, dtype=torch.long)
        for layer, tap in enumerate(decoder(tokens)):
            expected = (*tokens.shape, SMALL.hidden_size)
            if not isinstance(tap, torch.Tensor) or tap.shape != expected:
                found = tuple(tap.shape) if isinstance(tap, torch.Tensor) else type(tap).__name__
                raise TypeError(f"tap of layer {layer}: expected a tensor {expected}, found {found}")
        names = {id(parameter): name for name, parameter in decoder.named_parameters()}
        for group in parameter_groups(decoder, optimizer):
            flat = [parameter for parameter in group["params"] if parameter.ndim != 2]
            if group["kind"] == "muonh" and flat:
                raise TypeError(f"parameter_group: expected muonh for matrices, found it for {tuple(flat[0].shape)}")
            still = [names[id(one)] for one in group["params"] if group["kind"] != "adam" and not one.any()]
            if still:
                raise ValueError(
                    f"{still[0]} starts at zero: {group['kind']} turns a matrix and keeps its norm, so that one of "
                    "norm zero cannot turn; a gain that starts at zero does the same (rezero.py in the README)"
                )
    except (UserError, InvalidValue):
        raise
    except Exception as error:  # whatever a file that a user has written may do
        said = " ".join(str(error).split()) or "no message"
        raise UserError(
            f"{_place(residual, error)}: expected a residual design that works, found {type(error).__name__}: {said}"
        ) from None
    return decoder


def _place(residual: str, error: Exception) -> str:
    """The file of a design, and the line of it that an error came from last, where it came from there."""
    file = f"src/perlayer/model/residual/{residual}.py"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == f"{residual}.py"]
    return f"{file}, line {lines[-1]}" if lines else file
