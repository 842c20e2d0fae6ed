"""Book: one open book. Reads, searches, applies changes, syncs; the one place that writes entries."""

from __future__ import annotations

from math import exp

from memorybook._light import (
    TYPE_CHECKING,
    UTC,
    Any,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Memo,
    NamedTuple,
    Sequence,
    cast,
    date,
    datetime,
    suppress,
    timedelta,
    tzinfo,
)
from memorybook.book import fade
from memorybook.errors import Conflict, EmbedderFailed, InvalidInput, MissingDocument, Unavailable
from memorybook.search.evidence import weights_for
from memorybook.search.search import find, renewed
from memorybook.search.types import Answer, Hit, Passage, Query, SyncReport
from memorybook.text.stop_words import COMMON, NOWHERE, script_of
from memorybook.text.tokens import language_of, says_something

if TYPE_CHECKING:
    from typing import TypeVar

    from memorybook.book.embedding import Embedding
    from memorybook.book.transaction import Draft, Outcome, Pages, Result
    from memorybook.book.undo import Reversal
    from memorybook.config.settings import StaleSettings
    from memorybook.formats.document import Document
    from memorybook.formats.memory_md import MemoryDocument
    from memorybook.model import Change, Discarded, Entry, Operation, Patch, Turn
    from memorybook.protocols import Index, Progress, Storage, Transcripts
    from memorybook.search.search import Reranker
    from memorybook.search.types import Candidates

    T = TypeVar("T")


ATTEMPTS = 8
"""How often a change is worked in anew when a person saves the document in the same moment."""


def retried(do: Callable[[], T], *errors: type[Exception], times: int = ATTEMPTS) -> T:
    """Return what `do` returns; it is done anew, at most `times` times in all, where it raises one of these errors."""
    for _ in range(times - 1):
        with suppress(*errors):
            return do()
    return do()


HARDLY = 0.05
"""Share of a book's passages in one script up to which it hardly holds any."""

MOST_PATCHED = 32
"""How many operations are carried out together with patches of the documents between them, which cost a rendering each.

Those of larger batches are undone change by change.
"""

RETRIED = timedelta(minutes=10)
"""How long what was interrupted is not counted once more if it is asked for again."""

_says_something = Memo(says_something, 16_384).__getitem__


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


class Book:
    """An open book over what keeps it; safe to share between threads.

    `fallback` makes the index that answers when `index` cannot; `zone` says which day a note belongs to; `weights` are
    shares of the (vector, words) legs, (0, 0) the embedder's own; `rerank` has a say in the order of the best hits;
    `stale` says how long what was confirmed holds, None for ever;
    `degraded` says what is less than configured on opening. `background`: whether a thread embeds what waits after a
    search or a sync.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        index: Index,
        fallback: Callable[[], Index],
        clock: Callable[[], datetime],
        new_id: Callable[[datetime], str],
        zone: tzinfo | None,
        weights: tuple[float, float] = (0.0, 0.0),
        rerank: Reranker | None = None,
        stale: StaleSettings | None = None,
        degraded: Sequence[str] = (),
    ) -> None:
        self.storage = storage
        self.documents = storage.documents
        self.transcripts = storage.transcripts
        self.journal = storage.journal
        self.index = index
        self._make_fallback = fallback
        self._fallback: Index | None = None
        self._clock = clock
        self.new_id = new_id
        self.zone = zone
        self._weights = weights
        self._rerank = rerank
        self._stale = stale
        self._degraded = tuple(degraded)
        self._embedding: Embedding | None = None
        self._searches: list[None] = []
        self.background = False
        self._journal_fails = ""
        self.turns_fail = ""
        self.settled: list[Operation] = []
        self._parsed: dict[str, tuple[str, float, MemoryDocument]] = {}
        self._turns: tuple[tuple[object, ...], tuple[Turn, ...]] = ((), ())
        self._recover()

    def faults(self, *, thorough: bool = False) -> list[str]:
        """Describe damage to what cannot be derived again, a sentence each; see `Journal.fault`."""
        found: list[str] = []
        for part in (self.transcripts, self.journal, None):
            try:
                found += self._losses() if part is None else [part.fault(thorough=thorough)]
            except Unavailable as error:
                found.append(str(error))
        return [one for one in found if one]

    def _losses(self) -> list[str]:
        """Return what another program took away from MEMORY.md and is not there again, one sentence each."""
        lost = self.documents.lost()
        if not lost:
            return []
        from memorybook.formats import memory_md

        known = {entry.id: entry for entry in self.entries()}
        reasons = []
        for file, text, left in lost:
            before = memory_md.parse(text, modified=self.now()).entries
            damaged = {entry.id: entry for entry in memory_md.parse(left, modified=self.now()).entries}
            gone = sum(one.id not in known or known[one.id] == damaged.get(one.id) != one for one in before)
            if gone or not before:
                reasons.append(
                    f"another program took {gone} of {len(before)} entries out of MEMORY.md: have them back with "
                    f"memorybook undo MEMORY.md, or delete {file!r} if they are meant to be gone"
                )
        return reasons

    @property
    def degraded(self) -> tuple[str, ...]:
        """Reasons why something works less well than configured, one sentence each."""
        return (*self._degraded, self._journal_fails) if self._journal_fails else self._degraded

    # --- time ----------------------------------------------------------------------------------

    def now(self) -> datetime:
        """Return the time now, UTC, whole seconds."""
        return self._clock().astimezone(UTC).replace(microsecond=0)

    def day(self, time: datetime) -> date:
        """Return the day that `time` falls on in the book's timezone."""
        return time.astimezone(self.zone).date()

    def span(self, first: str | None, last: str | None) -> tuple[datetime | None, datetime | None]:
        """Return from when on and before when days (`YYYY-MM-DD`) of the book's timezone last; None is open."""

        def begin(day: str | None, after: int) -> datetime | None:
            if day is None:
                return None
            try:
                start = datetime.fromisoformat(day) + timedelta(days=after)
                return start.replace(tzinfo=self.zone).astimezone(UTC)
            except (OverflowError, ValueError):  # the ends of the calendar
                return (datetime.max if day > "5" else datetime.min).replace(tzinfo=UTC)

        return begin(first, 0), begin(last, 1)

    def strength(self, entry: Entry, day: date | None = None) -> float:
        """Return an entry's score on a day, by default today, 0..1, fading applied."""
        return fade.strength(entry, day or self.now().date())

    # --- finding -------------------------------------------------------------------------------

    def search(
        self,
        query: Query,
        *,
        limit: int,
        min_score: float = 0.0,
        keep: Callable[[Passage], bool] | None = None,
        explain: bool = False,
    ) -> Answer:
        """Return the hits for a query, after bringing the index up to date with what is on disk now."""
        self._searches.append(None)
        try:
            report, candidates = self.candidates(query)
        finally:
            self._searches.pop()
        self._wake(report)
        vector, words = self._weights
        failed: list[str] = []
        own = self._rerank

        def rerank(question: str, texts: Sequence[str]) -> Sequence[float] | None:
            try:
                return own(question, texts) if own is not None else None
            except EmbedderFailed as error:
                failed.append(f"the best hits were not read again: {error}")
                return None

        weights = weights_for(candidates.embedder, candidates.unrelated, vector=vector, words=words)
        found = find(
            query.text,
            candidates,
            weights,
            limit=limit,
            min_score=min_score,
            strength=self._strength_today(),
            today=self.day(self.now()),
            keep=keep,
            rerank=rerank if own is not None else None,
            explain=explain,
        )
        apart = "" if found.has_relevant else self._in_another_language(query, candidates)
        reasons = (*self.degraded, *report.degraded, *candidates.degraded, *failed, *filter(None, [apart]))
        degraded = together(reasons, self.faults())
        state = {
            "fresh": not report.degraded,  # what sync could not bring in
            "backend": candidates.backend,
            "checked_files": report.checked,
            "pending_vectors": max(report.pending_vectors, candidates.pending_vectors),
            "degraded": list(degraded),
        }
        return Answer(
            self.told_of(found.hits),
            found.has_relevant,
            min_score,
            found.cut,
            candidates.backend,
            self.storage.root,
            state,
            knows=found.knows,
        )

    def told_of(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return the hits, each with the day since which nobody confirmed it, if its kind needs that."""
        if self._stale is None or not any(hit.passage.verified for hit in hits):
            return hits
        from memorybook.book.fade import told_of

        return told_of(hits, self._stale, self.now().date())

    def renewed(self, asked: Query, answer: Answer, *, limit: int) -> Answer:
        """Return the answer with what is true now before what it replaced, see `search.renewed`."""
        answer = renewed(self.entry_passages, asked, answer, limit=limit)
        return answer._replace(hits=self.told_of(answer.hits))

    def candidates(self, query: Query) -> tuple[SyncReport, Candidates]:
        """Return what the index finds for a query, unranked, once it is up to date with what is on disk now."""
        try:
            return self.index.sync(self.documents, self.transcripts), self.index.candidates(query)
        except Unavailable as error:
            reason = f"the index cannot be used ({error}): searched by scanning the documents"
        if self._fallback is None:
            self._fallback = self._make_fallback()
        report = self._fallback.sync(self.documents, self.transcripts)
        candidates = self._fallback.candidates(query)
        return report, candidates._replace(degraded=(*candidates.degraded, reason))

    def _in_another_language(self, query: Query, found: Candidates) -> str:
        """Return why nothing was found, if the book hardly holds the question's script; "" if it was compared."""
        script = script_of(query.text)
        kind = (found.embedder or "").partition("/")[0]
        name = query.text.isascii() and len(query.text.split()) < 2
        if not script or name or kind not in ("", "static") or found.degraded or found.pending_vectors:
            return ""

        def held(script: str) -> float:
            """Return the share of the passages that have the commonest word of a script; 1 where there are too few."""
            idf = self.index.candidates(query._replace(text=f"{COMMON[script]} {NOWHERE}", pool=1, meaning=False)).idf
            passages = exp(idf.get(NOWHERE, 0.0)) / 2 - 1  # an idf is log((passages + 1) / (holding + 0.5))
            return ((passages + 1) / exp(min(idf.values())) - 0.5) / passages if passages > 1.5 else 1.0

        with suppress(Unavailable):
            if held(script) < HARDLY <= max(held(other) for other in COMMON if other != script):
                from memorybook import locale

                return locale.message("problems.another_language", language_of("auto", [query.text]))
        return ""

    def turns(self, spans: Iterable[tuple[str, int, int]]) -> Sequence[Passage]:
        """Return turns of sessions (uuid) that say something as the last search saw them, see `Index.turns`."""
        try:
            found = self.index.turns(spans)
        except Unavailable:
            found = self._fallback.turns(spans) if self._fallback is not None else ()
        return [turn for turn in found if _says_something(turn.text)]

    def entry_passages(
        self, ids: Collection[str] = (), *, turns: Collection[tuple[str, str]] = (), query: Query | None = None
    ) -> Sequence[Passage]:
        """Return entries as the last search saw them, see `Index.entries`."""
        try:
            return self.index.entries(ids, turns=turns, query=query)
        except Unavailable:
            fallback = self._fallback
            return fallback.entries(ids, turns=turns, query=query) if fallback is not None else ()

    def told(self, read: Callable[[Transcripts], Iterable[T]]) -> list[T]:
        """Return what the transcripts say; nothing where they cannot be read, with the reason in `turns_fail`."""
        try:
            found = list(read(self.transcripts))
        except Unavailable as error:
            self.turns_fail = f"turns cannot be read: {error}"
            return []
        self.turns_fail = ""
        return found

    def _strength_today(self) -> Callable[[Passage], float]:
        today = self.now().date()

        def strength(passage: Passage) -> float:
            if passage.score is None or passage.scored is None:
                return passage.score or 0.0
            scored = date.fromisoformat(passage.scored)
            activated = date.fromisoformat(passage.activated) if passage.activated else scored
            return fade.fade(passage.score, scored=scored, activated=activated, today=today, pinned=passage.pinned)

        return strength

    def below_prompt(self, passage: Passage) -> bool:
        """Return whether an entry's passage is archived or too weak for the prompt."""
        return passage.state != "active" or self._strength_today()(passage) < fade.PROMPT_FROM

    # --- reading -------------------------------------------------------------------------------

    def memory(self) -> MemoryDocument:
        """Return MEMORY.md as it is on disk now; an empty one if there is none yet."""
        from memorybook.formats import memory_md

        read = self._read("MEMORY.md")
        return memory_md.parse("", modified=self.now()) if read is None else self.parse("MEMORY.md", read)

    def memory_text(self) -> str:
        """Return the text of MEMORY.md as it is on disk now, "" if there is none."""
        read = self._read("MEMORY.md")
        return "" if read is None else read.text

    def _newer(self) -> Unavailable | None:
        """Return the error of writing a MEMORY.md that is in a newer format; None if it is not."""
        from memorybook import locale
        from memorybook.formats import memory_md

        if (format := memory_md.format_of(self.memory_text())) <= memory_md.FORMAT:
            return None
        return locale.error(Unavailable, "problems.newer_format", format=format, known=memory_md.FORMAT)

    def _read(self, path: str) -> Document | None:
        try:
            return self.documents.read(path)
        except MissingDocument:
            return None

    def parse(self, path: str, read: Document) -> MemoryDocument:
        """Return the document's entries; what was read last of a path is kept while it does not change."""
        from memorybook.formats import memory_md

        known = self._parsed.get(path)
        if known is None or known[:2] != (read.revision, read.modified):
            document = memory_md.parse(read.text, modified=datetime.fromtimestamp(read.modified, UTC))
            known = self._parsed[path] = (read.revision, read.modified, document)
        return known[2]

    def entries(self) -> list[Entry]:
        """Return every entry of MEMORY.md and `archive/`, each once, in the order of the documents."""
        found = {entry.id: entry for entry in self.memory().entries}
        for info in sorted(self.documents.list()):
            if info.path.startswith("archive/"):
                for entry in self.parse(info.path, self.documents.read(info.path)).entries:
                    found.setdefault(entry.id, entry)
        return list(found.values())

    def all_turns(self) -> tuple[Turn, ...]:
        """Return the turns of every session, the oldest session first; kept while the transcripts do not change."""
        newest = self.transcripts.sessions(limit=1)  # the revision alone could be that of a backup put in their place
        key = (self.transcripts.revision(), self.transcripts.counts(), newest)
        if self._turns[0] != key:
            sessions = reversed(self.transcripts.sessions(turn_ids=False))
            turns = (turn for session in sessions for turn in self.transcripts.turns(session.uuid))
            self._turns = (key, tuple(turns))
        return self._turns[1]

    def warnings(self) -> list[str]:
        """List what is not read as it stands: lines of entries (`MEMORY.md: line 12: …`), and files."""
        paths = ["MEMORY.md", *sorted(info.path for info in self.documents.list() if info.path.startswith("archive/"))]
        documents = [(path, self.parse(path, read)) for path in paths if (read := self._read(path)) is not None]
        lines = [f"{path}: {warning}" for path, document in documents for warning in document.warnings]
        newer = self._newer()
        return [*([str(newer)] if newer else []), *lines, *self.documents.unread()]

    def access_counts(self, ids: Iterable[str]) -> Mapping[str, int]:
        """Return how often each of these entries stood in a prompt, 0 left out; none if the journal does not answer."""
        if self._journal_fails:
            return {}
        try:
            return self.journal.access_counts(ids)
        except Unavailable as error:
            self._journal_fails = f"uses of entries are not known: {error}"
            return {}

    def count_access(self, ids: Sequence[str], *, query: str = "", session: str | None = None) -> None:
        """Count that these entries stood in a prompt for `query` (masked), where that can be written down."""
        if not self._journal_fails:
            with suppress(Unavailable):
                self.journal.shown(ids, time=self.now(), session=session, query=query)

    def pending_operations(self) -> int:
        """Return how many operations were begun and are not finished; 0 if the journal does not answer."""
        with suppress(Unavailable):
            return 0 if self._journal_fails else len(self.journal.pending())
        return 0

    # --- writing -------------------------------------------------------------------------------

    def apply(
        self,
        changes: Sequence[Change],
        *,
        actor: str,
        door: str,
        session: str | None = None,
        kind: str = "",
        discarded: Sequence[Discarded] = (),
        usage: Mapping[str, Any] | None = None,
        bury: Iterable[str] = (),
    ) -> Result:
        """Carry out changes as one operation: all of them are in the documents on return, or none is.

        Takes the book's lock, works the changes into what is on disk now, journals them with their preimages, writes,
        marks the operation done. Searches see them at once. `bury` holds digests that imports must not bring back; the
        rest is as in `Operation`.

        Raises:
            NotFound: A change names an entry that is not there.
            InvalidInput: A change would make an impossible value.
            Conflict: A person kept saving the document, or a `Put` was made from another text.
            BookLocked: Another process holds the book for too long.
            Unavailable: The disk refuses; what was begun is finished by the next change or opening.
        """
        group = Group(session, changes, discarded, usage, bury)
        return self.apply_each([group], actor=actor, door=door, kind=kind)[0]

    def apply_each(self, groups: Sequence[Group], *, actor: str, door: str, kind: str = "") -> list[Result]:
        """Carry out groups of changes, each as an operation of its own, reading and writing each document once."""
        from memorybook.book.transaction import Result
        from memorybook.model import Operation

        look = self.draft()
        for group in groups:
            look.look(group.changes)  # the slow part, without the lock

        def worked_in(draft: Draft, group: Group) -> _Planned:
            outcomes = tuple(draft.do(change) for change in group.changes)
            applied = tuple(outcome.applied for outcome in outcomes if outcome.applied is not None)
            bury = tuple(group.bury)
            if not (applied or group.discarded or bury):
                return _Planned(None, outcomes)
            operation = Operation(
                id=self.new_id(draft.now),
                time=draft.now,
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
            patches = draft.pages.step() if len(groups) <= MOST_PATCHED else ()
            return _Planned(operation, outcomes, patches, bury, memorized)

        planned = self._carry_out(lambda draft: [worked_in(draft, group) for group in groups])
        return [Result(each.operation, each.outcomes) for each in planned]

    def undo(
        self, operation: str, *, actor: str, door: str, dry_run: bool = False
    ) -> tuple[Operation, Operation, Reversal]:
        """Undo an operation (id), as an operation of its own; `dry_run` only says how.

        Return the operation, the one that undoes it, and how: documents unchanged since come back byte for byte, others
        keep the rest. Raises NotFound; Conflict if it is undone, or what it changed was changed since or purged.
        """
        from memorybook import locale
        from memorybook.book.undo import reverse
        from memorybook.model import Operation

        done: list[tuple[Operation, Operation, Reversal]] = []

        def work(draft: Draft) -> list[_Planned]:
            undone = self.journal.operation(operation)
            by = self.journal.undone().get(operation)
            if by is not None:
                raise locale.error(Conflict, "problems.undone_already", name=repr(operation), other=repr(by))
            reversal = reverse(draft, undone, self.journal.patches(operation))
            undoing = Operation(
                id=self.new_id(draft.now),
                time=draft.now,
                actor=actor,
                door=door,
                kind="undo",
                session=undone.session,
                changes=reversal.changes,
                undoes=operation,
                done=False,
            )
            done[:] = [(undone, undoing, reversal)]
            return [_Planned(undoing, (), draft.pages.step())]

        if dry_run:
            work(self.draft())
        else:
            self._carry_out(work)
        return done[0]

    def draft(self) -> Draft:
        """Return the documents as they stand, to work changes into and see what becomes of them; nothing is written."""
        from memorybook.book.transaction import Draft, Pages

        return Draft(Pages(self.documents, self.transcripts, parse=self.parse, now=self.now()))

    def _carry_out(self, work: Callable[[Draft], list[_Planned]]) -> list[_Planned]:
        """Work into what is on disk now, journal and write; anew if a person saves in between or an id is taken."""
        for left in reversed(range(ATTEMPTS)):
            with self.storage.transaction():
                self._settle_all()
                draft = self.draft()
                draft.unanswered = self._unanswered(draft.now)
                planned = work(draft)
                wanted = [each for each in planned if each.operation is not None]
                if not wanted or self._write(wanted, draft.pages, last=not left):
                    told = self._unanswered(draft.now) - draft.unanswered
                    self.settled[:] = [one for one in self.settled if told.isdisjoint(_done_by(one))]
                    self._journal_fails = ""
                    return planned
        raise Conflict("MEMORY.md kept changing while it was being written: close what is saving it and try again")

    def _write(self, planned: Sequence[_Planned], pages: Pages, *, last: bool) -> bool:
        """Journal and write; False if nothing was written: a person saved in between, or the random id of one is taken.

        In the `last` attempt an id that is taken raises Conflict.
        """
        operations = [each.operation for each in planned if each.operation is not None]
        begun: list[Operation] = []
        try:
            for operation, each in zip(operations, planned, strict=True):
                self.journal.begin(operation, patches=each.patches, bury=each.bury, memorized=each.memorized)
                begun.append(operation)
            pages.write()
        except Conflict:
            if pages.wrote:
                for operation in operations:
                    self._settle(operation)
                return True
            self._take_back(begun)
            if last and len(begun) < len(operations):
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
                self.journal.done(operation.id)
        return True

    def _take_back(self, begun: Sequence[Operation], error: Exception | None = None) -> None:
        """Discard intentions, the last one first: what is left, if that fails midway, can be carried out.

        Where the journal takes nothing any more after `error`, say that the change will be done.
        """
        try:
            for operation in reversed(begun):
                self.journal.discard(operation.id)
        except Unavailable:
            if error is None:
                raise
            if not self.storage.machine:  # no files: the transaction that this is in keeps nothing
                return
            raise Unavailable(
                f"{error}; the change is in the journal and will be done when that is possible"
            ) from error

    # --- what was interrupted ------------------------------------------------------------------

    def _recover(self) -> None:
        """Finish what a crash left half done, or leave it to the next change; reading goes on without the journal."""
        try:
            pending = self.journal.pending()
        except Unavailable as error:
            self._journal_fails = f"it is not known what was interrupted, or how often entries were used: {error}"
            return
        if pending:
            with suppress(Unavailable, Conflict), self.storage.transaction():
                self._settle_all()

    def _settle_all(self) -> None:
        """Finish every intention that is not marked done; who holds the lock knows that nobody works on it.

        Raises Unavailable for a book in a newer format.
        """
        if (newer := self._newer()) is not None:
            raise newer
        for operation in self.journal.pending():
            self._settle(operation)
            # of turns that count as memorized nothing is asked for again: what says the same is said once more
            if self.journal.memorized(operation.session or "", operation.id) is None:
                self.settled.append(operation)

    def _settle(self, operation: Operation) -> None:
        """Carry out what is missing of an intention, but for what a person's later edit stands against."""
        from memorybook.book.undo import completed

        patches = self.journal.patches(operation.id)
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
            self.journal.done(operation.id)
            return
        raise Conflict("the book kept changing while an interrupted operation was being finished: try again")

    def _unanswered(self, now: datetime) -> set[tuple[str, str]]:
        """Return (kind, target) of what was carried out lately without an answer, and may be asked again.

        An undo that was cut short brings back what was said before: to say that again is no second try.
        """
        lately = (one for one in self.settled if now - one.time < RETRIED and one.kind != "undo")
        return {done for one in lately for done in _done_by(one)}

    # --- upkeep --------------------------------------------------------------------------------

    @property
    def embedding(self) -> Embedding:
        """The background worker that embeds pending passages."""
        if self._embedding is None:
            from memorybook.book.embedding import Embedding

            self._embedding = Embedding(
                self.index, claim=lambda: self.storage.lease("embedding"), busy=lambda: bool(self._searches)
            )
        return self._embedding

    def _wake(self, report: SyncReport) -> None:
        if self.background and report.pending_vectors:
            self.embedding.wake()

    def refresh(self) -> SyncReport:
        """Bring the words of the index up to date; vectors that a sync does not embed are left to the background."""
        report = self.index.sync(self.documents, self.transcripts)
        self._wake(report)
        failure = self._embedding.failure if self._embedding is not None else ""
        return report._replace(degraded=(*report.degraded, failure)) if failure else report

    def sync(self, *, progress: Progress | None = None) -> SyncReport:
        """Bring the index up to date, vectors included; what fails is in the report."""
        report = self.index.sync(self.documents, self.transcripts)
        report = report._replace(warnings=(*report.warnings, *self.documents.unread()))
        return self._embedded(report, progress)

    def rebuild(self, *, progress: Progress | None = None) -> SyncReport:
        """Make the index anew while searches go on with the old one; reports as `sync` does."""
        return self._embedded(self.index.rebuild(self.documents, self.transcripts, progress=progress), progress)

    def _embedded(self, report: SyncReport, progress: Progress | None) -> SyncReport:
        """Return the report after what waits for a vector was embedded."""
        from memorybook.errors import EmbedderFailed

        if not report.pending_vectors:
            return report
        try:
            return report._replace(pending_vectors=self.embedding.finish(progress))
        except EmbedderFailed as error:
            stats, told = self.index.stats(), any(str(error) in reason for reason in report.degraded)
            degraded = report.degraded if told else (*report.degraded, str(error))
            return report._replace(pending_vectors=stats["passages"] - stats["vectors"], degraded=degraded)

    def close(self) -> None:
        """Release files and connections; closing twice does nothing."""
        for part in (self._embedding, self._fallback, self.index, self.storage):
            if part is not None:
                part.close()
        self._embedding = None


def _done_by(operation: Operation) -> set[tuple[str, str]]:
    return {(change.kind, change.target) for change in operation.changes}


def together(reasons: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Return the reasons, each once, with those of the others that are not part of one."""
    found = dict.fromkeys(reasons)
    found.update((one, None) for one in more if not any(one in reason for reason in found))
    return tuple(found)


class _Closed:
    """Stand-in for a closed book."""

    def __getattr__(self, name: str) -> Any:
        raise Unavailable("this memory is closed: open it again")

    def close(self) -> None:
        """Do nothing: nothing is left to do."""


def closed(book: Book) -> Book:
    """Close the book; return a stand-in that raises Unavailable for whatever is asked of it, except closing."""
    book.close()
    return cast("Book", _Closed())
