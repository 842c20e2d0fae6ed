"""Looking back on the command line: what history, why, undo and purge ask the tools, and how their answers read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memorybook
from memorybook.cli.call import Call, Declined
from memorybook.cli.show import Page, answer
from memorybook.config.settings import Config
from memorybook.entries.history import undo
from memorybook.errors import InvalidInput, NotFound
from memorybook.memory import Memory
from memorybook.model import Add, Append, Discarded, Entry, Supersede

NOW = datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(timezone="UTC", vector_enabled=False)
    with memorybook.open(str(tmp_path / "book"), config=config, clock=lambda: NOW, missing_ok=True) as opened:
        yield opened


Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command line on the open memory: what stands on stdout and on stderr."""

    def done(verb: str, *words: str, confirmed: bool = True) -> tuple[str, str]:
        warnings: list[str] = []

        def confirm(call: Call, question: str) -> None:
            warnings.append(question)
            if not confirmed:
                raise Declined("nothing was changed")

        monkeypatch.setattr(Call, "confirm", confirm)
        monkeypatch.setattr(Call, "warn", lambda call, message: warnings.append(message))
        call = Call(verb, list(words), memory)
        answer(verb, call.run() or {}, Page(call.options))
        out, err = capsys.readouterr()
        return out, err + "\n".join(warnings)

    return done


def newest(memory: Memory) -> str:
    return memory.book.journal.operations(limit=1)[0].id


def test_history_reads_like_a_diary(memory: Memory, run: Run) -> None:
    assert run("history") == ("Nothing was done yet.\n", "")
    tea = memory.remember("The tea is black").known.entry.id
    memory.pin(tea)
    pinned = newest(memory)
    memory.book.apply(
        [], actor="agent", door="mcp", kind="memorize",
        discarded=[Discarded(text="maybe tea", reason="stands in no turn")], usage={"calls": 1, "input_tokens": 812},
    )  # fmt: skip
    undo(memory.context, pinned)
    out, _ = run("history")
    lines = out.splitlines()
    assert lines[0].startswith("2026-02-24 10:12  undo      2026")
    assert lines[0].endswith("agent (python)")
    assert lines[1] == f"  ~ {tea}: pinned yes → no (undone: pinned)"
    assert lines[2] == f"    undoes {pinned}"
    assert "    left out (stands in no turn): maybe tea" in lines
    assert "    calls 1, input tokens 812" in lines
    assert f"    undone by {newest(memory)}" in lines
    assert f"  + {tea}: The tea is black (remembered)" in lines
    assert run("history", tea, "-n", "1")[1] == "memorybook: older ones with --limit\n"


def test_why_reads_from_the_statement_down(memory: Memory, run: Run, tmp_path: Path) -> None:
    chat = tmp_path / "talk.jsonl"
    chat.write_text(
        '{"role": "user", "content": "Remember that my uncle is a xylophonist.", "session": "s1"}\n', "utf-8"
    )
    memory.import_file(str(chat))
    [known] = memory.entries().entries
    id = known.entry.id
    memory.recall("what does my uncle do?")
    day = NOW.date()
    new = Entry(id="new", text="The uncle retired", category="fact", score=0.5, scored=day, last_activated=day)
    memory.book.apply([Add(entry=new), Supersede(id=id, by="new")], actor="user", door="cli", kind="update")
    out, _ = run("why", id)
    assert out.startswith(f"{known.entry.text}\n  [{id}] ")
    assert "superseded" in out
    assert "It rests on\n  turn:" in out
    assert "    Remember that my uncle is a xylophonist.\n" in out
    assert "What was done to it\n  2026-02-24 10:12  import" in out
    assert "It was replaced by\n  [new] The uncle retired\n" in out
    assert "The last prompts it entered\n  2026-02-24 10:12  what does my uncle do?\n" in out
    assert f"It replaces\n  [{id}] {known.entry.text}\n" in run("why", "new")[0]
    memory.book.transcripts.remove(known.entry.session or "")
    assert "    no longer kept\n" in run("why", id)[0]
    memory.forget("new")
    assert run("why", "new")[0].startswith("new is no longer in the book.\n")


def test_undo_says_what_it_did_and_how_to_have_it_again(memory: Memory, run: Run) -> None:
    memory.context = memory.context._replace(door="cli", actor="user")
    memory.remember("Tea")
    tea = newest(memory)
    memory.append("a line")
    line = newest(memory)
    for words in ([line], []):  # without an operation the last one is meant
        out, err = run("undo", *words, "--dry-run")
        assert out.startswith(f"would undo append {line}\n")
        assert err == ""
    out, err = run("undo", line)
    assert out.splitlines()[0] == f"undid append {line}"
    assert "  daily/2026-02-24.md is as it was before, to the byte" in out
    assert err == f"memorybook: to have it again: memorybook undo {newest(memory)}\n"
    agents = Append(path="daily/2026-02-25.md", line="- 10:12 of an agent")
    memory.book.apply([agents], actor="agent", door="mcp", kind="append")
    assert run("undo")[0].startswith(f"undid remember {tea}\n"), "what stands, is a person's, and is no undo"
    with pytest.raises(NotFound, match="nothing of yours is left"):
        run("undo")
    memory.append("first")
    first = newest(memory)
    memory.append("second")
    assert "  daily/2026-02-24.md keeps what else changed in it since" in run("undo", first)[0]


def test_purge_asks_and_shows_what_went(memory: Memory, run: Run) -> None:
    id = memory.remember("The key hangs behind the xylophone").known.entry.id
    with pytest.raises(Declined):
        run("purge", id, confirmed=False)
    assert memory.entries().total == 1
    out, err = run("purge", id, "--dry-run")
    assert (out, err) == (f"would purge 1 entry\n  entries   {id}\n", "")
    out, err = run("purge", id)
    assert err == "would purge 1 entry\nErase this for good? It cannot be undone."
    assert out.startswith(f"purged 1 entry\n  entries   {id}\n  erased ")
    memory.forget(memory.remember("The key hangs behind the bassoon").known.entry.id)
    out, err = run("purge", "--forgotten", "--yes")
    assert "purged nothing\n  erased 4 texts" in out
    with pytest.raises(InvalidInput, match="one of"):
        run("purge")
    with pytest.raises(InvalidInput, match="one of"):
        run("purge", id, "--forgotten")
