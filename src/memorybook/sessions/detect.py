"""Detect, without a language model, whether an input asks for something said before, and by which recall.

Cues (`asking_en.toml`, `asking_zh.toml`) find it; weights learned from labelled inputs (`likeness.tsv`) find what they
miss. If both find something, they decide together which recall is meant.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple
from unicodedata import normalize

from memorybook._light import lazily
from memorybook.text.days import days_of, without_days
from memorybook.text.tokens import number

if TYPE_CHECKING:
    import re

    from memorybook.text.days import Span

    Scene = Literal["history", "topic", "session", "within"]
    Language = Literal["en", "zh"]


READ = 240
"""Characters read at either end of an input: who pastes a page asks before it or after it."""

LIKE = 0.5
"""Confidence of an input that asks for nothing but is like a past session just enough; 1 if it is the same."""

LEAST: Mapping[Language, float] = {"en": 0.75, "zh": 0.65}
"""Probability of any scene from which an input is taken to ask that no cue hears."""

UNLIKE = 0.01
"""Probability of any scene below which not even a cue is believed."""

SAY = 1.1
"""How much a cue has to say about which recall is meant, against what is learned."""

_ANY_DAY = date(2060, 8, 31)
"""Seen from which every phrase names days: all have begun, 29 February and the 31st of last month are there."""

_CODE = lazily(r"(?s)```.*?(?:```|$)")
_QUOTED = lazily(
    r"“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》|【[^】]*】|`[^`]*`|\"[^\"]*\"|(?<![\w'])'(?!\s)[^'\n]+'(?!\w)"
)
_HAN = lazily("[\u3400-\u9fff]")


_SEVERAL = lazily(
    r"(?i)\b(?:last|past|previous|latest|recent)\s+(?P<en>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|few"
    r"|couple(?:\s+of)?|several)\s+(?:conversations|chats|sessions|discussions|talks)\b"
    r"(?!\s+(?:with|between)\s+(?!(?:you|me|us)\b))"
    r"|(?:最近|最后|过去|近|前)的?这?(?P<zh>[0-9]{1,2}|几|[二两三四五六七八九十]{1,3})"
    r"(?:[次场轮回段](?:我们|咱们)?的?(?:(?:对话|会话|聊天|谈话|讨论|交谈|交流)(?![室软框群])"
    r"|[^，。？！]{0,3}[聊谈]了?[些点]?(?:什么|啥|哪))|个(?:我们|咱们)?的?(?:对话|会话|聊天|谈话|讨论)(?![室软框群]))"
)
_SOME = {"couple": 2, "few": 3, "several": 5, "几": 3}
"""How many sessions words mean that give no number."""


class Recall(NamedTuple):
    """The recall that an input asks for.

    Attributes:
        scene: `history` (what the user told or asked: preferences, facts about them), `topic` (what was discussed,
            decided or advised on a subject), `session` (an earlier conversation as a whole), `within` (earlier in
            this one).
        reason: The words that say so, as they were read.
        confidence: 0..1; of the rules' own making, not a measured probability.
        query: The subject: the input without the words that ask; may be empty for `session`.
        span: First and last day that it speaks of, as ordinals; None if it names none.
        limit: How many of the newest sessions it speaks of ("our last three conversations"), at least 1; None if it
            gives no number.
    """

    scene: Scene
    reason: str
    confidence: float
    query: str
    span: Span | None = None
    limit: int | None = None


def detect(text: str, keywords: Sequence[str] = (), *, today: date | None = None) -> Recall | None:
    """Return which recall an input asks for; None if it asks for none.

    What stands in quotes or code is passed over: it is spoken about, not said. Any text is taken, none raises.

    Args:
        text: What the user just said.
        keywords: Further words that ask for a recall wherever they are said, in any case and width; blank ones do not
            count.
        today: What "last Tuesday" is counted from; None leaves such spans out.

    >>> detect("What did we decide about token expiry?").scene
    'topic'
    >>> detect("Remember to buy milk") is None, detect("git 怎么看上一次提交") is None
    (True, True)
    """
    said = _said(text)
    languages: tuple[Language, ...] = _languages(said)
    never, words = rules(languages[0]).never, rules(languages[0]).plain(said)
    span = None if today is None else days_of(said, today)
    several = _SEVERAL.search(said)
    if several and not never(said) and not subject(f"{said[: several.start()]} {said[several.end() :]}"):
        told = (several["en"] or several["zh"]).lower().split()[0]
        return Recall("history", several[0].strip(), 0.9, "", span, max(1, _SOME.get(told) or number(told)))
    query = subject(said)
    found = next(filter(None, (_cued(said, language) for language in languages)), None)
    if found is None and (keyword := _keyword(text, keywords)):
        found = "topic", keyword, 0.6
        query = subject(_without(said, keywords)) or query  # the keyword if there is no more
    if found is None:
        odds = odds_of(words, languages[0])
        likely = sum(odds.values())
        if likely < LEAST[languages[0]] or not points(words) or never(words):
            return None
        found = max(odds, key=odds.__getitem__), "like inputs that ask for it", likely
    scene, reason, confidence = found
    if scene == "topic" and not query:  # nothing is named but the talk
        scene = "session"
    return Recall(scene, reason, confidence, query, span)


def resembles(best: float, threshold: float, text: str) -> Recall | None:
    """Return a recall by topic for an input that asks for none, but is that much like a past session.

    Args:
        best: The greatest relevance, 0..1, of a past session or turn for the input.
        threshold: The setting `recall.similarity_threshold`; 0 turns this off.
        text: The input, which is the query as it stands.

    >>> resembles(0.8, 0.7, "the ndots issue").scene, resembles(0.6, 0.7, "hello"), resembles(0.6, 0.0, "hello")
    ('topic', None, None)
    """
    if threshold <= 0 or best < threshold:
        return None
    sure = LIKE + (1 - LIKE) * (min(best, 1.0) - threshold) / (1 - threshold) if threshold < 1 else 1.0
    return Recall("topic", f"like a past session ({best:.2f})", sure, " ".join(text.split()))


def subject(text: str) -> str:
    """Return the text without days and words that ask for a recall, of both languages; "" if nothing is left."""
    text = without_days(text, _ANY_DAY)
    for language in _languages(text):
        text = rules(language).subject(rules(language).plain(text))
    return text


def _languages(text: str) -> tuple[Language, ...]:
    """Return the languages a text may ask in; both for Chinese with English words in it."""
    return ("zh", "en") if _HAN.search(text) else ("en",)


def _cued(said: str, language: Language) -> tuple[Scene, str, float] | None:
    """Return the recall whose cue is in the text, by the learned table."""
    words = rules(language).plain(said)
    cue = rules(language).heard(words)
    if cue is None:
        return None
    odds = odds_of(words, language) or {cue.scene: 1.0}
    likely = sum(odds.values())
    if likely < UNLIKE:
        return None
    votes = {scene: each / likely + (SAY * cue.sure if scene == cue.scene else 0) for scene, each in odds.items()}
    return max(votes, key=votes.__getitem__), cue.words(words), cue.sure


def _said(text: str) -> str:
    """Return what the writer says: no code, nothing quoted, and of a long text only both ends."""
    text = _CODE.sub(" ▢ ", text.strip())
    if len(text) > 2 * READ:
        text = f"{text[:READ]}\n{text[-READ:]}"
    return _QUOTED.sub(" ▢ ", _plain(text))


def _plain(text: str) -> str:
    """Fold letters and digits to the usual width."""
    return normalize("NFKC", text).replace("’", "'")


def _without(said: str, keywords: Sequence[str]) -> str:
    """Return the text without the keywords: they ask for a recall, and are not what is looked for."""
    for word in filter(None, (_plain(word).strip().casefold() for word in keywords)):
        low = said.casefold()
        at = low.find(word) if len(low) == len(said) else -1
        while at >= 0:
            said, low = (f"{one[:at]} {one[at + len(word) :]}" for one in (said, low))
            at = low.find(word, at)
    return said


def _keyword(text: str, keywords: Sequence[str]) -> str | None:
    """Return the first of the keywords that is said; None if none is."""
    said = _QUOTED.sub(" ▢ ", _plain(_CODE.sub(" ▢ ", text))).casefold() if keywords else ""
    return next((word for word in keywords if word.strip() and _plain(word).casefold() in said), None)


# --- recall cues ------------------------------------------------------------------------------------

_PART = lazily(r"\{([A-Z][A-Z_]*)\}")
_WORDS = lazily("(?s)<<(.*?)>>")
_BREAK = lazily("\n +")


class Cue(NamedTuple):
    """Words that ask for a recall.

    Attributes:
        scene: The recall that they ask for.
        sure: 0..1.
        pattern: The words.
        beside: What the text must hold as well, anywhere.
        unless: What makes a look-alike of it.
        bare: Whether it counts only in a text that names no subject.
    """

    scene: Scene
    sure: float
    pattern: re.Pattern[str]
    beside: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    bare: bool

    def words(self, text: str) -> str:
        """Return the words of a plain text by which it asks."""
        found = self.pattern.search(text)
        return found[0].strip() if found else ""


class Rules:
    """The table of one language."""

    def __init__(self, language: Language) -> None:
        with open(os.path.join(os.path.dirname(__file__), f"asking_{language}.toml"), "rb") as file:
            table = tomllib.load(file)
        self._same = {word: same for same, words in table["same"].items() for word in words.split()}
        self._parts: Mapping[str, str] = {**table["parts"], "SAME": "|".join(self._same)}
        self._never, self._empty, self._filler = (self._any(table[name]) for name in ("never", "empty", "filler"))
        self._said = self._any([table["said_as"]])
        self._cues = tuple(
            Cue(
                row["scene"],
                row["sure"],
                self._any(row["any"]),
                self._any([row["beside"]]) if "beside" in row else None,
                self._any([row["unless"]]) if "unless" in row else None,
                row.get("bare", False),
            )
            for row in table["cue"]
        )

    def heard(self, text: str) -> Cue | None:
        """Return the first cue that a plain text holds; None if it holds none, or what never asks."""
        for cue in () if self.never(text) else self._cues:
            if not cue.pattern.search(text) or (cue.beside and not cue.beside.search(text)):
                continue
            if not (cue.unless and cue.unless.search(text)) and not (cue.bare and self.subject(text)):
                return cue
        return None

    def never(self, text: str) -> bool:
        """Return whether a text asks for no recall in any case: an order, a reminder, a text to write, a parked car."""
        return self._never.search(text) is not None

    def subject(self, text: str) -> str:
        """Return a plain text without words that ask, point at a time or mean nothing by themselves."""
        left = " ".join(self._empty.sub(" ", text).split())
        return left if self._filler.sub("", left) else ""

    def plain(self, text: str) -> str:
        """Fold to single spaces, and words that mean the same to one."""
        return self._said.sub(lambda word: self._same.get(word[0].lower(), ""), " ".join(text.split()))

    def _any(self, patterns: Iterable[str]) -> re.Pattern[str]:
        return lazily("(?i)" + self._whole("|".join(patterns)))

    def _whole(self, pattern: str) -> str:
        """Put in the parts and lists of words that a pattern names."""
        named = _PART.sub(lambda part: self._whole(self._parts[part[1]]), pattern)
        spelled = _WORDS.sub(lambda words: f"(?:{'|'.join(words[1].split())})".replace("_", r"\s+"), named)
        return _BREAK.sub("", spelled)


@cache
def rules(language: Language) -> Rules:
    """Return the table of a language, read on first use."""
    return Rules(language)


# --- likeness ---------------------------------------------------------------------------------------

SCENES: tuple[Scene, ...] = ("history", "topic", "session", "within")
MOST = {"en": 140, "zh": 45}
"""Characters of an input that is looked at: none longer was learned from."""

SCALE = 100
"""Weights are kept as whole hundredths, against none."""

BIAS = "\u2205"
"""Stands for no run: what every input gets."""

_POINTS = lazily(
    r"\b(?:i|we|you|our|my|your|us|me|previous|earlier|above|that|this|again|back|repeat"
    r"|session|chat|conversation)\b"
    "|[我你昨刚聊]|上(?:[次回个周面文]|一[次个条轮])|之前|以前|先前|当[时初]|前天|那[个次版张份条段]|对话|会话"
    "|接着|继续|说好|[周年月][一二三四五六日末初底]"
)

_ENGLISH = lazily(r"[a-z]+(?:'[a-z]+)?|\d+|[?!]")
_CHINESE = lazily(r"[a-z]+(?:'[a-z]+)?|\d+|[\u3400-\u9fff?!,.]")


def runs(text: str, language: Language) -> set[str]:
    """Return runs of up to three words of an English text or four characters of a Chinese one, its ends as words.

    Figures are `0`, Latin words in Chinese `a`.

    >>> sorted(runs("Where were we?", "en"))[:4]
    ['$', '?', '? $', '^']
    """
    pattern, between, longest = (_ENGLISH, " ", 3) if language == "en" else (_CHINESE, "", 4)
    words = ["^"]
    for word in pattern.findall(text.lower()):
        latin = language == "zh" and word.isascii() and word[0].isalpha()
        words.append("0" if word.isdecimal() else "a" if latin else word)
    words.append("$")
    return {
        between.join(words[at : at + size]) for size in range(1, longest + 1) for at in range(len(words) - size + 1)
    }


def odds_of(text: str, language: Language) -> dict[Scene, float]:
    """Return how probable each scene is for a plain text; empty for one that is too long or like none learned."""
    if len(text) > MOST[language]:
        return {}
    weights = _weights()[language]
    known = [weight for run in runs(text, language) if (weight := weights.get(run))]
    if not known:
        return {}
    size, bias = SCALE * math.sqrt(len(known)), weights[BIAS]
    told = [math.exp(sum(weight[at] for weight in known) / size + bias[at] / SCALE) for at in range(len(SCENES))]
    return {scene: one / (1 + sum(told)) for scene, one in zip(SCENES, told, strict=True)}


def points(text: str) -> bool:
    """Return whether a text points at a person, a talk or something said; without that none asks for a recall.

    A time alone is of the world: "the score of last night".
    """
    return _POINTS.search(text.lower()) is not None


@cache
def _weights() -> dict[str, dict[str, tuple[int, ...]]]:
    read: dict[str, dict[str, tuple[int, ...]]] = {}
    with open(os.path.join(os.path.dirname(__file__), "likeness.tsv"), encoding="utf-8") as lines:
        for line in lines:
            language, run, *numbers = line.rstrip("\n").split("\t")
            read.setdefault(language, {})[run] = tuple(map(int, numbers))
    return read
