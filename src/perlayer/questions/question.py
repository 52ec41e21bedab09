"""What a question is: a folder with its words, its SQL and, where it is used there alone, its figure.

The folder, named by the key in small letters and a word, holds `question.py` with a `QUESTION`, and
- `runs.sql`: the runs that it reads: run, present;
- `numbers.sql`: the table that answers it;
- `contrasts.sql`: what its claims are judged by, see `perlayer.comparison`; each claim has a row for each part, always;
- `published.sql`, where numbers were published: they, in columns like those of the table that answers it;
- `further.sql`, where it says more than its claims tell: a row of words each;
- `views/NAME.sql`: views of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from perlayer.verdicts import NOT_RUN, UNDECIDED, VERDICTS


@dataclass(frozen=True)
class PublishedClaim:
    """What a source claims, and how a number that judges it is written.

    Attributes:
        name: as `contrasts.sql` has it.
        statement: what is claimed.
        published: the published figure, in nats per token where no unit stands.
        unit: what the estimate is in, see `perlayer.questions.wording.UNITS`.
    """

    name: str
    statement: str
    published: str
    unit: str = "nats"


@dataclass(frozen=True)
class Question:
    """One question that the runs answer. All SQL is of the views of the warehouse.

    Attributes:
        key: its short name, as the claims carry it: Q1.
        title: the question.
        background: what is measured and how it is read, in a few sentences.
        claims: the published claims, the one that answers the question first.
        answers: by the verdict of that claim, one plain sentence that answers the question.
        numbers_title: what the table of numbers shows.
        figures: the names of the figures that show it, the most telling first.
        signed: columns of the numbers that hold differences, which show their sign.
        published_title: where published numbers come from, and at what size.
        further: a sentence about what no claim tells, with {} where the words of `further.sql` stand; none without any.
    """

    key: str
    title: str
    background: str
    claims: tuple[PublishedClaim, ...]
    answers: Mapping[str, str]
    numbers_title: str
    figures: tuple[str, ...]
    signed: tuple[str, ...] = ()
    published_title: str | None = None
    further: str | None = None

    def __post_init__(self):
        assert set(self.answers) == set(VERDICTS), f"{self.key}: an answer for each of {VERDICTS}"

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        (folder,) = Path(__file__).parent.glob(f"{self.key.lower()}_*")
        return folder

    def sql(self, name: str) -> str:
        """The text of NAME.sql of the folder, without a closing semicolon."""
        return (self.folder / f"{name}.sql").read_text(encoding="utf-8").strip().rstrip(";")

    @property
    def views(self) -> dict[str, str]:
        """The views of its own, by name."""
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("views/*.sql"))}


def state(connection: duckdb.DuckDBPyConnection, question: Question) -> str:
    """`not yet run` when no claim has been measured, `testing` when none of those measured is decided.

    Else `measured` when every claim has been, and `partly measured` when some have.
    """
    verdicts = connection.execute("SELECT verdict FROM claims WHERE question = ?", [question.key]).fetchall()
    run = [verdict for (verdict,) in verdicts if verdict != NOT_RUN]
    if not run:
        return "not yet run"
    if all(verdict == UNDECIDED for verdict in run):
        return "testing"
    return "measured" if len(run) == len(verdicts) else "partly measured"
