"""The hash of a file of code: it sees what a computer makes of the file, and no words that are for people."""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from importlib.util import decode_source
from itertools import accumulate
from pathlib import Path

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)  # what statements stand in
SEMICOLON = re.compile(r"(?:[ \t\f]|\\\n)*;(?:[ \t\f]|\\\n)*")
BEGINS, ENDS = (getattr(tokenize, f"FSTRING_{name}", None) for name in ("START", "END"))  # tokens since Python 3.12
HELD = "\0"  # stands for a string; in Python there is none

Cut = tuple[int, int, str]  # where it begins and ends in a text, and what takes its place


def code_hash(path: Path) -> str:
    """The SHA-256 of a file, in hex: of Python, of what `without_words` leaves, as UTF-8; of all else, of its bytes."""
    content = path.read_bytes()
    return _python_hash(content) if path.suffix == ".py" else hashlib.sha256(content).hexdigest()


@functools.cache
def _python_hash(source: bytes) -> str:
    try:
        source = without_words(source).encode()
    except (SyntaxError, ValueError, tokenize.TokenError):
        pass  # it is no Python
    return hashlib.sha256(source).hexdigest()


def without_words(source: bytes) -> str:
    r"""Python source without comments, docstrings, blank lines and blanks at the ends of lines; all else as it stands.

    It parses to the same syntax tree but for docstrings; where one was all of a body, `pass` takes its place. Every
    Python gives the same text, as nothing is written anew: the tree says where docstrings are, and the tokens where
    comments and other strings are. Lines end in \n, and a declared encoding is a comment.

    Args:
        source: what a file holds.

    Raises:
        SyntaxError, ValueError, tokenize.TokenError: it is no Python.
    """
    text = decode_source(source)
    lines = text.split("\n")  # `splitlines` would split at form feeds, too
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    cuts = [*_docstrings(ast.parse(text), text, lines, starts), *_comments_and_strings(text, starts)]
    code, strings, place = "", [], 0
    for start, end, instead in sorted(cuts, key=lambda cut: cut[0]):
        if start < place:
            continue  # it is in a docstring
        code += text[place:start] + instead
        strings += [text[start:end]] if instead == HELD else []
        place = end
    code = re.sub(r"[ \t\f]+$", "", code + text[place:], flags=re.MULTILINE)
    code = re.sub(r"(?<!\\)\n+", "\n", code).strip("\n")  # a blank line after a backslash ends what that continues
    between = code.split(HELD)
    return "".join(part for pair in zip(between, [*strings, "\n" * bool(code)]) for part in pair)


def _docstrings(tree: ast.Module, text: str, lines: list[str], starts: list[int]) -> Iterator[Cut]:
    """Each docstring, with a semicolon after it."""

    def place(line: int, column: int) -> int:  # which is of bytes, in UTF-8
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for body in _documented(tree):
        docstring = body[0]
        start = place(docstring.lineno, docstring.col_offset)
        end = place(docstring.end_lineno, docstring.end_col_offset)
        semicolon = SEMICOLON.match(text, end)
        yield start, semicolon.end() if semicolon else end, "pass" if len(body) == 1 and body is not tree.body else ""


def _documented(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every body that begins with a docstring."""
    if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        yield node.body
    for child in ast.iter_child_nodes(node):
        if isinstance(child, BLOCKS):
            yield from _documented(child)


def _comments_and_strings(text: str, starts: list[int]) -> Iterator[Cut]:
    """Each comment, and each string, which is held; an f-string is one, as it is before Python 3.12."""
    depth = begin = 0
    for kind, _, (line, column), (last, end), _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind == BEGINS:
            begin = begin if depth else starts[line - 1] + column
            depth += 1
        elif kind == ENDS:
            depth -= 1
            if not depth:
                yield begin, starts[last - 1] + end, HELD
        elif kind in (tokenize.STRING, tokenize.COMMENT) and not depth:
            yield starts[line - 1] + column, starts[last - 1] + end, HELD if kind == tokenize.STRING else ""
