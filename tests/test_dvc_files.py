"""Against dvc.lock as DVC writes it, cut where a kill may cut it."""

import json
import os
import subprocess
import sys
import time

import pytest

from perlayer import dvc_files
from perlayer.dvc_files import COPY, LOCK, LockFile, kept, mend
from perlayer.errors import UserError

NAMES = ("plan", "corpus", "train@one", "train@two", "collect")


def entry(name, digest="0123456789abcdef0123456789abcdef", steps=30):
    return {
        "cmd": f"python stages/{name.replace('@', '.py ')}",
        "deps": [{"path": "constraints.txt", "hash": "md5", "md5": digest, "size": 7253}],
        "params": {
            "params.yaml": {"size": "smoke", "recipes.smoke.train": {"steps": steps, "rate": 2e-2, "dtype": None}}
        },
        "outs": [
            {"path": f"data/{name}", "hash": "md5", "md5": f"{digest}.dir", "size": 123456, "nfiles": 12},
            {"path": f"metrics/{name}: 'it'.json", "hash": "md5", "md5": digest, "size": 77},
        ],
    }


def as_dvc_writes(**entries):
    from dvc.utils.serialize import dumps_yaml

    return dumps_yaml({"schema": "2.0", "stages": entries})


def read_by_dvc(text):
    """What DVC reads in a dvc.lock; None where every one of its commands fails."""
    from dvc.exceptions import DvcException
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from dvc.utils.serialize import parse_yaml
    from voluptuous import Invalid

    try:
        return COMPILED_LOCKFILE_SCHEMA(parse_yaml(text, LOCK))
    except (DvcException, Invalid):
        return None


WHOLE = as_dvc_writes(**{name: entry(name) for name in NAMES})


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dvc_files, "PAUSE", 0.01)
    COPY.parent.mkdir()
    return tmp_path


def mended(text, copy, stages=NAMES):
    LOCK.write_text(text)
    COPY.write_text(copy)
    mend(lambda: stages)
    found = LOCK.read_text()
    assert COPY.read_text() == found
    return found


def test_what_dvc_writes_is_taken_apart_and_put_together_again():
    found = LockFile.parse(WHOLE)
    assert tuple(found.entries) == NAMES and found.text() == WHOLE
    assert read_by_dvc(found.head + found.entries["train@one"])["stages"] == {"train@one": entry("train@one")}


def test_what_dvc_cannot_read_is_none_and_nothing_else_is():
    for place in range(0, len(WHOLE), 41):
        text = WHOLE[:place]
        assert (LockFile.parse(text) is None) == (read_by_dvc(text) is None), text[-60:]
    for text in (WHOLE.replace("schema", "scheme"), f"<<<<<<< HEAD\n{WHOLE}", WHOLE + WHOLE.partition("stages:\n")[2]):
        assert LockFile.parse(text) is None and read_by_dvc(text) is None


def test_cut_anywhere_it_is_whole_again(capsys):
    for place in range(0, len(WHOLE), 23):
        assert mended(WHOLE[:place], WHOLE) == WHOLE, WHOLE[:place][-60:]
    assert "dvc.lock: could not be read; it is again as" in capsys.readouterr().err


def test_cut_within_what_was_new_the_rest_is_whole_again(capsys):
    """The entry that was being changed is as it was, or as it is to be, or in a part that DVC finds to be another."""
    new = as_dvc_writes(**{name: entry(name, steps=40 if name == "train@one" else 30) for name in NAMES})
    complete = [read_by_dvc(text)["stages"]["train@one"] for text in (WHOLE, new)]
    for place in range(new.index("train@one"), len(new), 23):
        stages = read_by_dvc(mended(new[:place], WHOLE))["stages"]
        one = stages.pop("train@one")
        assert list(stages) == [name for name in NAMES if name != "train@one"]
        assert all(stages[name] == entry(name) for name in stages)
        assert one in complete or "outs" not in one or one["outs"] != entry("train@one")["outs"]
    assert "of its entries are back from a copy" in capsys.readouterr().err


def test_what_is_present_is_never_replaced_and_what_dvc_yaml_no_longer_names_not_brought_back(capsys):
    names = ["plan", "corpus", "collect"]
    present = {name: entry(name, "f" * 32) for name in names}
    found = mended(as_dvc_writes(**present), WHOLE, stages=("plan", "corpus", "train@two", "collect"))
    expected = {**present, "train@two": entry("train@two")}
    assert found == as_dvc_writes(**{name: expected[name] for name in ("plan", "corpus", "train@two", "collect")})
    assert capsys.readouterr().err == "dvc.lock: was cut off; 1 of its entries are back from a copy\n"
    lingering = as_dvc_writes(plan=entry("plan"), gone=entry("gone"))
    assert mended(lingering, lingering + "  more: 1\n") == lingering


def test_without_a_copy_one_line_says_what_to_do():
    LOCK.write_text(f"<<<<<<< HEAD\n{WHOLE}")
    with pytest.raises(
        UserError, match="^dvc.lock: expected what DVC can read, .* `git checkout dvc.lock` brings back"
    ):
        mend(lambda: NAMES)


def test_an_empty_file_of_which_there_is_no_copy_is_as_none_at_all():
    LOCK.touch()
    mend(lambda: NAMES)
    assert not COPY.exists()


def test_what_a_user_has_removed_stays_away():
    COPY.write_text(WHOLE)
    mend(lambda: NAMES)
    assert not LOCK.exists() and not COPY.exists()


def test_a_copy_is_kept_after_each_change_and_loses_nothing_to_half_a_write(monkeypatch):
    LOCK.write_text(WHOLE)
    grown = as_dvc_writes(**{name: entry(name) for name in (*NAMES, "report")})
    mend(lambda: NAMES)
    with kept():
        for text, expected in ((grown, grown), (grown[: len(WHOLE) // 2], grown), (WHOLE, grown)):
            LOCK.write_text(text)
            deadline = time.monotonic() + 10
            while COPY.read_text() != expected:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(0.05)
            assert COPY.read_text() == expected
    assert LOCK.read_text() == WHOLE  # nobody but DVC writes it meanwhile


def record(**entries):
    path = dvc_files.WORKING / "rwlock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries))
    return path


@pytest.mark.parametrize("keep", [0, 1, 20, -1])
def test_half_a_record_of_readers_and_writers_goes(keep):
    path = record(write={"data/x": {"pid": 1, "cmd": "dvc repro"}}, read={})
    path.write_text(path.read_text()[:keep])
    mend(tuple)
    assert not path.exists()


def test_only_living_dvc_processes_are_in_the_record():
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)", "repro"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # just started, Linux does not tell its command yet
        living = {"pid": process.pid, "cmd": " ".join(command[1:])}
        reused, dead = {"pid": os.getpid(), "cmd": "dvc repro"}, {"pid": 2**22 + 1, "cmd": "dvc repro"}
        path = record(write={"a": living, "b": reused, "c": dead}, read={"d": [living, dead], "e": [reused]})
        mend(tuple)
        assert json.loads(path.read_text()) == {"write": {"a": living}, "read": {"d": [living], "e": []}}
        process.kill()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="elsewhere nobody knows who has a file open")
def test_what_dvc_was_writing_to_its_cache_goes_unless_it_still_writes():
    left, written, whole = (dvc_files.CACHE / "runs" / "ab" / name for name in (".x.tmp", ".y.tmp", "abcd"))
    left.parent.mkdir(parents=True)
    for path in (left, whole):
        path.touch()
    with written.open("w"):
        mend(tuple)
        assert not left.exists() and written.exists() and whole.exists()
