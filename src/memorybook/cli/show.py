"""Answers as a person reads them, and the verbs that read: search, recall, get, list.

What goes to a pipe is the same, without colours and line breaks added.
"""

from __future__ import annotations

import os
import sys

from memorybook._light import TYPE_CHECKING, Any, cast
from memorybook.cli.call import command, command_of, remark, terminal_width, write
from memorybook.cli.wording import Wording, cells, padded, visible, wrapped
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from memorybook.cli.call import Call, Options, Show

_STYLES = {
    "strong": "\x1b[1m",
    "faint": "\x1b[2m",
    "good": "\x1b[32m",
    "warn": "\x1b[33m",
    "bad": "\x1b[31m",
    "gold": "\x1b[38;5;220m",
    "place": "\x1b[36m",
}

Part = str | tuple[str, str]
"""Text, or a style of `_STYLES` with text."""


class Page:
    """Where an answer is written: stdout with its width and colours, and remarks on stderr.

    Whatever is written has the characters made visible that would act on a terminal. Times are shown in `zone`, None
    for the machine's.

    Attributes:
        words: In which sentences of its own an answer is told.
        width: Columns of the terminal; None if there is none.
        color: Whether colours are shown.
        quiet: Whether remarks are not.
    """

    def __init__(self, options: Options, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self.words = Wording()
        self.width = terminal_width(sys.stdout)
        plain = options.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self.color = self.width is not None and not plain
        self.quiet = bool(options.quiet)

    def line(self, *parts: Part) -> None:
        """Print one line of styled parts."""
        shown = ""
        for part in parts:
            style, text = ("", part) if isinstance(part, str) else part
            shown += f"{_STYLES[style]}{visible(text)}\x1b[0m" if style and self.color and text else visible(text)
        write(shown.rstrip() + "\n")

    def minute(self, time: str) -> str:
        """Return `2026-02-24 18:10`, of a time as answers have it."""
        from datetime import datetime

        return f"{datetime.fromisoformat(time).astimezone(self._zone):%Y-%m-%d %H:%M}"

    def text(self, text: str, indent: str = "") -> None:
        """Print text of any length, its lines broken at the width of a terminal."""
        for line in visible(text).split("\n"):
            for row in wrapped(line, self.width - len(indent)) if self.width else [line]:
                write((indent + row).rstrip() + "\n")

    def clipped(self, text: str, taken: int) -> str:
        """Return the first line of the text, cut to what `taken` cells leave of a terminal's width."""
        line = visible(text.strip()).split("\n", 1)[0]
        if self.width is None or cells(line) <= self.width - taken:
            return line
        return wrapped(line, max(self.width - taken - 1, 1))[0] + "…"

    def remark(self, message: str) -> None:
        """Print a sentence about the answer on stderr."""
        if not self.quiet:
            sys.stdout.flush()  # a terminal shows both, in this order
            remark(message)


def answer(verb: str, shown: dict[str, Any], page: Page) -> None:
    """Write what the verb answered."""
    if shown.get("disabled") and verb != "status":
        page.line(page.words("Memory is switched off: set enabled = true to use it."))
        return
    drawing(verb)(shown, page)


def drawing(verb: str) -> Show:
    """Return what writes the answers of a verb: one of these, or one of its own module."""
    return _SHOWN[verb] if verb in _SHOWN else cast("Show", command_of(verb).show)


# --- verbs that read -----------------------------------------------------------------------------


@command("search")
def _search(call: Call) -> dict[str, Any]:
    given = call.arguments("below_prompt")
    if call.options.below_prompt:
        for name in given.keys() - {"query", "max_results"}:  # a filter that did nothing would mislead
            raise InvalidInput(f"--below-prompt cannot be combined with --{name.replace('_', '-')}")
        return call.tool("recall_memory", **given)
    found = call.tool("memory_search", **given)
    turns = [hit for hit in found["results"] if hit["source"] == "turn"]
    if turns and not call.options.json:  # as `get` needs them: by SESSION/ID where several sessions share the id
        shared = call.memory.book.transcripts.shared({hit["turn"] for hit in turns})
        for hit in turns:
            if hit["turn"] in shared:
                hit["turn"] = f"{hit['session']}/{hit['turn']}"
    return found


command("recall", tool="memory_recall")

command("get", tool="memory_get")


@command("list")
def _list(call: Call) -> dict[str, Any]:
    if not call.options.archived:
        return call.tool("memory_list", state="active", **call.arguments())
    listed = call.tool("memory_list", **call.arguments("archived", "limit"))
    if listed.get("disabled"):
        return listed
    put_away = [entry for entry in listed["entries"] if entry["state"] != "active"]
    return {"entries": put_away[: call.options.limit], "total": len(put_away)}


# --- finding -------------------------------------------------------------------------------------


def _hits(shown: dict[str, Any], page: Page) -> None:
    results, words = shown["results"], page.words
    if not shown["has_relevant"]:
        near = "Nothing relevant found. The nearest all the same:"
        page.line(words(near) if results else words("Nothing relevant found."))
    elif not results:
        page.line(words("Nothing above the threshold of {threshold:g}.", threshold=shown["threshold"]))
    for rank, hit in enumerate(results, 1):
        _hit(rank, hit, page)
    if shown.get("cut"):
        left = "{count} less relevant left out by the threshold of {threshold:g}"
        page.remark(words(left, count=shown["cut"], threshold=shown["threshold"]))
    index = shown["index"]
    for reason in index.get("degraded") or ():
        page.remark(words("degraded to {backend}: {reason}", backend=shown["backend"], reason=words(reason)))
    if index.get("pending_vectors"):
        waits = "{count} passages wait for their vectors; run: memorybook sync"
        page.remark(words(waits, count=index["pending_vectors"]))


def _hit(rank: int, hit: Mapping[str, Any], page: Page) -> None:
    first, last = hit["start_line"], hit["end_line"]
    place = f"{hit['path']}:{first}" + (f"-{last}" if last > first else "")
    if hit["source"] == "turn":
        place = f"turn:{hit['turn']}"
    place = f"{hit['layer']}:{place}" if "layer" in hit else place
    what, speaker = page.words(hit["category"] or hit["source"]), page.words(hit["speaker"] or "")
    state = page.words(hit.get("state", ""))
    since = _since(hit, page)
    about = (what, state, hit["date"], since, speaker, f"[{hit['id']}]" if hit["id"] else None)
    page.line(
        f"{rank}. ",
        ("good", f"{hit['relevance']:.2f}"),
        "  ",
        ("place", place),
        ("faint", "  " + " · ".join(word for word in about if word)),
    )
    page.text(hit["snippet"].strip("\n"), "   ")
    for name, value in (hit.get("why") or {}).items():
        page.line(("faint", f"     {name:<14}{value:>8.4f}"))


def _since(hit: Mapping[str, Any], page: Page) -> str:
    """Return since when nobody confirmed an entry, "" if that needs no telling."""
    if "unconfirmed_since" not in hit:
        return ""
    from memorybook.book.fade import month

    return page.words("not confirmed since {month}", month=month(hit["unconfirmed_since"], page.words.language))


def _block(shown: dict[str, Any], page: Page) -> None:
    if shown["text"]:
        page.text(shown["text"].rstrip("\n"))
    else:
        page.remark("nothing to recall")


def _got(shown: dict[str, Any], page: Page) -> None:
    if "entry" in shown:  # every field that says something
        entry = shown["entry"]
        page.text(entry["text"])
        for name, value in entry.items():
            if name != "text" and value not in (None, [], {}, "", False):
                told = page.minute(value) if name == "created_at" else _value(value, page)
                page.line(("faint", f"  {name:<15}"), told)
        return
    turn = shown.get("turn")
    if turn:
        from memorybook.sessions.recall_block import short

        time = page.minute(turn["time"]) if turn["time"] else ""
        about = (turn["speaker"] or turn["role"], time, turn.get("session_name") or short(turn["session"]))
        page.line(("faint", " · ".join(word for word in about if word)))
    last = shown["from"] + shown["lines"] - 1
    if shown["lines"] or not shown["total_lines"]:
        page.text(shown["text"].removesuffix("\n"))
    if not shown["lines"]:
        page.remark(f"the document has {page.words.counted(shown['total_lines'], 'line')}")
    elif shown["from"] > 1 or last < shown["total_lines"]:
        page.remark(f"lines {shown['from']} to {last} of {shown['total_lines']}")


def _listed(shown: dict[str, Any], page: Page) -> None:
    for entry in shown["entries"]:
        marks = "*" if entry["pinned"] else " "
        head = f"{entry['id']:<8} {entry['score']:.2f}{marks} {padded(page.words(entry['category']), 11)} "
        if entry["state"] != "active":
            head += f"({page.words(entry['state'])}) "
        page.line(("place", head[:9]), head[9:], page.clipped(entry["text"], cells(head)))
    count, total = len(shown["entries"]), shown["total"]
    if not count:
        page.line(page.words("None of {total} entries shown.", total=total) if total else page.words("No entries."))
    elif count < total:
        page.remark(page.words("{count} of {total} entries; more with --limit", count=count, total=total))


# --- writing -------------------------------------------------------------------------------------


def _entry(shown: dict[str, Any], page: Page) -> None:
    entry = shown["entry"]
    said = shown.get("action") or ("pinned" if entry["pinned"] else entry["state"])
    head = f" {entry['id']} {page.words(entry['category'])} {entry['score']:.2f}  "
    page.line(("good", page.words(said)), head, entry["text"])
    _masked(shown, page)


def _confirmed(shown: dict[str, Any], page: Page) -> None:
    _entry({**shown, "action": "confirmed"}, page)


def _masked(shown: Mapping[str, Any], page: Page) -> None:
    if shown.get("redacted"):
        page.remark(page.words("{secrets} masked", secrets=page.words.counted(shown["redacted"], "secret")))


def _appended(shown: dict[str, Any], page: Page) -> None:
    page.line(
        ("good", "already there" if shown["duplicate"] else "written"),
        " ",
        ("place", f"{shown['path']}:{shown['line']}"),
    )
    _masked(shown, page)


def _flushed(shown: dict[str, Any], page: Page) -> None:
    for place in shown["written"]:
        page.line(("good", page.words("written")), " ", ("place", f"{place['path']}:{place['line']}"))
    _skipped(shown, page)
    if not shown["written"]:
        page.line("Nothing new to write.")
    _masked(shown, page)


def _skipped(shown: Mapping[str, Any], page: Page) -> None:
    for skipped in shown["skipped"]:
        head = f"left out ({skipped['reason']}): "
        page.line(("warn", head), page.clipped(skipped["text"], len(head)))


def _imported(shown: dict[str, Any], page: Page) -> None:
    count = page.words.counted
    kept = [count(shown["entries"], "entry", "entries"), count(shown["notes"], "note")]
    kept += [f"{shown[name]} {name}" for name in ("strengthened", "known") if shown[name]]
    files = f" of {count(shown['files'], 'file')}" if shown["files"] != 1 else ""
    page.line(
        ("strong", "would bring " if shown["dry_run"] else ""),
        ("good", f"{shown['new_turns']} new"),
        f" of {count(shown['turns'], 'turn')} in {count(shown['sessions'], 'session')}{files}; {', '.join(kept)}",
    )
    for path in shown["summaries"][:_NAMED]:
        page.line("  ", ("place", path))
    if len(shown["summaries"]) > _NAMED:
        page.line(f"  … and {len(shown['summaries']) - _NAMED} more")
    _skipped(shown, page)
    _masked(shown, page)
    for warning in shown["warnings"]:
        page.remark(warning)
    if shown.get("pending_vectors"):
        waits = "{count} passages are found by their words; their vectors are made in the background"
        page.remark(page.words(waits, count=shown["pending_vectors"]))
    if shown["dry_run"]:
        page.remark("nothing was written")


_NAMED = 20
"""Summaries of an import that are named."""


# --- upkeep --------------------------------------------------------------------------------------


def _made(shown: dict[str, Any], page: Page) -> None:
    for path in shown["created"]:
        page.line(("good", page.words("made")), " ", ("place", os.path.join(shown["root"], path)))
    if not shown["created"]:
        page.line(page.words("There is a book already:"), " ", ("place", shown["root"]))
    if shown["hint"]:
        page.remark(page.words(shown["hint"]))


def _trusted(shown: dict[str, Any], page: Page) -> None:
    for one in shown["trusted"]:
        what = ", ".join(one["settings"]) or page.words("nothing that needs trust")
        page.line(("good", page.words("trusted")), " ", ("place", one["path"]), f" ({what})")
    if shown["merges"]:
        merges = page.words("git merges the book by entries")
        page.line(("good", page.words("changed")), " ", ("place", shown["merges"]), f": {merges}")


def _fields(shown: Mapping[str, Any], page: Page, indent: str = "") -> None:
    """Yield names and values, groups indented; empty ones left out."""
    for name, value in shown.items():
        label = f"{indent}{page.words(name.replace('_', ' '))}"
        if isinstance(value, dict):
            if value:
                page.line(("strong", label))
                _fields(value, page, indent + "  ")
        elif isinstance(value, list) and name in ("warnings", "degraded"):
            for sentence in value:
                page.line(("warn", f"{label}: "), page.words(str(sentence)))
        elif value not in (None, [], ""):
            page.line(f"{padded(label, 22)} ", _value(value, page))


def _status(shown: dict[str, Any], page: Page) -> None:
    _fields(shown, page)
    if shown.get("degraded"):
        page.remark(page.words("what mends it: memorybook doctor"))


def _value(value: Any, page: Page) -> str:
    if isinstance(value, bool):
        return page.words("yes") if value else page.words("no")
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value)


_SHOWN: dict[str, Show] = {
    "search": _hits,
    "recall": _block,
    "get": _got,
    "list": _listed,
    "add": _entry,
    "append": _appended,
    "flush": _flushed,
    "update": _entry,
    "confirm": _confirmed,
    "pin": _entry,
    "unpin": _entry,
    "import": _imported,
    "init": _made,
    "status": _status,
    "sync": _fields,
    "rebuild": _fields,
    "trust": _trusted,
}
