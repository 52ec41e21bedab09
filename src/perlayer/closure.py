"""What a Python file imports from this package, directly and through what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from perlayer.errors import UserError


def import_closure(files: Iterable[Path], package: Path) -> set[Path]:
    """Every file of `package` that runs when `files` are imported, the files themselves included if they are in it.

    Imports anywhere in a file count, also those inside functions; the `__init__.py` of every package on the way runs
    too. Imports by a computed name are not seen.

    Args:
        files: Python files, in the package or outside.
        package: the folder of the top-level package; its name is the package's name.
    """
    found: set[Path] = set()
    queue = list(files)
    while queue:
        path = queue.pop()
        if path in found:
            continue
        found.add(path)
        for module in _imported_modules(path, package):
            queue += [target for target in _files_of(module, package) if target not in found]
    return {path for path in found if package in path.parents}


def _imported_modules(path: Path, package: Path) -> set[str]:
    modules = set()
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (SyntaxError, ValueError) as error:  # also bytes that are no UTF-8
        raise UserError(f"{path}: expected Python, found {' '.join(str(error).split())}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules.add(node.module)
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    if package in path.parents:
        modules.add(".".join([package.name, *path.relative_to(package).parent.parts]))
    return {module for module in modules if module.split(".")[0] == package.name}


def _files_of(module: str, package: Path) -> list[Path]:
    parts = module.split(".")[1:]
    files = [package / "__init__.py"]
    for depth in range(1, len(parts) + 1):
        here = package.joinpath(*parts[:depth])
        files.append(here / "__init__.py" if here.is_dir() else here.with_suffix(".py"))
    return [file for file in files if file.is_file()]
