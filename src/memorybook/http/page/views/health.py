"""How the book is: what waits, what is degraded, what the language model used, each with what mends it."""

from __future__ import annotations

from typing import Any, NamedTuple

from memorybook import locale
from memorybook.config.settings import Config
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory

INDEX = ("backend", "embedder", "passages", "vectors", "bytes", "path")


class Found(NamedTuple):
    """What `status` answers, what the model used today, and the settings."""

    status: dict[str, Any]
    used: dict[str, int]
    config: Config


def read(memory: Memory, ask: Ask) -> Found:
    """Read the state of the book; an index that is behind is brought up to date by the next search, not here."""
    day = memory.book.journal.spent(memory.book.now().date())
    used = {"calls": day.calls, "failed": day.failed, "tokens": day.input_tokens + day.output_tokens}
    return Found(memory.status(), used, memory.config)


def show(found: Found, ask: Ask) -> dict[str, Any]:
    """List figures, and troubles with the form that mends each ("" if none does)."""
    status, budget = found.status, found.config.llm.budget
    index = {name: status["index"].get(name) for name in INDEX}
    counts = {name: status["entries"][name] for name in ("active", "archived", "superseded")}
    counts |= {name: status["transcripts"].get(name, 0) for name in ("sessions", "turns")}
    counts["documents"] = status["documents"]["count"]
    waiting = status["waiting"]
    troubles = [(text, "") for text in (*status["degraded"], *status["warnings"])]
    if waiting["sessions"]:
        troubles.append((ask.say("sessions_wait", count=waiting["sessions"]), "retry"))
    if pending := status["index"].get("pending_vectors"):
        troubles.append((ask.say("vectors_wait", count=pending), "sync"))
    if status["index"] and not status["index"].get("fresh", True):
        troubles.append((ask.say("index_behind"), "sync"))
    limits = {"tokens": budget.tokens_per_day, "calls": budget.calls_per_day}
    return {
        "counts": counts,
        "troubles": troubles,
        "fixes": {text: locale.fix(text, ask.lang) for text, _ in troubles},
        "index": {name: f"{value:,}" if isinstance(value, int) else value for name, value in index.items() if value},
        "sources": status["index"].get("by_source", {}),
        "used": found.used,
        "limits": {name: limit for name, limit in limits.items() if limit},
        "model": found.config.llm.model or "",
        "proposals": waiting["proposals"],
        "settings": status["settings"],
        "provider": status["provider"],
    }
