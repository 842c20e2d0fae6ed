"""What other machines told this book: where it stands, how it is made fit to stand here; and what is handed to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.entries.mask import Mask
from memorybook.entries.read import folder_of
from memorybook.errors import InvalidInput, MissingDocument
from memorybook.forget.tombstones import sifted, unlabelled, without_forgotten
from memorybook.formats import memory_md, session_md
from memorybook.formats.entry_block import made_ids
from memorybook.model import Entry, SessionSummary
from memorybook.text.screen import screen
from memorybook.text.tokens import text_digest
from memorybook.validate import MAX_TEXT

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.context import Context

LONGEST = 200
"""Characters of an id, a name, a tag or a group that is taken from another machine."""

MOST_ITEMS = 200
"""Decisions, open questions, tags or entities that are taken of one summary or entry."""

MOST_LINES = 2_000
"""Lines of a summary that is taken from another machine."""

INSTRUCTS = "it tries to instruct its reader"


class Standing(NamedTuple):
    """A summary that stands in the book.

    Attributes:
        node: The machine that it was collected from; "" for one of the book's own.
    """

    path: str
    node: str
    text: str
    summary: SessionSummary


def pages(book: Book, *, collected: bool | None = None) -> Iterator[Standing]:
    """Every summary by path; only those that were collected, or only those of the book's own sessions."""
    for info in sorted(book.documents.list()):
        node = session_md.node_of(info.path)
        if info.path.startswith("sessions/") and collected in (None, bool(node)):
            try:
                text = book.documents.read(info.path).text
            except (InvalidInput, MissingDocument):  # gone, or a link, by now
                continue
            yield Standing(info.path, node, text, session_md.parse(text))


def session_here(node: str, session: str) -> str:
    """The session of another machine as it is called here: another one than this book's, if both have a `main`."""
    return session if not session or session_md.is_uuid(session) else f"{node}/{session}"


def session_key(uuid: str) -> str:
    """What a tombstone of a session's summary is of, whichever machine tells of it."""
    return text_digest(f"session:{uuid}")


def source_of(node: str, id: str) -> str:
    """The `source` of an entry that was collected: `node:laptop#a1b2c3`."""
    return f"node:{node}#{id}"


def node_in(entry: Entry) -> str:
    """The machine that an entry was collected from; "" for one of the book's own."""
    source = entry.source or ""
    return source.removeprefix("node:").rpartition("#")[0] if source.startswith("node:") else ""


def is_collected(entry: Entry) -> bool:
    """Whether it was collected from another machine."""
    return (entry.source or "").startswith("node:")


def is_in(entry: Entry, group: str) -> bool:
    """Whether it is of the group, or of one below it."""
    return folder_of(entry.group or "").startswith(folder_of(group))


# --- made fit ------------------------------------------------------------------------------------


def fit_summary(context: Context, node: str, told: SessionSummary) -> tuple[SessionSummary | None, str, int]:
    """Another machine's summary as it may stand here; None with the reason if it may not; how many secrets it had.

    Without secrets, without what instructs its reader, without what was forgotten here, and without the ids of its
    turns, which are there.
    """
    session = session_here(node, told.session)
    if not _is_name(session):
        return None, "it names no session", 0
    if told.summary.count("\n") >= MOST_LINES:
        return None, f"it has over {MOST_LINES} lines", 0
    calm = _calm(told)
    if screen(_all_of(calm)):  # across sentences
        return None, INSTRUCTS, 0
    mask = Mask(context)
    now = context.book.now()
    masked = _masked(mask, calm)
    fit = _unless_same(masked, without_forgotten(context, masked))
    fit = replace(
        fit,
        session=session,
        name=fit.name if _is_name(fit.name) else "",
        title=fit.title[:LONGEST],
        started=_moment(told.started, now),
        ended=_moment(told.ended, now),
        turns=min(max(told.turns, 0), 10_000_000),
        turn_ids=(),
    )
    if not (fit.title or fit.summary or fit.decisions or fit.open_questions):
        return None, "there is nothing in it that may stand here", 0
    return fit, "", mask.count


def _all_of(told: SessionSummary) -> str:
    return "\n".join([told.name, told.title, told.summary, *told.decisions, *told.open_questions])


def _calm(told: SessionSummary) -> SessionSummary:
    """The summary without the sentences, items and names that try to instruct their reader."""
    calm = sifted(told, lambda text: screen(text) is None and screen(unlabelled(text)) is None)
    return replace(_unless_same(told, calm), name="" if screen(told.name) else told.name)


def _unless_same(before: SessionSummary, after: SessionSummary) -> SessionSummary:
    """What is left of a summary; as it was, with its indents and all, if nothing was taken out."""
    same = "".join(_all_of(before).split()) == "".join(_all_of(after).split())
    return before if same else after


def _masked(mask: Mask, told: SessionSummary) -> SessionSummary:
    return replace(
        told,
        name=mask.text(told.name),
        title=mask.text(told.title),
        summary=mask.text(told.summary),
        decisions=mask.words(told.decisions[:MOST_ITEMS]),
        open_questions=mask.words(told.open_questions[:MOST_ITEMS]),
    )


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST and text.isprintable() and screen(text) is None


def _moment(time: datetime | None, now: datetime) -> datetime | None:
    """A time that may be one: from 1970 to tomorrow."""
    earliest = datetime(1970, 1, 2, tzinfo=UTC)
    return time if time is not None and earliest <= time <= now + timedelta(days=1) else None


def fit_entry(context: Context, node: str, told: Entry) -> tuple[Entry | None, str, int]:
    """Another machine's entry as it may stand here; None with the reason if it may not; how many secrets it had."""
    if screen(told.text):
        return None, INSTRUCTS, 0
    if len(told.text) > MAX_TEXT or not _is_name(told.id):
        return None, f"it has over {MAX_TEXT} characters, or an id that is none", 0
    mask = Mask(context)
    now = context.book.now()
    today = now.date()
    metadata = mask.json(dict(told.metadata))
    source, session = source_of(node, told.id), session_here(node, told.session or "")
    entry = Entry(
        id=next(made_ids(source)),
        text=mask.text(told.text),
        category=told.category,
        score=told.score,
        scored=min(told.scored, today),
        last_activated=min(told.last_activated, today),
        hits=min(told.hits, 10_000),
        created=_moment(told.created, now),
        session=session if _is_name(session) else None,
        source=source,
        tags=_names(mask, told.tags),
        entities=_names(mask, told.entities),
        group=next(iter(_names(mask, (told.group or "",))), None),
        expires=told.expires,
        trust="import",
        metadata=metadata if screen(" ".join(_strings(metadata))) is None else {},
    )
    return entry, "", mask.count


def _names(mask: Mask, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(_is_name, mask.words(tuple(names)[:MOST_ITEMS])))


def _strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


# --- handed out ----------------------------------------------------------------------------------


def own_entries(context: Context, entries: Iterable[Entry], group: str) -> Iterator[Entry]:
    """Those of a group, and of the groups below it, that hold today and were not collected from others."""
    today = context.book.now().date()
    for entry in entries:
        holds = entry.state == "active" and (entry.expires is None or entry.expires >= today)
        own = not is_collected(entry) and entry.trust != "suspect"
        if holds and own and is_in(entry, group):
            yield entry


def own_pages(context: Context, sessions: Collection[str] | None) -> Iterator[Standing]:
    """The summaries of the book's own sessions; with `sessions`, only of those of these names or uuids."""
    for page in pages(context.book, collected=False):
        own = page.summary.session and page.path.count("/") == 1
        if own and (sessions is None or not names_of(page).isdisjoint(sessions)):
            yield page


def names_of(page: Standing) -> set[str]:
    """By which its session may be asked for."""
    return {page.summary.session, page.summary.name}


def files_of(context: Context, own: Iterable[Standing], group: str | None) -> dict[str, str]:
    """What this book hands out, text by path: these of its summaries, and its own entries of the group, if any."""
    mask = Mask(context)
    files = {page.path: mask.text(_untold(context, page)) for page in own}
    if group is not None:
        chosen = sorted(own_entries(context, context.book.memory().entries, group), key=lambda entry: entry.id)
        shown = [memory_md.render_entry(_handed(mask, entry)) for entry in chosen]
        files["MEMORY.md"] = "\n\n".join([f"# {mask.text(group)}", memory_md.ACTIVE, *shown]) + "\n"
    return files


def _untold(context: Context, page: Standing) -> str:
    """The page, told anew if it tells of what was forgotten."""
    left = _unless_same(page.summary, without_forgotten(context, page.summary))
    return page.text if left is page.summary else session_md.render(left)


def _handed(mask: Mask, entry: Entry) -> Entry:
    """The entry without what means something in this book alone."""
    return replace(
        entry,
        text=mask.text(entry.text),
        tags=mask.words(entry.tags),
        entities=mask.words(entry.entities),
        group=mask.text(entry.group) if entry.group else None,
        metadata=mask.json(dict(entry.metadata)),
        source=None,
        links=(),
        contradicts=(),
        pinned=False,
        unknown=(),
    )
