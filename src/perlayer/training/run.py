"""One training run, from shards to published outs."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import torch
from composer import Trainer
from composer.algorithms import EMA
from composer.core import State
from torch import Tensor

from perlayer.algorithms.protocol import RunAlgorithm, RunContext, build_algorithm
from perlayer.data.batches import Split, read_split
from perlayer.data.dataset import Dataset, read_dataset
from perlayer.environment import Machine
from perlayer.errors import at
from perlayer.losses.reading import Reading
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder, run_layer
from perlayer.optim.groups import parameter_groups
from perlayer.optim.hyperball import Hyperball
from perlayer.runs import Recipe, Run, check_size, check_warmup
from perlayer.training.compilation import compiled_layer, wants_compilation
from perlayer.training.composer_model import PerLayerModel
from perlayer.training.evaluation import Total, evaluate
from perlayer.training.layer_log import LayerLog
from perlayer.training.outs import Results, write_outs
from perlayer.training.schedule import LearningRateSchedule
from perlayer.training.session import (
    Session,
    Work,
    begin,
    checked_data,
    fit,
    layer_log,
    new_trainer,
    resumable,
)


def train(run: Run, recipe: Recipe, shards: Path, models: Path, metrics: Path, machine: Machine) -> None:
    """Train `run` and publish `models/RUN/` and `metrics/RUN/`; continue from a checkpoint if it was interrupted.

    Raises:
        UserError: shards that are damaged, settings that do not fit the data or this machine, or a loss that is not
            finite.
    """
    check_warmup(f"recipes.{recipe.size}", recipe.optimizer, recipe.train)
    check_size(run, recipe.model.layers, recipe.optimizer, recipe.train, f"runs.{run.name}")
    recipe = recipe.of(run)
    data = checked_data(shards, recipe.train.batch, f"recipes.{recipe.size}.train.batch")
    session = begin(dataclasses.replace(machine, compile="on" if wants_compilation(machine) else "off"))
    work = work_of(run, recipe, shards)
    microbatch = session.microbatch(work.batch)
    scratch, checkpoints = resumable(work, session, definition(run, recipe))
    trainer, model, log = assemble(run, recipe, work, session, **checkpoints)
    fit(trainer, work, session, scratch)
    totals, averaged = _validate(model, trainer.state, read_split(shards, "val"), microbatch)
    trainer.close()
    if session.is_first:
        results = Results(
            run=run.name,
            size=recipe.size,
            steps=recipe.train.steps,
            tokens_per_step=recipe.train.batch * data.sequence_length,
            losses=log.by_reading(),
            measured=log.measured_series(),
            validation=totals,
            averaged=averaged,
            validation_bytes=data.val_bytes,
        )
        write_outs(results, model, models / run.name, metrics / run.name)
        shutil.rmtree(scratch, ignore_errors=True)


def work_of(run: Run, recipe: Recipe, shards: Path) -> Work:
    """What a trainer is told of a run."""
    return Work(run.name, recipe.train.steps, recipe.train.batch, run.seed, shards)


def definition(run: Run, recipe: Recipe) -> dict[str, Any]:
    """The settings that define a run, as JSON values."""
    return {"run": dataclasses.asdict(run), "recipe": dataclasses.asdict(recipe)}


def assemble(
    run: Run, recipe: Recipe, work: Work, session: Session, **checkpoints: Any
) -> tuple[Trainer, PerLayerModel, LayerLog]:
    """The trainer of a run from its first update, its model, and the log of its losses.

    Args:
        session: its machine's `compile` says on or off.
        checkpoints: what Composer's trainer is told of saving and resuming.
    """
    with at(f"runs.{run.name}"):
        decoder = Decoder(_model_config(run, recipe, read_dataset(work.shards)))
    decoder.initialize(run.seed)
    if session.machine.compile == "on":
        decoder.run_layer = compiled_layer(decoder)
    context = RunContext(run.seed, recipe.train.steps, run.readouts)
    log = layer_log(work, session)
    model = PerLayerModel(decoder, getattr(torch, recipe.train.compute_dtype))
    trainer = new_trainer(
        work,
        session,
        model,
        Hyperball.from_settings(parameter_groups(decoder, recipe.optimizer), recipe.optimizer),
        log,
        callbacks=[LearningRateSchedule.from_settings(work.steps, recipe.optimizer)],
        algorithms=[build_algorithm(name, settings, context) for name, settings in run.algorithms.items()],
        **checkpoints,
    )
    return trainer, model, log


def _validate(
    model: PerLayerModel, state: State, rows: Split, batch: int
) -> tuple[dict[Reading, Total], dict[Reading, Total]]:
    """Validation losses of the raw weights, and of the averaged ones where the run keeps an average."""
    readers = [algorithm for algorithm in state.algorithms if isinstance(algorithm, RunAlgorithm)]

    def token_losses(tokens: Tensor) -> dict[Reading, Tensor]:
        with model.autocast():
            taps = model.decoder(tokens[:, :-1])
        losses = {model.head: model.final_loss(taps, tokens, reduction="none")}
        for reader in readers:
            losses |= reader.validation_losses(taps, tokens)
        return losses

    def totals() -> dict[Reading, Total]:
        return evaluate(token_losses, rows, batch, model.decoder.lm_head.weight.device)

    model.eval()
    model.decoder.run_layer = run_layer  # batches of another size, and too few of them to compile for
    average = next((algorithm for algorithm in state.algorithms if isinstance(algorithm, EMA)), None)
    if average is None:
        return totals(), {}
    average.restore_training_weights(state.model)
    raw = totals()
    with average.averaged_weights(state.model):
        return raw, totals()


def _model_config(run: Run, recipe: Recipe, data: Dataset) -> ModelConfig:
    shape = dataclasses.asdict(recipe.model)
    if run.layers is not None:
        shape["layers"] = run.layers
    return ModelConfig(
        residual=run.residual,
        vocab_size=data.vocab_size,
        sequence_length=data.sequence_length,
        eos_id=data.eos_id,
        bos_is_eos=data.bos_id == data.eos_id,
        block_cross_document=recipe.attention.block_cross_document,
        value_residual=run.value_residual,
        **shape,
    )
