"""Draws every figure from the warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType

from perlayer.lifetimes import end_with_parent
from perlayer.questions import connect
from perlayer.report.figures import FIGURES, style


def plot(warehouse_dir: str | Path, figures_dir: str | Path, processes: int = 1) -> None:
    """Write NAME.png, NAME.svg and NAME.csv (the data drawn) of every figure to `figures_dir`.

    The same tables give the same bytes, by any number of processes. A figure without any of its runs says so.

    Raises:
        UserError: the tables of the warehouse are missing or damaged.
    """
    warehouse_dir, figures_dir = Path(warehouse_dir), Path(figures_dir)
    figures_dir.mkdir(parents=True, exist_ok=True)
    names = list(FIGURES)
    if processes == 1:
        _draw(names, warehouse_dir, figures_dir)
        return
    with ProcessPoolExecutor(processes, initializer=end_with_parent) as pool:
        # One process builds the database, which each would build for itself; not this one, whose threads none inherits.
        pool.submit(_build, warehouse_dir).result()
        parts = [pool.submit(_draw, names[first::processes], warehouse_dir, figures_dir) for first in range(processes)]
        for part in parts:
            part.result()


def _build(warehouse_dir: Path) -> None:
    connect(warehouse_dir).close()


def _draw(names: Sequence[str], warehouse_dir: Path, figures_dir: Path) -> None:
    with connect(warehouse_dir) as connection, style.theme():
        for name in names:
            style.save(*drawn(FIGURES[name], connection), figures_dir, name)


def drawn(module: ModuleType, connection: style.Connection) -> tuple[style.Figure, style.Table]:
    """The figure of a module, and the data in it; to be called in `style.theme`."""
    table = module.data(connection)
    return (
        style.empty_figure(_why(module.EMPTY, connection)) if table.empty else module.draw(table, connection)
    ), table


def _why(empty: str | Mapping[str, str], connection: style.Connection) -> str:
    """The sentence, or of several by what is there, a view and perhaps WHERE, the first whose rows are."""
    if isinstance(empty, str):
        return empty
    count = "SELECT count(*) FROM {}"
    return next(
        said for rows, said in empty.items() if not rows or connection.execute(count.format(rows)).fetchone()[0]
    )
