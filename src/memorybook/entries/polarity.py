"""What a text affirms and what it denies, word by word, and whether one text says the contrary of another.

A denial reaches over the words after it, to the end of its clause; where it ends the clause (白酒不喝了, lamb is over),
over the topic before it as well. What undoes another denial (don't forget, never without, 别忘) affirms again. Of a
clause that excludes (only, unless, 只), and of what gave way to something (instead of, 从…换成), nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memorybook.text.numbers import WORDS
from memorybook.text.sentences import compiled
from memorybook.text.tokens import is_stop_word, query_words


class Clause(NamedTuple):
    """The words of a clause that it affirms, and those that it denies."""

    affirmed: frozenset[str]
    denied: frozenset[str]


def contrary(text: str, sources: Iterable[str], *, subject: str = "") -> str | None:
    """The word that a text affirms and its sources only deny, or the other way round; None if there is none.

    What a text denies must stand in a clause of the sources most of which it says: a denial is often inferred (韵达丢了
    我三单, so 不发韵达), an affirmation hardly ever. Words of `subject`, who it is about, are left out.
    """
    own, said = clauses(text), [clause for source in sources for clause in clauses(source)]
    affirmed = frozenset().union(*(one.affirmed for one in said))
    denied = frozenset().union(*(one.denied for one in said))
    left = frozenset(_words(subject.lower()))
    mine = frozenset().union(*(one.affirmed | one.denied for one in own)) - left
    turned = frozenset().union(*(one.affirmed for one in own if not one.denied)) & (denied - affirmed)
    refused = frozenset().union(*(one.denied for one in own if not one.denied & denied))
    refused -= frozenset().union(*(one.affirmed for one in own))
    for one in said:
        plain = one.affirmed - left
        if not one.denied and 2 * len(plain & mine) > len(plain):
            turned |= refused & plain
    return min(turned - left, key=lambda word: (text.lower().find(word), word), default=None)


@lru_cache(maxsize=20_000)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text that affirm or deny something, in order."""
    text = compiled(_NAMES).sub(lambda found: found[0].translate(_HIDING), text.lower())
    for pattern, mark in _MARKS:
        text = compiled(pattern).sub(mark, text)
    return tuple(_clause(part) for part in text.split(_END) if _OPEN not in part and compiled(r"\w").search(part))


def _clause(text: str) -> Clause:
    affirmed: set[str] = set()
    denied: set[str] = set()
    topic: set[str] = set()
    denies = False
    for mark, part in compiled(f"([{_NOT}{_UNDO}{_LAST}]?)([^{_NOT}{_UNDO}{_LAST}]*)").findall(text):
        denies = not denies if mark == _UNDO else denies or bool(mark)
        if mark == _LAST:
            denied |= topic
            affirmed -= topic
        (denied if denies else affirmed).update(_words(part))
        topic = _words(compiled("[了过]").split(part)[-1])
    return Clause(frozenset(affirmed), frozenset(denied))


def _words(text: str) -> set[str]:
    """Stems of Latin words, and Chinese pairs of characters: single ones stand in too many words."""
    spoken = [word for word in compiled(_LATIN).findall(text) if not word.isdigit() and not is_stop_word(word)]
    found = {query_words(word)[0] for word in spoken if len(word) > 1 and word not in _EMPTY and word not in WORDS}
    for run in compiled("[\u3400-\u9fff]+").findall(text):
        found.update(one + other for one, other in pairwise(run) if "的" not in one + other)
    return found


_EMPTY = frozenset("now then before after here there".split())
_LATIN = r"[a-z0-9](?:[\w+#./-]*[\w+#])?"
_NOT, _UNDO, _LAST, _OPEN, _END = "\ue000\ue001\ue002\ue003\ue004"
_HIDING = str.maketrans("不没无别未", "□□□□□")
_NAMES = r"[「『《“\"][^「」『』《》“”\"]{1,20}[」』》”\"]"
_DONE = rf"\s*(?=\(|$|{_END})"
_NO = r"不(?:要|能|许|准|用|再|可以?|该|让|给)?|没有?|(?<![特分个区类级性差告])别(?![的人处墅名样致])|勿"
_MARKS: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:only|except|unless|until|till|nothing but|no (?:more|later|less) than|at (?:most|least))\b"
        r"|只(?!身)|仅|除[了非]?|才|最多|以外|之外",
        _OPEN,
    ),
    (r"\b(?:instead of|rather than)\b|而不是", _END + _OPEN),
    (r"从[\u3400-\u9fffa-z0-9 ]{1,12}?(?=[换改转])|\bfrom [^,.;]{1,40}? (?=to\b)", _END),
    (
        r"[。！？!?；;–—()（）|\n…]|[:：](?!\s*(?:never|no|not|不|别)\b)|\.(?=\s|$)|\s-\s"
        r"|\b(?:but|because|although|though|while|which|who)\b"
        r"|且|但是?|而(?!是)|因为?|所以|(?<![以之今往最])后(?![天来])",
        _END,
    ),
    (rf",(?![^,;.{_END}]{{1,30}}\b(?:or|nor)\b)|，", _END),
    (
        r"不(?:错|仅|但|管|论|少|断|久|止|同|变|可或缺|得不|过(?!敏|分|瘾))|无(?:论|线|锡)|未来|没收|没有?忘"
        r"|([\u3400-\u9fff])不\1|不是(?:说)?不|不能不|没有不|[\u3400-\u9fff]不[住动到起下完好开上出来清见着]"
        r"|(?:不要|别|勿|不能|不许)[让叫使]?[我你他她它]?忘[了记掉]?"
        r"|\b(?:can['’]?t|cannot) wait\b|\bnot without\b|\b(?:don['’]?t|do not|never|not)\s+(?:ever\s+)?forget\b",
        " ",
    ),
    (
        r"\b(?:left alone|never again|no more|no way|no thanks)\b"
        rf"|(?:\b(?:is|are|was)|['’]s) (?:over|out|off|done|gone|history){_DONE}"
        rf"|(?:取消|作废|戒|停[了止用掉做更订打吃喝练]?|退[了掉出])[了吧啊呢的吗]*{_DONE}"
        rf"|(?:{_NO})(?=[\u3400-\u9fff]?[了的吧啊呢吗过着]*{_DONE})",
        _LAST,
    ),
    (
        r"\b(?:without|forg[eo]t\w*|avoid\w*|stop(?:s|ped|ping)?(?= +[a-z])|quit(?:s|ting)?|refus\w+|cancel\w*"
        r"|(?:gave|giv\w+) up|pack(?:s|ed|ing)? in|free of|(?:can['’]?t|cannot) stand|dislik\w+|hat(?:e|es|ed))\b"
        r"|忘了?|戒[了掉]?|避[开免]|拒绝|禁止",
        _UNDO,
    ),
    (
        r"\b(?:no longer|not|no|never|none|neither|nor|cannot|nobody|nothing)\b|\b\w+n['’]t\b"
        rf"|{_NO}|无[法需意权]|未|停[了止用掉做更订打吃喝练]|取消|作废",
        _NOT,
    ),
)
"""Marks of what is left open, of the end of a clause, of what only looks like a denial, and of the kinds of denials."""
