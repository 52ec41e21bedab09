"""How every stage script starts: `from _run import run` comes first, `run(function)` last."""

import gc
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

NAME = Path(sys.argv[0]).name
STAGES = Path(__file__).absolute().parent

# A stage must not hide a module of the standard library that has its name (tokenize), so this folder leaves the path;
# the package beside it comes first.
others = [folder for folder in sys.path if Path(folder).resolve() != STAGES.resolve()]
sys.path[:] = [str(STAGES.parent / "src"), *others]

# Before a stage imports anything: a Python without the environment is named, instead of a traceback from deep inside.
for package in ("perlayer", "ruamel", "duckdb", "torch", "composer", "streaming"):
    if find_spec(package) is None:
        sys.exit(
            f"{NAME}: {sys.executable} (Python {sys.version.split()[0]}) has no package {package}; "
            "stages run with .venv/bin first on PATH, as `make repro` puts it"
        )


def run(function):
    """Run the stage `function(params, *arguments)` with what the command line holds, and exit with its status."""
    from perlayer.surroundings import settle

    settle(beside=STAGES.parent)
    for number in (signal.SIGTERM, signal.SIGHUP):  # who takes the machine back interrupts, too, or closes the terminal
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)
    from perlayer import stage

    name = Path(sys.argv[0]).stem
    stage.listen(name)
    status = stage.run(function, name, sys.argv[1:])
    # Python ends with a search for garbage among all that was imported: over a second after training, and for nothing.
    gc.freeze()
    sys.exit(status)
