"""Whether an answer of an assistant says nothing: that it does not know, or that it will look."""

from __future__ import annotations

from memorybook.search.snippets import sentences
from memorybook.text.tokens import normalise
from memorybook.text.utterances import says_something

_CUTS = dict.fromkeys(map(ord, ",，、:：;；—–"), "\n")
_LEADS = "i'm sorry|sorry|i apologize|apologies|unfortunately|hmm|well|but|抱歉|很抱歉|对不起|不好意思|很遗憾|但"
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
            elif says_something(clause) and not (clause in _LEAD or clause.startswith(_ALONG) or clause.endswith("?")):
                return False
    return found
