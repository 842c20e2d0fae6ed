"""One event of an agent host, from its arrival on stdin to the answer on stdout, within a limit of time.

A session that begins and a prompt are answered with a block of memories; what was said, a compaction and an end are
put into the book's spool. Where there is no book nothing is created; a session that begins is told of it if one was
named, or was there.
"""

from __future__ import annotations

import json
import os
import sys

from memorybook._light import TYPE_CHECKING, Any, NamedTuple, suppress

if TYPE_CHECKING:
    from memorybook._light import Mapping, Sequence
    from memorybook.config.settings import Config
    from memorybook.memory import Memory

KINDS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "Stop": "said",
    "AfterAgent": "said",
    "PreCompact": "compact",
    "PreCompress": "compact",
    "SessionEnd": "end",
}
"""What an event is to us, by the names that hosts give it."""

INGEST = ("start", "end")
"""Events of these kinds may have the spool taken in."""

HOSTS = ("claude-code", "codex", "gemini")

USAGE = f"""usage: memorybook-hook EVENT --host {"|".join(HOSTS)} [--book DIR] [--ingest]

Answers one event of an agent host, which stands on stdin as JSON. Hosts call it, see: memorybook hook --help
EVENT is one of: {", ".join(KINDS)}
--ingest takes in what waits in the book's spool, in a process of its own, when a session begins or ends
"""

LIMIT = 3.0
"""Seconds after which an event is left without an answer: rather none than a late one."""

LARGEST = 8 << 20
"""Bytes of an event; a larger one is ignored."""

AGAIN = 5.0
"""Seconds within which the same words of a session are the same prompt, told by another hook too, as of a plugin."""

UNSETTLED = "unsettled"
"""As `spool.UNSETTLED`, which not every event needs to import."""

_TEXT = ("session_id", "transcript_path", "reason", "trigger", "prompt", "prompt_response")
"""What is kept of an event. Claude Code and Codex write what was said into a transcript, Gemini tells it here."""

_SAID = ("reason", "prompt", "prompt_response")

_LONGEST = 1 << 20
"""Characters of a text of which the secrets can be masked within the limit of time."""


class Asked(NamedTuple):
    """The command: the event as its host names it, the host, the book's directory (None finds it), `--ingest`."""

    event: str
    host: str
    book: str | None = None
    ingest: bool = False


def answer(words: Sequence[str]) -> None:
    """Answer the event that stands on stdin; a command that cannot be used is told on stderr."""
    asked = command(words)
    if asked is None:
        os.write(1 if "--help" in words or "-h" in words else 2, USAGE.encode())
        return
    end_after(LIMIT)
    told = received(0)
    if told is None or told.get("agent_id"):  # a helper's own talk is in the one that asked it
        return
    cwd = told.get("cwd")
    if not (isinstance(cwd, str) and os.path.isabs(cwd) and os.path.isdir(cwd)):
        cwd = os.getcwd()
    os.chdir(cwd)
    from memorybook.config.project import absence, keep, locate
    from memorybook.config.settings import load
    from memorybook.errors import MemoryBookError

    readable = True
    try:
        config = load(cwd=cwd, env=os.environ)
    except (MemoryBookError, OSError):
        config, readable = settings(cwd)
    root, found = locate(config, cwd=cwd, book=asked.book)
    keep(root, found)
    try:
        unsettled = os.listdir(os.path.join(root, ".memorybook", "spool", UNSETTLED))
    except OSError:
        unsettled = []
    if readable and unsettled:
        settle(root)
    if config.enabled and os.path.isdir(root):
        _carry_out(asked, told, config, root, readable)
    elif config.enabled and KINDS[asked.event] == "start":
        absent = absence(root, found)
        os.write(2, f"memorybook: {absent}\n".encode("utf-8", "backslashreplace"))
        if not found.home or found.id or found.copy_of[0]:  # one is meant that there should be
            from memorybook.search.tool_results import marked

            respond(asked.event, marked(absent))


def _carry_out(asked: Asked, told: Mapping[str, Any], config: Config, root: str, readable: bool) -> None:
    kind = KINDS[asked.event]
    if not readable and kind in ("start", "prompt"):  # nothing is told while memory may be switched off
        return
    if (kind == "prompt" or (kind == "said" and asked.host == "gemini")) and _is_told(asked, told, root):
        return
    if kind in ("start", "prompt"):
        text = context(kind, told, config, root)
        if text:
            respond(asked.event, text)
    elif config.auto_capture_on_new_session and (asked.host == "gemini" or told.get("transcript_path")):
        # a host that writes no transcript of a session means it to leave nothing
        _keep(asked, kind, told, config, root, "" if readable else UNSETTLED)
    if readable and asked.ingest and kind in INGEST:
        ingest_aside(root)


def command(words: Sequence[str]) -> Asked | None:
    """Parse the command; None if it is invalid."""
    event, host, book, ingest = "", "", None, False
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=")
        if name in ("--host", "--book"):
            value = value if equals else next(waiting, "")
            host, book = (value, book) if name == "--host" else (host, value)
        elif word == "--ingest":
            ingest = True
        elif event or word not in KINDS:
            return None
        else:
            event = word
    return Asked(event, host, book, ingest) if event and host in HOSTS and book != "" else None


def end_after(seconds: float) -> None:
    """End the process then, without an answer, whatever it is waiting for."""
    import _thread
    import time

    def end() -> None:
        time.sleep(seconds)
        os._exit(0)

    _thread.start_new_thread(end, ())


def _is_told(asked: Asked, told: Mapping[str, Any], root: str) -> bool:
    """Return whether another hook was just called with the same event; else record this one."""
    from fcntl import LOCK_EX, flock
    from time import time
    from zlib import crc32  # which a search needs too

    words = [told.get(name) for name in ("session_id", "prompt", "prompt_response")]
    mark = b"%s %08x\n" % (asked.event.encode(), crc32(ascii(words).encode()))
    try:
        path = os.path.join(root, ".memorybook", "told")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            flock(descriptor, LOCK_EX)
            if os.pread(descriptor, 100, 0) == mark and abs(time() - os.fstat(descriptor).st_mtime) < AGAIN:
                return True
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, mark, 0)
        finally:
            os.close(descriptor)
    except OSError:  # then a model is rather told twice than never
        pass
    return False


# --- events while the settings cannot be read -------------------------------------------------------


def settings(cwd: str) -> tuple[Config, bool]:
    """Return the settings of a folder and whether they could be read; else those of `config.settings.where`."""
    from memorybook.config.settings import load, where
    from memorybook.errors import MemoryBookError, MissingExtra

    try:
        try:
            return load(cwd=cwd, env=os.environ), True
        except MissingExtra:
            find_dependencies()
            return load(cwd=cwd, env=os.environ), True
    except (MemoryBookError, OSError):
        return where(cwd=cwd, env=os.environ), False


def settle(root: str) -> None:
    """Move the unsettled events of a book to the queue, or drop them."""
    from memorybook.sessions import event_queue

    machine = os.path.join(root, ".memorybook")
    for name in event_queue.names(machine, part=event_queue.UNSETTLED):
        cwd = (event_queue.read(machine, name, part=event_queue.UNSETTLED) or {}).get("cwd") or os.getcwd()
        config, readable = settings(cwd)
        if readable and config.enabled and config.auto_capture_on_new_session:
            event_queue.settle(machine, name)
        elif readable:
            event_queue.remove(machine, name, part=event_queue.UNSETTLED)


def waiting(cwd: str, *, book: str | None, project: str | None) -> str:
    """Say why events wait in the book meant there, while the settings cannot be read; "" if none do."""
    from memorybook.config.project import book_root
    from memorybook.config.settings import where
    from memorybook.errors import InvalidInput
    from memorybook.sessions import event_queue
    from memorybook.sessions.ingest import waits

    try:
        root = book_root(where(cwd=cwd, env=os.environ), cwd=cwd, book=book, project=project)
    except InvalidInput:
        return ""
    count = len(event_queue.names(os.path.join(root, ".memorybook"), part=event_queue.UNSETTLED))
    return waits(count) if count else ""


# --- reading ---------------------------------------------------------------------------------------


def received(descriptor: int) -> dict[str, Any] | None:
    """Read a JSON object as soon as it is complete, for not every host closes its end. None if none comes."""
    data = b""
    while len(data) <= LARGEST:
        piece = os.read(descriptor, 1 << 16)
        data += piece
        if not piece or piece.rstrip().endswith(b"}"):
            with suppress(ValueError, RecursionError):  # it is not whole yet, or never will be
                told = json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
                if isinstance(told, dict):
                    return told
        if not piece:
            return None
    return None


# --- answering -------------------------------------------------------------------------------------


def respond(event: str, text: str) -> None:
    """Give the host a text for the model: just these fields, for Codex takes an answer with any other for an error."""
    told = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    data = f"{json.dumps(told)}\n".encode("ascii")
    while data:
        data = data[os.write(1, data) :]


def _keep(asked: Asked, kind: str, told: Mapping[str, Any], config: Config, root: str, part: str) -> None:
    """Put the event into the spool, or into a part of it, with the secrets masked in what was said."""
    from time import gmtime, strftime

    from memorybook.sessions.event_queue import put

    fields = {"host": asked.host, "kind": kind, "time": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), "cwd": os.getcwd()}
    names = _TEXT if asked.host == "gemini" else _TEXT[:4]
    fields |= {name: value for name in names if isinstance(value := told.get(name), str) and value}
    fields |= {name: _masked(fields[name], config) for name in _SAID if name in fields}
    if kind == "end" and not os.path.exists(os.path.expanduser(fields.get("transcript_path", ""))):
        fields.pop("transcript_path", None)  # no word was said: one that is gone later has been lost
    put(os.path.join(root, ".memorybook"), fields, part=part)


def _masked(text: str, config: Config) -> str:
    """Mask the secrets of a text; a very long one is masked at ingestion instead."""
    if not config.redaction.enabled or len(text) > _LONGEST:
        return text
    from memorybook.errors import ConfigError
    from memorybook.text.redact import redact

    try:
        return redact(text, config.redaction.patterns).text
    except ConfigError:  # a pattern that nobody can use is told where settings are
        return redact(text).text


# --- context for a host's model: memories when a session starts, then what each prompt finds ------


MOST_TOKENS = 2_000
"""Tokens of the block at the start of a session."""

OF_A_PROMPT = 1_000
"""Tokens of the block of a prompt."""

LONGEST_QUERY = 2_000
"""Characters of a prompt that are searched with: the rest is mostly what was pasted."""

AT_ONCE = 100_000
"""Bytes of new text that are indexed before a prompt is answered: at most half a second's work."""

LONGEST_QUESTION = 100
"""Characters up to which a prompt may ask for nothing but earlier talk."""

TALKING = (
    *("ask", "say", "said", "tell", "told", "talk", "discuss", "chat", "speak", "spoke", "leave", "left", "stop"),
    *("问", "聊", "谈", "说", "讲", "讨论"),
)
"""One of these has to occur in such a question."""

PATIENCE = 1.5
"""Seconds at most that an embedding service has for a prompt: words answer it in time, too."""

LATELY = 3
"""Past sessions that one that begins is told of: the newest of which there is something to tell."""


def context(kind: str, told: Mapping[str, Any], config: Config, root: str) -> str:
    """Return the block for the `start` of a session or for a `prompt`; "" if there is nothing to say.

    Args:
        kind: Which of the two.
        told: The host's event.
        config: The settings that hold where the host works.
        root: The book's directory.
    """
    session = told.get("session_id")
    session = session if isinstance(session, str) else ""
    if kind == "start":
        return beginning(config, root, session="" if told.get("source") in ("startup", "clear") else session)
    prompt = told.get("prompt")
    asked = prompt.strip() if isinstance(prompt, str) else ""
    if not asked or (asked[0] == "/" and "/" not in asked.split(None, 1)[0][1:]):  # a command of the host: `/clear`
        return ""
    memory = _opened(config, root)
    index: Any = memory.book.index  # those that keep nothing take no notice
    index.most = AT_ONCE
    text = _found(memory, asked[:LONGEST_QUERY], session)
    if getattr(index, "behind", False):
        catch_up_aside(root)
    return text


def beginning(config: Config, root: str, *, session: str = "") -> str:
    """Return the memories of every prompt, then recent conversations as far as there is room.

    Without a session, which would be left out, it is told as it was prepared, or kept for the next that begins.
    """
    state = cache_key(root, config)
    block = None if session else cached(root, state)
    if block is None:
        with _opened(config, root) as memory:
            block = _beginning(memory, session)
        if not session:
            keep_block(root, state, block)
    return block


def _opened(config: Config, root: str) -> Memory:
    find_dependencies()
    from memorybook.memory import open as open_memory

    service = config.embeddings._replace(timeout=min(config.embeddings.timeout, PATIENCE))
    memory = open_memory(root, config=config._replace(embeddings=service), door="hook")
    memory.book.background = False
    return memory


def _beginning(memory: Memory, session: str) -> str:
    known = memory.recall("", max_tokens=MOST_TOKENS)
    if known.tokens > MOST_TOKENS:  # the page of `flat` is never cut
        from memorybook.prompt.recall import build

        known = build(memory.context, "", max_tokens=MOST_TOKENS).use()
    left = MOST_TOKENS - known.tokens - 1
    if left < 1 or not memory.config.recall.auto_recall:
        return known.text
    from memorybook.sessions import recalls

    current = session or None
    past = recalls.recall_history(
        memory.context, LATELY, since=None, until=None, current=current, max_tokens=left, telling=True
    )
    return "\n".join(filter(None, (known.text, past.text)))


def _found(memory: Memory, query: str, session: str) -> str:
    """Return what the book says about a prompt, or the past conversations it asks about, without this session."""
    from memorybook.errors import MemoryBookError
    from memorybook.prompt.recall import build

    current = None
    with suppress(MemoryBookError):  # a session that the book does not know
        current = memory.book.transcripts.session(session).uuid if session else None
    said = query.lower()
    if len(query) <= LONGEST_QUESTION and any(word in said for word in TALKING):
        from memorybook.sessions.recalls import of_talks

        past = of_talks(memory.context, query, current=current, max_tokens=OF_A_PROMPT)
        if past is not None and past.text:
            return past.text
    return build(memory.context, query, max_tokens=OF_A_PROMPT, without=current, unasked=True).use().text


# --- processes of its own, and packages for a hook that was started without site ------------------


def ingest_aside(root: str) -> None:
    """Ingest the event queue in a process of its own."""
    from memorybook.sessions.event_queue import names

    if names(os.path.join(root, ".memorybook")):
        _aside(root, "hook", "ingest")


def catch_up_aside(root: str) -> None:
    """Update the index in a process of its own, one at a time; failures are ignored."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    path = os.path.join(root, ".memorybook", "catching-up.lock")
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            os.set_inheritable(lock, True)  # so it is held until that process has ended
            _aside(root, "sync")
        finally:
            os.close(lock)


def _aside(root: str, *words: str) -> None:
    """Start a command on the book that outlives the host."""
    # -P: what lies in the folder that the host works in is never imported
    command = [sys.executable, "-P", "-m", "memorybook", "--book", root, "--quiet", *words]
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    try:
        os.posix_spawn(sys.executable, command, os.environ, file_actions=silent, setsid=True)
    except NotImplementedError:  # a system that has no such flag: then it ends with the host's group, if that is ended
        os.posix_spawn(sys.executable, command, os.environ, file_actions=silent)


def find_dependencies() -> None:
    """Let the packages be found that a search or the settings need, for a process that was started without `site`."""
    if not sys.flags.no_site:
        return
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not os.path.isdir(os.path.join(here, "apsw")):
        import site

        site.main()


# --- cache of the block for the start of a session ------------------------------------------------


def cache_key(root: str, config: Config) -> str:
    """Return the cache key, one line that is equal while no source changed; compute it before the block.

    "" if it is unknown because the sessions are on a server.
    """
    if config.transcripts.url:
        return ""
    kept = config.transcripts.db_path or os.path.join(root, ".memorybook", "transcripts.sqlite")
    pages = [os.path.join(book, "MEMORY.md") for book in (root, *config.layers) if book]
    paths = (__file__, *pages, kept, f"{kept}-wal")
    from time import strftime

    return " ".join([strftime("%Y-%m-%d"), *map(_stamp_of, paths), ascii(config)])


def _stamp_of(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}" if status.st_size else "-"


def cached(root: str, state: str) -> str | None:
    """Return the block that was saved with this key, or None."""
    from memorybook.formats.document import PREPARED

    try:
        with open(os.path.join(root, ".memorybook", PREPARED), encoding="utf-8", newline="") as file:
            return file.read() if state and file.readline() == f"{state}\n" else None
    except (OSError, UnicodeDecodeError):
        return None


def keep_block(root: str, state: str, block: str) -> None:
    """Save the block under this key, if the folder can be written and the key is not ""."""
    if not state:
        return
    from memorybook.formats.document import PREPARED

    path = os.path.join(root, ".memorybook", PREPARED)
    aside = f"{path}.{os.getpid()}"
    with suppress(OSError, UnicodeEncodeError):
        try:
            with open(aside, "w", encoding="utf-8", newline="", opener=_own_file) as file:
                file.write(f"{state}\n{block}")
            os.replace(aside, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(aside)


def _own_file(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
