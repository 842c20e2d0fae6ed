"""JSON as language models write it: with prose around, fences, comments, wrong quotes, brackets left open.

One pass over the text without recursion, so no input makes it slow or deep. What is repaired are slips
whose meaning is plain; what ends in the middle, holds no number (NaN, 1e999) or is nested beyond reason is
refused, for half an answer that is taken for a whole one loses memories silently.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 64
"""Levels of nesting that are taken."""

LONGEST = 4_000_000
"""Characters that are read."""

_LONGEST_REPAIR = 500_000
_LARGEST = sys.float_info.max
_MOST_PROSE = 1000  # brackets that begin nothing

_OPEN = {"{": "}", "[": "]", "(": ")", "｛": "}", "［": "]", "【": "]"}
_CLOSE = {"}": "}", "]": "]", ")": ")", "｝": "}", "］": "]", "】": "]"}
_QUOTES = {'"': '"', "'": "'’", "“": '”“"', "”": '”“"', "‘": "’‘'", "’": "’‘'", "「": "」", "`": "`"}
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_NO_NUMBERS = {"nan", "infinity", "inf"}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}

_START = re.compile(r"[\[{｛［]")
_SPACE = re.compile(r"(?:[\s\ufeff\u200b]|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_WORD = re.compile(r"[-+]?[^\W\d]\w*")
_KEY = re.compile(r"(?:\w|-)+(?=\s*[:：])")
_THINKING = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_ENDS_TEXT = re.compile(
    r"\s*(?:$|[}\])｝］】:：]|//|/\*|\n\s*[\"'“‘\[{]|[,，]\s*(?:$|[\"'“‘「`\[{(｛［}\]｝］]|//|/\*|#|-?\d|(?i:true|false|null|none)\b"
    r"|\w+\s*[:：]))"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def values(text: str, *, cut: bool = False) -> Iterator[Any]:
    """Yield the JSON objects and lists in a text, first to last; of a text that is JSON, its value.

    Args:
        text: What somebody wrote.
        cut: Whether it was cut off somewhere, so that a bracket left open is no slip.

    Raises:
        ValueError: There is none, or one cannot be read. A sentence that tells the writer what to mend.
    """
    if len(text) > LONGEST:
        raise ValueError(f"the answer has {len(text):,} characters; at most {LONGEST:,} are read")
    try:
        value = json.loads(text, strict=False, parse_constant=_not_a_number, parse_float=_number, parse_int=_number)
    except (ValueError, RecursionError):
        yield from _repaired(text, cut)
        return
    if isinstance(value, str) and _START.match(value.lstrip()):
        yield from values(value)  # JSON in JSON, as some servers give a tool's arguments
    else:
        yield sound(value)


def sound(value: Any, *, finite: bool = True) -> Any:
    """Return the decoded value, without lone surrogates (containers are cleaned in place).

    Raises ValueError if it is nested too deeply, or holds a number that no float can be, unless `finite` is False.
    """
    root = [value]
    level: list[Any] = [root]
    for _ in range(DEEPEST + 1):
        below: list[Any] = []
        for parent in level:
            for key, child in list(parent.items() if isinstance(parent, dict) else enumerate(parent)):
                if isinstance(child, str) and _SURROGATE.search(child):
                    parent[key] = clean(child)
                elif finite and isinstance(child, float | int) and not abs(child) <= _LARGEST:
                    raise ValueError(f"a number in it is out of range ({str(child)[:20]})")
                elif isinstance(child, list | dict):
                    below.append(child)
                if isinstance(key, str) and _SURROGATE.search(key):
                    parent[clean(key)] = parent.pop(key)
        if not below:
            return root[0]
        level = below
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def clean(text: str) -> str:
    """Return the text without lone surrogates, which no UTF-8 can hold."""
    return _SURROGATE.sub("\ufffd", text)


def without_thoughts(text: str) -> str:
    """Return the text without what a reasoning model thought aloud before it."""
    thought = _THINKING.match(text)
    return text[thought.end() :].lstrip() if thought else text


def _not_a_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def _number(digits: str) -> int | float:
    """Return a number that a float can hold. Raises ValueError."""
    if len(digits) < 300 and not set(digits) & set(".eE"):
        return int(digits)
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:20]} is out of range")
    return value


def _repaired(text: str, cut: bool) -> Iterator[Any]:
    if len(text) > _LONGEST_REPAIR:
        raise ValueError("it is not sound JSON, and too long to be repaired")
    thought = _THINKING.match(text)
    at, found, prose = (thought.end() if thought else 0), False, 0
    while (start := _START.search(text, at)) and prose < _MOST_PROSE:
        reader = _Reader(text, start.start(), cut)
        try:
            value = reader.read()
        except _Prose:
            at, prose = max(reader.at, start.end()), prose + 1
            continue
        found, at = True, reader.at
        yield sound(value)
    if not found:
        raise ValueError("there is no JSON in it")


class _Prose(ValueError):
    """A bracket that begins no JSON: nothing in it could be read."""


class _Reader:
    """Reads one object or list that begins at `at`; afterwards `at` is where it ended or went wrong."""

    def __init__(self, text: str, at: int, cut: bool) -> None:
        self.text = text
        self.at = at
        self.cut = cut
        self.members = 0
        self.comma = False
        self.stack: list[tuple[str, Any, str | None]] = []  # closing bracket, container, key that waits for a value

    def read(self) -> Any:
        """Return the value. Raises ValueError, _Prose."""
        root: list[Any] = []
        self._open(root)
        while self.stack:
            self._space()
            if self.at >= len(self.text):  # only closing brackets may be missing: half an answer is none
                if self.cut or not self.members or self.comma or self.stack[-1][2] is not None or not self.stack[-1][1]:
                    raise ValueError("it ends in the middle")
                break
            letter = self.text[self.at]
            if letter in _CLOSE:  # also of those in it whose own bracket was forgotten
                close = _CLOSE[letter]
                if close not in [one[0] for one in self.stack]:
                    raise self._wrong(f"a {close!r} that closes nothing")
                if self.stack[-1][2] is not None:
                    raise self._wrong(f"no value for {self.stack[-1][2]!r}")
                while self.stack.pop()[0] != close:
                    pass
                self.at += 1
                self.comma = False
            elif letter in ",，" and self.stack[-1][2] is None:
                self.at += 1
                self.comma = True
            else:
                self._member()
        return root[0]

    def _open(self, into: Any, key: str | None = None) -> None:
        """Begin a container and put it into its parent."""
        if len(self.stack) >= DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        close = _OPEN[self.text[self.at]]
        made: Any = {} if close == "}" else []
        if isinstance(into, dict):
            into[key] = made
        else:
            into.append(made)
        self.at += 1
        self.comma = False
        self.stack.append((close, made, None))

    def _member(self) -> None:
        close, into, key = self.stack[-1]
        if close == "}" and key is None:
            self.stack[-1] = (close, into, self._key())
            return
        if self.text[self.at] in _OPEN:
            self.stack[-1] = (close, into, None)
            self._open(into, key)
            return
        value = self._scalar()
        if isinstance(into, dict):
            into[key] = value
        else:
            into.append(value)
        self.stack[-1] = (close, into, None)
        self.members += 1
        self.comma = False

    def _key(self) -> str:
        bare = _KEY.match(self.text, self.at)
        if bare:
            key, self.at = bare[0], bare.end()
        elif self.text[self.at] in _QUOTES:
            key = self._quoted()
        else:
            raise self._wrong("no key")
        self._space()
        if self.at >= len(self.text):
            raise ValueError("it ends in the middle")
        if self.text[self.at] not in ":：":
            raise self._wrong(f"no colon after {key[:40]!r}")
        self.at += 1
        self.members += 1
        return key

    def _scalar(self) -> Any:
        if self.text[self.at] in _QUOTES:
            return self._quoted()
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return _number(number[0])
        word = _WORD.match(self.text, self.at)
        name = word[0].lower() if word else ""
        if name.lstrip("+-") in _NO_NUMBERS:
            _not_a_number(name)
        if word is None or name not in _LITERALS:
            raise self._wrong("no value")
        self.at = word.end()
        return _LITERALS[name]

    def _quoted(self) -> str:
        """Return a text up to the quote that ends it: the first one after which the JSON can go on."""
        begin = self.at + 1
        marks = re.escape(_QUOTES[self.text[self.at]])
        for found in re.compile(rf"\\.|[{marks}]", re.DOTALL).finditer(self.text, begin):
            if found[0][0] != "\\" and _ENDS_TEXT.match(self.text, found.end()):
                self.at = found.end()
                return _unescaped(self.text[begin : found.start()])
        self.at = len(self.text)
        raise ValueError("it ends in the middle of a text")

    def _space(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at

    def _wrong(self, what: str) -> ValueError:
        """Return the error at this place; nothing but prose if not a single member was read."""
        kind = ValueError if self.members else _Prose
        return kind(f"it has {what} at {self.text[self.at : self.at + 40]!r}")


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text

    def meaning(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return code.strip("\n") if code in _QUOTES or code == "\n" else _ESCAPES.get(code, "\\" + code)

    plain = re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\n|.)", meaning, text, flags=re.DOTALL)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- reading JSON that may be anything -----------------------------------------------------------


def object_at(found: Any, name: str | None = None) -> Mapping[str, Any]:
    """Return the object, or the one that it has under that name; empty if there is none."""
    if name is not None:
        found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str) and found:
            found = {"message": found}
    return found if isinstance(found, Mapping) else {}


def text_of(found: Any) -> str:
    """Return text as it stands, in a list of parts, or as the message of an error; "" for all else."""
    if isinstance(found, str):
        return found
    if isinstance(found, Mapping):
        return text_of(found.get("text") or found.get("message"))
    if isinstance(found, list):
        return "".join(text_of(part) for part in found if not isinstance(part, list))
    return ""


def count(found: Any) -> int | None:
    """Return a number of tokens; None for what cannot be one, and for 0, which servers say that do not count."""
    return found if type(found) is int and 0 < found < 10**9 else None
