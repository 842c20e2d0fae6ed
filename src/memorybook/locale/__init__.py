"""Messages in English and Chinese, as data: `en.toml` and `zh.toml` beside this file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from memorybook.errors import MemoryBookError

    E = TypeVar("E", bound=MemoryBookError)

_VALUES = {
    "count": r"\d+",
    "total": r"\d+",
    "day": r"\S+",
    "host": r"\S+",
    "id": r"\S+",
    "seconds": r"\S+",
    "setting": r"(?:llm|embeddings)\.\S+",
    "sign": "[-+~]",
    "size": r"\S+",
}
"""What a placeholder of a sentence stands for, by its name without digits; any other name for any text."""

_CHANGED = re.compile(r"(~ \S+: )(.+ → .+)")


@cache
def table(name: str, language: str) -> Mapping[str, str]:
    """Return a table of the catalogue; empty if the language has none of that name."""
    import tomllib  # of which a server that only lists its tools has no need

    with open(os.path.join(os.path.dirname(__file__), f"{language}.toml"), "rb") as file:
        found: dict[str, str] = tomllib.load(file).get(name, {})
    return found


def message(id: str, language: str, /, **values: Any) -> str:
    """Return the message `table.name` with its values filled in; `(s)` follows `count`.

    >>> message("agent.turns", "en", count=1), message("agent.turns", "zh", count=2)
    ('1 turn', '2 句话')
    """
    name, _, key = id.partition(".")
    text = table(name, language)[key].replace("(s)", "" if values.get("count") == 1 else "s")
    return text.format(**values) if values else text


def error(kind: type[E], id: str, /, **values: Any) -> E:
    """Return an error with that message in English, which carries its id and values for doors that speak another."""
    found = kind(message(id, "en", **values))
    found.message_id, found.values = id, values
    return found


def describe(error: MemoryBookError, language: str) -> str:
    """Return the message of an error in that language: by its id, else by its English sentence."""
    return message(error.message_id, language, **error.values) if error.message_id else translate(str(error), language)


def translate(text: str, language: str) -> str:
    """Translate text that is stored or composed in English, line by line.

    A line is found by its English sentence in the tables `sentences` and `problems`; one that is not there stays
    English, and so does what it quotes: words of a user, names, ids.

    >>> translate("~ a1b2c3: score 0.60 → 0.68 (remembered)", "zh")
    '~ a1b2c3: 分数 0.60 → 0.68（记住）'
    >>> translate("~ a1b2c3: pinned no → yes, hits 1 → 2", "zh")
    '~ a1b2c3: 固定 否 → 是, 次数 1 → 2'
    """
    return "\n".join(_translate_line(line, language) for line in text.split("\n")) if language != "en" else text


def fix(reason: str, language: str) -> str:
    """Return what mends what a reason of `degraded` or a warning tells, as it stands in English; "" for an unknown one.

    >>> fix("fts_enabled is false: searched by scanning the documents", "en").partition(". ")[2]
    'Remove fts_enabled = false from the settings.'
    """
    found = (said for sentence, said in _patterns("fixes", language) if sentence.fullmatch(reason))
    return next(found, "")


def _translate_line(line: str, language: str) -> str:
    for sentence, said in _patterns("sentences", language):
        if found := sentence.fullmatch(line):
            return said.format(**{name: _translate_line(value, language) for name, value in found.groupdict().items()})
    if line[:2] not in ("+ ", "- ", "~ "):
        return line
    head, reason = line, ""
    for bracket in re.finditer(r" \(", line) if line.endswith(")") else ():  # a change, and the reason for it
        if (said := _translate_line(line[bracket.end() : -1], language)) != line[bracket.end() : -1]:
            head, reason = line[: bracket.start()], f"（{said}）"
            break
    if found := _CHANGED.fullmatch(head):
        head = found[1] + _translate_fields(found[2], language)
    elif reason:
        head = _translate_line(head, language)
    return head + reason


def _translate_fields(changes: str, language: str) -> str:
    fields, page = table("fields", language), table("page", language)
    words = {english: page[f"value_{english}"] for english in ("yes", "no", "nothing")}

    def said(found: re.Match[str]) -> str:
        name, old, new = found.groups()
        return f"{fields[name]} {words.get(old, old)} → {words.get(new, new)}"

    any_field = "|".join(fields)
    return re.sub(rf"(?:^|(?<=, ))({any_field}) (.*?) → (.*?)(?=$|, (?:{any_field}) .*? → )", said, changes)


@cache
def _patterns(name: str, language: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the English sentences of a table as patterns of their placeholders, each with what it stands for.

    The longest come first. Errors are among the `sentences`, for one may be stored as text: why something was not done.
    """
    known = table(name, language)
    if name == "sentences":
        english = table("problems", "en")
        known = {**{english[id]: said for id, said in table("problems", language).items()}, **known}
    by_length = sorted(known.items(), key=lambda one: -len(re.sub(r"\{\w+\}", "", one[0])))
    patterns = []
    for sentence, said in by_length:
        parts = [re.escape(part).replace(r"\(s\)", "s?") for part in re.split(r"\{(\w+)\}", sentence)]
        for at in range(1, len(parts), 2):
            parts[at] = f"(?P<{parts[at]}>{_VALUES.get(parts[at].rstrip('0123456789'), '.+')})"
        patterns.append((re.compile("".join(parts)), said))
    return patterns
