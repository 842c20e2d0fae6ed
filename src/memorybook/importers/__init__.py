"""Conversations of other programs, read into sessions and turns. Reading only: nothing is written.

The format is told by the first objects of the file, not by its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from itertools import chain, islice
from typing import NamedTuple

from memorybook.errors import InvalidInput, NotFound
from memorybook.importers import chat_jsonl, claude_code, history
from memorybook.importers.records import EXPECTED, ImportedSession, Record, Said, sessions
from memorybook.importers.records import records as records_in

__all__ = ["Conversation", "ImportedSession", "read"]

_SAMPLE = 50
"""Objects looked at to tell the format; what a program writes for itself may come first."""

_WARNINGS = 100
"""Warnings kept; a file that is broken throughout says so once."""


class Conversation(NamedTuple):
    """What a file holds.

    Attributes:
        format: `chat`, `claude-code` or `history`.
        sessions: In the order in which they begin; never empty.
        warnings: One line for each that could not be read, `line 12: …`.
    """

    format: str
    sessions: tuple[ImportedSession, ...]
    warnings: tuple[str, ...]


def read(
    path: str, *, scope: str | None = None, timezone: tzinfo, stream: Iterable[bytes] | None = None
) -> Conversation:
    """Read the conversation in the file `path`.

    Args:
        path: The file; with `stream`, only its name in messages and sources (`-` for standard input).
        scope: Keep only messages of this scope; one without a scope is of the file's stem (`conv-26`
            for `conv-26.jsonl`). None keeps all.
        timezone: Of times without an offset.
        stream: Lines of bytes to read instead of the file, such as `sys.stdin.buffer`.

    Raises:
        NotFound: No such file.
        InvalidInput: It cannot be read: no permission, not UTF-8 text, nothing readable in it, or an unknown scope.
    """
    if stream is not None:
        return _read(path, stream, scope, timezone)
    try:
        with open(path, "rb") as file:
            return _read(path, file, scope, timezone)
    except FileNotFoundError:
        raise NotFound(f"no file {path!r}: check its name and the directory you are in") from None
    except OSError as error:
        raise InvalidInput(f"cannot read {path!r}: {error.strerror or error}") from error


def _read(path: str, stream: Iterable[bytes], scope: str | None, timezone: tzinfo) -> Conversation:
    warnings: list[str] = []
    records = records_in(path, stream, warnings.append)
    sample = list(islice(records, _SAMPLE))
    titles: dict[str, str] = {}
    name, said = _said(path, sample, records, timezone, warnings, titles)
    if scope is not None:
        said = _of_scope(path, said, scope)
    found = tuple(sessions(said, source=path, titles=titles, warn=warnings.append))
    if not found:
        raise InvalidInput(f"no message in {path!r} could be read; {EXPECTED}" + _because(warnings))
    return Conversation(name, _titled(found, titles), tuple(_few(warnings)))


def _said(
    path: str,
    sample: list[Record],
    records: Iterator[Record],
    timezone: tzinfo,
    warnings: list[str],
    titles: dict[str, str],
) -> tuple[str, Iterator[Said]]:
    """The format's name and the messages it reads."""
    fields = [record.fields for record in sample]
    everything = chain(sample, records)
    if claude_code.matches(fields):
        said = claude_code.read(everything, timezone=timezone, warn=warnings.append, titles=titles)
        return claude_code.NAME, said
    if history.matches(fields):
        return history.NAME, history.read(everything, timezone=timezone, warn=warnings.append)
    if chat_jsonl.matches(fields):
        return chat_jsonl.NAME, chat_jsonl.read(everything, timezone=timezone, warn=warnings.append)
    raise InvalidInput(f"nothing in {path!r} looks like a conversation; {EXPECTED}" + _because(warnings))


def _of_scope(path: str, said: Iterator[Said], scope: str) -> Iterator[Said]:
    stem = os.path.splitext(os.path.basename(path))[0]
    known: dict[str, None] = {}
    kept = False
    for one in said:
        known.setdefault(one.scope or stem)
        if (one.scope or stem) == scope:
            kept = True
            yield one
    if not kept and known:
        shown = ", ".join(repr(name) for name in list(known)[:8])
        more = f" and {len(known) - 8} more" if len(known) > 8 else ""
        raise InvalidInput(f"no message of scope {scope!r} in {path!r}; it has {shown}{more}")


def _titled(found: tuple[ImportedSession, ...], titles: dict[str, str]) -> tuple[ImportedSession, ...]:
    """A title whose line names no session is the title of a file's only one."""
    if len(found) != 1 or found[0].session.title or "" not in titles:
        return found
    from dataclasses import replace

    return (found[0]._replace(session=replace(found[0].session, title=titles[""])),)


def _because(warnings: list[str]) -> str:
    return f" ({warnings[0]})" if warnings else ""


def _few(warnings: list[str]) -> Iterator[str]:
    yield from warnings[:_WARNINGS]
    if len(warnings) > _WARNINGS:
        yield f"… and {len(warnings) - _WARNINGS} more"
