"""What the stages of dvc.yaml declare, and what their scripts import."""

import ast
import functools
from pathlib import Path

from ruamel.yaml import YAML

from perlayer.closure import import_closure

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "perlayer"


@functools.cache
def stages():
    """Each stage of dvc.yaml by name: its definition, as it stands under `do` for a foreach stage."""
    definitions = YAML(typ="safe", pure=True).load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: definition.get("do", definition) for name, definition in definitions.items()}


def script(name):
    return ROOT / "stages" / f"{name}.py"


@functools.cache
def imported(name):
    """Every project file that the stage's script imports, the script and its helpers included."""
    scripts = {script(name)}
    for node in ast.walk(ast.parse(script(name).read_text())):
        if isinstance(node, ast.ImportFrom) and (ROOT / "stages" / f"{node.module}.py").is_file():
            scripts.add(ROOT / "stages" / f"{node.module}.py")
    return {path.relative_to(ROOT).as_posix() for path in import_closure(scripts, PACKAGE) | scripts}


def declared(name):
    """The code among the declared dependencies of a stage, folders resolved to their files."""
    files = set()
    for dependency in stages()[name]["deps"]:
        path = ROOT / dependency
        if dependency.split("/")[0] not in ("src", "stages") or "$" in dependency:
            continue
        assert path.exists(), f"dvc.yaml: {name}: {dependency}: no such file"
        files |= {found.relative_to(ROOT).as_posix() for found in ([path] if path.is_file() else path.rglob("*"))}
    return {file for file in files if "__pycache__" not in file and (ROOT / file).is_file()}
