"""Writing by verb: remember, append, flush, update. Each masks secrets and ends in one `Book.apply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from memorybook.book import fade
from memorybook.entries.candidate import Extraction, Skipped
from memorybook.entries.combine import lowest
from memorybook.entries.read import known
from memorybook.errors import ConfigError, InvalidInput, LLMFailed, Unavailable
from memorybook.formats import memory_md, session_md
from memorybook.formats.sections import BY_AGENT
from memorybook.model import CATEGORY_ALIASES, Add, Append, Category, Discarded, Entry, Note, Turn, Update
from memorybook.results import NAMED, Appended, Flushed, Known, Remembered
from memorybook.text.redact import redact, redact_json
from memorybook.text.screen import screen

if TYPE_CHECKING:
    from memorybook.context import Context


class Mask:
    """Masks secrets as the settings of a memory say, and counts them.

    Attributes:
        count: How many it has masked so far.
    """

    def __init__(self, context: Context) -> None:
        self._settings = context.config.redaction
        self.count = 0

    def text(self, text: str) -> str:
        """The text without its secrets."""
        if not self._settings.enabled:
            return text
        clean = redact(text, self._settings.patterns)
        self.count += len(clean.masked)
        return clean.text

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """Tags or names without the secrets in them."""
        return tuple(map(self.text, words))

    def json(self, value: Any) -> Any:
        """A JSON value without the secrets in it."""
        if not self._settings.enabled:
            return value
        clean = redact_json(value, self._settings.patterns)
        self.count += len(clean.masked)
        return clean.value


def remember(
    context: Context,
    text: str,
    *,
    category: Category,
    importance: str | float,
    tags: Sequence[str],
    group: str | None,
    expires: str | None,
    metadata: Mapping[str, Any],
    session: str | None,
    named: str = "",
) -> Remembered:
    """See `Memory.remember`."""
    mask = Mask(context)
    text = mask.text(text.strip())
    book = context.book
    now = book.now()
    lapses = date.fromisoformat(expires) if expires else None
    entry = Entry(
        id=memory_md.new_id(()),
        text=text,
        category=category,
        score=fade.importance_score(importance),
        scored=now.date(),
        last_activated=now.date(),
        created=now,
        session=session and mask.text(session),
        archived=lapses is not None and lapses < now.date(),
        tags=mask.words(tags),
        group=mask.text(group) if group else None,
        expires=lapses,
        trust="suspect" if screen(text) else context.actor,
        metadata=mask.json(metadata),
        unknown=_alias(named),
    )
    change = Add(entry=entry, reason="remembered")
    result = book.apply([change], actor=context.actor, door=context.door, session=entry.session, kind="remember")
    outcome = result.outcomes[0]
    standing = known(book, [outcome.entry or entry])[0]
    if outcome.applied is None:
        return Remembered(standing, "duplicate", mask.count)
    operation = result.operation.id if result.operation else None
    if outcome.applied.kind == "add":
        return Remembered(standing, "created", mask.count, operation)
    return Remembered(standing, "strengthened", mask.count, operation)


def _alias(name: str) -> tuple[tuple[str, str], ...]:
    """What an entry keeps of the name of its category, if that is an alias."""
    return ((NAMED, name),) if name in CATEGORY_ALIASES else ()


def append(context: Context, text: str, *, kind: str | None, tags: Sequence[str], section: str | None) -> Appended:
    """See `Memory.append`."""
    mask = Mask(context)
    text, tags = mask.text(text), mask.words(tags)
    kind = mask.text(kind) if kind else None
    book = context.book
    if section is None:
        change = note_change(context, text, kind=kind, tags=tags, reason="appended")
    else:
        section, said = mask.text(section), " ".join(text.split()).removeprefix("- ")
        item = " ".join([*([f"[{kind}]"] if kind else []), said, *(f"#{tag}" for tag in tags)])
        line = _by_whom(context, section, " ".join(item.split()))
        change = Append(path="MEMORY.md", line=line, section=section, reason="appended")
    result = book.apply([change], actor=context.actor, door=context.door, kind="append")
    outcome = result.outcomes[0]
    operation = result.operation.id if result.operation else None
    return Appended(outcome.path, outcome.line, outcome.applied is None, mask.count, operation)


def _by_whom(context: Context, section: str, item: str) -> str:
    """The list item, stamped where no person adds it; as it is if it stands there already."""
    if context.actor == "user" or context.book.memory().item_line(section, item) is not None:
        return item
    return item + BY_AGENT


def note_change(context: Context, text: str, *, kind: str | None, tags: Sequence[str], reason: str) -> Append:
    """The change that appends a note, stamped now, to the file of the book's day."""
    now = context.book.now()
    note = Note(time=now, text=" ".join(text.split()), kind=kind, tags=tuple(tags))
    return Append(path=session_md.daily_path(context.book.day(now)), line=session_md.render_line(note), reason=reason)


def flush(context: Context, text: str | None, messages: Sequence[Mapping[str, Any]] | None) -> Flushed:
    """See `Memory.flush`."""
    from memorybook.entries.flush import clean, notes_of
    from memorybook.forget.incoming import without_forgotten_turns
    from memorybook.forget.tombstones import FORGOTTEN, remembered, unnamed
    from memorybook.sessions.turns import mask_turns, turns_of

    if (text is None) == (messages is None):
        raise InvalidInput("flush takes a text or messages, one of the two")
    mask = Mask(context)
    book = context.book
    found: list[Note] = []
    skipped: list[Skipped] = []
    cut: list[Discarded] = []
    if text is not None:
        found, skipped = notes_of(mask.text(text), now=book.now())
    else:
        left_out: list[Skipped] = []
        turns = mask_turns(mask, turns_of(context, messages or ()))
        left = without_forgotten_turns(book, turns, now=book.now())
        said = [clean(turn, left_out) for turn in left if turn.text.strip()]
        cut = [unnamed(was.text) for turn, was in zip(left, turns, strict=True) if turn != was]
        if said or not turns:
            found, skipped = notes_of(_extracted(context, said, left_out), now=book.now())
            skipped = [*left_out, *skipped]
    kept = remembered(context, [note.text for note in found] if messages is not None else [])
    gone = [note for note in found if not kept(note.text)]
    found = [note for note in found if note not in gone]
    reasons = [(each.text, each.reason) for each in skipped] + [(note.text, FORGOTTEN) for note in gone]
    reasons += [(each.text, each.reason) for each in cut]
    changes = [note_change(context, n.text, kind=n.kind, tags=n.tags, reason="flushed") for n in found]
    lost = [Discarded(text=each.text, reason=each.reason) for each in skipped if each.text]
    lost += [*cut, *(unnamed(note.text) for note in gone)]
    result = book.apply(changes, actor=context.actor, door=context.door, kind="flush", discarded=lost)
    written = []
    for note, outcome in zip(found, result.outcomes, strict=True):
        if outcome.applied is None:
            reasons.append((note.text, "duplicate"))
        else:
            written.append((outcome.path, outcome.line))
    return Flushed(tuple(written), tuple(reasons), mask.count, result.operation.id if result.operation else None)


def _extracted(context: Context, turns: Sequence[Turn], skipped: list[Skipped]) -> Extraction:
    """What turns hold that is worth keeping: by the model where there is one, else, or where it fails, by rules."""
    from memorybook.entries.extract import extract
    from memorybook.entries.ground import ground
    from memorybook.sessions.end_session import sure
    from memorybook.sessions.turns import zone_of

    now, zone = context.book.now(), zone_of(context)
    try:
        llm = sure(context.metered())
        if llm is not None:
            language, mask = context.config.language, Mask(context).text
            found = extract(turns, session=None, now=now, llm=llm, language=language, zone=zone, mask=mask)
            grounded = ground(found.candidates, turns, now=now, zone=zone)
            doubted = [Discarded(text=one.content, reason=one.doubt, quote=one.quote) for one in grounded if one.doubt]
            kept = tuple(one for one in grounded if not one.doubt)
            return replace(found, candidates=kept, discarded=(*found.discarded, *doubted))
    except (LLMFailed, ConfigError, Unavailable) as error:
        skipped.append(Skipped("", f"rules looked, not a model: {error}"))
    return extract(turns, session=None, now=now)


def update(
    context: Context,
    id: str,
    *,
    text: str | None,
    category: Category | None,
    importance: str | float | None,
    tags: Sequence[str] | None,
    group: str | None,
    expires: str | None,
    metadata: Mapping[str, Any] | None,
    named: str = "",
) -> Known:
    """See `Memory.update`."""
    mask = Mask(context)
    today = context.book.now().date()
    fields: dict[str, Any] = {}
    if text is not None:
        fields |= reworded(context, id, mask.text(text.strip()))
    if category is not None:
        kept = next((each.unknown for each in context.book.entries() if each.id == id), ())
        fields |= {"category": category, "unknown": (*(each for each in kept if each[0] != NAMED), *_alias(named))}
    if importance is not None:
        fields |= {"score": fade.importance_score(importance), "scored": today, "last_activated": today}
    if tags is not None:
        fields["tags"] = mask.words(tags)
    if group is not None:
        fields["group"] = mask.text(group) if group else None
    if expires is not None:
        fields["expires"] = lapses = date.fromisoformat(expires) if expires else None
        if lapses and lapses < today and context.actor != "user" and _is_of_a_person(context, id):
            raise InvalidInput(f"a person's word stands behind entry {id!r}: it does not lapse at an agent's word")
    if metadata is not None:
        fields["metadata"] = mask.json(metadata)
    if not fields:
        raise InvalidInput("nothing to update: give a text, category, importance, tags, group, expires or metadata")
    return set_fields(context, id, fields, reason="updated")._replace(redacted=mask.count)


def _is_of_a_person(context: Context, id: str) -> bool:
    return any(entry.id == id and entry.trust == "user" for entry in context.book.entries())


def reworded(context: Context, id: str, text: str) -> dict[str, Any]:
    """The fields of an entry that has another text from now on: it is trusted no more than whoever worded it.

    `suspect` if the text tries to instruct its reader; a text that stays as it is keeps its trust.
    """
    if screen(text):
        return {"text": text, "trust": "suspect"}
    entry = next((one for one in context.book.entries() if one.id == id), None)
    if entry is None or entry.text == text:
        return {"text": text}
    trust = lowest(entry.trust, context.actor)
    return {"text": text} if trust == entry.trust or context.actor == "user" else {"text": text, "trust": trust}


def set_fields(context: Context, id: str, fields: Mapping[str, Any], *, reason: str) -> Known:
    """Set fields of the entry as it stands now."""
    change = Update(id=id, fields=fields, reason=reason)
    kind = "update" if reason == "updated" else "pin"
    result = context.book.apply([change], actor=context.actor, door=context.door, kind=kind)
    entry = result.outcomes[0].entry
    [now] = known(context.book, [entry] if entry else [])
    return now._replace(operation=result.operation.id if result.operation else None)
