"""The account of what candidates do to entries: changes under the laws of an entry, and a decision for each.

A candidate is settled against the entries as those before it will have left them, so that two candidates of one talk
never reinforce one entry twice and never contradict what is no longer held true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from memorybook.book import fade
from memorybook.entries.alike import MOST_NEAR, by_words
from memorybook.entries.candidate import Candidate
from memorybook.entries.changed import rivals
from memorybook.entries.combine import merged, missing
from memorybook.formats import memory_md
from memorybook.model import TRUST_ORDER, Add, Archive, Change, Discarded, Entry, Reinforce, Supersede, Trust, Update
from memorybook.text.tokens import normalise

Conflicts = Literal["newest", "highest_trust", "ask", "keep_both"]
"""Which of two statements that contradict each other is held true (setting `conflicts`)."""

Action = Literal["created", "merged", "updated", "strengthened", "discarded", "proposed"]
"""What became of a candidate; `updated` is a new statement in the place of one that is no longer true."""


class Decision(NamedTuple):
    """What became of one candidate.

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
    """Changes that wait for a person's word: kind (`conflict`, `suspect`, `doubtful`), changes, and why."""

    kind: str
    changes: tuple[Change, ...]
    reason: str


class Talk(NamedTuple):
    """Where candidates come from.

    Attributes:
        now: When this is, UTC; new entries are written for its day.
        session: Uuid of the session; None if there is none.
        times: When each turn was said, by id; what is not there was said now.
        heard: Ids of entries that were reinforced from this session before.
    """

    now: datetime
    session: str | None = None
    times: Mapping[str, datetime | None] = {}
    heard: Collection[str] = ()

    def said(self, candidate: Candidate) -> datetime:
        """When it was said first; never later than now, whatever a wrong clock wrote."""
        times = (time for id in candidate.turn_ids if (time := self.times.get(id)) is not None)
        return min(next(times, self.now), self.now)

    def last_said(self, candidate: Candidate) -> datetime:
        """When it was said last; never later than now."""
        times = [time for id in candidate.turn_ids if (time := self.times.get(id)) is not None]
        return min(max(times, default=self.now), self.now)


MOST_FRESH = 3 * MOST_NEAR
"""Neighbours that are looked for among what one account adds."""


@dataclass(slots=True)
class Ledger:
    """What is to be done, and the entries as they will stand then.

    Attributes:
        entries: By id, all of the book, as they will stand.
        changes, discarded, proposals, decisions: The account, in order.
        fresh: The entries that this account adds, by id, as they were added.
        disputing: Candidates with `disputes`.
    """

    entries: dict[str, Entry]
    talk: Talk
    conflicts: Conflicts = "newest"
    new_id: Callable[[Container[str]], str] = memory_md.new_id
    changes: list[Change] = field(default_factory=list)
    discarded: list[Discarded] = field(default_factory=list)
    proposals: list[Proposed] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    fresh: dict[str, Entry] = field(default_factory=dict)
    disputing: list[Candidate] = field(default_factory=list)
    _heard: set[str] = field(default_factory=set)
    _texts: dict[str, list[str]] = field(default_factory=dict)
    _near: Callable[[str], Sequence[Entry]] = field(init=False, repr=False)
    _rivals: Callable[[Candidate], Sequence[Entry]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._heard |= set(self.talk.heard)
        for one in self.entries.values():
            self._texts.setdefault(_statement(one.text), []).append(one.id)
        self._near = by_words(self.fresh, most=MOST_FRESH)
        self._rivals = rivals(self.entries)

    # --- reading -------------------------------------------------------------------------------

    def current(self, id: str) -> Entry | None:
        """The entry, if there is one that is held true."""
        entry = self.entries.get(id)
        return entry if entry is not None and entry.superseded_by is None else None

    def around(self, candidate: Candidate, neighbours: Sequence[Entry]) -> list[Entry]:
        """What this account added near a candidate, neighbours of it and what says otherwise, as far as held true."""
        near = (*self._near(candidate.content), *neighbours, *self._rivals(candidate))
        ids = dict.fromkeys(one.id for one in near)
        return [one for id in ids if (one := self.current(id)) is not None]

    def successor(self, id: str) -> Entry | None:
        """The entry held true that this talk put in the place of another; None if it put none."""
        entry = self.entries.get(id)
        while entry is not None and entry.superseded_by is not None:
            entry = self.entries.get(entry.superseded_by) if entry.superseded_by in self.fresh else None
        return entry if entry is not None and entry.id != id else None

    def saying(self, text: str) -> Entry | None:
        """The entry held true that makes this very statement."""
        ids = self._texts.get(_statement(text), ())
        return next((one for id in ids if (one := self.current(id)) is not None), None)

    def entry_of(self, candidate: Candidate) -> Entry:
        """The entry that a candidate becomes: it fades from today on; `created` is when it was said."""
        today = self.talk.now.date()
        return Entry(
            id=self.new_id(self.entries),
            text=candidate.content,
            category=candidate.category,
            score=candidate.score,
            scored=today,
            last_activated=today,
            created=self.talk.said(candidate),
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
        """Why a text may not take the place of both; "" if it may."""
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
        """A new entry, linked to those of these ids."""
        made = replace(self.entry_of(candidate), links=_joined(links, ()), contradicts=_joined(contradicts, ()))
        self._add(candidate, made)
        self._decide("created", made.id, candidate, reason, detail)
        return made

    def strengthen(self, candidate: Candidate, target: Entry, reason: str) -> Entry:
        """The target was said again: the law of reinforcement, once for each session.

        What is suspect waits for a person's word, unless the entry is suspect as well.
        """
        target = self.entries[target.id]
        if candidate.trust == "suspect" and target.trust != "suspect":
            self._propose("suspect", candidate, (self._reinforce(candidate, target.id),), reason)
            return target
        fields = _mended(candidate, target)
        if self._is_heard(target):
            self._update(target.id, fields, reason)
            self._decide("strengthened", target.id, candidate, reason, "said before in this session: heard once")
            return self.entries[target.id]
        today = self.talk.now.date()
        self.changes.append(self._reinforce(candidate, target.id))
        self._heard.add(target.id)
        stronger = fade.reinforced(target, today)
        self.entries[target.id] = stronger
        expires = fields.get("expires", target.expires)
        if target.archived and stronger.score >= fade.ARCHIVE_BELOW and not (expires and expires < today):
            fields["archived"] = False
        self._update(target.id, fields, reason)
        self._decide("strengthened", target.id, candidate, reason)
        return self.entries[target.id]

    def replace(
        self, candidate: Candidate, targets: Iterable[Entry], reason: str, *, links: Iterable[str] = ()
    ) -> None:
        """The targets are no longer true by what was said: the law of contradiction, by the strategy of this book.

        What a person pinned, and trusted entries where the candidate is suspect, wait for a person's word.
        """
        known = self.saying(candidate.content)
        standing = [one for target in targets if (one := self.current(target.id)) is not None and one != known]
        if known is not None:
            self.strengthen(candidate, known, reason)
            known = self.entries[known.id]
        if not standing and known is not None:
            return
        ids = [one.id for one in standing]
        made = known or replace(self.entry_of(candidate), links=_joined(links, ()))
        made = replace(made, contradicts=_joined(made.contradicts, ids))
        asked = self._to_ask(candidate, standing)
        if asked:
            self._ask(candidate, made, standing, asked, new=known is None)
        elif self.conflicts == "keep_both":
            self._keep_both(candidate, made, ids, reason, new=known is None)
        else:
            self._supersede(candidate, made, standing, reason, new=known is None)

    def merge(self, candidate: Candidate, target: Entry, text: str, reason: str, *, links: Iterable[str] = ()) -> None:
        """One new entry of both, the target archived; both kept and linked where that would lose something."""
        target = self.entries[target.id]
        links = _joined([target.id], links)
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
            made = self._add(candidate, merged(target, plain, text, heard=self._is_heard(target)))
            self._decide("merged", made.id, candidate, reason, f"of {target.id}")
        if made.id != target.id:
            why = f"merged into {made.id}: {reason}"
            self.changes += (Supersede(id=target.id, by=made.id, reason=why), Archive(id=target.id, reason=why))
            old = fade.contradicted(self.entries[target.id], made.id, self.talk.now.date())
            self.entries[target.id] = replace(old, archived=True)

    def disputed(self) -> list[Proposed]:
        """What a model says is no longer true by a candidate and a person has to agree to: the candidate stands."""
        found: list[Proposed] = []
        for candidate in self.disputing:
            made = self.saying(candidate.content)
            gone = [id for id in candidate.disputes if made is not None and self.current(id) not in (None, made)]
            if made is not None and gone:
                changes = tuple(Supersede(id=id, by=made.id, reason=_said(candidate)) for id in gone)
                found.append(Proposed("conflict", changes, f"may be no longer true by entry {made.id}, said a model"))
        return found

    def discard(self, candidate: Candidate, reason: str) -> None:
        """Not stored; the journal keeps why."""
        self.discarded.append(Discarded(text=candidate.content, reason=reason, quote=candidate.quote))
        self._decide("discarded", None, candidate, reason)

    def ask(self, candidate: Candidate) -> None:
        """A person is asked whether what does not rest on what was said is true; what is known already is let go."""
        if self.saying(candidate.content) is not None:
            self.discard(candidate, candidate.doubt)
        else:
            adding = Add(entry=self.entry_of(candidate), reason=f"found: {candidate.doubt}")
            self._propose("doubtful", candidate, [adding], candidate.doubt)

    def patch(self, id: str, fields: Mapping[str, Any], reason: str) -> None:
        """Set fields of an entry that is known."""
        self._update(id, fields, reason)

    # --- the laws --------------------------------------------------------------------------------

    def _is_heard(self, target: Entry) -> bool:
        """Whether this session said it before."""
        mine = self.talk.session is not None and target.session == self.talk.session
        return mine or target.id in self._heard or target.id in self.fresh

    def _reinforce(self, candidate: Candidate, id: str) -> Reinforce:
        return Reinforce(id=id, reason=_said(candidate))

    def _add(self, candidate: Candidate, entry: Entry) -> Entry:
        self.changes.append(Add(entry=entry, reason=f"said: {candidate.quote}"))
        self.entries[entry.id] = entry
        self._texts.setdefault(_statement(entry.text), []).append(entry.id)
        self.fresh[entry.id] = entry
        return entry

    def _update(self, id: str, fields: Mapping[str, Any], reason: str) -> None:
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
        """Why a person is asked; "" if nobody need be."""
        for one in standing:
            if one.pinned:
                return f"entry {one.id} is pinned and would be replaced"
            if candidate.trust == "suspect" and one.trust != "suspect":
                return f"a suspect text would replace entry {one.id}"
            if self.conflicts == "ask":
                return f"contradicts entry {one.id}"
        return ""

    def _ask(self, candidate: Candidate, made: Entry, standing: Iterable[Entry], why: str, *, new: bool) -> None:
        adding: list[Change] = [Add(entry=made, reason=f"said: {candidate.quote}")] if new else []
        replacing = [Supersede(id=one.id, by=made.id, reason=_said(candidate)) for one in standing]
        self._propose("suspect" if candidate.trust == "suspect" else "conflict", candidate, (*adding, *replacing), why)

    def _keep_both(self, candidate: Candidate, made: Entry, ids: list[str], reason: str, *, new: bool) -> None:
        made = replace(made, links=_joined(made.links, ids))
        if new:
            self._add(candidate, made)
            self._decide("created", made.id, candidate, reason, "both kept")
        else:
            self._update(made.id, {"links": made.links, "contradicts": made.contradicts}, reason)

    def _supersede(self, candidate: Candidate, made: Entry, standing: list[Entry], reason: str, *, new: bool) -> None:
        """The winner is what was said last, or what is trusted most; each loser keeps half its strength."""
        today = self.talk.now.date()
        winner = next((one for one in standing if self._outranks(one, candidate)), None) if new else None
        if winner is not None:
            self._add(candidate, fade.contradicted(made, winner.id, today))
            self._decide("created", made.id, candidate, reason, f"entry {winner.id} is held true")
            return
        if new:
            self._add(candidate, made)
            replaced = ", ".join(one.id for one in standing)
            self._decide("updated" if standing else "created", made.id, candidate, reason, f"replaces {replaced}")
        for one in standing:
            self.changes.append(Supersede(id=one.id, by=made.id, reason=_said(candidate)))
            self.entries[one.id] = fade.contradicted(one, made.id, today)

    def _outranks(self, one: Entry, candidate: Candidate) -> bool:
        """Whether a known entry stays true against what was said: by trust, if that counts, else what was said last.

        When an entry was said is known of those that rest on a turn; others were written down at their time, which
        only what is imported from the past is held against.
        """
        if self.conflicts == "highest_trust" and _rank(one.trust) != _rank(candidate.trust):
            return _rank(one.trust) > _rank(candidate.trust)
        dated = candidate.trust == "import" or (one.source or "").startswith("turn:")
        return dated and one.created is not None and min(one.created, self.talk.now) > self.talk.last_said(candidate)


_statement = lru_cache(maxsize=20_000)(normalise)
"""Of entries, which every session's candidates are compared with."""


def _mended(candidate: Candidate, target: Entry) -> dict[str, Any]:
    """Fields that what was said again adds to an entry: a new last day, a place to file it."""
    fields: dict[str, Any] = {}
    if candidate.expires is not None and candidate.expires != target.expires and target.category == "todo":
        fields["expires"] = candidate.expires
    if candidate.group and not target.group:
        fields["group"] = candidate.group
    return fields


def _said(candidate: Candidate) -> str:
    """The reason of a change, as `why` reads it: the quote and the turns."""
    return f"said: {candidate.quote}" + "".join(f" turn:{id}" for id in candidate.turn_ids[:3])


def _rank(trust: Trust | None) -> int:
    return TRUST_ORDER.index(trust) if trust is not None else len(TRUST_ORDER)


def _joined(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
