"""Match candidates against the entries of a book: new, repeated, merged, replaced, done, or not stored.

By the model's word first (`reinforces`, `contradicts`), then by equal text, then by likeness, then by what rules can
tell of a change. Each candidate is settled against the entries as those before it leave them, so that two of one talk
never reinforce one entry twice and never contradict what is no longer held true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import zip_longest
from operator import mul
from struct import unpack
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memorybook.book import fade
from memorybook.entries.read_reply import Candidate, distinct
from memorybook.entries.replaces import outdated, replaces, rivals, with_previous
from memorybook.entries.same import (
    MOST_NEAR,
    REPEATED_WORDS,
    by_words,
    denies,
    lowest_trust,
    missing,
    new_entries,
    opposition,
    overlap,
    same_fact,
    same_statement,
    when_said,
    words,
)
from memorybook.errors import EmbedderFailed, Unavailable
from memorybook.formats import memory_md
from memorybook.inference.static import vectors_of
from memorybook.model import (
    TRUST_ORDER,
    Add,
    Archive,
    Change,
    Discarded,
    Entry,
    Reinforce,
    Supersede,
    Trust,
    Update,
    trusted_as,
)
from memorybook.search.types import Query
from memorybook.text.tokens import correction, normalise

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.formats.llm_messages import Usage
    from memorybook.search.types import Candidate as Found

Neighbours = Callable[[str], Sequence[Entry]]
"""Finds entries near a text, from vectors, words and shared names in turn, best first, at most 8."""

Similarity = Callable[[str, str], float | None]
"""Cosine of two texts; None where no embedder reads their language."""

CORRECTED = 0.3
"""Share of common words from which a second correction of one entry is one of the first as well."""

Conflicts = Literal["newest", "highest_trust", "ask", "keep_both"]
"""Which of two statements that contradict each other is held true (setting `conflicts`)."""

Action = Literal["created", "merged", "updated", "strengthened", "discarded", "proposed"]
"""Outcome of a candidate; `updated` is a new statement in place of one that is no longer true."""


class Decision(NamedTuple):
    """The outcome of one candidate.

    Attributes:
        action: See `Action`.
        id: The entry that says it now; None if none does.
        text: What the candidate said.
        reason: Why, in a few words.
        detail: What else: the entry it replaced (`replaces m4k2p9`), what was refused of an answer; "" for nothing.
    """

    action: Action
    id: str | None
    text: str
    reason: str
    detail: str = ""


class Proposed(NamedTuple):
    """Changes that wait for a person's confirmation: kind (`conflict`, `suspect`, `doubtful`), changes, and reason."""

    kind: str
    changes: tuple[Change, ...]
    reason: str


class Talk(NamedTuple):
    """The origin of candidates.

    Attributes:
        now: When this is, UTC; new entries are written for its day.
        session: Uuid of the session; None if there is none.
        times: When each turn was said, by id, None if nobody knows; what is not there was said now.
        heard: Ids of entries that were reinforced from this session before.
    """

    now: datetime
    session: str | None = None
    times: Mapping[str, datetime | None] = {}
    heard: Collection[str] = ()

    def said(self, candidate: Candidate) -> list[datetime]:
        """Return when its turns were said, none if nobody knows; never later than now, whatever a wrong clock wrote."""
        times = [self.times.get(id, self.now) for id in candidate.turn_ids] or [self.now]
        return [min(time, self.now) for time in times if time is not None]


MOST_FRESH = 3 * MOST_NEAR
"""Most neighbours among the entries that one account adds."""


@dataclass(slots=True)
class Ledger:
    """Collects changes, and a decision for each candidate, and keeps the entries as they will be.

    Attributes:
        entries: By id, all of the book, as they will stand.
        changes, discarded, proposals, decisions: The account, in order.
        fresh: The entries that this account adds, by id, as they were added.
        disputing: Candidates with `disputes`.
    """

    entries: dict[str, Entry]
    talk: Talk
    conflicts: Conflicts = "newest"
    changes: list[Change] = field(init=False)
    discarded: list[Discarded] = field(init=False)
    proposals: list[Proposed] = field(init=False)
    decisions: list[Decision] = field(init=False)
    fresh: dict[str, Entry] = field(init=False)
    disputing: list[Candidate] = field(init=False)
    _heard: set[str] = field(init=False)
    _texts: dict[str, list[str]] = field(default_factory=dict)
    _near: Callable[[str], Sequence[Entry]] = field(init=False, repr=False)
    _rivals: Callable[[Candidate], Sequence[Entry]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for one in sorted(self.entries.values(), key=when_said):
            self._texts.setdefault(_statement(one.text), []).append(one.id)
        self._rivals = rivals(self.entries)
        self.begin(self.talk)

    def begin(self, talk: Talk) -> None:
        """Begin the account of another talk, on the entries as they stand by now."""
        self.talk = talk
        self.changes, self.discarded, self.proposals = [], [], []
        self.decisions, self.fresh, self.disputing = [], {}, []
        self._heard = set(talk.heard)
        self._near = by_words(self.fresh, most=MOST_FRESH)

    # --- reading -------------------------------------------------------------------------------

    def current(self, id: str) -> Entry | None:
        """Return the entry, if there is one that is held true."""
        entry = self.entries.get(id)
        return entry if entry is not None and entry.superseded_by is None else None

    def around(self, candidate: Candidate, neighbours: Neighbours) -> list[Entry]:
        """List current entries near a candidate: new ones of this account, neighbours, and rivals."""
        near = (*self._near(candidate.content), *neighbours(candidate.content), *self._rivals(candidate))
        ids = dict.fromkeys(one.id for one in near)
        return [one for id in ids if (one := self.current(id)) is not None]

    def successor(self, id: str) -> Entry | None:
        """Return the current entry that this talk put in the place of another; None if it put none."""
        entry = self.entries.get(id)
        while entry is not None and entry.superseded_by is not None:
            entry = self.entries.get(entry.superseded_by) if entry.superseded_by in self.fresh else None
        return entry if entry is not None and entry.id != id else None

    def saying(self, text: str) -> Entry | None:
        """Return the current entry that makes this very statement."""
        ids = self._texts.get(_statement(text), ())
        return next((one for id in ids if (one := self.current(id)) is not None), None)

    def entry_of(self, candidate: Candidate) -> Entry:
        """Make the entry of a candidate: it fades from today on; `created` is when it was said."""
        today = self.talk.now.date()
        return Entry(
            id=memory_md.new_id(self.entries),
            text=candidate.content,
            category=candidate.category,
            score=candidate.score,
            scored=today,
            last_activated=today,
            created=next(iter(self.talk.said(candidate)), None),
            session=self.talk.session,
            source=f"turn:{candidate.turn_ids[0]}" if candidate.turn_ids else None,
            tags=candidate.tags,
            entities=candidate.entities,
            group=candidate.group,
            expires=candidate.expires,
            archived=candidate.expires is not None and candidate.expires < today,
            trust=candidate.trust,
        )

    def unmergeable(self, candidate: Candidate, target: Entry, text: str) -> str:
        """Return why a text may not take the place of both; "" if it may."""
        if target.pinned:
            return "it is pinned"
        if target.superseded_by is not None:
            return "it is no longer held true"
        if candidate.trust == "suspect" and target.trust != "suspect":
            return "the new text is suspect"
        lost = missing((target, candidate), text)
        return f"{lost[0]} would be lost" if lost else ""

    # --- what may become of a candidate ----------------------------------------------------------

    def create(
        self,
        candidate: Candidate,
        reason: str,
        *,
        links: Iterable[str] = (),
        contradicts: Iterable[str] = (),
        detail: str = "",
    ) -> Entry:
        """Add an entry, linked to those of these ids."""
        made = replace(self.entry_of(candidate), links=distinct(links, ()), contradicts=distinct(contradicts, ()))
        self._add(candidate, made)
        self._decide("created", made.id, candidate, reason, detail)
        return made

    def strengthen(self, candidate: Candidate, target: Entry, reason: str) -> Entry:
        """Reinforce the target, once for each session.

        A suspect candidate waits for a person, unless the entry is suspect as well.
        """
        target = self.entries[target.id]
        if candidate.trust == "suspect" and target.trust != "suspect":
            self._propose("suspect", candidate, [Reinforce(id=target.id, reason=_change_reason(candidate))], reason)
            return target
        fields: dict[str, Any] = {}
        if candidate.expires not in (None, target.expires) and target.category == "todo":
            fields["expires"] = candidate.expires
        if candidate.group and not target.group:
            fields["group"] = candidate.group
        if self._is_heard(target):
            self.update(target.id, fields, reason)
            self._decide("strengthened", target.id, candidate, reason, "said before in this session: heard once")
            return self.entries[target.id]
        today = self.talk.now.date()
        time = next(iter(self.talk.said(candidate)), None)
        said = time and min(time.astimezone(UTC).date(), today)
        confirms = said is not None and trusted_as(candidate.trust, target.trust)
        self.changes.append(Reinforce(id=target.id, reason=_change_reason(candidate), confirms=confirms, said=said))
        self._heard.add(target.id)
        stronger = fade.reinforced(target, today, said if confirms else None)
        self.entries[target.id] = stronger
        expires = fields.get("expires", target.expires)
        if target.archived and stronger.score >= fade.ARCHIVE_BELOW and not (expires and expires < today):
            fields["archived"] = False
        self.update(target.id, fields, reason)
        self._decide("strengthened", target.id, candidate, reason)
        return self.entries[target.id]

    def replace(
        self,
        candidate: Candidate,
        targets: Iterable[Entry],
        reason: str,
        *,
        links: Iterable[str] = (),
        plain: bool = True,
    ) -> None:
        """Let the candidate supersede the targets, by the strategy of this book.

        Where that is not plain, they are linked with it: a prompt tells both, with their days. Pinned targets, and
        trusted ones where the candidate is suspect, wait for a person.
        """
        known = self.saying(candidate.content)
        standing = [one for target in targets if (one := self.current(target.id)) is not None and one != known]
        if known is not None:
            self.strengthen(candidate, known, reason)
            known = self.entries[known.id]
        if not standing and known is not None:
            return
        ids = [one.id for one in standing]
        made = known or replace(self.entry_of(candidate), links=distinct(links, () if plain else ids))
        made = replace(made, contradicts=distinct(made.contradicts, ids))
        adding = [Add(entry=made, reason=f"said: {candidate.quote}")] if known is None else []
        asked = self._to_ask(candidate, standing)
        if asked:
            replacing = [Supersede(id=id, by=made.id, reason=_change_reason(candidate)) for id in ids]
            kind = "suspect" if candidate.trust == "suspect" else "conflict"
            self._propose(kind, candidate, (*adding, *replacing), asked)
        elif self.conflicts != "keep_both":
            self._supersede(candidate, made, standing, reason, new=known is None)
            for one in standing:
                links = distinct([id for id in one.links if id != made.id], () if plain else [made.id])
                self.update(one.id, {"links": links} if links != one.links else {}, reason)
        elif known is None:
            made = self._add(candidate, replace(made, links=distinct(made.links, ids)))
            self._decide("created", made.id, candidate, reason, "both kept")
        else:
            self.update(made.id, {"links": distinct(made.links, ids), "contradicts": made.contradicts}, reason)

    def merge(self, candidate: Candidate, target: Entry, text: str, reason: str, *, links: Iterable[str] = ()) -> None:
        """Merge both into a new entry and archive the target; keep and link both if that would lose something."""
        target = self.entries[target.id]
        links = distinct([target.id], links)
        refused = self.unmergeable(candidate, target, text)
        if refused:
            self.create(candidate, reason, links=links, detail=f"not merged with {target.id}: {refused}")
            return
        known = self.saying(text)
        if known is not None:
            self.strengthen(candidate, known, reason)
            made = known
        else:
            plain = replace(self.entry_of(candidate), links=links)
            made = self._add(candidate, _merge_entries(target, plain, text, heard=self._is_heard(target)))
            self._decide("merged", made.id, candidate, reason, f"of {target.id}")
        if made.id != target.id:
            why = f"merged into {made.id}: {reason}"
            self.changes += (Supersede(id=target.id, by=made.id, reason=why), Archive(id=target.id, reason=why))
            old = fade.contradicted(self.entries[target.id], made.id, self.talk.now.date())
            self.entries[target.id] = replace(old, archived=True)

    def matched(self, usage: Usage | None = None, degraded: str = "") -> Matched:
        """Return the account, with what a model disputes and a person has to agree to."""
        disputed: list[Proposed] = []
        for candidate in self.disputing:
            made = self.saying(candidate.content)
            gone = [id for id in candidate.disputes if made is not None and self.current(id) not in (None, made)]
            if made is not None and gone:
                changes = tuple(Supersede(id=id, by=made.id, reason=_change_reason(candidate)) for id in gone)
                disputed.append(
                    Proposed("conflict", changes, f"may be no longer true by entry {made.id}, said a model")
                )
        return Matched(
            tuple(self.changes),
            tuple(self.discarded),
            (*self.proposals, *disputed),
            tuple(self.decisions),
            usage,
            degraded,
        )

    def discard(self, candidate: Candidate, reason: str) -> None:
        """Leave a candidate out; the journal keeps why."""
        self.discarded.append(Discarded(text=candidate.content, reason=reason, quote=candidate.quote))
        self._decide("discarded", None, candidate, reason)

    def ask(self, candidate: Candidate) -> None:
        """Propose a candidate that has a doubt; discard it if it is known already."""
        if self.saying(candidate.content) is not None:
            self.discard(candidate, candidate.doubt)
        else:
            adding = Add(entry=self.entry_of(candidate), reason=f"found: {candidate.doubt}")
            self._propose("doubtful", candidate, [adding], candidate.doubt)

    # --- the laws --------------------------------------------------------------------------------

    def _is_heard(self, target: Entry) -> bool:
        """Return whether this session reinforced or added the entry before."""
        mine = self.talk.session is not None and target.session == self.talk.session
        return mine or target.id in self._heard or target.id in self.fresh

    def _add(self, candidate: Candidate, entry: Entry) -> Entry:
        self.changes.append(Add(entry=entry, reason=f"said: {candidate.quote}"))
        self.entries[entry.id] = entry
        self._texts.setdefault(_statement(entry.text), []).append(entry.id)
        self.fresh[entry.id] = entry
        return entry

    def update(self, id: str, fields: Mapping[str, Any], reason: str) -> None:
        """Set fields of an entry that is known."""
        if fields:
            self.changes.append(Update(id=id, fields=dict(fields), reason=reason))
            self.entries[id] = replace(self.entries[id], **fields)

    def _decide(self, action: Action, id: str | None, candidate: Candidate, reason: str, detail: str = "") -> None:
        self.decisions.append(Decision(action, id, candidate.content, reason, detail))

    def _propose(self, kind: str, candidate: Candidate, changes: Iterable[Change], reason: str) -> None:
        self.proposals.append(Proposed(kind, tuple(changes), reason))
        self._decide("proposed", None, candidate, reason)

    # --- contradiction ---------------------------------------------------------------------------

    def _to_ask(self, candidate: Candidate, standing: Iterable[Entry]) -> str:
        """Return why a person is asked; "" if nobody need be."""
        for one in standing:
            if one.pinned:
                return f"entry {one.id} is pinned and would be replaced"
            if candidate.trust == "suspect" and one.trust != "suspect":
                return f"a suspect text would replace entry {one.id}"
            if self.conflicts == "ask":
                return f"contradicts entry {one.id}"
        return ""

    def _supersede(self, candidate: Candidate, made: Entry, standing: list[Entry], reason: str, *, new: bool) -> None:
        """Let what was said last, or is trusted most, win; each loser keeps half its strength."""
        today = self.talk.now.date()
        winner = next((one for one in standing if self.outranks(one, candidate)), None) if new else None
        if winner is not None:
            self._add(candidate, fade.contradicted(made, winner.id, today))
            self._decide("created", made.id, candidate, reason, f"entry {winner.id} is held true")
            return
        if new:
            self._add(candidate, made)
            replaced = ", ".join(one.id for one in standing)
            self._decide("updated" if standing else "created", made.id, candidate, reason, f"replaces {replaced}")
        if made.contradicts != self.entries[made.id].contradicts:
            self.update(made.id, {"contradicts": made.contradicts}, reason)
        for one in standing:
            self.changes.append(Supersede(id=one.id, by=made.id, reason=_change_reason(candidate)))
            self.entries[one.id] = fade.contradicted(one, made.id, today)

    def outranks(self, one: Entry, candidate: Candidate) -> bool:
        """Return whether a known entry stays true against the candidate: by trust with `highest_trust`, else by date.

        Only entries from a turn know when they were said; the creation date of others counts against imports alone. A
        candidate of unknown date gives way.
        """
        if self.conflicts == "highest_trust" and _rank(one.trust) != _rank(candidate.trust):
            return _rank(one.trust) > _rank(candidate.trust)
        dated = candidate.trust == "import" or (one.source or "").startswith("turn:")
        said = self.talk.said(candidate)
        return dated and one.created is not None and (not said or min(one.created, self.talk.now) > max(said))


_statement = lru_cache(maxsize=20_000)(normalise)
"""`normalise`, cached for entry texts, which every session's candidates are compared with."""


def _merge_entries(target: Entry, new: Entry, text: str, *, heard: bool) -> Entry:
    """Return the entry that takes the place of a known one and of a new statement, with the worth of both.

    The target is reinforced by it unless this session heard it before.
    """
    known = target if heard else fade.reinforced(target, new.scored)
    return replace(
        new,
        text=text,
        score=max(new.score, fade.strength(known, new.scored)),
        hits=known.hits,
        created=min((time for time in (target.created, new.created) if time is not None), default=None),
        group=new.group or target.group,
        expires=new.expires or target.expires,
        metadata={**target.metadata, **new.metadata},
        trust=lowest_trust(target.trust, new.trust),
        tags=distinct(target.tags, new.tags),
        entities=distinct(target.entities, new.entities),
        links=distinct(target.links, new.links),
        contradicts=distinct(target.contradicts, new.contradicts),
    )


def _change_reason(candidate: Candidate) -> str:
    """Return the reason of a change, as `why` reads it: the quote and the turns."""
    return f"said: {candidate.quote}" + "".join(f" turn:{id}" for id in candidate.turn_ids[:3])


def _rank(trust: Trust | None) -> int:
    return TRUST_ORDER.index(trust) if trust is not None else len(TRUST_ORDER)


# --- deciding --------------------------------------------------------------------------------------


class Matched(NamedTuple):
    """The effect of candidates on a book.

    Attributes:
        changes: For `Book.apply`, in order.
        discarded: What is not stored, with the reason.
        proposals: What waits for a person's word.
        decisions: What became of each candidate, in order; one that repeats several entries has several.
        usage: What a model's call took; None if none was made.
        degraded: Why likeness decided where a model was to; "" if it did.
    """

    changes: tuple[Change, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    decisions: tuple[Decision, ...] = ()
    usage: Usage | None = None
    degraded: str = ""

    @property
    def counts(self) -> Mapping[str, int]:
        """Decisions by action, `created`, `strengthened` …; 0 is left out."""
        return Counter(one.action for one in self.decisions)


def match(
    ledger: Ledger,
    candidates: Iterable[Candidate],
    neighbours: Neighbours | None = None,
    similarity: Similarity | None = None,
) -> Matched:
    """Settle candidates of one talk, grounded and screened, by rules.

    Without `neighbours` and `similarity` texts are compared by words alone. What leans on another statement becomes an
    entry only together with the one that it changes, which may lean as well.
    """
    near, alike = neighbours or by_words(ledger.entries), similarity or (lambda one, other: None)
    leaning: list[Entry] = []
    for candidate in candidates:
        known = ledger.around(candidate, near) if candidate.leans else unsettled(ledger, candidate, near, alike)
        if known is not None:
            known += leaning
            gone, reason, sure = replaced(candidate, known)
            if gone:
                if (candidate.leans and candidate.changes) or any(one in leaning for one in gone):
                    candidate = replace(candidate, content=with_previous(candidate.content, gone))
                gone = [one for one in gone if one not in leaning]
                ledger.replace(candidate, gone, reason, plain=sure)
            elif candidate.leans:
                leaning.append(ledger.entry_of(candidate))
            else:
                ledger.create(candidate, "not known before")
    return ledger.matched()


def replaced(candidate: Candidate, known: Sequence[Entry], *, least: float = 0.0) -> tuple[list[Entry], str, bool]:
    """Return the entries that are no longer so by a candidate, why, and whether that is sure; `least` as `outdated`."""
    changed = {one.id: why for one in known if (why := replaces(candidate, one)) is not None}
    if changed:
        return [one for one in known if one.id in changed], next(iter(changed.values())), True
    return outdated(candidate, known, least=least), "says what is so now", False


TAKEN_UP = 0.5
"""A change worded by hand must take up more than this share of an entry's point, unless it begins as a correction."""


def link_replaced(
    context: Context, entry: Entry, near: Iterable[Entry]
) -> tuple[Entry, list[Change], tuple[Proposed, ...]]:
    """Let an entry that is worded by hand, and says that something changed, replace what it speaks of.

    What it plainly says is not so is replaced as in a talk. What rules guess, or an agent says of a person's words, is
    linked: a prompt tells both, with their days.

    Args:
        near: Entries that it may speak of, as `IndexNeighbours` finds them.

    Returns:
        The entry with what it contradicts, the changes of other entries, and what waits for a person.
    """
    entries = {each.id: each for each in context.book.entries()} | {entry.id: entry}
    ledger = Ledger(entries, Talk(context.book.now(), heard=(entry.id,)), context.config.conflicts)
    candidate = Candidate(
        content=entry.text,
        category=entry.category,
        importance=entry.score,
        turn_ids=(),
        quote=entry.text,
        trust=entry.trust or "user",
        changes=True,
    )
    known = [one for each in near if each.id != entry.id and (one := ledger.current(each.id)) is not None]
    least = 0.0 if correction(entry.text) is not None else TAKEN_UP
    gone, reason, sure = replaced(candidate, known, least=least)
    gone = [one for one in gone if not ledger.outranks(one, candidate)]
    if gone and ledger.saying(entry.text) is entry:
        may = context.actor == "user" or all(one.trust not in ("user", None) for one in gone)
        ledger.replace(candidate, gone, reason, plain=sure and may)
    others = [change for change in ledger.changes if getattr(change, "id", None) != entry.id]
    return ledger.entries[entry.id], others, tuple(ledger.proposals)


def unsettled(
    ledger: Ledger, candidate: Candidate, neighbours: Neighbours, similarity: Similarity
) -> list[Entry] | None:
    """Settle a candidate if it is certain, by the model's word or as the same as a known one; None if it is settled.

    Otherwise return the current entries near it. A candidate with a doubt waits for a person.
    """
    if candidate.doubt:
        ledger.ask(candidate)
        return None
    if candidate.disputes and candidate not in ledger.disputing:
        ledger.disputing.append(candidate)
    contradicted = _contradicted(ledger, candidate)
    if contradicted:
        ledger.replace(candidate, contradicted, "contradicts what was known")
        return None
    said = candidate.content
    known = ledger.saying(said)
    if known is not None:
        ledger.strengthen(candidate, known, "the same words")
        return None
    repeated = [one for id in candidate.reinforces if (one := ledger.current(id)) is not None]
    if repeated:
        repeat(ledger, candidate, repeated[0], "said again")
        for one in repeated[1:]:
            if ledger.current(one.id) is not None:
                ledger.strengthen(candidate, one, "said again")
        return None
    near = ledger.around(candidate, neighbours)
    known = next((one for one in near if same_statement(said, one.text, similarity(said, one.text))), None)
    if known is not None:
        ledger.strengthen(candidate, known, "the same statement in other words")
        return None
    known = next((one for one in near if same_fact(said, one.text)), None)
    if known is not None:
        repeat(ledger, candidate, known, "the same of the same thing, in other words")
        return None
    return near


def _contradicted(ledger: Ledger, candidate: Candidate) -> list[Entry]:
    """List the entries that a model says are no longer true; of one corrected in this talk already, the correction.

    The one that took an entry's place is meant only if another turn says otherwise of the same thing: an entry of two
    statements may be contradicted by two that both are true.
    """
    found: dict[str, Entry] = {}
    for id in candidate.contradicts:
        one = ledger.current(id)
        if one is None:
            one = ledger.successor(id)
            if one is None or not _corrects(candidate, one):
                continue
        found[one.id] = one
    return list(found.values())


def _corrects(candidate: Candidate, one: Entry) -> bool:
    """Return whether a candidate says otherwise of the same thing than an entry from another turn of the session."""
    if not candidate.turn_ids or one.source == f"turn:{candidate.turn_ids[-1]}":
        return False
    if replaces(candidate, one) is not None:
        return True
    return overlap(candidate.content, one.text) >= CORRECTED and opposition(candidate.content, one.text) is not None


def repeat(ledger: Ledger, candidate: Candidate, one: Entry, reason: str, *, links: Sequence[str] = ()) -> None:
    """Strengthen an entry that was said again, without losing numbers, dates or names that are new.

    If the new wording has every word of the old one as well, it takes its place, else both stay. What is the same but
    for a denial was not said again, whoever says so.
    """
    content = candidate.content
    if overlap(content, one.text) >= REPEATED_WORDS and denies(content) != denies(one.text):
        ledger.create(candidate, reason, links=(one.id, *links), detail=f"denies what entry {one.id} says")
    elif not missing([candidate], one.text):
        ledger.strengthen(candidate, one, reason)
    elif not words(one.text) <= words(content) or ledger.unmergeable(candidate, one, content):
        ledger.strengthen(candidate, one, reason)
        ledger.create(candidate, "says more", links=(one.id, *links))
    else:
        ledger.merge(candidate, one, content, f"{reason}, with more", links=links)


# --- what stands near ------------------------------------------------------------------------------


class IndexNeighbours:
    """Neighbours of a text in a book, see `Neighbours`.

    Args:
        context: Its index is brought up to date when it is asked first.
        entries: Those of the book by id, in which whoever asks may put more: they are found by their words.
        meaning: Whether the index compares vectors, too.
    """

    def __init__(self, context: Context, entries: dict[str, Entry], *, meaning: bool = True) -> None:
        self._context = context
        self._meaning = meaning
        self._entries = entries
        self._known = frozenset(entries)
        self._arrived = new_entries(entries)
        self._arrived()
        self._since: dict[str, Entry] = {}
        self._near = by_words(self._since)
        self._found: dict[str, tuple[str, ...]] = {}

    def __call__(self, text: str) -> Sequence[Entry]:
        """Return at most 8 entries, best first: what was put in since, then in turn by vectors and by words."""
        self._since.update((entry.id, entry) for entry in self._arrived())
        found = self._near(text)
        if text not in self._found:
            self._found[text] = tuple(self._indexed(text))
        ids = dict.fromkeys((*(entry.id for entry in found), *self._found[text]))
        return [self._entries[id] for id in ids if id in self._entries][:MOST_NEAR]

    def _indexed(self, text: str) -> Iterator[str]:
        """Yield ids of entries that the index finds near a text, best first."""
        if not self._known:
            return
        book = self._context.book
        try:
            if not self._found:
                book.refresh()
            items = book.index.candidates(Query(text, sources=frozenset({"entry"}), meaning=self._meaning)).items
        except Unavailable:
            yield from (entry.id for entry in by_words({id: self._entries[id] for id in self._known})(text))
            return
        for pair in zip_longest(_best(items, lambda one: one.cosine), _best(items, lambda one: one.words)):
            yield from (one.passage.entry for one in pair if one is not None and one.passage.entry)


def _best(items: Sequence[Found], worth: Callable[[Found], float | None]) -> list[Found]:
    found = [(value, one) for one in items if (value := worth(one)) is not None]
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])][: 2 * MOST_NEAR]


class EmbedderSimilarity:
    """Cosine of two texts, see `Similarity`; an embedder that fails is not asked again."""

    def __init__(self, context: Context) -> None:
        self._embedder = context.embedder
        self._rows: dict[str, tuple[float, ...]] = {}

    def __call__(self, one: str, other: str) -> float | None:
        """Return -1..1; None without an embedder that reads both."""
        self._read([text for text in (one, other) if text not in self._rows])
        first, second = self._rows.get(one), self._rows.get(other)
        if self._embedder is None or not first or not second:
            return None
        return float(sum(map(mul, first, second)))

    def _read(self, texts: Sequence[str]) -> None:
        if self._embedder is None or not texts:
            return
        try:
            rows = vectors_of(self._embedder, texts)
        except EmbedderFailed:
            self._embedder = None
            return
        numbers = (unpack(f"<{len(row) // 4}f", row) if row is not None else () for row in rows)
        self._rows |= dict(zip(texts, numbers, strict=True))
