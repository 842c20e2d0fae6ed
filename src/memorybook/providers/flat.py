"""flat: one page of long-term memory that a model rewrites, and a history in paragraphs.

Recall gives the whole page whatever is asked. Memorizing is one call of one tool, `save_memory`; the rewritten page
is compared with the one that was shown and becomes changes to entries, so nothing is lost by it: what the page no
longer has is archived, and what a person wrote stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.book import fade
from memorybook.book.commit import ATTEMPTS
from memorybook.entries.combine import lowest
from memorybook.entries.mask import Mask
from memorybook.entries.merge_plan import Proposed
from memorybook.entries.read import known
from memorybook.entries.review import propose_or_apply
from memorybook.errors import LLMFailed, NotFound
from memorybook.forget.tombstones import unnamed
from memorybook.formats import memory_md
from memorybook.model import TRUST_ORDER, Add, Append, Archive, Change, Discarded, Entry, Reinforce, Trust, Update
from memorybook.prompt.block import WORDING
from memorybook.prompt.recall import masked
from memorybook.protocols import MemorizeInput
from memorybook.providers.flat_prompts import CONSOLIDATE, SAVE_MEMORY
from memorybook.providers.lines import Line, lines_of, stamp_of
from memorybook.providers.over_book import OverBook
from memorybook.providers.page import Page, Rewrite, Statement, page_of, read_rewrite
from memorybook.results import Recalled
from memorybook.search.snippets import CLOSE, OPEN
from memorybook.sessions.dialogue import CLOSE as TALK_END
from memorybook.sessions.dialogue import OPEN as TALK
from memorybook.sessions.turns import zone_of
from memorybook.text.screen import screen
from memorybook.text.sentences import is_chinese
from memorybook.text.tokens import count_tokens, digest, language_of, normalise

if TYPE_CHECKING:
    from memorybook.formats.llm_messages import Reply
    from memorybook.inference.budget import Metered

HISTORY = "HISTORY.md"

TITLE = "## Long-term Memory"

_LONGEST = 20_000
"""Characters of a statement."""

_USUAL_ROOM = 8_192
"""Tokens that servers give to an answer where nobody says how many."""

_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d\]")


_NEW = "new in the rewritten memory"


class Saved(NamedTuple):
    """What the model gave: a paragraph of history, and the whole page as it is to be."""

    history: str
    page: str


class Flat(OverBook):
    """The flat provider; see the module."""

    name = "flat"

    def recalled(self, query: str, *, max_tokens: int | None = None) -> Recalled:
        """The whole page under its title; the query is only noted, and nothing is cut."""
        context = self.context
        if not context.config.enabled:
            return Recalled("", 0)
        book = context.book
        document = book.memory()
        page = page_of(document, today=book.now().date())
        if not page.text:
            return Recalled("", 0)
        if page.entries:
            book.count_access(list(page.entries), query=masked(context.config, query))
        wording = WORDING[language_of(context.config.language, [*page.entries.values(), *page.prose])]
        text = "\n".join([TITLE, OPEN, wording.data, "", page.text, CLOSE])
        shown = known(book, (entry for entry in document.entries if entry.id in page.entries))
        return Recalled(text, count_tokens(text), tuple(shown))

    def _memorize(self, messages: Sequence[Mapping[str, Any]], given: MemorizeInput) -> str | None:
        context = self.context
        mask = Mask(context)
        zone = zone_of(context)
        lines = lines_of(messages, mask=mask, zone=zone)
        if not lines:
            return None
        llm = self._model(given)
        document = context.book.memory()
        page = page_of(document, today=context.book.now().date(), mask=mask.text)
        reply = _asked(llm, page, lines, context.config.language, room=_room(page, context.config.llm.max_tokens))
        saved = _saved(reply, page)
        stamp = next((line.stamp for line in reversed(lines) if line.stamp), stamp_of(context.book.now(), zone))
        saved = Saved(mask.text(_stamped(saved.history, stamp)), mask.text(saved.page))
        shown = {entry.id: entry for entry in document.entries if entry.id in page.entries}
        rewrite = _Rewriting(self, saved, page, shown, lines)
        usage = {**llm.usage.json(), "model": given.model or llm.name}
        return rewrite.apply(given.session, usage)


# --- the call --------------------------------------------------------------------------------------


def _room(page: Page, setting: int) -> int | None:
    """Tokens that the answer may have, which holds the whole page; None leaves it to the setting, or the server."""
    wanted = 2 * count_tokens(page.text) + 2_000
    return None if setting or wanted <= _USUAL_ROOM else wanted


def _asked(llm: Metered, page: Page, lines: Sequence[Line], setting: str, *, room: int | None) -> Reply:
    """The model's answer to the page and the talk."""
    text = "\n".join(line.text for line in lines)
    language = ("zh" if is_chinese(text[:20_000]) else "en") if setting == "auto" else setting
    words = CONSOLIDATE[language]
    talk = re.sub(r"<(?=\s*/?\s*talk\b)", "< ", text, flags=re.I)
    asked = "\n".join([words.page, page.text or words.empty, "", words.talk, TALK, talk, TALK_END])
    messages = [{"role": "system", "content": words.system}, {"role": "user", "content": asked}]
    return llm.complete(messages, tools=[SAVE_MEMORY[language]], tool_choice="save_memory", max_tokens=room)


def _saved(reply: Reply, page: Page) -> Saved:
    """What the model saves. Raises LLMFailed if it did not call the tool, or gave it what cannot be used."""
    arguments = next((call.arguments for call in reply.tool_calls if call.name == "save_memory"), None)
    if arguments is None:
        raise LLMFailed("the language model did not call save_memory: nothing was saved")
    if reply.cut:
        raise LLMFailed("the answer of the language model was cut off: raise llm.max_tokens, or shorten MEMORY.md")
    history, update = arguments.get("history_entry"), arguments.get("memory_update")
    if not isinstance(history, str) or not history.strip():
        raise LLMFailed(f"save_memory was called with {repr(history)[:80]} as history_entry: it takes a paragraph")
    if not isinstance(update, str) or (page.text and not update.strip()):
        raise LLMFailed(f"save_memory was called with {repr(update)[:80]} as memory_update: it takes the whole page")
    return Saved(" ".join(history.split()), update)


def _stamped(paragraph: str, stamp: str) -> str:
    """The paragraph, with the time before it if the model left that out."""
    return paragraph if _STAMP.match(paragraph) else f"[{stamp}] {paragraph}"


# --- the rewritten page ----------------------------------------------------------------------------


class _Rewriting:
    """A page that a model gave back, as changes to the book as it is by then.

    Args:
        provider: Whose book it is.
        saved: What the model gave.
        page: The page that it was shown.
        shown: The entries in it as they were then, by id.
        lines: The talk.
    """

    def __init__(
        self, provider: Flat, saved: Saved, page: Page, shown: Mapping[str, Entry], lines: Sequence[Line]
    ) -> None:
        self._context = provider.context
        self._book = provider.context.book
        self._saved = saved
        self._shown = shown
        self._now = self._book.now()
        self._trust: Trust = min((line.trust for line in lines), key=TRUST_ORDER.index)
        categories = {id: entry.category for id, entry in shown.items()}
        self._rewrite: Rewrite = read_rewrite(saved.page, page, categories, day=self._now.date())
        self._discarded: list[Discarded] = []

    def apply(self, session: str | None, usage: Mapping[str, Any]) -> str | None:
        """Write it; the operation's id, None if nothing was written. Worked out anew if an entry goes meanwhile."""
        for _ in range(ATTEMPTS - 1):
            with suppress(NotFound):
                return self._apply(session, usage)
        return self._apply(session, usage)

    def _apply(self, session: str | None, usage: Mapping[str, Any]) -> str | None:
        self._discarded = []
        standing = {entry.id: entry for entry in self._book.entries()}
        gone = self._gone(standing)
        allowed = fade.dropped_at_once(len(self._shown))
        done = propose_or_apply(
            self._context,
            [*self._changes(standing, session), *gone[:allowed]],
            kind="memorize",
            session=session,
            discarded=self._discarded,
            usage=usage,
            proposed=[_proposed(change, len(gone), len(self._shown)) for change in gone[allowed:]],
        )
        return done.result.operation.id if done.result.operation is not None else None

    def _changes(self, standing: Mapping[str, Entry], session: str | None) -> Iterator[Change]:
        if self._fits(self._saved.history):
            yield Append(path=HISTORY, line=self._saved.history, reason="consolidated", apart=True)
        for id, said in self._rewrite.changed.items():
            entry = standing.get(id)
            if self._fits(said.text) and self._untouched(id, entry, said) and entry is not None:
                yield Update(id=id, fields=self._reworded(entry, said), reason="reworded in the rewritten memory")
        archived = {normalise(entry.text): entry for entry in standing.values() if entry.state == "archived"}
        for said in self._rewrite.new:
            if self._fits(said.text):
                old = archived.get(normalise(said.text))
                yield from self._again(old) if old else [Add(entry=self._entry(said, session), reason=_NEW)]

    def _again(self, known: Entry) -> Iterator[Change]:
        """An archived entry is said again: it is strengthened, and active if it is strong enough then."""
        today = self._now.date()
        yield Reinforce(id=known.id, reason=_NEW)
        lapsed = known.expires is not None and known.expires < today
        if fade.reinforced(known, today).score >= fade.ARCHIVE_BELOW and not lapsed:
            yield Update(id=known.id, fields={"archived": False}, reason=_NEW)

    def _gone(self, standing: Mapping[str, Entry]) -> list[Archive]:
        """What the page no longer has, the weakest first; what is pinned, or was changed since, stays."""
        gone = [standing[id] for id in self._rewrite.gone if id in standing]
        gone = [entry for entry in gone if not entry.pinned and entry == self._shown[entry.id]]
        gone.sort(key=self._book.strength)
        return [Archive(id=entry.id, reason="no longer in the rewritten memory") for entry in gone]

    def _fits(self, text: str) -> bool:
        """Whether a text may be stored; if not, it is among the discarded ones with the reason."""
        reason = screen(text) or ("" if len(text) <= _LONGEST else f"over {_LONGEST:,} characters")
        if reason:
            self._discarded.append(Discarded(text=text[:_LONGEST], reason=reason))
        elif self._book.journal.buried([digest(text)]):
            self._discarded.append(unnamed(text))
        else:
            return True
        return False

    def _untouched(self, id: str, entry: Entry | None, said: Statement) -> bool:
        """Whether an entry may be reworded: it is not pinned, and as the model was shown it."""
        reason = ""
        if entry is None:
            reason = f"entry {id} went meanwhile"
        elif entry.pinned:
            reason = f"entry {id} is pinned"
        elif (entry.text, entry.archived) != (self._shown[id].text, self._shown[id].archived):
            reason = f"entry {id} was changed meanwhile"
        if reason:
            self._discarded.append(Discarded(text=said.text, reason=reason))
        return not reason

    def _reworded(self, entry: Entry, said: Statement) -> dict[str, Any]:
        """Who rewords an entry speaks of it: it is current, with the strength that it has today."""
        today = self._now.date()
        return {
            "text": said.text,
            "category": said.category,
            "trust": lowest(entry.trust, self._trust),
            "score": fade.strength(entry, today),
            "scored": max(entry.scored, today),
            "last_activated": max(entry.last_activated, today),
        }

    def _entry(self, said: Statement, session: str | None) -> Entry:
        today: date = self._now.date()
        return Entry(
            id=memory_md.new_id(()),
            text=said.text,
            category=said.category,
            score=said.score,
            scored=today,
            last_activated=today,
            created=self._now,
            session=session,
            trust=self._trust,
        )


def _proposed(change: Archive, gone: int, shown: int) -> Proposed:
    reason = f"the rewritten memory lacks {gone} of {shown} entries, this one among them"
    return Proposed("archive", (change,), reason)
