"""The machine is not a choice: what depends on it is read here, from PERLAYER_* environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

from perlayer.errors import UserError

PREFIX = "PERLAYER_"
MOST = 1_000_000
WORDS = {"device": ("auto", "cpu", "gpu"), "compile": ("auto", "on", "off")}


@dataclass(frozen=True)
class Machine:
    """How this machine runs a stage. None of it is tracked by DVC, so another machine retrains nothing."""

    device: str = "auto"  # auto, cpu or gpu
    processes: int = 1  # training processes on this machine, one a GPU
    threads: int = (
        1  # CPU threads of a training run; a constant, not the number of cores, so that the bytes stay the same
    )
    workers: int = 0  # data loader workers a process
    microbatch: int = 0  # sequences a process holds at once; 0: its whole share of the batch
    checkpoint_steps: int = 0  # steps between checkpoints; 0: a tenth of the run
    compile: str = "auto"  # auto (where there is a C++ compiler), on or off
    shards: str = ""  # where shards lie that do not lie here: s3://BUCKET/FOLDER, or what else streaming reads

    @classmethod
    def from_environment(cls, environment: dict[str, str] | None = None) -> Machine:
        """Read every PERLAYER_* variable.

        Raises:
            UserError: a variable is unknown or its value is impossible.
        """
        environment = dict(os.environ) if environment is None else environment
        known = {PREFIX + field.name.upper(): field for field in fields(cls)}
        values = {}
        for name, text in environment.items():
            if not name.startswith(PREFIX):
                continue
            if name not in known:
                raise UserError(f"{name}: unknown environment variable; known ones: {', '.join(known)}")
            field = known[name]
            if field.name == "shards":
                values[field.name] = text.rstrip("/")
                continue
            if field.name in WORDS:
                if text not in WORDS[field.name]:
                    *most, last = WORDS[field.name]
                    raise UserError(f"{name}: expected {', '.join(most)} or {last}, found {text!r}")
                values[field.name] = text
                continue
            least = 0 if field.name in ("workers", "microbatch", "checkpoint_steps") else 1
            if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= MOST):
                raise UserError(f"{name}: expected a whole number from {least} to {MOST}, found {text!r}")
            values[field.name] = int(text)
        return cls(**values)
