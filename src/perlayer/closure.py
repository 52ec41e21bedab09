"""What a Python file imports from this package, directly and through what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from perlayer.errors import UserError


class ImportClosure:
    """Which files run when others are imported; each file is read once, as it is then.

    Imports anywhere in a file count, also those inside functions; the `__init__.py` of every package on the way runs
    too. Imports by a computed name are not seen.

    Args:
        package: the folder of the top-level package; its name is the package's name.
    """

    def __init__(self, package: Path):
        self.package = package
        self._imported: dict[Path, list[Path]] = {}

    def of(self, files: Iterable[Path]) -> set[Path]:
        """Every file of the package that runs when `files` are imported, those of them included that are in it.

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
            if path not in self._imported:
                modules = _imported_modules(path, self.package)
                self._imported[path] = [target for module in modules for target in _files_of(module, self.package)]
            queue += self._imported[path]
        return {path for path in found if self.package in path.parents}


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
