"""Whether a text only asks, and tells nothing itself."""

from __future__ import annotations

from memorybook._light import lazily
from memorybook.text.tokens import is_question, query_words

TELLS = 3.0
"""Words that tell something from which a clause beside a question is a statement; one in Chinese counts half."""

_SENTENCES = lazily(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_CLAUSES = lazily(r"[,，;；]+")
_POLITE = lazily(
    r"(?i)\W*(?:(?:hi|hello|hey|thanks|thank you|please|sorry|ok|okay|good (?:morning|evening|afternoon)|there)\W*)+"
    r"|\W*(?:(?:你好|您好|嗨|谢谢|多谢|早上好|晚上好|不好意思|好的|请|了|啊|呀)\W*)+"
)
_REQUEST = lazily(
    r"(?i)\W*(?:(?:hey|hi|hello|please|ok|okay|so|and|now|(?:can|could|would|will) you)\b[\s,]*)*"
    r"(?:(?:tell|remind|show|give) me (?:again )?(?:what|when|where|who|which|whose|why|how|if|about|the|my|our)\b"
    r"|i (?:wonder|forgot|forget) (?:what|when|where|who|which|whose|why|how|if)\b|do you (?:know|remember)\b)"
    r"|\W*(?:请|麻烦|你|能不能|可以|再|帮忙)*(?:告诉我|(?:帮我|给我)(?:再?[查找看])|[查找看]一下|查查|我?想知道|我?想问|请问)"
    r"|.*(?P<same>[\u4e00-\u9fff])不(?P=same)|.*了没有?\W*\Z|.*(?:星期|周|礼拜)几|.*几[楼袋层次个位种天年级路排座]\W*\Z"
)
_TAG = lazily(
    r"(?i)\W*(?:right|ok|okay|correct|yes|no|remember|huh|you know"
    r"|(?:is|are|was|were|do|does|did|have|has|had|can|could|will|would)n?['’]?t? (?:i|you|he|she|it|we|they))\W*"
    r"|\W*(?:对吧|对吗|是吧|是吗|好吗|好吧|行吗|知道吗|记得吗|对不对|是不是)\W*"
)


def only_asks(text: str) -> bool:
    """Whether every sentence, English or Chinese, is a question or wants to be told something, but for a greeting.

    >>> [only_asks(text) for text in ("Hi! When do I leave?", "Tell me when I leave.", "I leave at six. Is it early?")]
    [True, True, False]
    >>> [only_asks(text) for text in ("请问几点走", "我六点从家里出发，早吗？", "The ferry leaves at six, right?")]
    [True, False, False]
    """
    said = [one for one in _SENTENCES.split(text) if one.strip() and not _POLITE.fullmatch(one)]
    return bool(said) and all(map(_asks, said))


def _asks(sentence: str) -> bool:
    """Whether a sentence asks, and no clause of it states something."""
    if not _is_asked(sentence):
        return False
    clauses = [clause for clause in _CLAUSES.split(sentence) if clause.strip()]
    if len(clauses) < 2:
        return True
    if not _TAG.fullmatch(clauses[-1]):  # it is what asks
        clauses.pop()
    return not any(_size(clause) >= TELLS and not _is_asked(clause) for clause in clauses)


def _is_asked(text: str) -> bool:
    return is_question(text) or _REQUEST.match(text) is not None


def _size(clause: str) -> float:
    return sum(1.0 if word.isascii() else 0.5 for word in query_words(clause))
