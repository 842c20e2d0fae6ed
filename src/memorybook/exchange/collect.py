"""Collecting what other machines wrote of their sessions, and handing out what this book has.

Each machine writes only in its own folders, and reads those of others without a lock. What stands here is compared
with what stands there, so that a run which finds nothing new writes nothing.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.book.book import ATTEMPTS
from memorybook.entries.read import Mask, folder_of
from memorybook.errors import BookLocked, Conflict, InvalidInput, NotFound, Unavailable, UnsafePath
from memorybook.exchange import peer_folders
from memorybook.exchange.peer_folders import (
    Standing,
    is_collected,
    node_in,
    pages,
    session_here,
    session_key,
    source_of,
)
from memorybook.forget.cutting import texts_without_forgotten
from memorybook.forget.tombstones import FORGOTTEN, filter_summary, not_forgotten, without_forgotten, without_label
from memorybook.formats import memory_md, session_md
from memorybook.formats.entry_block import made_ids
from memorybook.model import Add, Change, Discarded, Drop, Entry, Put, Session, SessionSummary, Update
from memorybook.sessions.summary import COLLECTED, standing
from memorybook.text.screen import screen
from memorybook.text.tokens import normalise
from memorybook.validate import MAX_TEXT, text_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.exchange.peer_folders import Handed, Node, Read
    from memorybook.model import Operation


LONGEST = 200
"""Characters of an id, a name, a tag or a group that is taken from another machine."""

MOST_ITEMS = 200
"""Decisions, open questions, tags or entities that are taken of one summary or entry."""

MOST_LINES = 2_000
"""Lines of a summary that is taken from another machine."""

INSTRUCTS = "it tries to instruct its reader"


# --- summaries -----------------------------------------------------------------------------------


def still_told(context: Context, summary: SessionSummary) -> SessionSummary:
    """Return the summary without what was forgotten; the very same if that is nothing."""
    return _unless_same(summary, without_forgotten(context, summary))


def texts_still_told(context: Context, texts: Mapping[str, str]) -> dict[str, str]:
    """Return these texts without what was forgotten, but for those of which nothing is left."""
    left = texts_without_forgotten(context, texts.values()) if texts else ()
    return {id: text for id, text in zip(texts, left, strict=True) if text}


def without_instructions(summary: SessionSummary) -> SessionSummary:
    """Return the summary without the sentences, items and names that try to instruct their reader."""
    calm = filter_summary(summary, lambda text: screen(text) is None and screen(without_label(text)) is None)
    return replace(_unless_same(summary, calm), name="" if screen(summary.name) else summary.name)


def _unless_same(before: SessionSummary, after: SessionSummary) -> SessionSummary:
    """Return what is left of a summary; as it was, with its indents and all, if nothing was taken out."""
    return before if "".join(_all_of(before).split()) == "".join(_all_of(after).split()) else after


def _all_of(summary: SessionSummary) -> str:
    return "\n".join([summary.name, summary.title, summary.summary, *summary.decisions, *summary.open_questions])


# --- sessions of an export -----------------------------------------------------------------------


def session_still_told(context: Context, session: Session) -> Session:
    """Return the session without what its title and summary tell of what was forgotten."""
    left = still_told(context, SessionSummary(session=session.uuid, title=session.title, summary=session.summary))
    return replace(session, title=left.title, summary=left.summary)


def fit_session(context: Context, session: Session, mask: Mask) -> Session:
    """Return the session of an export as it may stand here, with the path of its summary if that is free or its own."""
    fields = ("name", "title", "source", "channel", "chat_id")
    masked: dict[str, Any] = {name: mask.text(getattr(session, name)) for name in fields}
    calm = without_instructions(SessionSummary(session="", title="", summary=mask.text(session.summary))).summary
    fit = session_still_told(context, replace(session, **masked, summary=calm, turn_ids=()))
    path = ""
    if re.fullmatch(r"sessions/[^/]+\.md", session.path):
        with suppress(UnsafePath):
            there = standing(context, session.path)
            path = session.path if there is None or session_md.parse(there).session == session.uuid else ""
    return replace(fit, title="" if screen(fit.title) else fit.title, path=path)


# --- what another machine tells ------------------------------------------------------------------


def fit_summary(context: Context, node: str, told: SessionSummary) -> tuple[SessionSummary | None, str, int]:
    """Return another machine's summary as it may stand here, or None and the reason; and how many secrets it had.

    The ids of its turns are left out, since these are there.
    """
    session = session_here(node, told.session)
    if not _is_name(session):
        return None, "it names no session", 0
    if told.summary.count("\n") >= MOST_LINES:
        return None, f"it has over {MOST_LINES} lines", 0
    calm = without_instructions(told)
    if screen(_all_of(calm)):  # across sentences
        return None, INSTRUCTS, 0
    mask, now = Mask(context), context.book.now()
    masked = replace(
        calm,
        name=mask.text(calm.name),
        title=mask.text(calm.title),
        summary=mask.text(calm.summary),
        decisions=mask.words(calm.decisions[:MOST_ITEMS]),
        open_questions=mask.words(calm.open_questions[:MOST_ITEMS]),
    )
    left = still_told(context, masked)
    fit = replace(
        left,
        session=session,
        name=left.name if _is_name(left.name) else "",
        title=left.title[:LONGEST],
        started=_moment(told.started, now),
        ended=_moment(told.ended, now),
        turns=min(max(told.turns, 0), 10_000_000),
        turn_ids=(),
    )
    if not (fit.title or fit.summary or fit.decisions or fit.open_questions):
        return None, "there is nothing in it that may stand here", 0
    return fit, "", mask.count


def fit_entry(context: Context, node: str, told: Entry) -> tuple[Entry | None, str, int]:
    """Return another machine's entry as it may stand here, or None and the reason; and how many secrets it had."""
    if screen(told.text):
        return None, INSTRUCTS, 0
    if len(told.text) > MAX_TEXT or not _is_name(told.id):
        return None, f"it has over {MAX_TEXT} characters, or an id that is none", 0
    mask, now = Mask(context), context.book.now()
    metadata = mask.json(dict(told.metadata))
    source, session = source_of(node, told.id), session_here(node, told.session or "")
    entry = Entry(
        id=next(made_ids(source)),
        text=mask.text(told.text),
        category=told.category,
        score=told.score,
        scored=min(told.scored, now.date()),
        last_activated=min(told.last_activated, now.date()),
        verified=told.verified and min(told.verified, now.date()),
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


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST and text.isprintable() and screen(text) is None


def _names(mask: Mask, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(_is_name, mask.words(tuple(names)[:MOST_ITEMS])))


def _moment(time: datetime | None, now: datetime) -> datetime | None:
    """Return the time if it is from 1970 to tomorrow."""
    earliest = datetime(1970, 1, 2, tzinfo=UTC)
    return time if time is not None and earliest <= time <= now + timedelta(days=1) else None


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


# --- collect ------------------------------------------------------------------------------

PATIENCE = 30.0
"""Seconds that a run waits for another one of the same book."""


class Collected(NamedTuple):
    """The result of a run.

    Attributes:
        node: The name of this machine.
        nodes: Results of each other machine.
        handed: Result of the hand-out; None if none was requested.
        skipped: Folders that could not be read, with the reason.
        redacted: Secrets masked in what was taken.
        operation: Id of the operation; None if nothing was written into the book.
        dry_run: Whether nothing was done.
        degraded: What worked less well than it should, one sentence each.
    """

    node: str
    nodes: tuple[FromNode, ...] = ()
    handed: Handed | None = None
    skipped: tuple[tuple[str, str], ...] = ()
    redacted: int = 0
    operation: str | None = None
    dry_run: bool = False
    degraded: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        return {
            **self._asdict(),
            "nodes": [each.json() for each in self.nodes],
            "handed": self.handed and self.handed._asdict(),
            "skipped": [{"place": place, "reason": reason} for place, reason in self.skipped],
            "degraded": list(self.degraded),
        }


def sync_summaries(
    context: Context,
    sources: Sequence[str],
    *,
    to: str | None,
    sessions: Sequence[str] | None,
    group: str | None,
    node: str | None,
    dry_run: bool,
) -> Collected:
    """See `Memory.sync_summaries`."""
    if not sources and not to:
        raise InvalidInput("nothing to do: say where to collect from, or where to hand out to")
    if sessions is not None and not to:
        raise InvalidInput("sessions says of which the summaries are handed out: say where to as well")
    if group is not None and not folder_of(text_of(group, "group")):
        raise InvalidInput(f"group {group!r} has no name")
    name = peer_folders.node_name(text_of(node, "node") if node is not None else socket.gethostname().partition(".")[0])
    if node is not None and (not name or re.search(r"[/\\]", node)):
        raise InvalidInput(f"node {node!r} is no name: give one of letters and digits, such as 'laptop'")
    name = name or "node"
    root = peer_folders.check_place(to, name, context.book.storage) if to else ""
    with _alone(context, dry_run):
        found, skipped = _nodes(context, sources, name)
        done = Collected(name, skipped=tuple(skipped), dry_run=dry_run)
        if found:
            done = _collect(context, done, found, group)
        if to:
            own = list(own_pages(context, sessions))
            book, files = context.book.storage.identity(make=not dry_run), files_of(context, own, group)
            done = done._replace(handed=peer_folders.hand_out(root, name, book, files, dry_run=dry_run))
            found_names = set[str]().union(*map(names_of, own))
            missing = [each for each in dict.fromkeys(sessions or ()) if each not in found_names]  # forgotten since
            lost = tuple(f"no session {each!r} of this book has a summary to be handed out" for each in missing)
            done = done._replace(degraded=lost)
    if done.operation is None:
        return done
    return done._replace(degraded=(*done.degraded, *context.book.sync().degraded))


def _collect(context: Context, done: Collected, nodes: Sequence[Node], group: str | None) -> Collected:
    for attempt in range(ATTEMPTS):
        plan = Plan(context)
        for node in nodes:
            plan.read(node, group)
        plan.settle()
        try:
            operation = None if done.dry_run else plan.carry_out()
            break
        except (Conflict, NotFound):  # somebody saves a summary, or takes out an entry, right now
            if attempt == ATTEMPTS - 1:
                raise
    id = operation.id if operation else None
    return done._replace(nodes=tuple(plan.told.values()), redacted=plan.redacted, operation=id)


@contextmanager
def _alone(context: Context, dry_run: bool) -> Iterator[None]:
    """Wait until no other process collects into this book. Raises BookLocked."""
    deadline = time.monotonic() + PATIENCE
    while not dry_run:
        with context.book.storage.lease(KIND) as ours:
            if ours:
                yield
                return
        if time.monotonic() > deadline:
            raise BookLocked(f"another process was collecting into {context.root!r} all the while: try again later")
        time.sleep(0.05)
    yield


# --- where from ----------------------------------------------------------------------------------


def _nodes(context: Context, sources: Sequence[str], own: str) -> tuple[list[Node], list[tuple[str, str]]]:
    """Return the folder of each machine at these places, and the places skipped with the reason.

    Raises NotFound if none of the places is there, InvalidInput if one is this book.
    """
    found: dict[str, Node] = {}
    skipped: list[tuple[str, str]] = []
    missing: list[NotFound] = []
    for source in sources:
        try:
            nodes, others = _nodes_at(context, source, own)
        except NotFound as error:
            missing.append(error)
            skipped.append((source, str(error)))
            continue
        except Unavailable as error:
            skipped.append((source, str(error)))
            continue
        skipped += others
        for node in nodes:
            if found.setdefault(node.name, node).root != node.root:
                why = (
                    f"{found[node.name].root!r} is called {node.name!r} too: name one, such as --from {node.name}2=DIR"
                )
                skipped.append((node.root, why))
    if missing and len(missing) == len(sources):
        raise missing[0]
    return list(found.values()), skipped


def _nodes_at(context: Context, source: str, own: str) -> tuple[list[Node], list[tuple[str, str]]]:
    name, equals, place = text_of(source, "source").partition("=")
    if not equals or os.path.isdir(os.path.expanduser(source)):
        name, place = "", source
    if os.path.realpath(os.path.expanduser(place)) == os.path.realpath(context.root):
        raise InvalidInput(f"{place!r} is this book: collect from another one")
    nodes = peer_folders.nodes(place)
    if name:
        given = peer_folders.node_name(name)
        if not given or len(nodes) > 1:
            raise InvalidInput(f"{source!r}: a name is for the folder of one machine, and has letters or digits")
        nodes = tuple(node._replace(name=given) for node in nodes)
    mine = context.book.storage.identity(make=False)
    others = [node for node in nodes if not mine or node.book != mine]
    skipped = [(place, "nothing of a machine is in this folder")] if not nodes else []
    for node in [node for node in others if node.name == own]:
        others.remove(node)
        skipped.append(
            (node.root, f"it is called {own!r} as this machine is: give it another name, or this with --node")
        )
    return others, skipped


# --- what a run does to the book: one decision for every session and every entry -----------------


KIND = "collect"
"""Of the operations, and of the work that one process does at a time."""

MOST_AT_ONCE = 2_000
"""Summaries and entries that one run takes from one machine; the next one goes on."""

MOST_TOLD = 100
"""Things left out of one machine that the journal names."""

TAKEN_OUT = "taken out here before"
"""Why something stays there."""

COUNTED = ("new", "updated", "unchanged", "edited", "known", "waiting")
_FOLLOWED = ("text", "category", "tags", "entities", "group", "expires")


@dataclass(frozen=True, slots=True, kw_only=True)
class FromNode:
    """The result of collecting from one machine.

    Attributes:
        node: Its name here.
        place: Its folder.
        summaries, entries: Numbers of `new`, `updated`, `unchanged`, `edited` (by somebody here, so left alone),
            `known` (the book has the session or statement from elsewhere) and `waiting` (for the next run) ones.
        left_out: What was not taken, with the reason.
        gone: Paths and ids of what it no longer has; they stay here.
    """

    node: str
    place: str
    summaries: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    entries: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    left_out: list[tuple[str, str]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        left_out = [{"what": what, "reason": reason} for what, reason in self.left_out]
        return {**asdict(self), "left_out": left_out}


class _Report(NamedTuple):
    """A session summary of one machine, ready to be stored here."""

    node: str
    file: str
    summary: SessionSummary
    redacted: int


def _rank(summary: SessionSummary) -> tuple[int, float]:
    """Rank summaries of one session: the one of most turns is taken, then the latest."""
    last = summary.ended or summary.started
    return summary.turns, last.timestamp() if last is not None else 0.0


class Plan:
    """The changes of a run to the book as it is now.

    Attributes:
        told: Results by name of the machine.
        redacted: Secrets masked in what is taken.
    """

    def __init__(self, context: Context) -> None:
        self.told: dict[str, FromNode] = {}
        self.redacted = 0
        self._context = context
        self._changes: list[Change] = []
        self._sessions: dict[str, list[_Report]] = {}
        standing = list(pages(context.book))
        self._here = {page.summary.session: page for page in standing if page.node and page.summary.session}
        self._own = {page.summary.session for page in standing if not page.node}
        self._paths: set[str] = set()
        entries = context.book.entries()
        self._entries = {entry.source: entry for entry in entries if is_collected(entry)}
        self._said = {normalise(entry.text) for entry in entries if entry.superseded_by is None}

    def carry_out(self) -> Operation | None:
        """Write it, as one operation; None if there is nothing to write."""
        if not self._changes:
            return None
        context = self._context
        left = [
            Discarded(text=f"{each.node}: {what}", reason=reason)
            for each in self.told.values()
            for what, reason in each.left_out[:MOST_TOLD]
        ]
        result = context.book.apply(self._changes, actor=context.actor, door=context.door, kind=KIND, discarded=left)
        return result.operation

    # --- summaries -----------------------------------------------------------------------------

    def read(self, node: Node, group: str | None) -> None:
        """Read what a machine has; what cannot be read now is left for the next run."""
        told = self.told[node.name] = FromNode(node=node.name, place=node.root)
        present: set[str] = set()
        whole = True
        try:
            for file in peer_folders.summaries(node):
                if file.text is None:
                    whole = False
                    told.left_out.append((file.name, file.why))
                    continue
                summary = session_md.parse(file.text)
                present.add(session_here(node.name, summary.session))
                fit, reason, redacted = fit_summary(self._context, node.name, summary)
                if fit is None:
                    told.left_out.append((file.name, reason))
                else:
                    self._sessions.setdefault(fit.session, []).append(_Report(node.name, file.name, fit, redacted))
            if whole:
                standing = (page for page in self._here.values() if page.node == node.name)
                told.gone.extend(page.path for page in standing if page.summary.session not in present)
            if group is not None:
                self._read_entries(told, peer_folders.memory(node), group)
        except (Unavailable, NotFound, InvalidInput) as error:
            told.left_out.append((node.root, str(error)))

    def settle(self) -> None:
        """Decide on every session that somebody told of, whatever the order in which they were read."""
        buried = self._context.book.journal.buried([session_key(session) for session in self._sessions])
        for session, everybody in sorted(self._sessions.items()):
            here = self._here.get(session)
            best = max(sorted(everybody, key=lambda each: each.node), key=lambda each: _rank(each.summary))
            if session_key(session) in buried:
                for each in everybody:
                    self.told[each.node].left_out.append((each.file, FORGOTTEN))
                continue
            own = session in self._own
            if not own:
                with suppress(NotFound, Conflict):
                    own = self._context.book.transcripts.session(session).uuid == session
            if own:
                self._drop(here, "the session is one of this book's own")
            elif (
                here is None
                or any(each.node == here.node for each in everybody)
                or (_rank(best.summary), here.node) > (_rank(here.summary), best.node)
            ):
                self._take(best, here)
                everybody = [each for each in everybody if each is not best]
            for each in everybody:
                self.told[each.node].summaries["known"] += 1

    def _take(self, best: _Report, here: Standing | None) -> None:
        """Let this be what stands here of its session, unless a person said otherwise."""
        told = self.told[best.node]
        moved = here is not None and here.node != best.node
        summary = best.summary
        own = session_md.summary_path(Session(uuid=summary.session, name=summary.name, created=summary.started))
        path = f"sessions/{best.node}/{own.removeprefix('sessions/')}" if here is None or moved else here.path
        text = session_md.render(summary, language=self._context.config.language)
        if here is not None and not moved and here.text == text:
            told.summaries["unchanged"] += 1
        elif here is not None and not self._is_as_taken(here):
            told.summaries["edited"] += 1
        elif told.summaries["new"] + told.summaries["updated"] >= MOST_AT_ONCE:
            told.summaries["waiting"] += 1
        elif (here is None or moved or path != here.path) and (reason := self._against(path)):
            told.left_out.append((best.file, reason))
        else:
            told.summaries["new" if here is None else "updated"] += 1
            self.redacted += best.redacted
            self._paths.add(path)
            before = here.text if here is not None and not moved else ""
            self._changes.append(Put(path=path, text=text, reason=COLLECTED, made_from=before))
            if moved:
                self._drop(here, f"{best.node} tells more of this session")

    def _drop(self, here: Standing | None, reason: str) -> None:
        """Take out what was collected, unless a person edited it."""
        if here is not None and self._is_as_taken(here):
            self._changes.append(Drop(path=here.path, reason=reason))

    def _is_as_taken(self, here: Standing) -> bool:
        """Return whether it is what a run wrote, and no words of a person."""
        operations = self._context.book.journal.operations(target=here.path, alone=True)
        changes = (change for operation in operations for change in operation.changes if change.target == here.path)
        return any(change.reason == COLLECTED and change.after == here.text for change in changes)

    def _against(self, path: str) -> str:
        """Return why nothing can be written at that path; "" if it can."""
        try:
            taken = path in self._paths or standing(self._context, path) is not None
        except InvalidInput as error:
            return str(error)
        if taken:
            return f"something else stands at {path!r}"
        return TAKEN_OUT if self._was_taken_out(path) else ""

    def _was_taken_out(self, target: str) -> bool:
        """Return whether what does not stand here was brought before, and went otherwise than by undoing that."""
        last = next(iter(self._context.book.journal.operations(target=target, limit=1, alone=True)), None)
        if last is None or last.kind == "undo":
            return False
        return last.kind != KIND or any(one.target == target and one.after is not None for one in last.changes)

    # --- entries -------------------------------------------------------------------------------

    def _read_entries(self, told: FromNode, file: Read, group: str) -> None:
        if file.text is None:
            told.left_out.append((file.name, file.why))
            return
        modified = datetime.fromtimestamp(max(file.modified, 0.0), UTC)
        theirs = list(own_entries(self._context, memory_md.parse(file.text, modified=modified).entries, group))
        fitted = [fit_entry(self._context, told.node, entry) for entry in theirs]
        texts = [*(entry.text for entry in theirs), *(fit.text for fit, _, _ in fitted if fit is not None)]
        kept = not_forgotten(self._context, texts)
        for entry, (fit, reason, redacted) in zip(theirs, fitted, strict=True):
            if fit is None or not kept(fit.text) or not kept(entry.text):
                told.left_out.append((entry.id, reason or FORGOTTEN))
            elif reason := self._entry(told, fit, redacted):
                told.left_out.append((entry.id, reason))
        sources = {source_of(told.node, entry.id) for entry in theirs}
        told.gone.extend(
            entry.id
            for source, entry in self._entries.items()
            if node_in(entry) == told.node and source not in sources and is_in(entry, group) and not entry.archived
        )

    def _entry(self, told: FromNode, fit: Entry, redacted: int) -> str:
        """Take an entry, or follow how it was changed there, if nobody changed it here; why not, if neither is done."""
        here, statement = self._entries.get(fit.source), normalise(fit.text)
        fields = {name: getattr(fit, name) for name in _FOLLOWED if getattr(fit, name) != getattr(here, name, None)}
        change: Change = Add(entry=fit, reason=f"collected from {told.node}")
        if here is not None and (not fields or here.superseded_by is not None):
            became = "unchanged"
        elif here is not None and self._is_edited(here):
            became = "edited"
        elif statement in self._said and (here is None or statement != normalise(here.text)):
            became = "known"
        elif told.entries["new"] + told.entries["updated"] >= MOST_AT_ONCE:
            became = "waiting"
        elif here is None and self._was_taken_out(fit.id):
            return TAKEN_OUT
        else:
            became = "new" if here is None else "updated"
            if here is not None:
                change = Update(id=here.id, fields=fields, reason=f"changed on {told.node}")
            self._changes.append(change)
            self._said.add(statement)
            self.redacted += redacted
        told.entries[became] += 1
        return ""

    def _is_edited(self, here: Entry) -> bool:
        """Return whether it is another than the last run left that brought or changed it."""
        journal = self._context.book.journal
        undone = journal.undone()
        for operation in journal.operations(target=here.id, alone=True):
            for change in operation.changes:
                if operation.kind == KIND and operation.id not in undone and change.target == here.id and change.after:
                    last = memory_md.parse_entry(change.after, modified=self._context.book.now())
                    return last is None or any(getattr(last, name) != getattr(here, name) for name in _FOLLOWED)
        return True


def is_in(entry: Entry, group: str) -> bool:
    """Return whether it is of the group, or of one below it."""
    return folder_of(entry.group or "").startswith(folder_of(group))


# --- handed out ----------------------------------------------------------------------------------


def own_entries(context: Context, entries: Iterable[Entry], group: str) -> Iterator[Entry]:
    """Yield those of a group, and of the groups below it, that hold today and were not collected from others."""
    today = context.book.now().date()
    for entry in entries:
        holds = entry.state == "active" and (entry.expires is None or entry.expires >= today)
        own = not is_collected(entry) and entry.trust != "suspect"
        if holds and own and is_in(entry, group):
            yield entry


def own_pages(context: Context, sessions: Collection[str] | None) -> Iterator[Standing]:
    """Yield the summaries of the book's own sessions; with `sessions`, only of those of these names or uuids."""
    for page in pages(context.book):
        own = page.summary.session and not page.node and page.path.count("/") == 1
        if own and (sessions is None or not names_of(page).isdisjoint(sessions)):
            yield page


def names_of(page: Standing) -> set[str]:
    """Return the names by which a page's session may be requested: uuid and name."""
    return {page.summary.session, page.summary.name}


def files_of(context: Context, own: Iterable[Standing], group: str | None) -> dict[str, str]:
    """Return what this book hands out, text by path: these summaries, and its own entries of the group, if any."""
    mask = Mask(context)
    files = {}
    for page in own:
        left = still_told(context, page.summary)
        files[page.path] = mask.text(page.text if left is page.summary else session_md.render(left))
    if group is not None:
        chosen = sorted(own_entries(context, context.book.memory().entries, group), key=lambda entry: entry.id)
        here_alone: dict[str, Any] = {"source": None, "links": (), "contradicts": (), "pinned": False, "unknown": ()}
        portable = (
            replace(
                entry,
                text=mask.text(entry.text),
                tags=mask.words(entry.tags),
                entities=mask.words(entry.entities),
                group=mask.text(entry.group or "") or None,
                metadata=mask.json(dict(entry.metadata)),
                **here_alone,
            )
            for entry in chosen
        )
        shown = map(memory_md.render_entry, portable)
        files["MEMORY.md"] = "\n\n".join([f"# {mask.text(group)}", memory_md.ACTIVE, *shown]) + "\n"
    return files
