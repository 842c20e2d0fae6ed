"""The summaries of a session and of its chats follow what is said, never the first characters, never a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

import memorybook
from books import CONFIG, NOW, summary_vectors
from memorybook.config.settings import Config
from memorybook.memory import Memory
from memorybook.model import Session, Turn
from memorybook.sessions.summary import refresh
from memorybook.sessions.user_commands import obey
from memorybook.testing import FailingEmbedder, HashEmbedder, ScriptedLLM

MOVE = "We are moving to Leipzig in May because of the new job at Globex."
HARBOUR = "我们决定周六上午十点在码头见面，然后坐船去小岛。"

FILLER = ("Go on.", "Yes.") * 3

Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    memories: list[Memory] = []

    def open_book(config: Config = CONFIG, **options: Any) -> Memory:
        options.setdefault("embedder", HashEmbedder())
        memories.append(memorybook.open(str(tmp_path / "b"), config=config, clock=lambda: NOW, **options))
        return memories[-1]

    yield open_book
    for memory in memories:
        memory.close()


def say(memory: Memory, *texts: str, session: str = "s1") -> None:
    """Turns of a user and an assistant in turn."""
    start = len(memory.book.transcripts.turns(session))
    for n, text in enumerate(texts, start):
        role = "assistant" if n % 2 else "user"
        turn = Turn(id=f"t{n}", session=session, text=text, role=role, time=NOW)  # type: ignore[arg-type]
        memory.book.transcripts.append(Session(uuid=session, source="agent"), [turn])


def summary(memory: Memory, session: str = "s1") -> str:
    return memory.book.transcripts.session(session).summary


def vectors(memory: Memory, table: str) -> list[Any]:
    return summary_vectors(f"{memory.root}/.memorybook/transcripts.sqlite", table)


def told(text: str, title: str = "A move") -> dict[str, str]:
    return {"title": title, "summary": text}


def test_a_chat_and_its_session_get_summaries_and_vectors(opened: Open) -> None:
    memory = opened()
    say(memory, f"Hello! {MOVE}", "I'm sorry, I can't help with that.", "Thanks!", "You're welcome!")
    assert refresh(memory.context, "s1") == ""
    transcripts = memory.book.transcripts
    assert transcripts.chat_summaries("s1") == {"t0": f"User: {MOVE}"}
    assert summary(memory) == f"User: {MOVE}"
    assert transcripts.session("s1").title == "We are moving to Leipzig in May because of the new job at…"
    [told_of_session], chats = vectors(memory, "sessions"), vectors(memory, "chats")
    assert chats == [told_of_session, None]
    model, dimensions, vector = told_of_session
    assert (model, len(vector)) == (HashEmbedder().name, 4 * dimensions)


def test_what_is_told_is_not_told_again(opened: Open) -> None:
    memory = opened()
    say(memory, MOVE, "Noted.")
    refresh(memory.context, "s1")
    revision = memory.book.transcripts.revision()
    assert refresh(memory.context, "s1") == ""
    assert memory.book.transcripts.revision() == revision
    say(memory, HARBOUR, "好的。")
    refresh(memory.context, "s1")
    assert summary(memory) == f"用户：{MOVE}\n用户：{HARBOUR}"


def test_at_its_end_a_summary_that_stands_stays(opened: Open) -> None:
    memory = opened(llm=ScriptedLLM())
    say(memory, MOVE, "Good.")
    refresh(memory.context, "s1")
    say(memory, *[HARBOUR, "好的。"] * 4)
    refresh(memory.context, "s1", over=True)
    assert summary(memory) == f"User: {MOVE}"
    say(memory, "Hello!", "Hi!", session="s2")
    refresh(memory.context, "s2", over=True)
    assert summary(memory, "s2") == ""


def test_the_end_of_a_session_leaves_its_chats_with_summaries(opened: Open) -> None:
    memory = opened()
    memory.process_session_end([{"role": "user", "content": MOVE}], "talk")
    [session] = memory.book.transcripts.sessions()
    assert list(memory.book.transcripts.chat_summaries(session.uuid).values()) == [f"User: {MOVE}"]
    assert session.summary == f"User: {MOVE}"
    assert memory.book.transcripts.told(session.uuid).through == 0


def test_what_is_forgotten_takes_the_summaries_along_that_told_of_it(opened: Open) -> None:
    memory = opened()
    say(memory, MOVE, "Good.", HARBOUR, "好的。")
    refresh(memory.context, "s1")
    memory.book.transcripts.remove("s1", ["t0"])
    session = memory.book.transcripts.session("s1")
    assert (session.summary, session.title) == ("", "")
    assert vectors(memory, "sessions") == [None]
    refresh(memory.context, "s1")
    assert summary(memory) == f"用户：{HARBOUR}"


@pytest.mark.parametrize(
    "config", [CONFIG._replace(enabled=False), CONFIG._replace(transcripts=CONFIG.transcripts._replace(enabled=False))]
)
def test_switched_off_nothing_is_written(opened: Open, config: Config) -> None:
    memory = opened()
    say(memory, MOVE, "Good.")
    assert refresh(opened(config).context, "s1") == ""
    assert summary(memory) == ""


def test_of_a_session_that_is_not_kept_nothing_is_done(opened: Open) -> None:
    memory = opened()
    assert refresh(memory.context, "s1") == ""
    say(memory, MOVE)
    assert refresh(memory.context, "s2") == ""


class Strange(FailingEmbedder):
    """An embedder of somebody who has not heard of EmbedderFailed."""

    def embed(self, texts: Sequence[str]) -> NoReturn:
        raise OSError("its weights are down")


@pytest.mark.parametrize("embedder", [FailingEmbedder, Strange])
def test_an_embedder_that_is_down_is_told_of_and_no_trouble(opened: Open, embedder: type[FailingEmbedder]) -> None:
    memory = opened(embedder=embedder())
    say(memory, MOVE, "Good.")
    assert "down" in refresh(memory.context, "s1")
    assert summary(memory) == f"User: {MOVE}"
    for language, text in (("en", "Remember that the harbour is in Kiel."), ("zh", HARBOUR)):
        done = memory.process_session_end([{"role": "user", "content": text}], language)
        assert (done.queued, done.summary != "", len(done.degraded)) == (0, True, 1)
        assert "down" in done.degraded[0]
        assert memory.recall_topic(text).sessions[0].uuid == done.session


@pytest.mark.parametrize(
    ("order", "then", "title"),
    [
        ("Remember that my ferry leaves at 14:30.", "We sail to Marstal in May.", "We sail to Marstal in May"),
        ("记住：我的渡轮十四点三十分开。", "我们五月去青岛坐船。", "我们五月去青岛坐船"),
    ],
)
def test_rules_choose_a_title_anew_once_an_order_that_it_told_of_is_taken_back(
    opened: Open, order: str, then: str, title: str
) -> None:
    memory = opened()
    say(memory, order)
    [turn] = memory.book.transcripts.turns("s1")
    done = obey(memory.context, memory.book.transcripts.session("s1"), turn)
    assert done is not None
    refresh(memory.context, "s1")
    first = memory.book.transcripts.session("s1").title
    assert first
    assert order.endswith(first[1:] + order[-1])
    memory.undo(done.operation or "")
    say(memory, "Done.", then)
    page = memory.process_session_end([], "s1").summary
    session = memory.book.transcripts.session("s1")
    assert (session.title, session.summary.partition(": ")[2] or session.summary.partition("：")[2]) == (title, then)
    assert order[-6:] not in memory.book.documents.read(page).text.partition("## ")[0]


def test_a_title_that_somebody_gave_stays_when_an_order_is_taken_back(opened: Open) -> None:
    memory = opened()
    turn = Turn(id="t0", session="s1", text="Remember that my ferry leaves at 14:30.", role="user", time=NOW)
    memory.book.transcripts.append(Session(uuid="s1", source="agent", title="Crossing to Ærø"), [turn])
    done = obey(memory.context, memory.book.transcripts.session("s1"), turn)
    assert done is not None
    refresh(memory.context, "s1")
    memory.undo(done.operation or "")
    say(memory, "Done.", "We sail to Marstal in May.")
    memory.process_session_end([], "s1")
    session = memory.book.transcripts.session("s1")
    assert (session.title, "ferry" in session.summary) == ("Crossing to Ærø", False)
