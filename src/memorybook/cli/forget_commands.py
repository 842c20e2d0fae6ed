"""Verbs that take out of the book: forget, and purge, which leaves no copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorybook.cli.show import padded
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorybook.cli.call import Call, Command, Parser, Wording
    from memorybook.cli.show import Drawing, Page

_MEANT = ("target", "query", "session", "source")
_GONE = ("entries", "notes", "documents")


def _meant_arguments(parser: Parser, *, target: str) -> None:
    add = parser.add_argument
    add("target", nargs="?", metavar="ID", help=target)
    add("--query", metavar="TEXT", help="everything that says this")
    add("--session", metavar="ID", help="everything of this session")
    add("--source", metavar="WHAT", help="everything from this turn, document, imported file or machine (node:NAME)")
    add("--dry-run", action="store_true", help="only show what would go")
    add("--yes", "-y", action="store_true", help="do not ask")


def _meant(call: Call, *, otherwise: bool = False) -> dict[str, Any]:
    """What is to go; `otherwise` if something else says so. Raises InvalidInput if it is not exactly one."""
    meant = {name: getattr(call.options, name) for name in _MEANT}
    if sum(given is not None for given in meant.values()) + otherwise != 1:
        more = ", --forgotten" if call.verb == "purge" else ""
        known = f"an entry's id, --query TEXT, --session ID, --source WHAT{more}"
        raise InvalidInput(f"{call.verb} needs one of: {known}")
    return meant


def _forget_arguments(parser: Parser) -> None:
    _meant_arguments(parser, target="the entry's id")
    parser.epilog = "examples:\n  memorybook forget a1b2c3\n  memorybook forget --query 我的电话号码 --dry-run"


def _forget(call: Call) -> dict[str, Any]:
    o, meant = call.options, _meant(call)
    if o.target is None and not o.dry_run and not o.yes:
        planned = call.tool("memory_forget", **meant, dry_run=True)
        if planned.get("disabled"):
            return planned
        receipt = planned["receipt"]
        if not any(receipt[name] for name in (*_GONE, "sessions", "turns")):
            return {"receipt": {**receipt, "dry_run": False}}
        call.warn(call.words("would forget {what}", what=_counts(receipt, call.words)))
        call.confirm(call.words("Forget this?"))
    return call.tool("memory_forget", **meant, dry_run=o.dry_run)


def _purge_arguments(parser: Parser) -> None:
    _meant_arguments(parser, target="the entry's id, also of one that was forgotten")
    parser.add_argument("--forgotten", action="store_true", help="everything that was ever forgotten")
    parser.epilog = "examples:\n  memorybook purge a1b2c3\n  memorybook purge --forgotten --yes"


def _purge(call: Call) -> dict[str, Any]:
    o, meant = call.options, _meant(call, otherwise=call.options.forgotten)
    if not o.dry_run and not o.yes:
        planned = call.tool("memory_purge", **meant, forgotten=o.forgotten, dry_run=True)
        if planned.get("disabled"):
            return planned
        for sentence in planned["receipt"]["remains"] or [f"would purge {_counts(planned['receipt'], call.words)}"]:
            call.warn(sentence)
        call.confirm("Erase this for good? It cannot be undone.")
    return call.tool("memory_purge", **meant, forgotten=o.forgotten, dry_run=o.dry_run)


# --- shown ---------------------------------------------------------------------------------------


def _shown_forget(shown: dict[str, Any], page: Page) -> None:
    receipt, words = shown["receipt"], page.words
    if not (receipt["dry_run"] or any(receipt[name] for name in (*_GONE, "sessions", "turns"))):
        page.line(words("nothing in the book says this, so nothing is forgotten"))
        return
    _went(words("would forget") if receipt["dry_run"] else words("forgot"), receipt, page)
    for copy in receipt["remains"]:
        told, colon, text = copy.partition(": ")
        page.remark(f"{words(told)}{colon}{text}")


def _shown_purge(shown: dict[str, Any], page: Page) -> None:
    receipt = shown["receipt"]
    _went("would purge" if receipt["dry_run"] else "purged", receipt, page)
    if not receipt["dry_run"]:
        count = page.words.counted
        texts, versions = count(receipt["journal"], "text"), count(receipt["versions"], "old version")
        page.line(f"  erased {texts} of the journal and {versions}")
        if receipt.get("searched"):
            where = "none of it is left" if not receipt["remains"] else "what is left is named"
            page.line(f"  searched {count(receipt['searched'], 'file')} of the book afterwards: {where}")
    for sentence in receipt["remains"]:
        page.remark(sentence)
    if not receipt["dry_run"]:
        for sentence in receipt.get("limits", ()):
            page.line(f"  {sentence}")


def _went(what: str, receipt: Mapping[str, Any], page: Page) -> None:
    page.line(f"{what} ", ("good", _counts(receipt, page.words)))
    for name in _GONE:
        for each in receipt[name]:
            page.line(("faint", f"  {padded(page.words(name), 10)}"), each)


def _counts(receipt: Mapping[str, Any], words: Wording) -> str:
    """What a receipt counts, in a few words."""
    counts = {"entry": len(receipt["entries"])} | {one: len(receipt[f"{one}s"]) for one in ("note", "document")}
    counts |= {one: receipt[f"{one}s"] for one in ("session", "turn")}
    told = (words.counted(number, one, "entries" if one == "entry" else "") for one, number in counts.items() if number)
    return words(", ").join(told) or words("nothing")


COMMANDS: dict[str, Command] = {
    "forget": (_forget_arguments, _forget),
    "purge": (_purge_arguments, _purge),
}

SHOWN: dict[str, Drawing] = {
    "forget": _shown_forget,
    "purge": _shown_purge,
}
"""What the answer of each looks like; `cli.show` asks for it."""
