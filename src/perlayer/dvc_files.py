"""The files that DVC writes in place, mended where a kill has left them in halves: above all dvc.lock."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from perlayer.errors import UserError
from perlayer.lifetimes import unused

LOCK, COPY = Path("dvc.lock"), Path(".perlayer/dvc.lock")
WORKING, CACHE = Path(".dvc/tmp"), Path(".dvc/cache")
PAUSE = 0.1  # seconds between two looks at dvc.lock; what has not changed meanwhile is no longer being written


@dataclass(frozen=True)
class LockFile:
    """dvc.lock in parts: what stands before the entries of stages, the lines of each, and what stands after."""

    head: str
    entries: dict[str, str]
    tail: str

    @classmethod
    def parse(cls, text: str) -> LockFile | None:
        """None where DVC could not read the text."""
        from dvc.schema import COMPILED_LOCKFILE_SCHEMA
        from voluptuous import Invalid

        try:
            loader = yaml.CSafeLoader(text)
            root = loader.get_single_node()
            COMPILED_LOCKFILE_SCHEMA(loader.construct_document(root))
        except (yaml.YAMLError, Invalid, ValueError, AttributeError, RecursionError):
            return None
        places = {key.value: number for number, (key, _) in enumerate(root.value)}
        if "stages" not in places:
            return cls(text, {}, "")
        stages = root.value[places["stages"]][1].value
        after = root.value[places["stages"] + 1 :]
        ends = [_line_start(key) for key, _ in stages[1:] + after[:1]] + [len(text)]
        starts = [_line_start(key) for key, _ in stages]
        if len({key.value for key, _ in stages}) != len(stages):
            return None  # one stands twice
        entries = {key.value: text[start:end] for (key, _), start, end in zip(stages, starts, ends)}
        if not entries:
            return cls(text, {}, "")
        return cls(text[: starts[0]], entries, text[ends[len(stages) - 1] :])

    def text(self) -> str:
        """As DVC would write it."""
        return self.head + "".join(self.entries.values()) + self.tail

    def with_missing(self, copy: LockFile, wanted: Callable[[str], bool]) -> LockFile:
        """With those wanted entries of a copy that are not here, each where it stands there, and no other changed.

        An entry in whose middle the text ends is not here.
        """
        entries = dict(self.entries)
        if entries and not self.tail:
            last, lines = next(reversed(entries.items()))
            longer = copy.entries.get(last, "")
            if not lines.endswith("\n") or longer != lines and longer.startswith(lines):
                del entries[last]
        if not entries and copy.entries:
            return LockFile(copy.head, {name: copy.entries[name] for name in filter(wanted, copy.entries)}, copy.tail)
        order = list(entries)
        place = 0
        for name in copy.entries:
            if name in entries:
                place = order.index(name) + 1
            elif wanted(name):
                order.insert(place, name)
                place += 1
        return LockFile(self.head, {name: entries.get(name) or copy.entries[name] for name in order}, self.tail)


def _line_start(key: yaml.Node) -> int:
    return key.start_mark.index - key.start_mark.column


def mend(stages: Callable[[], Collection[str]]) -> None:
    """Mend what a kill has left of the files that DVC writes, and have a copy of dvc.lock; no DVC command may work.

    Args:
        stages: tells the stages of dvc.yaml; asked where dvc.lock lacks some.

    Raises:
        UserError: dvc.lock cannot be read, and there is no copy of it.
    """
    _mend_readers_and_writers(WORKING / "rwlock")
    for left in unused(CACHE.rglob(".*.tmp")):  # DVC would take the newest file of a run for what it has kept
        left.unlink(missing_ok=True)
    _mend_lock(stages)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keep a copy of dvc.lock after each change."""
    ended = threading.Event()
    keeper = threading.Thread(target=_keep, args=[ended, _state()], daemon=True)
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()


def _mend_lock(stages: Callable[[], Collection[str]]) -> None:
    """Bring back what dvc.lock has lost, and have the copy hold what it holds."""
    text, kept = _read(LOCK), _read(COPY)
    if text is None:
        COPY.unlink(missing_ok=True)
        return
    if text == kept:
        return
    found, copy = LockFile.parse(text), LockFile.parse(kept or "")
    if found is None and copy is None and not text.strip():
        return  # as if there were none
    if found is None and copy is None:
        raise UserError(
            f"{LOCK}: expected what DVC can read, found it cut off or with conflicts, and no copy of it; "
            f"`git checkout {LOCK}` brings back what was committed"
        )
    if found is None:
        COPY.with_suffix(".unreadable").write_bytes(LOCK.read_bytes())
        print(f"{LOCK}: could not be read; it is again as `make repro` left it", file=sys.stderr)
        mended = copy
    elif copy is None:
        mended = found
    else:
        mended = found.with_missing(copy, lambda stage: True)
        if mended != found:
            mended = found.with_missing(copy, set(stages()).__contains__)
        if mended != found:
            lost = len(mended.entries) - len(found.entries)
            print(f"{LOCK}: was cut off; {lost or 1} of its entries are back from a copy", file=sys.stderr)
    if mended.text() != text:
        _write(LOCK, mended.text())
    _write(COPY, mended.text())


def _keep(ended: threading.Event, copied: tuple[int, int] | None) -> None:
    """Copy dvc.lock each time that it has changed since it was `copied`, until `ended` is set; once more then."""
    seen = copied
    while True:
        last = ended.wait(PAUSE)
        now = _state()
        if now != copied and (now == seen or last):
            with contextlib.suppress(OSError):  # no room for a copy
                _copy()
            copied = now
        seen = now
        if last:
            return


def _copy() -> None:
    """Have the copy hold what dvc.lock holds, and what it has lost, should it be written just now."""
    found, copy = LockFile.parse(_read(LOCK) or ""), LockFile.parse(_read(COPY) or "")
    if found is not None:
        _write(COPY, (found if copy is None else found.with_missing(copy, lambda stage: True)).text())


def _state() -> tuple[int, int] | None:
    try:
        found = LOCK.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def _read(path: Path) -> str | None:
    """The text of a file; None where there is none. What is no text cannot be read as YAML either."""
    try:
        return path.read_bytes().decode("utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    new = COPY.with_suffix(".new")
    new.parent.mkdir(parents=True, exist_ok=True)
    new.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    new.replace(path)


def _mend_readers_and_writers(path: Path) -> None:
    """Leave in DVC's record of who reads and writes what only living DVC processes; what is no record goes."""
    try:
        record = json.loads(path.read_bytes())
        living = {
            "write": {path: entry for path, entry in record.get("write", {}).items() if _works(entry)},
            "read": {path: [*filter(_works, entries)] for path, entries in record.get("read", {}).items()},
        }
    except FileNotFoundError:
        return
    except (ValueError, TypeError, KeyError, AttributeError):
        path.unlink()
        return
    if living != {"write": {}, "read": {}, **record}:
        path.write_text(json.dumps(living))


def _works(entry: dict[str, Any]) -> bool:
    """Whether the process of an entry runs the command that it names; another may have its id by now."""
    process, command = int(entry["pid"]), str(entry["cmd"])
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return not os.path.exists("/proc/self/cmdline")  # DVC itself looks whether there is such a process
    return " ".join(words.split("\0")).rstrip().endswith(command)
