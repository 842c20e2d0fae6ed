"""Verbs that take in conversations: import, memorize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorybook.cli.call import check_stdin
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page
    from memorybook.memory import Memory
    from memorybook.results import Memorized


_FORMATS = "memorybook, chatgpt, claude, claude-code, codex, mem0, openclaw, history, chat"


def _import_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", metavar="FILE", help="files, folders, zip archives as downloaded; - reads stdin")
    add("--format", metavar="NAME", help=f"one of {_FORMATS}; else told by what is in a file")
    add("--since", metavar="DATE", help="only sessions and memories of this day or later, 2026-02-24")
    add("--scope", metavar="NAME", help="only the messages of this scope")
    add("--dry-run", action="store_true", help="say what would be added, and write nothing")
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
            return memory.import_file(
                *o.paths, scope=o.scope, format=o.format, since=o.since, dry_run=o.dry_run, progress=progress
            ).json()

    return call.unless_off(take_in)


def _memorize_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="messages of one session as JSON lines or an array; - reads stdin")
    add("--session", metavar="ID", help="the session's id; without FILE, what is stored of it")
    add("--retry", action="store_true", help="try again now what waits because the model failed")
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


COMMANDS: dict[str, Command] = {
    "import": (_import_arguments, _import),
    "memorize": (_memorize_arguments, _memorize),
}

SHOWN: dict[str, Drawing] = {"memorize": _shown_memorized}
"""What the answer of it looks like; `cli.show` asks for it."""
