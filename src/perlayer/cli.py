"""The command `perlayer`: asks the database of all results, and lists the ways to supervise layers."""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from perlayer.errors import UserError, is_interruption
from perlayer.output import leave_output
from perlayer.surroundings import settle

WAREHOUSE = Path("metrics/warehouse")
ALL = object()  # of the tables and views
TEXT = "CAST({} AS VARCHAR)"
NUMBERS = re.compile(
    "null|.*int|.*integer|float|double|decimal|bignum|varint"
)  # types whose columns stand to the right


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, 1 for an error, 2 for a wrong question."""
    if arguments is None:  # as a process of its own
        settle()
        sys.stdout.reconfigure(errors="strict")  # an answer is given as it is, or not at all
    parser = argparse.ArgumentParser(prog="perlayer", description="What each layer of a language model contributes.")
    commands = parser.add_subparsers(required=True, metavar="command")
    query = commands.add_parser(
        "query",
        help="ask the database of all results",
        description="Ask the database of all results in SQL, from the root of the project.",
        epilog="example: perlayer query \"SELECT layer, loss FROM final_loss WHERE run = 'separate' ORDER BY layer\"",
    )
    question = query.add_mutually_exclusive_group(required=True)
    question.add_argument("sql", nargs="?", help="a statement of DuckDB's SQL")
    question.add_argument(
        "--list", nargs="?", const=ALL, metavar="NAME", help="show what the tables and views mean, or one of them"
    )
    query.add_argument("--format", choices=FORMATS, default="table", help="how to print the answer (default: table)")
    query.set_defaults(command=_query)
    preview = commands.add_parser(
        "preview",
        help="write the page of what is there so far",
        description="Write the page of the results that are there so far to .perlayer/preview, from the root of the "
        "project, also while `make repro` runs.",
    )
    preview.set_defaults(command=_preview)
    supervision = commands.add_parser(
        "supervision",
        help="list every way to supervise the layers of a run",
        description="List every way to supervise the layers of a run: what params.yaml says of it, and what it does.",
    )
    supervision.set_defaults(command=_supervision)
    growth = commands.add_parser(
        "growth",
        help="print stages of growth training by the importance of a run's layers",
        description="Print the key `growth` of a run that trains first the layers without which a finished run loses "
        "most, as its anatomy has it, and last those without which it loses least.",
    )
    growth.add_argument("run", help="a finished run, one of anatomy.runs in params.yaml")
    growth.set_defaults(command=_growth)
    options = parser.parse_args(arguments)
    try:
        return options.command(options)
    except UserError as error:
        return _fail(str(error))
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        return _fail(
            f"expected an answer that {error.encoding}, the encoding of the output, can show, found {found!a}; "
            "PYTHONIOENCODING=utf-8 shows it"
        )
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interruption(error):
            raise
        leave_output()
        return _fail("interrupted", status=130)
    except BrokenPipeError:
        leave_output()  # the reader has seen enough (`| head`)
        return 0
    except OSError as error:
        leave_output()
        return _fail(f"the answer cannot be written: {error.strerror}")


def _fail(message: str, status: int = 1) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def _require_root() -> None:
    if not (WAREHOUSE.parent.exists() or Path("params.yaml").exists()):
        raise UserError(f"expected the root of the project as the working folder, found {Path.cwd()}")


def _query(options: argparse.Namespace) -> int:
    import duckdb

    from perlayer.questions import connect, every_view
    from perlayer.warehouse import answers
    from perlayer.warehouse.database import differing_params, first_line

    if options.sql is not None and not _is_unicode(options.sql):
        return _fail(f"expected SQL in UTF-8, found {ascii(options.sql)}", status=2)
    _require_root()
    folder = answers.only_answers(WAREHOUSE)
    with answers.connect(folder) if folder else connect(WAREHOUSE) as connection:
        if options.list is not None:
            return _print_meanings(connection, options.list, sys.stdout)
        try:
            statements = connection.extract_statements(options.sql)
            if len(statements) != 1:
                return _fail(f"expected one statement in SQL, found {len(statements)}", status=2)
            answer = connection.sql(statements[0])
            if answer is not None:
                FORMATS[options.format](answer, sys.stdout)
        except duckdb.Error as error:
            lacking = answers.lacking(options.sql, connection, every_view()) if folder else []
            if lacking:
                said = "not among the small tables of a clone; `make repro` or `dvc pull` brings it"
                return _fail(f"{', '.join(lacking)}: {said}", status=2)
            return _fail(first_line(error), status=2)
    sys.stdout.flush()
    if not folder and (others := differing_params(WAREHOUSE)):
        print(f"answered from {WAREHOUSE}, where {others}; `dvc repro -s collect` reads anew", file=sys.stderr)
    return 0


def _preview(options: argparse.Namespace) -> int:
    from perlayer import params
    from perlayer.preview import preview

    choices = params.load()
    page, absent = preview(choices)
    print(f"{page}: {len(choices['runs']) - len(absent.runs)} of {len(choices['runs'])} runs at size {choices['size']}")
    return 0


def _is_unicode(text: str) -> bool:
    """Whether all of an argument could be read; of bytes that could not, surrogates are left."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _rows(answer: Any, written: Callable[[str], str]) -> list[tuple]:
    """The rows of an answer, each column as `written` has DuckDB give its type: not all of its values are Python's."""
    columns = [written(kind.id).format(f"#{number}") for number, kind in enumerate(answer.types, 1)]
    return answer.project(", ".join(columns)).fetchall()


def _print_table(answer: Any, out: TextIO) -> None:
    """Columns side by side, numbers to the right, six significant digits."""
    rows = _rows(answer, lambda kind: "{}" if kind in ("float", "double") else TEXT)
    cells = [[_cell(value) for value in row] for row in rows]
    names, right = answer.columns, [NUMBERS.fullmatch(kind.id) for kind in answer.types]
    widths = [max(len(text) for text in column) for column in zip(names, *cells)]
    for line in [names, ["-" * width for width in widths], *cells]:
        texts = [text.rjust(width) if r else text.ljust(width) for text, width, r in zip(line, widths, right)]
        out.write("  ".join(texts).rstrip() + "\n")


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(value.splitlines())


def _print_csv(answer: Any, out: TextIO) -> None:
    """As RFC 4180 has it, lines ending in LF; NULL is nothing, an empty text `""`, as in what DuckDB writes itself."""
    for row in (answer.columns, *_rows(answer, lambda kind: TEXT)):
        out.write(",".join(map(_csv_field, row)) + "\n")


def _csv_field(value: str | None) -> str:
    # Python's csv writes None and "" alike before 3.12.
    if value is None:
        return ""
    return '"' + value.replace('"', '""') + '"' if not value or re.search('[",\r\n]', value) else value


def _print_json(answer: Any, out: TextIO) -> None:
    """A list of objects, one a line; a name that stands twice gets a number. What is no number or infinite is null."""
    names = []
    for name in answer.columns:
        others = (f"{name}_{number}" for number in itertools.count(2))
        names.append(name if name not in names else next(each for each in others if each not in answer.columns + names))
    out.write("[")
    for number, row in enumerate(_rows(answer, lambda kind: "to_json({})")):
        out.write(",\n " if number else "")
        values = (json.loads(text or "null", parse_constant=lambda name: None) for text in row)
        json.dump(dict(zip(names, values)), out, ensure_ascii=False)
    out.write("]\n")


FORMATS = {"table": _print_table, "csv": _print_csv, "json": _print_json}


def _print_meanings(connection: Any, wanted: Any, out: TextIO) -> int:
    """Every table and view, or the one that is wanted, with its columns, types and meanings."""
    from perlayer.warehouse.database import columns, relations

    found = relations(connection)
    if wanted is not ALL:
        names = [name for name, *_ in found]
        if wanted not in names:
            return _fail(f"expected a table or a view ({', '.join(names)}), found {wanted!r}", status=2)
        found = [found[names.index(wanted)]]
    for number, (name, kind, meaning) in enumerate(found):
        out.write(f"{chr(10) if number else ''}{name} ({kind}): {meaning or ''}\n")
        described = columns(connection, name)
        width = max(len(column) for column, _, _ in described)
        for column, kind, meaning in described:
            out.write(f"  {column:<{width}}  {kind:<8}  {meaning or ''}\n")
    return 0


def _growth(options: argparse.Namespace) -> int:
    from perlayer.algorithms.growth.stages import by_importance
    from perlayer.anatomy.importance import read_importance

    _require_root()
    found = read_importance(WAREHOUSE.with_name("analyses") / "anatomy" / options.run)
    settings = by_importance(found.importance, found.excluded)
    stages = ", ".join(f"{{layers: {stage['layers']}, share: {stage['share']}}}" for stage in settings.stages)
    print(f"growth: {{stages: [{stages}], excluded: {settings.excluded}}}")
    return 0


def _supervision(options: argparse.Namespace) -> int:
    from perlayer.algorithms.per_layer_loss.settings import READOUTS
    from perlayer.algorithms.per_layer_loss.weighting import choices, function_of

    _print_ways(
        "What reads the layers below the last, keys of a run in params.yaml:",
        [(f"readouts: {name}", meaning) for name, meaning in READOUTS.items()],
    )
    for section, question in (("weighting", "How heavy is each loss?"), ("schedule", "How does that change?")):
        functions = {choice: function_of(section, choice) for choice in choices(section)}
        _print_ways(
            f"{question} Beside readouts that train the model:",
            [(_mapping(section, choice, function), function.__doc__) for choice, function in functions.items()],
        )
    _print_ways("Algorithms, each explained in src/perlayer/algorithms/NAME/README.md:", _method_cards())
    return 0


def _print_ways(title: str, ways: list[tuple[str, str]]) -> None:
    width = max(len(example) for example, _ in ways)
    print(title, *(f"  {example:<{width}}  {meaning.removesuffix('.')}" for example, meaning in ways), "", sep="\n")


def _mapping(section: str, choice: str, function: Callable) -> str:
    """How a run names a shape or a schedule; what has no default is in capitals."""
    from perlayer.algorithms.per_layer_loss.weighting import SECTIONS, arguments_of

    values = {
        argument: argument.upper() if parameter.default is parameter.empty else parameter.default
        for argument, parameter in arguments_of(function).items()
    }
    keys = {SECTIONS[section].name: choice, **values}
    return f"{section}: {{{', '.join(f'{one}: {value}' for one, value in keys.items())}}}"


def _method_cards() -> list[tuple[str, str]]:
    """Of each algorithm, the example and the first sentence of its method card."""
    from perlayer.runs import ALGORITHMS

    cards = []
    for folder in sorted(path.parent for path in ALGORITHMS.glob("*/settings.py")):
        path = folder / "README.md"
        card = path.read_text(encoding="utf-8") if path.exists() else ""
        example = re.search(r"`runs\.NAME\.([^`]+)`", card)
        short = re.search(r"\*\*In short\.\*\*\s+(.+?)(?:\.\s|\Z)", card, flags=re.DOTALL)
        if example is None or short is None:
            raise UserError(f"{path}: expected **In short.** and an example `runs.NAME.KEY: VALUE`")
        cards.append((" ".join(example[1].split()), " ".join(short[1].split())))
    return cards


if __name__ == "__main__":
    sys.exit(main())
