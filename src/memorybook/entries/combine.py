"""Two wordings made one, and what must not get lost by it: numbers, dates and names of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from unicodedata import normalize

from memorybook.book import fade
from memorybook.entries.candidate import Candidate
from memorybook.model import TRUST_ORDER, Entry, Trust
from memorybook.text.days.readers import Named, named
from memorybook.text.numbers import figures
from memorybook.text.sentences import compiled, is_chinese
from memorybook.text.tokens import query_words, tokens

_WEEKDAY = (
    r"(?i)\b(?P<en>mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?s?\b|(?:周|星期|礼拜)(?P<zh>[一二三四五六日天])"
)
_WEEK = {name: place for place, name in enumerate("mon tue wed thu fri sat sun".split())} | {
    name: place for place, name in enumerate("一二三四五六日")
}


def missing(parents: Iterable[Entry | Candidate | str], text: str) -> tuple[str, ...]:
    """The numbers, dates, days of the week and names of the parents that a text lacks, each as `the number '300'`.

    Empty says that the text may stand for all of them. A number is kept in whatever notation (300, three hundred,
    三百), a date with at least the parts it had, a name as it was or shortened as people do.

    >>> missing(["Ann pays 300 euros", "Ann pays on Friday"], "Ann pays three hundred euros")
    ("the day 'Friday'",)
    """
    found: dict[str, None] = {}
    for parent in parents:
        parts = (parent, ()) if isinstance(parent, str) else (_text(parent), parent.entities)
        found.update(dict.fromkeys(_lost(*parts, text)))
    return tuple(found)


def merged(target: Entry, new: Entry, text: str, *, heard: bool) -> Entry:
    """The entry that takes the place of a known one and of a new statement; nothing of either's worth is lost.

    Args:
        target: What was known; the caller archives it, superseded by this one.
        new: What the new statement alone would become; its id, day and session are those of the merged entry.
        text: Of the merged entry; see `missing`.
        heard: Whether the target was heard in this session already, so that it is not reinforced by it again.
    """
    known = target if heard else fade.reinforced(target, new.scored)
    return replace(
        new,
        text=text,
        score=max(new.score, fade.strength(known, new.scored)),
        hits=known.hits,
        created=min((time for time in (target.created, new.created) if time is not None), default=None),
        tags=_joined(target.tags, new.tags),
        entities=_joined(target.entities, new.entities),
        links=_joined(target.links, new.links),
        contradicts=_joined(target.contradicts, new.contradicts),
        group=new.group or target.group,
        expires=new.expires or target.expires,
        metadata={**target.metadata, **new.metadata},
        trust=lowest(target.trust, new.trust),
    )


def _joined(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def lowest(one: Trust | None, other: Trust | None) -> Trust | None:
    """The lower of two trusts; None, a person's own hand, is the highest."""
    known = [trust for trust in (one, other) if trust is not None]
    return min(known, key=TRUST_ORDER.index, default=None)


def _text(parent: Entry | Candidate) -> str:
    return parent.text if isinstance(parent, Entry) else parent.content


# --- what a text lacks ---------------------------------------------------------------------------


def _lost(parent: str, entities: Iterable[str], text: str) -> Iterator[str]:
    yield from _lost_dates(parent, text)
    yield from _lost_days(parent, text)
    yield from _lost_numbers(parent, text)
    yield from _lost_names(parent, entities, text)


def _lost_dates(parent: str, text: str) -> Iterator[str]:
    kept = named(text)
    for one in named(parent):
        if not any(_holds(other, one) for other in kept) and not _counts(one, text):
            yield f"the date {parent[one.start : one.end].strip()!r}"


def _holds(one: Named, other: Named) -> bool:
    """Whether a date has every part that the other one has."""
    pairs = ((one.year, other.year), (one.month, other.month), (one.day, other.day))
    return all(part is None or have == part for have, part in pairs)


def _counts(one: Named, text: str) -> bool:
    """Whether what looks like a year may be a number that the text has."""
    return one.month is None and one.day is None and any(float(one.year or 0) in each.values for each in figures(text))


def _lost_days(parent: str, text: str) -> Iterator[str]:
    kept = {day for day, _ in weekdays(text)}
    for day, word in weekdays(parent):
        if day not in kept:
            yield f"the day {word!r}"


def weekdays(text: str) -> list[tuple[int, str]]:
    """The days of the week that a text names, Monday as 0, each with its words."""
    found = compiled(_WEEKDAY).finditer(text)
    return [(_WEEK[(one["en"] or one["zh"]).lower().replace("天", "日")], one[0]) for one in found]


def _lost_numbers(parent: str, text: str) -> Iterator[str]:
    dates = [(one.start, one.end) for one in named(parent)]
    kept = {value for one in figures(text) for value in one.values}
    for one in figures(parent):
        if one.sure and not one.values & kept and not any(start <= one.start < end for start, end in dates):
            yield f"the number {one.text!r}"


def _lost_names(parent: str, entities: Iterable[str], text: str) -> Iterator[str]:
    bare, words, kept = squeezed(text), set(tokens(text)), set(names_in(text, ()))
    for name in names_in(parent, entities):
        parts = set(tokens(name))
        if name not in kept and not parts <= words and (len(parts) < 2 or squeezed(name) not in bare):
            yield f"the name {name!r}"
    other = Said([text], ()).unfounded(parent, ())  # names that open a sentence, and what is quoted
    if other is not None:
        yield other


# --- names ------------------------------------------------------------------------------------------

_OTHER_NAMES = {
    "postgresql": ("postgres", "pg"), "postgres": ("pg",), "kubernetes": ("k8s",), "javascript": ("js",),
    "typescript": ("ts",), "python": ("py",), "github": ("gh",), "macos": ("mac",), "wechat": ("微信",),
    "database": ("db",), "continuous": ("ci",),
}  # fmt: skip
"""Names that people shorten."""

_NO_NAMES = frozenset(
    "i i'm i've i'd i'll ok okay todo user users assistant the a an and but so from by as of on in at to for with"
    " jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september"
    " october november december monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays english chinese am pm ai us".split()
)
_OPENERS = frozenset(
    "besides since until after before while when where although though because if unless once despite during without"
    " within instead rather also now currently recently originally officially initially later then there here both"
    " each every all some most many few several one two three another other others no none not never always usually"
    " this that these those his her their its my our your he she they it we you who what which how why people"
    " someone everyone anything something nothing speaker decided agreed planned according due given regarding about"
    " between through over under around against toward towards across per via only even just still yet today".split()
)


_HAN_NAME = (
    r"(?:^|[，,。；：:、（(）)\s]|[由给让和与跟找叫因定到去交把为女儿妻子同事习生总监测试])"
    "(?!胡萝|姜[丝汤茶]|董事|卢[森卡]|孙[子女]|杜绝|王[牌国]|李子|杨[梅柳])"
    "([老小](?:[王李张陈赵吴孙朱胡郭郑冯曹彭潘袁蔡蒋杜魏吕姚谭廖贾邱邹薛贺郝龚邵覃林何罗宋谢唐许曾苏丁叶任])|(?:[王李刘杨赵吴徐孙朱胡郭梁郑韩冯邓曹彭董潘袁蔡蒋杜魏吕沈姚卢姜崔谭廖贾邱侯邹秦阎薛贺黎郝龚邵覃]|欧阳|上官|诸葛|司马)"
    "[\u3400-\u9fff]{1,2}?"
    r"(?=[的在要是会和与、，。（(）)提定从每对把被说订睡喜住转约用去参一前里上就已到]|负责|评审|维护|\s*\d|$))"
)
"""A Chinese name where one may stand: a surname that begins few other words, and one or two characters."""


class Said:
    """Everything that was said or known, made ready for looking names up in it."""

    def __init__(self, texts: Iterable[str], known: Iterable[Entry]) -> None:
        texts = [*texts, *(text for entry in known for text in (entry.text, *entry.entities, entry.group or ""))]
        self._whole = "\n".join(texts)
        self._words = frozenset(word for text in texts for word in tokens(text))
        self._squeezed = squeezed(self._whole)
        self._initials = " ".join("".join(word[0] for word in re.findall("[a-z]+", text.lower())) for text in texts)

    def names(self, name: str) -> bool:
        """Whether somebody used this name: as it is, spelled apart, shortened, or most of a Chinese one."""
        bare = squeezed(name)
        short = len(bare) < 4 and bare.isascii()
        if not bare or (name in self._whole if short else bare in self._squeezed):  # Ann is not in planning
            return True
        if name.isascii() and name.isupper() and 2 <= len(name) <= 5 and bare in self._initials:
            return True  # ML, where machine learning was said
        latin = compiled(r"[a-z][a-z0-9+#]*|\d+").findall(fold(name))
        return all(map(self._has_word, latin)) and all(
            map(self._has_run, compiled("[\u3400-\u9fff]{2,}").findall(name))
        )

    def _has_word(self, word: str) -> bool:
        if len(word) == 1 or word in self._words or any(stem in self._words for stem in tokens(word)):
            return True
        if (len(word) >= 4 and word in self._squeezed) or (re.fullmatch(r"v\d+", word) and word[1:] in self._words):
            return True
        if any(other in self._words for other in _OTHER_NAMES.get(word, ())):
            return True
        people = re.fullmatch(r"([a-z]{3})[a-z]*(?:ish|ese|ian|ean|can|man)", word)  # Swedish, where Sweden was said
        return people is not None and any(other.startswith(people[1]) for other in self._words)

    def _has_run(self, run: str) -> bool:
        """Whether half of a Chinese name's pairs of characters were used, or the first of a long one."""
        pairs = [run[place : place + 2] for place in range(len(run) - 1)]
        if len(run) >= 4 and pairs[0] in self._squeezed:
            return True
        return sum(pair in self._squeezed for pair in pairs) * 2 >= len(pairs)

    def unfounded(self, content: str, entities: Iterable[str]) -> str | None:
        """The first name in a text that nobody used; None if there is none."""
        for name in names_in(content, entities):
            if not self.names(name):
                return f"the name {name!r}"
        first = _opening_name(content)
        if first is not None and not self.names(first):
            return f"the name {first!r}"
        for name in compiled(_HAN_NAME).findall(content):
            if not any(name[place : place + 2] in self._squeezed for place in range(len(name) - 1)):
                return f"the name {name!r}"
        for quoted in compiled(r"[「『《“\"]([^「」『』《》“”\"]{2,60})[」』》”\"]").findall(content):
            if not self._mostly(quoted):
                return f"the words {quoted!r}"
        return None

    def _mostly(self, quoted: str) -> bool:
        if squeezed(quoted) in self._squeezed:
            return True
        words = query_words(quoted)
        return sum(word in self._words for word in words) >= 0.5 * len(words)


def names_in(content: str, entities: Iterable[str]) -> Iterator[str]:
    """What in a text must be a name: entities that stand in it, capitalised words, identifiers, who is called what."""
    bare = squeezed(content)
    for entity in entities:
        if squeezed(entity) in bare and compiled("[A-Z0-9\u3400-\u9fff]").search(entity):
            yield entity
    yield from _latin(content)
    yield from compiled(
        "(?:名叫|名字是|名字叫|姓名是|(?<![作当称])叫做?)(?!用户|[我你他她它])((?:(?!的)[\u3400-\u9fff]){2,4})(?=[，。；、,.（(的]|$)"
    ).findall(content)


def _latin(content: str) -> Iterator[str]:
    """Capitalised words and identifiers; in an English text not those that only begin a sentence."""
    chinese = is_chinese(content)
    for found in compiled(r"[A-Za-z][\w'’]*(?:[.+#/@:-]?[\w+#]+)*").finditer(content):
        word = re.sub(r"['’]s?$", "", found[0])
        if word.lower() in _NO_NAMES or len(word) < 2:
            continue
        if compiled("[A-Z]{2,4}").fullmatch(word):
            continue  # NAS, DJ: a common noun more often than a name
        marked = re.search(r"[A-Z].*[A-Z]|\w[\d_./@:]+\w|\d", word) is not None
        begins = not chinese and re.search(r"(?:^|[.!?:;\n\"“])\s*$", content[: found.start()]) is not None
        if marked or (word[0].isupper() and not begins):
            yield word


def _opening_name(content: str) -> str | None:
    """The word that an English text begins with, where it reads like somebody's name: `Martin moved to …`."""
    found = compiled(r"([A-Z][a-z]{2,})(['’]s)?\s+([a-z]+)").match(content)
    if found is None or found[1].lower() in _OPENERS | _NO_NAMES or found[1].endswith(("ing", "ly")):
        return None
    return found[1] if found[2] or found[3] in _VERBS else None


_VERBS = frozenset(
    "lost went met said told asked wants wanted likes liked loves loved works worked lives lived moved prefers"
    " preferred decided plans planned bought started believes thinks thought hopes hoped needs uses used agreed joined"
    " studies studied teaches taught owns enjoys enjoyed hates knows knew feels felt keeps kept wrote writes reads runs"
    " ran took made got quit left wishes owes drives drinks eats cooks plays played speaks spoke visited attended"
    " married graduated learned practices practiced tries tried wears volunteers volunteered suggested advised".split()
)
"""What people do, and things hardly ever."""


def fold(text: str) -> str:
    """NFKC and lower case."""
    return normalize("NFKC", text).lower()


def squeezed(text: str) -> str:
    """A text as names are compared: folded, without spaces and marks."""
    return re.sub(r"[\W_]+", "", fold(text))
