"""What the hash of a Python file sees: all that a computer makes of it, and no words."""

import ast
import functools
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from perlayer.code_hash import code_hash, without_words

ROOT = Path(__file__).parents[1]
LISTING = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
FILES = sorted(name for name in LISTING.decode().split("\0") if name.endswith(".py") and (ROOT / name).is_file())
HASHED = [name for name in FILES if name.startswith(("src/", "stages/"))]  # by the plan
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# What a file holds, and what is left of it.
LEFT = {
    "nothing": (b"", ""),
    "nothing but words": (b'"""doc"""\n\n# c\n', ""),
    "a docstring and a semicolon": (b'"doc"; x = 1', "x = 1\n"),
    "a docstring, a semicolon and no more": (b'"doc" ;  # c\nx = 1;\n', "x = 1;\n"),
    "a docstring of two in parentheses": (b'("doc"  # c\n "more")\nx = 1\n', "x = 1\n"),
    "a second string": (b'"doc"\n"second"\n', '"second"\n'),
    "no docstring": (b'"doc" % x\nx = 1\n"no"\nif x:\n    "no"\n', '"doc" % x\nx = 1\n"no"\nif x:\n    "no"\n'),
    "an f-string and bytes": (
        b'def f():\n    f"no"\ndef g():\n    b"no"\n',
        'def f():\n    f"no"\ndef g():\n    b"no"\n',
    ),
    "a body that is a docstring": (
        b'class E(Exception):\n    """doc."""\n\n# c\nx = 1\n',
        "class E(Exception):\n    pass\nx = 1\n",
    ),
    "bodies within": (
        b'try: x\nexcept E:\n  async def f():\n    u"doc"\nelse:\n  class A:\n    r"doc"\n    def g(self): "doc"\n',
        "try: x\nexcept E:\n  async def f():\n    pass\nelse:\n  class A:\n    def g(self): pass\n",
    ),
    "a body on the same line": (b'def f(): "doc"\ndef g(): "doc"; return 1\n', "def f(): pass\ndef g(): return 1\n"),
    "a body that goes on": (b'def f():\n    "doc"; \\\n  x = 1\n    y = 2\n', "def f():\n    x = 1\n    y = 2\n"),
    "a body after a backslash": (b'def f(): \\\n "doc" "more" \\\n "end"\n', "def f(): \\\n pass\n"),
    "a case": (b'match x:\n    case 1:\n        class A: "doc"\n', "match x:\n    case 1:\n        class A: pass\n"),
    "comments in brackets": (b"x = (1,  # c\n\n    # c\n    2)\n", "x = (1,\n    2)\n"),
    "strings joined": (b'x = ("a"  # c\n\n     "b")  # c\n', 'x = ("a"\n     "b")\n'),
    "lines continued": (
        b'x = 1 + \\\n    2  # c\ny = "a\\\n # no \\\n"\n',
        'x = 1 + \\\n    2\ny = "a\\\n # no \\\n"\n',
    ),
    "a blank line that ends a continued one": (b"x = 1 \\\n# c\n\ny = 2\n", "x = 1 \\\n\ny = 2\n"),
    "strings of several lines": (
        b"x = \"\"\"a  \n\n # no \n\"\"\"  \n\n'''\n\n'''",
        "x = \"\"\"a  \n\n # no \n\"\"\"\n'''\n\n'''\n",
    ),
    "f-strings": (
        b"x = f'''a {{ \n\n{1!r:>{3}}\n # no {\"#\"} \n''' f\"{y:{z}}#\" # c\n",
        "x = f'''a {{ \n\n{1!r:>{3}}\n # no {\"#\"} \n''' f\"{y:{z}}#\"\n",
    ),
    "letters of several bytes": (
        'def é(): "ü"; return f"é{1}é"  # é\nx = """é\nüü""" ; y = f"""ü\n"""  # \u2028 c\nz = "\u2028"\n'.encode(),
        'def é(): return f"é{1}é"\nx = """é\nüü""" ; y = f"""ü\n"""\nz = "\u2028"\n',
    ),
    "signs of comments in strings": (
        b"x = {'#': '\"#'}  # '\ny = rb'\\' # no'  # c\n",
        "x = {'#': '\"#'}\ny = rb'\\' # no'\n",
    ),
    "types in comments": (
        b"x = []  # type: list[int]\ndef f(x):\n    # type: (int) -> int\n    return x  # noqa\n",
        "x = []\ndef f(x):\n    return x\n",
    ),
    "comments to the left": (b"def f():\n  # c\n    return 1\n# c\n    # c\n", "def f():\n    return 1\n"),
    "tabs": (b"def f():\n\tx = 1\t# c\n\t\n\treturn x\n", "def f():\n\tx = 1\n\treturn x\n"),
    "form feeds": (
        b'"doc"\n\x0c\ndef f():\n    a = "\x0c" \x0c# \x0c c\n\x0c    b = 2\n',
        'def f():\n    a = "\x0c"\n\x0c    b = 2\n',
    ),
    "line ends of Windows": (b'x = 1\r\n\r\n# c\r\ny = """a\r\n\r\nb"""\r\n', 'x = 1\ny = """a\n\nb"""\n'),
    "a mark of the order of bytes": (b"\xef\xbb\xbf# c\nx = 1\n", "x = 1\n"),
    "a declared encoding": (b'#!/usr/bin/python\n# -*- coding: latin-1 -*-\nx = "\xe9"  # \xe9\n', 'x = "é"\n'),
    "no end of the last line": (b"x = 1  # c", "x = 1\n"),
}
NO_PYTHON = {
    "an open bracket": b"x = (  # c\n",
    "an open string": b"x = '''  # c\n",
    "a nul": b"x = 1\0  # c\n",
    "bytes": b"# \xff\n",
}
# Prints the hashes of files, by a Python that need not have any package.
ELSEWHERE = "import json, pathlib, sys\nfrom perlayer.code_hash import code_hash\n" + (
    "print(json.dumps([code_hash(pathlib.Path(name)) for name in sys.stdin.read().split('\\0')]))"
)


def undocumented(tree):
    """A syntax tree without docstrings; `pass` is in the place of those that were all of a body."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()][: not isinstance(node, ast.Module)]
    return ast.dump(tree)


@functools.cache
def source_of(name):
    return (ROOT / name).read_bytes()


@functools.cache
def left_of(name):
    return without_words(source_of(name))


def left(text):
    return without_words(text.encode())


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_of_a_source(name, tmp_path):
    source, expected = LEFT[name]
    assert without_words(source) == expected
    assert undocumented(ast.parse(source)) == ast.dump(ast.parse(expected))
    (tmp_path / "a.py").write_bytes(source)
    assert code_hash(tmp_path / "a.py") == hashlib.sha256(expected.encode()).hexdigest()


def test_a_recorded_hash(tmp_path):
    (tmp_path / "a.py").write_bytes(b'"""doc"""\n\n\nx = 1  # c\n')
    # `printf 'x = 1\\n' | sha256sum`
    assert code_hash(tmp_path / "a.py") == "9e26bf369911c45c243c684147b23fc9e1dcfcf257d299a1c632016a6fcd33f4"


@pytest.mark.parametrize("name", ["a.sql", "a.html.jinja", "README.md", "a.csv"])
def test_of_all_that_is_no_python_every_byte_counts(name, tmp_path):
    content = b'"""doc"""\r\n\n-- # c \n'
    (tmp_path / name).write_bytes(content)
    assert code_hash(tmp_path / name) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("name", NO_PYTHON)
def test_of_what_no_python_can_read_too(name, tmp_path):
    (tmp_path / "a.py").write_bytes(NO_PYTHON[name])
    assert code_hash(tmp_path / "a.py") == hashlib.sha256(NO_PYTHON[name]).hexdigest()


@pytest.mark.parametrize("version", [f"3.{minor}" for minor in (10, 11, 12) if minor != sys.version_info.minor])
def test_every_python_gives_the_same_hashes(version, tmp_path):
    """Of the sources above, and of every file of the project."""
    python = shutil.which(f"python{version}")
    environment = {**os.environ, "PYENV_VERSION": version, "PYTHONPATH": str(ROOT / "src")}
    if python is None or subprocess.run([python, "-c", ""], env=environment, capture_output=True).returncode:
        pytest.skip(f"python{version} is not installed")
    sources = [*(source for source, _ in LEFT.values()), *NO_PYTHON.values()]
    paths = [ROOT / name for name in FILES]
    for number, source in enumerate(sources):
        paths.append(tmp_path / f"{number}.py")
        paths[-1].write_bytes(source)
    found = subprocess.run(
        [python, "-c", ELSEWHERE],
        input="\0".join(map(str, paths)),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert json.loads(found.stdout) == [code_hash(path) for path in paths]


def test_what_is_left_of_a_file_runs_as_the_file_does():
    for name in HASHED:
        assert undocumented(ast.parse(source_of(name))) == ast.dump(ast.parse(left_of(name))), name


def with_more_words(text):
    """A source with a comment on every line that may have one, comments and blank lines between, and docstrings."""
    lines = text.split("\n")
    for token in reversed([*tokenize.generate_tokens(io.StringIO(text).readline)]):
        row, column = token.start[0] - 1, token.start[1]
        if token.type in (tokenize.NEWLINE, tokenize.NL) and row < len(lines) - 1:
            lines[row] = f"{lines[row][:column]}  # 'more\"\n   # of it \n \t\n"
    text = "\n".join(lines)
    tree, lines = ast.parse(text), text.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, DOCUMENTED) or not node.body:
            continue
        first = node.body[0]
        row = min(one.lineno for one in (first, *getattr(first, "decorator_list", []))) - 1
        if ast.get_docstring(node) is None and not lines[row][: first.col_offset].strip():
            lines[row] = f'{" " * first.col_offset}"""More;\n\n # of it."""\n{lines[row]}'
    return "\n".join(lines)


def test_more_words_leave_every_hash():
    for name in HASHED:
        text = source_of(name).decode()
        more = with_more_words(text)
        assert more.count("\n") >= text.count("\n") + 2 * left_of(name).count("\n")
        assert left(more) == left_of(name), name


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            yield node.body[0].value


def outside_f_strings(tree, kind):
    """The nodes of a kind whose places every Python knows, from the last."""
    within = {id(one) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for one in ast.walk(node)}
    found = [node for node in ast.walk(tree) if isinstance(node, kind) and id(node) not in within]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True)


def with_other_number(tree):
    numbers = [node for node in outside_f_strings(tree, ast.Constant) if type(node.value) in (int, float)]
    return {node: b"8" if node.value == 7 else b"7" for node in numbers[len(numbers) // 2 :][:1]}


def with_other_string(tree):
    words = {id(node) for node in docstrings(tree)}
    strings = [
        node for node in outside_f_strings(tree, ast.Constant) if type(node.value) is str and id(node) not in words
    ]
    return {node: b'"quite another"' for node in strings[len(strings) // 2 :][:1]}


def with_other_local_name(tree):
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names = outside_f_strings(function, ast.Name)
            local = next((node.id for node in names if isinstance(node.ctx, ast.Store)), None)
            if local is not None:
                return {node: b"quite_another" for node in names if node.id == local}
    return {}


@pytest.mark.parametrize("change", [with_other_number, with_other_string, with_other_local_name])
def test_what_a_computer_makes_of_it_changes_every_hash(change):
    changed = 0
    for name in HASHED:
        lines = source_of(name).split(b"\n")
        for node, text in change(ast.parse(source_of(name))).items():
            row, last = node.lineno - 1, node.end_lineno - 1
            lines[row : last + 1] = [lines[row][: node.col_offset] + text + lines[last][node.end_col_offset :]]
        if lines != source_of(name).split(b"\n"):
            changed += 1
            assert without_words(b"\n".join(lines)) != left_of(name), name
    assert changed > len(HASHED) / 2
