"""Documents as wholes: written with their revision, renamed, removed, taken back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import memorybook
from memorybook import locale
from memorybook.config.settings import Config
from memorybook.entries import documents
from memorybook.errors import Conflict, InvalidInput, MissingDocument, Unavailable, UnsafePath
from memorybook.formats import memory_md


def test_a_document_is_written_found_and_read_with_its_revision(memory: memorybook.Memory) -> None:
    written = memory.write_document("wiki/deploy.md", "# Deploy\n\nThe staging host is hafnium.\n", expect="")
    read = memory.document("wiki/deploy.md")
    assert (read.text, read.revision) == ("# Deploy\n\nThe staging host is hafnium.\n", written.revision)
    assert [info.path for info in memory.documents()] == ["wiki/deploy.md"]
    assert memory.search("staging host").hits[0].passage.path == "wiki/deploy.md"


def test_who_writes_from_an_older_revision_is_told_so_and_nothing_is_lost(memory: memorybook.Memory) -> None:
    first = memory.write_document("a.md", "一\n")
    second = memory.write_document("a.md", "二\n", expect=first.revision)
    acts: list[Callable[[], object]] = [
        lambda: memory.write_document("a.md", "三\n", expect=first.revision),
        lambda: memory.write_document("a.md", "三\n", expect=""),
        lambda: memory.remove_document("a.md", expect=first.revision),
        lambda: memory.rename_document("a.md", "b.md", expect=first.revision),
        lambda: memory.write_document("none.md", "三\n", expect=first.revision),
    ]
    for act in acts:
        with pytest.raises(Conflict):
            act()
    assert memory.document("a.md").revision == second.revision
    assert [info.path for info in memory.documents()] == ["a.md"]


def test_the_same_text_once_more_is_no_operation(memory: memorybook.Memory) -> None:
    memory.write_document("a.md", "text\n")
    assert memory.write_document("a.md", "text\n").operation is None


def test_a_document_is_renamed_and_removed_and_each_is_taken_back(memory: memorybook.Memory) -> None:
    memory.write_document("a.md", "text\n")
    memory.write_document("b.md", "other\n")
    with pytest.raises(Conflict):
        memory.rename_document("a.md", "b.md")
    with pytest.raises(InvalidInput):
        memory.rename_document("a.md", "a.md")
    renamed = memory.rename_document("a.md", "deep/c.md")
    assert [info.path for info in memory.documents()] == ["b.md", "deep/c.md"]
    removed = memory.remove_document("deep/c.md")
    assert removed.revision is None
    for operation in (removed.operation, renamed.operation):
        assert operation is not None
        memory.undo(operation)
    assert {info.path for info in memory.documents()} == {"a.md", "b.md"}
    assert memory.document("a.md").text == "text\n"


def test_who_names_no_revision_moves_and_removes_what_was_written_just_before(
    memory: memorybook.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = memory.book.apply

    def overtaken(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(memory.book, "apply", apply)
        memory.write_document("a.md", "newer\n")
        return apply(*given, **more)

    acts: list[Callable[[], object]] = [
        lambda: memory.rename_document("a.md", "b.md"),
        lambda: documents.rename_documents(memory.context, {"a.md": "c.md"}),
        lambda: memory.remove_document("a.md"),
        lambda: documents.remove_documents(memory.context, ["a.md"]),
    ]
    for act in acts:
        memory.write_document("a.md", "older\n")
        monkeypatch.setattr(memory.book, "apply", overtaken)
        act()
    assert {info.path: memory.document(info.path).text for info in memory.documents()} == dict.fromkeys(
        ("b.md", "c.md"), "newer\n"
    )


def test_what_is_not_there_and_what_cannot_be_a_path_is_said(memory: memorybook.Memory) -> None:
    acts: list[Callable[[], object]] = [
        lambda: memory.document("none.md"),
        lambda: memory.remove_document("none.md"),
        lambda: memory.rename_document("none.md", "b.md"),
    ]
    for act in acts:
        with pytest.raises(MissingDocument):
            act()
    for path in ("../a.md", "/a.md", "a.txt", ".memorybook/a.md", ""):
        with pytest.raises(UnsafePath):
            memory.write_document(path, "text\n")


def test_while_memory_is_switched_off_documents_are_read_and_not_written(tmp_path: Path) -> None:
    root = tmp_path / "book"
    with memorybook.open(str(root)) as memory:
        memory.write_document("a.md", "text\n")
    with memorybook.open(str(root), config=Config(enabled=False)) as memory:
        acts: list[Callable[[], object]] = [
            lambda: memory.write_document("b.md", "text\n"),
            lambda: memory.rename_document("a.md", "b.md"),
            lambda: memory.remove_document("a.md"),
        ]
        for act in acts:
            with pytest.raises(Unavailable, match="switched off"):
                act()
        assert memory.document("a.md").text == "text\n"
        assert [info.path for info in memory.documents()] == ["a.md"]


PASSED = "Zq7!mbKp4w9"
NAMED = [
    f"my password is {PASSED}", f"我的密码是{PASSED}", f"{PASSED} is my password",
    "deploy ghp_" + "A8f3kQ9zLm2XcNw5" * 2 + "abcd", f"db_password={PASSED}", f"wifi Home 密码 {PASSED}",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("place", ["{}.md", "notes/{}.md", "{}/a.md", "{}.txt.plain.md"])
def test_no_document_is_called_by_a_secret(memory: memorybook.Memory, name: str, place: str) -> None:
    memory.write_document("a.md", "text\n")
    path = place.format(name)
    acts: list[Callable[[], object]] = [
        lambda: memory.write_document(path, "text\n"),
        lambda: memory.rename_document("a.md", path),
        lambda: documents.rename_documents(memory.context, {"a.md": path}),
    ]
    for act in acts:
        with pytest.raises(InvalidInput, match="its name looks like a secret") as told:
            act()
        assert not any(secret in str(told.value) for secret in (PASSED, "A8f3kQ9z"))
    assert [info.path for info in memory.documents()] == ["a.md"]


def test_names_that_only_speak_of_secrets_are_names(memory: memorybook.Memory) -> None:
    for path in (
        "password-policy.md",
        "密码管理.md",
        "api-keys/rotation-2026.md",
        "notes/token-128k.md",
        "pin-board.md",
    ):
        memory.write_document(path, "text\n")


def test_a_document_that_a_person_called_so_is_written_all_the_same(memory: memorybook.Memory) -> None:
    memory.write_document("a.md", "text\n")
    path = f"password {PASSED}.md"
    Path(memory.root, path).write_text("mine\n")
    memory.write_document(path, "ours\n")


def test_secrets_are_masked_on_this_way_in_too(memory: memorybook.Memory) -> None:
    written = memory.write_document("a.md", "api_key = sk-proj-" + "a1B2" * 12 + "\n我的密码是 Tr0ub4dor&3\n")
    assert written.redacted == 2
    assert "a1B2" not in memory.document("a.md").text


def test_an_agent_rewrites_what_its_entry_says_but_not_how_well_it_is_trusted(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), door="cli") as person:
        kept = person.remember("用户住在杭州。").known.entry
    with memorybook.open(str(tmp_path / "book"), door="mcp") as memory:
        said = memory.remember("The user drinks green tea.", category="preference").known.entry
        text = memory.document("MEMORY.md").text
        forged = text.replace("green tea", "black tea").replace("score: 0.6;", "score: 1;").replace(" | 1\n", " | 99\n")
        assert "score: 1;" in forged
        assert " | 99\n" in forged
        record = "score: 1; created: 2020-01-01T00:00:00Z; session: another; trust: user; pinned"
        added = f"\n### [zzzzzz] fact | 1.00 | 2020-11-22 | 500\nThe API is called Kestrel.\n<!-- {record} -->\n"
        memory.write_document("MEMORY.md", forged + added, expect=memory.document("MEMORY.md").revision)
        entries = {entry.id: entry for entry in memory.book.entries()}
        assert entries[said.id].text == "The user drinks black tea."
        assert (entries[said.id].score, entries[said.id].hits, entries[said.id].trust) == (said.score, 1, "agent")
        assert entries[kept.id] == kept
        [new] = [entry for entry in entries.values() if "Kestrel" in entry.text]
        assert (new.score, new.hits, new.session, new.pinned, new.trust) == (0.6, 1, None, False, "agent")
        assert new.created
        assert new.created.year > 2020
        memory.write_document("archive/old.md", memory.document("MEMORY.md").text, expect="")
        moved = memory_md.parse(memory.document("archive/old.md").text, modified=memory.book.now()).get(kept.id)
        assert moved
        assert (moved.trust, moved.created) == (kept.trust, kept.created)


def test_an_agent_does_not_write_in_a_persons_place_nor_drop_what_they_said(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), door="cli") as person:
        said = person.remember("The user drinks green tea.").known.entry
        person.append("answers in English", section="Preferences")
        before = person.document("MEMORY.md").text
    with memorybook.open(str(tmp_path / "book"), door="mcp") as memory:
        for act in (memory.remove_document, lambda path: memory.rename_document(path, "old.md")):
            with pytest.raises(InvalidInput, match="holds what is remembered, it stays"):
                act("MEMORY.md")
        memory.write_document("MEMORY.md", before.replace("in English\n", "in English\n- pushes at once\n\n### 其它\n"))
        assert memory.entries(state="active").entries[0].entry == said
        recalled = memory.recall("").text
        assert "- answers in English" in recalled
        assert "pushes" not in recalled
        assert "其它" not in recalled
        stamped = memory.document("MEMORY.md").text
        assert "\n- pushes at once <!-- trust: agent -->\n\n### 其它 <!-- trust: agent -->\n" in stamped
        memory.write_document("MEMORY.md", stamped.replace("once <!-- trust: agent -->", "once"))
        assert memory.document("MEMORY.md").text == stamped
        memory.append("filed", section="其它")
        assert memory.document("MEMORY.md").text.count("其它") == 1
        memory.write_document("MEMORY.md", "- all of it, anew\n- answers in English\n")
        assert memory.document("MEMORY.md").text.startswith("- all of it, anew <!-- trust: agent -->\n")
        [kept] = memory.entries().entries
        assert (kept.entry.id, kept.entry.text, kept.entry.state) == (said.id, said.text, "active")


SAID = ("The user drinks green tea every day.", "用户每天早上喝绿茶。")

EDITS = [
    ("green tea every day", "x"), ("green tea every day", "green tea every da"),
    ("drinks green tea", "hardly ever drinks green tea"), ("The user drinks green tea every day.", "Nothing is known."),
    ("The user drinks green tea every day.", "It is not so that the user drinks green tea every day."),
    ("每天早上喝绿茶", "。"), ("每天早上喝绿茶", "每天早上喝红茶"), ("用户每天早上喝绿茶", "用户每天早上不喝绿茶"),
    ("绿茶", ""), ("用户每天早上喝绿茶。", "不清楚。"), ("Active", "Archived"),
]  # fmt: skip
"""Edits of a page that take away something of an entry of a person's."""


@pytest.fixture
def said(tmp_path: Path) -> Path:
    """A book in which a person said something, wrote lines, and made a page of notes by hand."""
    with memorybook.open(str(tmp_path / "book"), door="cli") as person:
        for text in SAID:
            person.remember(text)
        person.append("answers in English", section="Preferences")
        person.append("用中文回答", section="Preferences")
        Path(person.root, "notes").mkdir()
        Path(person.root, "notes", "trip.md").write_text(
            "# Trip\n\n- train at nine\n- 带上护照\n", encoding="utf-8", newline=""
        )
    return tmp_path / "book"


def active(memory: memorybook.Memory) -> set[str]:
    return {known.entry.text for known in memory.entries(state="active").entries if known.entry.trust == "user"}


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_what_an_agent_would_take_away_of_a_persons_entry_waits_for_them(said: Path, old: str, new: str) -> None:
    with memorybook.open(str(said), door="mcp") as agent:
        text = agent.document("MEMORY.md").text
        assert old in text
        written = agent.write_document("MEMORY.md", text.replace(old, new))
        assert len(written.proposals) == (2 if old == "Active" else 1)
        assert written.json()["proposals"] == list(written.proposals)
        assert written.operation is None or old == "Active"
        assert active(agent) == set(SAID)
        agent.tidy()
        assert active(agent) == set(SAID)
    with memorybook.open(str(said), door="cli") as person:
        assert [waiting.stale for waiting in person.review().proposals] == [""] * len(written.proposals)
        person.accept(every=True)
        assert active(person) < set(SAID)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("trust: user", "trust: agent"),
        ("<!-- ", "<!-- expires: 2020-01-01; "),
        ("green tea every day.", "green  tea every day!"),
        ("用户每天早上喝绿茶。", "用户每天早上喝绿茶！"),
        ("| 1\n", "| 1\n\n"),
    ],
)
def test_what_says_the_same_does_not_wait_and_stays_a_persons(said: Path, old: str, new: str) -> None:
    with memorybook.open(str(said), door="mcp") as agent:
        text = agent.document("MEMORY.md").text
        assert old in text
        assert agent.write_document("MEMORY.md", text.replace(old, new)).proposals == ()
        assert len(active(agent)) == 2
        assert {known.entry.expires for known in agent.entries().entries} == {None}


@pytest.mark.parametrize("left", ["", "# Agent Memory\n", "- 新的一页\n"])
def test_an_agent_that_empties_the_page_takes_nothing_away(said: Path, left: str) -> None:
    with memorybook.open(str(said), door="mcp") as agent:
        agent.remember("The build takes ten minutes.")
        text = agent.document("MEMORY.md").text
        for path in ("MEMORY.md", "archive/2026-01.md"):
            agent.write_document("archive/2026-01.md", "# Archive 2026-01\n" + text[text.index("### ") :])
            with pytest.raises(InvalidInput, match="it stays"):
                agent.remove_document(path)
            with pytest.raises(InvalidInput, match="it stays"):
                agent.rename_document(path, "old.md")
            with suppress(InvalidInput):  # which says that the lines stay
                agent.write_document(path, left)
        assert active(agent) == set(SAID)
        assert {"- answers in English", "- 用中文回答"} <= {*agent.document("MEMORY.md").text.split("\n")}


@pytest.mark.parametrize(
    ("old", "new", "accepted"),
    [
        ("- answers in English\n", "", "- answers in English\n"),
        ("- answers in English", "- answers in French", "- answers in English"),
        ("- answers in English", "- answers", "- answers in English"),
        ("- 用中文回答", "- 用英文回答", "- 用中文回答"),
        ("- 用中文回答\n", "", "- 用中文回答\n"),
        ("- answers in English\n- 用中文回答\n", "- nothing\n", "- 用中文回答\n"),
        ("- answers in English", "- answers in English <!-- trust: agent -->", "- answers in English\n"),
    ],
)
def test_what_an_agent_would_take_away_of_a_persons_lines_waits(said: Path, old: str, new: str, accepted: str) -> None:
    with memorybook.open(str(said), door="mcp") as agent:
        text = agent.document("MEMORY.md").text
        assert old in text
        [waits] = agent.write_document("MEMORY.md", text.replace(old, new)).proposals
        assert agent.document("MEMORY.md").text == text
        agent.append("an agent's", section="Preferences")
    with memorybook.open(str(said), door="cli") as person:
        person.accept(waits)
        now = person.document("MEMORY.md").text
        assert accepted not in now
        assert new in now


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- answers in English", "# answers in English"),
        ("- 用中文回答", "## Active Memories\n- 用中文回答"),
        ("- 用中文回答", "## 偏好\n- 用英文回答"),
    ],
)
def test_a_persons_line_becomes_no_agents_and_no_heading(said: Path, old: str, new: str) -> None:
    with memorybook.open(str(said), door="mcp") as agent:
        text = agent.document("MEMORY.md").text
        with pytest.raises(InvalidInput, match="lines that a person wrote, which stay"):
            agent.write_document("MEMORY.md", text.replace(old, new))
        assert agent.document("MEMORY.md").text == text
        agent.write_document("MEMORY.md", text.replace("# Preferences", "# 偏好\n\n- my own"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- train at nine\n", ""), ("- train at nine", "- train at ten"),
        ("# Trip\n\n- train at nine\n- 带上护照\n", ""), ("- 带上护照\n", ""), ("- 带上护照", "- 不带护照"),
        ("- train at nine\n- 带上护照\n", "- 无\n"),
    ],
)  # fmt: skip
def test_a_persons_notes_are_not_an_agents_to_edit_away(said: Path, old: str, new: str) -> None:
    path = "notes/trip.md"
    with memorybook.open(str(said), door="mcp") as agent:
        before = agent.document(path).text
        with_more = agent.write_document(path, before + "- window seat\n- 靠窗\n")
        assert (with_more.proposals, agent.document(path).text) == ((), before + "- window seat\n- 靠窗\n")
        [waits] = agent.write_document(path, before.replace(old, new)).proposals
        assert agent.document(path).text == before  # its own lines were its own to take out
        assert agent.review().proposals[0].told
    with memorybook.open(str(said), door="cli") as person:
        person.accept(waits)
        assert person.document(path).text.strip() == before.replace(old, new).strip()


def test_a_persons_notes_are_not_an_agents_to_remove_under_any_name(said: Path) -> None:
    with memorybook.open(str(said), door="mcp") as agent:
        agent.rename_document("notes/trip.md", "old.md")
        removed = agent.remove_document("old.md")
        assert removed.proposals
        assert removed.revision == agent.document("old.md").revision
        assert documents.remove_documents(agent.context, ["old.md"]) == removed.proposals
        agent.write_document("mine.md", "- my own\n- 我的\n")
        assert agent.write_document("mine.md", "- 我的\n").proposals == ()
        agent.rename_document("mine.md", "moved.md")
        assert agent.remove_document("moved.md").proposals == ()
    with memorybook.open(str(said), door="cli") as person:
        person.reject(removed.proposals[0])
    with memorybook.open(str(said), door="mcp") as agent:
        with pytest.raises(InvalidInput, match="rejected this edit before"):
            agent.remove_document("old.md")
        assert "带上护照" in agent.document("old.md").text


def test_a_person_writes_the_page_as_an_editor_does(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), door="cli") as person:
        person.remember("The user drinks green tea.")
        text = person.document("MEMORY.md").text.replace("green", "black")
        person.write_document("MEMORY.md", text)
        assert person.document("MEMORY.md").text == text


def test_why_an_edit_waits_is_told_in_chinese_too(said: Path) -> None:
    with memorybook.open(str(said), door="mcp") as agent:
        agent.write_document("notes/trip.md", "# Trip\n\n- train at nine\n")
        [waiting] = agent.review().proposals
    assert waiting.proposal.reason == "an agent's edit of notes/trip.md, which a person wrote"
    assert locale.translate(waiting.proposal.reason, "zh") == "代理要改动用户写的 notes/trip.md"
