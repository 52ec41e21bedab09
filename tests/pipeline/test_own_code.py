"""Worktrees, clones and experiments run their own code, with an environment that points to another copy."""

import json

from perlayer.data.corpus import read_corpus

SOURCES = "src/perlayer/data/sources.py"


def edited(project, method):
    """Have the code of a project read the text in another way."""
    project.command("git", "checkout", "-q", SOURCES)
    with (project.folder / SOURCES).open("a") as file:
        file.write(f"\nplain = documents\n\ndef documents(*source):\n    return map(str.{method}, plain(*source))\n")


def first_text(project):
    return next(read_corpus(project.folder / "data/corpus"))[0]


def test_a_worktree_and_a_clone_run_their_own_code(finished, tmp_path):
    finished.command("git", "worktree", "add", "-q", str(tmp_path / "worktree"))
    finished.command("git", "clone", "-q", ".", str(tmp_path / "clone"))
    try:
        worktree, clone = type(finished)(tmp_path / "worktree"), type(finished)(tmp_path / "clone")
        worktree.command("python", "stages/plan.py")
        planned = ("data/plan", "data/code")
        assert worktree.bytes_of(*planned) == finished.bytes_of(*planned)
        edited(clone, "swapcase")
        clone.command("python", "stages/corpus.py")
        assert first_text(clone) == first_text(finished).swapcase() != first_text(finished)
    finally:
        finished.command("git", "worktree", "remove", "--force", str(tmp_path / "worktree"))


def test_an_experiment_in_a_temporary_folder_runs_only_what_has_changed(finished):
    output = finished.dvc("exp", "run", "--temp", "-S", "recipes.smoke.data.val_fraction=0.2", "tokenize")
    ran = [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")]
    assert ran == ["plan"]  # which checks what has changed


def test_a_queued_experiment_runs_the_code_that_was_queued(finished):
    plain = first_text(finished)
    try:
        edited(finished, "swapcase")
        finished.dvc("exp", "run", "--queue", "-n", "queued", "corpus")
        edited(finished, "upper")
        finished.dvc("exp", "run", "--run-all")
        finished.command("git", "checkout", "-q", SOURCES)
        finished.dvc("exp", "apply", "queued")
        assert first_text(finished) == plain.swapcase() != plain
        assert json.loads(finished.dvc("status", "--json", "plan", "corpus")) == {}
    finally:
        finished.dvc("queue", "stop", "--kill")
        finished.command("git", "checkout", "-q", ".")
        finished.dvc("checkout", "-q")
