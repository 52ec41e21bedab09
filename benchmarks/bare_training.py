"""Training in a bare loop: the project's model, losses and optimizer, without Composer's trainer."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from benchmarks.project import ROOT
from benchmarks.synthetic_tokens import EOS
from perlayer import params
from perlayer.algorithms.per_layer_loss.algorithm import PerLayerLoss
from perlayer.data.settings import DataSettings
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.losses.reading import Reading
from perlayer.model.config import ModelConfig, ModelSettings
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts
from perlayer.optim.groups import auxiliary_groups, parameter_groups
from perlayer.optim.hyperball import Hyperball
from perlayer.optim.settings import OptimizerSettings
from perlayer.params import parse
from perlayer.process import prepare_process
from perlayer.runs import TrainSettings
from perlayer.training.compilation import compiled_layer
from perlayer.training.composer_model import PerLayerModel

RESIDUAL, SEED = "sandwich", 0


@dataclass(frozen=True)
class Shape:
    """What a size of params.yaml says of a training on made-up tokens."""

    config: ModelConfig
    optimizer: OptimizerSettings
    train: TrainSettings


def read_shape(size: str) -> Shape:
    """The shape of a size.

    Raises:
        UserError: there is no such size.
    """
    choices = params.load(ROOT / "params.yaml")
    if size not in choices["recipes"]:
        raise UserError(f"--size: expected one of {', '.join(choices['recipes'])}, found {size!r}")
    data = parse(DataSettings, *params.recipe(choices, "data", size))
    config = ModelConfig(
        residual=RESIDUAL,
        vocab_size=data.vocab_size,
        sequence_length=data.sequence_length,
        eos_id=EOS,
        block_cross_document=data.block_cross_document,
        **asdict(parse(ModelSettings, *params.recipe(choices, "model", size))),
    )
    return Shape(
        config,
        parse(OptimizerSettings, *params.recipe(choices, "optimizer", size)),
        parse(TrainSettings, *params.recipe(choices, "train", size)),
    )


def prepare(machine: Machine, device: torch.device) -> None:
    """Set up the process as training does."""
    prepare_process(machine)
    torch.backends.cuda.matmul.allow_tf32 = device.type == "cuda"  # Composer's choice


class BareTraining:
    """A model and its optimizer on a device, at the recipe's peak rates."""

    def __init__(self, shape: Shape, readouts: str, device: torch.device, compute_dtype: torch.dtype, compiled: bool):
        decoder = Decoder(shape.config)
        decoder.initialize(SEED)
        decoder.to(device)
        if compiled:
            decoder.run_layer = compiled_layer(decoder)
        self.model = PerLayerModel(decoder, compute_dtype)
        self.reader = None
        if readouts != "none":
            self.reader = PerLayerLoss(readouts, SEED)
            self.reader.model = self.model
        self.optimizer = Hyperball.from_settings(parameter_groups(decoder, shape.optimizer), shape.optimizer)
        if readouts in ("probes", "separate"):
            self.model.readouts = auxiliary_readouts(shape.config, SEED).to(device)
            for group in auxiliary_groups("readouts", self.model.readouts, self.optimizer):
                self.optimizer.add_param_group(group)

    def update(self, tokens: Tensor, microbatch: int) -> dict[Reading, Tensor]:
        """Take one update on tokens (sequences, length + 1), `microbatch` of them at once.

        Returns:
            The mean loss of each reading before the update, in nats.
        """
        means: dict[Reading, Tensor] = {}
        for some in tokens.split(microbatch):
            share = len(some) / len(tokens)
            losses = self._losses(some)
            (sum(losses.values()) * share).backward()
            for reading, loss in losses.items():
                means[reading] = means.get(reading, 0.0) + share * loss.detach()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return means

    def _losses(self, tokens: Tensor) -> dict[Reading, Tensor]:
        taps = self.model({"tokens": tokens})
        losses = {self.model.head: self.model.final_loss(taps, tokens)}
        return losses if self.reader is None else losses | self.reader.losses(taps, tokens)

    @property
    def kept_bytes(self) -> int:
        """Bytes of the weights, their gradients and the optimizer's moments, once there was an update."""
        weights = sum(p.nbytes for group in self.optimizer.param_groups for p in group["params"])
        states = (state for states in self.optimizer.state.values() for state in states.values())
        moments = sum(state.nbytes for state in states if isinstance(state, Tensor))
        return 2 * weights + moments
