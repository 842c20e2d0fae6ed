"""Verbs that look back: history, why, undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorybook.cli.call import whole
from memorybook.cli.show import padded
from memorybook.errors import NotFound
from memorybook.sessions.recall_types import short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page


def _history_arguments(parser: Parser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="only of this entry, document, session or operation")
    parser.add_argument("--limit", "-n", type=whole(1, 100_000), metavar="N", help="at most N operations; else 20")
    parser.epilog = """examples:
  memorybook history
  memorybook history a1b2c3
  memorybook history daily/2026-02-24.md -n 5"""


def _history(call: Call) -> dict[str, Any]:
    return call.tool("memory_history", id=call.options.id, limit=call.options.limit or 20)


def _why_arguments(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the entry's id")
    parser.epilog = "example:\n  memorybook why a1b2c3"


def _why(call: Call) -> dict[str, Any]:
    return call.tool("memory_why", id=call.options.id)


def _undo_arguments(parser: Parser) -> None:
    parser.add_argument(
        "operation",
        nargs="?",
        metavar="OPERATION",
        help="its id, see history; MEMORY.md for what another program took out of it; else your last one",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would happen")
    parser.epilog = "examples:\n  memorybook undo --dry-run\n  memorybook undo 20260224-101233123456-9f2c1b"


def _undo(call: Call) -> dict[str, Any]:
    id = call.options.operation
    if id is None:
        found = call.tool("memory_history", id=None, limit=_NEWEST)
        if found.get("disabled"):
            return found
        id = _last(found["operations"])
    return call.tool("memory_undo", operation=id, dry_run=call.options.dry_run)


def _last(operations: Sequence[Mapping[str, Any]]) -> str:
    """The newest operation of a person that stands and took nothing back. Raises NotFound."""
    for each in operations:
        if each["actor"] == "user" and not each["undone_by"] and not each["undoes"]:
            return str(each["id"])
    raise NotFound("nothing of yours is left to take back: name an operation, see memorybook history")


_NEWEST = 100
"""Operations among which the last one is looked for."""


# --- shown ---------------------------------------------------------------------------------------


def _shown_history(shown: dict[str, Any], page: Page) -> None:
    several = len(shown["operations"]) > 1
    for operation in shown["operations"]:
        _operation(operation, page, most=_MOST if several else None)
    if not shown["operations"]:
        page.line(page.words("Nothing was done yet."))
    elif shown["more"]:
        page.remark(page.words("older ones with --limit"))


_MOST = 50
"""Changes of one operation among several that are shown; some have thousands."""


def _operation(operation: Mapping[str, Any], page: Page, indent: str = "", most: int | None = None) -> None:
    words = page.words
    who = f"{operation['actor']} ({operation['door']})"
    head = (indent, f"{page.minute(operation['time'])}  ", ("strong", padded(words(operation["kind"] or "change"), 9)))
    page.line(*head, ("place", f" {operation['id']}"), ("faint", f"  {who}"))
    for told in operation["told"][:most]:
        _told(told, page, indent)
    if most is not None and len(operation["told"]) > most:
        more = words("… {count} more:", count=len(operation["told"]) - most)
        page.line(f"{indent}    {more} memorybook history {operation['id']}")
    for left in operation["discarded"]:
        out = words("left out ({reason}): {text}", reason=words(left["reason"]), text=left["text"])
        page.text(out, f"{indent}    ")
    if operation["usage"]:
        used = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in operation["usage"].items())
        page.line(indent, ("faint", f"    {used}"))
    if operation["undoes"]:
        page.line(indent, ("faint", words("    undoes {id}", id=operation["undoes"])))
    if operation["undone_by"]:
        page.line(indent, ("warn", words("    undone by {id}", id=operation["undone_by"])))


def _told(told: str, page: Page, indent: str = "") -> None:
    page.text(page.words(told), f"{indent}  ")


def _shown_why(shown: dict[str, Any], page: Page) -> None:
    entry, words = shown["entry"], page.words
    if entry is None:
        page.line(("warn", words("{id} is no longer in the book.", id=shown["id"])))
    else:
        page.text(entry["text"])
        state = f"{words(entry['category'])} · {words(entry['state'])} · {words('score')} {entry['score']:.2f}"
        said, prompts = words.counted(entry["hits"], "time"), words.counted(shown["access_count"], "prompt")
        used = words("said {times} · in {prompts}", times=said, prompts=prompts)
        page.line(("faint", f"  [{shown['id']}] {state} · {used}"))
    _rests_on(shown["rests_on"], page)
    _listed(words("What was done to it"), shown["story"], lambda each: _operation(each, page, "  "), page)
    replaced = [] if shown["superseded_by"] is None else [shown["superseded_by"]]
    for title, others in (
        (words("It replaces"), shown["supersedes"]),
        (words("It was replaced by"), replaced),
        (words("It contradicts"), shown["contradicts"]),
    ):
        _listed(title, others, lambda each: page.text(f"[{each['id']}] {each['text']}", "  "), page)
    _listed(words("The last prompts it entered"), shown["prompts"], lambda each: _prompt(each, page), page)


def _listed(title: str, values: Sequence[Any], show: Callable[[Any], None], page: Page) -> None:
    if values:
        page.line(("strong", title))
        for each in values:
            show(each)


def _rests_on(grounds: Sequence[Mapping[str, Any]], page: Page) -> None:
    def show(ground: Mapping[str, Any]) -> None:
        time = page.minute(ground["time"]) if ground["time"] else ""
        about = (ground["session_name"] or short(ground["session"]), page.words(ground["speaker"] or ""), time)
        page.line("  ", ("place", ground["source"]), ("faint", "  " + " · ".join(word for word in about if word)))
        page.text(ground["text"] if ground["text"] is not None else page.words("no longer kept"), "    ")
        if ground["quote"] and ground["quote"] != ground["text"]:
            page.text(page.words("quoted: {quote}", quote=ground["quote"]), "    ")

    _listed(page.words("It rests on"), grounds, show, page)


def _prompt(prompt: Mapping[str, Any], page: Page) -> None:
    query = prompt["query"] or page.words("(no question)")
    page.line(f"  {page.minute(prompt['time'])}  ", page.clipped(query, 20))


def _shown_undo(shown: dict[str, Any], page: Page) -> None:
    words = page.words
    verb = words("would undo") if shown["dry_run"] else words("undid")
    page.line(f"{verb} {words(shown['kind'] or 'change')} ", ("place", shown["undone"]))
    for told in shown["told"]:
        _told(told, page)
    for path in shown["exact"]:
        page.line(("good", f"  {path}"), words(" is as it was before, to the byte"))
    for path in shown["adapted"]:
        page.line(("warn", f"  {path}"), words(" keeps what else changed in it since"))
    for sentence in shown["remains"]:
        page.remark(words(sentence))
    if shown["operation"]:
        page.remark(words("to have it again: memorybook undo {id}", id=shown["operation"]))


COMMANDS: dict[str, Command] = {
    "history": (_history_arguments, _history),
    "why": (_why_arguments, _why),
    "undo": (_undo_arguments, _undo),
}

SHOWN: dict[str, Drawing] = {
    "history": _shown_history,
    "why": _shown_why,
    "undo": _shown_undo,
}
"""What the answer of each looks like; `cli.show` asks for it."""
