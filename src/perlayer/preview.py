"""The page of what is there so far, while runs are still training; it is no out of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from perlayer.catalogue import catalogue
from perlayer.errors import UserError
from perlayer.lifetimes import alone
from perlayer.questions import QUESTIONS, Question
from perlayer.warehouse import database
from perlayer.warehouse.collect import Absent, collect

PREVIEW = Path(".perlayer/preview")


def preview(params: Mapping[str, Any], metrics: Path = Path("metrics"), folder: Path = PREVIEW) -> tuple[Path, Absent]:
    """Write the tables, the figures and the page of the results that are there, and return the page and what is absent.

    Args:
        params: all of params.yaml.
        metrics: where the runs and the analyses leave their results.
        folder: where all of it goes.

    Raises:
        UserError: results are damaged, or there are none yet.
    """
    if not any(Path(metrics, "runs").glob("*/layers.parquet")):
        raise UserError("no run has ended yet; `make repro` trains them, and report/index.html is the page in git")
    from perlayer.report.page import report
    from perlayer.report.plot import plot

    with alone(folder.with_suffix(".lock"), "perlayer preview"):
        absent = collect(params, metrics, folder / "warehouse", ["data/shards"])
        plot(folder / "warehouse", folder / "figures")
        page = folder / "index.html"
        report(params, folder / "warehouse", folder / "figures", page)
    return page, absent


def runs_of(question: Question, params: Mapping[str, Any]) -> list[str]:
    """The runs of the section `runs` that a question reads, whether they are there or not.

    Raises:
        UserError: a run is not defined as it should be.
    """
    with duckdb.connect() as connection:
        database.create(connection)
        database.insert(connection, "runs", catalogue(params))
        database.create_views(connection)
        return [run for run, *_ in question.ask(connection, "runs").fetchall()]


def first_answer(params: Mapping[str, Any]) -> list[str]:
    """The stages with which the first question has all that it reads."""
    return [f"train@{run}" for run in runs_of(QUESTIONS[0], params) if run in params["runs"]]
