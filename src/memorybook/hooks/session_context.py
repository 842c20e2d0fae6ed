"""Context for a host's model: the strongest memories when a session starts, then what each prompt finds.

All of it stands between the book's markers, as data: they let capture cut it out again.
"""

from __future__ import annotations

import os
import sys

from memorybook._light import TYPE_CHECKING, Any, suppress
from memorybook.errors import MemoryBookError
from memorybook.storage import session_start_cache

if TYPE_CHECKING:
    from memorybook._light import Mapping
    from memorybook.config.settings import Config
    from memorybook.memory import Memory

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
    state = session_start_cache.state(root, config)
    block = None if session else session_start_cache.load(root, state)
    if block is None:
        with _opened(config, root) as memory:
            block = _beginning(memory, session)
        if not session:
            session_start_cache.save(root, state, block)
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

    from memorybook._light import suppress

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
