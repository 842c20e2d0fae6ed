"""Durable notes out of what is about to be lost: free text, or what a conversation gave."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from memorybook.entries.cues import frame_start, is_retracted
from memorybook.entries.read_reply import Extraction, Skipped
from memorybook.forget.order_patterns import PRIVATE
from memorybook.forget.order_text import ASKED
from memorybook.model import Note, Turn
from memorybook.sessions.dialogue import is_small
from memorybook.sessions.summarize import cut_at_sentence
from memorybook.text.screen import screen
from memorybook.text.sentences import compiled, is_question, without_recalled
from memorybook.text.tokens import is_chinese, normalise

KINDS = {
    "preference": "pref",
    "fact": "fact",
    "decision": "decision",
    "experience": "lesson",
    "workflow": "workflow",
    "skill_usage": "skill",
    "todo": "todo",
    "context": "context",
}
"""Kind of a note by category of an entry."""

_HEADINGS = {
    "pref": r"preferences?|likes?|style|偏好|喜好|习惯",
    "decision": r"decisions?|decided|决定|决策|结论",
    "todo": r"to-?dos?|next steps?|action items?|open (?:items|tasks)|待办|下一步|任务",
    "lesson": r"lessons?(?: learn\w+)?|learnings?|gotchas?|pitfalls?|教训|经验|踩坑",
    "fact": r"facts?|background|context|背景|事实|项目信息",
    "workflow": r"workflows?|process(?:es)?|conventions?|流程|规范|约定",
    "question": r"(?:open )?questions?|问题|疑问",
}
_BOILERPLATE = (
    r"(?i)^(?:here(?:'s| is| are)\b.{0,60}:?|sure[,!.].{0,60}|(?:summary|notes?|memory|memories|"
    r"conversation summary)\s*:?|(?:以下|下面)是.{0,30}|总结(?:如下)?[:：]?|no[_ ]reply|nothing (?:to|worth).{0,40}|"
    r"none\.?|n/a|无|没有|暂无)[。.]?$"
)


class Flushed(NamedTuple):
    """Notes to write, and what was left out or cut."""

    notes: list[Note]
    skipped: list[Skipped]


class _Piece(NamedTuple):
    text: str
    kind: str | None
    tags: tuple[str, ...]


def notes_of(
    source: str | Extraction, *, now: datetime, limit: int = 20, width: int = 500, every: bool = False
) -> Flushed:
    """Make at most `limit` notes of at most `width` characters; report what was left out, with the reason.

    Text is read as Markdown: a list item or paragraph is a note, a long paragraph several; headings give kind and tags;
    code and boilerplate are dropped. Of an extraction, statements come first, then events with their day.
    `every` also keeps what is not worth remembering: questions, jokes, words for somebody else.
    Notes are stamped `now`. Reasons: `too long: cut`, `over 20 notes`, `empty`, `duplicate`, `not to be kept`, and
    those of `screen`, for which only the sentences that try to instruct their reader are removed.
    """
    skipped: list[Skipped] = []
    pieces = _of_text(without_recalled(source), width) if isinstance(source, str) else _of_talk(source, now, skipped)
    stamp = now.astimezone(UTC).replace(microsecond=0)
    notes: list[Note] = []
    seen: set[str] = set()
    for piece in pieces:
        text = _screen(" ".join(piece.text.split()), skipped)
        if not text and piece.text.strip():
            continue
        reason = ""
        if not re.search(r"\w", text):
            reason = "empty"
        elif normalise(text) in seen:
            reason = "duplicate"
        elif len(notes) >= limit:
            reason = f"over {limit} notes"
        elif not every and not _is_worth(text, piece.kind):
            reason = _UNFIT
        if reason:
            skipped.append(Skipped(text, reason))
            continue
        if len(text) > width:
            skipped.append(Skipped(text, "too long: cut"))
            text = cut_at_sentence(text, width)
        seen.add(normalise(text))
        notes.append(Note(time=stamp, text=text, kind=piece.kind, tags=piece.tags))
    if not notes and not skipped:
        skipped.append(Skipped("", "empty"))
    return Flushed(notes, skipped)


def clean(turn: Turn, skipped: list[Skipped]) -> Turn:
    """Return a turn without the sentences that try to instruct their reader; those are added to `skipped`."""
    text = _screen(turn.text, skipped)
    return turn if text == turn.text else replace(turn, text=text)


def _screen(text: str, skipped: list[Skipped]) -> str:
    """Return a text without the sentences that try to instruct their reader; those are added to `skipped`."""
    reason = screen(text)
    if reason is None:
        return text
    reasons = [(sentence, screen(sentence)) for sentence in re.findall(_SENTENCE, text)]
    skipped += [Skipped(sentence.strip(), why) for sentence, why in reasons if why is not None]
    left = "".join(sentence for sentence, why in reasons if why is None).strip()
    if left and screen(left) is not None:  # what instructs is none of its sentences alone
        skipped.append(Skipped(left, reason))
        return ""
    return left


_SENTENCE = r"(?s).+?(?:[。！？!?；;]+[”」』)）]*|\.(?=\s)|\n|$)\s*"


_UNFIT = "not to be kept"
REQUEST = "a request to forget"
PRIVATE_REASONS = (_UNFIT, REQUEST, ASKED)
"""Reasons for which the journal does not keep the words either."""


def _is_worth(text: str, kind: str | None) -> bool:
    """Return whether a text is neither small talk, a question, a joke, for somebody else, nor private."""
    if is_small(text) or (kind != "question" and is_question(text)):
        return False
    return not is_retracted(text) and frame_start(text) is None and compiled(PRIVATE).search(text) is None


# --- free text -----------------------------------------------------------------------------------


def _of_text(text: str, width: int) -> Iterator[_Piece]:
    kind: str | None = None
    heading = ""
    for block in _blocks(text):
        found = re.match(r"#{1,6}\s+(.+?)\s*#*$", block)
        if found:
            heading, kind = found[1], _kind(found[1])
            continue
        item = re.sub(r"^(?:[-*+•]|\d+[.)、])\s+(?:\[[ xX]\]\s+)?", "", block).strip()
        if re.match(_BOILERPLATE, item):
            continue
        own, body = _split_label(item)
        tags, body = _split_tags(body, heading)
        for part in [body] if item != block else _group_sentences(body, width):
            yield _Piece(part, own or kind, tags)


def _blocks(text: str) -> Iterator[str]:
    """Yield headings, list items with their indented lines, and paragraphs; no code, comments, rules or tables."""
    text = re.sub(
        r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)|<!--(?:(?!<!--).)*?-->|\A---\n.*?\n---$", "\n", text
    )
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        bare = line.strip()
        begins = re.match(r"(?:[-*+•]|\d+[.)、])\s|#{1,6}\s", bare) is not None
        if (begins or not bare) and block:
            yield "\n".join(block)
            block = []
        if bare and not re.fullmatch(r"[-*_=\s]{3,}|\|.*\|", bare):
            block.append(bare.removeprefix("> "))
            if bare.startswith("#") and begins:
                yield block.pop()


def _kind(heading: str) -> str | None:
    named = (kind for kind, words in _HEADINGS.items() if re.search(rf"(?i)\b(?:{words})\b|{words}", heading))
    return next(named, None)


def _split_label(text: str) -> tuple[str | None, str]:
    """Split off a leading label such as `[pref]`, `Decision:` or 待办：. Return (kind, rest), or (None, text)."""
    found = re.match(r"\[(\w{2,12})\]\s+(\S.*)", text, re.S) or re.match(
        r"\**([A-Za-z-]{2,10}|[\u4e00-\u9fff]{2,3})\**\s*[:：]\**\s*(\S.*)", text, re.S
    )
    if found is None:
        return None, text
    word = found[1].lower()
    kind = word if word in (*KINDS.values(), *_HEADINGS) else KINDS.get(word)
    kind = kind or next((kind for kind, words in _HEADINGS.items() if re.fullmatch(words, word, re.I)), None)
    return (kind, found[2]) if kind is not None else (None, text)


def _split_tags(text: str, heading: str) -> tuple[tuple[str, ...], str]:
    """Return (tags, rest): hashtags cut off the end of the text, and the heading unless it names a kind."""
    ending = re.search(r"(?:\s+#(?=[\w/-]{0,40}[^\W\d_])[\w/-]{1,80})+\s*$", text)
    tags = re.findall(r"#([\w/-]+)", ending[0]) if ending else []
    body = text[: ending.start()] if ending else text
    word = re.sub(r"[^\w/-]+", "-", heading.lower()).strip("-")
    if word and _kind(heading) is None and len(word) <= 30:
        tags.append(word)
    return tuple(dict.fromkeys(tags)), body


def _group_sentences(text: str, width: int) -> Iterator[str]:
    """Yield a paragraph in groups of sentences that fit into `width`."""
    if len(text) <= width:
        yield text
        return
    group = ""
    for sentence in re.findall(_SENTENCE, text):
        if group and len(group) + len(sentence.rstrip()) > width:
            yield group.rstrip()
            group = ""
        group += sentence
    if group.strip():
        yield group.rstrip()


# --- what a conversation gave --------------------------------------------------------------------


def _of_talk(found: Extraction, now: datetime, skipped: list[Skipped]) -> Iterator[_Piece]:
    """Yield the statements, then the events with their day; add what was left out to `skipped`."""
    skipped.extend(found.skipped)
    skipped.extend(Skipped(left.text, left.reason) for left in found.discarded)
    skipped.extend(Skipped(request.text, REQUEST) for request in found.forget_requests)
    for candidate in found.candidates:
        yield _Piece(candidate.content, KINDS[candidate.category], candidate.tags)
    for note in found.notes:
        text, day = note.text, note.time.astimezone(now.tzinfo).date().isoformat()
        if abs(now - note.time) >= timedelta(hours=12):
            text = f"{text}（{day} 说）" if is_chinese(text) else f"{text} (said {day})"
        yield _Piece(text, note.kind, ())
