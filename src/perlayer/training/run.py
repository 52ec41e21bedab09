"""One training run, from shards to published outs."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import os
import shutil
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from composer import Trainer
from composer.algorithms import EMA
from composer.core import State
from composer.utils import collect_env, dist
from torch import Tensor

from perlayer.algorithms.protocol import RunAlgorithm, RunContext, build_algorithm
from perlayer.data.batches import Split, read_split, train_loader
from perlayer.data.dataset import Dataset, read_dataset, verify_shards
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.losses.reading import Reading
from perlayer.model.config import AttentionSettings, ModelConfig, ModelSettings
from perlayer.model.decoder import Decoder, run_layer
from perlayer.optim.groups import parameter_groups
from perlayer.optim.hyperball import Hyperball
from perlayer.optim.settings import OptimizerSettings
from perlayer.training.allocator import keep_freed_memory
from perlayer.training.compilation import compiled_layer, wants_compilation
from perlayer.training.composer_model import PerLayerModel
from perlayer.training.evaluation import Total, evaluate
from perlayer.training.launch import share_of_batch
from perlayer.training.layer_log import LayerLog
from perlayer.training.publish import Results, publish
from perlayer.training.schedule import LearningRateSchedule
from perlayer.training.scratch import scratch_folder
from perlayer.training.settings import Run, TrainSettings, check_warmup

CHECKPOINTS_A_RUN = 10


@dataclass(frozen=True)
class Recipe:
    """What a size says of a training."""

    size: str
    model: ModelSettings
    optimizer: OptimizerSettings
    train: TrainSettings
    attention: AttentionSettings


def train(run: Run, recipe: Recipe, shards: Path, models: Path, metrics: Path, machine: Machine) -> None:
    """Train `run` and publish `models/RUN/` and `metrics/RUN/`; continue from a checkpoint if it was interrupted.

    Raises:
        UserError: shards that are damaged, settings that do not fit the data or this machine, an output that cannot
            be written, or a loss that is not finite.
    """
    _quiet_libraries()
    _skip_environment_report()
    check_warmup(recipe.size, recipe.optimizer, recipe.train)
    verify_shards(shards)
    data = read_dataset(shards)
    if data.train_sequences < recipe.train.batch:
        raise UserError(
            f"recipes.{recipe.size}.train.batch: expected at most the {data.train_sequences} sequences of {shards}, "
            f"found {recipe.train.batch}"
        )
    device = _device(machine)
    machine = dataclasses.replace(machine, compile="on" if wants_compilation(machine) else "off")
    torch.set_num_threads(machine.threads)
    keep_freed_memory()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs to be deterministic
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nothing is read before it is written
    dist.initialize_dist(device, timeout=600)
    local_batch = share_of_batch(recipe.train.batch, dist.get_world_size())
    outs = (models / run.name, metrics / run.name)
    if dist.get_global_rank() == 0:
        _check_writable(outs)

    microbatch = min(machine.microbatch or local_batch, local_batch)
    scratch = scratch_folder(run.name, _definition(run, recipe, shards, machine, device, microbatch))
    checkpoints = {
        "save_folder": str(scratch),
        "save_interval": f"{_checkpoint_interval(recipe.train.steps, machine)}ba",
        "save_num_checkpoints_to_keep": 1,
        "save_overwrite": True,
        "autoresume": True,
    }
    trainer, model, log = assemble(run, recipe, shards, machine, device, **checkpoints)
    if trainer.state.timestamp.batch.value < recipe.train.steps:
        try:
            trainer.fit()
        except torch.OutOfMemoryError:
            raise UserError(
                f"run {run.name}: {microbatch} sequences at once do not fit into the memory of the GPU; "
                "expected fewer in PERLAYER_MICROBATCH"
            ) from None
        except RuntimeError as error:
            if "PytorchStreamWriter" not in str(error):
                raise
            raise UserError(f"{scratch}: the checkpoint cannot be written; is the disk full?") from None
    totals, averaged = _validate(model, trainer.state, read_split(shards, "val"), microbatch)
    trainer.close()
    if dist.get_global_rank() == 0:
        results = Results(
            run=run.name,
            size=recipe.size,
            steps=recipe.train.steps,
            tokens_per_step=recipe.train.batch * data.sequence_length,
            losses=log.by_reading(),
            validation=totals,
            averaged=averaged,
            validation_bytes=data.val_bytes,
        )
        publish(results, model, *outs)
        shutil.rmtree(scratch, ignore_errors=True)


def assemble(
    run: Run, recipe: Recipe, shards: Path, machine: Machine, device: str, **checkpoints: Any
) -> tuple[Trainer, PerLayerModel, LayerLog]:
    """The trainer of a run from its first update, its model, and the log of its losses.

    Args:
        device: cpu or gpu.
        checkpoints: what Composer's trainer is told of saving and resuming.
    """
    local_batch = share_of_batch(recipe.train.batch, dist.get_world_size())
    decoder = Decoder(_model_config(run, recipe, read_dataset(shards)))
    decoder.initialize(run.seed)
    if wants_compilation(machine):
        decoder.run_layer = compiled_layer(decoder)
    context = RunContext(run.seed, recipe.train.steps)
    log = LayerLog(run.name, recipe.train.steps, quiet=sys.stderr.isatty() or dist.get_global_rank() != 0)
    model = PerLayerModel(decoder, getattr(torch, recipe.train.compute_dtype))
    trainer = Trainer(
        model=model,
        optimizers=_optimizer(decoder, recipe.optimizer),
        train_dataloader=train_loader(shards, local_batch, machine.workers),
        max_duration=f"{recipe.train.steps}ba",
        algorithms=[build_algorithm(name, settings, context) for name, settings in run.algorithms.items()],
        callbacks=[_schedule(recipe)],
        loggers=[log],
        device=device,
        precision="fp32",  # the model casts by itself
        device_train_microbatch_size=min(machine.microbatch or local_batch, local_batch),
        seed=run.seed,
        run_name=run.name,
        progress_bar=sys.stderr.isatty(),
        dist_timeout=600.0,
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
        block_cross_document=recipe.attention.block_cross_document,
        **shape,
    )


def _optimizer(decoder: Decoder, settings: OptimizerSettings) -> Hyperball:
    return Hyperball(
        parameter_groups(decoder, settings),
        momentum=settings.momentum,
        beta1=settings.beta1,
        beta2=settings.beta2,
        adam_epsilon=settings.adam_epsilon,
        muon_epsilon=settings.muon_epsilon,
        newton_schulz_steps=settings.newton_schulz_steps,
        max_grad_norm=settings.max_grad_norm,
    )


def _schedule(recipe: Recipe) -> LearningRateSchedule:
    settings = recipe.optimizer
    return LearningRateSchedule(recipe.train.steps, settings.schedule, settings.warmup, settings.decay)


def _device(machine: Machine) -> str:
    available = torch.cuda.is_available()
    if machine.device == "gpu" and not available:
        raise UserError("PERLAYER_DEVICE: expected a GPU that torch can use, found none")
    return "gpu" if available and machine.device != "cpu" else "cpu"


def _checkpoint_interval(steps: int, machine: Machine) -> int:
    return machine.checkpoint_steps or max(1, -(-steps // CHECKPOINTS_A_RUN))


def _definition(run: Run, recipe: Recipe, shards: Path, machine: Machine, device: str, microbatch: int) -> dict:
    index = {path.as_posix(): path.read_bytes() for path in sorted(shards.glob("**/*.json"))}
    return {
        "run": dataclasses.asdict(run),
        "recipe": dataclasses.asdict(recipe),
        "shards": {path: hashlib.sha256(content).hexdigest() for path, content in index.items()},
        "threads": machine.threads,
        "workers": machine.workers,
        "device": torch.cuda.get_device_name() if device == "gpu" else "cpu",
        "processes": dist.get_world_size(),
        "microbatch": microbatch,
        "compile": machine.compile,
        "torch": torch.__version__,
    }


def _check_writable(folders: tuple[Path, ...]) -> None:
    for folder in folders:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder}: expected a folder, found a file; nothing was trained")
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            probe = folder.parent / f".{folder.name}.probe"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise UserError(f"{folder}: cannot be written ({error.strerror}); nothing was trained") from None


def _quiet_libraries() -> None:
    for name in ("composer", "streaming"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"(composer|streaming|torch|torchmetrics)\b.*")
    warnings.filterwarnings("ignore", message=".*(scheduler|eval_dataloader|checkpoint).*")


def _skip_environment_report() -> None:
    # Composer asks another process for the processor's name and clock, over a second, and looks for its own commit
    # with every checkpoint, only to note both there; nothing reads them.
    collect_env.get_cpu_model = collect_env.get_composer_commit_hash = lambda: None
