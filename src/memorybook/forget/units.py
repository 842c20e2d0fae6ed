"""Sentences and clauses as spans of a text; classified clauses, the topic of an order, statements by their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from memorybook.forget.order_patterns import RATHER_NOT
from memorybook.text.sentences import compiled
from memorybook.text.tokens import USER_WORDS, normalise, query_words, says_something, tokens

if TYPE_CHECKING:
    from memorybook.model import Entry, Turn


class Unit(NamedTuple):
    """A clause of a text.

    Attributes:
        start, end: Its span, with the punctuation and white space after it.
        text: Its text, stripped.
        sentence: Index of its sentence in the text.
    """

    start: int
    end: int
    text: str
    sentence: int


@lru_cache(maxsize=20_000)
def units(text: str) -> tuple[Unit, ...]:
    """Return the clauses of a text, which together cover it; for machine output, the members of objects."""
    found: list[Unit] = []
    for number, (start, end) in enumerate(_sentences(text)):
        part = text[start:end]
        cuts = [0, *_joints(part, _MEMBER if is_machine(part) else _JOINT), len(part)]
        for first, last in pairwise(cuts):
            if part[first:last].strip():
                found.append(Unit(start + first, start + last, part[first:last].strip(), number))
    return tuple(found)


def sentences_in(text: str) -> list[str]:
    """Return the sentences of a text, stripped."""
    return [part for start, end in _sentences(text) if (part := text[start:end].strip())]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in compiled(_END).finditer(text):
        if found["dot"] and compiled(_ABBREVIATED).search(text[max(0, found.start() - 8) : found.end("dot")]):
            continue
        if text[start : found.end()].strip():
            yield start, found.end()
            start = found.end()
    if text[start:].strip():
        yield start, len(text)


_DATED = r"\s*[(（]\d{4}-\d\d-\d\d[)）]\s*"
"""The date in parentheses after a statement, which belongs to its sentence."""

_END = rf"[。！？；!?]+[”’」』）)\"']*(?:{_DATED}|\s*)|(?P<dot>\.)[.\"')\]]*(?:{_DATED}|\s+|$)|…+\s*|\n+"
_ABBREVIATED = r"(?:\b(?:[Mm]rs?|[Mm]s|[Dd]r|[Ss]t|e\.g|i\.e|vs|no|No|approx)|(?:^|\s)[A-Z])\.$"


def _joints(text: str, pattern: str) -> list[int]:
    return [found.end() for found in compiled(pattern).finditer(text)]


_MEMBER = r",\s*(?=[\"'\w]+\s*[:=])"
"""Where a member of an object ends in machine output."""


_JOINT = (
    r"[，；]\s*|(?<!\d)[,;]\s+|(?<=\d)[,;]\s+(?=\D)|(?<=\w)[:：]\s+|：(?=\S)|\s+[–—-]{1,2}\s+"
    r"|\s+(?=(?:and|but|while|whereas)\s+(?:(?:my|our|his|her|their|the)\s+(?:\w+['’]s\s+)?\w+\s+"
    r"(?:is|are|was|were|has|have|had|likes?|lives?|works?)|I|we|he|she|they)\s)"
    r"|(?<=[\u3400-\u9fff])(?=(?:而|并且|而且|但是?)(?:我|用户)的?)"
)


def is_label(clause: str) -> bool:
    """Return whether a clause only introduces the next one: `Remember:`."""
    return clause[-1:] in (":", "：")


def is_machine(line: str) -> bool:
    """Return whether a line looks like JSON, markup or code."""
    return re.search(r"[{\[(<]\"|\":|->|=>|::", line) is not None


@lru_cache(maxsize=50_000)
def words_of(text: str) -> frozenset[str]:
    """Return the words that identify a statement: no stop words, no words for the user."""
    return frozenset(query_words(text.replace("用户", "我"))) - USER_WORDS


@lru_cache(maxsize=50_000)
def plain_of(text: str) -> str:
    """Return what texts that are equal but for case, width, spaces and a full stop have in common."""
    return normalise(text)


def whole_words(words: Iterable[str]) -> frozenset[str]:
    """Return the words without the parts of compound ones: of `edge-12`, not `edge` and `12`."""
    found = frozenset(words)
    joined = [word for word in found if re.search(r"\w[-_./@:+]\w", word)]
    return found.difference(part for word in joined for part in tokens(word) if part != word)


@lru_cache(maxsize=50_000)
def whole_tokens(text: str) -> frozenset[str]:
    """Return the tokens of a text without the parts of compound ones."""
    return whole_words(tokens(text))


def unique_figures(words: Iterable[str]) -> frozenset[str]:
    """Return the words with each grouped number once: of 85,000, not the tokens 85, 000 and 85000."""
    found = frozenset(words)
    grouped = [word for word in found if word[0].isdigit() and not word.isdigit()]
    return found.difference(part for word in grouped for part in tokens(word) if part != word)


def is_word(word: str) -> bool:
    """Return whether a token is a whole word; a single Han character is not."""
    return word.isascii() or len(word) > 1


@lru_cache(maxsize=50_000)
def values_of(text: str) -> frozenset[str]:
    """Return the numbers, identifiers and proper names of a text, as tokens."""
    found: set[str] = set()
    for value in compiled(_VALUES).findall(text):
        if compiled(_DAY).fullmatch(value):
            continue
        found.update(whole_words(word for word in tokens(value) if len(word) > 1 and any(map(str.isalnum, word))))
    return frozenset(found)


_DAY = (
    r"(?i)(?:mon|tues|wednes|thurs|fri|satur|sun)days?|"
    r"(?:jan|febr)uary|march|april|may|june|july|august|\w+ember|october"
)


def is_id(value: str) -> bool:
    """Return whether a value is an identifier or a long number, which means the same anywhere; amounts do not."""
    if re.fullmatch(r"[\d.,:]*\d(?:k|m|km|kg|g|mg|ml|l|cm|mm|mb|gb|h|am|pm|th|st|nd|rd)?", value):
        return len(value) >= 7 and value.isdigit()
    return len(value) >= 4 and any(map(str.isdigit, value))


_VALUES = (
    r"(?<![\w.])(?:[\w-]*\d[\w.,:-]*\d[\w-]*|\d+)(?![\w])|"
    r"(?<=[^.!?。！？\s] )(?!I\b)[A-Z][\w'-]+|[A-Z][a-z]+-[A-Z][\w-]+|"
    r"^[A-Z][a-z]+(?=,|'s\b|\s+[A-Z])|(?<=[\u3400-\u9fff])[A-Za-z][\w-]+|[零一二两三四五六七八九十百千万]{3,}|(?<=[叫姓])[\u3400-\u9fff]{1,3}(?=[，。,\s]|$)"
)


def corrects(text: str, said: Collection[str]) -> bool:
    """Return whether a turn begins by correcting what these words said: `scratch that`, `no, Friday`, 打错, 呸.

    A turn that continues with its own subject and shares no word answers something else: `no, but I …`.
    """
    text = text.replace("’", "'")
    if compiled(_CORRECTS_SURELY).match(text):
        return True
    found = compiled(_MAY_CORRECT).match(text)
    if found is None:
        return False
    rest = text[found.end() :].lstrip(" ,，.!—–-")
    return compiled(_SUBJECT).match(rest) is None or not words_of(rest).isdisjoint(said)


_FILLED = r"(?i)\W*(?:(?:oh|ah|er+|hm+|um+|uh|sorry|oops|argh)[\s,.!-]+)*"
_CORRECTS_SURELY = (
    _FILLED + r"(?:no\s*,?\s*wait|scratch\s+that|correction\b|i\s+(?:meant|mean)\b|make\s+that\b|my\s+(?:bad|mistake)|"
    r"(?:that|it)'s\s+wrong|typo\b|hmm\b.*?\bno\s+wait|actually,?\s+(?:it'?s|that'?s|make))"
    r"|\W*(?:打错|说错|写错|搞错|记错|看错|弄错|口误|手误|呸|更正|纠正|错了)"
)
_MAY_CORRECT = _FILLED + r"(?:wait\b|sorry[,:]|oops|no,|nope\b|not\s+\S+,)|\W*(?:不对|啊不|不不|不是[，,]|噢不|哦不)"
_SUBJECT = (
    r"(?i)(?:(?:but|and|so|then|now|please|well)[,\s]+)*(?:I|we|my|our|you|your|can|could|would|will|let's|what|how|when|"
    r"where|who|why|is|are|do|does|[a-z]+\s+(?:is|are|was|has|have|had|will|starts?|needs?|wants?))\b"
    r"|(?:但是?|不过|可是|那)?(?:我|咱|你|您|请|帮)"
)


def is_of_another(text: str, said: Collection[str]) -> bool:
    """Return whether a sentence begins with a subject that these words do not name: `My brother …`, `Bob: …`."""
    found = compiled(_OF_WHOM).match(text.replace("’", "'"))
    if found is None:
        return False
    return words_of(found[found.lastgroup or 0]).isdisjoint(said) and values_of(text).isdisjoint(said)


_OF_WHOM = (
    r"\W*(?:(?i:and|but|also|oh|so)[,\s]+)?(?:(?i:my|our|his|her|their)\s+(?P<kin>\w+)|(?P<name>[A-Z][a-z]+)(?=\s+[a-z]+s\b|:)"
    r"|(?:我的?|咱们?的?|他的?|她的?)(?P<han>[\u3400-\u9fff]{1,2}?(?:妈|爸|哥|弟|姐|妹|子|女|儿|事|友|生|医|师|亲|公|婆|父|母))(?=也|都|是|[\u3400-\u9fff]))"
)


def counts_another(text: str, said: Collection[str]) -> bool:
    """Return whether a clause gives the number of something else: `the laptop costs 1,250`, not `so 1,250 then`."""
    if re.search(r"(?i)\byou|[你您]", text):
        return False
    return len({word for word in words_of(text) if is_word(word) and not word[0].isdigit()}.difference(said)) >= 2


def continues(text: str) -> bool:
    """Return whether a clause continues the one before it: it has a pronoun, or no subject of its own."""
    plain = text.replace("’", "'").strip()
    if compiled(_TURNS_TO).match(plain):
        return False
    if compiled(_POINTS).search(plain):
        return True
    if re.search(r"我(?!们?[的家这])", plain):
        return False
    return compiled(_OWN).match(plain) is None and re.search(r"[?？]\s*$|吗", plain) is None


def depends_on(text: str, before: str) -> bool:
    """Return whether a clause depends on the one before it: by a pronoun, a relative, or that clause's subject.

    A clause about the user stands alone: in `I'm Petra, and run a studio with Joost` only the second half is Joost's.
    """
    if refers_back(text) or re.match(r"(?i)\W*(?:who|whose|whom|which|where|that)\b", text):
        return True
    return continues(text) and not is_about_user(before)


def is_about_user(text: str) -> bool:
    """Return whether the subject of a clause is the user."""
    return re.match(r"(?i)\W*(?:(?:and|but|so)\s+)?(?:I|we)\b|[而但]?是?[我咱](?!们?的)", text) is not None


def refers_back(text: str) -> bool:
    """Return whether a clause has a pronoun for somebody or something named before it."""
    return compiled(_POINTS).search(text.replace("’", "'")) is not None


def is_about(text: str, names: Collection[str]) -> bool:
    """Return whether one of these names is the subject of a clause: among its first two words after any lead-in."""
    for word in tokens(
        re.sub(r"^\W*(?:(?:and|but|so|oh|also|then|well|welcome to|noted)\b[\s,:]*)+", "", text, flags=re.I)
    )[:2]:
        if word in names:
            return True
    return False


def starts_with_pronoun(text: str) -> bool:
    """Return whether a text begins with a pronoun for a person named before."""
    return compiled(r"(?i)(?:he|she|they)\b|[他她]").match(text) is not None


_TURNS_TO = (
    r"(?i)(?:oh,?\s+(?:and|by)|also\b|by\s+the\s+way|btw\b|another\s+thing|besides|and\s+(?:the|my|our|one)\b|plus\b)"
    r"|另外|所以|因此|于是|改[走用]|还有|顺便|对了|再说|其次|至于|换个"
)
_POINTS = r"(?i)\b(?:it|its|he|him|his|she|her|hers|they|them|their)(?:'s|'re|'ll)?\b|[他她它]|^[这那]"
_OWN = (
    r"(?i)(?:(?:and|but|so|then|now|please|well|ok(?:ay)?)[,\s]+)*(?:I|we|my|our|you|your|let's|can|could|would|what|how|"
    r"when|where|who|why|is|are|do|does)(?:'\w+)?\b|(?:那|所以|但是?|不过)?(?:我|咱|你|您|请|帮)"
)


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text without these spans and meaningless remains of their sentences; "" if nothing is left."""
    cuts = sorted(spans)
    parts = units(text) if cuts else ()
    for number in {part.sentence for part in parts if any(a <= part.start < b for a, b in cuts)}:
        rest = [p for p in parts if p.sentence == number and not any(a <= p.start < b for a, b in cuts)]
        if not any(says_something(part.text) for part in rest):
            cuts = sorted([*cuts, *((part.start, part.end) for part in rest)])
    if not cuts:
        return text
    pieces, last = [], 0
    for start, end in cuts:
        if start > last:
            pieces.append(text[last:start])
        last = max(last, end)
    pieces.append(text[last:])
    left = ""
    for piece in pieces:
        if piece.strip():
            left = _join(left, piece)
    left = repair_end(left) if last >= len(text.rstrip()) else left
    return left if says_something(left) else ""


def repair_start(text: str) -> str:
    """Repair the beginning of a cut text: drop a leading conjunction, capitalise the first letter."""
    left = re.sub(r"^\W*(?:(?i:and|but|while|also)\b\W*|[而且并但]是?(?=[我用他她]))?", "", text)
    return left[:1].upper() + left[1:]


@lru_cache(maxsize=50_000)
def first_person(text: str, *, they: bool = False) -> str:
    """Rewrite a statement about the user in the first person; with `they`, that pronoun stands for the user."""
    for said, own in (("the user['’]s", "my"), ("the user", "I"), *((("their", "my"), ("they", "I")) if they else ())):
        text = re.sub(rf"(?i)\b{said}\b", own, text)
    return text.replace("用户", "我")


def _join(left: str, piece: str) -> str:
    if left and re.search(r"[,;:，；：]\s*$", left) and re.search(r"[.!?。！？]\s*$|\n", left[-3:]) is None:
        left = re.sub(r"[,;:，；：]\s*$", "", left) if not piece.strip() else left
    return left + piece


def repair_end(text: str) -> str:
    """Repair the end of a cut text: drop trailing commas, colons, dashes and white space."""
    return re.sub(r"[\s,;:，；：–—-]+$", "", text)


def statement_key(text: str) -> str:
    """Return a key that statements share if they differ only in person and stop words; "" if they say too little.

    >>> statement_key("I'm allergic to hazelnuts.") == statement_key("The user is allergic to hazelnuts")
    True
    """
    from memorybook.entries.same import denies

    text = text.replace("’", "'").replace("用户", "我")
    if text.isascii():  # whose telling words stand in their order
        said = [word for word in query_words(text) if word not in USER_WORDS]
    else:
        known = words_of(text)
        said = [word for word in tokens(text) if word in known]
    if len(set(said)) < 2:
        return ""
    asked = "?" if re.search(r"[?？]\s*$", text) else ""
    return f"says {'not ' if denies(text) else ''}{' '.join(dict.fromkeys(said))}{asked}"


# --- topic ------------------------------------------------------------------------------------------


class Topic(NamedTuple):
    """The topic of an order to forget.

    Attributes:
        words: Words to find in memories.
        names: Those of them that only say whose it is; they do not suffice alone.
        person: Whether everything about a person is meant (`forget her`, 他的事都删了).
        own: Whether it belongs to the user: `my car`, 我家.
    """

    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    person: bool = False
    own: bool = False


def topic_of(order: str) -> Topic:
    """Return the topic of an order: the object of its verb, or what a pronoun there refers to in other clauses."""
    text = order.replace("’", "'")
    parts = [part for part in compiled(_CLAUSE).split(text) if part and part.strip()]
    ordered = next((place for place, part in enumerate(parts) if compiled(_VERB).search(part)), None)
    if ordered is None:
        return _topic(text)
    places = [ordered, *range(ordered - 1, -1, -1), *range(ordered + 1, len(parts))]
    found = _topic(parts[ordered])
    points = compiled(_POINTS_TOPIC).search(parts[ordered]) is not None
    if found.words and not points:
        return found
    for place in places[1:]:
        other = _topic(parts[place])
        if other.words:
            named = [] if other.names else compiled(_NAME).findall(parts[place])
            words = frozenset[str]().union(*map(_topic_words, named)) or other.words
            person = compiled(_SOMEBODY).search(parts[ordered]) is not None
            return other._replace(words=found.words | words, person=person)
    return found


_CLAUSE = r"[,，;；。!！\n]|[.](?:\s|$)"
_POINTS_TOPIC = r"(?i:\b(?:that|it|them|him|her|this|those)\b(?!\s+(?:I|we|my|our)\b))|[他她它](?!们)|相关|这些|那些"
_SOMEBODY = r"(?i:\b(?:him|her|them)\b)|[他她]的?(?:事|信息|资料|$)"
_NAME = r"(?<![\w'])(?!(?:I|My|We|Our|The|It|He|She|They|That|This|You|Please|A|An)\b)[A-Z][\w-]*(?:\s+[A-Z][\w-]+)*"
_VERB = (
    r"(?i:\b(?:forget|delete|remove|erase|drop|wipe|strike|withdraw|clear|scrub|purge|stop\s+remembering|leave\b.*\bout)\b|"
    r"\b(?:don't|do\s+not|needn't)\s+(?:need\s+to\s+)?(?:know|keep|remember|store|save)\b)|"
    r"忘|删|清|抹|去掉|取消|作废|别|不要|不用|不必|不许|勿"
)


def _topic(part: str) -> Topic:
    """Return the topic of one clause, without words that order or point."""
    plain = compiled(_ORDERING).sub(" ", part)
    words = _topic_words(plain)
    owner = compiled(_OWNER).search(part)
    of_whom = _topic_words(next(filter(None, owner.groups()))) if owner is not None else frozenset[str]()
    of_whom |= words & _WHICH
    names = of_whom if words - of_whom else frozenset[str]()
    own = re.search(r"(?i)\b(?:my|our|I|we)\b|我|咱", part) is not None
    return Topic(words, names, own=own)


_OWNER = (
    r"\b(?:my|our)\s+(\w+)\s+(?:has|had|is|was|does|did|goes|went|wants)\b|"
    r"\b([A-Z]\w+)(?:'s\b|'\s|\s+asks?\b|\s+wants?\b)|^([\u3400-\u9fff]{1,4}里)有"
    r"|([\u3400-\u9fff]{1,3}(?:先生|女士|老师|师傅|阿姨|叔叔))(?!的?(?:事|信息|资料|话))"
)


def _topic_words(text: str) -> frozenset[str]:
    return whole_words(frozenset(query_words(f"{text} {_SMALL}")).difference(query_words(_SMALL)) - USER_WORDS)


_WHICH = frozenset(query_words("new old current former latest previous 新 旧 新的 旧的 现在 原来 以前"))
"""Words that only select one of several."""

_ORDERING = (
    rf"(?i:\b(?:{RATHER_NOT}|please|kindly|forget|delete|remove|erase|drop|wipe|strike|withdraw|clear|scrub|purge|leave|"
    r"out\s+of|everything|anything|whatever|"
    r"all\s+of\s+(?:that|it)|all|from\s+(?:your|the)\s+(?:memory|memories|records?|notes?|file|book)|(?:of|in)\s+your\s+memory|"
    r"from\s+now\s+on|what\s+I\s+(?:ever\s+)?(?:told|said)(?:\s+to)?(?:\s+you)?|"
    r"you\s+(?:don't|do\s+not)\s+(?:need|have)\s+to\s+(?:know|remember)|(?:you\s+)?(?:know|remember)|stop\s+remembering|"
    r"(?:don't|do\s+not)\s+(?:keep|store|save|remember)|about|details?|information|info|business|stuff|thing|including|"
    r"asks?\s+us\s+to|wants?\s+us\s+to|is\s+confidential|talk)\b)|"
    r"把|请|麻烦|帮我|先(?=别|不)|也|都|全|再|以后|"
    r"(?:忘(?:掉|记|了)?|删(?:掉|除|了)?|清(?:掉|除|空|了)?|抹(?:掉|去)?|去掉|取消|作废)(?:了)?(?:吧|啊)?|"
    r"(?:别|不要|不用|不必|不许|勿)(?:再)?(?:记|留|存|出现|提)?(?:着|住|了|下|录)?|"
    r"(?:的)?(?:那|这)(?:件|条|个|些|单|事)?(?:事情?)?|相关的?|的?(?:事情?|信息|记录|资料|话|情况)(?=$|\s|[^\w]|都|你|先|别|不|他|她|删)"
)
FORM = 6
"""Letters that two stems of one word share at least."""

_SMALL = (
    "please forget delete remove everything user memory records file them that it mind changed told said whatever "
    "none your now confidential 忘掉 删除 事 那个 这个 那条 信息 记录 相关 他的 她的 它的 别留 不要 别记"
)


def as_said(topic: Topic, known: Mapping[str, int]) -> Topic:
    """Return a topic in the forms that a book has of words it does not have: `allergic` where an order says `allergy`.

    `known` counts the words of the book.
    """
    strange = [word for word in topic.words if not known.get(word)]
    forms = {word: one for word in strange for one in known if _is_form(word, one)}
    words, names = (frozenset(forms.get(word, word) for word in group) for group in (topic.words, topic.names))
    return topic._replace(words=words, names=names)


def _is_form(word: str, other: str) -> bool:
    """Return whether two stems are of one word: they differ by their last letter alone, and share `FORM` letters."""
    shared = max(len(word), len(other)) - 1
    return word.isascii() and shared >= FORM and word[:shared] == other[:shared]


def queries_for(topic: Topic) -> Iterator[str]:
    """Yield search queries for a topic: all of its words, then each."""
    if topic.words:
        yield " ".join(sorted(topic.words))
    yield from (word for word in sorted(topic.words) if re.search(r"\w", word))


# --- what says a statement ----------------------------------------------------------------------

TurnKey = tuple[str, str]
"""Session and id of a turn."""

Place = str | tuple[str, str]
"""Id of an entry, or path and line."""


def turn_ids(source: str | None) -> list[str]:
    """Return the ids of the turns that an entry's source names."""
    return re.findall(r"turn:([^\s,;]+)", source or "")


class Found(NamedTuple):
    """Everything that states something, ready to be cut.

    Attributes:
        entries: Entries; those in `left` have only the text to remove.
        left: Text that stays of partly removed entries and lines, by id or (path, line).
        notes: Notes, and lines that a person wrote, as (path, line).
        cuts: Spans to cut by turn.
        turns: The turns of `cuts`.
        texts: Every text to remove.
        values: Names and identifiers that only these have.
        told: Texts of the entries and notes.
        pages: Sentences that only summaries have, as (path, sentence).
        rare: Words that only these have.
        named: Topic words that led to it.
    """

    entries: tuple[Entry, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    cuts: Mapping[TurnKey, tuple[tuple[int, int], ...]] = {}
    turns: Mapping[TurnKey, Turn] = {}
    texts: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    told: tuple[str, ...] = ()
    pages: tuple[tuple[str, str], ...] = ()
    rare: frozenset[str] = frozenset()
    left: Mapping[Place, str] = {}
    named: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.entries or self.notes or self.cuts or self.pages)

    @property
    def memories(self) -> int:
        """Number of memories: entries, notes, and cut pieces of turns that no entry here has as its source."""
        rested = {id for entry in self.entries for id in turn_ids(entry.source)}
        others = [spans for (_, turn), spans in self.cuts.items() if turn not in rested]
        return len(self.entries) + len(self.notes) + sum(len(merge_spans(spans)) for spans in others)


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order, touching or overlapping ones merged."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def merge_found(parts: Iterable[Found]) -> Found:
    """Merge several results into one without duplicates."""
    entries: dict[str, Entry] = {}
    lines: Counter[tuple[str, str]] = Counter()
    pages: dict[tuple[str, str], None] = {}
    cuts: dict[TurnKey, dict[tuple[int, int], None]] = {}
    turns: dict[TurnKey, Turn] = {}
    texts: dict[str, None] = {}
    told: dict[str, None] = {}
    left: dict[Place, str] = {}
    values = rare = named = frozenset[str]()
    for part in parts:
        for line in part.notes:
            if line in lines and line not in part.left:
                left.pop(line, None)
        for entry in part.entries:
            stays = part.left.get(entry.id, "")
            if entry.id in left:  # both leave something of it, or one takes it whole
                stays = stays and left.pop(entry.id).replace(entry.text, "").strip()
            if entry.id not in entries or left.get(entry.id) != stays:
                entries[entry.id] = entry
            left |= {entry.id: stays} if says_something(stays) else {}
        lines |= Counter(part.notes)
        left |= {place: stays for place, stays in part.left.items() if place not in left and not isinstance(place, str)}
        pages |= dict.fromkeys(part.pages)
        for key, spans in part.cuts.items():
            cuts.setdefault(key, {}).update(dict.fromkeys(spans))
        turns |= part.turns
        texts |= dict.fromkeys(part.texts)
        told |= dict.fromkeys(part.told)
        values |= part.values
        rare |= part.rare
        named |= part.named
    spans_of = {key: tuple(sorted(spans)) for key, spans in cuts.items()}
    notes_of = tuple(lines.elements())
    return Found(
        tuple(entries.values()),
        notes_of,
        spans_of,
        turns,
        tuple(texts),
        values,
        tuple(told),
        tuple(pages),
        rare,
        left,
        named,
    )


# --- statements by their words, instead of comparing each with all others -------------------------


class WordSets:
    """Sets of words, numbered in the order given; equal ones have the number of the first, empty ones none."""

    def __init__(self, sets: Iterable[frozenset[str]]) -> None:
        self.sets = list(sets)
        self._holding: dict[str, set[int]] = {}
        first = {words: number for number, words in reversed(list(enumerate(self.sets))) if words}
        for words, number in first.items():
            for word in words:
                self._holding.setdefault(word, set()).add(number)
        self._by_rarest: dict[str, list[int]] = {}
        for words, number in first.items():
            self._by_rarest.setdefault(min(words, key=self._frequency), []).append(number)
        self._rarest = frozenset(self._by_rarest)
        self._contains: dict[frozenset[str], bool] = {}

    def _frequency(self, word: str) -> tuple[int, str]:
        return len(self._holding.get(word, ())), word

    def around(self, words: frozenset[str]) -> Iterable[int]:
        """Return the sets that contain all of these words; none if there are no words."""
        if not words <= self._holding.keys():
            return ()
        held = sorted((self._holding[word] for word in words), key=len)
        return held[0].intersection(*held[1:]) if len(held) > 1 else held[0] if held else ()

    def contains(self, words: frozenset[str]) -> bool:
        """Return whether a set contains all of these words; False if there are no words."""
        known = self._contains.get(words)
        if known is None:
            known = self._contains[words] = bool(self.around(words))
        return known

    def within(self, words: frozenset[str]) -> list[int]:
        """Return the sets that have no other words than these."""
        near = words & self._rarest
        return [number for word in near for number in self._by_rarest[word] if self.sets[number] <= words]

    def nested(self, words: frozenset[str]) -> list[int]:
        """Return the sets that contain all of these words or have no others; equal ones may come twice."""
        return [*self.within(words), *self.around(words)]

    def share(self, words: frozenset[str], least: int) -> bool:
        """Return whether a set shares at least so many of these words, `least` > 0."""
        known = sorted((word for word in words if word in self._holding), key=self._frequency)
        rarest = known[: max(0, len(known) - least + 1)]  # a set without any of these shares too few
        near = {number for word in rarest for number in self._holding[word]}
        return any(len(words & self.sets[number]) >= least for number in near)


_GRAM = 6
"""Most characters by which texts are looked up inside of others."""


class Substrings:
    """Texts of one line each, to be looked for inside of others and the other way around."""

    def __init__(self, texts: Iterable[str]) -> None:
        texts = list(dict.fromkeys(texts))
        self._size = min([_GRAM, *map(len, texts)])
        many = Counter(gram for text in texts for gram in self._grams(text))
        self._by_rarest: dict[str, list[str]] = {}
        for text in texts:
            self._by_rarest.setdefault(min(self._grams(text), key=lambda gram: many[gram]), []).append(text)
        self._known = frozenset(many)
        self._joined = "\n".join(texts)

    def _grams(self, text: str) -> set[str]:
        return {text[start : start + self._size] for start in range(len(text) - self._size + 1)}

    def stands_in(self, text: str) -> bool:
        """Return whether one of the texts is a part of this one."""
        return any(one in text for gram in self._grams(text) for one in self._by_rarest.get(gram, ()))

    def has_part(self, text: str) -> bool:
        """Return whether this text, of one line, is a part of one of the texts."""
        return bool(self._by_rarest) and self._known.issuperset(self._grams(text)) and text in self._joined


def any_of(forms: Collection[bytes], depth: int = 8) -> bytes:
    """Return a pattern of any of these, as a tree by their first bytes: a search tries those alone that may match."""
    if depth == 0 or len(forms) == 1:
        return b"|".join(map(re.escape, sorted(forms)))
    by_first: dict[bytes, list[bytes]] = {}
    for form in forms:
        by_first.setdefault(form[:1], []).append(form[1:])
    if b"" in by_first:  # one of them ends here
        return b""
    return b"|".join(re.escape(first) + b"(?:" + any_of(rest, depth - 1) + b")" for first, rest in by_first.items())
