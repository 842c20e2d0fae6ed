"""Books under git: the merge of a document that two clones changed, and the settings that have git use it.

Git knows lines; a book's documents have entries, whose title and comment change with every use. So documents are merged
by entries, each field by itself, and by lines between them. An entry that either side removed stays removed, for it may
have been forgotten. Nothing here opens a book: both sides are texts, as they stand in git.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, NamedTuple

from memorybook import locale
from memorybook.config.files import folders_above
from memorybook.errors import InvalidInput, Unavailable
from memorybook.formats.document import IGNORED
from memorybook.formats.entry_block import made_ids
from memorybook.formats.memory_md import FORMAT, MemoryDocument, format_of, parse, without_header
from memorybook.model import Entry
from memorybook.text.patch import merge as merge_items
from memorybook.text.patch import merge_text

_FILES = {".gitattributes": "*.md merge=memorybook\n", ".gitignore": IGNORED.decode()}
"""What a book's folder tells git."""

_NAME = "merge.memorybook"


class Merged(NamedTuple):
    """The text of a document as merged, and sentences about what a person should look at."""

    text: str
    remarks: tuple[str, ...]


def merge(base: str, ours: str, theirs: str, *, now: datetime) -> Merged:
    """Merge the changes that `ours` and `theirs` each made to a document; `base` is "" if they have none in common.

    Comments that count or date the document are left out. Of an entry whose text both rewrote, theirs keeps the id;
    ours becomes an entry of its own, and each says that it contradicts the other.

    Raises Unavailable for a document in a newer format.
    """
    if (newest := max(map(format_of, (base, ours, theirs)))) > FORMAT:
        raise locale.error(Unavailable, "problems.newer_format", format=newest, known=FORMAT)
    sides = [without_header(text) for text in (base, ours, theirs)]
    if sides[0] in sides[1:] or sides[1] == sides[2]:
        return Merged(merge_text(*sides), ())
    documents = [parse(side, modified=now) for side in sides]
    was, our, their = ({entry.id: entry for entry in document.entries} for document in documents)
    merged = parse(merge_text(*[_without_entries(document, now) for document in documents]), modified=now)
    taken, remarks = {*was, *our, *their}, list[str]()
    for id in dict.fromkeys([*their, *our]):
        left, right = our.get(id), their.get(id)
        if left is not None and right is not None:
            entry = _fields(was.get(id), left, right)
            if left.text not in (entry.text, was[id].text if id in was else None):
                other = next(made for made in made_ids(left.text) if made not in taken)
                taken.add(other)
                merged = merged.with_entry(replace(left, id=other, contradicts=(*left.contradicts, id)))
                entry = replace(entry, contradicts=(*entry.contradicts, other))
                remarks.append(f"entry {id} was rewritten on both sides: ours is now entry {other}, look at both")
            merged = merged.with_entry(entry)
        elif id not in was:
            merged = merged.with_entries([one for one in (left, right) if one is not None])
        elif was[id].text not in [one.text for one in (left, right) if one is not None]:
            remarks.append(f"entry {id} was removed on one side and rewritten on the other: it stays removed")
    return Merged(merged.render(now=now), tuple(remarks))


def _without_entries(document: MemoryDocument, now: datetime) -> str:
    """Return what stands around the entries: a person's part, headings, comments between entries."""
    for entry in document.entries:
        document = document.without(entry.id)
    return document.render(now=now)


def _fields(was: Entry | None, ours: Entry, theirs: Entry) -> Entry:
    """Return the entry with every field as the side that changed it has it; of a text that both changed, theirs."""
    chosen: dict[str, Any] = {}
    for name in [field.name for field in fields(Entry)]:
        our, their = getattr(ours, name), getattr(theirs, name)
        before = getattr(was, name) if was is not None else None
        if their == before:
            chosen[name] = our
        elif our in (before, their):
            chosen[name] = their
        else:
            chosen[name] = _both(name, before, our, their)
    scored = max(ours, theirs, key=lambda entry: (entry.scored, entry.score))  # a score holds for its day
    return Entry(**chosen | {"score": scored.score, "scored": scored.scored})


def _both(name: str, before: Any, ours: Any, theirs: Any) -> Any:
    """Return what a field is that both sides changed."""
    if name == "hits":
        return max(ours, theirs) if before is None else max(ours + theirs - before, 1)
    if name in ("last_activated", "verified"):
        return max(filter(None, (ours, theirs)), default=None)
    if isinstance(theirs, tuple) and isinstance(ours, tuple):
        return tuple(merge_items(before or (), ours, theirs))
    return {**ours, **theirs} if isinstance(ours, Mapping) else theirs


# --- settings of a clone -------------------------------------------------------------------------


def top_of(folder: str) -> str:
    """Return the top folder of the git checkout around a folder; "" if there is none."""
    *_, top = folders_above(folder)
    return top if os.path.lexists(os.path.join(top, ".git")) else ""


def asks_for_driver(root: str) -> bool:
    """Return whether a book's folder asks git to merge it by entries."""
    try:
        with open(os.path.join(root, ".gitattributes"), encoding="utf-8", errors="replace") as file:
            return "merge=memorybook" in file.read()
    except OSError:
        return False


def check_own(path: str) -> None:
    """Raise InvalidInput if a file to be written is a link: a repository may have brought it, to write elsewhere."""
    if os.path.islink(path):
        raise InvalidInput(f"{path} is a link to {os.readlink(path)!r}: put a file of the project there, or remove it")


def write_git_files(root: str) -> list[str]:
    """Tell git what to leave out of a book's folder and how to merge the rest, where nobody did; return the files.

    Raises InvalidInput as `check_own`.
    """
    written = []
    for name, text in _FILES.items():
        path = os.path.join(root, name)
        check_own(path)
        if not (os.path.exists(path) if name == ".gitignore" else asks_for_driver(root)):
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
            written.append(path)
    return written


def has_driver(top: str) -> bool:
    """Return whether this clone knows how to merge by entries. Raises Unavailable without git."""
    return _git(top, "config", "--get", f"{_NAME}.driver").returncode == 0


def set_driver(top: str) -> None:
    """Have this clone merge books by entries, with this interpreter. Raises Unavailable if git is absent or refuses."""
    program = shlex.join([os.path.abspath(sys.executable), "-P", "-m", "memorybook", "git-merge"])
    for key, value in (("name", "entries of a memorybook"), ("driver", f"{program} %O %A %B %P")):
        done = _git(top, "config", f"{_NAME}.{key}", value)
        if done.returncode:
            raise Unavailable(f"git does not take {_NAME}.{key}: {done.stderr.strip() or done.returncode}")


def _git(top: str, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", "-C", top, *words], capture_output=True, text=True, errors="replace", check=False)  # noqa: S603, S607
    except OSError as error:
        raise Unavailable(f"git cannot be started ({error.strerror}): install it, or put it on PATH") from None
