"""What every training shares: its process, its trainer, its checkpoints, and how it says what went wrong."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from composer import Trainer
from composer.core import Algorithm, Callback
from composer.models import ComposerModel
from composer.utils import collect_env, dist
from torch.optim import Optimizer

from perlayer.algorithms.protocol import RunAlgorithm
from perlayer.data.batches import train_loader
from perlayer.data.dataset import Dataset, read_dataset, verify_shards
from perlayer.data.remote import NotBrought
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lifetimes import start_tracker
from perlayer.process import prepare_process
from perlayer.progress import is_watched
from perlayer.store import MANIFEST, read_manifest
from perlayer.training.checkpoints import KEPT, Checksums, link_newest_whole
from perlayer.training.interruption import Interruption
from perlayer.training.launch import share_of_batch
from perlayer.training.layer_log import LayerLog
from perlayer.training.scratch import described, scratch_folder, start_scratch

CHECKPOINTS_A_RUN = 10
LOADER = "DataLoader worker"  # how torch begins what it says of one that was killed
CHECKPOINT_WRITERS = ("PytorchStreamWriter", "inline_container")  # torch names one of them where a disk is full


@dataclass(frozen=True)
class Session:
    """A process that is ready to train, with what the machine says of it."""

    machine: Machine
    device: torch.device
    interruption: Interruption = field(default_factory=Interruption)

    @property
    def is_first(self) -> bool:
        """Whether this is the one process that publishes."""
        return dist.get_global_rank() == 0

    def microbatch(self, batch: int) -> int:
        """Sequences of an update that this process holds at once."""
        local_batch = share_of_batch(batch, dist.get_world_size())
        return min(self.machine.microbatch or local_batch, local_batch)

    def definition(self, shards: Path, batch: int) -> dict[str, Any]:
        """What could change the bytes of a training on `shards` beside its own settings, as JSON values."""
        return {
            "shards": {MANIFEST: read_manifest(shards).identity},
            "threads": self.machine.threads,
            "workers": self.machine.workers,
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "processes": dist.get_world_size(),
            "microbatch": self.microbatch(batch),
            "compile": self.machine.compile,
            "torch": torch.__version__,
        }


@dataclass(frozen=True)
class Work:
    """One training as a trainer sees it."""

    name: str  # how its log and its errors call it
    steps: int
    batch: int  # sequences an update, over all processes
    seed: int
    shards: Path


def begin(machine: Machine) -> Session:
    """Make this process, and all that train with it, ready.

    Args:
        machine: its `compile` says on or off.

    Raises:
        UserError: the machine cannot do what is asked of it.
    """
    _quiet_libraries()
    _skip_environment_report()
    start_tracker()
    device = prepare_process(machine)
    try:
        dist.initialize_dist("gpu" if device.type == "cuda" else "cpu", timeout=600)
    except RuntimeError as error:  # gloo's own, too, as where GLOO_SOCKET_IFNAME is no interface here
        if dist.get_world_size() == 1 and device.type == "cpu":
            _meet_nobody()
            return Session(machine, device)
        raise UserError(f"the training processes cannot meet at MASTER_ADDR: {str(error).splitlines()[0]}") from None
    return Session(machine, device)


def checked_data(shards: Path, batch: int, batch_key: str) -> Dataset:
    """The description of the shards, once they are known to be whole and to hold a batch.

    Raises:
        UserError: they are damaged, or hold fewer than `batch` sequences; `batch_key` says where that number stands.
    """
    verify_shards(shards)
    data = read_dataset(shards)
    if data.train_sequences < batch:
        raise UserError(
            f"params.yaml: {batch_key}: expected at most the {data.train_sequences} sequences of {shards}, "
            f"found {batch}"
        )
    return data


def layer_log(work: Work, session: Session) -> LayerLog:
    """The log of the losses of a training; it speaks where nothing else shows how far that is."""
    return LayerLog(work.name, work.steps, quiet=sys.stderr.isatty() or is_watched() or not session.is_first)


def new_trainer(
    work: Work,
    session: Session,
    model: ComposerModel,
    optimizer: Optimizer,
    log: LayerLog,
    callbacks: Sequence[Callback],
    algorithms: Sequence[Algorithm] = (),
    **checkpoints: Any,
) -> Trainer:
    """Composer's trainer of a training from its first update.

    Args:
        checkpoints: what it is told of saving and resuming, see `resumable`.
    """
    local_batch = share_of_batch(work.batch, dist.get_world_size())
    # What is frozen has no gradient to wait for, and what is read outside of `forward` is not found to be in use: then
    # processes average the gradients that there are, once all are taken.
    freezes = any(isinstance(algorithm, RunAlgorithm) and algorithm.freezes for algorithm in algorithms)
    return Trainer(
        model=model,
        optimizers=optimizer,
        train_dataloader=train_loader(work.shards, local_batch, session.machine.workers),
        max_duration=f"{work.steps}ba",
        algorithms=list(algorithms),
        callbacks=[*callbacks, session.interruption],
        loggers=[log, Checksums()],
        device="gpu" if session.device.type == "cuda" else "cpu",
        precision="fp32",  # the model casts by itself
        device_train_microbatch_size=session.microbatch(work.batch),
        seed=work.seed,
        run_name=work.name,
        progress_bar=sys.stderr.isatty(),
        dist_timeout=600.0,
        ddp_sync_strategy="forced_sync" if freezes else None,
        **checkpoints,
    )


def resumable(work: Work, session: Session, definition: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """The scratch folder of a training, and what its trainer is told so that it continues from there.

    Args:
        definition: the settings that define it; what `Session.definition` holds is added.
    """
    whole = described({**definition, **session.definition(work.shards, work.batch)})
    scratch = scratch_folder(work.name, whole)
    if session.is_first:
        start_scratch(scratch, work.name, whole)
        link_newest_whole(scratch, work.name)
    dist.barrier()
    interval = session.machine.checkpoint_steps or max(1, -(-work.steps // CHECKPOINTS_A_RUN))
    return scratch, {
        "save_folder": str(scratch),
        "save_interval": session.interruption.or_every(f"{interval}ba"),
        "save_num_checkpoints_to_keep": KEPT,
        "save_overwrite": True,
        "autoresume": True,
    }


def fit(trainer: Trainer, work: Work, session: Session, scratch: Path) -> None:
    """Train to the end, if that has not been reached.

    Raises:
        KeyboardInterrupt: this process was asked to end, and has written a checkpoint.
        UserError: a loss is not finite, the GPU's memory or the disk is full, a loader's worker was killed, shards that
            lie elsewhere cannot be brought.
    """
    if trainer.state.timestamp.batch.value >= work.steps:
        return
    try:
        with session.interruption.listening():
            trainer.fit()
    except torch.OutOfMemoryError:
        raise UserError(
            f"run {work.name}: {session.microbatch(work.batch)} sequences at once do not fit into the memory of the "
            "GPU; expected fewer in PERLAYER_MICROBATCH"
        ) from None
    except NotBrought as error:
        done = trainer.state.timestamp.batch.value
        if done and dist.get_world_size() == 1:  # several processes stop at different updates
            trainer.save_checkpoint_to_save_folder()
        why = str(error).rpartition(f"{NotBrought.__name__}: ")[2].strip()  # where a worker says it, below a traceback
        raise UserError(f"{why}; the run stopped after {done} updates and goes on when it is started again") from None
    except UserError:
        if session.interruption.is_asked:  # the same signal ended a compiler
            raise KeyboardInterrupt from None
        raise
    except RuntimeError as error:
        if str(error).startswith(LOADER):
            raise UserError(f"run {work.name}: {str(error).splitlines()[0]}; is the memory full?") from None
        if not any(name in str(error) for name in CHECKPOINT_WRITERS):
            raise
        raise UserError(f"{scratch}: the checkpoint cannot be written; is the disk full?") from None


def _meet_nobody() -> None:
    """Make this process, the only one, a group that needs no network interface, which gloo wants even for one."""
    from composer.devices import DeviceCPU
    from torch.testing._internal.distributed.fake_pg import FakeStore

    # In this group what one sends is what all have: of several processes that would be wrong.
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
    DeviceCPU.dist_backend = "fake"


def _quiet_libraries() -> None:
    for name in ("composer", "streaming"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"(composer|streaming|torch|torchmetrics)\b.*")
    warnings.filterwarnings("ignore", message=".*(scheduler|eval_dataloader|checkpoint).*")


def _skip_environment_report() -> None:
    # Composer asks another process for the processor's name and clock, over a second, and looks for its own commit
    # with every checkpoint, only to note both there; nothing reads them.
    collect_env.get_cpu_model = collect_env.get_composer_commit_hash = lambda: None
