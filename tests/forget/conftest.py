"""Talks, orders to forget in them, and all that a book tells afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from memorybook.config.settings import Config, StorageSettings
from memorybook.memory import Memory
from memorybook.model import Session, Turn
from memorybook.sessions.user_commands import Obeyed, obey


@pytest.fixture
def memory(tmp_path: Path, kept_in: str) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path / "book"), config=Config(storage=StorageSettings(kept_in))) as opened:
        yield opened


def talk(memory: Memory, *texts: str, name: str = "s1") -> None:
    """Take in a session of a user and an assistant in turn; a text `Ann: …` is said by Ann."""
    memory.process_session_end([turn(text, number) for number, text in enumerate(texts)], name)


def turn(text: str, number: int = 0) -> dict[str, Any]:
    """A message; `Ann: …` is said by Ann, else a user and an assistant speak in turn."""
    who, mark, rest = text.partition(": ")
    if mark and who.isalpha() and (who.istitle() or not who.isascii()):
        return {"role": "", "speaker": who, "content": rest}
    return {"role": ("user", "assistant")[number % 2], "content": text}


def said(*texts: str) -> list[dict[str, Any]]:
    """Messages of a user."""
    return [{"role": "user", "content": text} for text in texts]


def order(memory: Memory, text: str, *, name: str = "order") -> Obeyed:
    """Say it in a session of its own, and what was done at once."""
    now = memory.book.now()
    said = Turn(id="o1", session=name, role="user", text=text, time=now)
    session = Session(uuid=name, name=name, created=now)
    memory.book.transcripts.append(session, [said])
    done = obey(memory.context, session, said)
    assert done is not None
    return done


def told(memory: Memory, name: str = "s1") -> list[str]:
    """The turns of a session as they stand."""
    return [turn.text for turn in memory.book.transcripts.turns(name)]


def entries(memory: Memory) -> list[str]:
    """The texts of all entries."""
    return [known.entry.text for known in memory.entries().entries]


def state(memory: Memory) -> dict[str, object]:
    """All that a book keeps to tell: documents, and sessions with their turns."""
    book = memory.book
    shown: dict[str, object] = {info.path: book.documents.read(info.path).text for info in book.documents.list()}
    for session in book.transcripts.sessions():
        shown[session.uuid] = (session, told(memory, session.uuid))
    return shown


def everything(memory: Memory, *words: str) -> str:
    """All that a book keeps, and what a search for these words finds."""
    found = [hit.snippet for word in words for hit in memory.search(word).hits]
    return "\n".join([*map(str, state(memory).values()), *found])


def holding(memory: Memory, *words: str) -> list[str]:
    """The files of a book that hold one of these words as bytes, in whatever case."""
    found = [path for path in Path(memory.root).rglob("*") if path.is_file()]
    return [str(path) for path in found if any(word.lower().encode() in path.read_bytes().lower() for word in words)]
