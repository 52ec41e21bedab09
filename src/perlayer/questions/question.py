"""What a question is: a folder with its words, its SQL and, where it is used there alone, its figure.

The folder, named by the key in small letters and a word (q1_word), holds `question.py` with a `QUESTION`, and
- `contrasts.sql`: what its claims are judged by, see `perlayer.comparison`; each claim has a row for each part, always;
- `runs.sql`, where it reads more runs than the contrasts name, or says which are absent: run, present;
- `numbers.sql`, where another table answers it than that of the contrasts' estimates;
- `published.sql`, where numbers were published: they, in columns like those of the table that answers it;
- `further.sql`, where it says more than its claims tell: a row of words each;
- `views/NAME.sql`: views of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from perlayer.errors import UserError
from perlayer.verdicts import NOT_RUN, UNDECIDED, VERDICTS
from perlayer.warehouse.database import first_line

# What a question asks where it has no file of its own.
USUAL = {
    "runs": "SELECT DISTINCT run, true AS present FROM ({contrasts}) WHERE run IS NOT NULL ORDER BY run",
    "numbers": "SELECT claim, part, estimate, low, high, seeds FROM contrasts WHERE question = '{key}'",
}


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
        if not re.fullmatch("[A-Z][0-9]+", self.key):
            raise ValueError(f"key: expected a capital letter and a number, found {self.key!r}")
        if set(self.answers) != set(VERDICTS):
            raise ValueError(
                f"answers: expected one for each of {', '.join(VERDICTS)}, found {', '.join(self.answers)}"
            )

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        found = sorted(Path(__file__).parent.glob(f"{self.key.lower()}_*/question.py"))
        if len(found) != 1:
            raise ValueError(f"expected one folder {self.key.lower()}_WORD with a question.py, found {len(found)}")
        return found[0].parent

    def has(self, name: str) -> bool:
        """Whether it asks what NAME.sql of its folder says, or what is usual."""
        return name in USUAL or (self.folder / f"{name}.sql").exists()

    def sql(self, name: str) -> str:
        """The text of NAME.sql of the folder, without a closing semicolon."""
        path = self.folder / f"{name}.sql"
        if name in USUAL and not path.exists():
            return USUAL[name].format(contrasts=self.sql("contrasts"), key=self.key)
        return path.read_text(encoding="utf-8").strip().rstrip(";")

    def ask(self, connection: duckdb.DuckDBPyConnection, name: str) -> duckdb.DuckDBPyConnection:
        """The answer to NAME.sql.

        Raises:
            UserError: DuckDB cannot read it.
        """
        try:
            return connection.execute(self.sql(name))
        except duckdb.Error as error:
            raise UserError(f"{self.folder / name}.sql: {first_line(error)}") from None

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
