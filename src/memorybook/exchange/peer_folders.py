"""Read folders of other machines, hand out summaries and entries to them, find what the book has of theirs.

A hand-out is a folder `NODE/` in a shared folder, laid out like a book: `sessions/*.md`, and `MEMORY.md` if entries
were chosen. Its `NODE.md` says whose it is. Only the book that made it writes there.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound, Unavailable
from memorybook.formats import session_md
from memorybook.model import Entry, SessionSummary
from memorybook.storage.safe_open import discard, is_safe_name, load, load_if_any, open_folder
from memorybook.storage.target import write_plain
from memorybook.text.tokens import text_digest

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.protocols import Storage

MARKER = "NODE.md"
"""Says of a hand-out which node's it is, and by which book it was made."""

MEMORY = "MEMORY.md"
SESSIONS = "sessions"

MOST_BYTES = 1 << 18
"""Largest summary that is read."""

MOST_MEMORY = 4 << 20
"""Largest MEMORY.md that is read."""

MOST_IN_ALL = 64 << 20
"""Bytes of summaries that one reading of a folder takes in."""

SETTLED = 60.0
"""Seconds after its last change from which a file without a line break at its end is taken to be complete."""

_STATE = ".memorybook"
_FRONT = r"\ufeff?---[ \t]*\r?\n(?:[^\n]*\n){0,200}?---[ \t]*(?:\r?\n|\Z)"
_NAME = re.compile(r"(?m)^node: *(.{1,200})$")
_BOOK = re.compile(r"(?m)^book: *([0-9a-f]{32})$")

_TOLD = """---
node: {}
book: {}
---

Handed out by memorybook to other machines, and written anew each time: change the book, not these files.

由 memorybook 分发给其他机器，每次都会重写：要修改请改账本，不要改这里的文件。
"""


class Node(NamedTuple):
    """A machine's folder.

    Attributes:
        name: As a part of paths, see `node_name`.
        root: Where it is.
        book: Id of the book that handed it out; "" if the folder does not say.
    """

    name: str
    root: str
    book: str = ""


class Read(NamedTuple):
    """A file of another machine.

    Attributes:
        name: In its folder.
        text: None if it cannot be taken now, and `why` says why.
        modified: Its last change, seconds since the epoch.
    """

    name: str
    text: str | None
    why: str = ""
    modified: float = 0.0


class Handed(NamedTuple):
    """The result of a hand-out: the folder, and the numbers of files written, removed and unchanged."""

    root: str
    written: int
    removed: int
    unchanged: int


def node_name(text: str) -> str:
    """Return a node's name fit for paths: lower case, letters and digits of any script; "" if nothing is left."""
    name = re.sub(r"[^\w]+", "-", normalize("NFKC", text).casefold()).strip("-_")[:40].strip("-_")
    return name if not name or is_safe_name(name) else f"node-{name}"


# --- finding -------------------------------------------------------------------------------------


def nodes(place: str) -> tuple[Node, ...]:
    """Return what is at that place: a book, one hand-out, the hand-outs in a shared folder, or a folder of summaries.

    Nothing if the folder holds none of these.

    Raises:
        NotFound: There is no such folder.
        Unavailable: It cannot be read.
    """
    root = os.path.realpath(os.path.expanduser(place))
    if not os.path.isdir(root):
        raise NotFound(f"there is no folder {place!r}: mount it, or give another one")
    with _explain_failures(root):
        marked = _marked(root)
        if marked is not None:
            return (marked,)
        names = sorted(os.listdir(root))
        if SESSIONS in names or MEMORY in names:
            return (Node(_called(root), root),)
        below = [_marked(os.path.join(root, name)) for name in names if is_safe_name(name)]
        if any(below) or not any(map(_is_summary, names)):
            return tuple(node for node in below if node is not None)
        return (Node(_called(os.path.dirname(root) if os.path.basename(root) == SESSIONS else root), root),)


def _called(root: str) -> str:
    return node_name(os.path.basename(root)) or "node"


def _marked(root: str) -> Node | None:
    """Return the hand-out in that folder; None if it is none."""
    with suppress(OSError, InvalidInput, NotFound), _folder(root) as folder:
        text = load(folder, MARKER, MARKER).data[:4096].decode("utf-8", "replace")
        name, book = _NAME.search(text), _BOOK.search(text)
        if book is not None:
            return Node(node_name(name[1] if name else "") or _called(root), root, book[1])
    return None


def _is_summary(name: str) -> bool:
    return name.endswith(".md") and name not in (MARKER, MEMORY) and is_safe_name(name)


@contextmanager
def _folder(root: str, *parts: str) -> Iterator[int]:
    """Open a folder below `root`; no part of `parts` may be a link."""
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        folder = open_folder(top, list(parts), "/".join(parts))
    finally:
        os.close(top)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _explain_failures(root: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"the folder {root!r} cannot be read ({error.strerror or error})") from error


# --- reading -------------------------------------------------------------------------------------


def summaries(node: Node) -> Iterator[Read]:
    """Yield the summaries of the machine's own sessions, the latest by name first, and those that cannot be taken now.

    What it collected from others lies deeper, and stays there. Raises Unavailable, UnsafePath if its folder is a link.
    """
    left = MOST_IN_ALL
    with _explain_failures(node.root):
        inner = [SESSIONS] if os.path.lexists(os.path.join(node.root, SESSIONS)) else []
        if not inner and os.path.lexists(os.path.join(node.root, MEMORY)):
            return
        with _folder(node.root, *inner) as folder:
            for name in sorted(filter(_is_summary, os.listdir(folder)), reverse=True):
                found = _read(folder, name, MOST_BYTES)
                left -= len(found.text or "")
                if left < 0:
                    yield Read(name, None, f"it and all before are over {MOST_IN_ALL >> 20} MB: too much for one run")
                    return
                if found.text is not None and not re.match(_FRONT, found.text):
                    found = found._replace(text=None, why="is no summary of a session, or is still being written")
                yield found


def memory(node: Node) -> Read:
    """Return the machine's MEMORY.md, or why it cannot be taken now."""
    with _explain_failures(node.root), _folder(node.root) as folder:
        return _read(folder, MEMORY, MOST_MEMORY)


def _read(folder: int, name: str, most: int) -> Read:
    try:
        size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        if size > most:
            return Read(name, None, f"has {size} bytes, over {most}")
        data, status = load(folder, name, name)
    except (FileNotFoundError, MissingDocument):
        return Read(name, None, "is gone")
    except (InvalidInput, OSError) as error:
        return Read(name, None, str(error))
    if not data.endswith(b"\n") and abs(time.time() - status.st_mtime) < SETTLED:
        return Read(name, None, "is still being written")
    try:
        return Read(name, data.decode("utf-8"), modified=status.st_mtime)
    except UnicodeDecodeError:
        return Read(name, None, "is not UTF-8 text, or is still being written")


# --- handing out ---------------------------------------------------------------------------------


def check_place(place: str, node: str, storage: Storage) -> str:
    """Return the real path of a folder into which a book may hand out as that node.

    Raises NotFound, InvalidInput for what is no such folder, Conflict as `hand_out`.
    """
    root = os.path.realpath(os.path.expanduser(place))
    if not os.path.isdir(root):
        raise NotFound(f"there is no folder {place!r} to hand out into: make or mount it")
    if f"{root}/".startswith(f"{storage.root}/"):
        raise InvalidInput(f"{place!r} is in this book: hand out into a folder of its own")
    if any(os.path.lexists(os.path.join(root, name)) for name in (MARKER, SESSIONS, MEMORY, _STATE)):
        raise InvalidInput(f"{place!r} is a book or what somebody handed out: give a folder that machines share")
    with _explain_failures(root):
        _standing(os.path.join(root, node), storage.identity(make=False))
    return root


def hand_out(root: str, node: str, book: str, files: Mapping[str, str], *, dry_run: bool = False) -> Handed:
    """Let the folder `node` in `root` hold these files and no others; what stands as it should is not written.

    Args:
        root: See `check_place`.
        node: Of this machine.
        book: Its `Storage.identity`.
        files: Text by path: `sessions/NAME.md`, `MEMORY.md`.
        dry_run: Only count.

    Raises:
        Conflict: Another book hands out under that name, or the folder is none that was handed out.
        Unavailable: The system refuses.
    """
    own = os.path.join(root, node)
    wanted = {MARKER: _TOLD.format(node, book), **files}
    try:
        standing = _standing(own, book)
        stale = [path for path in standing if path not in wanted]
        files_now = {path: text.encode("utf-8", "surrogateescape") for path, text in wanted.items()}
        written = {path: data for path, data in files_now.items() if standing.get(path) != data}
        if not dry_run:
            _write(root, node, written, stale)
    except OSError as error:
        raise Unavailable(f"nothing can be handed out into {own!r} ({error.strerror or error})") from error
    return Handed(own, len(written), len(stale), len(wanted) - len(written))


def _standing(own: str, book: str) -> dict[str, bytes]:
    """Return the files of the hand-out by path; none if there is no such folder. Raises Conflict if it is not ours."""
    if not os.path.lexists(own):
        return {}
    marked = _marked(own)
    if marked is None and os.listdir(own):
        raise Conflict(f"{own!r} is not what this book handed out: give another --node, or another folder")
    if marked is not None and marked.book != book:
        raise Conflict(f"another book hands out as {marked.name!r} in {own!r}: give this one another --node")
    found: dict[str, bytes] = {}
    with _folder(own) as folder:
        for name in (MARKER, MEMORY):
            file = load_if_any(folder, name, name)
            found |= {name: file.data} if file is not None else {}
    with suppress(MissingDocument), _folder(own, SESSIONS) as folder:
        for name in sorted(filter(_is_summary, os.listdir(folder))):
            try:
                found[f"{SESSIONS}/{name}"] = load(folder, name, name).data
            except InvalidInput:  # a link that somebody put there: it gives way
                found[f"{SESSIONS}/{name}"] = b""
    return found


def _write(root: str, node: str, files: Mapping[str, bytes], stale: list[str]) -> None:
    """Put the files in place one by one, each whole; the marker first, so that a crash leaves what is known as ours."""
    if not files and not stale:
        return
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for parts in ([node], [node, SESSIONS]):
            folder = open_folder(top, parts, "/".join(parts), create=True)
            try:
                for name in os.listdir(folder):  # left by a process that was killed
                    if name.startswith(".") and name.endswith(".mb-tmp"):
                        discard(folder, name)
                for path in (*files, *stale):
                    name = os.path.basename(path)
                    if path.count("/") != len(parts) - 1:
                        continue
                    if path not in files:
                        discard(folder, name)
                        continue
                    write_plain(folder, name, files[path], None, sync=True)
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        os.close(top)


# --- what was collected --------------------------------------------------------------------------


class Standing(NamedTuple):
    """A summary in the book.

    Attributes:
        node: The machine that it was collected from; "" for one of the book's own.
    """

    path: str
    node: str
    text: str
    summary: SessionSummary


def pages(book: Book) -> Iterator[Standing]:
    """Yield every summary by path."""
    for info in sorted(book.documents.list()):
        if info.path.startswith("sessions/"):
            with suppress(InvalidInput, MissingDocument):  # gone, or a link, by now
                text = book.documents.read(info.path).text
                yield Standing(info.path, session_md.node_of(info.path), text, session_md.parse(text))


def session_here(node: str, session: str) -> str:
    """Return another machine's session id as used here: a name gets the machine's before it, a UUID stays."""
    return session if not session or session_md.is_uuid(session) else f"{node}/{session}"


def session_key(uuid: str) -> str:
    """Return what a tombstone of a session's summary is of, whichever machine tells of it."""
    return text_digest(f"session:{uuid}")


def source_of(node: str, id: str) -> str:
    """Return the `source` of an entry that was collected: `node:laptop#a1b2c3`."""
    return f"node:{node}#{id}"


def node_in(entry: Entry) -> str:
    """Return the machine that an entry was collected from; "" for one of the book's own."""
    source = entry.source or ""
    return source.removeprefix("node:").rpartition("#")[0] if source.startswith("node:") else ""


def is_collected(entry: Entry) -> bool:
    """Return whether it was collected from another machine."""
    return (entry.source or "").startswith("node:")
