"""What is worth keeping of a talk, found by cue phrases: the extractor that needs no LLM.

Per sentence: the speaker's own prose -> what it states -> its cue -> a candidate, a note, a request
to forget, or nothing. Texts are taken as redacted already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import takewhile
from typing import NamedTuple, cast

from memorybook.lifecycle.candidate import Candidate, Extraction, ForgetRequest, NoteCandidate, Skipped
from memorybook.lifecycle.cue_table import STANDING, Talk
from memorybook.lifecycle.cues import Cue, find, is_event, likely, several, without_lead
from memorybook.lifecycle.forgetting import ASKED, asked_to_forget, leaves_out, parted, pointed
from memorybook.lifecycle.hints import compiled
from memorybook.lifecycle.sentences import (
    MAX_LENGTH,
    Sentence,
    clauses,
    content_size,
    is_chinese,
    is_question,
    sentences,
    told,
)
from memorybook.lifecycle.voice import stand_alone
from memorybook.model import Category, Session, Trust, Turn
from memorybook.text.days.due import due
from memorybook.text.tokens import normalise

_Found = Candidate | NoteCandidate | ForgetRequest


class _Context(NamedTuple):
    """What a sentence is read against: its turn, who speaks ("" the user, None nobody knows), the day, the door.

    `before` is the last turn before it in which a user said something else than what to forget.
    """

    turn: Turn
    talk: Talk
    name: str | None
    time: datetime
    today: date
    trust: Trust
    before: Turn | None


def by_rules(
    turns: Sequence[Turn],
    *,
    session: Session | None,
    now: datetime,
    orders: bool = False,
    before: Turn | None = None,
) -> Extraction:
    """Find what is worth keeping in these turns by rules, English and Chinese.

    Only the user's turns are read, or in a talk between people (no roles) everybody's. Questions,
    hypotheses, reported speech, code, logs, long quotations and recalled memories are passed over.
    `now` dates turns without a time; days are counted in its timezone. With `orders` only what is told to be
    remembered or forgotten is found, and what is told in a turn that tries to instruct its reader is suspect.
    `before` is the last that was said before these turns: `forget what I just said` may mean it.
    """
    found: list[_Found] = []
    skipped: list[Skipped] = []
    for turn in turns:
        if turn.role in ("user", ""):
            said = (one for one in _of_turn(_context(turn, session, now, before)) if not orders or _is_order(one))
            heard = _screened(list(said), turn.text, skipped, insisting=orders)
            for one in heard:
                if isinstance(one, ForgetRequest):
                    found = _without(found, one, skipped)
                found.append(one)
            requests = [one for one in heard if isinstance(one, ForgetRequest)]
            for request in requests:
                if request.said_in == turn.id:  # what follows in the turn, too
                    found = _without(found, request, skipped)
            before = before if requests and len(requests) == len(heard) else turn
    notes = {normalise(one.text): one for one in reversed(found) if isinstance(one, NoteCandidate)}
    return Extraction(
        candidates=tuple(_merged(one for one in found if isinstance(one, Candidate))),
        notes=tuple(reversed(notes.values())),
        skipped=tuple(skipped),
        forget_requests=tuple(one for one in found if isinstance(one, ForgetRequest)),
    )


def _is_order(one: _Found) -> bool:
    return isinstance(one, ForgetRequest) or (isinstance(one, Candidate) and one.told)


def _context(turn: Turn, session: Session | None, now: datetime, before: Turn | None) -> _Context:
    time = turn.time or now
    unnamed = turn.speaker.lower() in ("user", "human", "me", "我") or (turn.role == "user" and not turn.speaker)
    return _Context(
        turn=turn,
        talk="agent" if turn.role == "user" else "people",
        name="" if unnamed else turn.speaker or None,
        time=time,
        today=time.astimezone(now.tzinfo).date(),
        trust="import" if session is not None and session.source.startswith("import:") else "user",
        before=before,
    )


def _of_turn(context: _Context) -> Iterator[_Found]:
    turn = context.turn.text
    rules, events = likely(turn, context.talk)
    if not rules and not events:
        return
    for sentence in sentences(turn):
        text = told(sentence) or _politely_told(sentence.text) or _told_not_to(sentence.text)
        agreed = compiled(_AGREED).match(text)
        rest = text[agreed.end() :] if agreed else ""
        if not text or len(text) > MAX_LENGTH or not _says_enough(text) or (agreed and content_size(rest) < 3):
            continue
        found = (_of_sentence(sentence, rest, context) if rest else None) or _of_sentence(sentence, text, context)
        yield from filter(None, _each(found, sentence, text, context))


def _each(found: _Found | None, sentence: Sentence, text: str, context: _Context) -> Iterable[_Found | None]:
    """What was found in a sentence, or in each of its parts that says another thing."""
    if isinstance(found, ForgetRequest) and (parts := parted(found.text))[1:]:
        return (_of_sentence(sentence, part, context) for part in parts)
    if isinstance(found, Candidate) and context.talk == "agent" and (cues := several(text)):
        return (_of_sentence(sentence, cue.content, context, cue) for cue in cues)
    return (found,)


def _politely_told(asked: str) -> str:
    """What a question tells to forget or remember that is one out of politeness alone; "" if it is none."""
    order = compiled(_POLITE).match(asked)
    if order is None:
        return ""
    first, *more = clauses(order["en"] or order["zh"])
    stated = takewhile(lambda clause: not _asks(clause.rstrip("，,；; ")), more)
    return ("" if is_chinese(first) else " ").join((first, *stated)).rstrip("，,；; ")


_AGREED = (
    r"(?i)^(?:(?:so|ok(?:ay)?|well|yes|right|great)[,\s]+)*(?:we(?:['’]ve|\s+have)?(?:\s+(?:all|both))?\s+(?:agreed|settled)"
    r"\s+(?:on|to)\s+(?:that|it|this)(?:\s+one)?(?:,?\s+(?:by|for|before|until)(?:\s+[^\s,]+){1,2})?"
    r"|(?:好的?[，,])?(?:那)?(?:我们)?就这么(?:说)?定了|(?:我们)?(?:就)?说定了)"
    r"(?:\s*[,，;；.。!！]+\s*(?:and\s+|so\s+|but\s+)?|\s+and\s+|\s*$)"
)
"""`We agreed on that, …`, 那就这么定了，…: on what, only the sentences before it could say."""


def _asks(clause: str) -> bool:
    """Whether a clause behind an order asks something: `and when does the ferry leave`."""
    clause = re.sub(r"(?i)^(?:and|but|so|then|also)\s+", "", clause)
    return is_question(clause) or re.match(_ASKS_FOR, clause) is not None


_ASKS_FOR = (
    r"(?i)(?:what|when|where|who|why|(?:how|which|what|whose)(?:\s+\w+){1,3}?)(?:['’]s|\s+(?:is|are|was|were|do|does|did|"
    r"can|could|will|would|should|has|have)\b)"
    r"|[^，,]*(?:几[天个点号岁年月]|什么时候|多久)"
)


_POLITE = (
    r"(?i)(?:(?:hey|hi|ok|okay|so|also|and)[,\s]+)*(?:(?:can|could|would|will)\s+you\s+(?:kindly\s+)?)?"
    r"(?P<en>(?:please\s+)?(?:forget\s+(?:about|that|what|everything|the|my|it|all)|remember\s+that\s+(?:I|we|my|our))"
    r"\b[^?]*?)(?:,?\s+(?:please|ok(?:ay)?|(?:can|could|would|will)\s+you(?:\s+please)?))?[?.!\s]*$"
    r"|(?:你|您|请|麻烦){0,2}(?:能不能|可不可以|可以|能|请|麻烦|帮我)(?:请|你|您)?"
    r"(?P<zh>(?:把[^，,。？?]{1,30})?(?:忘掉|忘记|记住我)[^？?]*?)[，,]?(?:好吗|可以吗|行吗|吗|吧)?[？?。！!\s]*$"
)
"""`Could you please forget …?`, `Forget …, will you?`, 能不能忘掉…？"""


def _told_not_to(asked: str) -> str:
    """A question that asks not to keep what is said: `Can you not save that?`; "" if it is none."""
    return asked.rstrip("?？") if leaves_out(asked) else ""


def _says_enough(text: str) -> bool:
    """At least four words and eight characters, a Han character is half a word; or a short order that says what."""
    if compiled(_SHORT_ORDER).match(text):
        return True
    words, characters = (3, 5) if is_chinese(text) else (4, 8)
    return (len(text) >= characters and content_size(text) >= words) or leaves_out(text)


_SHORT_ORDER = (
    r"(?:(?i:please\s+)?(?i:forget)\s+(?:him|her|them|[A-Z]\w+)[\s.!]*$)|(?i:(?:please\s+)?forget\s+(?:everything|all|(?:about|my)\s+(?!it\b|that\b|this\b|them\b)\w+)[\s.!]*$)|"
    r"(?:请|麻烦|帮我)?(?:忘掉|忘记)(?!它|[这那吧了])..|把.{1,20}[这那]条"
)
"""`Forget everything.`, 忘掉预算: `forget it` is none."""


_FEARED = (
    r"(?i)\b(?:before|in case|lest|so (?:that )?|until) (?:I|we|you)\b[^,;:.]{0,30}\bforget\b"
    r"|[免省]得[^，。]{0,6}忘|趁[^，。]{0,6}没忘"
)
"""Forgetting that is not ordered, but feared."""


def _of_sentence(sentence: Sentence, text: str, context: _Context, cue: Cue | None = None) -> _Found | None:
    day = None if compiled(_EVERY_YEAR).search(text) else due(text, context.today)
    said = context.turn.text
    cue = cue or find(text, talk=context.talk, dated=day is not None and day > context.today, turn=said)
    if cue is None:
        return _note(text, context) if is_event(text, talk=context.talk, turn=said) else None
    if cue.kind == "forget" and compiled(_FEARED).search(text):
        return None
    if cue.kind == "forget":
        request = ForgetRequest(text=text, turn_id=context.turn.id)
        return pointed(request, said[: sentence.start], said[sentence.end :], context.before)
    category, content = _filed(cue, context.talk, day)
    content = without_lead(content)
    leans = cue.importance == "medium" and category != "experience" and re.match(_LEANING, content) is not None
    if content_size(content) < 2 or leans:
        return None
    expires = day if category == "todo" else None
    if category == "decision":
        day = due(compiled(_DECIDED_ON).sub(" ", text), context.today)
    return Candidate(
        content=_until(_ended(_by_itself(content, context)), day if category in ("todo", "decision") else None),
        category=category,
        importance=cue.importance,
        tags=tuple(dict.fromkeys(re.findall(r"(?<!\S)#([\w/-]*[^\W\d_][\w/-]*)", text))),
        entities=entities_of(text, context.name or ""),
        turn_ids=(context.turn.id,),
        quote=_quote(sentence, text, said),
        expires=expires,
        trust=context.trust,
        told=_is_told(cue, category, text),
    )


_EVERY_YEAR = (
    r"(?i:\b(?:(?:birthday|anniversary|name\s+day)\s+(?:is|was|falls)|(?:was|were)\s+born)\s+(?:on\s+)?(?:the\s+)?"
    r"(?:\d|(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\s+\d)"
    r"(?!.*\b(?:need|must|have|should|let's|book|buy|get|by)\b))"
    r"|(?:生日|纪念日|忌日)[是在为：:\s]*[\d一二三四五六七八九十]+\s*月(?!.*[要得买订送前])"
)
"""What says on which day of every year something is, which is neither to be done nor over by then."""


def _quote(sentence: Sentence, part: str, turn: str) -> str:
    """The words of the turn that a part of a sentence is, or where they are laid out otherwise the sentence's."""
    at = turn.find(part, sentence.start, sentence.end) if part != sentence.text else -1
    return turn[sentence.start : sentence.end] if at < 0 else turn[at : at + len(part)]


_DECIDED_ON = (
    r"(?i)(?:^(?:on\s+)?|\b(?:decided|agreed|settled|chose)\s+(?:on\s+)?)(?:\w+day|this\s+week(?:end)?)"
    r"(?=\s+(?:to|that|not)\b|,?\s+(?:we|I)\b)"
    r"|(?:周|星期|礼拜)[一二三四五六日天](?=[^，,。；决]{0,6}决定)"
)
"""When it was decided, no day to come: `on Friday we decided …`, `we agreed on Friday that …`, 周五我们决定."""


def _is_told(cue: Cue, category: Category, text: str) -> bool:
    """Whether a sentence is an order: to remember, or to do something always."""
    if cue.kind == "explicit":
        return True
    standing = compiled(STANDING).search(text) is not None
    return cue.importance == "high" and (category in ("preference", "workflow") or standing)


_LEANING = r"(?i:(?:it|this|that|these|those|they|he|she)(?:'\w+|\b))|[这那它他她]"
"""How a sentence begins that cannot be read without the one before it."""


def _filed(cue: Cue, talk: Talk, day: date | None) -> tuple[Category, str]:
    """Category and content; what is only told to be remembered is filed by what it says."""
    if cue.kind != "explicit":
        return cast(Category, cue.kind), cue.content
    told_to = re.match(r"to\s+", cue.content)
    content = cue.content[told_to.end() :] if told_to else cue.content
    inner = find(content, talk=talk, dated=day is not None)
    if inner is not None and inner.kind not in ("explicit", "forget"):
        return cast(Category, inner.kind), inner.content
    if told_to and re.search(r"\b(?:each|every|always|before|whenever|never)\b", content):
        return "workflow", content
    return "todo" if told_to or day is not None else "fact", content


def _until(text: str, day: date | None) -> str:
    """`text` with the day it names, for "tomorrow" means another one tomorrow."""
    if day is None or day.isoformat() in text:
        return text
    return f"{text}（{day.isoformat()}）" if is_chinese(text) else f"{text} ({day.isoformat()})"


def _note(text: str, context: _Context) -> NoteCandidate | None:
    if content_size(text) < 5:
        return None
    text = without_lead(text)
    return NoteCandidate(text=_ended(_by_itself(text, context)), time=context.time, turn_id=context.turn.id)


def _by_itself(text: str, context: _Context) -> str:
    return text if context.name is None else stand_alone(text, context.name)


def _ended(text: str) -> str:
    """`text` in one line with one full stop."""
    text = " ".join(text.split()).rstrip(" ，,;；：:—-")
    return text if re.search(r"[.。!！?？…)）」”\"'`]$", text) else text + ("。" if is_chinese(text) else ".")


def entities_of(text: str, speaker: str = "") -> tuple[str, ...]:
    """Names in a sentence, at most 8: the speaker, quoted terms, code, and capitalised or numbered Latin words.

    A capital at the start of an English sentence makes no name.
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
    r"I|I'\w+|OK|"
    r"(?:Jan|Febr|Mar|Apr|May|Ju|Aug|Sept|Octo|Nov|Dec)\w* \d+|"
    r"Ok|TODO|Mon|Tues?|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|"
    r"August|September|October|November|December|The|And|But|So|From|Wow|Hey|Thanks"
)


def _screened(found: list[_Found], text: str, skipped: list[Skipped], *, insisting: bool) -> list[_Found]:
    """What was found in a turn; of one that tries to instruct whoever reads it nothing, or what a person insists on."""
    if not found:
        return found
    from memorybook.text.screen import screen

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


def _without(found: Iterable[_Found], request: ForgetRequest, skipped: list[Skipped]) -> list[_Found]:
    """What was found before, less what the user now asks to forget."""
    kept = []
    for one in found:
        turns = one.turn_ids if isinstance(one, Candidate) else (one.turn_id,)
        there = not request.said or request.said_in in turns
        if there and not isinstance(one, ForgetRequest) and asked_to_forget(_text_of(one), request):
            skipped.append(Skipped(_text_of(one), ASKED))
        else:
            kept.append(one)
    return kept


def _merged(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Candidates, what was said twice as one that rests on both turns."""
    merged: dict[str, Candidate] = {}
    for one in candidates:
        key = normalise(one.content)
        known = merged.get(key)
        ids = dict.fromkeys((*known.turn_ids, *one.turn_ids)) if known is not None else one.turn_ids
        merged[key] = replace(known or one, turn_ids=tuple(ids))
    yield from merged.values()
