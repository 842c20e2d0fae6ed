"""What an utterance does: asks, corrects what was said before, or says nothing but that it was heard."""

from __future__ import annotations

from memorybook._light import lazily
from memorybook.text.tokens import is_question, query_words

CUE = (
    r"(?:(?i:(?:oh |hmm,? |ah,? |okay,? |ok,? |well,? )*(?:no|nope|sorry|wait|correction|oops|whoops|actually|typo)\b"
    r"\s*[,:，：.!—–-]|(?:no,? )?(?:wait|sorry|actually|correction)\b|no(?=\s+(?:it|that|not|make|i)\b)"
    r"|i (?:meant|misspoke|mistyped|was wrong)\b"
    r"|(?:scratch|strike) that\b|make (?:that|it)\b|my (?:mistake|bad)\b|on second thoughts?\b|it['’]s actually\b"
    r"|i (?:swapped|mixed up|got)\b[^.]{0,30}\b(?:wrong|up|digits?|around)\b|(?:hm+\W+)?that (?:was|is) (?:wrong|old|"
    r"the old|last)\b|(?:and )?i should(?:['’]ve| have) said\b|hang on\b|turns out\b)"
    r"|[哦啊噢嗯哎呃]?[，,]?(?:不对|不不|不是的|更正|纠正|我?(?:刚才)?(?:说|打|写|记|搞|弄)[错岔]|错了|呸|"
    r"不行(?=[，,])|(?:等等)+|等下|应该是|改成|改为|改到|改口|准确地?说))"
)
"""How a correction begins, as a pattern; compiled by whoever uses it."""

_ANYWHERE = lazily(rf"(?:^|[.!?。！？;；…\n])\s*{CUE}")
_OPENING = lazily(rf"\W*(?:{CUE})了?[\s,:，：.!！…—–-]*")


def takes_back(text: str) -> bool:
    """Return whether a text, English or Chinese, says in one of its sentences that what was said before is not so.

    >>> takes_back("scratch that, 7314"), takes_back("Friday. No wait, Monday."), takes_back("No idea where it is")
    (True, True, False)
    >>> takes_back("打错，9208"), takes_back("呸，周四"), takes_back("不知道")
    (True, True, False)
    """
    return _ANYWHERE.search(text.lstrip()) is not None


def correction(sentence: str) -> str | None:
    """Return what a sentence says instead, if it begins by taking back what was said before it; None if it does not.

    >>> correction("no wait, Monday"), correction("打错，9208"), correction("No idea where it is")
    ('Monday', '9208', None)
    """
    rest = None
    while (found := _OPENING.match(sentence)) is not None and found.end():
        rest = sentence = sentence[found.end() :]
    return rest


_DATED = lazily(r"\s?[(（]\d{4}-\d\d-\d\d[)）]$")


def undated(text: str) -> tuple[str, str]:
    """Split a statement and the day in brackets at its end, which rules add to `tomorrow`; "" if there is none.

    >>> undated("The user flies on Friday. (2026-11-27)")
    ('The user flies on Friday.', ' (2026-11-27)')
    """
    found = _DATED.search(text)
    return (text[: found.start()], found[0]) if found else (text, "")


PLACEHOLDERS = ("(left out on request)", "（按要求略去）")
"""What stands for an order to forget that was carried out, in English and in Chinese."""

_EMPTY = lazily(
    r"(?i)\W*(?:(?:(?:i['’]ve |i have |duly )?noted(?: that| it)?(?: down)?|ok|okay|k|got (?:it|that)|gotcha|understood"
    r"|all ?right|sure(?: thing)?|of course|certainly|will do|i see|thanks|thank you|so much|a lot"
    r"|thanks for (?:telling me|letting me know)"
    r"|(?:i['’]ll|i will) (?:remember|note|keep)(?: that| it| this)?(?: in mind)?|remembered|saved"
    r"|我?(?:已经?|都)?(?:记下来?|记住|记录|记好|知道|明白|了解)了?|收到|好的?|好嘞|嗯+|哦+|噢|行|没问题|多谢|谢谢你?|当然|[了啦吧呢]"
    r")(?:\W+|(?<=[\u3400-\u9fff])|\Z))*"
)


def says_something(text: str) -> bool:
    """Return whether a text, English or Chinese, says more than that it was heard.

    >>> [says_something(text) for text in ("Noted,", "OK.", "(left out on request)", "OK, at nine.", "No.")]
    [False, False, False, True, True]
    >>> [says_something(text) for text in ("好的，", "嗯，记下了。", "（按要求略去）", "好的，九点。", "不是。")]
    [False, False, False, True, True]
    """
    for mark in PLACEHOLDERS:
        text = text.replace(mark, "")
    return _EMPTY.fullmatch(text) is None


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
    """Return whether a sentence asks, and no clause of it states something."""
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
