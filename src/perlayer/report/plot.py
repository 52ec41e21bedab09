"""Draws every figure from the warehouse."""

from __future__ import annotations

from pathlib import Path

from perlayer.questions import connect
from perlayer.report.figures import FIGURES, style


def plot(warehouse_dir: str | Path, figures_dir: str | Path) -> None:
    """Write NAME.png, NAME.svg and NAME.csv (the data drawn) of every figure to `figures_dir`.

    The same tables give the same bytes. A figure without any of its runs says so.

    Raises:
        UserError: the tables of the warehouse are missing or damaged.
    """
    figures_dir = Path(figures_dir)
    figures_dir.mkdir(parents=True, exist_ok=True)
    with connect(warehouse_dir) as connection, style.theme():
        for name, figure in FIGURES.items():
            style.save(figure.draw(connection), figure.data(connection), figures_dir, name)
