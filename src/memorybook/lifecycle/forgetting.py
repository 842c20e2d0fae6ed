"""Orders to forget: which part of a sentence is one, what it names, and whether a text says that."""

from __future__ import annotations

import re
from functools import lru_cache

from memorybook.lifecycle.candidate import ForgetRequest
from memorybook.lifecycle.cues import find
from memorybook.lifecycle.hints import compiled
from memorybook.text.tokens import query_words


def parted(text: str) -> tuple[str, ...]:
    """A sentence that orders to forget one thing and says another too, cut between them; else the sentence alone.

    What is not surely another thing stays with the order, as more is not to be kept than was wished: an order that
    names nothing of its own (`I like tea, but don't save that`), a list (`forget that I row and I sing`).
    """
    joints = list(compiled(_JOINT).finditer(text))
    pieces = zip([0, *(each.end() for each in joints)], [*(each.start() for each in joints), len(text)], strict=True)
    cut: list[tuple[int, int]] = []
    ordered = False
    for start, end in pieces:
        kind = _kind(text[start:end])
        if cut and not (kind and _apart(text[slice(*cut[-1])], text[start:end], kind, text[cut[-1][1] :], ordered)):
            start, _ = cut.pop()
        cut.append((start, end))
        ordered = ordered or kind == "forget"
    return tuple(text[start:end].strip() for start, end in cut)


def _kind(text: str) -> str:
    cue = find(text, talk="agent", dated=False)
    return cue.kind if cue is not None else ""


def _apart(before: str, piece: str, kind: str, rest: str, ordered: bool) -> bool:
    """Whether a piece with a cue is another thing than what stands before it, where an order to forget may stand.

    `rest` is the piece with its joint and all that follows; `ordered`: an order to forget stands somewhere before.
    """
    told = _kind(before)
    if kind == "forget":
        own = named(piece, only=True)
        return bool(told and own) and (told in _ORDERS or own.isdisjoint(query_words(before)))
    if not ordered or (told == "forget" and not named(before, only=True)):
        return False
    return kind == "explicit" or compiled(_LISTED).search(rest) is None


_ORDERS = ("forget", "explicit")
_JOINT = (
    r"(?i:\s*[,，;；]\s*(?:(?:and|but|so|then|also|instead)\b[,\s]*|(?:但是?|不过|然后|并且?|同时|而且|另外|还有)[，,]?)*"
    r"|\s+(?:and|but|then)\s+(?:(?:then|also)\s+)?(?=(?:please\s+)?(?:forget|remember|note|keep\s+in|don['’]t|do\s+not|"
    r"delete|erase|remove)\b)"
    r"|(?:并且?|然后|同时|再|顺便)(?=(?:请|帮我)?(?:记住|记下|忘掉|忘记|别记)))"
)
"""Where one thing may end and another begin."""

_LISTED = (
    r"(?i:\b(?:and|or)\s+(?:that\s+)?(?:I|my|we|our)\b|^[\s,;]*(?:that|because|since|as|who|which)\b)"
    r"|[这那](?:些|[两几]?[件个条句])|的(?:事|话)|也|都"
)
"""What shows that statements after an order to forget are still what is to be forgotten, or may be."""


def asked_to_forget(text: str, request: ForgetRequest) -> bool:
    """Whether a text says most of what a request to forget names: after its verb, else anywhere in it."""
    words = named(request.text)
    return bool(words) and len(words & set(query_words(text))) >= 0.6 * len(words)


@lru_cache(maxsize=128)
def named(order: str, *, only: bool = False) -> frozenset[str]:
    """The words of what an order to forget is about: after its verb, else (not with `only`) anywhere in it."""
    clause = re.search(_FORGOTTEN, order)
    words = _telling(clause[1]) if clause else frozenset[str]()
    if words or only:
        return words
    return _telling(f"{order[: clause.start()]} {order[clause.end() :]}" if clause else order)


def _telling(text: str) -> frozenset[str]:
    """The words in which an order differs from others, also of one that has none but those that questions leave out."""
    text = re.sub(r"把|一切|所有的?|全部的?|[这那][个条件](?:事情?)?|(?<![酒网贴])吧$", " ", text.rstrip(" 。.!！"))
    return frozenset(query_words(f"{text} {_FORGETTING}")).difference(query_words(_FORGETTING))


_FORGOTTEN = (
    r"(?i)(?:\b(?:forget|delete|remove|erase|drop)\b|n['’]t want you to remember\b|忘掉|忘了|忘记|删掉|删除|删了|清除|"
    r"清空|抹掉|(?:别|不要)再?记得?)([^，,。！!？?；;\n]*)"
)
"""What is to be forgotten stands after the verb, in its clause."""


_FORGETTING = (
    "please forget that what I said about remember memory delete everything user know all "
    "忘掉忘了吧那事我之前刚才说的那个想法当没讲过别记 关于 的话 话 件事 记忆 记录"
)


def names_everything(order: str) -> bool:
    """Whether an order is to forget all there is, and nothing by name."""
    return compiled(_EVERYTHING).search(order) is not None and not named(order)


_EVERYTHING = r"(?i:\b(?:everything|all|memories|memory)\b)|一切|所有|全部|记忆"
