"""Summarize a session in its own sentences, without a language model.

A sentence scores by the weight of its words in the whole session (how often they recur, in how many
turns), by names and numbers, and by nearness to the beginning; the best are taken that do not repeat
each other (maximal marginal relevance, Carbonell and Goldstein 1998).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum, log
from typing import Literal, NamedTuple

from memorybook.entries.cues import DECIDED, find, is_event, without_lead
from memorybook.entries.read_reply import Audience
from memorybook.model import Session, SessionSummary, Turn
from memorybook.sessions.dialogue import asks_of_talks, is_echo, is_small
from memorybook.text.screen import screen
from memorybook.text.sentences import MAX_LENGTH, compiled, content_size, sentences
from memorybook.text.tokens import is_chinese, query_words, says_something

TITLE_LENGTH = 60
SENTENCE_LENGTH = 300
"""Characters of a sentence in a summary; longer ones are cut."""

_SIMILAR = 0.5
"""Share of a sentence's words that another may hold already before it counts as a repetition."""

_EMPTY_TALK = (
    r"(?i:^(?:hi|hey|hello|good\s+(?:morning|evening|night|to\s+see)|thanks?|thank\s+you|you're\s+welcome|sure|"
    r"of\s+course|no\s+problem|great|awesome|cool|wow|congrat\w*|bye|see\s+you|take\s+care|glad|happy\s+to\s+help|"
    r"let\s+me\s+know|sounds?\s+(?:good|great)|i(?:'m|\s+am)\s+(?:sorry|an\s+ai|unable|happy\s+to|glad)|"
    r"as\s+an\s+ai|i\s+can(?:'t|not)\s+(?:help|assist|do\s+that)|unfortunately,?\s+i\s+can)\b)|^(?:你好|您好|早啊?|"
    r"在吗|嗨|哈哈|好的|没问题|不客气|谢谢|多谢|再见|晚安|抱歉|对不起|我(?:无法|不能)|作为一个|很高兴|太棒了|恭喜|"
    r"当然|请?稍[等候]|(?:让我|我(?:这就|先|来|再)?)(?:帮你|帮您)?[查看找想搜](?:一?下|一?[查看找想搜])[^，。,]{0,12}[。.！!…~～]*$|"
    r"我?不(?:知道|清楚)[。.！!]*$)|(?i:^(?:i\s+(?:don['’]t|do\s+not)\s+know|(?:just\s+)?(?:a|one)\s+(?:moment|second)(?:[,\s]+please)?|"
    r"let\s+me(?:\s+\w+)?\s+(?:check|see|look|think|search|find)\b[^,;:–—]{0,60})\W*$)"
)
_UNKNOWN = (
    r"(?i:^(?:i['’]m\s+not\s+sure|i\s+(?:do\s+not|don['’]t)\s+(?:know|have\s+(?:any|access|that|this|a\s+record))|"
    r"i\s+(?:could\s+not|couldn['’]t|can['’]t|cannot|did\s+not|didn['’]t)\s+find\s+any)\b)|"
    r"^(?:很?抱歉[，,])?(?:目前|暂时|这个)?我(?:目前|暂时|还|也|并)*(?:不知道|不清楚|不确定|没有?(?:找到|查到|(?:任何|相关|关于)))"
)
"""How an assistant says that it does not know."""
_OPEN = (
    r"(?i:\b(?:not\s+sure|still\s+(?:need|have|undecided|open|searching|looking)|to\s+be\s+decided|tbd|"
    r"open\s+question|haven't\s+decided|undecided)\b)|(?:还没(?:定|想好|决定)|待定|再议|再说|不确定|没想好|再想想)"
)


class _Line(NamedTuple):
    """A sentence of the talk with what its choice needs; `size` is its `content_size`."""

    place: int
    turn: Turn
    text: str
    words: frozenset[str]
    question: bool
    size: int


def summarize(
    turns: Sequence[Turn], *, session: Session, language: Literal["auto", "en", "zh"] = "auto"
) -> SessionSummary:
    """Make a title (at most 60 characters), 2 to 6 sentences for the session, its decisions and open questions.

    Sentences are the talk's own, each under its speaker, one a line, in the order in which they
    were said. `language` is that of the words for a speaker without a name; `auto` takes the
    talk's. A session without a sentence worth it gets an empty summary; what was asked first is its title then, unless
    it asked of the talks themselves. Deterministic.
    """
    lines = _lines(turns)
    chinese = language == "zh" or (language == "auto" and is_chinese(" ".join(line.text for line in lines[:50])))
    telling = [line for line in lines if not line.question]
    about = [line.text for line in lines if line.question and line.turn.role != "assistant" and _is_topic(line)]
    scores = _scores(telling)
    chosen = _choose(telling, scores, max(2, min(6, 2 + len(turns) // 6)))
    best = max(chosen, key=lambda line: (scores[line.place], -line.place), default=None)
    times = [turn.time for turn in turns if turn.time is not None]
    return SessionSummary(
        session=session.uuid,
        name=session.name,
        title=session.title[:TITLE_LENGTH] or title_of(best.text if best is not None else next(iter(about), "")),
        summary="\n".join(_spoken(line, chinese) for line in chosen),
        started=session.created or min(times, default=None),
        ended=session.ended or max(times, default=None),
        turns=len(turns),
        decisions=tuple(_decisions(telling)),
        open_questions=tuple(_open_questions(lines, _last(turns))),
        turn_ids=tuple(dict.fromkeys(line.turn.id for line in chosen)),
    )


def _lines(turns: Iterable[Turn]) -> list[_Line]:
    """Return sentences that say something, of all but tools and the system; none that recall had given a reply."""
    found: list[_Line] = []
    for turn in turns:
        if turn.role in ("tool", "system") or (turn.role == "assistant" and turn.tool_calls):
            continue
        for sentence in sentences(turn.text):
            text = without_lead(sentence.text)
            size = content_size(text)
            told = len(text) <= MAX_LENGTH and size >= 3 and says_something(text) and not _is_filler(turn, text)
            if told and not is_echo(turn, sentence.text):
                words = frozenset(query_words(text))
                found.append(_Line(len(found), turn, text, words, sentence.question, size))
    return found


def titles(turns: Iterable[Turn]) -> set[str]:
    """Return every title that these turns may give to a session."""
    return {title_of(line.text) for line in _lines(turns)}


def says_nothing(text: str) -> bool:
    """Return whether a sentence is a greeting, thanks, an apology or the refusal of an assistant."""
    return compiled(_EMPTY_TALK).match(text) is not None


def refuses(text: str) -> bool:
    """Return whether a model says that it will not or cannot do what it was asked to do with a talk."""
    return compiled(_REFUSAL).match(text) is not None


_REFUSAL = (
    r"(?i:(?:i['’]m|i\s+am)\s+(?:very\s+)?(?:sorry|unable|not\s+able|an\s+ai)\b|as\s+an\s+ai\b|(?:sorry|apologies),|"
    r"i\s+(?:can['’]?t|cannot|will\s+not|won['’]t|must\s+decline|decline)\s+(?:to\s+)?(?:help|assist|process|summari[sz]e|extract|"
    r"store|provide|complete|comply|do\s+that|share|discuss)\b)|"
    r"(?:非常|很)?(?:抱歉|对不起)|作为(?:一个|一名)?(?:人工智能|AI|大?语言模型|智能助手)|"
    r"我(?:无法|不能|不便)(?:处理|总结|提供|协助|完成|帮助|存储|提取|回答)"
)


def _is_filler(turn: Turn, text: str) -> bool:
    return says_nothing(text) or (turn.role == "assistant" and compiled(_UNKNOWN).match(text) is not None)


def _is_topic(line: _Line) -> bool:
    """Return whether a question has a subject: no small talk, nothing about earlier talks, no instructions."""
    return not is_small(line.text) and not asks_of_talks(line.text) and screen(line.turn.text) is None


def _last(turns: Sequence[Turn]) -> str | None:
    """Return the id of the last turn that asks or answers, be it by what recall had given."""
    for turn in reversed(turns):
        if turn.role in ("tool", "system") or (turn.role == "assistant" and turn.tool_calls):
            continue
        told = [without_lead(sentence.text) for sentence in sentences(turn.text)]
        if any(content_size(text) >= 3 and not _is_filler(turn, text) for text in told):
            return turn.id
    return None


def _scores(lines: Sequence[_Line]) -> dict[int, float]:
    """Score each line by place: mean weight of its words, raised or lowered by what it looks like."""
    spread = Counter(word for _, word in {(line.turn.id, word) for line in lines for word in line.words})
    turns = len({line.turn.id for line in lines}) or 1
    weights = {word: log(1 + count) for word, count in spread.items() if count < 0.6 * turns or turns < 20}
    scores = {}
    for order, line in enumerate(lines):
        weight = fsum(weights[word] for word in line.words if word in weights)
        mean = weight / (len(line.words) + 4)  # short lines must not win by one frequent word
        scores[line.place] = mean * _look(line) * (1.15 if order < max(3, len(lines) // 20) else 1.0)
    return scores


def _look(line: _Line) -> float:
    """Score how much like a statement a line looks: names and numbers, not too short or long, no exclamation."""
    worth = 1.0 if 6 <= line.size <= 40 else 0.7
    if _TELLING.search(line.text):
        worth *= 1.2
    if line.text.endswith(("!", "！")):
        worth *= 0.8
    if line.turn.role == "assistant":
        worth *= 0.75  # what the user said is what the session was about
    if compiled(_LEANING).match(line.text):
        worth *= 0.7  # leans on what was said before
    if not line.turn.role and compiled(_ENCOURAGING).search(line.text):
        worth *= 0.5
    return worth


_TELLING = re.compile(r"[\dA-Z「《`](?:(?<![A-Z])|(?<=\b[A-Z])(?<!^[A-Z])[a-z])")
"""A number, a quotation, or a capitalised word that does not begin the sentence."""

_LEANING = r"(?i:you|your|that's|that|it's|it|this|they|sounds)\b|[你这那它]"
_ENCOURAGING = r"[yYlL](?:(?<=\b[yY])(?i:our?)\b|(?<=\b[lL])(?i:et's)\b|(?<=[yY])(?i:ou're))"


def _marked(line: _Line) -> float:
    """Return what a cue or an event adds; asked of the best lines only, for it costs most."""
    if line.turn.role == "assistant":
        return 1.0
    talk: Audience = "agent" if line.turn.role else "people"
    cue = find(line.text, talk=talk, dated=False)
    if cue is not None and cue.kind != "fact":
        return 0.0 if cue.kind == "forget" else 1.6
    return 1.3 if is_event(line.text) else 1.0


def _choose(lines: Sequence[_Line], scores: dict[int, float], count: int) -> list[_Line]:
    """Choose the best lines that do not repeat each other, in their order; nothing that was to be forgotten."""
    best = sorted(lines, key=lambda line: (-scores[line.place], line.place))[: count * 8]
    for line in best:
        scores[line.place] *= _marked(line)
    chosen: list[_Line] = []
    for line in sorted(best, key=lambda line: (-scores[line.place], line.place)):
        shared = (len(line.words & one.words) / (min(len(line.words), len(one.words)) or 1) for one in chosen)
        fresh = all(each < _SIMILAR for each in shared)
        if len(chosen) < count and scores[line.place] > 0 and fresh and screen(line.turn.text) is None:
            chosen.append(line)
    return sorted(chosen, key=lambda line: line.place)


def _spoken(line: _Line, chinese: bool) -> str:
    label = line.turn.speaker
    if label in ("", line.turn.role):
        names = {"user": "用户", "assistant": "助手"} if chinese else {"user": "User", "assistant": "Assistant"}
        label = names.get(line.turn.role, "")
    text = cut_at_sentence(line.text, SENTENCE_LENGTH)
    return f"{label}{'：' if chinese else ': '}{text}" if label else text


def _decisions(lines: Iterable[_Line]) -> list[str]:
    """Return what was decided, at most 8, by anyone but the assistant."""
    found: dict[str, None] = {}
    for line in lines:
        if line.turn.role != "assistant" and compiled(DECIDED).search(line.text):
            talk: Audience = "agent" if line.turn.role == "user" else "people"
            cue = find(line.text, talk=talk, dated=False)
            if cue is not None and cue.kind == "decision" and screen(line.turn.text) is None:
                found[cut_at_sentence(line.text, SENTENCE_LENGTH)] = None
    return list(found)[:8]


def _open_questions(lines: Sequence[_Line], last: str | None) -> list[str]:
    """Return open questions, at most 5: called so, or asked in the last turn with words and not stated before."""
    told = [line.words for line in lines if not line.question and line.turn.role != "assistant"]

    def is_open(line: _Line) -> bool:
        if line.turn.role != "assistant" and compiled(_OPEN).search(line.text):
            return True
        asked = line.question and line.turn.id == last
        return asked and not any(line.words and line.words <= words for words in told)

    left = filter(is_open, lines)
    found = [cut_at_sentence(line.text, SENTENCE_LENGTH) for line in left if _is_topic(line)]
    return list(dict.fromkeys(found))[-5:]


_ORDER = (
    r"(?i:(?:(?:please|also|and)[,\s]+)*(?:remember|note|keep\s+in\s+mind|don['’]t\s+forget)(?:\s+this)?"
    r"(?:\s*[:：,]\s*|\s+(?:that\s+|(?=(?:i|i['’]m|my|we|our)\b))))|"
    r"(?:请|麻烦|你|帮我|给我)*(?:记住|记一?下|记得|记着|别忘了)[了哦啊]?(?:[，,：:\s]+|(?=我|咱))"
)
"""The words of an order to remember what follows."""


def title_of(text: str) -> str:
    """Shorten a sentence to a title: first clauses or words in 60 characters, no full stop, no order to keep it.

    >>> [title_of(text) for text in ("Remember that my bike is red.", "记住：我下周二去上海。")]
    ['My bike is red', '我下周二去上海']
    """
    text = text.strip().rstrip("。.!！;；,，")
    order = compiled(_ORDER).match(text)
    if order is not None and order.end() < len(text):
        text = text[order.end()].upper() + text[order.end() + 1 :]
    if len(text) <= TITLE_LENGTH:
        return text
    head = text[: TITLE_LENGTH - 1]
    clause = max(head.rfind(mark) for mark in ("，", "；", "：", ", ", "; ", " - ", "——"))
    if clause >= TITLE_LENGTH // 3:
        return head[:clause].rstrip()
    space = text.rfind(" ", 0, TITLE_LENGTH)
    return (text[:space] if space >= TITLE_LENGTH // 2 else head).rstrip() + "…"


def cut_at_sentence(text: str, limit: int) -> str:
    """Return `text`, or as many of its sentences (else clauses, else words) as fit into `limit` characters with "…"."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    for marks in (r"[。！？!?；;]|\.(?=\s)", r"[，,：:]", r"\s"):
        ends = [found.end() for found in re.finditer(marks, head)]
        if ends and ends[-1] >= limit // 2:
            return head[: ends[-1]].rstrip() + "…"
    return head.rstrip() + "…"
