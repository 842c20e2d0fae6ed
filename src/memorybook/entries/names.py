"""Whether the names in a text are names that somebody used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from unicodedata import normalize

from memorybook.model import Entry
from memorybook.text.sentences import compiled, is_chinese
from memorybook.text.tokens import query_words, tokens

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
    "((?:[王李刘杨赵吴徐孙朱胡郭梁郑韩冯邓曹彭董潘袁蔡蒋杜魏吕沈姚卢姜崔谭廖贾邱侯邹秦阎薛贺黎郝龚邵覃]|欧阳|上官|诸葛|司马)"
    "[\u3400-\u9fff]{1,2}?)"
    r"(?=[的在要是会和与、，。（(）)提定从每对把被说订睡喜住转约用去参一前里上就已到]|负责|评审|维护|\s*\d|$)"
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
