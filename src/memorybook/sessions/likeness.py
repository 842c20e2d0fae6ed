"""How much an input is like those that ask for each recall: weights learned from labelled inputs.

The weights are in `likeness.tsv`, made by `python benchmarks/likeness.py` from the labelled inputs that may be learned
from. A softmax over the four scenes and none; what it sees is `runs`.
"""

from __future__ import annotations

import math
import os

from memorybook._light import TYPE_CHECKING, lazily, once

if TYPE_CHECKING:
    from memorybook.sessions.recall_cues import Language, Scene

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
_LONGEST = {"en": 3, "zh": 4}


def runs(text: str, language: Language) -> set[str]:
    """The runs of up to three words of an English text or four characters of a Chinese one, its ends as words.

    Figures are `0`, Latin words in Chinese `a`.

    >>> sorted(runs("Where were we?", "en"))[:4]
    ['$', '? $', '^', '^ where']
    """
    pattern, read = (_ENGLISH, _english) if language == "en" else (_CHINESE, _han)
    words = ["^", *map(read, pattern.findall(text.lower())), "$"]
    between, most = " " if language == "en" else "", _LONGEST[language]
    return {between.join(words[at : at + size]) for size in range(1, most + 1) for at in range(len(words) - size + 1)}


def odds(text: str, language: Language) -> dict[Scene, float]:
    """How probable each scene is for a plain text; empty for one that is too long or like none that was learned."""
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
    """Whether a text points at a person, a talk or something said; without that none asks, whatever it is like.

    A time alone is of the world: "the score of last night".
    """
    return _POINTS.search(text.lower()) is not None


def _english(word: str) -> str:
    return "0" if word.isdecimal() else word


def _han(word: str) -> str:
    if not word.isascii():
        return word
    return "0" if word.isdecimal() else "a" if word[0].isalpha() else word


@once
def _weights() -> dict[str, dict[str, tuple[int, ...]]]:
    read: dict[str, dict[str, tuple[int, ...]]] = {}
    with open(os.path.join(os.path.dirname(__file__), "likeness.tsv"), encoding="utf-8") as lines:
        for line in lines:
            language, run, *numbers = line.rstrip("\n").split("\t")
            read.setdefault(language, {})[run] = tuple(map(int, numbers))
    return read
