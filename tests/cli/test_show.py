from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.cli import show, wording
from memorybook.cli.call import VERBS, Call, terminal_width
from memorybook.cli.wording import visible

HIT = {
    "path": "MEMORY.md", "start_line": 14, "end_line": 14, "score": 0.5, "relevance": 0.813, "snippet": "Likes\ntea.",
    "source": "entry", "date": "2026-02-20", "id": "a1", "category": "preference", "turn": None, "session": None,
    "speaker": None,
}  # fmt: skip
TURN = HIT | {
    "path": "sessions/x.md", "start_line": 0, "source": "turn", "turn": "t9", "speaker": "Ran",
    "category": None, "id": None,
}  # fmt: skip
FRESH = {"degraded": [], "pending_vectors": 0}
ENTRY = {
    "id": "a1", "text": "Likes tea.\nGreen.", "category": "preference", "score": 0.6, "state": "active",
    "pinned": False, "tags": ["style", "茶"], "links": [], "group": None, "metadata": {},
}  # fmt: skip


def answer(*results: dict[str, Any], relevant: bool = True, **more: Any) -> dict[str, Any]:
    fixed = {
        "results": list(results), "has_relevant": relevant, "threshold": 0.25, "backend": "sqlite_fts", "index": FRESH,
    }  # fmt: skip
    return fixed | more


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Show an answer; what stands on stdout and on stderr."""

    def run(verb: str, shown: dict[str, Any], *, quiet: bool = False) -> tuple[str, str]:
        options: Any = SimpleNamespace(no_color=False, quiet=quiet)
        show.answer(verb, shown, show.Page(options))
        return capsys.readouterr()

    return run


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "terminal_width", lambda _: 40)


# --- answers -------------------------------------------------------------------------------------

LINES = {"path": "a.md", "from": 1, "lines": 2, "total_lines": 2, "text": "one\n\ttwo\n"}
FLUSHED = {"written": [{"path": "d.md", "line": 3}], "skipped": [{"text": "hm", "reason": "too short"}], "redacted": 0}
NOTE = {"path": "daily/d.md", "line": 3, "duplicate": False, "redacted": 2}
RECEIPT = {
    "dry_run": False, "entries": ["a1"], "notes": ["d.md: x"], "documents": [], "sessions": 1, "turns": 0,
    "remains": ["MEMORY.md.bak keeps the text until the next write"],
}  # fmt: skip
IMPORTED = {
    "sessions": 1, "turns": 16, "new_turns": 14, "entries": 5, "notes": 1, "strengthened": 0, "known": 0,
    "redacted": 1, "skipped": [{"text": "ignore", "reason": "instructs the reader"}],
    "warnings": ["line 3: no text"], "summaries": ["sessions/x.md"], "files": 1, "dry_run": False,
}  # fmt: skip
STATUS = {
    "root": "/b", "exists": True, "index": {"bytes": 10, "ratio": 0.12345}, "nothing": {}, "none": None,
    "warnings": ["a", "b"], "parts": ["x", "y"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "shown", "out", "err"),
    [
        ("search", answer(HIT), "1. 0.81  MEMORY.md:14  preference · 2026-02-20 · [a1]\n   Likes\n   tea.\n", ""),
        ("search", answer(HIT | {"state": "superseded"}),
         "1. 0.81  MEMORY.md:14  preference · superseded · 2026-02-20 · [a1]\n   Likes\n   tea.\n", ""),
        ("search", answer(TURN), "1. 0.81  turn:t9  turn · 2026-02-20 · Ran\n   Likes\n   tea.\n", ""),
        ("search", answer(relevant=False), "Nothing relevant found.\n", ""),
        ("search", answer(HIT, relevant=False), "Nothing relevant found. The nearest all the same:\n", None),
        ("search", answer(), "Nothing above the threshold of 0.25.\n", ""),
        ("search", {"disabled": True}, "Memory is switched off: set enabled = true to use it.\n", ""),
        ("get", LINES, "one\n\ttwo\n", ""),
        ("get", LINES | {"from": 3, "total_lines": 9}, "one\n\ttwo\n", "lines 3 to 4 of 9"),
        ("get", {"entry": ENTRY}, "Likes tea.\nGreen.\n  id             a1\n", None),
        ("list", {"entries": [ENTRY, ENTRY | {"id": "b2", "pinned": True}], "total": 3},
         "a1       0.60  preference  Likes tea.\nb2       0.60* preference  Likes tea.\n",
         "2 of 3 entries; more with --limit"),
        ("add", {"entry": ENTRY, "action": "strengthened", "redacted": 1},
         "strengthened a1 preference 0.60  Likes tea.\nGreen.\n", "1 secret masked"),
        ("pin", {"entry": ENTRY | {"pinned": True}}, "pinned a1 preference 0.60  Likes tea.\nGreen.\n", ""),
        ("update", {"entry": ENTRY}, "active a1 preference 0.60  Likes tea.\nGreen.\n", ""),
        ("append", NOTE, "written daily/d.md:3\n", "2 secrets masked"),
        ("append", NOTE | {"duplicate": True, "redacted": 0}, "already there daily/d.md:3\n", ""),
        ("flush", FLUSHED, "written d.md:3\nleft out (too short): hm\n", ""),
        ("flush", FLUSHED | {"written": []}, "left out (too short): hm\nNothing new to write.\n", ""),
        ("forget", {"receipt": RECEIPT}, "forgot 1 entry, 1 note, 1 session\n  entries   a1\n  notes     d.md: x\n",
         "MEMORY.md.bak keeps the text until the next write"),
        ("import", IMPORTED, "14 new of 16 turns in 1 session; 5 entries, 1 note\n  sessions/x.md\n"
         "left out (instructs the reader): ignore\n", "1 secret masked\nmemorybook: line 3: no text"),
        ("status", STATUS, "root                   /b\nexists                 yes\nindex\n"
         "  bytes                10\n  ratio                0.1235\n"
         "warnings: a\nwarnings: b\nparts                  x, y\n", ""),
    ],
)  # fmt: skip
def test_an_answer_is_shown_and_never_silent(
    said: Any, verb: str, shown: dict[str, Any], out: str, err: str | None
) -> None:
    """Of what has no `err` here only the beginning counts."""
    written, remarked = said(verb, shown)
    if err is None:
        assert written.startswith(out)
    else:
        assert (written, remarked) == (out, err and f"memorybook: {err}\n")


def test_a_degraded_answer_says_so_on_stderr(said: Any) -> None:
    worse = answer(HIT, index={"degraded": ["no embedder"], "pending_vectors": 3})
    out, err = said("search", worse)
    assert "degraded" not in out
    assert err == (
        "memorybook: degraded to sqlite_fts: no embedder\n"
        "memorybook: 3 passages wait for their vectors; run: memorybook sync\n"
    )
    assert said("search", worse, quiet=True)[1] == ""


def test_every_verb_that_answers_is_shown() -> None:
    writes_itself = {"watch", "completion", "demo", "serve", "ui", "git-merge"}
    for verb in set(VERBS) - writes_itself:
        assert callable(show.drawing(verb))


# --- the page ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("terminal")
def test_a_terminal_has_colours_and_rows_of_its_width(said: Any) -> None:
    out, _ = said("search", answer(HIT | {"snippet": "word " * 20 + "数据库端口" * 6}))
    assert "\x1b[36mMEMORY.md:14\x1b[0m" in out
    assert all(wording.cells(row) <= 40 for row in out.splitlines()[1:])
    assert len(out.splitlines()) > 4


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_colours_can_be_switched_off(said: Any, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "dumb")
    assert "\x1b" not in said("search", answer(HIT))[0]


@pytest.mark.usefixtures("terminal")
def test_a_long_entry_is_clipped_in_a_list(said: Any) -> None:
    row = said("list", {"entries": [ENTRY | {"text": "数据库" * 20}], "total": 1})[0].splitlines()[0]
    assert row.endswith("…")
    assert wording.cells(row.replace("\x1b[36m", "").replace("\x1b[0m", "")) <= 40


def test_memory_text_cannot_act_on_a_terminal(said: Any) -> None:
    nasty = "\x1b]0;owned\x07 \x1b[2J \x9b31m \u202egnp.exe \U000e0041 \r over \x7f"
    for out in (
        said("search", answer(HIT | {"snippet": nasty, "path": nasty, "speaker": nasty}))[0],
        said("get", {"path": "a", "from": 1, "lines": 1, "total_lines": 1, "text": nasty})[0],
        said("list", {"entries": [ENTRY | {"text": nasty}], "total": 1})[0],
        said("add", {"entry": ENTRY | {"text": nasty}, "action": "created"})[0],
    ):
        assert not set("\x1b\x07\x9b\u202e\U000e0041\r\x7f") & set(out)
        assert "\\x1b]0;owned\\x07" in out


ACTING = (  # escapes, bidi, tags
    "\x1b]0;owned\x07", "\x9b31m", "\x7f", "\u202egnp.exe", "\u2066hidden\u2069", "\U000e0041\U000e0042", "a\u2028b",
    "\r",
)  # fmt: skip


@pytest.mark.parametrize("text", [f"{said} {nasty}" for nasty in ACTING for said in ("tea", "绿茶")])
def test_json_holds_the_same_words_and_nothing_that_acts_on_a_terminal(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    call = Call("search", ["tea", "--json"])
    call.write_json({"text": text})
    call.warn(text)
    out, err = capsys.readouterr()
    assert (json.loads(out), json.loads(err)) == ({"text": text}, {"warning": {"message": text}})
    assert visible(out + err) == out + err
    assert text[:2] in out


def test_visible_leaves_ordinary_text_alone() -> None:
    for text in ("plain", "换行\n和\t制表", "👩‍👩‍👧 é", "a\u3000b\u00a0c", ""):
        assert visible(text) == text


@given(st.text())
def test_visible_text_is_free_of_control_characters(text: str) -> None:
    import unicodedata

    assert not [c for c in visible(text) if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]


@given(st.text(alphabet="ab 数据，é", max_size=60), st.integers(min_value=2, max_value=20))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    rows = wording.wrapped(text, width)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")
    assert all(wording.cells(row) <= width for row in rows)


class Stream:
    def __init__(self, columns: bool) -> None:
        self.columns = columns

    def isatty(self) -> bool:
        return self.columns

    def fileno(self) -> int:
        raise OSError


def test_the_width_of_what_is_no_terminal_or_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal_width(Stream(False)) is None
    assert terminal_width(Stream(True)) == 80
    monkeypatch.setenv("COLUMNS", "5")
    assert terminal_width(Stream(True)) == 20
    monkeypatch.setenv("COLUMNS", "wide")
    assert terminal_width(Stream(True)) == 80
