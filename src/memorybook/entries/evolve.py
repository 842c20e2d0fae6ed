"""The agentic step: new statements meet their neighbours, and one call decides what becomes of those in doubt.

Rules first, without a call: what the extraction named by alias, the same words, the same statement, and what is near
nothing. The rest is decided by one call of a model, whose word counts as far as it loses nothing; without a model, or
where it fails, by likeness:

- replaced, where rules can tell that something changed (`lifecycle.changed`);
- strengthened, at a cosine of 0.85 or three fifths of all words in common, if nothing differs that may not
  (`lifecycle.alike.differs`) and no word or fact of the new wording is lost;
- merged, if the new wording has every word of the known one and more;
- else created, linked to what is at least 0.55 like it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from memorybook.entries.alike import (
    RELATED,
    REPEATED,
    REPEATED_WORDS,
    by_words,
    differs,
    forms,
    is_held,
    likeness,
    overlap,
    turned,
    units,
    words,
)
from memorybook.entries.candidate import Candidate
from memorybook.entries.changed import replaces
from memorybook.entries.combine import missing
from memorybook.entries.decide import WIDTH, Choice, Doubt, NearPatch, form, question
from memorybook.entries.ground import unfounded
from memorybook.entries.match import Neighbours, Similarity, around, repeat, settled
from memorybook.entries.merge_plan import Conflicts, Decision, Ledger, Proposed, Talk
from memorybook.entries.model_prompts import Mask
from memorybook.errors import LLMFailed
from memorybook.model import Change, Discarded, Entry
from memorybook.text.screen import screen
from memorybook.text.sentences import is_chinese

if TYPE_CHECKING:
    from memorybook.formats.llm_messages import Usage
    from memorybook.protocols import LLM

ABOUT = 0.4
"""Cosine from which two statements are about the same, so that a model is asked."""

MOST_LINKS = 3
"""Neighbours that a new entry is linked to by likeness."""


class Evolved(NamedTuple):
    """What candidates do to a book, decided one by one.

    Attributes:
        changes: For `Book.apply`, in order.
        decisions: What became of each candidate, in their order; one that repeats several entries has several.
        discarded: What is not stored, with the reason.
        proposals: What waits for a person's word.
        usage: What the call took; None if none was made.
        degraded: Why likeness decided where a model was to; "" if it did.
    """

    changes: tuple[Change, ...] = ()
    decisions: tuple[Decision, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    usage: Usage | None = None
    degraded: str = ""

    @property
    def counts(self) -> Mapping[str, int]:
        """Decisions by action; 0 is left out."""
        return Counter(one.action for one in self.decisions)


def evolve(
    candidates: Iterable[Candidate],
    entries: Iterable[Entry],
    *,
    now: datetime,
    neighbours: Neighbours | None = None,
    similarity: Similarity | None = None,
    llm: LLM | None = None,
    session: str | None = None,
    times: Mapping[str, datetime | None] | None = None,
    heard: Collection[str] = (),
    conflicts: Conflicts = "newest",
    language: Literal["auto", "en", "zh"] = "auto",
    mask: Mask = str,
) -> Evolved:
    """Decide what becomes of candidates, with at most one call.

    Args:
        candidates, entries, now, neighbours, similarity, session, times, heard, conflicts: As in
            `lifecycle.match.match`.
        llm: Decides what is in doubt; None leaves it to likeness.
        language: Of the prompt; `auto` takes that of the candidates.
        mask: A text without its secrets; what the prompt shows passes through it.
    """
    ledger = Ledger({one.id: one for one in entries}, Talk(now, session, times or {}, heard), conflicts)
    step = _Step(ledger, neighbours or by_words(ledger.entries), similarity or (lambda one, other: None), mask)
    placed: list[tuple[int, Decision]] = []
    doubts: dict[int, Doubt] = {}
    for place, candidate in enumerate(candidates):
        before = len(ledger.decisions)
        doubt = step.doubt(candidate)
        if doubt is not None:
            doubts[place] = doubt
        placed += [(place, one) for one in ledger.decisions[before:]]
    asking = [place for place, doubt in doubts.items() if doubt.near]
    asked = _ask([doubts[place] for place in asking], llm, language, mask) if asking and llm is not None else _Asked()
    choices = {place: asked.choices.get(f"c{number}") for number, place in enumerate(asking, 1)}
    for place, doubt in doubts.items():
        before = len(ledger.decisions)
        step.decide(doubt, choices.get(place))
        placed += [(place, one) for one in ledger.decisions[before:]]
    placed.sort(key=lambda one: one[0])
    return Evolved(
        tuple(ledger.changes),
        tuple(decision for _, decision in placed),
        tuple(ledger.discarded),
        (*ledger.proposals, *ledger.disputed()),
        asked.usage,
        asked.degraded,
    )


class _Asked(NamedTuple):
    choices: Mapping[str, Choice] = {}
    usage: Usage | None = None
    degraded: str = ""


def _ask(doubts: Sequence[Doubt], llm: LLM, language: Literal["auto", "en", "zh"], mask: Mask) -> _Asked:
    """The model's choices by alias; of an answer that it could not mend, all that can be used."""
    said = " ".join(doubt.candidate.content for doubt in doubts)
    chosen: Literal["en", "zh"] = ("zh" if is_chinese(said) else "en") if language == "auto" else language
    asked = question(doubts, chosen, mask)
    filled, last = form(asked, chosen)
    try:
        reply = llm.complete(asked.messages, form=filled)
    except LLMFailed as error:
        how = "only part of the language model's answer can be used" if last() else "likeness decided, not a model"
        return _Asked(dict(last()), error.usage, f"{how}: {error}")
    return _Asked(reply.data, reply.usage)


class _Step:
    """Deciding on candidates one after the other, each against the entries as those before it leave them."""

    def __init__(self, ledger: Ledger, neighbours: Neighbours, similarity: Similarity, mask: Mask) -> None:
        self._ledger = ledger
        self._mask = mask
        self._neighbours = neighbours
        self._similarity = similarity
        self._common = _common_words(ledger.entries.values())

    def doubt(self, candidate: Candidate) -> Doubt | None:
        """The candidate with its neighbours if it is in doubt; None if it is decided on."""
        ledger = self._ledger
        if settled(ledger, candidate, self._neighbours, self._similarity):
            return None
        near = tuple(around(ledger, candidate, self._neighbours))
        if any(self._concerns(candidate, one) for one in near):
            return Doubt(candidate, tuple(one for one in near if one.id not in ledger.fresh))
        ledger.create(candidate, "near nothing that is known")
        return None

    def _concerns(self, candidate: Candidate, one: Entry) -> bool:
        """Whether a neighbour has to do with a candidate: it is like it, has a telling word of it, or may be untrue."""
        cosine = self._similarity(candidate.content, one.text) or 0.0
        said = forms(candidate.content) - self._common
        shared = any(is_held(unit, said) for unit in units(one.text))
        return (
            shared or cosine >= ABOUT or self._like(candidate, one) >= RELATED or replaces(candidate, one) is not None
        )

    def _like(self, candidate: Candidate, one: Entry) -> float:
        return likeness(candidate.content, one.text, self._similarity(candidate.content, one.text))

    def decide(self, doubt: Doubt, choice: Choice | None) -> None:
        """Decide on a candidate in doubt, by the model's choice or by likeness."""
        if settled(self._ledger, doubt.candidate, lambda text: (), self._similarity):
            return  # by what those before it have brought
        if choice is None:
            self._by_likeness(doubt)
        else:
            _Chosen(self._ledger, doubt, choice, self._mask).carry_out()

    # --- without a model -------------------------------------------------------------------------

    def _by_likeness(self, doubt: Doubt) -> None:
        ledger, candidate = self._ledger, doubt.candidate
        near = around(ledger, candidate, lambda text: doubt.near)
        changed = [(one, why) for one in near if (why := replaces(candidate, one)) is not None]
        if changed:
            ledger.replace(candidate, [one for one, _ in changed], changed[0][1])
            return
        near.sort(key=lambda one: -self._like(candidate, one))
        for one in near:
            if self._repeats(candidate, one):
                repeat(ledger, candidate, one, "much the same, by likeness")
                return
            if self._extends(candidate, one):
                ledger.merge(candidate, one, candidate.content, "says the same and more, by likeness")
                return
        links = [one.id for one in near if self._like(candidate, one) >= RELATED][:MOST_LINKS]
        ledger.create(candidate, "like no other enough to be the same", links=links)

    def _repeats(self, candidate: Candidate, one: Entry) -> bool:
        content = candidate.content
        cosine = self._similarity(content, one.text) or 0.0
        common = overlap(content, one.text)
        if words(content) <= words(one.text) and common >= REPEATED_WORDS:
            return not missing([candidate], one.text) and turned(content, one.text) is None
        if words(one.text) < words(content):
            return False
        return (cosine >= REPEATED or common >= REPEATED_WORDS) and differs(content, one.text) is None

    def _extends(self, candidate: Candidate, one: Entry) -> bool:
        """Whether the new wording has every word of the known one, few more, and contradicts nothing of it."""
        content = candidate.content
        near = overlap(content, one.text) >= REPEATED_WORDS and words(one.text) < words(content)
        return near and not self._ledger.unmergeable(candidate, one, content) and turned(content, one.text) is None


def _common_words(entries: Iterable[Entry]) -> frozenset[str]:
    """Words that so many entries have that they say nothing, as the name of the user."""
    texts = [forms(one.text) for one in entries if one.superseded_by is None]
    spread = Counter(form for text in texts for form in text)
    return frozenset(form for form, count in spread.items() if count > max(3, len(texts) // 5))


# --- by the model's choice -----------------------------------------------------------------------


class _Chosen:
    """A model's choice carried out as far as it loses nothing: what it may not do becomes a new, linked entry."""

    def __init__(self, ledger: Ledger, doubt: Doubt, choice: Choice, mask: Mask) -> None:
        self._ledger = ledger
        self._mask = mask
        self._candidate = doubt.candidate
        self._near = {one.id for one in doubt.near}
        self._choice = choice
        self._reason = choice.reason or "decided by the model"
        self._links = [id for id in choice.links if id in self._near]
        known = ledger.current(choice.target) if choice.target in self._near and choice.target else None
        self._target = known

    def carry_out(self) -> None:
        """Do what was chosen, then patch the neighbours."""
        acts: Mapping[str, Callable[[], None]] = {
            "created": self._create,
            "merged": self._merge,
            "updated": self._update,
            "strengthened": self._strengthen,
            "discarded": self._discard,
        }
        acts[self._choice.action]()
        if self._choice.action != "discarded" and self._candidate.trust != "suspect":
            for patch in self._choice.patches:
                if patch.id in self._near and self._ledger.current(patch.id) is not None:
                    self._patch(patch)

    def _create(self, why: str = "") -> None:
        """A new entry with the model's words if these are sound, else with the candidate's."""
        text = self._choice.text if self._choice.action == "created" else ""
        sound = text and not self._unsound(text, ()) and not missing([self._candidate], text)
        sound = sound and self._ledger.saying(text) is None  # what is known already, the candidate did not say
        candidate = replace(self._candidate, content=text) if sound else self._candidate
        links = [*self._links, *([self._choice.target] if self._choice.target and why else [])]
        unresolved = f"unresolved: {', '.join(self._choice.unresolved)}" if self._choice.unresolved else ""
        self._ledger.create(
            candidate,
            self._reason,
            links=links,
            contradicts=[id for id in self._choice.contradicts if id in self._near],
            detail="; ".join(filter(None, (why, unresolved))),
        )

    def _strengthen(self) -> None:
        if self._target is None:
            self._create(self._no_target())
        else:
            repeat(self._ledger, self._candidate, self._target, self._reason, links=self._links)

    def _merge(self) -> None:
        if self._target is None:
            self._create(self._no_target())
            return
        text = self._choice.text
        wrong = self._unsound(text, [self._target.text]) if text else "it has no text"
        whole = len(self._target.text) <= WIDTH and self._mask(self._target.text) == self._target.text
        wrong = wrong or ("" if whole else f"entry {self._target.id} was not shown whole")
        if wrong:
            self._create(f"not merged with {self._target.id}: {wrong}")
        else:
            self._ledger.merge(self._candidate, self._target, text, self._reason, links=self._links)

    def _update(self) -> None:
        """What is true now takes the place of the target, which stays in the book as what was true before."""
        if self._target is None:
            self._create(self._no_target())
            return
        text = self._choice.text or self._candidate.content
        lost = missing([self._candidate], text)
        wrong = self._unsound(text, [self._target.text]) or (f"{lost[0]} would be lost" if lost else "")
        if wrong:
            self._create(f"does not replace {self._target.id}: {wrong}")
            return
        now = replace(self._candidate, content=text)
        self._ledger.replace(now, [self._target], self._reason, links=self._links)

    def _discard(self) -> None:
        if self._candidate.told:
            self._create("the user asked to remember it")
        else:
            self._ledger.discard(self._candidate, self._reason)

    def _no_target(self) -> str:
        if self._choice.target is None:
            return f"{self._choice.action} without a target"
        return f"entry {self._choice.target} is no longer held true"

    def _unsound(self, text: str, sources: Sequence[str]) -> str:
        """Why a text that the model wrote cannot be stored; "" if it can."""
        if len(text) > WIDTH:
            return f"its text has more than {WIDTH} characters"
        reason = screen(text)
        if reason is not None:
            return reason
        grounds = [self._candidate.content, self._candidate.quote, *sources]
        invented = unfounded(text, grounds, entities=self._candidate.entities, now=self._ledger.talk.now)
        return f"{invented} is in neither" if invented else ""

    def _patch(self, patch: NearPatch) -> None:
        """Tags and context of a neighbour, never its text."""
        entry = self._ledger.entries[patch.id]
        fields: dict[str, object] = {}
        tags = [tag for tag in dict.fromkeys((*entry.tags, *patch.add)) if tag not in patch.remove]
        if tuple(tags) != entry.tags and screen(" ".join(patch.add)) is None:
            fields["tags"] = tuple(tags)
        if patch.context and patch.context != entry.metadata.get("context") and screen(patch.context) is None:
            fields["metadata"] = {**entry.metadata, "context": patch.context}
        if fields:
            self._ledger.patch(patch.id, fields, f"seen anew by what was said: {self._reason}")
