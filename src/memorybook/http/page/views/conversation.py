"""One conversation: its summary beside the turns as they were said, and what came of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.results import Known
from memorybook.sessions.recall_block import FoundTurn, Recollection

PER_PAGE = 200
OF_ONE = 20_000
"""Letters of one turn that are shown."""

MOST_BYTES, AROUND = 160_000, 450
"""Bytes of the turns of a page, and what is around each turn or entry: a page stays below 200 kB."""


class Found(NamedTuple):
    """A conversation and the entries that rest on it."""

    recalled: Recollection
    entries: list[Known]


def read(memory: Memory, ask: Ask, id: str) -> Found:
    """Read all turns of the session, and what was remembered of them. Raises NotFound, Unavailable."""
    recalled = memory.recall_session(id, max_tokens=1)
    if recalled.disabled:
        memory.config.check_enabled()
    uuid = recalled.sessions[0].uuid
    return Found(recalled, [known for known in memory.entries().entries if known.entry.session == uuid])


def show(found: Found, ask: Ask) -> dict[str, Any]:
    """Cut the turns into pages, the one of the turn in the query first; put entries beside the turns they rest on."""
    session = found.recalled.sessions[0]
    came: dict[str, list[Known]] = {}
    for known in found.entries:
        turn = (known.entry.source or "").removeprefix("turn:").removeprefix(f"{session.uuid}/")
        came.setdefault(turn, []).append(known)
    pages = list(_pages(found.recalled.turns, came)) or [[]]
    wanted = ask.text("turn")
    place = next((at for at, turns in enumerate(pages, 1) if any(turn.id == wanted for turn in turns)), 1)
    page = ask.number("page", place, len(pages))
    known_turns = {turn.id for turn in found.recalled.turns}
    return {
        "session": session,
        "turns": list(_dated(pages[page - 1], ask)),
        "cut": OF_ONE,
        "total": len(found.recalled.turns),
        "page": page,
        "pages": len(pages),
        "came": came,
        "others": [known for turn, some in came.items() if turn not in known_turns for known in some],
        "entries": len(found.entries),
        "speakers": list(dict.fromkeys(turn.speaker for turn in found.recalled.turns if turn.speaker))[:12],
        "kept": bool(found.recalled.turns),
    }


def _dated(turns: Sequence[FoundTurn], ask: Ask) -> Iterator[tuple[str, FoundTurn]]:
    """Yield turns in the zone of the book, with the day where it is another than that of the one before."""
    before = ""
    for turn in turns:
        moment = ask.local(turn.time)
        day = str(moment or "")[:10]
        yield (day if day != before else ""), turn._replace(time=moment)
        before = day or before


def _pages(turns: Sequence[FoundTurn], came: Mapping[str, Sequence[Known]]) -> Iterator[list[FoundTurn]]:
    page, full = list[FoundTurn](), 0
    for turn in turns:
        shown = [turn.text[:OF_ONE], *(known.entry.text[:200] for known in came.get(turn.id, ()))]
        size = sum(AROUND + len(text.encode("utf-8", "replace")) for text in shown)
        if page and (len(page) == PER_PAGE or full + size > MOST_BYTES):
            yield page
            page, full = [], 0
        page.append(turn)
        full += size
    if page:
        yield page
