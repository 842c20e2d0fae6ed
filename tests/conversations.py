"""Files of conversations read whole, as tests compare them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from datetime import tzinfo
from typing import NamedTuple

from memorybook.exchange import importers
from memorybook.formats.messages_json import ImportedSession
from memorybook.formats.sessions_json import Exported


class Conversation(NamedTuple):
    """What a file holds: the name of its format, its sessions in the order in which they begin, its warnings."""

    format: str
    sessions: tuple[ImportedSession, ...]
    warnings: tuple[str, ...]


def read(
    path: str, *, scope: str | None = None, timezone: tzinfo, stream: Iterable[bytes] | None = None
) -> Conversation:
    """Read a file, or the lines of a stream, with `importers.opened`. Raises InvalidInput if it holds no session."""
    with nullcontext(stream) if stream is not None else open(path, "rb") as lines:
        reading = importers.opened(path, lines, scope=scope, timezone=timezone)
        whole = (one for one in reading.found if isinstance(one, ImportedSession | Exported))
        found = tuple(ImportedSession(one.session, one.turns) for one in whole)
    if not found:
        raise importers.nothing_in(path, reading.warnings)
    return Conversation(reading.format, found, importers.few(reading.warnings))
