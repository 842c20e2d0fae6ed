"""Verbs that write: add, append, flush, update, pin, unpin."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import json_object, read_stdin, text_of, words_of
from memorybook.errors import InvalidInput, MissingDocument, NotFound

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser
    from memorybook.memory import Memory


def _about_entry(parser: Parser) -> None:
    add = parser.add_argument
    add("--category", "--type", metavar="NAME", help="preference, fact, decision, experience, workflow, todo, …")
    add("--importance", metavar="LEVEL", help="high, medium, low, or a number from 0 to 1")
    add("--tag", action="append", metavar="WORD", help="a word to find it by; may be repeated, or a,b,c")
    add("--group", metavar="NAME", help="where it belongs, such as work/api")
    add("--expires", metavar="DATE", help="the day a todo lapses")
    add("--metadata", type=json_object, metavar="JSON", help="an object of your own")


def _add_arguments(parser: Parser) -> None:
    parser.add_argument("text", nargs="*", help="the statement; - reads stdin")
    parser.add_argument("--content", metavar="TEXT", help="the statement, instead of TEXT")
    _about_entry(parser)
    parser.add_argument("--session", metavar="ID", help="the session it belongs to; else it is everybody's")
    parser.epilog = """examples:
  memorybook add "The staging database is on port 6543" --type fact --tag staging
  memorybook add 用户喜欢简短的回答 --type preference --importance high
  git log -1 --format=%B | memorybook add - --type decision"""


def _add(call: Call) -> dict[str, Any]:
    o = call.options
    return call.tool(
        "memory_remember",
        text=_statement(o.text, o.content),
        category=o.category or "fact",
        importance=_importance(o.importance) if o.importance else "medium",
        tags=words_of(o.tag or []),
        group=o.group,
        expires=o.expires,
        metadata=o.metadata,
        session=o.session,
    )


def _statement(words: list[str], content: str | None) -> str:
    if bool(words) == (content is not None):
        raise InvalidInput("give the statement once: as TEXT, or with --content")
    return text_of(words) if content is None else text_of([content])


def _importance(text: str) -> str | float:
    """A number is one; a word is left for the book to judge."""
    try:
        return float(text)
    except ValueError:
        return text


def _append_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("text", nargs="+", help="the note; - reads stdin")
    add("--kind", metavar="WORD", help="a short word shown in brackets, such as pref")
    add("--tag", action="append", metavar="WORD", help="a word to find it by; may be repeated, or a,b,c")
    add("--section", metavar="HEADING", help="as a list item under this heading of MEMORY.md instead")
    parser.epilog = """examples:
  memorybook append "Moved the cron job to 03:00" --tag ops
  memorybook append 问财务要发票 --section TODO"""


def _append(call: Call) -> dict[str, Any]:
    o = call.options
    return call.tool("memory_append", text=text_of(o.text), kind=o.kind, tags=words_of(o.tag or []), section=o.section)


def _flush_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("text", nargs="*", help="the text; - reads stdin")
    add("--messages", metavar="FILE", help="a conversation as JSON lines with role and content; - reads stdin")
    add("--confirm", action="store_true", help="show what would be written, and ask first")
    add("--yes", "-y", action="store_true", help="answer yes")
    parser.epilog = (
        "examples:\n  memorybook flush --messages chat.jsonl\n  pbpaste | memorybook flush - --confirm --yes"
    )


def _flush(call: Call) -> dict[str, Any]:
    o = call.options
    if bool(o.text) == bool(o.messages):
        raise InvalidInput("flush needs either a text (- reads stdin) or --messages FILE")
    text = text_of(o.text) if o.text else None
    messages = messages_of(o.messages) if o.messages else None
    if o.confirm:
        _confirm_flush(call, text, messages)
    return call.tool("memory_flush", text=text, messages=messages)


def _confirm_flush(call: Call, text: str | None, messages: list[dict[str, Any]] | None) -> None:
    """Show on stderr (stdout is the answer's) what would be written and what is there already, and ask."""
    lines, known = _rehearsed(call.memory, text, messages)
    for line in known:
        call.warn(f"there already: {line}")
    for line in lines:
        call.warn(f"to be written: {line}")
    if lines:
        call.confirm(f"Write {'this note' if len(lines) == 1 else f'these {len(lines)} notes'}?")


def _rehearsed(memory: Memory, text: str | None, messages: list[dict[str, Any]] | None) -> tuple[list[str], list[str]]:
    """The notes that a flush writes and the ones it finds there, by doing it in a book that is thrown away.

    That book has a copy of today's page, by which it knows what was written already.
    """
    from tempfile import TemporaryDirectory

    from memorybook import tools
    from memorybook.config.settings import TranscriptSettings
    from memorybook.memory import open as open_memory

    elsewhere = memory.config._replace(db_path="", transcripts=TranscriptSettings(), backend="scan")
    with TemporaryDirectory(prefix="memorybook-") as folder, open_memory(folder, config=elsewhere, door="cli") as book:
        page = f"daily/{memory.book.day(memory.book.now()).isoformat()}.md"
        with suppress(MissingDocument):
            book.book.documents.write(page, memory.book.documents.read(page).text, expect=None)
        done = tools.run(book, tools.memory_flush, text=text, messages=messages)
        known = [skip["text"] for skip in done.get("skipped", ()) if skip["reason"] == "duplicate"]
        places = [(place["path"], place["line"]) for place in done.get("written", ())]
        return [book.get(path, start=line, lines=1).json()["text"].strip() for path, line in places], known


def messages_of(path: str) -> list[dict[str, Any]]:
    """Messages of a file of JSON lines, or of one JSON array. Raises InvalidInput, NotFound."""
    import json

    text = (read_stdin() if path == "-" else _bytes(path)).decode("utf-8-sig", "surrogateescape")
    if text.lstrip().startswith("["):
        lines = [(0, text)]
    else:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    found: list[Any] = []
    for number, line in lines:
        try:
            value = json.loads(line)
        except ValueError as problem:
            raise InvalidInput(f"{path}{f':{number}' if number else ''} is not JSON: {problem}") from None
        found += value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in found):
        raise InvalidInput(f"{path}: every message must be a JSON object with role and content")
    return found


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFound(f"no file {path!r}") from None
    except OSError as problem:
        raise InvalidInput(f"cannot read {path!r}: {problem.strerror}") from None


def _update_arguments(parser: Parser) -> None:
    parser.add_argument("id", help="the entry's id")
    parser.add_argument("text", nargs="*", help="its new text; - reads stdin; left out: the text stays")
    parser.add_argument("--instruction", metavar="TEXT", help="how the language model is to rewrite it; given alone")
    _about_entry(parser)
    parser.epilog = """examples:
  memorybook update a1b2c3 "The staging database is on port 7654"
  memorybook update a1b2c3 --importance high
  memorybook update a1b2c3 --instruction "say it in one sentence" """


def _update(call: Call) -> dict[str, Any]:
    o = call.options
    fields: dict[str, Any] = {
        "text": text_of(o.text) if o.text else None,
        "category": o.category,
        "importance": _importance(o.importance) if o.importance else None,
        "tags": words_of(o.tag) if o.tag is not None else None,
        "group": o.group,
        "expires": o.expires,
        "metadata": o.metadata,
        "instruction": o.instruction,
    }
    if all(value is None for value in fields.values()):
        options = "--category, --importance, --tag, --group, --expires, --metadata, --instruction"
        raise InvalidInput(f"update needs a new text or one of {options}")
    return call.tool("memory_update", id=o.id, **fields)


def _pin_arguments(parser: Parser) -> None:
    parser.add_argument("id", help="the entry's id")
    parser.epilog = f"example:\n  {parser.prog} a1b2c3"


def _pin(call: Call) -> dict[str, Any]:
    return call.tool("memory_pin", id=call.options.id, pinned=call.verb == "pin")


COMMANDS: dict[str, Command] = {
    "add": (_add_arguments, _add),
    "append": (_append_arguments, _append),
    "flush": (_flush_arguments, _flush),
    "update": (_update_arguments, _update),
    "pin": (_pin_arguments, _pin),
    "unpin": (_pin_arguments, _pin),
}
