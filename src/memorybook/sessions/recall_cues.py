"""What one language has for asking what was said before: a table of cues, read from `asking_en.toml`, `asking_zh.toml`.

A table holds `parts` of patterns (`{NAME}` stands for one in the others), what never asks (`never`), words that say
nothing of the subject (`empty`, `filler`), words that are read as another (`same`), and the cues in their order.
`<<some words>>` is any of them; an underscore stands for a blank in one. Where a line of a pattern ends says nothing.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, NamedTuple, lazily

if TYPE_CHECKING:
    import re

    from memorybook._light import Any, Iterable, Literal, Mapping

    Scene = Literal["history", "topic", "session", "within"]
    Language = Literal["en", "zh"]


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
        """Those of a plain text by which it asks."""
        found = self.pattern.search(text)
        return found[0].strip() if found else ""


class Rules:
    """The table of one language."""

    def __init__(self, language: Language) -> None:
        import tomllib

        with open(os.path.join(os.path.dirname(__file__), f"asking_{language}.toml"), "rb") as file:
            table = tomllib.load(file)
        self._same = {word: same for same, words in table["same"].items() for word in words.split()}
        self._parts: Mapping[str, str] = {**table["parts"], "SAME": "|".join(self._same)}
        self._never, self._empty, self._filler = (self._any(table[name]) for name in ("never", "empty", "filler"))
        self._said = self._any([table["said_as"]])
        self._cues = tuple(map(self._cue, table["cue"]))

    def heard(self, text: str) -> Cue | None:
        """The first cue that a plain text holds; None if it holds none, or what never asks."""
        if self.never(text):
            return None
        return next((cue for cue in self._cues if self._holds(cue, text)), None)

    def never(self, text: str) -> bool:
        """Whether it asks for no recall, whatever stands in it: an order, a reminder, a text to write, a parked car."""
        return self._never.search(text) is not None

    def subject(self, text: str) -> str:
        """A plain text without words that ask, point at a time or mean nothing by themselves."""
        left = " ".join(self._empty.sub(" ", text).split())
        return left if self._filler.sub("", left) else ""

    def plain(self, text: str) -> str:
        """With single spaces, and words that mean the same read as one."""
        return self._said.sub(lambda word: self._same.get(word[0].lower(), ""), " ".join(text.split()))

    def _holds(self, cue: Cue, text: str) -> bool:
        if not cue.pattern.search(text) or (cue.beside and not cue.beside.search(text)):
            return False
        return not (cue.unless and cue.unless.search(text)) and not (cue.bare and self.subject(text))

    def _cue(self, row: Mapping[str, Any]) -> Cue:
        beside, unless = (self._any([row[name]]) if name in row else None for name in ("beside", "unless"))
        return Cue(row["scene"], row["sure"], self._any(row["any"]), beside, unless, row.get("bare", False))

    def _any(self, patterns: Iterable[str]) -> re.Pattern[str]:
        return lazily("(?i)" + self._whole("|".join(patterns)))

    def _whole(self, pattern: str) -> str:
        """With the parts and lists of words that it names."""
        named = _PART.sub(lambda part: self._whole(self._parts[part[1]]), pattern)
        spelled = _WORDS.sub(lambda words: f"(?:{'|'.join(words[1].split())})".replace("_", r"\s+"), named)
        return _BREAK.sub("", spelled)


_TABLES: dict[Language, Rules] = {}


def rules(language: Language) -> Rules:
    """The table of a language, read when it is first asked for."""
    if language not in _TABLES:
        _TABLES[language] = Rules(language)
    return _TABLES[language]
