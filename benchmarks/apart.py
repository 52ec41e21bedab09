"""Steps in processes of their own, so that neither has what the other sets."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


@contextmanager
def apart(build: Callable[..., Callable[[], object]], *arguments: Any) -> Iterator[Callable[[], object]]:
    """A call that has a fresh process take one step and waits for it.

    Args:
        build: a function of a module; called there with the arguments, it returns the step.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, build, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield lambda: _ask(ours)
    finally:
        ours.close()
        process.join()


def _ask(connection: Connection) -> Any:
    connection.send(True)
    return connection.recv()


def _serve(connection: Connection, build: Callable[..., Callable[[], object]], arguments: tuple[Any, ...]) -> None:
    step = build(*arguments)
    while True:
        try:
            connection.recv()
        except EOFError:
            return
        connection.send(step())
