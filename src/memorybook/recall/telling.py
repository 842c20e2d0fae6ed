"""What of the hits a prompt is given: no answer that says nothing, each statement once, of a summary what was asked."""

from __future__ import annotations

from memorybook.hits import Hit
from memorybook.recall.format import sentences, snippet
from memorybook.recall.reading import spoken
from memorybook.standard import AbstractSet, Callable, Iterable, Sequence
from memorybook.text.tokens import is_telling, normalise, query_words

ENDING = 4
"""Characters that a statement ends with, however it is retold: telling it costs more than comparing them."""

_NAMELESS = {"user": "user", "用户": "user", "assistant": "assistant", "助手": "assistant"}
"""The roles that speakers without a name are called by."""

_COLON = ": ："
_CUTS = dict.fromkeys(map(ord, ",，、:：;；—–"), "\n")
_LEADS = (
    "i'm sorry|sorry|i apologize|apologies|unfortunately|hmm|sure|ok|okay|of course|well|but|"
    "抱歉|很抱歉|对不起|不好意思|好的|嗯|很遗憾|但"
)
_UNKNOWN = (
    "i don't know|i do not know|i don't have any information|i don't have information|i don't have that information|"
    "i do not have any information|i don't have anything|i do not have anything|i have nothing|i have no information|"
    "i have no record|i don't have a record|i have no idea|no idea|i'm not sure|i am not sure|i couldn't find|"
    "i could not find|i can't find|i cannot find|i found nothing|nothing about|there is nothing about|"
    "let me check|let me look|let me see|let me search|let me find out|let me think|let me verify|i'll check|"
    "i will check|i'll look|one moment|just a moment|give me a moment|"
    "不知道|不清楚|不太清楚|不确定|没有关于|没有相关|没有这方面|没有找到|没找到|找不到|没有记录|的记忆里没有|记忆里没有|"
    "让我查|让我看|让我找|让我搜|让我想想|让我想一|来查|来看|来找|来搜|查一下|看一下|看看|查查|去查|稍等|请稍等|请稍候"
)
_BESIDE = (
    "you haven't told me|you have not told me|please tell me|if you tell me|"
    "你还没告诉我|你没有告诉我|你还没有告诉我|请告诉我"
)
_LEAD, _NOT_KNOWN, _ALONG = (tuple(words.split("|")) for words in (_LEADS, _UNKNOWN, _BESIDE))


def says_nothing(answer: str) -> bool:
    """Whether an assistant's answer, English or Chinese, only says that it does not know, or that it will look.

    >>> [says_nothing(text) for text in ("I don't know your number. What is it?", "I don't know it, but Ann does.")]
    [True, False]
    >>> [says_nothing(text) for text in ("抱歉，我不知道你的车牌号。", "让我查一下。你的航班是九点。")]
    [True, False]
    """
    found = False
    for sentence in sentences(answer.replace("’", "'").lower()):
        for part in sentence.translate(_CUTS).replace(" but ", "\nbut ").replace("但", "\n但").splitlines():
            clause = normalise(part)
            if clause.startswith(_NOT_KNOWN) or clause.lstrip("我目前暂时还也并").startswith(_NOT_KNOWN):
                found = True
            elif clause and clause not in _LEAD and not clause.startswith(_ALONG) and not clause.endswith("?"):
                return False
    return found


def telling(
    hits: Sequence[Hit], question: str, *, known: Iterable[str] = (), retold: Callable[[str], str] = str
) -> list[Hit]:
    """The hits that tell a prompt something, in their order, each statement once.

    An assistant's `says_nothing` is left out. Of a summary only the lines stay that have words of the question, where
    any has, without the question itself. Of hits that say the same an entry stays, else the newest, a summary last; it
    stands where the best of them stood.

    Args:
        hits: Best first.
        question: As asked.
        known: What the prompt says anyway.
        retold: How a user's words stand in entries and notes.
    """
    lines = [_lines(hit, question) for hit in hits]
    said = _said(hits, lines, known, retold)
    owners = {statement: -1 for text in known for statement in _statements("", text, str)}
    places: dict[int, int] = {}
    for number in _preferred(hits):
        own = [
            line
            for line, statements in zip(lines[number], said[number], strict=True)
            if any(statement not in owners for statement in statements)
        ]
        if own:
            lines[number] = own
            places[number] = number
            for statements in said[number]:
                for statement in statements:
                    owners.setdefault(statement, number)
        elif said[number]:
            winner = owners[said[number][0][0]]
            if winner >= 0:
                places[winner] = min(places[winner], number)
    words = frozenset(query_words(question))
    return [
        _shown(hits[number], hits[places[number]], lines[number], words)
        for number in sorted(places, key=places.__getitem__)
    ]


def _preferred(hits: Sequence[Hit]) -> list[int]:
    """The numbers of the hits, those first that stay where several say the same."""
    passages = [hit.passage for hit in hits]
    newest = sorted(range(len(hits)), key=lambda n: (passages[n].date or "", passages[n].position), reverse=True)
    return sorted(newest, key=lambda n: (passages[n].source != "entry", passages[n].source == "summary"))


def _lines(hit: Hit, question: str) -> list[tuple[str, str]]:
    """(who, text) of the lines that tell something, `who` of a summary with its colon; any other hit is one line."""
    passage = hit.passage
    if passage.source != "summary":
        empty = passage.source == "turn" and passage.role == "assistant" and says_nothing(passage.text)
        return [] if empty else [(passage.speaker if passage.source == "turn" else "", hit.snippet)]
    plain = normalise(question).rstrip("?")
    found = []
    for line in filter(None, map(str.strip, passage.text.splitlines())):
        who, text = spoken(line)
        if normalise(text).rstrip("?") != plain and not (_role(who) == "assistant" and says_nothing(text)):
            found.append((who, text))
    asked = query_words(question)
    words = frozenset(filter(is_telling, asked)) or frozenset(asked)
    return [line for line in found if not words.isdisjoint(query_words(line[1]))] or found


def _role(speaker: str) -> str:
    return _NAMELESS.get(speaker.rstrip(_COLON).lower(), "")


def _said(
    hits: Sequence[Hit], lines: Sequence[Sequence[tuple[str, str]]], known: Iterable[str], retold: Callable[[str], str]
) -> list[list[list[str]]]:
    """The statements of each line of each hit; a user's are only retold where an entry or a note ends as they do."""
    written = [hit.snippet for hit in hits if hit.passage.source in ("entry", "note")]
    ends = {normalise(text)[-ENDING:] for text in (*written, *known)}

    def told(text: str) -> str:
        return retold(text) if normalise(text)[-ENDING:] in ends else text

    return [[_statements(*line, told) for line in each] for each in lines]


def _statements(speaker: str, text: str, retold: Callable[[str], str]) -> list[str]:
    """What is said, sentence by sentence, as it is compared: a user's words retold, those of others under a name."""
    role = _role(speaker)
    pieces = [piece for each in sentences(text) if (piece := each.strip(" \n…"))]
    if role == "user":
        pieces = [retold(piece) for piece in pieces]
    elif role == "assistant":
        pieces = [piece for piece in pieces if not says_nothing(piece)] or pieces
    elif speaker:
        pieces = [f"{speaker.rstrip(_COLON)}: {piece}" for piece in pieces]
    return [normalise(piece) for piece in pieces] or [normalise(text)]


def _shown(hit: Hit, best: Hit, lines: Sequence[tuple[str, str]], words: AbstractSet[str]) -> Hit:
    """The hit with the lines that stay, as good as the best that says the same."""
    text = hit.snippet
    if hit.passage.source == "summary":
        text = snippet("\n".join(map("".join, lines)), words)
    return hit._replace(snippet=text, score=max(hit.score, best.score), relevance=max(hit.relevance, best.relevance))
