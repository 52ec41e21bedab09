"""Runs one benchmark in a process of its own: `python -m benchmarks.one MODULE FILE` writes its rows to FILE."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    module, destination = sys.argv[1:]
    rows = import_module(module).rows()
    Path(destination).write_text(json.dumps([row.to_json() for row in rows]), encoding="utf-8")
