"""Extract by rules what is worth keeping of a conversation, without a language model.

Per turn: the speaker's own prose -> its sentences -> what each is (`entries.cues`) -> a candidate, a note, a request
to forget, or nothing. A sentence that hangs on the one before it is kept with it, a correction with what it corrects.
Texts are taken as redacted already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from memorybook.book.fade import EVERY_YEAR
from memorybook.entries.cues import (
    FOR_GOOD,
    PAST,
    STANDING,
    Cue,
    classify,
    find,
    frame_start,
    is_dependent,
    is_event,
    is_not_meant,
    is_retracted,
    plays,
    refers_back,
    states,
    tells_enough,
    without_lead,
)
from memorybook.entries.read_reply import Audience, Candidate, Extraction, ForgetRequest, NoteCandidate, Skipped
from memorybook.entries.replaces import (
    CHANGED,
    DONE,
    NOW_SO,
    apply_correction,
    begins_with_value,
    has_long_number_like,
    has_value_like,
    subject_of,
    swap_value,
)
from memorybook.forget.order_patterns import PRIVATE
from memorybook.forget.order_text import ASKED, asked_to_forget, leaves_out, order_topic, resolve_reference, split_order
from memorybook.model import Session, Trust, Turn
from memorybook.text.days import due
from memorybook.text.screen import screen
from memorybook.text.sentences import (
    MAX_LENGTH,
    Sentence,
    clauses,
    compiled,
    content_size,
    is_question,
    quotations,
    sentences,
    statement_in,
)
from memorybook.text.tokens import correction, is_chinese, normalise, query_words, undated

_Found = Candidate | NoteCandidate | ForgetRequest


class _Context(NamedTuple):
    """The context of a turn: speaker ("" for the user, None if unknown), day, trust, and what came before.

    `before` is the last earlier turn in which a user said something other than orders to forget; `foreign` the offset
    from which words are not its speaker's own, or not to be kept, or None; `asked` what an assistant asked just before,
    or ""; `time` is None if unknown.
    """

    turn: Turn
    talk: Audience
    name: str | None
    time: datetime | None
    today: date
    trust: Trust
    before: Turn | None
    foreign: int | None
    asked: str


def by_rules(
    turns: Sequence[Turn],
    *,
    session: Session | None,
    now: datetime,
    orders: bool = False,
    before: Turn | None = None,
    leaning: bool = False,
) -> Extraction:
    """Find what is worth keeping in these turns by rules, English and Chinese.

    Only the user's turns are read, or in a talk between people (names, no roles) everybody's; what nobody is named to
    have said is text, and passed over. So are questions, hypotheses, jokes, tasks, other people's words, code, logs,
    quotations and recalled memories.
    `now` dates turns without a time, but those of an import; days are counted in its timezone. With `orders` only
    what is told to be remembered or forgotten is found, and what is told in a turn that tries to instruct its reader
    is suspect. `before` is the last that was said before these turns: `forget what I just said` may mean it. With
    `leaning` there is also what cannot be read by itself: it may say what changed of another statement.
    """
    found: list[_Found] = []
    skipped: list[Skipped] = []
    playing = secretive = False
    asked = ""
    for turn in turns:
        if turn.role not in ("user", "") or not (turn.role or turn.speaker):
            asked = _question(turn.text) if turn.role == "assistant" else asked
            continue
        private = compiled(PRIVATE).search(turn.text.replace("’", "'")) is not None
        framed = 0 if playing or len(turn.text) > _PASTED else frame_start(turn.text)
        playing = plays(turn.text, playing)
        context = _context(turn, session, now, before, 0 if secretive else framed, asked)
        secretive = private and compiled(_NEXT).search(turn.text) is not None
        read = _Reading(context, found).all()
        if private and not _are_orders_clear(read, turn):
            read = _Reading(context._replace(foreign=0), found).all()  # who knows what of it is not to be kept
        said = (one for one in read if not orders or _is_order(one))
        heard = _screen_found(list(said), turn.text, skipped, insisting=orders)
        for one in heard:
            if isinstance(one, ForgetRequest):
                found = _drop_forgotten(found, one, skipped)
            found.append(one)
        requests = [one for one in heard if isinstance(one, ForgetRequest)]
        if (
            private
            and not secretive
            and not requests
            and before is not None
            and content_size(turn.text) <= 12
            and compiled(_POINTS).search(turn.text)
        ):
            found = [one for one in found if not (isinstance(one, Candidate) and one.turn_ids[-1] == before.id)]
        for request in requests:
            if request.said_in == turn.id:  # what follows in the turn, too
                found = _drop_forgotten(found, request, skipped)
        before, asked = before if requests and len(requests) == len(heard) else turn, ""
    notes = {normalise(one.text): one for one in reversed(found) if isinstance(one, NoteCandidate)}
    stated = (replace(one, leans=one.leans or not _is_worth(one)) for one in found if isinstance(one, Candidate))
    return Extraction(
        candidates=tuple(one for one in _merge_equal(stated) if leaning or not one.leans),
        notes=tuple(reversed(notes.values())),
        skipped=tuple(skipped),
        forget_requests=tuple(one for one in found if isinstance(one, ForgetRequest)),
    )


def _is_worth(one: Candidate) -> bool:
    """Return whether a candidate says enough by itself, or was firmly said or ordered."""
    if one.told or one.importance == "high":
        return True
    alone = is_chinese(one.content) or compiled(_OF_OWN).match(one.content) or len(subject_of(one.content)) > 1
    return bool(alone) and (one.category != "fact" or tells_enough(one.content))


_OF_OWN = r"(?:[^:]{1,30}: )?(?:The user|(?i:my|our|I|we)\b|(?:The )?\w+ (?:is|are) (?:on|every)\b)"
"""Beginning of an English statement that names whom it is about, so that it may be short."""


_SOMEBODY = r"(?i:\b(?:him|her|them)\b)|[他她]"
"""Pronouns for somebody whom the sentence before names."""

_POINTS = r"(?i:\b(?:this|that|it|these|those)\b)|[这那它]"
"""Words with which a short private turn points at what was said just before it."""

_NO = r"(?i:no|nope)\b|不是|不对|不"
"""Words that answer a question or take something back."""

_LONG_AGO = timedelta(days=400)
_PASTED = 2_000
"""Characters from which a turn counts as pasted text, of which only orders are read."""

_NEXT = r"(?i:\b(?:next|following)\b)|接下来|下一|下面"
"""Words that mean the next turn."""


def _are_orders_clear(found: Iterable[_Found], turn: Turn) -> bool:
    """Return whether all private sentences of a turn are orders to forget whose meaning is known."""
    orders = [
        one.text
        for one in found
        if isinstance(one, ForgetRequest) and (one.said_in == turn.id or (not one.said and order_topic(one.text)))
    ]
    said = [one.text for one in sentences(turn.text) if compiled(PRIVATE).search(one.text.replace("’", "'"))]
    return bool(said) and all(any(one in text or text in one for text in orders) for one in said)


def _needs_next(last: Candidate) -> bool:
    """Return whether a statement says that something changed, and needs the next one to say what."""
    return last.leans and compiled(NOW_SO).search(last.content) is not None


def _question(text: str) -> str:
    """Return the short question at the end of a turn; "" if there is none."""
    listed = sentences(text)
    short = listed and listed[-1].question and len(listed[-1].text) <= _MOST_ASKED
    return listed[-1].text if short and screen(text) is None else ""


_MOST_ASKED = 120
"""Most characters of a question that is kept with its answer."""


def _is_order(one: _Found) -> bool:
    return isinstance(one, ForgetRequest) or (isinstance(one, Candidate) and one.told)


def _context(
    turn: Turn, session: Session | None, now: datetime, before: Turn | None, foreign: int | None, asked: str
) -> _Context:
    imported = session is not None and session.source.startswith("import:")
    time = turn.time or (None if imported else now)
    unnamed = turn.speaker.lower() in ("user", "human", "me", "我") or (turn.role == "user" and not turn.speaker)
    return _Context(
        turn=turn,
        talk="agent" if turn.role == "user" else "people",
        name="" if unnamed else turn.speaker or None,
        time=time,
        today=(time or now).astimezone(now.tzinfo).date(),
        trust="import" if imported else "user",
        before=before,
        foreign=foreign,
        asked=asked,
    )


# --- a turn ----------------------------------------------------------------------------------------


class _Reading:
    """Reads a turn sentence by sentence; may correct `found`, what earlier turns gave."""

    def __init__(self, context: _Context, found: list[_Found]) -> None:
        self._context = context
        self._earlier = found
        self._said = context.turn.text
        self._quotes = quotations(self._said)
        self._new: list[_Found] = []
        self._last = ""  # the statement that the next sentence may hang on or point at
        self._beside = ""
        self._heading = ""
        self._first: Sentence | None = None

    def all(self) -> list[_Found]:
        """Return everything found in the turn."""
        listed = sentences(self._said)
        self._first = listed[0] if listed else None
        for place, sentence in enumerate(listed):
            self._beside = listed[place - 1].text if place else ""
            after = listed[place + 1].text if place + 1 < len(listed) else ""
            text = statement_in(sentence)
            if text != sentence.text and not states(sentence.text.rstrip("?？吗呢"), self._context.talk):
                text = ""
            text = text or _plainly(sentence.text) or (sentence.text.rstrip("?？") if leaves_out(sentence.text) else "")
            if not text or len(text) > MAX_LENGTH:
                self._last = ""
                continue
            cue = find(text, talk=self._context.talk, dated=self._day(text) is not None)
            if cue is not None and cue.kind in ("forget", "explicit"):
                self._obey(sentence, text, cue)
            elif (
                self._is_own(sentence)
                and not self._is_quoted(sentence)
                and not is_retracted(after)
                and not self._retorts(text)
            ):
                rest = None if self._context.asked and compiled(_NO).match(text) else correction(text)
                if rest is not None and self._mend(
                    " ".join([rest, *(one.text for one in listed[place + 1 :])]).strip()
                ):
                    return self._new
                self._state(sentence, text, cue, first=place == 0)
        return self._new

    def _is_own(self, sentence: Sentence) -> bool:
        """Return whether a sentence is its speaker's own; beside words for somebody else lasting orders and todos."""
        foreign = self._context.foreign
        if foreign is None or (sentence.end <= foreign and compiled(STANDING).search(sentence.text) is not None):
            return True
        return sentence.start < foreign and compiled(_TO_DO).match(sentence.text) is not None  # 待办：写信

    def _retorts(self, text: str) -> bool:
        """Return whether a sentence only takes up what somebody else just asked, supposed or joked."""
        before = self._context.before
        if self._context.talk == "agent" or before is None or before.speaker == self._context.turn.speaker:
            return False
        words = frozenset(query_words(text))
        shared = words.intersection(query_words(before.text))
        return 3 * len(shared) >= len(words) > 0 and (is_question(before.text) or is_not_meant(before.text))

    def _is_quoted(self, sentence: Sentence) -> bool:
        return any(start < sentence.end and sentence.start < end for start, end in self._quotes)

    def _day(self, text: str) -> date | None:
        standing = compiled(EVERY_YEAR).search(text) or compiled(_RECURS).search(text.replace("’", "'"))
        day = None if standing else due(text, self._context.today)
        if self._context.time is None and due(text, self._context.today - _LONG_AGO) != day:
            return None  # it hangs on the day on which it was said
        return day if day is not None and day > self._context.today else None

    def _obey(self, sentence: Sentence, text: str, cue: Cue) -> None:
        """Take an order to forget or to remember, of a sentence that may hold both."""
        parts = split_order(text) if cue.kind == "forget" else (text,)
        for part in parts if len(parts) > 1 else (text,):
            one = find(part, talk="agent", dated=False) if len(parts) > 1 else cue
            if one is None:
                continue
            if one.kind == "forget":
                request = ForgetRequest(text=part, turn_id=self._context.turn.id)
                start, end = sentence.start, sentence.end
                self._new.append(resolve_reference(request, self._said[:start], self._said[end:], self._context.before))
            elif one.kind == "explicit":
                self._remember(sentence, part, one.content)
            elif self._is_own(sentence):
                self._add(sentence, part)

    def _remember(self, sentence: Sentence, text: str, content: str) -> None:
        if content:
            pieces = split_statements(content)
            kept = any(not (isinstance(one, Candidate) and one.leans) for one in self._new)
            if self._beside and not kept and compiled(_SOMEBODY).search(content):
                pieces = (f"{self._beside}{' ' * (not is_chinese(content))}{content}",)
            for piece in pieces:
                self._add(sentence, piece, order=True, whole=text if len(pieces) == 1 else piece)
        elif refers_back(text):  # at what was said just before
            last = next((one for one in reversed(self._new or self._earlier) if isinstance(one, Candidate)), None)
            before = self._context.before
            if last is not None and (self._new or (before is not None and before.id in last.turn_ids)):
                listed = self._new or self._earlier
                listed[listed.index(last)] = replace(last, importance="high", told=True)
            elif self._last and not is_dependent(self._last, first=True) and states(self._last, self._context.talk):
                self._add(sentence, self._last, order=True)

    def _state(self, sentence: Sentence, text: str, cue: Cue | None, *, first: bool) -> None:
        """Take a statement: by itself, or with the one before it that it hangs on; else a note of what happened."""
        firm = cue is not None and cue.importance == "high"
        hanging = is_dependent(text, first=first, alone=not (self._last or firm))
        told_before, self._last = self._last, text
        text, listed = self._headed(sentence, text)
        if not text:
            return
        if listed and cue is None and states(listed, self._context.talk):
            cue = Cue("fact", "medium", text)
        if cue is None or (self._context.talk == "people" and cue.kind == "fact" and is_event(text)):
            if compiled(DONE).search(text) and not is_not_meant(text):
                self._add(sentence, text, leans=True, changes=False)  # it may be a todo that is done
            if is_event(text) and content_size(text) >= 5 and not compiled(_CHORE).match(text):
                self._new += self._note(text)
            self._last = "" if hanging else text
            return
        one = self._candidate(sentence, text, order=False, whole=text)
        last = self._new[-1] if told_before and self._new else None
        weak = hanging or one is None or not _is_worth(one)
        if listed:
            self._add(sentence, listed)
        elif one is not None and isinstance(last, Candidate) and (weak or _needs_next(last)):
            if hanging:
                one = replace(one, content=undated(one.content)[0])
            self._join(last, one, alone=not weak)
        elif hanging:
            self._add(sentence, text, leans=True)
        else:
            for piece in split_statements(text) if self._context.talk == "agent" else (text,):
                self._add(sentence, piece)

    def _join(self, last: Candidate, one: Candidate, *, alone: bool) -> None:
        """Put a statement behind the one before it, without which it, or which without it, says too little."""
        name = self._context.name
        mark = "" if is_chinese(last.content) else " "
        content = one.content.removeprefix("User: " if not name else f"{name}：" if mark == "" else f"{name}: ")
        joined = f"{last.content}{mark}{content}"
        if len(joined) <= _MOST:
            leaning = last.leans and not alone and compiled(CHANGED).search(joined) is None
            stronger = one if one.category != "fact" and last.category == "fact" else last
            self._new[-1] = replace(
                last, content=joined, leans=leaning, category=stronger.category, importance=stronger.importance
            )

    def _headed(self, sentence: Sentence, text: str) -> tuple[str, str]:
        """Return a sentence without the heading it begins with, and with the heading it stands under ("" if none)."""
        bullet = compiled(r"(?:[-*+•·]|\d+[.)、])\s|[二三四五六七八九]、").match(self._said, sentence.start) is not None
        headed = compiled(r"(?P<head>[^：:]{1,20}[：:])\s*(?P<rest>$|(?:一、|1[.)、]).*)").match(text)
        if headed is not None:
            self._heading, text, bullet = headed["head"], headed["rest"], True
        self._heading = self._heading if bullet else ""
        space = "" if self._heading.endswith("：") else " "
        return text, f"{self._heading}{space}{text}" if self._heading and text else ""

    def _mend(self, rest: str) -> bool:
        """Correct what the speaker said just before, where `rest` cannot be read without it; whether it was that.

        What can be read by itself takes the place of what it corrects, if that speaks of the same.
        """
        before, rest = self._context.before, without_lead(rest)
        own = any(isinstance(one, Candidate) for one in self._new)
        turn = self._context.turn.id if own else before.id if before is not None else ""
        listed = self._new if own else self._earlier
        wrong = [one for one in listed if isinstance(one, Candidate) and one.turn_ids[-1] == turn]
        if self._context.talk == "agent" and not any(has_long_number_like(one.content, rest) for one in wrong):
            like = [one for one in listed if isinstance(one, Candidate) and has_long_number_like(one.content, rest)]
            wrong = like[-1:] or wrong
        alone = (
            states(rest, self._context.talk)
            and not is_dependent(rest, first=False)
            and compiled(_COMPLETE).match(rest) is not None
            and not begins_with_value(rest)
            and all(swap_value(one.content, rest) is None for one in wrong)
        )
        if alone and (shared := [one for one in wrong if subject_of(one.content) & subject_of(rest)]):
            listed.remove(shared[-1])
        if alone or not rest or not wrong:  # what was said longer ago is corrected where it is known
            return not rest
        if screen(self._said) is None:
            meant = [one for one in wrong if has_value_like(one.content, rest)] or wrong[-1:]
            said = "".join(_without_date(one) + " " * (not is_chinese(one.content)) for one in meant).strip()
            ids = tuple(dict.fromkeys((*meant[0].turn_ids, self._context.turn.id)))
            content = _one_line(apply_correction(said, rest))
            day = self._day(content)
            listed[listed.index(meant[0])] = replace(
                meant[0],
                content=_with_date(content, day),
                turn_ids=ids,
                leans=False,
                expires=day if meant[0].category == "todo" else None,
            )
            for one in meant[1:]:
                listed.remove(one)
        return True

    # --- what it makes

    def _add(
        self,
        sentence: Sentence,
        text: str,
        *,
        order: bool = False,
        whole: str = "",
        leans: bool = False,
        changes: bool = True,
    ) -> None:
        one = self._candidate(sentence, text, order=order, whole=whole or text)
        if one is None:
            return
        asked = self._context.asked
        if asked and (leans or not _is_worth(one)) and not self._new and sentence is self._first:
            content = f"问“{asked}”：{one.content}" if is_chinese(asked) else f'Asked "{asked}": {one.content}'
            one = replace(one, content=content)
        self._new.append(replace(one, leans=leans, changes=changes))

    def _candidate(self, sentence: Sentence, text: str, *, order: bool, whole: str) -> Candidate | None:
        context = self._context
        to_do = compiled(_TO_DO).match(text)
        bare = text[to_do.end() :] if to_do else text
        day = self._day(bare)
        category, importance = classify(text, context.talk, dated=day is not None)
        if order and day is not None and category == "fact":
            category = "todo"
        elif to_do and category == "fact":
            category = "workflow" if compiled(STANDING).search(text) else "todo"
        if order:
            importance = "high"
        content = without_lead(bare)
        if content_size(content) < 2:
            return None
        by = due(compiled(_DECIDED_ON).sub(" ", bare), context.today) if category == "decision" and day else day
        by = None if category not in ("todo", "decision") and compiled(_PAST).search(bare) else by
        return Candidate(
            content=_with_date(_one_line(self._by_itself(content)), by),
            category=category,
            importance=importance,
            tags=tuple(dict.fromkeys(re.findall(r"(?<!\S)#([\w/-]*[^\W\d_][\w/-]*)", whole))),
            entities=entities_of(whole, context.name or ""),
            turn_ids=(context.turn.id,),
            quote=_quote(sentence, whole, self._said),
            expires=day if category == "todo" else None,
            trust=context.trust,
            changes=True,
            told=order or (importance == "high" and compiled(FOR_GOOD).search(without_lead(whole)) is not None),
        )

    def _note(self, text: str) -> list[NoteCandidate]:
        """Return the note of what happened; none where nobody knows on which day."""
        text, time = _one_line(self._by_itself(without_lead(text))), self._context.time
        return [] if time is None else [NoteCandidate(text=text, time=time, turn_id=self._context.turn.id)]

    def _by_itself(self, text: str) -> str:
        return text if self._context.name is None else stand_alone(text, self._context.name)


_TO_DO = r"(?i:to\s+(?=[a-z])|(?:todo|to-do)\b\W*|(?:please\s+)?remind\s+me\s+(?:to|that|about)\s+)|待办[：:]\s*"
"""The words before what is to be done."""

_COMPLETE = r"(?i:(?:I|we|my|our|the|an?)\b)|(?=[A-Z])|(?:我|[^，,。]{1,8}(?:是|叫|在))"
"""Beginnings of corrections that can be read by themselves."""

_MOST = 300
"""Most characters of a statement joined with those that depend on it."""


def split_statements(text: str) -> tuple[str, ...]:
    """Split a sentence into independent statements of the user; a tuple of one if they depend on each other."""
    pieces = tuple(compiled(_BETWEEN).split(text))
    apart = len(pieces) > 1 and compiled(_HANGING).search(text) is None and all(states(one, "agent") for one in pieces)
    return pieces if apart and all(compiled(_OWN).match(without_lead(one)) for one in pieces) else (text,)


_BETWEEN = r"\s*,?\s+and\s+(?=(?:I|my|our|we)\b)|\s*[，；]\s*(?=我(?!们))"
_OWN = r"(?i:I|my|our|we)\b|我"
_HANGING = (
    r"(?i:\b(?:because|since|as|so|if|unless|when|while|until|although|though|whether|that|who|which|where|but|"
    r"both)\b)|因为|所以|因此|如果|虽然|但|却|而|时|的话|[这那]"
)
"""Words that tie one statement to another."""


def _plainly(asked: str) -> str:
    """Return the order to forget or remember in a polite question; "" if it is none."""
    polite = compiled(_POLITE).match(asked)
    if polite is None:
        return ""
    first, *more = clauses(polite["en"] or polite["zh"] or "") or [""]
    stated = takewhile(
        lambda clause: not is_question(re.sub(r"(?i)^(?:and|but|so|then|also)\s+", "", clause).rstrip("，,；; ")), more
    )
    text = ("" if is_chinese(first) else " ").join((first, *stated)).rstrip("，,；; ")
    cue = find(text, talk="agent")
    return text if cue is not None and cue.kind in ("forget", "explicit") else ""


_POLITE = (
    r"(?i)(?:(?:hey|hi|ok|okay|so|also|and)[,\s]+)*(?:(?:can|could|would|will)\s+you\s+(?:please\s+|"
    r"kindly\s+)?(?P<en1>)|(?=(?:please\s+)?(?:forget|remember\s+that)\b))"
    r"(?P<en>[^?]*?)(?:,?\s+(?:please|ok(?:ay)?|(?:can|could|would|will)\s+you(?:\s+please)?))?[?.!\s]*$"
    r"|(?:你|您|请|麻烦){0,2}(?:能不能|可不可以|可以|能|请|麻烦|帮我)(?:请|你|您)?(?P<zh>[^？?]*?)[，,]?(?:好吗|可以吗|行吗|吗|吧)?[？?。！!\s]*$"
)
"""`Could you please forget …?`, `Forget …, will you?`, 能不能忘掉…？"""


_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)"
_RECURS = (
    rf"(?i:^(?:if|when|once)\b|\b(?:{_WEEKDAY}s|(?:morning|afternoon|evening|night|weekend)s|week(?:days|ly)|daily|monthly|never|always|usually|every|each|rota|after\s+next|"
    rf"fortnight|{_WEEKDAY}\s*(?:,|and|\+|&|to|-|–)\s*{_WEEKDAY}|"
    rf"(?:first|second|third|fourth|last)\s+{_WEEKDAY}\s+of\s+(?:the|each|every)|"
    rf"(?:an?|per)\s+(?:day|week|month|year))\b)|"
    r"^(?:如果|要是|只要|万一)|[每天]天|每|逢周|隔[周天日月]|平时|一律|从[不来]|总是|通常|一般|向来|雷打不动|周会|例会|课|(?:周|星期|"
    r"礼拜)[一二三四五六日天][^，。]{0,6}不(?!用|要)|不(?!是)[^，。]{0,4}(?:周|星期|礼拜)[一二三四五六日天]|还是\s*\d|"
    r"(?:周|星期|礼拜)[一二三四五六日天]\s*[、和跟与到至]?\s*(?:周|星期|礼拜)[一二三四五六日天]"
)
"""Recurring days: a standing fact, no todo, and never over."""

_PAST = rf"(?i:\b(?:since|{PAST}|\w\wed)\b(?!\s+to\b))"
"""Past tense: the day that the text names is not in the future."""

_DECIDED_ON = (
    r"(?i:(?:^(?:on\s+)?|\b(?:decided|agreed|settled|chose)\s+(?:on\s+)?)(?:\w+day|this\s+week(?:end)?)"
    r"(?=\s+(?:to|that|not)\b|,?\s+(?:we|I)\b))|(?:周|星期|礼拜)[一二三四五六日天](?=[^，,。；决]{0,6}决定)"
)
"""The day of a decision, not in the future: `on Friday we decided …`, `we agreed on Friday that …`, 周五我们决定."""


_CHORE = r"(?i:(?:please\s+)?(?:check|look|tell|show|write|fix)\b)"
"""A task that names a day is no event."""


def _quote(sentence: Sentence, part: str, turn: str) -> str:
    """Return the part as the turn has it verbatim, else the whole sentence."""
    at = turn.find(part, sentence.start, sentence.end) if part != sentence.text else -1
    return turn[sentence.start : sentence.end] if at < 0 else turn[at : at + len(part)]


def _with_date(text: str, day: date | None) -> str:
    """Return the text with the date of the day it names, as "tomorrow" is relative."""
    if day is None or day.isoformat() in text:
        return text
    return f"{text}（{day.isoformat()}）" if is_chinese(text) else f"{text} ({day.isoformat()})"


def _without_date(one: Candidate) -> str:
    """Return a candidate's content without the date that was computed for it."""
    bare, day = undated(one.content)
    return one.content if day.strip(" (（)）") in one.quote else bare


def _one_line(text: str) -> str:
    """Return the text in one line with one full stop."""
    text = " ".join(text.split()).rstrip(" ，,;；：:—-")
    return text if re.search(r"[.。!！?？…)）」”\"'`]$", text) else text + ("。" if is_chinese(text) else ".")


def entities_of(text: str, speaker: str = "") -> tuple[str, ...]:
    """Return at most 8 names: the speaker, quoted terms, code, and capitalised or numbered Latin words.

    A capital at the start of an English sentence does not make a name.
    """
    found = re.findall(r"[「《]([^」》]{1,30})[」》]|`([^`\n]{1,40})`", text)
    names = [quoted or code for quoted, code in found]
    rest = re.sub(r"[「《][^」》]*[」》]|`[^`\n]*`", " ", text)
    pattern = (
        r"(?<![\w@#/.])[A-Z][\w&+#]*(?:[.'-]\w+)*(?:\s+(?:[A-Z][\w&+#]*(?:[.-]\w+)*|"
        r"\d+(?:\.\d+)*\b(?!\s*[月号日年点个块])))*"
    )
    for match in re.finditer(pattern, rest):
        name = re.sub(r"'s$", "", match[0])
        if (match.start() > 0 and not re.search(r"[.!?:：]\s*$", rest[: match.start()])) or is_chinese(text):
            names.append(name)
    kept = [name for name in dict.fromkeys(names) if not re.fullmatch(_NO_NAME, name)]
    return tuple(dict.fromkeys([speaker, *kept] if speaker else kept))[:8]


_NO_NAME = (
    r"I|I'\w+|OK|(?:Jan|Febr|Mar|Apr|May|Ju|Aug|Sept|Octo|Nov|Dec)\w* \d+|"
    r"Ok|TODO|Mon|Tues?|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|"
    r"August|September|October|November|December|The|And|But|So|From|Wow|Hey|Thanks"
)


def _screen_found(found: list[_Found], text: str, skipped: list[Skipped], *, insisting: bool) -> list[_Found]:
    """Return what was found; if the turn tries to instruct, nothing, or with `insisting` the candidates as suspect."""
    if not found:
        return found
    reason = screen(text)
    if reason is None:
        return found
    kept: list[_Found] = []
    for one in found:
        if insisting and isinstance(one, Candidate):
            kept.append(replace(one, trust="suspect"))
        else:
            skipped.append(Skipped(_text_of(one), reason))
    return kept


def _text_of(found: _Found) -> str:
    return found.content if isinstance(found, Candidate) else found.text


def _drop_forgotten(found: Iterable[_Found], request: ForgetRequest, skipped: list[Skipped]) -> list[_Found]:
    """Return what was found before, without what the user now asks to forget."""
    kept = []
    for one in found:
        turns = one.turn_ids if isinstance(one, Candidate) else (one.turn_id,)
        there = not request.said or request.said_in in turns
        if there and not isinstance(one, ForgetRequest) and asked_to_forget(_text_of(one), request):
            skipped.append(Skipped(_text_of(one), ASKED))
        else:
            kept.append(one)
    return kept


def _merge_equal(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield candidates, those of equal text as one that rests on all their turns."""
    merged: dict[str, Candidate] = {}
    for one in candidates:
        key = normalise(one.content)
        known = merged.get(key)
        ids = dict.fromkeys((*known.turn_ids, *one.turn_ids)) if known is not None else one.turn_ids
        merged[key] = replace(known or one, turn_ids=tuple(ids))
    yield from merged.values()


# --- rephrase ---------------------------------------------------------------------------------------

_IRREGULAR = {"am": "is", "'m": " is", "have": "has", "'ve": " has", "do": "does", "don't": "doesn't", "go": "goes"}
_UNCHANGED = (
    "was|had|did|can|can't|cannot|could|will|won't|would|should|must|might|may|didn't|couldn't|wouldn't|"
    "went|got|lost|quit|left|began|bought|sold|met|found|took|made|grew|became|wrote|built|taught|spent|chose|came"
)
_PRESENT = (
    "prefer|like|love|hate|dislike|enjoy|need|want|use|work|live|study|teach|speak|play|run|own|avoid|drink|eat|keep|"
    "write|read|think|believe|plan|hope|wish|know|feel|find|get|take|make|start|commute|sleep|wake|travel|drive|cook|"
    "care|tend|host|volunteer|coach|manage|lead|maintain|row|swim|cycle|ski|climb|sing|dance|paint|draw|knit|garden|"
    "smoke|code|trade|fly|walk|hike|ride|buy|sell|pay|grow|collect|practise|practice|train|visit|attend|stay|suffer"
)
_ADVERBS = (
    "really|also|just|actually|always|usually|generally|still|personally|definitely|mostly|normally|never|currently|now"
)


def stand_alone(text: str, name: str) -> str:
    """Return a statement of `name` ("" for an agent's unnamed user) so that it can be read by itself.

    A named speaker is put in front (`Caroline: I prefer tea`). The user's own words are put in the third person if
    that is safe (`The user prefers tea`, 用户喜欢茶), else `User:` is put in front.
    """
    if name:
        return f"{name}：{text}" if is_chinese(text) else f"{name}: {text}"
    if is_chinese(text):
        return _chinese(text)
    return _english(text)


@cache
def _first_person() -> re.Pattern[str]:
    return re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")


def _chinese(text: str) -> str:
    text = re.sub(r"俺(?!们)", "我", text)
    text = re.sub(r"我(?=(?:的)?(?:自己|们|国)|俩)|(?<=自)我", lambda found: found[0].replace("我", "\0"), text)
    text = re.sub(_CALLED, "用户", text)
    text = re.sub(rf"我(?={_THEIRS})", "用户的", text).replace("我", "用户")
    return text.replace("\0", "我").replace("我自己", "用户自己").replace("我的自己", "用户自己")


_THEIRS = (
    r"(?:[爸妈姥哥弟妹婆娃闺舅姨叔伯婶嫂侄]|阿姨|爷(?!们)|奶奶|姐|丈[夫母人]|岳[父母]|女(?:儿|婿|友|朋友|票)|儿[子媳女]|子女|孩子|"
    r"老(?:婆|公|板娘?|家|爸|妈|爹|娘|伴|乡|师(?!傅)|同学|同事|朋友|友|大(?!不小)|[二三四幺](?!来|是)|爷子|太太)|[表堂][哥姐弟妹]|"
    r"外[公婆甥孙]|孙[子女]|姑(?![且息])|男(?:友|朋友)|对象|妻|先生(?![气火孩个下病])|太太|同[事学桌]|上司|室友|领导(?![一着过了的团这两三]))"
)
"""Words for a person's relations: 我老婆 is the user's wife, 我老了 is the user who is old."""

_CALLED = (
    rf"(?<=[叫喊唤])我(?={_THEIRS}{{1,2}}(?:就行|就好|就可以|即可|好了|吧|呗|哦|啊)*(?:[，,。！!？?；;\s]|$))"
    r"|(?<=称)我|(?<=称呼)我"
)
"""The user as object of calling by a name: 以后叫我老板. In 叫我老婆接电话 the wife is called."""


def _english(text: str) -> str:
    if not _first_person().search(text):
        return _capitalised(text)
    text = text.replace("’", "'")
    opening = re.match(rf"I('\w+)?((?:\s+(?:{_ADVERBS}))*)\s*([\w']*)", text)
    if opening is not None:
        verb = _third_person(opening[1] or "", opening[2], opening[3])
        if verb is not None:
            return f"The user{verb}{_with_they(text[opening.end() :])}"
    elif text[:3].lower() == "my ":
        return f"The user's {_with_they(text[3:])}"
    return f"User: {_capitalised(text)}"


def _capitalised(text: str) -> str:
    """Begin a text with a capital, but for an identifier."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text if any(mark in first for mark in "_/()=") else text[:1].upper() + text[1:]


def _third_person(contracted: str, adverbs: str, verb: str) -> str | None:
    """Return what follows "The user" instead of "I" + contraction, adverbs and verb; None if unsure."""
    if contracted:
        turned = _IRREGULAR.get(contracted, {"'d": " would", "'ll": " will"}.get(contracted))
        return f"{turned}{adverbs} {verb}" if turned is not None else None
    if re.fullmatch(_UNCHANGED, verb) or (verb.endswith("ed") and len(verb) > 4 and verb != "need"):
        return f"{adverbs} {verb}"
    if verb in _IRREGULAR:
        return f"{adverbs} {_IRREGULAR[verb]}"
    if not re.fullmatch(_PRESENT, verb):
        return None
    ending = "es" if re.search(r"(?:s|sh|ch|x|z)$", verb) else "ies" if re.search(r"[^aeiou]y$", verb) else "s"
    return f"{adverbs} {verb[:-1] if ending == 'ies' else verb}{ending}"


def _with_they(text: str) -> str:
    """Return the rest of a sentence with the first person replaced by "they"."""
    for pattern, word in (
        (r"\bI'm\b|\bI am\b", "they are"),
        (r"\bI was\b", "they were"),
        (r"\bI(?='\w)|\bI\b", "they"),
        (r"\bmyself\b", "themselves"),
        (r"\bmy\b", "their"),
        (r"\bme\b", "them"),
        (r"\bmine\b", "theirs"),
    ):
        text = re.sub(pattern, word, text)
    return text
