"""Whether a text takes back or corrects what was said just before, in so many words."""

from __future__ import annotations

from memorybook._light import lazily

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
    """Whether a text, English or Chinese, says in one of its sentences that what was said before is not so.

    >>> takes_back("scratch that, 7314"), takes_back("Friday. No wait, Monday."), takes_back("No idea where it is")
    (True, True, False)
    >>> takes_back("打错，9208"), takes_back("呸，周四"), takes_back("不知道")
    (True, True, False)
    """
    return _ANYWHERE.search(text.lstrip()) is not None


def correction(sentence: str) -> str | None:
    """What a sentence says instead, if it begins by taking back what was said before it; None if it does not.

    >>> correction("no wait, Monday"), correction("打错，9208"), correction("No idea where it is")
    ('Monday', '9208', None)
    """
    rest = None
    while (found := _OPENING.match(sentence)) is not None and found.end():
        rest = sentence = sentence[found.end() :]
    return rest
