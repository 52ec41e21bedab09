"""A training that is asked to end, by Ctrl-C or by a cluster that takes its machine back, writes a checkpoint first."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from composer import Callback
from composer.core import Event, State
from composer.loggers import Logger
from composer.utils import create_interval_scheduler, dist

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGREED_EVERY = 10  # updates after which several processes tell each other whether they were asked


class Interruption(Callback):
    """Raises KeyboardInterrupt at the first update before which a checkpoint was written because of a signal."""

    def __init__(self) -> None:
        self._asked = self._written = False

    @property
    def is_asked(self) -> bool:
        """Whether this process was asked to end."""
        return self._asked

    def or_every(self, interval: str) -> Callable[[State, Event], bool]:
        """When a trainer is to write a checkpoint: at an interval, as Composer writes it, or when asked to end."""
        regular = create_interval_scheduler(interval)

        def is_due(state: State, event: Event) -> bool:
            due = regular(state, event)
            if event is Event.BATCH_CHECKPOINT and self._is_agreed(state):
                self._written = due = True
            return due

        return is_due

    def batch_start(self, state: State, logger: Logger) -> None:
        if self._written:
            raise KeyboardInterrupt

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take signals that ask this process to end as a wish, until the next update."""
        heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
        before = {number: signal.signal(number, self._ask) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: object) -> None:
        self._asked = True

    def _is_agreed(self, state: State) -> bool:
        if dist.get_world_size() == 1:
            return self._asked
        if state.timestamp.batch.value % AGREED_EVERY:
            return False
        asked = state.device.tensor_to_device(torch.tensor([int(self._asked)]))
        dist.all_reduce(asked, reduce_operation="MAX")
        return bool(asked.item())
