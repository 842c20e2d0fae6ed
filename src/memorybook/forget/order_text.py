"""Read orders to forget, or not to keep: find them in a sentence, find what they mean, match texts against them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from memorybook.entries.cues import find, without_lead
from memorybook.entries.read_reply import ForgetRequest
from memorybook.forget.order_patterns import LEFT_OUT_EN, LEFT_OUT_ZH
from memorybook.model import Turn
from memorybook.text.sentences import Sentence, compiled, content_size, sentences
from memorybook.text.tokens import USER_WORDS, query_words

ASKED = "asked to be forgotten"
"""Reason for discarding what a user asked to forget, or not to keep."""


def split_order(text: str) -> tuple[str, ...]:
    """Split a sentence between an order to forget and what else it says; a tuple of one if there is no such joint.

    What is not surely separate stays with the order, so that nothing unwanted is kept: an order that names nothing of
    its own (`I like tea, but don't save that`), a list (`forget that I row and I sing`).
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
    """Return whether a piece with a cue is separate from what stands before it.

    `rest` is the piece with its joint and all that follows; `ordered`: an order to forget stands somewhere before.
    """
    told = _kind(before)
    if kind == "forget" and compiled(_ALL_THAT).search(piece):
        return False
    if kind == "forget":
        own = order_topic(piece, only=True)
        return bool(told and own) and (told in _ORDERS or own.isdisjoint(query_words(before)))
    if not ordered or (told == "forget" and not order_topic(before, only=True)):
        return False
    return kind == "explicit" or compiled(_LISTED).search(rest) is None


_ALL_THAT = r"(?i:\b(?:all|any|everything)\s+(?:of\s+)?(?:that|this|it)\b)|[这那]些(?:都|全)|(?:全|统统)都?"
"""Words with which an order to forget refers to what stands before it."""

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
"""Signs that statements after an order to forget may still belong to it."""


def asked_to_forget(text: str, request: ForgetRequest) -> bool:
    """Return whether a text has most words that a request names, or mostly words of what the request points at."""
    if request.said:
        words = frozenset(query_words(text)) - USER_WORDS
        return bool(words) and len(words.intersection(query_words(request.said))) >= 0.6 * len(words)
    words = order_topic(request.text)
    return bool(words) and len(words & set(query_words(text))) >= 0.6 * len(words)


def leaves_out(order: str) -> bool:
    """Return whether an order is not to keep what is said (`don't save that`), not to forget what is stored."""
    text = order.replace("’", "'")
    folded = text.lower()
    if not any(word in folded for word in _NEGATED):
        return False
    found = compiled(_LEFT_OUT_EN).search(text) or compiled(LEFT_OUT_ZH).search(text)
    return found is not None and compiled(_FORGET).search(text) is None


def names_a_matter(order: str) -> bool:
    """Return whether an order names its topic (`don't keep that about my bike`, `don't remember my rent`)."""
    return compiled(_MATTER).search(order) is not None and bool(order_topic(order, only=True))


_MATTER = (
    r"(?i:\babout\b|\b(?:remember|memori[sz]e)\s+(?:my|our|where|who|when|how|what)\b(?!\s+(?:I|we)\s+(?:just|said|told)))|"
    r"关于|的事|记[住着]?我(?!刚|说|们?说)"
)


def is_unresolved(request: ForgetRequest) -> bool:
    """Return whether a request names nothing and what it points at is not resolved yet."""
    return not request.said and not order_topic(request.text) and not names_everything(request.text)


def resolve_reference(request: ForgetRequest, earlier: str, later: str, before: Turn | None) -> ForgetRequest:
    """Resolve what a request points at, if it names nothing: the text beside it in its turn, else the turn before.

    Args:
        request: The request as it was said.
        earlier: The text before it in its turn; an order to remember there counts only if it stands right before.
        later: The text after it in its turn.
        before: The last earlier turn in which something was said, or None.
    """
    if not is_unresolved(request):
        return request
    own = _adjacent_statements(reversed(sentences(earlier)))
    if not own and compiled(_POINTS_ON).search(request.text):
        own = _adjacent_statements(sentences(later))
    if own:
        return replace(request, said=own, said_in=request.turn_id)
    if before is None:
        return request
    last = [one.text for one in sentences(before.text)][-1:] if compiled(_ONE_SENTENCE).search(request.text) else []
    return replace(request, said=" ".join(last) or before.text, said_in=before.id)


def _adjacent_statements(others: Iterable[Sentence]) -> str:
    """Return the statements next to an order, up to another; an order to remember counts if it is the first."""
    said: list[str] = []
    for one in others:
        kind = _kind(one.text)
        if kind == "forget" or (kind == "explicit" and said):
            break
        said.append(one.text)
        if kind == "explicit":
            break
    return " ".join(said) if content_size(" ".join(said)) > 1 else ""


@lru_cache(maxsize=128)
def order_topic(order: str, *, only: bool = False) -> frozenset[str]:
    """Return the topic words of an order to forget: those after its verb, else (not with `only`) those before it.

    After an order to forget follows the reason (`forget it, I was joking`), but after an order not to keep what is said
    may follow what is meant (`don't save this, I am ill`).
    """
    order = without_lead(order.replace("’", "'"))
    clause = compiled(_FORGOTTEN).search(order)
    words = _topic_words(f"{clause['held'] or ''} {clause['what']}") if clause else frozenset[str]()
    if words or only:
        return words
    if clause is None:
        return _topic_words(order)
    return _topic_words(f"{order[: clause.start()]} {order[clause.end() :] if leaves_out(order) else ''}")


def _topic_words(text: str) -> frozenset[str]:
    """Return the words of a text that are not common to all orders; none of a text of stop words alone."""
    text = compiled(_POINTING).sub(" ", text.rstrip(" 。.!！"))
    return frozenset(query_words(f"{text} {_FORGETTING}")).difference(query_words(_FORGETTING))


_FORGET = (
    r"(?i:\b(?:forget|delete|remove|erase|drop)\b|n['’]t want you to remember\b|stop remembering\b|忘掉|忘了|忘记|删掉|"
    r"删除|删了|清除|清空|抹掉|当我?没(?:说|讲|提)过?|(?:别|不要)再记(?:住|着|得)?(?=我|关于|[这那][个条件事])|(?:别|不要)记得)"
)
_NEGATED = ("n't", "not ", "dont ", "no need", "off the", "别", "不", "勿", "甭", "无", "没")
_LEFT_OUT_EN = rf"(?i:\b(?:{LEFT_OUT_EN}))"
_FORGOTTEN = rf"(?:{_FORGET}|{_LEFT_OUT_EN}|{LEFT_OUT_ZH})(?P<what>[^，,。！!？?；;\n]*)"
"""An order with its object: group `what` after the verb, or `held` before it: 别把…记下来."""

_POINTING = (
    r"把|一切|所有的?|全部的?|[这那](?:一|几|两)?[个条件句些](?:事情?|话)?|(?<![酒网贴])吧$|[刚上][才刚]?[那这一]?[句条](?:话)?|刚[才刚]?我?[说讲提]的?|"
    r"最后[那这一]{0,2}[句条](?:话)?|(?:本子|笔记|记忆)里?|"
    r"(?i:\bI(?:['’]ve)?\s+just\s+(?:said|told\s+you|wrote|mentioned)|\b(?:(?:the|my|that)\s+)?(?:very\s+)?last\s+(?:thing|sentence|"
    r"message|line|bit)(?:\s+(?:that\s+)?I\s+(?:just\s+)?(?:said|told\s+you|wrote|sent))?|\b(?:in|into|to|from)\s+(?:your|the)\s+"
    r"(?:memory|memories|notes?|book)\b|\bdown\s*$)"
)
"""Phrases that only point at something, or say where it must not be kept."""

_POINTS_ON = r"(?i:\bthis\b)|这|以下"
_ONE_SENTENCE = r"(?i:\bsentence\b)|句"

_FORGETTING = (
    "please forget that what I said about remember memory delete everything user know all just told mentioned "
    "no wait sorry never mind okay thanks either anywhere anyone anything was only joke joking kidding wrong mistake "
    "private secret personal sensitive confidential between us "
    "忘掉忘了吧那事我之前刚才说的那个想法当没讲过别记 关于 的话 话 件事 记忆 记录 算了 对不起 不好意思 谢谢 刚刚 上面 "
    "请 麻烦 帮我 一下 掉 开玩笑 玩笑 瞎说 乱说 说错 隐私 私事 秘密 保密 "
    "以上 随口说 随便说 说说而已 不重要 没事 提过"
)


def names_everything(order: str) -> bool:
    """Return whether an order is to forget everything, and names nothing."""
    if compiled(_EVERYTHING).search(order) is None or compiled(_JUST_NOW).search(order) or leaves_out(order):
        return False
    return not order_topic(order)


_EVERYTHING = r"(?i:\b(?:everything|all|memories|memory)\b)|一切|所有|全部|记忆"
_JUST_NOW = r"(?i:\b(?:just|last|earlier)\b|\b(?:that|this|it)\b(?!\s+(?:I|you)\b))|刚|[这那][个条件句些]"
