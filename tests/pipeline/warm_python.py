"""A Python that has imported what stages and DVC import, which takes most of them longer than what they do in tests.

`warm_python(FOLDER)` fills a folder for PATH: its `python SCRIPT` and `dvc` have a fork of that process do the work,
with their arguments, environment, working folder and streams. Whoever starts them may wait for them, but not kill them.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from perlayer.dvc_pipeline import _read_params_once
from perlayer.lean_imports import import_lean

IMPORTED = ("dvc.cli", "dvc.repo", "dvc.commands.repro", "dvc.commands.experiments.run", "duckdb", "pandas", "seaborn")
ASKS = """#!{python} -SEI
import json, os, socket, sys
if sys.argv[0].endswith("python") and sys.argv[1].startswith("-"):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as warm:
    warm.connect({place!r})
    asked = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(warm, [len(asked).to_bytes(8, "little")], [0, 1, 2])
    warm.sendall(asked)
    sys.exit(warm.recv(1)[0])
"""


@contextmanager
def warm_python(folder):
    """Fill `folder`, for as long as the context lasts."""
    place = str(folder / "socket")
    for name in ("python", "dvc"):
        (folder / name).write_text(ASKS.format(python=sys.executable, place=place))
        (folder / name).chmod(0o755)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, __file__, place], **pipes) as process:
        process.stdout.readline()
        yield folder
        process.stdin.close()  # which ends it


def main(place):
    import_lean("composer.algorithms", "streaming")
    for name in IMPORTED:
        importlib.import_module(name)
    _read_params_once()
    for name in [name for name in sys.modules if name.split(".")[0] == "perlayer"]:
        del sys.modules[name]  # each project has its own
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        print("ready", flush=True)
        servants = []
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            asker, _ = listener.accept()
            if (servant := os.fork()) == 0:
                break
            asker.close()
            servants = [one for one in [*servants, servant] if os.waitpid(one, os.WNOHANG) == (0, 0)]
        else:
            return [os.waitpid(servant, 0) for servant in servants]
    length, streams, *_ = socket.recv_fds(asker, 8, 3)
    words, folder, environment = json.loads(asker.makefile().read(int.from_bytes(length, "little")))
    if (worker := os.fork()) != 0:
        status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        asker.sendall(bytes([status % 256]))
        os._exit(0)
    asker.close()
    try:
        status = work(words, folder, environment, streams)
    except SystemExit as ended:
        status = ended.code
    if isinstance(status, str):
        print(status, file=sys.stderr)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status if isinstance(status, int) else bool(status))  # and takes nothing apart, as Python does at its end


def work(words, folder, environment, streams):
    """What a new process would do; returns its status, where it ends well."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    name = Path(words.pop(0)).name
    sys.orig_argv[1:] = words
    if name == "dvc":
        sys.argv[1:] = words
        return importlib.import_module("dvc.cli").main()
    sys.argv[:] = words
    sys.path[0] = str(Path(folder, words[0]).parent)
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
