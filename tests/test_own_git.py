"""Tests leave the repository alone from which they are started."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
COMMIT = """import sys, subprocess
sys.path.insert(0, sys.argv[1])
import conftest
open("file", "w").close()
for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "made by a test"]):
    subprocess.run(["git", *command], check=True)
"""


def test_a_commit_of_a_test_goes_to_its_own_repository(tmp_path):
    """As from a hook of a worktree, under settings that sign with a key that nobody has."""
    surrounding, own = tmp_path / "surrounding", tmp_path / "own"
    own.mkdir()
    subprocess.run(["git", "init", "-q", surrounding], check=True)
    (tmp_path / "config").write_text("[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n")
    hook = {
        "GIT_DIR": f"{surrounding}/.git",
        "GIT_INDEX_FILE": f"{surrounding}/.git/index",
        "GIT_WORK_TREE": str(surrounding),
        "GIT_CONFIG_GLOBAL": str(tmp_path / "config"),
    }
    subprocess.run([sys.executable, "-c", COMMIT, TESTS], cwd=own, env={**os.environ, **hook}, check=True)
    log = ["git", "log", "--all", "--format=%an: %s"]
    assert subprocess.check_output(log, cwd=own, text=True) == "test: made by a test\n"
    assert subprocess.check_output(log, cwd=surrounding, text=True) == ""
    assert not (surrounding / ".git/index").exists()
