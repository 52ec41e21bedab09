"""The set-up: what is locked, what `make setup` does and when, and what a stage says without its environment."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONSTRAINTS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.lstrip().startswith("#")
]
LINUX_X86 = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
LINUX_ARM = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "aarch64"}
MACOS_ARM = {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"}


def requirements():
    groups = [PYPROJECT["build-system"]["requires"], PYPROJECT["project"]["dependencies"]]
    groups += PYPROJECT["project"]["optional-dependencies"].values()
    return [Requirement(text) for group in groups for text in group]


def applying(requirements, system, python):
    environment = system | {"python_version": python, "python_full_version": f"{python}.4"}
    return [each for each in requirements if each.marker is None or each.marker.evaluate(environment)]


def pins(system, python):
    applying_pins = applying(CONSTRAINTS, system, python)
    names = [canonicalize_name(pin.name) for pin in applying_pins]
    assert len(names) == len(set(names)), "a package is pinned twice for one environment"
    return dict(zip(names, applying_pins))


# ---- what is locked


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12"])
@pytest.mark.parametrize("system", [LINUX_X86, LINUX_ARM, MACOS_ARM], ids=["linux", "linux-arm", "macos"])
def test_every_dependency_is_locked_to_a_version_that_fits(system, python):
    locked = pins(system, python)
    for requirement in applying(requirements(), system, python):
        (pin,) = locked[canonicalize_name(requirement.name)].specifier
        assert requirement.specifier.contains(pin.version), f"{requirement} but locked {pin.version}"
    assert ("nvidia-nccl-cu12" in locked) == (system is LINUX_X86)


def test_the_lock_holds_exact_public_versions_only():
    for pin in CONSTRAINTS:
        assert [specifier.operator for specifier in pin.specifier] == ["=="], pin
        assert pin.url is None and not pin.extras, pin
        assert "+" not in str(pin.specifier), f"{pin}: a local version is on no public index"


def test_this_environment_is_what_is_locked():
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("another environment than the one of `make setup`")
    for pin in CONSTRAINTS:
        try:
            found = version(pin.name)
        except PackageNotFoundError:
            continue  # for another system, or of an extra
        if pin.marker is None or pin.marker.evaluate():
            assert pin.specifier.contains(found), f"{pin.name}: locked {pin.specifier}, installed {found}"


@pytest.mark.parametrize(
    "name", ["Makefile", "pyproject.toml", "constraints.txt", ".ci/run", ".dvc/config", ".gitignore", ".dvcignore"]
)
def test_no_file_of_the_set_up_names_an_index(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for word in ("http:", "https:", "index-url", "find-links", "trusted-host", "no-deps"):
        assert word not in text.replace("--no-emit-index-url", ""), word


# ---- make setup, with a stand-in for Python that notes what it is asked

STAND_IN = """#!/bin/sh
case "$*" in
    -c*) exit 0 ;;
    -V) echo Python {version} ;;
    "-m venv --clear .venv")
        echo venv >> calls; rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python
        echo "VIRTUAL_ENV=$(pwd)/.venv" > .venv/bin/activate ;;
    "-m pip install "*) echo pip >> calls; test ! -e broken ;;
    *) exit 9 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "a check out"  # with spaces in its path
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return folder


def stand_in(folder, version="3.11.9"):
    path = folder / f"python-{version}"
    path.write_text(STAND_IN.format(version=version), encoding="utf-8")
    path.chmod(0o755)
    return path


def outside_make():
    """The environment as it is outside of make: these tests may be run by `make test`."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHON", "MAKEFLAGS", "MAKELEVEL")}


def make(folder, *arguments):
    """Run make there: its exit status, what it says on stderr, and what the stand-in was asked for."""
    (folder / "calls").unlink(missing_ok=True)
    done = subprocess.run(["make", *arguments], cwd=folder, env=outside_make(), capture_output=True, text=True)
    calls = folder / "calls"
    return done.returncode, done.stderr, calls.read_text().split() if calls.exists() else []


def test_setup_installs_once_and_again_only_when_something_changed(checkout):
    python = f"PYTHON={stand_in(checkout)}"
    assert make(checkout, "setup", python) == (0, "", ["venv", "pip"])
    assert make(checkout, "setup", python) == (0, "", [])
    assert make(checkout, "setup") == (0, "", []), "the environment that is there is taken without asking for it"
    with (checkout / "constraints.txt").open("a") as file:
        file.write("# changed\n")
    assert make(checkout, "setup") == (0, "", ["pip"])
    assert make(checkout, "setup") == (0, "", [])


def test_another_python_or_another_place_makes_the_environment_again(checkout, tmp_path):
    assert make(checkout, "setup", f"PYTHON={stand_in(checkout)}") == (0, "", ["venv", "pip"])
    other = f"PYTHON={stand_in(checkout, '3.12.1')}"
    assert make(checkout, "setup", other) == (0, "", ["venv", "pip"])
    moved = checkout.rename(tmp_path / "moved")
    assert make(moved, "setup", f"PYTHON={moved / 'python-3.12.1'}") == (0, "", ["venv", "pip"])


def test_a_failed_installation_is_tried_again(checkout):
    python = f"PYTHON={stand_in(checkout)}"
    (checkout / "broken").touch()
    for calls in (["venv", "pip"], ["pip"]):
        status, _, asked = make(checkout, "setup", python)
        assert (status, asked) == (2, calls)
        assert not (checkout / ".venv/installed").exists()
    (checkout / "broken").unlink()
    assert make(checkout, "setup", python) == (0, "", ["pip"])


def test_an_installation_that_fails_later_leaves_no_stamp_of_the_earlier_one(checkout):
    python = f"PYTHON={stand_in(checkout)}"
    make(checkout, "setup", python)
    constraints = (checkout / "constraints.txt").read_text()
    (checkout / "constraints.txt").write_text(constraints + "# changed\n")
    (checkout / "broken").touch()
    assert make(checkout, "setup", python)[0] == 2
    (checkout / "constraints.txt").write_text(constraints)  # as the earlier stamp had it
    (checkout / "broken").unlink()
    assert make(checkout, "setup", python) == (0, "", ["pip"])


def test_a_python_that_does_not_fit_gets_one_line(checkout):
    wrong = checkout / "python3.9"
    wrong.write_text('#!/bin/sh\necho "Traceback" >&2\nexit 1\n')
    wrong.chmod(0o755)
    for python in (wrong, "no-such-python"):
        status, said, calls = make(checkout, "setup", f"PYTHON={python}")
        assert status == 2 and calls == []
        assert (
            said.count("\n") == 1 and f"Python 3.10, 3.11 or 3.12 with its venv module is needed, and {python}" in said
        )


def test_no_python_at_all_gets_one_line(checkout, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "cksum", "grep", "sh"):
        (tools / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        [shutil.which("make"), "setup"], cwd=checkout, env={"PATH": str(tools)}, capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "none was found; name one with make PYTHON=/path/to/python" in done.stderr


def test_the_check_of_a_python_accepts_this_one_and_no_older(checkout):
    check = subprocess.run(
        ["make", "-f", "-", "show"],
        input='include Makefile\nshow:\n\t@echo "$(fits)"\n',
        cwd=ROOT,
        env=outside_make(),
        capture_output=True,
        text=True,
    ).stdout
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
    for other, status in (((3, 9), 1), ((3, 10), 0), ((3, 12), 0), ((3, 13), 1), ((4, 0), 1)):
        pretended = f"import sys; sys.version_info = {other + (0, 'final', 0)}; " + check
        assert subprocess.run([sys.executable, "-c", pretended]).returncode == status, other


def test_make_alone_lists_every_target():
    targets = (ROOT / "Makefile").read_text().split(".PHONY:")[1].splitlines()[0].split()
    done = subprocess.run(["make"], cwd=ROOT, env=outside_make(), capture_output=True, text=True)
    listed = done.stdout.splitlines()
    assert [line.split("\t")[0] for line in listed] == [f"make {target}" for target in targets]


# ---- a stage script without its environment


def script(folder, body):
    """A stage script in `folder`, with the package beside it."""
    (folder / "stages").mkdir()
    (folder / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "stages/_run.py", folder / "stages")
    path = folder / "stages" / "toy.py"
    path.write_text(f"from _run import run\n\n{body}\n", encoding="utf-8")
    return path


def start(path, *options):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *options, path], cwd=path.parent, env=environment, capture_output=True, text=True
    )


def test_a_stage_started_by_another_python_says_so_in_one_line(tmp_path):
    done = start(script(tmp_path, "import ruamel.yaml"), "-S")  # -S: this Python without its packages
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"toy.py: {sys.executable} (Python {sys.version.split()[0]}) has no package ruamel; "
        "stages run with .venv/bin first on PATH, as `make repro` puts it\n"
    )


def test_a_stage_script_ends_with_the_status_and_the_line_of_its_error(tmp_path):
    (tmp_path / "params.yaml").write_text("size: smoke\nrecipes: {smoke: {}}\nruns: {baseline: {}}\n")
    body = "from perlayer.errors import UserError\n\ndef toy(params):\n    raise UserError('no text')\n\nrun(toy)"
    done = subprocess.run([sys.executable, script(tmp_path, body)], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: no text\n")
