"""A store of the kind of S3 on this machine: moto's server, in an environment of its own, whose pins are not ours."""

import socket
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
from filelock import FileLock

from perlayer.lifetimes import tied

PACKAGES = ["moto==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"]
PATIENCE = 60  # seconds that the server may take to start
BUCKET = "bucket"


def python_with_moto(folder):
    """The Python of an environment with moto in it, which is made in `folder` unless it is there."""
    python, done = folder / "bin/python", folder / " ".join(PACKAGES)
    with FileLock(folder / "lock"):
        if not done.exists():
            venv.create(folder)
            command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *PACKAGES]
            installed = subprocess.run(command, capture_output=True, text=True)
            if installed.returncode:
                pytest.skip(f"moto cannot be installed: {installed.stderr.strip().splitlines()[-1]}")
            done.touch()
    return python


class Store:
    """A server with one bucket, which it forgets when it stops."""

    def __init__(self, python):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = tied(str(python), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port))
        self._process = None

    @property
    def environment(self):
        """What names the store, and gives access to it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def start(self):
        """Start it, unless it runs."""
        if self._process is not None:
            return
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(self._command, **quiet)
        deadline = time.monotonic() + PATIENCE
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            assert time.monotonic() < deadline and self._process.poll() is None
            time.sleep(0.05)
        self._client().create_bucket(Bucket=BUCKET)

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def put(self, folder, name):
        """Copy a folder to the bucket, and return its address there."""
        client = self._client()
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                client.upload_file(str(path), BUCKET, f"{name}/{path.relative_to(folder).as_posix()}")
        return f"s3://{BUCKET}/{name}"

    def know_keys(self, known):
        """Refuse every key from now on, or take every one again."""
        from urllib.request import Request, urlopen

        body, headers = b"inf" if known else b"0", {"Content-Type": "text/plain"}
        urlopen(Request(f"http://127.0.0.1:{self.port}/moto-api/reset-auth", body, headers)).close()

    def _client(self):
        import boto3

        said = self.environment
        return boto3.Session(said["AWS_ACCESS_KEY_ID"], said["AWS_SECRET_ACCESS_KEY"]).client(
            "s3", endpoint_url=said["AWS_ENDPOINT_URL"], region_name=said["AWS_DEFAULT_REGION"]
        )
