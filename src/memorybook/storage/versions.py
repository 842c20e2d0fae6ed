"""What memorybook left of a document the last times: how a save from a stale editor is recognised.

An editor that loaded the document before an agent wrote, and saves afterwards, puts back an old
text with a person's changes in it. To tell these changes from what was merely out of date one
needs the text that the editor had loaded: it is among the last versions kept here.

A folder per document, `.memorybook/versions/PATH/`, holds up to `KEPT` files named
`NUMBER KIND START-DIGEST`: the first `START` bytes (hex) have that digest, what follows was
appended line by line, so that every line's end is a version too. Nothing here is synced: after a
power cut a version may be short or missing, which is noticed or harmless, never believed.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memorybook.storage.safe_open import digest, load_if_any

KEPT = 48
"""Versions kept of a document, as long as they take less than `KEPT_BYTES`."""

KEPT_BYTES = 32 * 2**20

HOT = "MEMORY.md"
"""The document of entries. It has a backup beside it, `MEMORY.md.bak`, and what others take from it is kept."""

DISPLACED = "displaced"
"""The file that the last write put out of the document's place. A slow editor may still write into it."""

GONE = "gone"
"""The stamp that stands for: a person removed the document."""

LOST, LEFT = "lost-", "left-"
"""How the names begin of a text that another program took from, and of what it left of it."""

_RECORD = "record"
_RECORD_BYTES = 320
_NONE = "-"
_TELLING = 24  # bytes from which on a line is hardly typed twice by chance


class Record(NamedTuple):
    """What is known without reading a version; `-` is unknown.

    Attributes:
        stamp: Of the document as it was left, see `safe_open.stamp`; `GONE` if a person removed it.
        latest: File name of the newest version.
        old, new: Digests of the document before and after the last write that was begun.
    """

    stamp: str = _NONE
    latest: str = _NONE
    old: str = _NONE
    new: str = _NONE

    @property
    def is_known(self) -> bool:
        """Whether there is a version."""
        return self.latest != _NONE


class Version(NamedTuple):
    """One kept version.

    Attributes:
        stood: False for a stale save that was merged at once: a base to compare with, never the
            state of the document.
        start: Bytes it was first left with; the rest was appended line by line.
        data: Its bytes.
    """

    stood: bool
    start: int
    data: bytes


class Base(NamedTuple):
    """The version that a text was made from, as far as one can tell.

    Attributes:
        data: Its bytes.
        newest: Whether it is the newest version: the text is not out of date.
        restored: Whether the text is exactly an older version that once stood: brought back on purpose.
    """

    data: bytes
    newest: bool
    restored: bool


class Versions:
    """The versions of one document, in its folder.

    Args:
        folder: Descriptor of the folder; `close` closes it.
    """

    def __init__(self, folder: int) -> None:
        self.folder = folder
        self._record: Record | None = None  # only the holder of the book's lock has this object

    def close(self) -> None:
        """Close the folder."""
        os.close(self.folder)

    def record(self) -> Record:
        """What was left last; all unknown if there is nothing or it is damaged."""
        if self._record is None:
            self._record = self._read_record()
        return self._record

    def _read_record(self) -> Record:
        try:
            descriptor = os.open(_RECORD, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.folder)
        except FileNotFoundError:
            return Record()
        try:
            return parse_record(os.read(descriptor, _RECORD_BYTES))
        finally:
            os.close(descriptor)

    def leave(self, record: Record) -> None:
        """Put the record in the place of the last one, which has the same length: no block moves."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(_RECORD, flags, 0o600, dir_fd=self.folder)
        try:
            os.pwrite(descriptor, " ".join(record).ljust(_RECORD_BYTES - 1).encode() + b"\n", 0)
        finally:
            os.close(descriptor)
        self._record = record

    def add(self, data: bytes, stamp: str, *, stood: bool = True) -> None:
        """Keep a version; one that `stood` is the newest from now on, left with `stamp`."""
        names = self._names()
        number = 1 + max((int(name[:8]) for name in names), default=0)
        name = f"{number:08d}{'v' if stood else 's'}{len(data):x}-{digest(data)}"
        self._write(name, data)
        if stood:
            self.leave(self.record()._replace(stamp=stamp or _NONE, latest=name))
        self._prune([*names, name])

    def restart(self, data: bytes, stamp: str) -> None:
        """Let `data`, left with `stamp`, be the only version: what comes now was not made from older ones."""
        for name in self._names():
            os.unlink(name, dir_fd=self.folder)
        self.add(data, stamp)

    def newest(self) -> bytes | None:
        """The state the document was left in last; None if that is not known. Takes no lock."""
        record = self.record()
        found = self._read(record.latest) if record.is_known else None
        return None if found is None else found.data

    def keep_lost(self, data: bytes, left: bytes) -> None:
        """Keep what another program took from, and what it left, until somebody takes it back or means it to be so."""
        name = digest(data)
        if LOST + name not in os.listdir(self.folder):
            self._write(LEFT + name, left)
            self._write(LOST + name, data)

    def extend(self, line: bytes, stamp: str) -> bool:
        """Append a line to the newest version, left with `stamp`; False if there is none."""
        record = self.record()
        if record.latest == _NONE:
            return False
        try:
            self._write(record.latest, line, os.O_APPEND)
        except FileNotFoundError:
            return False
        self.leave(record._replace(stamp=stamp or _NONE))
        return True

    def load(self) -> list[Version]:
        """All versions that are sound, newest first."""
        return [version for name in sorted(self._names(), reverse=True) if (version := self._read(name))]

    def _names(self) -> list[str]:
        import re

        return [name for name in os.listdir(self.folder) if re.fullmatch(r"[0-9]{8}[vs][0-9a-f]+-[0-9a-f]{32}", name)]

    def _write(self, name: str, data: bytes, how: int = os.O_CREAT | os.O_TRUNC) -> None:
        descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | how, 0o600, dir_fd=self.folder)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> Version | None:
        start, _, expected = name[9:].partition("-")
        found = load_if_any(self.folder, name, name)
        if found is None or digest(found.data[: int(start, 16)]) != expected:
            return None
        size = int(start, 16)
        appended = found.data[size:].partition(b"\0")[0]  # NULs: blocks that a power cut left unwritten
        return Version(name[8] == "v", size, found.data[:size] + appended[: appended.rfind(b"\n") + 1])

    def _prune(self, names: list[str]) -> None:
        total = 0
        for position, name in enumerate(sorted(names, reverse=True)):
            total += os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_size
            if position >= KEPT or (position > 1 and total > KEPT_BYTES):
                os.unlink(name, dir_fd=self.folder)


def discard_all(folder: str, backup: str) -> int:
    """Remove the folder of all versions, and the backup; returns how many there were."""
    import shutil

    count = sum(name != _RECORD for _, _, names in os.walk(folder) for name in names)
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(backup):
        os.unlink(backup)
        count += 1
    return count


def parse_record(line: bytes) -> Record:
    """The record in these bytes; all unknown if they are none."""
    fields = line.decode("ascii", "replace").split()
    return Record(*fields) if len(fields) == len(Record._fields) else Record()


def newest_of(versions: Sequence[Version]) -> bytes | None:
    """The state the document was left in last; None without versions."""
    return next((version.data for version in versions if version.stood), None)


def base_of(versions: Sequence[Version], data: bytes) -> Base | None:
    """The version that `data` was made from; None without versions.

    A stale editor can leave out any line, but it cannot know one that was written after it loaded
    the document. So the base is the version with the most telling lines in common with `data`,
    each as often as it stands in both, then the one of which the fewest lines are missing (one
    that was typed further is not missing); on a tie the newer one, rather one that stood. What has
    no line in common with any of them was written anew, over the newest (but lines that were only
    ever appended stay).
    """
    newest = newest_of(versions)
    if newest is None:
        return None
    if data == newest or not data.strip():  # to empty a document is meant
        return Base(newest, newest=True, restored=False)
    lines = Counter(_lines(data))
    best, least = newest, sys.maxsize
    for version in sorted(versions, key=lambda version: not version.stood):
        for end, unlike in _states(version, lines):
            if version.stood and data == version.data[:end]:
                return Base(data, newest=False, restored=True)
            if unlike < least:
                best, least = version.data[:end], unlike
    appended = all(version.start == 0 for version in versions)
    if not appended and not any(line.strip() and line in lines for line in _lines(best)):
        best = newest  # nothing in common with any version tells of no stale editor: it was written anew
    return Base(best, newest=best == newest, restored=False)


def is_loss(before: bytes, now: bytes) -> bool:
    """Whether a text was emptied or cut, or lost more than half of its lines: hardly what a person does by hand."""
    if (b"### [" not in before and b"\n- " not in before) or now.startswith(before):
        return False
    lines, left = (Counter(line for line in _lines(data) if line.strip()) for data in (before, now))
    kept = sum((lines & left).values())
    if before.startswith(now):
        return before[-1:] == b"\n" != now[-1:] or lines.total() - kept > _FEW
    return 2 * kept < lines.total() > _FEW


_FEW = 6  # lines at the end of a document that a person may take out by hand


def _states(version: Version, lines: Counter[bytes]) -> Iterator[tuple[int, int]]:
    """Every state the version went through, longest first: its length, and how unlikely it is the base of `lines`."""
    left = lines.copy()
    costs = [(_unlike(line, left), line) for line in _lines(version.data[: version.start])]
    unlike = sum(cost for cost, _ in costs)
    unlike -= 2 * _gone_on([line for cost, line in costs if cost > 0], left)
    states = [(version.start, unlike)]
    end = version.start
    for line in version.data[version.start :].splitlines(keepends=True):
        end += len(line)
        unlike += _unlike(line.rstrip(b"\r\n"), left)
        states.append((end, unlike))
    return reversed(states)


def _unlike(line: bytes, left: Counter[bytes]) -> int:
    """What one more line says against a state; it is no longer left then."""
    if not line.strip():
        return 0
    if not left[line]:
        return 1
    left[line] -= 1
    return -1000 if len(line) >= _TELLING else -1


def _gone_on(missing: list[bytes], left: Counter[bytes]) -> int:
    """How many lines that are missing go on in one that is left: an editor may save while they are being typed."""
    new = sorted(+left) if missing else []
    places = [(line, bisect_left(new, line)) for line in missing]
    return sum(place < len(new) and new[place].startswith(line) for line, place in places)


def _lines(data: bytes) -> Iterator[bytes]:
    return (line.rstrip(b"\r") for line in data.split(b"\n"))
