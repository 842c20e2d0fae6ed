"""Verbs that write and take out: add, append, flush, update, pin, unpin, forget, purge."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memorybook import locale
from memorybook.cli.call import command, read_stdin, text_of
from memorybook.cli.wording import padded
from memorybook.errors import InvalidInput, MissingDocument, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorybook.cli.call import Call
    from memorybook.cli.show import Page
    from memorybook.cli.wording import Wording
    from memorybook.memory import Memory


@command("add")
def _add(call: Call) -> dict[str, Any]:
    o = call.options
    if bool(o.text) == (o.content is not None):
        raise InvalidInput("give the statement once: as TEXT, or with --content")
    text = text_of(o.text if o.content is None else [o.content])
    return call.tool("memory_remember", **_fields(call, "content", "text"), text=text)


def _fields(call: Call, *but: str) -> dict[str, Any]:
    """Return the arguments; an importance that is a number as one, a word is left for the book to judge."""
    given = call.arguments(*but)
    with suppress(KeyError, ValueError):
        given["importance"] = float(given["importance"])
    return given


command("append", tool="memory_append")


@command("flush")
def _flush(call: Call) -> dict[str, Any]:
    o = call.options
    if bool(o.text) == bool(o.messages):
        raise InvalidInput("flush needs either a text (- reads stdin) or --messages FILE")
    text = text_of(o.text) if o.text else None
    messages = messages_of(o.messages) if o.messages else None
    if o.confirm:  # on stderr: stdout is the answer's
        lines, known = _rehearsed(call.memory, text, messages)
        for line in known:
            call.warn(f"there already: {line}")
        for line in lines:
            call.warn(f"to be written: {line}")
        if lines:
            call.confirm(f"Write {'this note' if len(lines) == 1 else f'these {len(lines)} notes'}?")
    return call.tool("memory_flush", text=text, messages=messages)


def _rehearsed(memory: Memory, text: str | None, messages: list[dict[str, Any]] | None) -> tuple[list[str], list[str]]:
    """Return the notes that a flush would write, and the duplicates it would skip, by flushing into a temporary book.

    That book has a copy of today's page, so that it knows what was written already.
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
        done = tools.run(book, "memory_flush", text=text, messages=messages)
        known = [skip["text"] for skip in done.get("skipped", ()) if skip["reason"] == "duplicate"]
        places = [(place["path"], place["line"]) for place in done.get("written", ())]
        return [book.get(path, start=line, lines=1).json()["text"].strip() for path, line in places], known


def messages_of(path: str) -> list[dict[str, Any]]:
    """Read the messages of a file of JSON lines, or of one JSON array. Raises InvalidInput, NotFound."""
    import json

    try:
        if path == "-":
            data = read_stdin()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except FileNotFoundError:
        raise NotFound(f"no file {path!r}") from None
    except OSError as problem:
        raise InvalidInput(f"cannot read {path!r}: {problem.strerror}") from None
    text = data.decode("utf-8-sig", "surrogateescape")
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


@command("update")
def _update(call: Call) -> dict[str, Any]:
    given = _fields(call)
    if len(given) == 1:
        options = "--category, --importance, --tag, --group, --expires, --metadata, --instruction"
        raise InvalidInput(f"update needs a new text or one of {options}")
    return call.tool("memory_update", **given)


@command("confirm")
def _confirm(call: Call) -> dict[str, Any] | None:
    return call.unless_off(lambda memory: memory.confirm(call.options.id, lasting=call.options.lasting or None).json())


command("pin", tool="memory_pin")


@command("unpin")
def _unpin(call: Call) -> dict[str, Any]:
    return call.tool("memory_pin", id=call.options.id, pinned=False)


_GONE = ("entries", "notes", "documents")


def _meant(call: Call) -> dict[str, Any]:
    """Return what is to go. Raises InvalidInput if it is not exactly one thing."""
    meant = call.arguments("dry_run", "yes")
    if len(meant) != 1:
        more = ", --forgotten" if call.verb == "purge" else ""
        known = f"an entry's id, --query TEXT, --session ID, --source WHAT{more}"
        raise locale.error(InvalidInput, "problems.one_of", name=call.verb, options=known)
    return meant


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
    """Say what a receipt counts, in a few words."""
    counts = {"entry": len(receipt["entries"])} | {one: len(receipt[f"{one}s"]) for one in ("note", "document")}
    counts |= {one: receipt[f"{one}s"] for one in ("session", "turn")}
    told = (words.counted(number, one, "entries" if one == "entry" else "") for one, number in counts.items() if number)
    return words(", ").join(told) or words("nothing")


@command("forget", show=_shown_forget)
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


@command("purge", show=_shown_purge)
def _purge(call: Call) -> dict[str, Any]:
    o, meant = call.options, _meant(call)
    if not o.dry_run and not o.yes:
        planned = call.tool("memory_purge", **meant, dry_run=True)
        if planned.get("disabled"):
            return planned
        for sentence in planned["receipt"]["remains"] or [f"would purge {_counts(planned['receipt'], call.words)}"]:
            call.warn(sentence)
        call.confirm("Erase this for good? It cannot be undone.")
    return call.tool("memory_purge", **meant, dry_run=o.dry_run)
