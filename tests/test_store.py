"""Folders that appear whole, and what is said of a byte that is not as it was written."""

import json
import os
import signal
import subprocess
import sys

import pytest
import xxhash

from perlayer import store
from perlayer.errors import UserError
from perlayer.store import fresh_folder, read_manifest, require_writable, verified, verified_files

FILES = {"a.bin": bytes(range(40)), "deep/b.txt": b"text", "empty": b""}


def write(folder, files=FILES):
    with fresh_folder(folder) as fresh:
        for name, content in files.items():
            (fresh / name).parent.mkdir(exist_ok=True)
            (fresh / name).write_bytes(content)
    return folder


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rewrite(path, content):
    """Change a file at a moment that no clock is too coarse to tell from that before."""
    then = path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=(then, then + 1))


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "out")


def test_a_folder_appears_whole_with_the_sizes_and_hashes_of_its_files(tmp_path):
    with fresh_folder(tmp_path / "deep/out") as fresh:
        (fresh / "a").write_bytes(b"abc")
        assert not (tmp_path / "deep/out").exists()
    said = json.loads((tmp_path / "deep/out/manifest.json").read_text())
    assert said["files"] == {"a": [3, xxhash.xxh3_128_hexdigest(b"abc")]} and said["about"] == {}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


def test_what_was_there_goes_when_the_new_stands_and_not_before(folder):
    with pytest.raises(ZeroDivisionError), fresh_folder(folder) as fresh:
        (fresh / "new").touch()
        raise ZeroDivisionError
    assert {name: content for name, content in contents(folder).items() if name != "manifest.json"} == FILES
    with fresh_folder(folder) as fresh:
        assert list(fresh.iterdir()) == [] and (folder / "a.bin").exists()
    assert list(contents(folder)) == ["manifest.json"]
    folder.joinpath("manifest.json").unlink()
    folder.rmdir()
    folder.write_text("a file where a folder belongs")
    assert contents(write(folder)).keys() == {*FILES, "manifest.json"}


def test_a_kill_leaves_what_was_there_and_nothing_in_the_way(folder):
    code = f"""
import os, signal
from perlayer.store import fresh_folder
with fresh_folder({str(folder)!r}) as fresh:
    (fresh / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    before = contents(folder)
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert contents(folder) == before
    assert contents(write(folder)) == before and [path.name for path in folder.parent.iterdir()] == ["out"]


def test_every_flipped_byte_is_one_line_that_names_the_file_and_the_remedy(folder):
    """Exhaustive: each byte of each file in turn, the manifest's included."""
    remedy = f"; remove {folder} and run `dvc repro`, which makes it anew; should the same come back from DVC's cache, "
    remedy += "`chmod -R u+w .dvc/cache/files` first has DVC look at that"
    for name, content in contents(folder).items():
        path = folder / name
        for position in range(len(content)):
            rewrite(path, content[:position] + bytes([content[position] ^ 1 << position % 8]) + content[position + 1 :])
            with pytest.raises(UserError) as caught:
                [verified(folder / name) for name in FILES]
            said = str(caught.value)
            assert said.startswith(f"{path}: damaged: ") and said.endswith(remedy) and "\n" not in said
        rewrite(path, content)
    assert verified_files(folder) == [folder / "a.bin", folder / "empty"]


def test_files_that_are_cut_longer_gone_or_foreign_are_named(folder):
    rewrite(folder / "a.bin", FILES["a.bin"][:-1])
    with pytest.raises(UserError, match=r"a\.bin: damaged: expected 40 bytes, found 39 by .*manifest\.json; remove"):
        verified(folder / "a.bin")
    rewrite(folder / "a.bin", FILES["a.bin"] + b"0")
    with pytest.raises(UserError, match=r"a\.bin: damaged: expected 40 bytes, found 41"):
        verified_files(folder)
    (folder / "a.bin").unlink()
    with pytest.raises(UserError, match=r"a\.bin: no such file, and .*manifest\.json names it; remove .*out and run"):
        verified_files(folder)
    (folder / "foreign").touch()
    with pytest.raises(UserError, match=r"foreign: expected a file that .*manifest\.json names; remove"):
        verified(folder / "foreign")
    assert verified_files(folder, "e*") == [folder / "empty"]  # what a stage did not write is not among them
    (folder / "manifest.json").unlink()
    for read in (verified_files, read_manifest):
        with pytest.raises(UserError, match=r"out/manifest\.json: no such file; remove .*out and run `dvc repro`"):
            read(folder)


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "[" * 100_000, '{"files": [], "about": {}}', "\xff"])
def test_a_manifest_of_anything_else_is_damaged(folder, text):
    rewrite(folder / "manifest.json", text.encode("latin-1"))
    with pytest.raises(UserError, match=r"manifest\.json: damaged: expected what a stage wrote; remove"):
        verified(folder / "a.bin")


def test_folders_below_an_out_belong_to_its_manifest(folder):
    assert verified(folder / "deep/b.txt") == folder / "deep/b.txt"
    assert verified_files(folder / "deep") == verified_files(folder / "deep", "*.txt") == [folder / "deep/b.txt"]
    assert verified_files(folder / "deep", "*.json") == []


def test_a_file_is_hashed_once_a_process_and_again_when_it_has_changed(folder, monkeypatch):
    hashed = []
    real = store.content_hash
    monkeypatch.setattr(store, "content_hash", lambda path: hashed.append(path.name) or real(path))
    for _ in range(3):
        verified(folder / "a.bin"), verified_files(folder, "a*")
    assert hashed == ["a.bin"]
    rewrite(folder / "a.bin", FILES["a.bin"])
    verified(folder / "a.bin")
    assert hashed == ["a.bin"] * 2
    write(folder, {"a.bin": b"other"})  # as a stage would: with a manifest of its own
    assert verified(folder / "a.bin").read_bytes() == b"other"


def test_equal_files_have_one_identity_whatever_they_were_made_from(tmp_path):
    one, same, other = (write(tmp_path / name) for name in ("one", "same", "other"))
    rewrite(other / "a.bin", b"")
    store.set_about(same, {"made_from": {"data/corpus": "0"}})
    assert read_manifest(same).about == {"made_from": {"data/corpus": "0"}}
    assert read_manifest(one).identity == read_manifest(same).identity
    assert read_manifest(write(other, {"a.bin": b""})).identity != read_manifest(one).identity


@pytest.mark.parametrize("place", ["file/out", "file/deep/out"])
def test_what_cannot_be_written_is_said_before_the_work(tmp_path, place):
    (tmp_path / "file").touch()
    for path in (tmp_path / place, "/proc/nothing/out"):
        with pytest.raises(UserError, match=f"{path}: cannot be written: "), fresh_folder(path):
            pytest.fail("the work was begun")
        with pytest.raises(UserError, match=f"{path}: cannot be written: "):
            require_writable([path])
        with pytest.raises(UserError, match=f"{path}: cannot be written: "):
            store.replace_text(path, "text")


def test_a_place_that_can_be_written_is_left_as_it_was(folder):
    before = contents(folder.parent)
    require_writable([folder, folder / "a.bin", folder.parent / "new/out"])
    assert contents(folder.parent) == before and list((folder.parent / "new").iterdir()) == []


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_nothing_is_written_through_a_link(tmp_path, link):
    """As DVC leaves outs where its cache is linked, not copied."""
    cached, linked = write(tmp_path / "cache"), tmp_path / "out"
    before = contents(cached)
    (linked / "deep").mkdir(parents=True)
    for name in before:
        link(cached / name, linked / name)
    store.set_about(linked, {"size": "nano"})
    store.replace_text(linked / "a.bin", "new")
    with store.replaced(linked / "empty") as new:
        new.write_bytes(b"full")
    assert (linked / "a.bin").read_text() == "new" and (linked / "empty").read_bytes() == b"full"
    assert contents(cached) == before
    assert contents(write(linked)) == contents(cached) == before
    assert not any(path.is_symlink() for path in linked.rglob("*"))


def test_a_file_that_fails_half_way_leaves_what_was_there(folder):
    with pytest.raises(ZeroDivisionError), store.replaced(folder / "a.bin") as new:
        new.write_bytes(b"half")
        raise ZeroDivisionError
    assert {name: content for name, content in contents(folder).items() if name != "manifest.json"} == FILES
