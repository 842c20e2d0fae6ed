"""Undo operations of a book, or finish one: byte for byte where nothing changed since, else change by change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, NamedTuple

from memorybook import locale
from memorybook.book import fade
from memorybook.book.transaction import MEMORY, Draft, Pages, is_page
from memorybook.errors import Conflict, InvalidInput
from memorybook.formats import changes_json, memory_md
from memorybook.model import Applied, Entry, Operation, Patch
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
    """The reversal of an operation.

    Changes in order, documents restored byte for byte, and documents that keep later edits.
    """

    changes: tuple[Applied, ...]
    exact: tuple[str, ...] = ()
    adapted: tuple[str, ...] = ()


class _Standing(Exception):
    """Something has changed since the operation: what, how the operation left it, and how it is now."""

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
        if wanted is not None and wanted.superseded_by is None:
            stands = now is not None and now.superseded_by is None and normalise(now.text) == normalise(wanted.text)
            same = None if stands else self.draft.saying(wanted.text)
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
    known = {}
    for patch in patches:
        with suppress(InvalidInput):  # a person may have made a link of it meanwhile
            if patch.hunks:
                pages.text(patch.path)
                known[patch.path] = patch
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
