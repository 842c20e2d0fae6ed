"""A cue: words by which an input asks for a recall, and what must or must not stand beside them."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re

    from memorybook.standard import Iterable
    from memorybook.typed import Literal

    Scene = Literal["history", "topic", "session", "within"]


class Cue(NamedTuple):
    """Words that ask for a recall.

    Attributes:
        scene: The recall that they ask for.
        sure: 0..1.
        pattern: The words.
        beside: What the text must hold as well, anywhere; None asks for nothing more.
        unless: What makes a look-alike of it; None knows none.
    """

    scene: Scene
    sure: float
    pattern: re.Pattern[str]
    beside: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None


def cue(scene: Scene, sure: float, *patterns: str, beside: str = "", unless: str = "") -> Cue:
    """A cue of patterns any of which will do; they are compiled when they are first looked for."""
    return Cue(
        scene, sure, lazily("|".join(patterns)), lazily(beside) if beside else None, lazily(unless) if unless else None
    )


def words(text: str) -> str:
    """A pattern of any of these words, between blanks; an underscore stands for a blank in one of them."""
    return f"(?:{'|'.join(text.split())})".replace("_", r"\s+")


def first(cues: Iterable[Cue], text: str) -> tuple[Scene, str, float] | None:
    """Scene, words and confidence of the first cue that a text holds; None if it holds none."""
    for one in cues:
        found = one.pattern.search(text)
        if found and (not one.beside or one.beside.search(text)) and not (one.unless and one.unless.search(text)):
            return one.scene, found[0].strip(), one.sure
    return None
