"""Read files of other programs into sessions with turns, and statements. Nothing is written.

The format is detected by the first objects or lines of a file, not by its name. A file may be in a folder, or in a zip
archive as downloaded: nothing is unpacked to disk, and only the last part of an archive's names is used.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from itertools import chain, groupby, islice
from pathlib import PurePath
from typing import IO, Any, NamedTuple, cast

from memorybook.errors import InvalidInput, NotFound
from memorybook.exchange.importers.agent_memories import (
    is_instructions,
    is_letta,
    is_template,
    is_zep,
    read_instructions,
    read_letta,
    read_obsidian,
    read_zep,
)
from memorybook.exchange.importers.foreign_formats import (
    is_chatgpt,
    is_claude,
    is_claude_code,
    is_codex,
    is_history,
    is_mem0,
    is_memory,
    read_chat,
    read_chatgpt,
    read_claude,
    read_claude_code,
    read_codex,
    read_history,
    read_markdown,
    read_mem0,
)
from memorybook.exchange.importers.messengers import (
    by_day,
    chat_name,
    is_signal,
    is_signal_text,
    is_telegram,
    is_telegram_html,
    is_wechat,
    is_wechat_csv,
    is_whatsapp,
    read_lines,
    read_signal,
    read_telegram,
    read_telegram_html,
    read_wechat,
    read_wechat_csv,
)
from memorybook.exchange.importers.records import EXPECTED, Page, Parsed, Statement, Taken, several, text_lines
from memorybook.exchange.importers.records import records as records_in
from memorybook.formats import sessions_json
from memorybook.formats.messages_json import TEXT, ImportedSession, Record, Said, Warn, first, sessions, who_of
from memorybook.formats.sessions_json import Exported

__all__ = ["NAMES", "ImportedSession", "Page", "Reading", "Statement", "Taken", "few", "nothing_in", "opened"]

_SAMPLE = 50
"""Objects looked at to tell the format; what a program writes for itself may come first."""

_WARNINGS = 100
"""Warnings kept; a file that is broken throughout says so once."""


class Format(NamedTuple):
    """A format: of JSON objects, or of lines of text.

    Attributes:
        name: By which it is asked for; formats of one program share it.
        apart: Whether the messages of a session stand together, so that none but them is held.
        matches: Whether an object is of this format; one of the first of a file is enough. Of text, its beginning.
        read: Yields what these objects, or numbered lines, tell, given `timezone`, `warn` and `titles` by name. Titles
            of sessions found on the way are put into `titles` by the session's name ("" where none is named).
        text: Whether it is of lines.
        chats: Whether it tells of chats between people, each day of which is a session.
    """

    name: str
    apart: bool
    matches: Callable[[Any], bool]
    read: Callable[..., Iterator[Parsed]]
    text: bool = False
    chats: bool = False


def _read_exported(
    records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]
) -> Iterator[Exported]:
    """Yield sessions that memorybook has exported, as they were."""
    for record in records:
        if sessions_json.is_session(record.fields):
            if empty := sum(not sessions_json.has_turns(chat) for chat in record.fields["chats"]):
                warn(f"item {record.line}: nothing is said in {several(empty, 'chat')}, left out")
            yield sessions_json.parse(record.fields)
        else:
            warn(f"item {record.line}: no session with its chats, skipped")


CHAT = "chat"
"""The format in which a session has the name that somebody gave it."""

MARKDOWN = "openclaw"
"""The format of Markdown files, which hold no objects."""

OBSIDIAN, INSTRUCTIONS = "obsidian", "instructions"
"""Formats of Markdown that is told by its folder or its name: notes of a vault, and what a project tells agents."""

FORMATS = (
    Format("memorybook", True, sessions_json.is_session, _read_exported),
    Format("chatgpt", True, is_chatgpt, read_chatgpt),
    Format("claude", True, is_claude, read_claude),
    Format("claude-code", False, is_claude_code, read_claude_code),
    Format("codex", False, is_codex, read_codex),
    Format("telegram", True, is_telegram, read_telegram, chats=True),
    Format("telegram", True, is_telegram_html, read_telegram_html, text=True, chats=True),
    Format("signal", True, is_signal, read_signal, chats=True),
    Format("signal", True, is_signal_text, read_lines, text=True, chats=True),
    Format("whatsapp", True, is_whatsapp, read_lines, text=True, chats=True),
    Format("wechat", True, is_wechat_csv, read_wechat_csv, text=True, chats=True),
    Format("wechat", True, is_wechat, read_wechat, text=True, chats=True),
    Format("mem0", True, is_mem0, read_mem0),
    Format("letta", False, is_letta, read_letta),
    Format("zep", False, is_zep, read_zep),
    Format("history", False, is_history, read_history),
    Format(CHAT, False, lambda fields: first(fields, *TEXT) is not None or "role" in fields, read_chat),
)
"""In the order in which they are tried."""

NAMES = tuple(dict.fromkeys([*(format.name for format in FORMATS), MARKDOWN, OBSIDIAN, INSTRUCTIONS]))
"""By which a format can be asked for."""


class Reading(NamedTuple):
    """A file while it is read.

    Attributes:
        format: Name of its format.
        found: What it tells, sessions in the order in which they begin; read as it is asked for.
        warnings: One line for each that could not be read, `line 12: …`; grows meanwhile.
        lazy: Whether sessions are read one by one; else the first comes when all are read.
    """

    format: str
    found: Iterator[Taken]
    warnings: list[str]
    lazy: bool = True


def opened(
    path: str,
    stream: Iterable[bytes],
    *,
    scope: str | None = None,
    timezone: tzinfo,
    format: str | None = None,
    strict: bool = False,
    origin: str = "",
) -> Reading:
    """Begin to read a file: its format is told, and the rest is read as it is asked for.

    Args:
        path: Its name.
        stream: A binary file, or lines of bytes.
        scope: Keep only messages of this scope; one without a scope is of the file's stem (`conv-26`
            for `conv-26.jsonl`). None keeps all.
        timezone: Of times without an offset.
        format: Name of its format; None finds it.
        strict: Whether a chat must say who speaks: for a file that nobody named.
        origin: What its sessions are from, such as the archive that it is in; "" for the file itself.

    Raises:
        InvalidInput: It is not UTF-8 text, holds nothing readable, or the scope is unknown; also while `found` is
            asked for.
    """
    warnings: list[str] = []
    if format is None and is_instructions(os.path.basename(path)):
        format = INSTRUCTIONS
    if format in (OBSIDIAN, INSTRUCTIONS):
        read_page = read_obsidian if format == OBSIDIAN else read_instructions
        pages = read_page(path, stream, timezone=timezone, warn=warnings.append, origin=origin)
        return Reading(format, pages, warnings)
    head, stream = _head(stream)
    wanted = [each for each in FORMATS if format in (None, each.name)]
    written = next((each for each in wanted if each.text and each.matches(head)), None)
    if written is not None:
        lines = text_lines(path, stream, warnings.append)
        return _reading(path, lines, written, warnings, scope=scope, timezone=timezone, origin=origin)
    if format == MARKDOWN or (format is None and path.lower().endswith(".md")):
        return Reading(MARKDOWN, read_markdown(path, stream, timezone=timezone, warn=warnings.append), warnings)
    records = records_in(path, stream, warnings.append)
    sample = list(islice(records, _SAMPLE))
    fitting = (
        each
        for each in wanted
        if not each.text and (format is not None or any(each.matches(record.fields) for record in sample))
    )
    if (chosen := next(fitting, None)) is None:
        raise InvalidInput(f"nothing in {path!r} looks like a conversation; {EXPECTED}" + _because(warnings))
    if strict and chosen.name == CHAT and not any(any(who_of(record.fields)) for record in sample):
        raise InvalidInput(f"nothing in {path!r} looks like a conversation; {EXPECTED}")
    read = chain(sample, records)
    return _reading(path, read, chosen, warnings, scope=scope, timezone=timezone, origin=origin)


def _head(stream: Iterable[bytes]) -> tuple[str, Iterable[bytes]]:
    """Return the beginning of a file, and the file with it still to be read."""
    peek = getattr(stream, "peek", None)
    if peek is not None:
        begins = bytes(peek())
    else:
        lines = iter(stream)
        first_lines = list(islice(lines, 3))
        begins, stream = b"".join(first_lines), chain(first_lines, lines)
    return begins.decode("utf-8-sig", "replace"), stream


def _reading(
    path: str,
    read: Iterator[Any],
    format: Format,
    warnings: list[str],
    *,
    scope: str | None,
    timezone: tzinfo,
    origin: str,
) -> Reading:
    """Begin to read what a file holds in its format; the other arguments are those of `opened`."""
    warn, titles = warnings.append, dict[str, str]()
    told = format.read(read, timezone=timezone, warn=warn, titles=titles)
    if scope is not None:
        told = _of_scope(path, told, scope)
    if format.chats:
        said = cast("Iterator[Said]", told)
        told = by_day(said, messenger=format.name, chat=chat_name(path, origin), timezone=timezone, warn=warn)
    return Reading(format.name, _group_sessions(told, format, origin or path, titles, warn), warnings, format.apart)


def _of_scope(path: str, told: Iterator[Parsed], scope: str) -> Iterator[Parsed]:
    stem = os.path.splitext(os.path.basename(path))[0]
    known: dict[str, None] = {}
    kept = False
    for one in told:
        of = (isinstance(one, Said) and one.scope) or stem
        known.setdefault(of)
        if of == scope:
            kept = True
            yield one
    if not kept and known:
        shown = ", ".join(repr(name) for name in list(known)[:8])
        more = f" and {len(known) - 8} more" if len(known) > 8 else ""
        raise InvalidInput(f"no message of scope {scope!r} in {path!r}; it has {shown}{more}")


def _group_sessions(
    told: Iterator[Parsed], format: Format, path: str, titles: dict[str, str], warn: Warn
) -> Iterator[Taken]:
    """Yield sessions made of the messages, and the sessions and statements that are complete already."""
    if format.apart:
        for spoken, group in groupby(told, key=lambda one: isinstance(one, Said)):
            run = cast("Iterator[Any]", group)
            yield from sessions(run, source=path, titles=titles, warn=warn, apart=True) if spoken else run
        return
    said: list[Said] = []
    for one in told:
        if isinstance(one, Said):
            said.append(one)
        else:
            yield one
    found = list(sessions(said, source=path, titles=titles, warn=warn))
    if len(found) == 1 and not found[0].session.title and "" in titles:  # a title whose line names no session
        found = [found[0]._replace(session=replace(found[0].session, title=titles[""]))]
    yield from found


def nothing_in(path: str, warnings: Sequence[str], format: str = "") -> InvalidInput:
    """Return the error for a file with nothing to import."""
    if format in (MARKDOWN, OBSIDIAN, INSTRUCTIONS):
        return InvalidInput(f"no list item or paragraph in {path!r} to remember: write some, or name another file")
    return InvalidInput(f"no message in {path!r} could be read; {EXPECTED}" + _because(warnings))


def _because(warnings: Sequence[str]) -> str:
    return f" ({warnings[0]})" if warnings else ""


def few(warnings: Sequence[str]) -> tuple[str, ...]:
    """Return the first of them, and how many more there are."""
    more = (f"… and {len(warnings) - _WARNINGS} more",) if len(warnings) > _WARNINGS else ()
    return (*warnings[:_WARNINGS], *more)


# --- where an import comes from ------------------------------------------------------------------


_SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt", ".csv", ".af")
_PAGES = r"messages\d*\.html|(?:chat|index)\.md"
"""Of chats, as Telegram and signal-export call them."""

_MOST_UNPACKED = 64 << 30
_MOST_RATIO = 500
_SMALL = 64 << 20
"""Bytes up to which a file of an archive may be packed as tightly as it likes."""


class Source(NamedTuple):
    """A file to read.

    Attributes:
        name: As it is named to a person; its last part tells what kind of Markdown it is.
        size: Its bytes; 0 if unknown.
        open: Opens it.
        named: Whether a person named this very file, and not the folder or archive that it is in.
        origin: What it is from in the book: the archive or vault, or the file itself.
        format: Of which it is by its place; None if its content tells.
    """

    name: str
    size: int
    open: Callable[[], IO[Any]]
    named: bool = False
    origin: str = ""
    format: str | None = None


@contextmanager
def sources(path: str, warn: Warn, format: str | None = None) -> Iterator[list[Source]]:
    """List the files to read for a path: itself, or those in it that may hold memories (of that format), by name.

    Raises:
        NotFound: There is no such file or folder.
        InvalidInput: It cannot be read, or is a broken archive.
    """
    with ExitStack() as archives:
        try:
            status = os.stat(path)
            found = [Source(path, status.st_size, partial(open, path, "rb"), named=True)]
            if stat.S_ISDIR(status.st_mode):
                found = list(_in_folder(path, warn, format))
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    is_zip = file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
                found = list(_in_archive(path, archives, warn, format)) if is_zip else found
        except FileNotFoundError:
            raise NotFound(f"no file {path!r}: check its name and the directory you are in") from None
        except OSError as error:
            raise InvalidInput(f"cannot read {path!r}: {error.strerror or error}") from error
        yield found


def _in_folder(folder: str, warn: Warn, format: str | None) -> Iterator[Source]:
    top = os.path.basename(os.path.abspath(folder))
    vaults = {folder: _Vault(folder)} if format == OBSIDIAN else {}
    for here, folders, files in os.walk(
        folder, onerror=lambda error: warn(f"cannot look into {error.filename!r}: {error.strerror}")
    ):
        beside = {name.lower() for name in (*folders, *files)}
        if ".memorybook" in beside:
            warn(f"{here!r} is a memorybook, left out: `memorybook restore` and `sync-summaries` take from one")
            folders.clear()
            continue
        if ".obsidian" in beside and format is None:
            vaults[here] = _Vault(here)
        vault = next((one for one in vaults.values() if PurePath(here).is_relative_to(one.root)), None)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(here, name)
            inside = os.path.join(top, os.path.relpath(path, folder))
            if not (_wanted(name, inside, beside, format) if vault is None else vault.wants(path)):
                continue
            with suppress(FileNotFoundError):  # it went away meanwhile
                found = os.stat(path, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    source = Source(path, found.st_size, partial(open, path, "rb"))
                    origin = os.path.abspath(vault.root) if vault is not None else ""
                    yield source if vault is None else source._replace(origin=origin, format=OBSIDIAN)
    for vault in vaults.values():
        vault.report(warn)


class _Vault:
    """A vault while its files are listed: its notes are wanted, templates and attachments counted."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._left = dict.fromkeys(("template", "attachment"), 0)

    def wants(self, path: str) -> bool:
        """Return whether it is a note; count it if not."""
        *folders, name = os.path.relpath(path, self.root or ".").replace("\\", "/").split("/")
        note = name.lower().endswith(".md")
        if note and not is_template(folders):
            return True
        self._left["template" if note else "attachment"] += not name.startswith(".")
        return False

    def report(self, warn: Warn) -> None:
        """Say what of it is left out."""
        counted = [several(count, what) for what, count in self._left.items() if count]
        if counted:
            name = os.path.basename(os.path.abspath(self.root))
            warn(f"vault {name!r}: {' and '.join(counted)} left out")


def _wanted(name: str, inside: str, beside: set[str], format: str | None) -> bool:
    """Return whether a file may hold memories that no other beside it holds; instructions only if these are asked for.

    A history beside sessions holds the prompts of those; of a chat that was written as JSON too, that is taken.
    """
    name = name.lower()
    if format == INSTRUCTIONS:
        return is_instructions(name)
    if re.fullmatch(_PAGES, name):
        return beside.isdisjoint(("result.json", "data.json"))
    known = name == "history.jsonl" and not beside.isdisjoint(("sessions", "projects"))
    return not known and (name.endswith(_SUFFIXES) or is_memory(inside))


# --- archives ------------------------------------------------------------------------------------


def _in_archive(path: str, archives: ExitStack, warn: Warn, format: str | None) -> Iterator[Source]:
    from zipfile import BadZipFile, ZipFile

    try:
        archive = archives.enter_context(ZipFile(path))
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInput(f"{path!r} is a broken zip archive ({error}): download it again") from error
    unpacked = 0
    folders: dict[str, set[str]] = {}
    for inside in archive.namelist():
        while inside:
            inside, _, name = inside.replace("\\", "/").rpartition("/")
            folders.setdefault(inside, set()).add(name.lower())
    roots = [folder for folder, names in folders.items() if ".obsidian" in names and format is None]
    vaults = [_Vault(root) for root in ([""] if format == OBSIDIAN else roots)]
    for info in sorted(archive.infolist(), key=lambda one: one.filename):
        inside = info.filename.replace("\\", "/")
        folder, _, name = inside.rpartition("/")
        vault = next((one for one in vaults if PurePath(inside).is_relative_to(one.root)), None)
        if (
            info.is_dir()
            or stat.S_ISLNK(info.external_attr >> 16)
            or (vault is not None and re.search(r"(?:^|/)\.", inside))
        ):
            continue
        if not (_wanted(name, inside, folders[folder], format) if vault is None else vault.wants(inside)):
            continue
        name = f"{path}/{name}"
        unpacked += info.file_size
        if info.flag_bits & 1:
            warn(f"{os.path.basename(name)}: it is encrypted, left out")
        elif info.file_size > max(_SMALL, info.compress_size * _MOST_RATIO):
            size = f"it would unpack to {info.file_size} bytes from {info.compress_size}, as no export does"
            warn(f"{os.path.basename(name)}: {size}, left out")
        elif unpacked > _MOST_UNPACKED:
            raise InvalidInput(f"{path!r} holds more than {_MOST_UNPACKED >> 30} GB: unpack it and import the folder")
        else:
            kind = None if vault is None else OBSIDIAN
            yield Source(name, info.file_size, partial(archive.open, info), origin=path, format=kind)
    for vault in vaults:
        vault.report(warn)


def archive_errors() -> tuple[type[Exception], ...]:
    """Return what reading a file of a broken archive raises, beside OSError."""
    from zipfile import BadZipFile
    from zlib import error

    return (BadZipFile, error, EOFError, NotImplementedError, RuntimeError)


class CountingFile:
    """A binary file, or lines of bytes, that counts the bytes read, to show progress."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.read_so_far = 0
        if hasattr(file, "peek"):
            self.peek = file.peek

    def read(self, size: int = -1) -> bytes:
        """Read bytes and count them."""
        return self._count(self._file.read(size))

    def readline(self, size: int = -1) -> bytes:
        """Read a line and count it."""
        return self._count(self._file.readline(size))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def _count(self, piece: bytes) -> bytes:
        self.read_so_far += len(piece)
        return piece
