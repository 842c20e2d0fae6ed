"""Export: the sessions as one JSON document, which grows with the book and keeps what only it has; backups of all."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from socket import gethostname
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from memorybook.errors import InvalidInput, MemoryBookError, NotFound, Unavailable
from memorybook.exchange.collect import session_still_told, texts_still_told
from memorybook.forget.tombstones import turn_key
from memorybook.formats import sessions_json
from memorybook.formats.sessions_json import Exported
from memorybook.model import Session, Turn
from memorybook.storage import archive
from memorybook.storage.output_file import put_in_place, remove

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.protocols import Progress, Storage

PLACE = os.path.join("exports", "sessions.json")
"""Where in the folder of machine state it is exported to unless something else is said."""

_log = logging.getLogger("memorybook")

T = TypeVar("T")

Tally = dict[str, int]

_COUNTED = ("sessions", "turns", "new_sessions", "new_turns", "left_out")


class Export(NamedTuple):
    """What an export wrote.

    Attributes:
        path: Of the file; "-" is standard output.
        sessions, turns: How many it holds now.
        new_sessions, new_turns: How many of these it did not hold before.
        left_out: Turns that it held and holds no more, as they were forgotten.
    """

    path: str
    sessions: int = 0
    turns: int = 0
    new_sessions: int = 0
    new_turns: int = 0
    left_out: int = 0

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        return self._asdict()


def export(
    context: Context, path: str | None = None, *, session: str | None = None, progress: Progress | None = None
) -> Export:
    """See `Memory.export`."""
    tally: Tally = dict.fromkeys(_COUNTED, 0)
    if path == "-":
        _check(context, makes_state=False)
        for piece in _document(context, session, None, tally, None):
            sys.stdout.buffer.write(piece)
        return Export("-", **tally)
    where = path or place_of(context)
    _check(context, makes_state=not path)
    with put_in_place(where, make=not path) as new, open(new, "wb") as file, ExitStack() as closing:
        there = os.path.exists(where) and os.path.getsize(where)
        before = closing.enter_context(open(where, encoding="utf-8", newline="")) if there else None
        try:
            for piece in _document(context, session, before, tally, progress):
                file.write(piece)
        except UnicodeDecodeError:
            raise InvalidInput(f"{where!r} is no export of sessions (it is not UTF-8): give another file") from None
    return Export(where, **tally)


def _check(context: Context, *, makes_state: bool) -> None:
    if absent := context.absent:
        raise NotFound(absent)
    if makes_state:
        context.book.documents.prepare()  # makes the folder that ignores itself for git


def place_of(context: Context) -> str:
    """Return where the book is exported to unless something else is said. Raises InvalidInput if that is nowhere."""
    machine, place = context.book.storage.machine, context.config.transcripts.export_path
    if not (place or machine):
        raise InvalidInput("this book has no folder of its own: say where to export to, or set transcripts.export_path")
    return place or os.path.join(machine, PLACE)


def by_itself(context: Context) -> str:
    """Export as the settings ask for it; why that failed, "" if it did not."""
    try:
        export(context)
    except MemoryBookError as error:
        return f"the sessions were not exported: {error}"
    return ""


def after_session(context: Context) -> None:
    """Export, as a session has ended; what fails goes into the log."""
    if failed := by_itself(context):
        _log.warning(failed)


def revision(context: Context) -> int | None:
    """Return how far the transcripts have come; None if they cannot be asked."""
    try:
        return context.book.transcripts.revision()
    except Unavailable:
        return None


def on_exit(context: Context, before: int) -> None:
    """Export if the transcripts have come further than to `before`; what fails goes into the log."""
    if revision(context) not in (None, before):
        after_session(context)


def renew(context: Context) -> None:
    """Write the files that this book exports to by itself anew, where there are any; one that cannot be is left."""
    machine, place = context.book.storage.machine, context.config.transcripts.export_path
    for path in {machine and os.path.join(machine, PLACE), place}:
        if path and os.path.exists(path):
            with suppress(InvalidInput, Unavailable):
                export(context, path)


# --- the document --------------------------------------------------------------------------------


def _document(
    context: Context, only: str | None, before: IO[str] | None, tally: Tally, progress: Progress | None
) -> Iterator[bytes]:
    """Yield the document in pieces: the sessions that were in the file in their order, then those that are new."""
    transcripts = context.book.transcripts
    wanted = {transcripts.session(only).uuid} if only else None
    never = datetime.max.replace(tzinfo=UTC)
    every = sorted(transcripts.sessions(), key=lambda session: (session.created or never, session.uuid))
    known = {session.uuid: session_still_told(context, session) for session in every}
    opening = b"[\n"
    for done, pieces in enumerate(_sessions(context, known, wanted, before, tally), 1):
        yield opening
        yield from pieces
        opening = b",\n"
        if progress is not None:
            progress(done, max(done, len(known)))
    yield b"[\n]\n" if opening == b"[\n" else b"\n]\n"


def _sessions(
    context: Context,
    known: dict[str, Session],
    wanted: Collection[str] | None,
    before: IO[str] | None,
    tally: Tally,
) -> Iterator[Iterable[bytes]]:
    """Yield the sessions one by one; of those that the file has not, the `wanted` ones (None: all)."""
    there: set[str] = set()
    objects = () if before is None else sessions_json.objects(before.name, before.read)
    for value, text in objects:
        session = sessions_json.session_of(value)
        ours = None if session.uuid in there else known.get(session.uuid)
        there.add(session.uuid)
        if _is_same(context, ours, session, value):
            _count(tally, len(session.turn_ids), len(session.turn_ids))
            yield [text.encode()]
            continue
        stood = sessions_json.parse(value)
        gone = _forgotten(context, session.uuid, {*stood.session.turn_ids} - {*(ours.turn_ids if ours else ())})
        left = len(stood.session.turn_ids) - len(gone)
        tally["left_out"] += len(gone)
        if left or not gone or ours is not None:
            merged, pieces = _merge(context, ours, stood, gone)
            _count(tally, len(merged.turn_ids), left)
            yield pieces
    for uuid, session in known.items():
        if uuid not in there and (wanted is None or uuid in wanted):
            tally["new_sessions"] += 1
            _count(tally, len(session.turn_ids), 0)
            turns = sessions_json.numbered(_turns(context, session))
            yield sessions_json.render(session, turns, _summaries(context, session))


def _turns(context: Context, session: Session) -> Iterator[Turn]:
    """Return those turns of the session that it has had when this export began."""
    ids = {*session.turn_ids}
    return (turn for turn in context.book.transcripts.each_turn(session.uuid) if turn.id in ids)


def _count(tally: Tally, turns: int, known: int) -> None:
    tally["sessions"] += 1
    tally["turns"] += turns
    tally["new_turns"] += turns - known


def _summaries(context: Context, session: Session) -> dict[str, str]:
    """Return what the book tells of the session's chats."""
    return texts_still_told(context, context.book.transcripts.chat_summaries(session.uuid))


# --- a session that was exported before ----------------------------------------------------------


def _is_same(context: Context, known: Session | None, stood: Session, value: dict[str, Any]) -> bool:
    """Return whether the session may stay in the file as it is: known and equal, or unknown and not forgotten."""
    if known is None:
        ids = {turn.id for turn in sessions_json.parse(value).turns}
        return len(ids) == len(stood.turn_ids) and not _forgotten(context, stood.uuid, ids)
    if known != stood or _summaries(context, known) != sessions_json.summaries_of(value):
        return False
    if not context.book.journal.buries():
        return True
    texts = {turn.id: turn.text for turn in context.book.transcripts.each_turn(known.uuid)}  # some may be cut by now
    return all(turn.text == texts.get(turn.id) for turn in sessions_json.parse(value).turns)


def _merge(
    context: Context, known: Session | None, stood: Exported, gone: Collection[str]
) -> tuple[Session, Iterator[bytes]]:
    """Return the session with the turns of both but for those that are gone, as the book tells it where it does."""
    ids = dict.fromkeys(known.turn_ids if known is not None else ())
    after: dict[str, list[Turn]] = {}
    last = ""
    for turn in stood.turns:
        if turn.id in ids:
            last = turn.id
        elif turn.id not in gone:
            after.setdefault(last, []).append(turn)
    session = known or (session_still_told(context, stood.session) if gone else stood.session)
    names = {id: [turn.id for turn in turns] for id, turns in after.items()}
    session = replace(session, turn_ids=tuple(_interleave(ids, lambda id: id, names)))
    summaries = {} if gone else texts_still_told(context, stood.summaries)
    if known is not None:
        summaries |= _summaries(context, known)
    ours = _turns(context, known) if known is not None else ()
    turns = sessions_json.numbered(_interleave(ours, lambda turn: turn.id, after))
    return session, sessions_json.render(session, turns, summaries, stood.extra)


def _forgotten(context: Context, session: str, turns: Iterable[str]) -> set[str]:
    """Return which of these turns were forgotten."""
    keys = {turn_key(session, turn): turn for turn in turns}
    return {keys[key] for key in context.book.journal.buried(keys)} if keys else set()


def _interleave(ours: Iterable[T], id_of: Callable[[T], str], after: Mapping[str, Iterable[T]]) -> Iterator[T]:
    """Yield what the book has in its order; what the file alone has stands after the one it stood after, by its id."""
    yield from after.get("", ())
    for one in ours:
        yield one
        yield from after.get(id_of(one), ())


class Backup(NamedTuple):
    """The result of a backup.

    Attributes:
        path: Path of the archive.
        documents: Number of documents.
        bytes: Size of all files, unpacked.
        packed: Size of the archive.
        left_out: Files in the book's folder that do not belong to the book, and are not saved; the first hundred.
    """

    path: str
    documents: int
    bytes: int
    packed: int
    left_out: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        return {**self._asdict(), "left_out": list(self.left_out)}


class Restored(NamedTuple):
    """The result of a restore.

    Attributes:
        root: Folder of the book.
        documents: Number of documents.
        bytes: Size of all files.
        kept: Where the previous book of that folder is now; "" if there was none.
    """

    root: str
    documents: int
    bytes: int
    kept: str = ""

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        return self._asdict()


# --- backing up ----------------------------------------------------------------------------------


def backup(context: Context, path: str, *, progress: Progress | None = None) -> Backup:
    """See `Memory.backup`."""
    storage = context.book.storage
    if absent := context.absent:
        raise NotFound(absent)
    with put_in_place(path) as new, ExitStack() as closing:
        parts = f"{new}.parts"  # copies, which go with the block
        remove(parts)
        os.mkdir(parts, 0o700)
        closing.callback(remove, parts)
        check_place(path)
        now, place = context.book.now(), _place(storage)
        files = archive.pack(new, storage, parts, place=place, now=now, progress=progress)
    known = {*(file.path for file in files), os.path.relpath(os.path.realpath(path), storage.root)}
    return Backup(
        path,
        sum(file.path.endswith(".md") for file in files),
        sum(file.bytes for file in files),
        os.path.getsize(path),
        tuple(storage.strangers(known)),
    )


def check_place(path: str) -> None:
    """Raise InvalidInput if the path is a file other than a backup, which would be lost."""
    if os.path.isfile(path) and os.path.getsize(path):
        archive.manifest_of(path)


def _place(storage: Storage) -> str:
    """Return a digest of where the book is. Its copy elsewhere is another book to those that it hands out to."""
    where = f"{gethostname()}:{os.path.realpath(storage.root)}" if storage.machine else storage.root
    return sha256(where.encode("utf-8", "surrogateescape")).hexdigest()[:32]


# --- restoring -----------------------------------------------------------------------------------


def restore(context: Context, path: str, *, replace: bool = False, progress: Progress | None = None) -> Restored:
    """See `Memory.restore`; what was under way when it was backed up is finished by whoever opens it next."""
    transcripts = context.config.transcripts
    setting = "transcripts.url" if transcripts.url else "transcripts.db_path" if transcripts.db_path else ""
    if setting:  # nobody would look for the turns where they are restored to
        raise InvalidInput(
            f"{setting} keeps turns outside of the book, a restore puts them into it: leave it out first"
        )
    files, node, place = archive.manifest_of(path)
    archive.check(path, files)
    storage = context.book.storage
    kept = storage.restore(
        lambda folder: archive.unpack(path, folder, files, storage, progress),
        identity=node if place == _place(storage) else "",
        replace=replace,
        now=context.book.now(),
    )
    count = sum(file.path.endswith(".md") for file in files)
    return Restored(context.root, count, sum(file.bytes for file in files), kept)
