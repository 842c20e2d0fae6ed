"""Files of an agent whose writes name the version that was read, and are carried out once however often they are asked.

They are documents of a book. What was asked for under a name is found again in the book's journal, which knows it as
soon as the write itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorybook.entries import documents
from memorybook.entries.mask import Mask
from memorybook.errors import Conflict, MissingDocument
from memorybook.frameworks.file_tree import document_of, name_of
from memorybook.model import Applied, Discarded, Operation
from memorybook.prompt.recall import WORTH_A_LOOK
from memorybook.search.types import Query
from memorybook.validate import words_of

if TYPE_CHECKING:
    from memorybook.memory import Memory
    from memorybook.search.types import Hit, Passage

_POOL = 2_000
"""How many candidates are looked through for those of the files that were asked for."""


class Asked(Protocol):
    """A write that may be asked for more than once: its name, and a fingerprint of what it is."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def fingerprint(self) -> str: ...  # noqa: D102


class File(NamedTuple):
    """A file as it stands.

    Attributes:
        text: All of it.
        version: SHA-256 of the text, in hex.
        asked: Id of what asked for the write that made it so; None if nothing did.
        metadata: What that write told of itself; None for nothing.
    """

    text: str
    version: str
    asked: str | None
    metadata: Mapping[str, str] | None


class Receipt(NamedTuple):
    """What came of a write: the version now, None if there is no file; whether there was one before."""

    version: str | None
    existed: bool


class Found(NamedTuple):
    """What a search found: hits by name, most relevant first, in how many files; whether there are more files."""

    hits: tuple[tuple[str, Hit], ...]
    files: int
    left: bool


class VersionedFiles:
    """The files in one folder of an open memory's book. Safe to share between threads and processes.

    Args:
        memory: An open memory.
        folder: Of the book.
        host: Which program asks; ids are its own.
    """

    def __init__(self, memory: Memory, folder: str, *, host: str) -> None:
        self._memory = memory
        self._folder = folder
        self._host = host

    def read(self, name: str) -> File | None:
        """The file, None if there is none. Raises UnsafePath for a name that no document can have."""
        path = self._path(name)
        try:
            text = self._memory.document(path).text
        except MissingDocument:
            return None
        asked, metadata = None, None
        last = self._memory.book.journal.operations(target=path, limit=1)
        if last and (change := _change_of(last[0], path)) and change.after == text:  # else a person edited it
            asked, metadata = self._asked(last[0]), _told(change.reason).get("metadata")
        return File(text, _version(text), asked, metadata)

    def receipt(self, asked: Asked) -> Receipt | None:
        """What came of it when it was asked for before; None if it was not.

        Raises:
            Conflict: Something else was asked for under that id.
        """
        self._memory.config.check_enabled()
        before = self._memory.book.journal.operations(session=f"{self._host}:{asked.id}", limit=1)
        if not before:
            return None
        change = next(iter(before[0].changes), None)
        told = _told(change.reason if change else before[0].discarded[0].reason)
        if told.get("fingerprint") != asked.fingerprint:
            raise Conflict(f"operation id {asked.id!r} was used for something else before: give a new one")
        if change is None:
            return Receipt(before[0].discarded[0].text or None, bool(before[0].discarded[0].text))
        return Receipt(None if change.after is None else _version(change.after), change.before is not None)

    def write(
        self,
        name: str,
        text: str | None,
        expected: str | None,
        asked: Asked | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Receipt:
        """Let this be the text of the file, secrets masked; None takes the file away.

        Args:
            name: Of the file.
            text: What it is to hold.
            expected: The version that it replaces, None if there must be no such file.
            asked: As what `receipt` is to find it.
            metadata: What the write tells of itself; kept if it changes the text.

        Raises:
            Conflict: Another version stands there.
            UnsafePath: No document can be called so.
        """
        path, mask = self._path(name), Mask(self._memory.context)
        standing, revision = None, ""
        with suppress(MissingDocument):
            standing, revision, _ = self._memory.document(path)
        if expected != (None if standing is None else _version(standing)):
            raise Conflict(f"file {name!r} is not the version that was read any more: read it again")
        told = {"fingerprint": asked.fingerprint if asked else None, "metadata": metadata}
        reason = f"{self._host} {json.dumps(mask.json({key: value for key, value in told.items() if value}))}"
        session = f"{self._host}:{asked.id}" if asked else None
        if text is not None:
            text = mask.text(text)
            documents.write_document(self._memory.context, path, text, expect=revision, reason=reason, session=session)
        elif standing is not None:
            documents.remove_document(self._memory.context, path, expect=revision, reason=reason, session=session)
        receipt = Receipt(None if text is None else _version(text), standing is not None)
        if asked and text == standing:  # the journal has to know of what changed nothing, too
            noted = [Discarded(text=receipt.version or "", reason=reason)]
            actor, door = self._memory.context.actor, self._memory.context.door
            self._memory.book.apply([], actor=actor, door=door, kind="write", session=session, discarded=noted)
        return receipt

    def names(self, prefix: str = "") -> list[str]:
        """The names of all files that begin so, sorted."""
        self._memory.config.check_enabled()
        top = f"{self._folder}/"
        paths = (info.path for info in documents.documents(self._memory.context))
        names = (name_of(path)[len(top) :] for path in paths if path.startswith(top))
        return sorted(name for name in names if name.startswith(prefix))

    def search(self, prefix: str, query: str, *, limit: int, most: int) -> Found:
        """The best hits of at most `limit` files, looked for in the first `most` right below the prefix."""
        names = [name for name in self.names(prefix) if "/" not in name.removeprefix(prefix)]
        paths = {self._path(name): name for name in names[:most]}

        def keep(passage: Passage) -> bool:
            return passage.path in paths

        asked = Query(words_of(query), pool=_POOL, sources=frozenset({"document"}))
        best: dict[str, Hit] = {}
        least = max(WORTH_A_LOOK, self._memory.config.min_score)
        for hit in self._memory.book.search(asked, limit=_POOL, min_score=least, keep=keep).hits:
            best.setdefault(paths[hit.passage.path], hit)
        return Found(tuple(best.items())[:limit], len(paths), len(names) > most)

    def _path(self, name: str) -> str:
        self._memory.config.check_enabled()
        return document_of(f"{self._folder}/{name}")

    def _asked(self, operation: Operation) -> str | None:
        host, _, id = (operation.session or "").partition(":")
        return id if host == self._host else None


def _version(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _change_of(operation: Operation, path: str) -> Applied | None:
    return next((change for change in operation.changes if change.target == path), None)


def _told(reason: str) -> dict[str, Any]:
    """What the reason of a write tells; nothing if it is not one of these."""
    try:
        told = json.loads(reason.partition(" ")[2])
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
