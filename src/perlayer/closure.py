"""What a Python file uses of this package, directly and through what it imports: other Python, and files of data."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from perlayer.errors import UserError

READERS = ("files", "PackageLoader")  # of `importlib.resources` and of jinja: they read what lies in a package


class ImportClosure:
    """Which files are used when others are imported; each file is read once, as it is then.

    Imports anywhere in a file count, also those inside functions; the `__init__.py` of every package on the way runs
    too. Imports by a computed name are not seen, but that an `__init__.py` which calls `import_module` uses all Python
    in its folder. Of a package that is named to one of `READERS`, all that lies in it or below and is no Python counts.

    Args:
        package: the folder of the top-level package; its name is the package's name.
        inside_functions: whether imports inside functions count, and those for types alone.
    """

    def __init__(self, package: Path, inside_functions: bool = True):
        self.package = package
        self._nodes = ast.walk if inside_functions else _run_by_import
        self._used: dict[Path, list[Path]] = {}

    def of(self, files: Iterable[Path]) -> set[Path]:
        """Every file of the package that is used when `files` are imported, those of them included that are in it.

        Args:
            files: Python files, in the package or outside.

        Raises:
            UserError: one of them is no Python.
        """
        found: set[Path] = set()
        queue = list(files)
        while queue:
            path = queue.pop()
            if path in found:
                continue
            found.add(path)
            if path not in self._used:
                self._used[path] = _used_by(path, self.package, self._nodes) if path.suffix == ".py" else []
            queue += self._used[path]
        return {path for path in found if self.package in path.parents}


def _used_by(path: Path, package: Path, nodes: Callable[[ast.AST], Iterable[ast.AST]]) -> list[Path]:
    modules, read = set(), set()
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (SyntaxError, ValueError) as error:  # also bytes that are no UTF-8
        raise UserError(f"{path}: expected Python, found {' '.join(str(error).split())}") from None
    for node in nodes(tree):
        match node:
            case ast.Import(names):
                modules |= {alias.name for alias in names}
            case ast.ImportFrom(str(module), names, 0):
                modules |= {module, *(f"{module}.{alias.name}" for alias in names)}
            case ast.Call(ast.Attribute(attr=name) | ast.Name(name), [ast.Constant(str(module)), *_]):
                read |= {module} if name in READERS else set()
    called = {getattr(node.func, "attr", None) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    listed = path.parent.rglob("*.py") if path.name == "__init__.py" and "import_module" in called else ()
    if package in path.parents:
        modules.add(".".join([package.name, *path.relative_to(package).parent.parts]))
    return [
        *listed,
        *(file for module in _ours(modules, package) for file in _files_of(module, package)),
        *(file for module in _ours(read, package) for file in _data_of(module, package)),
    ]


def _run_by_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a file is imported: all of it but the insides of functions and what only types need."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.If(ast.Name("TYPE_CHECKING")):
            return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _run_by_import(child)


def _ours(modules: set[str], package: Path) -> set[str]:
    return {module for module in modules if module.split(".")[0] == package.name}


def _files_of(module: str, package: Path) -> list[Path]:
    parts = module.split(".")[1:]
    files = [package / "__init__.py"]
    for depth in range(1, len(parts) + 1):
        here = package.joinpath(*parts[:depth])
        files.append(here / "__init__.py" if here.is_dir() else here.with_suffix(".py"))
    return [file for file in files if file.is_file()]


def _data_of(module: str, package: Path) -> list[Path]:
    files = package.joinpath(*module.split(".")[1:]).rglob("[!.]*")
    return [file for file in files if file.is_file() and file.suffix not in (".py", ".pyc")]
