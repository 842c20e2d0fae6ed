"""Verbs about conversations: chat, sessions, the four recalls, import, memorize."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import check_stdin, text_of, whole, write
from memorybook.cli.show import cells
from memorybook.errors import InvalidInput
from memorybook.sessions.recall_types import short
from memorybook.text.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page
    from memorybook.memory import Memory
    from memorybook.results import Memorized
    from memorybook.sessions.recall_types import Recollection

SHOWN_TURNS = 50
"""Turns of a session that are shown unless more are asked for."""


# --- what they take --------------------------------------------------------------------------------


def _days(parser: Parser) -> None:
    parser.add_argument("--since", metavar="DATE", help="only from this day on, 2026-02-24")
    parser.add_argument("--until", metavar="DATE", help="only up to this day")


def _leaving_out(parser: Parser) -> None:
    parser.add_argument("--current", metavar="ID", help="the current conversation, which is left out")


def _block(parser: Parser) -> None:
    parser.add_argument("--block", action="store_true", help="show the block for a prompt instead")
    parser.add_argument("--max-tokens", type=whole(1, 1_000_000), metavar="N", help="maximum size of that block")


def _sessions_arguments(parser: Parser) -> None:
    parser.add_argument("--limit", "-n", type=whole(1, 100_000), metavar="N", default=20, help="at most N; else 20")
    _days(parser)
    parser.epilog = "examples:\n  memorybook sessions\n  memorybook sessions --since 2026-02-01 -n 5 --json"


def _sessions(call: Call) -> dict[str, Any] | None:
    o = call.options
    return call.unless_off(lambda memory: memory.sessions(limit=o.limit, since=o.since, until=o.until).json())


def _history_arguments(parser: Parser) -> None:
    parser.add_argument("--limit", "-n", type=whole(1, 200), metavar="N", help="at most N conversations; else 5")
    _days(parser)
    _leaving_out(parser)
    _block(parser)
    parser.epilog = "examples:\n  memorybook recall-history\n  memorybook recall-history --since 2026-02-01 --block"


def _history(call: Call) -> dict[str, Any] | None:
    return _recalled(
        call,
        lambda memory: memory.recall_history(**call.given("limit", "since", "until", "current", "max_tokens")),
    )


def _recalled(call: Call, recall: Callable[[Memory], Recollection]) -> dict[str, Any] | None:
    """Run a recall; `--block` writes only its block, unless JSON is asked for."""

    def work(memory: Memory) -> dict[str, Any] | None:
        found = recall(memory)
        if not call.options.block or call.options.json:
            return found.json()
        write(f"{visible(found.text)}\n" if found.text else "")
        for reason in found.degraded:
            call.warn(reason)
        return None

    return call.unless_off(work)


def _topic_arguments(parser: Parser) -> None:
    parser.add_argument("query", nargs="+", help="words or a question; - reads stdin")
    parser.add_argument(
        "--top", "-n", type=whole(1, 200), metavar="N", help="at most N conversations and turns; else 5"
    )
    _days(parser)
    _leaving_out(parser)
    _block(parser)
    parser.epilog = """examples:
  memorybook recall-topic "how did we end up naming the branch"
  memorybook recall-topic 上周三说的部署方案 -n 3"""


def _topic(call: Call) -> dict[str, Any] | None:
    query = text_of(call.options.query)
    return _recalled(
        call,
        lambda memory: memory.recall_topic(query, **call.given("top", "since", "until", "current", "max_tokens")),
    )


def _session_arguments(parser: Parser) -> None:
    parser.add_argument("which", nargs="+", help="its id, its name, a day, or words: last time, 上次, last Tuesday")
    parser.add_argument(
        "--limit",
        "-n",
        type=whole(1, 100_000),
        metavar="N",
        default=SHOWN_TURNS,
        help="at most the last N turns; else 50",
    )
    _leaving_out(parser)
    _block(parser)
    parser.epilog = """examples:
  memorybook recall-session last time
  memorybook recall-session 2026-02-24
  memorybook recall-session 上上次 --block"""


def _session(call: Call) -> dict[str, Any] | None:
    which = text_of(call.options.which)
    return _recalled(
        call,
        lambda memory: memory.recall_session(which, **call.given("limit", "current", "max_tokens")),
    )


def _within_arguments(parser: Parser) -> None:
    parser.add_argument("session", help="which conversation, as for recall-session")
    parser.add_argument("query", nargs="+", help="words or a question; - reads stdin")
    parser.add_argument("--top", "-n", type=whole(1, 200), metavar="N", help="at most N turns; else 5")
    _block(parser)
    parser.epilog = 'examples:\n  memorybook recall-within planning "which port"\n  memorybook recall-within 上次 端口'


def _within(call: Call) -> dict[str, Any] | None:
    o, query = call.options, text_of(call.options.query)
    return _recalled(call, lambda memory: memory.recall_within(o.session, query, top=o.top, max_tokens=o.max_tokens))


# --- shown -----------------------------------------------------------------------------------------


def _shown_sessions(shown: dict[str, Any], page: Page) -> None:
    for session in shown["sessions"]:
        _head(session, page)
    if not shown["sessions"]:
        page.line(page.words("No conversations."))
    elif shown["more"]:
        page.remark(page.words("older ones with --limit"))


def _head(session: Mapping[str, Any], page: Page) -> None:
    """When, what about, how long, and by which name it is opened."""
    time = session["started"] or session["updated"]
    words = page.words
    day = page.minute(time)[:10] if time else words("undated")
    size = words.counted(session["turns"], "turn") + (words(", open") if session["open"] else "")
    name = " ".join(session["name"].split()) or short(session["uuid"])
    taken = cells(day) + cells(size) + cells(visible(name)) + 8
    title = page.clipped(session["title"] or words("(untitled)"), taken)
    page.line(("faint", day), "  ", ("strong", title), ("faint", f"  {size}  "), ("place", name))


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
            _turn(turn, page)
    if shown["reason"]:
        page.remark(words(shown["reason"]))
    for reason in shown["degraded"]:
        page.remark(words(reason))


def _turn(turn: Mapping[str, Any], page: Page) -> None:
    time = f"  {page.minute(turn['time'])}" if turn["time"] else ""
    page.line("  ", ("place", turn["place"]), ("faint", f"  {page.words(turn['speaker'])}{time}"))
    page.text(turn["text"].strip("\n"), "    ")


_FORMATS = "memorybook, chatgpt, claude, claude-code, codex, mem0, openclaw, history, chat"


def _import_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", metavar="FILE", help="files, folders, zip archives as downloaded; - reads stdin")
    add("--format", metavar="NAME", help=f"one of {_FORMATS}; else told by what is in a file")
    add("--since", metavar="DATE", help="only sessions and memories of this day or later, 2026-02-24")
    add("--scope", metavar="NAME", help="only the messages of this scope")
    add("--dry-run", action="store_true", help="only show what would be added")
    parser.epilog = """examples:
  memorybook import chat.jsonl
  memorybook import chatgpt-export.zip --dry-run
  memorybook import ~/.claude/projects/app ~/.codex/sessions --since 2026-01-01
  ssh host cat history.jsonl | memorybook import -"""


def _import(call: Call) -> dict[str, Any] | None:
    o = call.options

    def take_in(memory: Memory) -> dict[str, Any]:
        if "-" in o.paths:
            check_stdin()
        with call.progress("Importing") as progress:
            given = call.given("scope", "format", "since", "dry_run")
            return memory.import_file(*o.paths, **given, progress=progress).json()

    return call.unless_off(take_in)


def _memorize_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="messages of one session as JSON lines or an array; - reads stdin")
    add("--session", metavar="ID", help="the session's id; without FILE, what is stored of it")
    add("--retry", action="store_true", help="retry sessions that wait because the model failed")
    parser.epilog = """examples:
  memorybook memorize talk.jsonl --session 2026-02-24-api
  memorybook memorize --session 2026-02-24-api
  memorybook memorize --retry"""


def _memorize(call: Call) -> dict[str, Any] | None:
    o = call.options
    if bool(o.file or o.session) == o.retry:
        raise InvalidInput("memorize needs a FILE of messages, the --session that is stored, or --retry")

    def memorize(memory: Memory) -> dict[str, Any]:
        done = _memorized(call, memory)
        call.code = _WAITS if any(found.queued for found in done) else 0
        return {"sessions": [found.json() for found in done]}

    return call.unless_off(memorize)


_WAITS = 5
"""Exit code where a session waits, as the model did not answer in a way that can be used."""


def _memorized(call: Call, memory: Memory) -> Sequence[Memorized]:
    o = call.options
    if o.retry:
        return memory.retry_parked(due=False)
    from memorybook.cli.write import messages_of

    return [memory.process_session_end(messages_of(o.file) if o.file else (), o.session)]


# --- shown ---------------------------------------------------------------------------------------


def _shown_memorized(shown: dict[str, Any], page: Page) -> None:
    if not shown["sessions"]:
        page.line("Nothing waits to be remembered.")
    for found in shown["sessions"]:
        counts = [f"{found[name]} {name}" for name in _COUNTED if found[name]]
        counts += [f"{len(found['proposals'])} proposed"] if found["proposals"] else []
        page.line(("strong", f"session {found['session']}: "), ("good", ", ".join(counts) or "nothing new"))
        for each in found["memories"]:
            id = f"[{each['id']}] " if each["id"] else ""
            page.text(f"{each['action']:<13}{id}{each['text']}", "  ")
        for left in found["discarded"]:
            page.text(f"left out ({left['reason']}): {left['text']}", "  ")
        for sentence in found["degraded"]:
            page.remark(sentence)
        if found["proposals"]:
            page.remark("what waits for your word: memorybook review")
        if found["operation"]:
            page.remark(f"to take it back: memorybook undo {found['operation']}")


_COUNTED = ("new", "updated", "merged", "reinforced", "contradicted", "archived", "removed", "notes")


def _chat_arguments(parser: Parser) -> None:
    parser.add_argument("--session", metavar="ID", help="earlier session to continue: id, name, day, 'last time'")
    parser.add_argument("--system", metavar="TEXT", help="system prompt")
    parser.epilog = """Without a terminal, lines are read from stdin. Editing, history and completion on one need the
extra: pip install 'memorybook[chat]'

examples:
  memorybook chat
  memorybook chat --session "last time" --system "Answer in one sentence."
  echo 上次我们聊了什么 | memorybook chat"""


def _chat(call: Call) -> dict[str, Any] | None:
    from memorybook.chat.terminal import Chat

    session = call.options.session
    if session is not None and not session.strip():
        raise InvalidInput("--session is blank: give an id, a name, a day, or words such as 'last time'")
    return Chat(
        call, system=call.options.system or "", goes_on=session or "", language=_language(os.environ.get("LANG", ""))
    ).run()


def _language(locale: str) -> str:
    return "zh" if locale.lower().startswith("zh") else "en"


def _shown_nothing(shown: dict[str, Any], page: object) -> None:
    """A chat has shown everything as it happened."""


COMMANDS: dict[str, Command] = {
    "sessions": (_sessions_arguments, _sessions),
    "recall-history": (_history_arguments, _history),
    "recall-topic": (_topic_arguments, _topic),
    "recall-session": (_session_arguments, _session),
    "recall-within": (_within_arguments, _within),
    "import": (_import_arguments, _import),
    "memorize": (_memorize_arguments, _memorize),
    "chat": (_chat_arguments, _chat),
}

SHOWN: dict[str, Drawing] = {
    "sessions": _shown_sessions,
    "recall-history": _shown_recollection,
    "recall-topic": _shown_recollection,
    "recall-session": _shown_recollection,
    "recall-within": _shown_recollection,
    "memorize": _shown_memorized,
    "chat": _shown_nothing,
}
"""How `cli.show` draws their answers."""
