"""Verbs that look back and tidy: history, why, undo, review, tidy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorybook import locale
from memorybook.cli.call import command, words_of
from memorybook.cli.show import Page
from memorybook.cli.wording import padded
from memorybook.errors import InvalidInput, NotFound
from memorybook.sessions.recall_block import short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memorybook.cli.call import Call
    from memorybook.memory import Memory

_MOST = 50
"""Changes of one operation among several that are shown; some have thousands."""


def _operation(operation: Mapping[str, Any], page: Page, indent: str = "", most: int | None = None) -> None:
    words = page.words
    who = f"{operation['actor']} ({operation['door']})"
    head = (indent, f"{page.minute(operation['time'])}  ", ("strong", padded(words(operation["kind"] or "change"), 9)))
    page.line(*head, ("place", f" {operation['id']}"), ("faint", f"  {who}"))
    for told in operation["told"][:most]:
        page.text(words(told), f"{indent}  ")
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


def _shown_history(shown: dict[str, Any], page: Page) -> None:
    several = len(shown["operations"]) > 1
    for operation in shown["operations"]:
        _operation(operation, page, most=_MOST if several else None)
    if not shown["operations"]:
        page.line(page.words("Nothing was done yet."))
    elif shown["more"]:
        page.remark(page.words("older ones with --limit"))


command("history", tool="memory_history", show=_shown_history)


def _shown_why(shown: dict[str, Any], page: Page) -> None:
    entry, words = shown["entry"], page.words

    def show_ground(ground: Mapping[str, Any]) -> None:
        time = page.minute(ground["time"]) if ground["time"] else ""
        about = (ground["session_name"] or short(ground["session"]), words(ground["speaker"] or ""), time)
        page.line("  ", ("place", ground["source"]), ("faint", "  " + " · ".join(word for word in about if word)))
        page.text(ground["text"] if ground["text"] is not None else words("no longer kept"), "    ")
        if ground["quote"] and ground["quote"] != ground["text"]:
            page.text(words("quoted: {quote}", quote=ground["quote"]), "    ")

    def show_other(other: Mapping[str, Any]) -> None:
        page.text(f"[{other['id']}] {other['text']}", "  ")

    def show_prompt(prompt: Mapping[str, Any]) -> None:
        page.line(f"  {page.minute(prompt['time'])}  ", page.clipped(prompt["query"] or words("(no question)"), 20))

    if entry is None:
        page.line(("warn", words("{id} is no longer in the book.", id=shown["id"])))
    else:
        page.text(entry["text"])
        state = f"{words(entry['category'])} · {words(entry['state'])} · {words('score')} {entry['score']:.2f}"
        said, prompts = words.counted(entry["hits"], "time"), words.counted(shown["access_count"], "prompt")
        used = words("said {times} · in {prompts}", times=said, prompts=prompts)
        page.line(("faint", f"  [{shown['id']}] {state} · {used}"))
    replaced = [] if shown["superseded_by"] is None else [shown["superseded_by"]]
    parts: tuple[tuple[str, list[Any], Callable[[Any], None]], ...] = (
        ("It rests on", shown["rests_on"], show_ground),
        ("What was done to it", shown["story"], lambda each: _operation(each, page, "  ")),
        ("It replaces", shown["supersedes"], show_other),
        ("It was replaced by", replaced, show_other),
        ("It contradicts", shown["contradicts"], show_other),
        ("The last prompts it entered", shown["prompts"], show_prompt),
    )
    for title, values, show in parts:
        if values:
            page.line(("strong", words(title)))
        for each in values:
            show(each)


command("why", tool="memory_why", show=_shown_why)


def _shown_undo(shown: dict[str, Any], page: Page) -> None:
    words = page.words
    verb = words("would undo") if shown["dry_run"] else words("undid")
    page.line(f"{verb} {words(shown['kind'] or 'change')} ", ("place", shown["undone"]))
    for told in shown["told"]:
        page.text(words(told), "  ")
    for path in shown["exact"]:
        page.line(("good", f"  {path}"), words(" is as it was before, to the byte"))
    for path in shown["adapted"]:
        page.line(("warn", f"  {path}"), words(" keeps what else changed in it since"))
    for sentence in shown["remains"]:
        page.remark(words(sentence))
    if shown["operation"]:
        page.remark(words("to have it again: memorybook undo {id}", id=shown["operation"]))


_NEWEST = 100
"""Operations among which the last one is looked for."""


@command("undo", show=_shown_undo)
def _undo(call: Call) -> dict[str, Any]:
    id = call.options.operation
    if id is None:
        found = call.tool("memory_history", id=None, limit=_NEWEST)
        if found.get("disabled"):
            return found
        yours = (each for each in found["operations"] if each["actor"] == "user")
        id = next((each["id"] for each in yours if not (each["undone_by"] or each["undoes"])), None)
        if id is None:
            raise NotFound("nothing of yours is left to take back: name an operation, see memorybook history")
    return call.tool("memory_undo", operation=id, dry_run=call.options.dry_run)


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


@command("review", show=_shown_review)
def _review(call: Call) -> dict[str, Any] | None:
    o = call.options

    def decide(memory: Memory) -> dict[str, Any]:
        if o.reason and o.action != "reject":
            raise InvalidInput("--reason is for reject: say review reject ID --reason TEXT")
        if o.action is None or o.action == "list":
            return memory.review(kind=o.kind, state=o.state or "open", limit=o.limit or 20).json()
        if o.action == "accept":
            return memory.accept(*o.ids, kind=o.kind, every=o.all).json()
        if o.action == "reject":
            return memory.reject(*o.ids, kind=o.kind, every=o.all, reason=o.reason or "").json()
        raise locale.error(InvalidInput, "problems.review_word", word=repr(o.action), what=o.action)

    return call.unless_off(decide)


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


@command("tidy", show=_shown_tidy)
def _tidy(call: Call) -> dict[str, Any] | None:
    o, page = call.options, Page(call.options)

    def tell(tidied: Any) -> None:
        if o.json:
            call.write_json(tidied.json())
        else:
            _shown_tidy(tidied.json(), page)
        call.flush()

    def tidy(memory: Memory) -> dict[str, Any] | None:
        if o.every is None:
            return memory.tidy(dry_run=o.dry_run, apply=None if o.apply is None else words_of([o.apply])).json()
        if o.dry_run or o.apply is not None:
            raise InvalidInput("--every takes neither --dry-run nor --apply: set tidy.apply for what it may do")
        if not o.json:
            page.remark(f"tidying {memory.root} while it is idle; Ctrl-C ends it")
        memory.heartbeat(o.every, on_run=tell)
        return None

    return call.unless_off(tidy)
