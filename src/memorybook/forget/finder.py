"""Find every place that states something: entries, notes, pages, and clauses of turns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain, groupby, pairwise
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from memorybook.forget.tombstones import without_label
from memorybook.forget.units import (
    Found,
    Place,
    Topic,
    TurnKey,
    WordSets,
    as_said,
    continues,
    corrects,
    counts_another,
    depends_on,
    first_person,
    is_about,
    is_about_user,
    is_id,
    is_machine,
    is_of_another,
    is_word,
    merge_found,
    plain_of,
    refers_back,
    repair_start,
    sentences_in,
    starts_with_pronoun,
    turn_ids,
    unique_figures,
    units,
    values_of,
    whole_tokens,
    whole_words,
    without_spans,
    words_of,
)
from memorybook.formats import session_md
from memorybook.search.types import Query
from memorybook.text.sentences import content_size, is_question
from memorybook.text.tokens import USER_WORDS, says_something, tokens

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.model import Entry, Turn

POOL = 400
"""Candidates that a search for a statement reads."""

MOST_TURNS = 5_000
"""Turns up to which a book is read completely; of a larger one only the sessions that a search finds are read."""

SAME = 0.6
"""Share of a statement's words that a text must have to count as saying it."""

TOPIC = 0.4
"""Share of an order's topic words, by weight, that a text must have to count as being about it."""

NEAR_BEST = 0.7
"""Share of the best match's score from which another match is meant, too."""

FEW = 4
"""Most clauses that one word of a longer topic may select alone; a word in more clauses matches by chance."""

REPLIES = 4
"""Turns after a cut one that are searched for its echoes."""

TELLS = 3
"""Words besides its topic from which a question counts as a statement."""

NEAREST = 3
"""Statements that are suggested if none is sure."""

CLEARLY = 1.1
"""Ratio of the best score to the second from which the nearest statement is taken as meant."""

ALONE = 3
"""Words from which a clause makes sense alone."""

LABEL = 3
"""Most words of a clause that only labels the rest of its sentence: `new address, …`."""

Line = tuple[str, str, str]
"""Path, raw line, and its text."""


class _Said(NamedTuple):
    """A clause of a turn: index of the turn, number of the clause in it, its words and those of the speaker's name."""

    place: int
    number: int
    text: str
    sentence: int
    words: frozenset[str]
    speaker: frozenset[str]


class Finder:
    """Searches everything in a book that may state something; reads it once.

    Args:
        context: Whose book it is.
        about: Texts to look for; they decide which sessions of a large book are read.
        entries: The current entries; None reads them.
        without: Turns to ignore, such as the one that holds the order.
        turns: Further turns, which the transcripts do not have.
    """

    def __init__(
        self,
        context: Context,
        about: Iterable[str],
        *,
        entries: Iterable[Entry] | None = None,
        without: Iterable[TurnKey] = (),
        turns: Iterable[Turn] = (),
    ) -> None:
        self._memory = context
        self._left = frozenset(without)
        self.entries = list(context.book.entries() if entries is None else entries)
        self.notes = list(written_lines(context))
        self.pages = list(_pages(context))
        self.turns = list(self._turns(list(about)))
        known = {(turn.session, turn.id) for turn in self.turns}
        self.turns += [turn for turn in turns if (turn.session, turn.id) not in known]
        self.turns = [turn for turn in self.turns if (turn.session, turn.id) not in self._left]
        self._place = {(turn.session, turn.id): place for place, turn in enumerate(self.turns)}
        self._named: dict[str, list[int]] = {}
        for place, turn in enumerate(self.turns):
            self._named.setdefault(turn.id, []).append(place)
        self._said = [list(_clauses_of_turn(place, turn)) for place, turn in enumerate(self.turns)]
        self._df = Counter(chain.from_iterable(self._all_words()))
        self._size = 1 + sum(map(len, self._said)) + len(self.entries) + len(self.notes) + len(self.pages)

    @cached_property
    def _first(self) -> dict[str, int]:
        """The index of the first turn that has a word."""
        first: dict[str, int] = {}
        for place, turn in enumerate(self.turns):
            for word in whole_words((*tokens(turn.text), *tokens(turn.speaker))):
                first.setdefault(word, place)
        return first

    def _turns(self, about: Sequence[str]) -> Iterable[Turn]:
        """Return the turns to read, those of the oldest session first."""
        book = self._memory.book
        if book.transcripts.counts()["turns"] <= MOST_TURNS:
            return book.all_turns()
        book.refresh()
        found: set[str] = set()
        for text in about:
            _, candidates = book.candidates(Query(text, pool=POOL, sources=frozenset({"turn"}), meaning=False))
            found.update(one.passage.session or "" for one in candidates.items if one.words is not None)
        known = reversed(book.transcripts.sessions(turn_ids=False))
        return (turn for session in known if session.uuid in found for turn in book.transcripts.turns(session.uuid))

    def _all_words(self) -> Iterator[frozenset[str]]:
        yield from (said.words for turn in self._said for said in turn)
        yield from (words_of(entry.text) for entry in self.entries)
        yield from (words_of(text) for _, _, text in self.notes)
        yield from (words_of(text) for _, text in self.pages)

    # --- what is meant -------------------------------------------------------------------------

    def about(self, topic: Topic, *, entries: Sequence[Entry] = ()) -> Found:
        """Return what is about a topic, or nothing if that is not sure; `entries` are included in any case."""
        topic = as_said(topic, self._df)
        found = self._about(topic)
        if not entries:
            return found
        parted = [_reduced_entry(entry, _split_by_topic(entry.text, topic)) for entry in entries]
        return merge_found([found, self.saying([entry.text for entry, _ in parted], entries=parted)])

    def nearest(self, topic: Topic) -> tuple[Found, list[str]]:
        """Return (found, suggestions): the statement that search ranks clearly first for a topic that no words match.

        Found only for a speaker the topic names; suggestions are that speaker's, else nameless users', else any user's.
        """
        spoken = {(turn.role, turn.speaker) for turn in self.turns if turn.role in ("user", "")}
        named = {who for who in spoken if not words_of(who[1]).isdisjoint(topic.words)}
        people = named or {who for who in spoken if not words_of(who[1])} or spoken
        owner = frozenset[str]().union(*(words_of(name) for _, name in named))
        query = " ".join(sorted(topic.words - topic.names - owner))
        entries = {entry.id: entry for entry in self.entries}
        near: dict[int, tuple[float, Entry | None]] = {}
        asked = Query(query or " ", pool=POOL, sources=frozenset({"entry", "turn"}))
        for hit in self._memory.book.search(asked, limit=POOL).hits if query else ():
            place = self._place.get((hit.passage.session or "", hit.passage.turn or ""))
            said = self.turns[place] if place is not None else None
            if place is not None and said and (said.role, said.speaker) in people and not is_question(said.text):
                near.setdefault(place, (hit.score, entries.get(hit.passage.entry or "")))
        best = [(place, *near[place]) for place in list(near)[:NEAREST]]
        embedder = self._memory.embedder
        vectors = embedder is not None and bool(query) and any(map(any, embedder.embed([query]).tolist()))
        if named and vectors and len(best) > 1 and best[0][1] >= CLEARLY * best[1][1]:
            [(place, _, entry), *_] = best
            return self._all([(entry, "")] if entry else [], [], [] if entry else self._said[place]), []
        return Found(), [entry.text if entry is not None else self.turns[place].text for place, _, entry in best]

    def said_in(self, key: TurnKey, said: str) -> Found:
        """Return the clauses of a turn that these words contain, with their echoes and the entries made of them."""
        place = self._place.get(key)
        if place is None:
            return Found()
        plain = " ".join(said.split())
        hits = [one for one in self._said[place] if " ".join(one.text.split()).rstrip(",，;；") in plain]
        return self._all([], [], hits)

    def _about(self, topic: Topic) -> Found:
        """Return what is about a topic by its words, or nothing if the best match is too weak."""
        wanted, names = topic.words, topic.names
        weights = {word: self._weight(word) for word in wanted}
        total = sum(weights[word] for word in wanted - names or wanted)
        speakers = frozenset[str]().union(*(words_of(turn.speaker) for turn in self.turns if turn.speaker))
        owners = names & speakers
        of_whom = [turn for turn in self._said if turn and not names and self._is_all(topic, turn[0].speaker)]
        single = not any(map(is_word, wanted))
        several = sum(map(is_word, wanted - names)) > 1
        people = {words_of(turn.speaker) for turn in self.turns if turn.role in ("user", "")}
        others = people - {frozenset()} if topic.own and frozenset() in people else set()
        own = (one for turn in self._said for one in turn if one.speaker not in others)
        many = Counter(word for one in own for word in one.words & wanted)

        def score(words: frozenset[str], speaker: frozenset[str] = frozenset()) -> float:
            if not (held := wanted & words):
                return 0.0
            telling = held - names
            if (not telling and wanted - names) or (owners and owners.isdisjoint(words | speaker)):
                return 0.0
            if speaker in others:
                return 0.0
            if not single and not any(map(is_word, telling)) and len(telling) < 2:
                return 0.0
            full = [word for word in telling if is_word(word)]
            if len(full) == 1 and several and many[full[0]] > FEW:
                return 0.0
            return sum(weights[word] for word in held | (wanted & names & speaker))

        entries = [(score(*_split_label(entry.text)), entry) for entry in self.entries]
        lines = [(score(words_of(each[2])), each) for each in self.notes]
        said = [(score(*_sentence_words(parts)), parts) for turn in self._said for parts in _by_sentence(turn)]
        told = [(score(words_of(each[1])), each) for each in self.pages]
        best = max([each[0] for each in (*entries, *lines, *said)], default=0.0)
        best = best if best >= TOPIC * total else max([each[0] for each in told], default=0.0)
        if best < TOPIC * total or not best:
            return self._all([], [], [one for turn in of_whom for one in turn])
        least = max(NEAR_BEST * best, TOPIC * total)
        sentences = [parts for found, parts in said if found >= least and not _only_asks(parts, wanted)]
        hits = [one for parts in sentences for one in _matching_clauses(parts, topic)]
        apart = {
            word for word in wanted if word.isascii() or len(word) == 1
        }  # 游泳课 is also what 学游泳 … 上课 is about
        chosen = {entry.id for found, entry in entries if found >= least}
        chosen |= {e.id for _, e in entries if e.superseded_by in chosen and apart <= _split_label(e.text)[0]}
        asking = [parts for found, parts in said if found >= least and _only_asks(parts, wanted)]
        hits += [one for parts in asking for one in self._answers(parts)]
        meant_all = self._all(
            [_reduced_entry(entry, _split_by_topic(entry.text, topic)) for _, entry in entries if entry.id in chosen],
            [_reduced_line(line, _split_by_topic(line[2], topic)) for found, line in lines if found >= least],
            [*hits, *(one for turn in of_whom for one in turn)],
            going_on=True,
            pages=[each for found, each in told if found >= least],
        )
        return meant_all._replace(named=frozenset(filter(is_word, wanted - names)))

    def _answers(self, asked: Sequence[_Said]) -> Iterator[_Said]:
        """Yield the clauses of the next turn, by another speaker, that answer this question, not others of its turn."""
        who = self.turns[asked[0].place]
        others = (one.words for one in self._said[asked[0].place] if one.sentence != asked[0].sentence)
        beside = frozenset[str]().union(*others)
        for place in self._near(asked[0].place, 1):
            if (self.turns[place].role, self.turns[place].speaker) != (who.role, who.speaker):
                for parts in _by_sentence(self._said[place]):
                    if continues(parts[0].text) and beside.isdisjoint(_sentence_words(parts)[0]):
                        yield from parts

    def _weight(self, word: str) -> float:
        """Return the weight of a word by its document frequency; unknown words and single Han characters weigh less."""
        many = self._df.get(word, 0)
        return math.log(1 + self._size / (1 + many)) * (1.0 if many else 0.3) * (1.0 if is_word(word) else 0.3)

    def _is_all(self, topic: Topic, speaker: frozenset[str]) -> bool:
        """Return whether a topic names nothing but this speaker."""
        known = {word for word in topic.words if is_word(word) and (word in self._df or word in speaker)}
        return bool(known) and known <= speaker and (topic.person or topic.words <= speaker)

    def saying(
        self, texts: Iterable[str], *, entries: Iterable[tuple[Entry, str]] = (), lines: Iterable[str] = ()
    ) -> Found:
        """Return what says the same as one of these statements, in any grammatical person, and what depends on it.

        `entries`, each with the text that stays of it, and `lines` are included in any case.
        """
        texts = [text for text in texts if text.strip()]
        entries = list(entries)
        people = {self.turns[at].speaker for entry, _ in entries for at in self._sources(entry)}
        ids = {entry.id for entry, _ in entries}
        given = set(lines)
        says, statements, plain = _statement_test(texts), _Statements(texts), set(map(plain_of, texts))
        hits = [
            one
            for place, turn in enumerate(self._said)
            if not people or self.turns[place].speaker in people or self.turns[place].role in ("assistant", "tool")
            for one in statements.hits(turn)
        ]
        return self._all(
            [
                *entries,
                *(
                    _reduced_entry(entry, _split_sentences(entry.text, plain, says))
                    for entry in self.entries
                    if entry.id not in ids and says(entry.text)
                ),
            ],
            [
                (each, "") if each[1] in given else _reduced_line(each, _split_sentences(each[2], plain, says))
                for each in self.notes
                if each[1] in given or any(map(says, (each[2], *sentences_in(each[2]))))
            ],
            hits,
        )

    # --- what goes with it ---------------------------------------------------------------------

    def _all(
        self,
        parted: Sequence[tuple[Entry, str]],
        cut_lines: Sequence[tuple[Line, str]],
        hits: Iterable[_Said],
        *,
        going_on: bool = False,
        pages: Sequence[tuple[str, str]] = (),
    ) -> Found:
        """Return the hits with their continuations, corrections and echoes, and the entries and notes made of them."""
        entries = [entry for entry, _ in parted]
        lines = [line for line, _ in cut_lines]
        left: dict[Place, str] = {entry.id: stays for entry, stays in parted if stays}
        left |= {line[:2]: stays for line, stays in cut_lines if stays}
        cut = {(one.place, one.number): one for one in hits}
        known = {place for place, _ in cut}
        about = [*cut.values(), *(more for one in cut.values() for more in self._following(one))] if going_on else []
        named_in = {one.place for one in about}
        for entry in entries:
            cut |= {(one.place, one.number): one for one in self._grounds(entry, cut, known)}
        if going_on:
            for one in list(cut.values()):
                cut |= {(more.place, more.number): more for more in self._following(one)}
        cut = self._grown(cut, going_on, named_in)
        texts = [one.text for one in cut.values()]
        introduced = self._introduced(cut)
        says = self._made_of(cut, {value for value, at in introduced.items() if at in named_in})
        ids = {entry.id for entry in entries}
        entries += [each for each in self.entries if each.id not in ids and says(each.text, each.source or "")]
        ids.update(entry.id for entry in entries)
        gone = WordSets(map(words_of, texts))
        touched = {f"turn:{self.turns[place].id}" for place, _ in cut}
        for each in self.entries if cut else list(entries):
            if each.id not in left and (each.id in ids or (each.source or "").partition(" ")[0] not in touched):
                continue
            was = left.pop(each.id, each.text)
            stays = _remove_clauses(was, gone)
            if each.id not in ids and stays == was:
                continue
            entries += [] if each.id in ids else [each]
            left |= {each.id: stays} if stays else {}
        places = {line[:2] for line in lines}
        lines += [each for each in self.notes if each[:2] not in places and says(each[2], "")]
        cuts: dict[TurnKey, tuple[tuple[int, int], ...]] = {}
        for place, mine in groupby(sorted(cut), key=itemgetter(0)):
            turn = self.turns[place]
            spans = units(turn.text)
            cuts[turn.session, turn.id] = tuple((spans[number].start, spans[number].end) for _, number in mine)
        return Found(
            tuple(entries),
            tuple((path, line) for path, line, _ in lines),
            cuts,
            {key: self.turns[self._place[key]] for key in cuts},
            tuple(dict.fromkeys([*texts, *(e.text for e in entries), *(each[-1] for each in (*lines, *pages))])),
            frozenset(value for value in introduced if not value[0].isdigit() or is_id(value)),
            tuple([*(entry.text for entry in entries), *(text for _, _, text in lines)]),
            tuple(pages),
            self._rare(cut, entries, lines),
            left,
        )

    def _grown(
        self, cut: dict[tuple[int, int], _Said], of_topic: bool, named_in: Collection[int]
    ) -> dict[tuple[int, int], _Said]:
        """Return the cut clauses with their corrections and echoes, and those of new ones, in up to three rounds."""
        for _ in range(3 if cut else 0):
            many = len(cut)
            for one in list(cut.values()):
                cut |= {(more.place, more.number): more for more in self._corrections(one)}
            cut |= {(one.place, one.number): one for one in self._echoes(cut, of_topic, named_in)}
            if len(cut) == many:
                break
        return cut

    def _grounds(self, entry: Entry, cut: Mapping[tuple[int, int], _Said], known: Collection[int]) -> Iterator[_Said]:
        """Yield the clauses of an entry's source turns that say what it says, besides those already cut."""
        wanted = words_of(entry.text)
        for place in self._sources(entry):
            turn = self._said[place]
            if place in known:
                yield from self._rest_of(turn, [one for one in turn if (place, one.number) in cut], wanted)
                continue
            hits = list(_Statements([entry.text]).hits(turn))
            hits = hits or [one for one in turn if one.words and len(one.words & wanted) >= SAME * len(one.words)]
            ids = set(filter(is_id, values_of(entry.text)))
            hits = hits or [one for one in turn if not ids.isdisjoint(values_of(one.text))]
            yield from hits
            yield from self._rest_of(turn, hits, wanted)

    def _rest_of(self, turn: Sequence[_Said], hits: Sequence[_Said], wanted: frozenset[str]) -> Iterator[_Said]:
        """Yield other clauses of the hits' sentences, or of the closest sentence, with wanted words the hits lack."""
        numbers = {one.sentence for one in hits}
        if not hits:
            shared = [(len(_sentence_words(parts)[0] & wanted), parts[0].sentence) for parts in _by_sentence(turn)]
            numbers = {sentence for many, sentence in sorted(shared, reverse=True)[:1] if many > 1}
        said = frozenset[str]().union(*(one.words for one in hits))
        for one in turn:
            more = any(map(is_word, one.words & wanted - said))
            if one.sentence in numbers and more and not is_of_another(one.text, wanted):
                yield one

    def _sources(self, entry: Entry) -> Iterator[int]:
        places = {place for name in turn_ids(entry.source) for place in self._named.get(name, ())}
        yield from (place for place in sorted(places) if entry.session in (None, self.turns[place].session))

    def _following(self, one: _Said) -> Iterator[_Said]:
        """Yield the clauses after one that continue it, up to the first with a subject of its own."""
        turn = self._said[one.place]
        label = len(one.words) <= LABEL and not values_of(one.text)
        for more in turn[one.number + 1 :]:
            said_of_it = label and more.sentence == one.sentence
            if more.sentence > one.sentence + 1 or is_machine(more.text) or not (said_of_it or continues(more.text)):
                return
            yield more
        who = self.turns[one.place]
        for place in self._near(one.place, 2):
            if (self.turns[place].role, self.turns[place].speaker) == (who.role, who.speaker):
                if self._said[place] and starts_with_pronoun(self._said[place][0].text):
                    first = self._said[place][0]
                    yield first
                    yield from self._following(first)
                return

    def _near(self, place: int, count: int) -> Iterator[int]:
        session = self.turns[place].session
        for other in range(place + 1, min(place + 1 + count, len(self.turns))):
            if self.turns[other].session != session:
                return
            yield other

    def _corrections(self, one: _Said) -> Iterator[_Said]:
        """Yield what corrects a clause in its speaker's next turn, and the sentence that the clause itself corrects."""
        who = self.turns[one.place]
        for place in self._near(one.place, 2):
            turn = self.turns[place]
            if (turn.role, turn.speaker) == (who.role, who.speaker):
                if one.sentence >= self._said[one.place][-1].sentence - 1:
                    yield from self._correcting(place, one)
                break
        if one.number == 0 and corrects(who.text, frozenset()):
            for place in range(one.place - 1, max(one.place - 3, -1), -1):
                turn = self.turns[place]
                if turn.session != who.session:
                    break
                if (turn.role, turn.speaker) == (who.role, who.speaker):
                    last = self._said[place][-1].sentence if self._said[place] else 0
                    yield from (each for each in self._said[place] if each.sentence == last)
                    break

    def _correcting(self, place: int, one: _Said) -> Iterator[_Said]:
        """Yield the clauses of a turn that begins by correcting `one`, up to the first with a subject of its own."""
        turn = self._said[place]
        if not turn or not corrects(self.turns[place].text, one.words):
            return
        for more in turn:
            if more.sentence > turn[0].sentence and not (continues(more.text) or one.words & more.words):
                return
            yield more

    def _rare(
        self, cut: Mapping[tuple[int, int], _Said], entries: Iterable[Entry], lines: Iterable[Line]
    ) -> frozenset[str]:
        """Return the words that occur only in what is removed and in summaries of it."""
        many: Counter[str] = Counter()
        for words in (*(one.words for one in cut.values()), *(words_of(entry.text) for entry in entries)):
            many.update(words)
        for _, _, text in lines:
            many.update(words_of(text))
        many.update(word for _, text in self.pages for word in words_of(text) if word in many)
        return frozenset(word for word, times in many.items() if is_word(word) and self._df.get(word, 0) <= times)

    def _introduced(self, cut: Mapping[tuple[int, int], _Said]) -> dict[str, int]:
        """Return the values that the cut clauses mention first, each with the index of its turn."""
        introduced: dict[str, int] = {}
        texts: dict[int, list[str]] = {}
        for (place, _), one in cut.items():
            texts.setdefault(place, []).append(one.text)
        for (place, _), one in sorted(cut.items()):
            for value in values_of(one.text):
                reach = REPLIES if self.turns[place].role in ("assistant", "tool") else 0
                first = self._first.get(value, place)
                near = place - reach <= first and self.turns[first].session == self.turns[place].session
                if (
                    is_id(value)
                    or first >= place
                    or near
                    or any(value in whole_tokens(text) for text in texts.get(first, ()))
                ):
                    introduced.setdefault(value, place)
        return introduced

    def _echoes(
        self, cut: Mapping[tuple[int, int], _Said], of_topic: bool, named_in: Collection[int]
    ) -> Iterator[_Said]:
        """Yield clauses that repeat a value introduced by the cut ones, and replies that repeat most of their words."""
        introduced = self._introduced(cut)
        cut_places = _words_by_place(cut)
        known = frozenset[str]().union(*cut_places.values())
        for one in (one for turn in self._said for one in turn if (one.place, one.number) not in cut):
            repeats = self._repeats(one, introduced, cut_places, named_in)
            if repeats and (of_topic or not is_of_another(one.text, known)):
                yield one

    def _repeats(
        self,
        one: _Said,
        introduced: Mapping[str, int],
        cut: Mapping[int, frozenset[str]],
        named_in: Collection[int],
    ) -> bool:
        place, said = one.place, whole_tokens(one.text)
        reply = self.turns[place].role in ("assistant", "tool")
        for value in said & introduced.keys():
            at = introduced[value]
            same = self.turns[at].session == self.turns[place].session
            near = same and abs(place - at) <= REPLIES
            name = not value[0].isdigit()
            more = at in named_in or len(one.words & cut.get(at, frozenset()) - {value}) > 0
            known = cut.get(at, frozenset[str]())
            if is_id(value) or (name and more and is_about(one.text, {value})):
                return True
            shared = {word for word in one.words & known if not word[0].isdigit()}
            if len(shared) >= 2 or (name and near and reply):
                return True
            if not name and (shared or (near and reply)) and not counts_another(one.text, known):
                return True
        for at in range(max(0, place - REPLIES), place) if reply else ():
            same = at in cut and self.turns[at].session == self.turns[place].session
            words = unique_figures(one.words)
            if same and len(words) >= 2 and len(words & unique_figures(cut[at])) >= SAME * len(words):
                return True
        return False

    def _made_of(self, cut: Mapping[tuple[int, int], _Said], named: Collection[str]) -> Callable[[str, str], bool]:
        """Return a test (text, source) of whether a statement was made from the cut clauses; `named` led to them."""
        if not cut:
            return lambda text, source: False
        names = {value for value in named if not value[0].isdigit()}
        by_turn = _words_by_place(cut)
        held = WordSets(by_turn.values())
        says = _statement_test([one.text for one in cut.values()])
        sources: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}
        for place, gone in by_turn.items():
            rest = (one.words for one in self._said[place] if (place, one.number) not in cut)
            stays = frozenset[str]().union(*rest)
            sources.setdefault(self.turns[place].id, []).append((gone - stays, stays - gone))

        def made(text: str, source: str) -> bool:
            words = words_of(text)
            if says(text) or held.contains(words):
                return True
            rests_on = [each for id in turn_ids(source) for each in sources.get(id, ())]
            return bool(rests_on) and (
                any(len(words & gone) > len(words & stays) for gone, stays in rests_on) or is_about(text, names)
            )

        return made


def _words_by_place(cut: Mapping[tuple[int, int], _Said]) -> dict[int, frozenset[str]]:
    """Return the words of the cut clauses by the index of their turn."""
    found: dict[int, frozenset[str]] = {}
    for (place, _), one in cut.items():
        found[place] = found.get(place, frozenset()) | one.words
    return found


def _remove_clauses(text: str, gone: WordSets) -> str:
    """Return a text without the clauses whose words are all removed; "" if nothing meaningful is left."""
    spans = [(unit.start, unit.end) for unit in units(text) if gone.contains(words_of(unit.text))]
    stays = repair_start(without_spans(text, spans)) if spans else text
    return stays if says_something(stays) else ""


@lru_cache(maxsize=50_000)
def _split_label(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a statement without its speaker label, and the words of the label."""
    body = without_label(text)
    return words_of(body), words_of(text[: len(text) - len(body)])


def _reduced_entry(entry: Entry, parted: tuple[str, str]) -> tuple[Entry, str]:
    """Return the entry cut down to the removed text `parted[0]`, and the text that stays."""
    return entry if entry.text == parted[0] else replace(entry, text=parted[0]), parted[1]


def _reduced_line(line: Line, parted: tuple[str, str]) -> tuple[Line, str]:
    """Return the line with the removed text `parted[0]` alone, and the line that stays, or ""."""
    return (line[0], line[1], parted[0]), line[1].replace(line[2], parted[1]) if parted[1] else ""


def _split_sentences(text: str, plain: Collection[str], says: Callable[[str], bool]) -> tuple[str, str]:
    """Split a text into its removed sentences and the rest; (text, "") if it is one of the removed `plain` texts."""
    said = sentences_in(text) if plain_of(text) not in plain else ()
    gone = [sentence for sentence in said if says(sentence)]
    stays = text
    for sentence in gone:
        stays = stays.replace(sentence, "", 1).strip()
    return (" ".join(gone), stays) if gone and says_something(stays) else (text, "")


@lru_cache(maxsize=5_000)  # an order is tried before it is carried out
def _split_by_topic(text: str, topic: Topic) -> tuple[str, str]:
    """Split a text into its clauses about a topic and the rest; (text, "") if it says nothing else."""
    said, they = units(text), re.search(r"(?i)\bthe user\b", text) is not None
    parts = [
        _Said(-1, n, first_person(unit.text, they=they), unit.sentence, words_of(unit.text), USER_WORDS)
        for n, unit in enumerate(said)
    ]
    wanted = topic.words - topic.names or topic.words
    if not wanted.isdisjoint(words_of(text[: -len(without_label(text)) or None])):
        return text, ""  # who is meant says all of it
    most = max((len(one.words & wanted) for one in parts), default=0)
    going: set[int] = set()
    for sentence in _by_sentence(parts) if most else ():
        if len(_sentence_words(sentence)[0] & wanted) >= most:
            going.update(one.number for one in _matching_clauses(sentence, topic))

    def stays() -> set[int]:
        touched = {one.sentence for one in parts if one.number in going}
        rest = [one for one in parts if one.number not in going and says_something(one.text)]
        return {one.number for one in rest if one.sentence not in touched or _stands_alone(one.text)}

    if not going or not stays():  # the more goes, the less stays
        return text, ""
    for before, one in pairwise(parts):
        more = continues if one.sentence == before.sentence else refers_back
        if before.number in going and more(one.text):
            going.add(one.number)
    for before, one in reversed(list(pairwise(parts))):
        if one.number in going and one.sentence == before.sentence and depends_on(one.text, before.text):
            going.add(before.number)
    if not (held := stays()):
        return text, ""
    gone = [unit for n, unit in enumerate(said) if n not in held]
    left = without_spans(text, [(unit.start, unit.end) for unit in gone])
    return " ".join(unit.text for unit in gone), repair_start(left)


def _stands_alone(clause: str) -> bool:
    """Return whether a clause makes sense without its sentence: enough words, or the user's own name."""
    return content_size(clause) >= ALONE or (is_about_user(clause) and bool(values_of(clause)))


def _by_sentence(turn: Sequence[_Said]) -> Iterator[list[_Said]]:
    return (list(parts) for _, parts in groupby(turn, key=attrgetter("sentence")))


def _only_asks(parts: Sequence[_Said], topic: frozenset[str]) -> bool:
    """Return whether a sentence asks about the topic without stating anything."""
    text = " ".join(one.text for one in parts)
    words = {word for word in _sentence_words(parts)[0] - topic if is_word(word)}
    return is_question(text) and len(words) < TELLS and not values_of(text)


def _sentence_words(parts: Sequence[_Said]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a sentence, and those of its speaker."""
    first = parts[0]
    return (first.words.union(*(one.words for one in parts[1:])) if len(parts) > 1 else first.words), first.speaker


def _matching_clauses(parts: Sequence[_Said], topic: Topic) -> Iterator[_Said]:
    """Yield the clauses of a sentence that match the topic best, and the clauses their pronouns refer to."""
    held = [number for number, one in enumerate(parts) if any(map(is_word, one.words & topic.words))]
    held = held or [number for number, one in enumerate(parts) if one.words & topic.words - topic.names]
    most = max((len(parts[number].words & topic.words) for number in held), default=0)
    held = [number for number in held if len(parts[number].words & topic.words) >= NEAR_BEST * most]
    for number in held or range(len(parts)):
        if number and refers_back(parts[number].text):
            yield parts[number - 1]
        yield parts[number]


def _clauses_of_turn(place: int, turn: Turn) -> Iterator[_Said]:
    speaker = words_of(turn.speaker) if turn.speaker else frozenset[str]()
    for number, unit in enumerate(units(turn.text)):
        yield _Said(place, number, unit.text, unit.sentence, words_of(unit.text), speaker)


def _states(words: frozenset[str], wanted: frozenset[str]) -> bool:
    """Return whether `words` state `wanted`: one contains the other, and enough of `wanted` is shared.

    >>> _says(frozenset({"room", "12"}), frozenset({"room", "13"}))
    False
    """
    shared = len(words & wanted)
    nothing_else = wanted <= words or words <= wanted
    return nothing_else and shared >= SAME * len(wanted) and shared >= min(2, len(wanted)) > 0


def _is_part(words: frozenset[str], wanted: frozenset[str], most: int) -> bool:
    """Return whether a clause's words all belong to the statement, or half of them, nearly as many as the best's."""
    shared = len(words & wanted)
    return words <= wanted or shared >= max(0.5 * len(words), NEAR_BEST * most)


class _Statements:
    """Finds the clauses of turns that state one of these texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        texts = list(texts)
        self._words = WordSets(map(words_of, texts))
        self._plain = {plain_of(text): number for number, text in reversed(list(enumerate(texts)))}

    def hits(self, turn: Sequence[_Said]) -> Iterator[_Said]:
        """Yield the clauses of a turn that state one of the texts, from the sentences that do so as a whole."""
        for parts in _by_sentence(turn):
            wanted = self._stated(parts)
            if wanted is not None:
                most = max(len(one.words & wanted) for one in parts)
                own = [one for one in parts if one.words and _is_part(one.words, wanted, most)]
                yield from own or [one for one in parts if len(one.words & wanted) == most]

    def _stated(self, parts: Sequence[_Said]) -> frozenset[str] | None:
        """Return the words of the first text that a sentence states as a whole, or None."""
        whole, _ = _sentence_words(parts)
        sentence = " ".join(one.text for one in parts)
        same = self._plain.get(plain_of(sentence), len(self._words.sets))
        for number in sorted({number for number in self._words.nested(whole) if number < same}):
            wanted = self._words.sets[number]
            if _states(whole, wanted) and not is_of_another(sentence, wanted):
                return wanted
        return self._words.sets[same] if same < len(self._words.sets) else None


def _statement_test(texts: Sequence[str]) -> Callable[[str], bool]:
    """Return a test of whether a text says one of these statements, no more and no less."""
    plain = set(map(plain_of, texts))
    wanted = WordSets(words for text in texts if len(words := words_of(text)) > 1)

    def says(text: str) -> bool:
        if plain_of(text) in plain or not wanted.sets:
            return plain_of(text) in plain
        words = words_of(text)
        near = [wanted.sets[number] for number in wanted.nested(words)]
        return bool(near) and any(_states(words, each) and _states(each, words) for each in near)

    return says


def _pages(context: Context) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every sentence of the session pages."""
    for info in sorted(context.book.documents.list()):
        if info.path.startswith("sessions/"):
            summary = session_md.parse(context.book.documents.read(info.path).text)
            parts = [*summary.summary.split("\n"), *summary.decisions, *summary.open_questions]
            yield from (
                (info.path, text)
                for part in parts
                for text in sentences_in(re.sub(r"^[^:：\n]{1,40}(?:: |：)", "", part))
            )


def written_lines(context: Context) -> Iterator[Line]:
    """Yield every note, and every line that a person wrote into MEMORY.md or a daily document."""
    book = context.book
    daily = sorted(info.path for info in book.documents.list() if info.path.startswith("daily/"))
    texts = [("MEMORY.md", book.memory().prose), *((path, book.documents.read(path).text) for path in daily)]
    for path, line in ((path, raw.removesuffix("\r")) for path, text in texts for raw in text.split("\n")):
        note = session_md.parse_line(line, day=session_md.day_of(path)) if path in daily else None
        plain = note.text if note is not None else re.sub(r"^\s*(?:[-*+>]\s+(?:\[[ x]\]\s+)?)*", "", line).strip()
        if plain and plain in line and not plain.startswith(("#", "<!--", "---", "```", "|")):
            yield path, line, plain
