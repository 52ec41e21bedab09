"""Retraining every readout of a finished run on its frozen backbone."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from perlayer.algorithms.per_layer_loss.loss import layer_loss
from perlayer.data.batches import Split, read_split
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.heads.held_out import sequence_losses
from perlayer.heads.readouts import every_readout
from perlayer.heads.settings import RetrainSettings
from perlayer.layer_metrics import LayerNumber, Series, layers_table
from perlayer.losses.estimate import Estimate
from perlayer.losses.reading import Reading
from perlayer.model.weights import READOUTS, load_model, readouts_file, save_weights, weights_file
from perlayer.optim.groups import groups_at, peak_rates
from perlayer.optim.hyperball import Hyperball
from perlayer.optim.settings import OptimizerSettings
from perlayer.runs import TrainSettings
from perlayer.store import content_hash, fresh_folder
from perlayer.tables import write_table
from perlayer.training.frozen_backbone import FrozenBackbone
from perlayer.training.layer_log import LayerLog
from perlayer.training.milestones import Milestones
from perlayer.training.schedule import LearningRateSchedule
from perlayer.training.session import (
    Work,
    begin,
    checked_data,
    fit,
    layer_log,
    new_trainer,
    resumable,
)

READOUT = "retrained"
SEED = 0  # nothing is drawn: weights are loaded, and the data order is that of the shards


@dataclasses.dataclass(frozen=True)
class RetrainRecipe:
    """What a size says of retraining."""

    size: str
    optimizer: OptimizerSettings  # peak rates and constants; the schedule is a cosine of its own length
    train: TrainSettings  # batch and compute dtype
    retrain: RetrainSettings


class ReadoutRetraining(FrozenBackbone):
    """Reads every layer through its own readout, each trained by its own loss alone."""

    def losses(self, taps: list[Tensor], tokens: Tensor, reduction: str = "mean") -> dict[Reading, Tensor]:
        return {
            Reading(int(layer), READOUT): layer_loss(
                self.decoder, self.readers, "probes", int(layer), taps[int(layer)], tokens[:, 1:], reduction
            )
            for layer in self.readers
        }

    def held_out(self, rows: Split, batch: int) -> dict[Reading, Tensor]:
        """The loss of each sequence of `rows` by reading, float64 (sequences,)."""

        def token_losses(tokens: Tensor) -> dict[Reading, Tensor]:
            taps = self.forward({"tokens": tokens})
            with self.autocast():
                return self.losses(taps, tokens, reduction="none")

        return sequence_losses(token_losses, rows, batch, self.decoder.lm_head.weight.device)


def retrain_heads(
    run: str, recipe: RetrainRecipe, shards: Path, models: Path, heads: Path, metrics: Path, machine: Machine
) -> None:
    """Retrain the readouts of the finished `run`, and publish `heads/RUN/` and `metrics/RUN/`.

    Every readout starts from where training left it, with a fresh optimizer, at the recipe's peak rates, on the same
    batches from the first (recipe section 6a, "Head retraining"). Continues from a checkpoint if it was interrupted.

    Args:
        models: the folder of finished models; nothing in it is changed.

    Raises:
        UserError: the run has no readouts, or its files or the shards are damaged.
    """
    data = checked_data(shards, recipe.train.batch, f"recipes.{recipe.size}.train.batch")
    if data.val_sequences < 2:
        raise UserError(f"{shards}: expected at least 2 held-out sequences, for a standard error, found 1")
    decoder = load_model(models / run)
    readouts = every_readout(models / run, decoder)
    session = begin(dataclasses.replace(machine, compile="off"))  # too few forward passes to compile for
    work = Work(f"retrain_heads@{run}", recipe.retrain.steps, recipe.train.batch, SEED, shards)
    model = ReadoutRetraining(decoder.to(session.device), readouts, getattr(torch, recipe.train.compute_dtype))
    rows = read_split(shards, "val")
    milestones = Milestones(
        lambda step: model.held_out(rows, session.microbatch(work.batch)), work.steps, recipe.retrain.evaluations
    )
    log = layer_log(work, session)
    definition = {
        "recipe": dataclasses.asdict(recipe),
        "config": dataclasses.asdict(decoder.config),
        "model": [content_hash(file(models / run)) for file in (weights_file, readouts_file)],
    }
    scratch, checkpoints = resumable(work, session, definition)
    trainer = new_trainer(
        work,
        session,
        model,
        _optimizer(model, recipe.optimizer),
        log,
        callbacks=[LearningRateSchedule(work.steps, "cosine", recipe.retrain.warmup, 1.0), milestones],
        **checkpoints,
    )
    fit(trainer, work, session, scratch)
    trainer.close()
    if session.is_first:
        series = retraining_series(log, milestones.found, data.val_tokens)
        table = layers_table(run, recipe.size, work.batch * data.sequence_length, series)
        with fresh_folder(heads / run) as folder:
            save_weights(model.readers.state_dict(), readouts_file(folder), READOUTS)
        with fresh_folder(metrics / run) as folder:
            write_table(LayerNumber, table, folder / "layers.parquet")
        shutil.rmtree(scratch, ignore_errors=True)


def _optimizer(model: ReadoutRetraining, settings: OptimizerSettings) -> Hyperball:
    """Auxiliary readouts and the model's own are clipped apart, as in training."""
    last = str(model.decoder.config.layers)
    peaks = peak_rates(settings)
    groups: list[dict[str, Any]] = []
    for owner, chosen in (("readouts", lambda layer: layer != last), ("head", lambda layer: layer == last)):
        members = torch.nn.ModuleDict({layer: readout for layer, readout in model.readers.items() if chosen(layer)})
        groups += groups_at(owner, members, peaks)
    return Hyperball.from_settings(groups, settings)


def retraining_series(log: LayerLog, held_out: dict[int, dict[Reading, Tensor]], tokens: int) -> list[Series]:
    """Training losses, held-out losses along the way, and what retraining changed.

    Args:
        held_out: the loss of each held-out sequence, by step and reading.
        tokens: held-out targets.
    """
    steps = sorted(held_out)
    first, last = steps[0], steps[-1]
    series = []
    for reading, losses in log.by_reading().items():
        series.append(Series(reading, "train", "loss", range(1, len(losses) + 1), losses))
        found = [Estimate.of(held_out[step][reading]) for step in steps]
        change = Estimate.of(held_out[last][reading] - held_out[first][reading])
        series += [
            Series(reading, "val", "loss", steps, [each.mean for each in found]),
            Series(reading, "val", "loss_standard_error", steps, [each.standard_error for each in found]),
            Series(reading, "val", "change", [last], [change.mean]),
            Series(reading, "val", "change_standard_error", [last], [change.standard_error]),
            Series(reading, "val", "evaluated_tokens", [last], [tokens]),
        ]
    return series
