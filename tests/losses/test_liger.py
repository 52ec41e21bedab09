"""The CUDA path of the mean loss, on a CPU: triton interprets Liger-Kernel's kernels."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(importlib.util.find_spec("liger_kernel") is None, reason="Liger-Kernel is for Linux on x86-64")
def test_liger_equals_cross_entropy():
    script = Path(__file__).with_name("interpreted_liger.py")
    result = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(result.stdout.splitlines()[-1])
    assert max(found["float32"]) < 2e-6  # rounding
    assert max(found["bfloat16"]) < 2e-2  # bfloat16 keeps 8 bits
