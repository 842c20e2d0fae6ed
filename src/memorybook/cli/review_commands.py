"""Verbs that keep a book in order: review, tidy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorybook.cli.call import whole, words_of
from memorybook.cli.show import padded
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page
    from memorybook.memory import Memory

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """Seconds of `90s`, `30m`, `6h` or `1d`; above 0."""
    number, unit = text[:-1], _UNITS.get(text[-1:].lower())
    if unit is not None and number.replace(".", "", 1).isdecimal() and float(number) > 0:
        return float(number) * unit
    from argparse import ArgumentTypeError

    raise ArgumentTypeError(f"must be a time such as 30m, 6h or 1d, not {text[:40]!r}")


def _review_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("action", nargs="?", metavar="accept|reject", help="what to do; else list what waits")
    add("ids", nargs="*", metavar="ID", help="proposals")
    add("--kind", metavar="KIND", help="all of this kind, such as archive")
    add("--all", action="store_true", help="all of them")
    add("--reason", metavar="TEXT", default="", help="why they are rejected, for the history")
    add("--state", metavar="STATE", default="open", help="list those that are accepted, rejected or withdrawn")
    add("--limit", "-n", type=whole(1, 100_000), metavar="N", help="list at most N; else 20")
    parser.epilog = """examples:
  memorybook review
  memorybook review accept p3 p4
  memorybook review accept --kind archive
  memorybook review reject p5 --reason "still needed" """


def _review(call: Call) -> dict[str, Any] | None:
    return call.unless_off(lambda memory: _reviewed(call, memory))


def _reviewed(call: Call, memory: Memory) -> dict[str, Any]:
    o = call.options
    if o.reason and o.action != "reject":
        raise InvalidInput("--reason is for reject: say review reject ID --reason TEXT")
    if o.action is None or o.action == "list":
        return memory.review(kind=o.kind, state=o.state, limit=o.limit or 20).json()
    if o.action == "accept":
        return memory.accept(*o.ids, kind=o.kind, every=o.all).json()
    if o.action == "reject":
        return memory.reject(*o.ids, kind=o.kind, every=o.all, reason=o.reason).json()
    raise InvalidInput(f"review knows accept and reject, not {o.action!r}: say review accept {o.action}")


def _tidy_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only show what would happen")
    add(
        "--apply",
        metavar="KINDS",
        help="do these without asking: expire, archive, remove, duplicate, conflict, promote",
    )
    add("--every", type=seconds, metavar="TIME", help="again and again while the book is idle, until Ctrl-C")
    parser.epilog = """examples:
  memorybook tidy --dry-run
  memorybook tidy --apply expire,archive,remove
  memorybook tidy --every 6h"""


def _tidy(call: Call) -> dict[str, Any] | None:
    return call.unless_off(lambda memory: _tidied(call, memory))


def _tidied(call: Call, memory: Memory) -> dict[str, Any] | None:
    o = call.options
    if o.every is None:
        return memory.tidy(dry_run=o.dry_run, apply=None if o.apply is None else words_of([o.apply])).json()
    if o.dry_run or o.apply is not None:
        raise InvalidInput("--every takes neither --dry-run nor --apply: set tidy.apply for what it may do")
    _heartbeat(call, memory)
    return None


def _heartbeat(call: Call, memory: Memory) -> None:
    from memorybook.cli import show

    page = show.Page(call.options)

    def tell(tidied: Any) -> None:
        if call.options.json:
            call.write_json(tidied.json())
        else:
            _shown_tidy(tidied.json(), page)
        call.flush()

    if not call.options.json:
        page.remark(f"tidying {memory.root} while it is idle; Ctrl-C ends it")
    memory.heartbeat(call.options.every, on_run=tell)


# --- shown ---------------------------------------------------------------------------------------


def _shown_review(shown: dict[str, Any], page: Page) -> None:
    if "proposals" not in shown:
        _shown_decided(shown, page)
        return
    for proposal in shown["proposals"]:
        _proposal(proposal, page)
    if not shown["proposals"]:
        page.line(page.words("Nothing waits."))
    elif len(shown["proposals"]) < shown["total"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in shown["kinds"].items())
        counts = {"count": len(shown["proposals"]), "total": shown["total"], "kinds": kinds}
        page.remark(page.words("{count} of {total} ({kinds}); more with --limit", **counts))


def _proposal(proposal: Mapping[str, Any], page: Page) -> None:
    words = page.words
    state = "" if proposal["state"] == "open" else f"  {words(proposal['state'])}"
    day = page.minute(proposal["time"])[:10]
    kind = padded(words(proposal["kind"]), 10)
    page.line(("place", f"{proposal['id']:<5}"), ("strong", kind), ("faint", f" {day}{state}"))
    for told in proposal["told"]:
        page.text(words(told), "  ")
    page.text(words("because {reason}", reason=words(proposal["reason"])), "  ")
    if proposal["stale"]:
        page.line(("warn", words("  no longer fits: {reason}", reason=words(proposal["stale"]))))


def _shown_decided(shown: Mapping[str, Any], page: Page) -> None:
    words = page.words
    for each in shown["accepted"]:
        page.line(("good", words("accepted")), " ", ("place", each["id"]), ("faint", f"  {each['operation'] or ''}"))
    for id in shown["rejected"]:
        page.line(("good", words("rejected")), " ", ("place", id))
    for each in shown["stale"]:
        why = words(", it no longer fits: {reason}", reason=words(each["reason"]))
        page.line(("warn", words("withdrawn")), " ", ("place", each["id"]), why)
    for id in shown["anew"]:
        page.line(words("proposed anew: "), ("place", id))
    if not any(shown.values()):
        page.line(words("Nothing waits."))
    elif shown["accepted"]:
        page.remark(words("to take one back: memorybook undo OPERATION"))


def _shown_tidy(shown: dict[str, Any], page: Page) -> None:
    would = shown["dry_run"]
    for title, found in (("would do" if would else "done", shown["done"]), ("waits", shown["proposed"])):
        for each in found:
            id = each["proposal"] or ""
            page.line(("good" if title != "waits" else "warn", f"{title:<8} "), ("strong", each["kind"]), f"  {id}")
            for told in each["told"]:
                page.text(told, "  ")
            page.text(f"because {each['reason']}", "  ")
    for id in shown["withdrawn"]:
        page.line("withdrawn " if not would else "would be withdrawn ", ("place", id), ", it no longer fits")
    if not (shown["done"] or shown["proposed"] or shown["withdrawn"]):
        page.line("Nothing to tidy.")
    for sentence in shown["degraded"]:
        page.remark(sentence)
    if shown["operation"]:
        page.remark(f"to take it back: memorybook undo {shown['operation']}")
    if shown["proposed"]:
        page.remark("what waits: memorybook review")


COMMANDS: dict[str, Command] = {
    "review": (_review_arguments, _review),
    "tidy": (_tidy_arguments, _tidy),
}

SHOWN: dict[str, Drawing] = {
    "review": _shown_review,
    "tidy": _shown_tidy,
}
"""What the answer of each looks like; `cli.show` asks for it."""
