"""A cluster on this machine: a scheduler, and workers that are processes of their own."""

import os
import subprocess
import sys
from contextlib import contextmanager

RUNS = """import sys
from distributed import LocalCluster

if __name__ == "__main__":
    settings = {"threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, local_directory=sys.argv[1], **settings) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.readline()
"""


@contextmanager
def local_cluster(folder, **environment):
    """The address of one with two workers, whose clones lie below `folder`; a worker that is killed is replaced."""
    folder.mkdir()
    (folder / "run.py").write_text(RUNS)
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0", **environment}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "run.py", str(folder)]
    with subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes) as process:
        yield process.stdout.readline().strip()
        process.communicate("\n")
