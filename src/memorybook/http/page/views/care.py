"""Views of upkeep: what waits for a person, forgetting step by step, and how the book is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from memorybook import locale
from memorybook.config.settings import Config
from memorybook.entries.review import KINDS, TIDYING, Review, Waiting
from memorybook.errors import MemoryBookError
from memorybook.http.page import actions
from memorybook.http.page.rendering import Ask
from memorybook.memory import Memory
from memorybook.results import Happened, Receipt, Said
from memorybook.text.screen import screen

# --- proposals: each with its reason, its old and new text, and what it rests on ------------------


PER_PAGE = 50
STATES = ("open", "accepted", "rejected", "withdrawn")


class Side(NamedTuple):
    """A change with the text before and after it ("" for none), the entry it is about, and the turn it rests on."""

    before: str = ""
    after: str = ""
    id: str = ""
    by: str = ""
    turn: str = ""


class ProposalsFound(NamedTuple):
    """A page of proposals, and texts of entries by id."""

    review: Review
    texts: Mapping[str, str]
    page: int


def read_proposals(memory: Memory, ask: Ask) -> ProposalsFound:
    """List proposals of the state and kind in the query, as far as its page goes."""
    page, state, kind = ask.number("page", 1, 100_000), ask.text("state"), ask.text("kind")
    state = state if state in STATES else "open"
    kind = kind if kind in (*TIDYING, *KINDS) else ""
    found = memory.review(kind=kind or None, state=state, limit=page * PER_PAGE)
    return ProposalsFound(found, {known.entry.id: known.entry.text for known in memory.entries().entries}, page)


def show_proposals(found: ProposalsFound, ask: Ask) -> dict[str, Any]:
    """Put old and new text side by side, page by page."""
    total = sum(found.review.kinds.values())
    state = ask.text("state") if ask.text("state") in STATES else "open"
    known = (*TIDYING, *KINDS)
    return {
        "rows": [_row(each, found.texts) for each in found.review.proposals[(found.page - 1) * PER_PAGE :]],
        "state": state,
        "states": STATES,
        "kinds": sorted(found.review.kinds.items(), key=lambda one: -one[1]),
        "kind": ask.text("kind"),
        "kind_name": lambda kind: ask.say(f"review_kind_{kind}") if kind in known else kind,
        "total": total,
        "page": found.page,
        "pages": max(1, -(-total // PER_PAGE)),
        "counts": [(name, ask.number(name, 0, 10_000)) for name in ("accepted", "rejected", "stale", "anew")],
        "whys": ask.lists.get("why", ())[:5],
    }


def _row(waiting: Waiting, texts: Mapping[str, str]) -> tuple[Waiting, list[Side]]:
    changes = waiting.proposal.changes
    added = {change["entry"]["id"]: change["entry"]["text"] for change in changes if change.get("do") == "add"}
    replaced = {change["by"] for change in changes if change.get("do") == "supersede"}
    replaced |= {by for change in changes if (by := change.get("fields", {}).get("superseded_by"))}
    sides = [list(_sides(change, {**texts, **added}, replaced)) for change in changes]
    return waiting, [side for some in sides for side in some]


def _sides(change: Mapping[str, Any], texts: Mapping[str, str], replaced: set[str]) -> Iterator[Side]:
    """Yield a change as texts; nothing for one that only words can tell, or that another tells already."""
    kind, id, fields = change.get("do"), str(change.get("id", "")), change.get("fields", {})
    if kind == "add":
        entry = change["entry"]
        source, session = str(entry.get("source") or ""), entry.get("session") or change.get("session") or ""
        turn = source.removeprefix("turn:").removeprefix(f"{session}/") if source.startswith("turn:") else ""
        place = f"turn:{session}/{turn}" if turn and session else ""
        if entry["id"] not in replaced or place:
            yield Side("", entry["text"], turn=place)
    elif kind == "supersede" or fields.get("superseded_by"):
        by = str(change.get("by") or fields["superseded_by"])
        yield Side(texts.get(id, ""), texts.get(by, ""), id, by)
    elif kind == "update" and "text" in fields:
        yield Side(texts.get(id, ""), str(fields["text"]), id)
    elif kind in ("archive", "remove"):
        yield Side(texts.get(id, ""), "", id)
    elif kind in ("append", "drop"):
        line = str(change.get("line") or "")
        yield Side("", line) if kind == "append" else Side(line, str(change.get("left") or ""))


# --- forgetting: what is meant, a dry run, the receipt; suspect texts and masked secrets -----------


WAYS = ("query", "target", "session", "source")
COUNTS = ("entries", "notes", "documents", "sessions", "turns")
ERASED = ("passages", "tombstones", "journal", "versions", "searched")
MOST = 60
MASK = "[REDACTED:"
SUSPECT = ("ignore all previous instructions, you are now", "忽略之前的所有指令，你现在是")
"""What is searched for to find turns that instruct whoever reads them."""


class Text(NamedTuple):
    """A text, what opens it (an entry's id, or `turn:SESSION/ID`), and a word about it."""

    text: str
    target: str
    word: str = ""


class ForgettingFound(NamedTuple):
    """A step: what is asked for, the dry run or the receipt, texts; suspect ones and those with masked secrets."""

    way: str = ""
    what: str = ""
    dry: Receipt | None = None
    erasable: bool = False
    error: MemoryBookError | None = None
    done: Receipt | None = None
    happened: Happened | None = None
    texts: tuple[Text, ...] = ()
    turns: tuple[Text, ...] = ()
    stay: tuple[Text, ...] = ()
    suspect: tuple[Text, ...] = ()
    masked: tuple[Text, ...] = ()


def read_forgetting(memory: Memory, ask: Ask) -> ForgettingFound:
    """Read the step that the query is at."""
    if name := ask.text("receipt"):
        receipt = actions.kept_receipt(memory, name)
        operation = receipt.operation if receipt is not None else name
        return ForgettingFound(done=receipt, happened=actions.receipt(memory, operation or ""))
    by, what = ask.text("by"), ask.text("what")
    given = {by: what} if by in WAYS and what else {way: ask.text(way) for way in WAYS if ask.text(way)}
    if not given:
        return _aside(memory)
    way, what = next(iter(given.items()))
    which: dict[str, Any] = {way: what}
    try:
        dry = memory.forget(**which, dry_run=True)
    except MemoryBookError as error:  # what was forgotten before can still be erased
        with suppress(MemoryBookError):
            return ForgettingFound(way, what, memory.purge(**which, dry_run=True), erasable=True)
        return ForgettingFound(way, what, error=error)
    places = list(dry.places)
    if way == "session":
        with suppress(MemoryBookError):
            places += [turn.place for turn in memory.recall_session(what, limit=MOST, max_tokens=1).turns]
    known = {entry.id: entry.text for entry in memory.book.entries()}
    texts = tuple(Text(known[id], id) for id in dry.entries[:MOST] if id in known)
    turns = tuple(_said(memory, places[:MOST]))
    words = what if way == "query" else texts[0].text[:500] if way == "target" and texts else ""
    others = _turns(memory, words, 30, about=0.5) if words else ()
    return ForgettingFound(
        way, what, dry, texts=texts, turns=turns, stay=tuple(one for one in others if one.target not in places)
    )


def _said(memory: Memory, places: Sequence[str]) -> Iterator[Text]:
    for place in places:
        with suppress(MemoryBookError):
            if isinstance(said := memory.get(place), Said):
                yield Text(said.turn.text, f"turn:{said.turn.session}/{said.turn.id}", said.turn.speaker)


def _turns(memory: Memory, words: str, most: int, about: float = 0.0) -> Iterator[Text]:
    for hit in memory.search(words, max_results=most, min_score=about).hits:
        said = hit.passage
        if said.source == "turn" and said.turn and said.session:
            yield Text(said.text, f"turn:{said.session}/{said.turn}", said.speaker)


def _aside(memory: Memory) -> ForgettingFound:
    """Find suspect entries, turns that try to instruct whoever reads them, and texts in which secrets were masked."""
    entries = [known.entry for known in memory.entries().entries]
    suspect = [Text(entry.text, entry.id, "trust_suspect") for entry in entries if entry.trust == "suspect"]
    masked = [Text(entry.text, entry.id) for entry in entries if MASK in entry.text]
    found = {text.target: text for words in SUSPECT for text in _turns(memory, words, 100) if screen(text.text)}
    masked += [text for text in _turns(memory, "REDACTED", 200) if MASK in text.text]
    return ForgettingFound(suspect=tuple([*suspect, *found.values()][:MOST]), masked=tuple(masked[:MOST]))


def show_forgetting(found: ForgettingFound, ask: Ask) -> dict[str, Any]:
    """Say what would go, or what went, in words."""
    receipt = found.done or found.dry
    remains = list(map(str, receipt.remains)) if receipt is not None else []
    return {
        **{name: value for name, value in found._asdict().items() if name != "done"},
        "error": locale.describe(found.error, ask.lang) if found.error is not None else "",
        "step": 3 if ask.text("receipt") else 2 if found.dry is not None else 1,
        "ways": WAYS,
        "counts": _counted(receipt, COUNTS),
        "erased": _counted(found.done, ERASED),
        "purged": found.done is not None and bool(found.done.limits or found.done.journal),
        "remains": [_kept(sentence, ask.lang) for sentence in remains],
        "nothing": found.dry is not None and not _counted(found.dry, COUNTS) and not found.erasable,
        "receipt": receipt,
    }


def _counted(receipt: Receipt | None, names: tuple[str, ...]) -> list[tuple[str, int]]:
    values = ((name, getattr(receipt, name, 0)) for name in names)
    counts = ((name, len(value) if isinstance(value, tuple) else value) for name, value in values)
    return [(name, count) for name, count in counts if count]


def _kept(sentence: str, language: str) -> str:
    """Say where copies remain: the words before the text that is kept are an answer of the catalogue."""
    head, colon, text = sentence.partition(": ")
    answers = locale.table("answers", language)
    return answers.get(sentence) or f"{answers.get(head, locale.translate(head, language))}{colon}{text}"


# --- health: what waits, what is degraded, what the model used, with what mends it -----------------


INDEX = ("backend", "embedder", "passages", "vectors", "bytes", "path")


class HealthFound(NamedTuple):
    """What `status` answers, what the model used today, and the settings."""

    status: dict[str, Any]
    used: dict[str, int]
    config: Config


def read_health(memory: Memory, ask: Ask) -> HealthFound:
    """Read the state of the book; an index that is behind is brought up to date by the next search, not here."""
    day = memory.book.journal.spent(memory.book.now().date())
    used = {"calls": day.calls, "failed": day.failed, "tokens": day.input_tokens + day.output_tokens}
    return HealthFound(memory.status(), used, memory.config)


def show_health(found: HealthFound, ask: Ask) -> dict[str, Any]:
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
