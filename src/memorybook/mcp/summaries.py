"""Answers as a few lines of text, for hosts that show a model nothing else: an index, with what opens each thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memorybook.config.settings import OFF
from memorybook.search.tool_results import result_lines

Shown = Mapping[str, Any]


def brief(answer: Shown) -> str:
    """The answer in lines; what was left out stands at the end."""
    told = _TOLD[next((field for field in _TOLD if field in answer), "")](answer)
    return "\n".join([*told, *(f"({sentence})" for sentence in answer.get("left_out", ()))])


def _line(text: str) -> str:
    return " ".join(text.split())


def _off(answer: Shown) -> list[str]:
    return [str(answer["reason"])]


def _found(answer: Shown) -> list[str]:
    if answer["disabled"]:
        return [OFF]
    return result_lines(answer)


def _opened(answer: Shown) -> list[str]:
    last = answer["from"] + answer["lines"] - 1
    turn = answer.get("turn")
    if turn is None and not answer["lines"]:
        return [f"{answer['path']} has {answer['total_lines']} lines: there are none from that one on"]
    if turn is None:
        return [f"{answer['path']}, lines {answer['from']} to {last} of {answer['total_lines']}:", answer["text"]]
    about = [turn["speaker"] or turn["role"], turn.get("time"), turn["session_name"] or turn["session"]]
    return [", ".join(filter(None, about)) + ":", answer["text"]]


def _entry(answer: Shown) -> list[str]:
    entry = answer["entry"]
    about = [entry["category"], entry["state"], f"score {entry['score']:.2f}", "pinned" if entry["pinned"] else ""]
    about += [answer.get("action", ""), f"group {entry['group']}" if entry.get("group") else ""]
    lines = [f"{entry['id']} ({', '.join(filter(None, about))}): {entry['text']}"]
    if entry.get("trust") == "suspect":
        lines.append(
            "kept as suspect, for it tells its reader what to do: a search finds it, no prompt brings it by itself"
        )
    if answer.get("refused"):
        lines.append(f"nothing was changed: {answer['refused']}")
    return [*lines, *_masked(answer)]


def _masked(answer: Shown) -> list[str]:
    return [f"secrets masked: {answer['redacted']}"] if answer.get("redacted") else []


def _appended(answer: Shown) -> list[str]:
    where = f"{answer['path']}#L{answer['line']}"
    return [f"there already: {where}" if answer["duplicate"] else f"written: {where}", *_masked(answer)]


def _flushed(answer: Shown) -> list[str]:
    lines = [f"written: {place['path']}#L{place['line']}" for place in answer["written"]]
    lines += [f"left out ({one['reason']}): {_line(one['text'])[:120]}" for one in answer["skipped"]]
    return [*(lines or ["nothing new to write"]), *_masked(answer)]


def _forgotten(answer: Shown) -> list[str]:
    told = answer["receipt"]
    head = f"{'would go' if told['dry_run'] else 'forgotten'}: {things(told) or 'nothing'}"
    return [head, *(f"    {line}" for line in answer.get("would_go", ())), *told["remains"]]


def things(told: Shown) -> str:
    """`2 entries, 1 note`, of what a receipt names; "" for nothing."""
    counts = {"entry": len(told["entries"]), "note": len(told["notes"]), "document": len(told["documents"])}
    counts |= {"session": told["sessions"], "turn": told["turns"]}
    many = {"entry": "entries"}
    return ", ".join(f"{n} {one if n == 1 else many.get(one, one + 's')}" for one, n in counts.items() if n)


def _recollected(answer: Shown) -> list[str]:
    if answer["disabled"]:
        return [OFF]
    lines = [_session(session) for session in answer["sessions"]]
    lines += [_said(turn) for turn in answer["turns"]]
    head = [answer["reason"]] if answer["reason"] else []
    if not answer["has_relevant"]:
        head.append("nothing found" if not lines else "nothing that is surely about it; the nearest all the same:")
    return [*head, *lines, *(f"(less than it could be: {reason})" for reason in answer["degraded"])]


def _session(session: Shown) -> str:
    about = [session.get("started"), f"{session['turns']} turns", session["name"], session["path"]]
    told = _line(session["summary"] or session["title"])
    return f"session {session['uuid']} ({', '.join(filter(None, about))}): {told}"


def _said(turn: Shown) -> str:
    about = ", ".join(filter(None, [turn["speaker"] or turn["role"], turn.get("time")]))
    return f"{turn['place']} ({about}): {_line(turn['text'])}"


def _review(answer: Shown) -> list[str]:
    lines = [
        f"{one['id']} ({one['kind']}, {one['state']}): {_line('; '.join(one['told']))}{_why(one)}"
        for one in answer["proposals"]
    ]
    return [*lines, f"{len(lines)} of {answer['total']} proposals; only a person accepts or rejects them"]


def _why(proposal: Shown) -> str:
    return f" ({_line(proposal['reason'])})" if proposal["reason"] else ""


def _status(answer: Shown) -> list[str]:
    counted = (
        f"{name} {number}"
        for group in ("entries", "documents", "transcripts")
        for name, number in answer[group].items()
        if number
    )
    lines = [f"book: {answer['root']}" + ("" if answer["exists"] else " (nothing written yet)")]
    lines += [OFF] if answer["disabled"] else []
    lines.append(f"stored: {', '.join(counted) or 'nothing'}")
    waiting = [f"{name} {number}" for name, number in answer["waiting"].items() if number]
    lines += [f"waiting: {', '.join(waiting)}"] if waiting else []
    return [*lines, *(f"degraded: {reason}" for reason in answer["degraded"]), *answer["warnings"]]


_TOLD: Mapping[str, Callable[[Shown], list[str]]] = {
    "tool": _off,
    "results": _found,
    "total_lines": _opened,
    "entry": _entry,
    "duplicate": _appended,
    "written": _flushed,
    "receipt": _forgotten,
    "scene": _recollected,
    "proposals": _review,
    "root": _status,
}
"""By a field that only answers of that shape have."""
