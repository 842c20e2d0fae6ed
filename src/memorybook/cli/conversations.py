"""Verbs about conversations: chat, sessions, the four recalls, import, memorize."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import check_stdin, command, write
from memorybook.cli.wording import cells, visible
from memorybook.cli.write import messages_of
from memorybook.errors import InvalidInput
from memorybook.sessions.recall_block import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memorybook.cli.call import Call
    from memorybook.cli.show import Page
    from memorybook.memory import Memory
    from memorybook.results import Memorized


def _head(session: Mapping[str, Any], page: Page) -> None:
    """Say when, what about, how long, and by which name it is opened."""
    time = session["started"] or session["updated"]
    words = page.words
    day = page.minute(time)[:10] if time else words("undated")
    size = words.counted(session["turns"], "turn") + (words(", open") if session["open"] else "")
    name = " ".join(session["name"].split()) or short(session["uuid"])
    taken = cells(day) + cells(size) + cells(visible(name)) + 8
    title = page.clipped(session["title"] or words("(untitled)"), taken)
    page.line(("faint", day), "  ", ("strong", title), ("faint", f"  {size}  "), ("place", name))


def _shown_sessions(shown: dict[str, Any], page: Page) -> None:
    for session in shown["sessions"]:
        _head(session, page)
    if not shown["sessions"]:
        page.line(page.words("No conversations."))
    elif shown["more"]:
        page.remark(page.words("older ones with --limit"))


command("sessions", method="sessions", show=_shown_sessions)


def _shown_recollection(shown: dict[str, Any], page: Page) -> None:
    words = page.words
    if not shown["sessions"]:
        asked = shown["scene"] in ("topic", "within")
        page.line(words("Nothing was said about it.") if asked else words("No conversations."))
    elif not shown["has_relevant"]:
        near = "Nothing relevant was said. The nearest all the same:"
        page.line(words(near) if shown["turns"] else words("Nothing relevant was said."))
    for session in shown["sessions"]:
        _head(session, page)
        if shown["scene"] in ("history", "session"):
            page.text(session["summary"], "    ")
        turns = [turn for turn in shown["turns"] if turn["session"] == session["uuid"]]
        missing = session["turns"] - len(turns)
        if shown["scene"] == "session" and turns and missing > 0:
            page.line(("faint", words("    … {missing} earlier turns; more with --limit", missing=missing)))
        for turn in turns:
            time = f"  {page.minute(turn['time'])}" if turn["time"] else ""
            page.line("  ", ("place", turn["place"]), ("faint", f"  {words(turn['speaker'])}{time}"))
            page.text(turn["text"].strip("\n"), "    ")
    if shown["reason"]:
        page.remark(words(shown["reason"]))
    for reason in shown["degraded"]:
        page.remark(words(reason))


SHOWN_TURNS = 50
"""Turns of a session that are shown unless more are asked for."""


@command("recall-within", show=_shown_recollection)
@command("recall-session", show=_shown_recollection)
@command("recall-topic", show=_shown_recollection)
@command("recall-history", show=_shown_recollection)
def _recall(call: Call) -> dict[str, Any] | None:
    """Run a recall; `--block` writes only its block, unless JSON is asked for."""
    given = call.arguments("block")
    if call.verb == "recall-session":
        given = {"limit": SHOWN_TURNS, **given}

    def work(memory: Memory) -> dict[str, Any] | None:
        found = getattr(memory, call.verb.replace("-", "_"))(**given)
        if not call.options.block or call.options.json:
            return dict(found.json())
        write(f"{visible(found.text)}\n" if found.text else "")
        for reason in found.degraded:
            call.warn(reason)
        return None

    return call.unless_off(work)


@command("import")
def _import(call: Call) -> dict[str, Any] | None:
    def take_in(memory: Memory) -> dict[str, Any]:
        if "-" in call.options.paths:
            check_stdin()
        with call.progress("Importing") as progress:
            brought = memory.import_file(*call.options.paths, **call.arguments("paths"), progress=progress)
        if brought.pending_vectors:
            from memorybook.hooks.event import catch_up_aside

            catch_up_aside(memory.root)
        return brought.json()

    return call.unless_off(take_in)


_COUNTED = ("new", "updated", "merged", "reinforced", "contradicted", "archived", "removed", "notes")


def _shown_memorized(shown: dict[str, Any], page: Page) -> None:
    if not shown["sessions"]:
        page.line("Nothing waits to be remembered.")
    for found in shown["sessions"]:
        counts = [f"{found[name]} {name}" for name in _COUNTED if found[name]]
        counts += [f"{len(found['proposals'])} proposed"] if found["proposals"] else []
        rest = "waits, to be tried again: memorybook memorize --retry" if found["queued"] else "nothing new"
        page.line(("strong", f"session {found['session']}: "), ("good", ", ".join(counts) or rest))
        for each in found["memories"]:
            id = f"[{each['id']}] " if each["id"] else ""
            page.text(f"{each['action']:<13}{id}{each['text']}", "  ")
        for left in found["discarded"]:
            page.text(f"left out ({left['reason']}): {left['text']}", "  ")
        for sentence in found["degraded"]:
            page.remark(sentence)
        if found["proposals"]:
            page.remark("waiting for your decision: memorybook review")
        if found["operation"]:
            page.remark(f"to take it back: memorybook undo {found['operation']}")


@command("memorize", show=_shown_memorized)
def _memorize(call: Call) -> dict[str, Any] | None:
    o = call.options
    if bool(o.file or o.session) == o.retry:
        raise InvalidInput("memorize needs a FILE of messages, the --session that is stored, or --retry")

    def memorize(memory: Memory) -> dict[str, Any]:
        if o.retry:
            done: Sequence[Memorized] = memory.retry_parked(due=False)
        else:
            done = [memory.process_session_end(messages_of(o.file) if o.file else (), o.session)]
        call.code = _WAITS if any(found.queued for found in done) else 0
        return {"sessions": [found.json() for found in done]}

    return call.unless_off(memorize)


_WAITS = 5
"""Exit code where a session waits, as the model did not answer in a way that can be used."""


@command("chat", show=lambda shown, page: None)  # everything was shown as it happened
def _chat(call: Call) -> dict[str, Any] | None:
    from memorybook.chat.terminal import Chat

    session = call.options.session
    if session is not None and not session.strip():
        raise InvalidInput("--session is blank: give an id, a name, a day, or words such as 'last time'")
    language = "zh" if os.environ.get("LANG", "").lower().startswith("zh") else "en"
    return Chat(call, system=call.options.system or "", goes_on=session or "", language=language).run()
