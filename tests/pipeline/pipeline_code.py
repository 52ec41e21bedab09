"""What the stages of dvc.yaml declare, and what their scripts import."""

import functools
from pathlib import Path

from ruamel.yaml import YAML

from perlayer.closure import ImportClosure
from perlayer.plan import stage_files

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "perlayer"


@functools.cache
def stages():
    """Each stage of dvc.yaml by name: its definition, as it stands under `do` for a foreach stage."""
    definitions = YAML(typ="safe", pure=True).load((ROOT / "dvc.yaml").read_text())["stages"]
    return {name: definition.get("do", definition) for name, definition in definitions.items()}


def script(name):
    return ROOT / "stages" / f"{name}.py"


CLOSURE = ImportClosure(PACKAGE)


@functools.cache
def imported(name):
    """Every project file that the stage's script imports, the script and its helpers included."""
    files = [path for path in stage_files(script(name), CLOSURE) if path.suffix == ".py"]
    return {path.relative_to(ROOT).as_posix() for path in files}
