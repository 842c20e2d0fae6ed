"""Write operations to a book and undo them: byte for byte where nothing changed since, else change by change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, TypeVar

from memorybook import locale
from memorybook.book import fade
from memorybook.book.transaction import MEMORY, Draft, Outcome, Pages, Parse, Result, is_page
from memorybook.errors import Conflict, InvalidInput, Unavailable
from memorybook.formats import changes_json, memory_md
from memorybook.model import Applied, Change, Discarded, Entry, Operation, Patch
from memorybook.protocols import Documents, Journal, Transcripts
from memorybook.text.patch import Hunk, backward, diff, fingerprint, forward, taken_back, unpack
from memorybook.text.tokens import normalise

MOST_SHOWN = 3
"""Conflicts that a refusal shows."""

MOST_TEXT = 160
"""Characters of a text that a refusal shows."""

_LINES = ("append", "drop", "put")
_STRENGTH = ("score", "scored", "last_activated", "hits")
_ENTRY_FIELDS = tuple(field.name for field in fields(Entry))


class Reversal(NamedTuple):
    """How an operation is undone.

    Changes in order, documents restored byte for byte, and documents that keep later edits.
    """

    changes: tuple[Applied, ...]
    exact: tuple[str, ...] = ()
    adapted: tuple[str, ...] = ()


class _Standing(Exception):
    """Something no longer stands as the operation left it: what, as it left it, and as it is now."""

    def __init__(self, what: str, then: str | None, now: str | None) -> None:
        super().__init__(f"{what}: the operation left {_shown(then)}, now there is {_shown(now)}")


def reverse(draft: Draft, operation: Operation, patches: Sequence[Patch]) -> Reversal:
    """Work into the draft what undoes the operation. Raises Conflict if something was changed since, or erased."""
    if any(change.purged for change in operation.changes):
        raise locale.error(Conflict, "problems.undo_purged", name=repr(operation.id))
    if not operation.changes and operation.kind != "forget":  # which may have left nothing but tombstones
        raise locale.error(Conflict, "problems.undo_nothing", name=repr(operation.id))
    back = _Back(draft, operation, patches)
    for path in back.paths:
        back.document(path)
    changes = [back.change(change) for change in reversed(operation.changes)]
    if back.clashes:
        told = "; ".join(map(str, back.clashes[:MOST_SHOWN]))
        more = len(back.clashes) - MOST_SHOWN
        raise Conflict(
            f"operation {operation.id!r} cannot be undone, as something was changed since. {told}"
            + (f"; and {more} more" if more > 0 else "")
        )
    return Reversal(tuple(change for change in changes if change is not None), tuple(back.exact), tuple(back.adapted))


class _Back:
    """An operation being undone: `paths` of documents taken back whole or by lines, and `clashes` against it."""

    def __init__(self, draft: Draft, operation: Operation, patches: Sequence[Patch]) -> None:
        self.draft = draft
        self.exact: list[str] = []
        self.adapted: list[str] = []
        self.clashes: list[_Standing] = []
        self._pages = draft.pages
        self._changes = operation.changes
        self._patches = {patch.path: patch for patch in patches if patch.hunks}
        self._entries_exact = self._put_back_entries([patch for patch in patches if is_page(patch.path)])
        named = [*self._patches, *(change.target for change in operation.changes if change.kind in _LINES)]
        self.paths = [path for path in dict.fromkeys(named) if not is_page(path) or path not in self._patches]

    # --- documents of entries ------------------------------------------------------------------

    def _put_back_entries(self, patches: Sequence[Patch]) -> bool:
        """Give MEMORY.md and the archives the texts they had: all of them, if each stands as the operation left it."""
        now = {patch.path: self._pages.text(patch.path) for patch in patches}
        if not patches or any(not patch.hunks or fingerprint(now[patch.path]) != patch.after for patch in patches):
            return False
        texts = {patch.path: _before(patch, now[patch.path]) for patch in patches}
        order = _gains_first(self._pages, texts)
        if order is None or self._stand_elsewhere(now.values(), texts.values()):
            return False
        for path in order:
            self._pages.set_text(path, texts[path])
        self.exact += order
        return True

    def _stand_elsewhere(self, now: Iterable[str | None], texts: Iterable[str | None]) -> bool:
        """Return whether an entry that would come back, or what it says, stands in another document by now."""
        here = [entry for text in now for entry in _entries(self._pages, text)]
        ids = {entry.id for entry in here}
        said = {normalise(entry.text) for entry in here if entry.superseded_by is None}
        for entry in (entry for text in texts for entry in _entries(self._pages, text)):
            if entry.id not in ids and self._pages.home(entry.id) is not None:
                return True
            if entry.superseded_by is None and normalise(entry.text) not in said and self.draft.saying(entry.text):
                return True
        return False

    # --- lines and whole documents -------------------------------------------------------------

    def document(self, path: str) -> None:
        """Take back what was done to a document of lines, or to a whole one."""
        now = self._pages.text(path)
        patch = self._patches.get(path)
        if patch is not None and fingerprint(now) == patch.after:
            self._pages.set_text(path, _before(patch, now))
            self.exact.append(path)
            return
        text, exact = now, patch is None
        try:
            for hunks, then, whole in self._lines_of(path, patch):
                if text == then and patch is None and then is not _UNKNOWN:
                    text = whole
                else:
                    text, exact = _without(path, hunks, text, then), False
        except _Standing as clash:
            self.clashes.append(clash)
            return
        before = [patch.before] if patch is not None else [change.before for change in self._of(path)]
        if not text and not any(one is not None for one in before):
            text = None  # there was no such document before, as far as one can tell
        self._pages.set_text(path, text)
        (self.exact if exact else self.adapted).append(path)

    def _of(self, path: str) -> list[Applied]:
        return [change for change in self._changes if change.target == path and change.kind in _LINES]

    def _lines_of(self, path: str, patch: Patch | None) -> Iterator[tuple[Sequence[Hunk], Any, str | None]]:
        """Yield what to take back of a document, last first: hunks, the whole text then and before where known."""
        if patch is not None:
            yield unpack(patch.hunks), _UNKNOWN, None
            return
        for change in reversed(self._of(path)):
            if change.kind == "append":
                yield [Hunk(_END, (), ((change.after or ""),), None, None)], _UNKNOWN, None
            elif change.kind == "drop" and change.after is not None:
                now = (change.after,) if change.after else ()
                yield [Hunk(_END, ((change.before or ""),), now, None, None)], _UNKNOWN, None
            else:
                yield diff(change.before, change.after), change.after, change.before

    # --- change by change ----------------------------------------------------------------------

    def change(self, change: Applied) -> Applied | None:
        """Take back one change, where its document does not tell; what that is to the journal."""
        try:
            if change.kind in _LINES:
                if is_page(change.target) and change.target in self._patches and not self._entries_exact:
                    raise _Standing(f"a line of {change.target}", None, change.before)
                return _line_back(change)
            if change.kind == "turns":
                back = _swapped(change, "turns")
                self.draft.redo(back)
                return back
            if change.kind == "edit":
                return self._edit_back(change)
            if change.kind == "item":
                return self._item_back(change)
            return self._entry_back(change)
        except _Standing as clash:
            self.clashes.append(clash)
            return None

    def _edit_back(self, change: Applied) -> Applied:
        session, turns, _ = changes_json.parse_turns(change.after or "")
        back = {
            turn.id
            for done in self._changes
            if done.kind == "turns"
            for turn in changes_json.parse_turns(done.before or done.after or "")[1]
        }
        standing = {turn.id: turn for turn in self._pages.transcripts.turns(session.uuid)}
        for turn in turns:
            now = standing.get(turn.id)
            if turn.id not in back and (now is None or (now.text, now.tool_calls) != (turn.text, turn.tool_calls)):
                raise _Standing(f"turn {turn.id!r}", turn.text, None if now is None else now.text)
        swapped = _swapped(change, "edit")
        self.draft.redo(swapped)
        return swapped

    def _item_back(self, change: Applied) -> Applied:
        back = _swapped(change, "item")
        if not self._entries_exact:
            self._adapt_memory()
            section, _, text = (change.after or "").partition("\n")
            if change.after is not None and not self.draft.remove_item(section, text):
                raise _Standing(f"the item under {section!r} in MEMORY.md", text, None)
            if change.after is None:
                self.draft.redo(back)
        return back

    def _entry_back(self, change: Applied) -> Applied:
        if self._entries_exact:
            return _swapped(change, _kind(change.after, change.before))
        self._adapt_memory()
        now = self.draft.get(change.target)
        before, after = self._entry(change.before), self._entry(change.after)
        shown = None if now is None else memory_md.render_entry(now)
        wanted = before if shown == change.after else self._merged(change, before, after, now)
        if wanted is not None and wanted.superseded_by is None and not _says(now, wanted.text):
            same = self.draft.saying(wanted.text)
            if same is not None:
                raise _Standing(f"entry {change.target!r}", None, f"entry {same.id!r} with the same statement")
        if wanted != now:
            self.draft.put_entry(change.target, wanted)
        return self.draft.record(_kind(shown, wanted), change.target, now, wanted, f"undone: {change.reason}")

    def _entry(self, text: str | None) -> Entry | None:
        return None if text is None else memory_md.parse_entry(text, modified=self.draft.now)

    def _merged(self, change: Applied, before: Entry | None, after: Entry | None, now: Entry | None) -> Entry | None:
        """Return the entry without what the operation changed in it, with what was changed in it since."""
        today = self.draft.now.date()
        if now is not None and after is not None:
            if abs(fade.strength(now, today) - fade.strength(after, today)) < 1e-6 and now.hits == after.hits:
                after = replace(after, **{name: getattr(now, name) for name in _STRENGTH})
            if before is None and now == after:
                return None
            if before is not None:
                merged = _fields_back(before, after, now)
                if merged is not None:
                    return merged
        shown = None if now is None else memory_md.render_entry(now)
        raise _Standing(f"entry {change.target!r}", change.after, shown)

    def _adapt_memory(self) -> None:
        if MEMORY not in self.adapted:
            self.adapted.append(MEMORY)


_UNKNOWN: Any = object()
_END = 2**31


def completed(draft: Draft, patches: Sequence[Patch]) -> Callable[[Applied], bool]:
    """Finish documents of an interrupted operation that are still as before; return whether nothing more is needed."""
    pages = draft.pages
    known = {patch.path: patch for patch in patches if patch.hunks and _is_readable(pages, patch.path)}
    entries = [patch.path for patch in patches if is_page(patch.path)]
    ours = {path for path, patch in known.items() if fingerprint(pages.text(path)) in (patch.before, patch.after)}
    if not ours.issuperset(entries):
        ours.difference_update(entries)
    texts = {}
    for path in ours:
        text, patch = pages.text(path), known[path]
        if fingerprint(text) == patch.before:
            texts[path] = None if patch.after is None else forward(unpack(patch.hunks), text)
    order = _gains_first(pages, {path: text for path, text in texts.items() if is_page(path)})
    if order is None:
        ours.difference_update(entries)
    for path in (*(order or ()), *(path for path in texts if not is_page(path))):
        pages.set_text(path, texts[path])
    done = bool(entries) and ours.issuperset(entries)

    def whole(change: Applied) -> bool:
        if change.kind in (*_LINES, "item"):
            return change.target in ours
        return done and change.kind not in ("turns", "edit")

    return whole


def _is_readable(pages: Pages, path: str) -> bool:
    """Return whether there may be a document at that path; a person may have made a link of it meanwhile."""
    try:
        pages.text(path)
    except InvalidInput:
        return False
    return True


def _gains_first(pages: Pages, texts: dict[str, str | None]) -> list[str] | None:
    """Return an order of writing in which a moving entry is never in none of them; None if there is none."""
    gained, lost = {}, {}
    for path, text in texts.items():
        before, after = ({entry.id for entry in _entries(pages, one)} for one in (pages.text(path), text))
        gained[path], lost[path] = after - before, before - after
    left, order = list(texts), list[str]()
    while left:
        for path in left:
            if not any(lost[path] & gained[other] for other in left if other != path):
                break
        else:
            return None
        left.remove(path)
        order.append(path)
    return order


def _entries(pages: Pages, text: str | None) -> tuple[Entry, ...]:
    return memory_md.parse(text or "", modified=pages.now).entries


def _before(patch: Patch, after: str | None) -> str | None:
    return None if patch.before is None else backward(unpack(patch.hunks), after)


def _without(path: str, hunks: Sequence[Hunk], text: str | None, then: Any) -> str | None:
    """Return the text without these changes; raises _Standing where they are not as they were."""
    missing = text is None and any(hunk.new for hunk in hunks)
    found = None if missing else taken_back(hunks, text or "")
    if found is None:
        was = "\n".join(line for hunk in hunks for line in hunk.new) if then is _UNKNOWN else then
        raise _Standing(f"document {path!r}", was, text)
    return found


def _fields_back(before: Entry, after: Entry, now: Entry) -> Entry | None:
    """Take back the fields that the operation changed; None if one of them is another by now."""
    values: dict[str, Any] = {}
    for name in _ENTRY_FIELDS:
        was, became, is_now = getattr(before, name), getattr(after, name), getattr(now, name)
        if was != became and is_now not in (was, became):
            return None
        values[name] = is_now if was == became else was
    if any(getattr(before, name) != getattr(after, name) for name in _STRENGTH):
        if any(getattr(now, name) != getattr(after, name) for name in _STRENGTH):
            return None  # strengthened since: half of a score cannot be taken back
        values |= {name: getattr(before, name) for name in _STRENGTH}
    return Entry(**values)


def _says(entry: Entry | None, text: str) -> bool:
    """Return whether the entry makes that statement, and is held true."""
    return entry is not None and entry.superseded_by is None and normalise(entry.text) == normalise(text)


def _line_back(change: Applied) -> Applied:
    """Return what taking back a change to lines or a whole document is to the journal."""
    if change.kind == "append":
        return Applied(kind="drop", target=change.target, before=change.after, after="", reason=change.reason)
    if change.kind == "drop" and change.after:
        return _swapped(change, "drop", change.reason)
    if change.kind == "drop" and change.after is not None:
        return Applied(kind="append", target=change.target, before=None, after=change.before, reason=change.reason)
    return _swapped(change, "drop" if change.before is None else "put", change.reason)


def _swapped(change: Applied, kind: str, reason: str | None = None) -> Applied:
    why = f"undone: {change.reason}" if reason is None else reason
    return Applied(kind=kind, target=change.target, before=change.after, after=change.before, reason=why)


def _kind(before: object, after: object) -> str:
    return "add" if before is None else "remove" if after is None else "update"


def _shown(text: str | None) -> str:
    if text is None:
        return "nothing"
    line = " ".join(text.split())
    return repr(line if len(line) <= MOST_TEXT else line[: MOST_TEXT - 1] + "…")


ATTEMPTS = 8
"""How often a change is worked in anew when a person saves the document in the same moment."""

_T = TypeVar("_T")


def retried(do: Callable[[], _T], *errors: type[Exception], times: int = ATTEMPTS) -> _T:
    """Return what `do` returns; it is done anew, at most `times` times in all, where it raises one of these errors."""
    for _ in range(times - 1):
        with suppress(*errors):
            return do()
    return do()


MOST_PATCHED = 32
"""How many operations are carried out together with patches of the documents between them, which cost a rendering each.

Those of larger batches are undone change by change.
"""


RETRIED = timedelta(minutes=10)
"""How long what was interrupted is not counted once more if it is asked for again."""


class Group(NamedTuple):
    """Changes that become one operation of a session.

    `bury`, `memorized`, `discarded`, `usage` as in `Journal.begin`.
    """

    session: str | None
    changes: Sequence[Change]
    discarded: Sequence[Discarded] = ()
    usage: Mapping[str, Any] | None = None
    bury: Iterable[str] = ()
    memorized: Iterable[str] = ()


class _Planned(NamedTuple):
    """An operation that is worked into a draft (None if there is nothing to do), with what to journal."""

    operation: Operation | None
    outcomes: tuple[Outcome, ...] = ()
    patches: tuple[Patch, ...] = ()
    bury: tuple[str, ...] = ()
    memorized: tuple[str, ...] = ()


class Parts(Protocol):
    """What of a book its writer needs; `settled` collects interrupted operations that were finished."""

    documents: Documents
    transcripts: Transcripts
    journal: Journal
    settled: list[Operation]
    new_id: Callable[[datetime], str]

    @property
    def parse(self) -> Parse:
        """Read the entries of the document at a path."""

    def now(self) -> datetime:
        """Return the time now, UTC, whole seconds."""


class Writer:
    """Writes one book: documents, transcripts and journal."""

    def __init__(self, book: Parts) -> None:
        self._book = book
        self._documents = book.documents
        self._journal = book.journal

    def apply_each(self, groups: Sequence[Group], *, actor: str, door: str, kind: str) -> list[Result]:
        """See `Book.apply_each`."""
        look = self.draft()
        for group in groups:
            look.look(group.changes)  # the slow part, without the lock

        def work(draft: Draft) -> list[_Planned]:
            patched = len(groups) <= MOST_PATCHED
            return [self._worked_in(draft, group, actor, door, kind, patched=patched) for group in groups]

        return [Result(planned.operation, planned.outcomes) for planned in self._carried_out(work)]

    def undo(self, id: str, *, actor: str, door: str, dry_run: bool) -> tuple[Operation, Operation, Reversal]:
        """See `Book.undo`."""

        def work(draft: Draft) -> list[_Planned]:
            undone = self._journal.operation(id)
            by = self._journal.undone().get(id)
            if by is not None:
                raise locale.error(Conflict, "problems.undone_already", name=repr(id), other=repr(by))
            reversal = reverse(draft, undone, self._journal.patches(id))
            operation = Operation(
                id=self._book.new_id(draft.now),
                time=draft.now,
                actor=actor,
                door=door,
                kind="undo",
                session=undone.session,
                changes=reversal.changes,
                undoes=id,
                done=False,
            )
            done[:] = [(undone, operation, reversal)]
            return [_Planned(operation, (), draft.pages.step())]

        done: list[tuple[Operation, Operation, Reversal]] = []
        if dry_run:
            work(self.draft())
        else:
            self._carried_out(work)
        return done[0]

    def draft(self) -> Draft:
        """See `Book.draft`."""
        return Draft(Pages(self._documents, self._book.transcripts, parse=self._book.parse, now=self._book.now()))

    def _worked_in(self, draft: Draft, group: Group, actor: str, door: str, kind: str, *, patched: bool) -> _Planned:
        """Return the operation of these changes, once they are worked into the draft."""
        outcomes = tuple(draft.do(change) for change in group.changes)
        applied = tuple(outcome.applied for outcome in outcomes if outcome.applied is not None)
        bury = tuple(group.bury)
        if not (applied or group.discarded or bury):
            return _Planned(None, outcomes)
        now = draft.now
        operation = Operation(
            id=self._book.new_id(now),
            time=now,
            actor=actor,
            door=door,
            kind=kind,
            session=group.session,
            changes=applied,
            discarded=tuple(group.discarded),
            usage=group.usage,
            done=False,
        )
        memorized = tuple(group.memorized)
        memorized = (*memorized, operation.id) if memorized else ()
        return _Planned(operation, outcomes, draft.pages.step() if patched else (), bury, memorized)

    def _carried_out(self, work: Callable[[Draft], list[_Planned]]) -> list[_Planned]:
        """Work into what is on disk now, journal and write, anew for as long as a person's save comes in between."""
        for _ in range(ATTEMPTS):
            with self._documents.lock():
                self.settle_all()
                draft = self.draft()
                draft.unanswered = self._unanswered(draft.now)
                planned = work(draft)
                wanted = [each for each in planned if each.operation is not None]
                if not wanted or self._write(wanted, draft.pages):
                    told = self._unanswered(draft.now) - draft.unanswered
                    self._book.settled[:] = [one for one in self._book.settled if told.isdisjoint(_done_by(one))]
                    return planned
        raise Conflict("MEMORY.md kept changing while it was being written: close what is saving it and try again")

    def _write(self, planned: Sequence[_Planned], pages: Pages) -> bool:
        """Journal and write; False if a person's save came in between and nothing was written."""
        operations = [each.operation for each in planned if each.operation is not None]
        begun: list[Operation] = []
        try:
            for operation, each in zip(operations, planned, strict=True):
                self._journal.begin(operation, patches=each.patches, bury=each.bury, memorized=each.memorized)
                begun.append(operation)
            pages.write()
        except Conflict:
            if pages.wrote:
                for operation in operations:
                    self._settle(operation)
                return True
            self._take_back(begun)
            if len(begun) < len(operations):  # the id of one is taken
                raise
            return False
        except Exception as error:
            if not pages.wrote:  # whoever asked is told that it failed, so it must not come true later
                self._take_back(begun, error)
            elif isinstance(error, Unavailable):
                raise Unavailable(f"{error}; what is missing of this change is done when that is possible") from error
            raise
        for operation in operations:
            with suppress(Unavailable):  # it is done, and not marked so: the next change finds that out
                self._journal.done(operation.id)
        return True

    def _take_back(self, begun: Sequence[Operation], error: Exception | None = None) -> None:
        """Discard intentions, the last one first: what is left, if that fails midway, can be carried out.

        Where the journal takes nothing any more after `error`, say that the change will be done.
        """
        try:
            for operation in reversed(begun):
                self._journal.discard(operation.id)
        except Unavailable:
            if error is None:
                raise
            raise Unavailable(
                f"{error}; the change is in the journal and will be done when that is possible"
            ) from error

    def settle_all(self) -> None:
        """Finish every intention that is not marked done; who holds the lock knows that nobody works on it."""
        for operation in self._journal.pending():
            self._settle(operation)
            self._book.settled.append(operation)

    def _unanswered(self, now: datetime) -> set[tuple[str, str]]:
        """Return (kind, target) of what was carried out lately without an answer, and may be asked again.

        An undo that was cut short brings back what was said before: to say that again is no second try.
        """
        lately = (one for one in self._book.settled if now - one.time < RETRIED and one.kind != "undo")
        return {done for one in lately for done in _done_by(one)}

    def _settle(self, operation: Operation) -> None:
        """Carry out what is missing of an intention, but for what a person's later edit stands against."""
        patches = self._journal.patches(operation.id)
        for _ in range(ATTEMPTS):
            draft = self.draft()
            whole = completed(draft, patches)
            for applied in operation.changes:
                if not whole(applied):
                    with suppress(InvalidInput):  # it can never be carried out again, and must not keep the rest
                        draft.redo(applied)
            try:
                draft.pages.write()
            except Conflict:
                continue
            self._journal.done(operation.id)
            return
        raise Conflict("the book kept changing while an interrupted operation was being finished: try again")


def _done_by(operation: Operation) -> set[tuple[str, str]]:
    return {(change.kind, change.target) for change in operation.changes}
