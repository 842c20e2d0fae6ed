"""Secrets are masked on every way in, so that a book never holds one.

Rules of five kinds: for keys and pictures in base64 (`redact_base64`), for shapes that a provider prints
(`redact_rules`), for values that a sentence or an assignment gives away (`redact_context`), for numbers with check
digits (`redact_numbers`), and patterns from the settings. Nothing finds every secret; what is found is replaced by
`[REDACTED:kind]` and reported, without its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from memorybook.text import redact_context, redact_numbers
from memorybook.text.redact_base64 import blocks
from memorybook.text.redact_rules import RULES, SHORT_RULES, Rule, compiled
from memorybook.text.redact_values import MIXED, STRONG, is_name, is_random, is_stand_in, look


class Masked(NamedTuple):
    """One secret that was masked.

    Attributes:
        kind: What it was, as in its mark: `password`, `api-key`, `private-key`, `pattern` …
        preview: Its first characters and length where that is safe (`sk-p… (164 characters)`), else only the length.
    """

    kind: str
    preview: str


class Redacted(NamedTuple):
    """A text without its secrets, and what was masked, in the order of the text."""

    text: str
    masked: tuple[Masked, ...]


class RedactedJson(NamedTuple):
    """A JSON value without its secrets, and what was masked."""

    value: Any
    masked: tuple[Masked, ...]


Span = tuple[int, int, str]

_MARK = re.compile(r"(\[REDACTED:[a-z\-]{1,24}\])")
_LONG_RUN = re.compile("[!-~]{16}")
_GUARDED = frozenset({"password", "code", "mnemonic", "private-key", "pattern", "url-credentials", "secret"})


def redact(text: str, patterns: Sequence[str] = ()) -> Redacted:
    """The text with every secret replaced by `[REDACTED:kind]`.

    Masking twice is masking once. Time grows with the length of the text, whatever it holds
    (a regular expression of the caller excepted).

    Args:
        text: Anything.
        patterns: From the settings. `/…/` is a regular expression; anything else is a literal, which masks
            the whole token that starts with it.

    Raises:
        ConfigError: A pattern is empty or not a regular expression.
    """
    own = _own_patterns(tuple(patterns))
    masked: list[Masked] = []
    while True:
        pieces = _MARK.split(text) if "[REDACTED:" in text else [text]
        done = [piece if at % 2 else "".join(_around(piece, own, masked)) for at, piece in enumerate(pieces)]
        again = "".join(done)
        if again == text:
            return Redacted(text, tuple(masked))
        text = again


def redact_json(value: Any, patterns: Sequence[str] = ()) -> RedactedJson:
    """The same JSON value with secrets masked in its strings and keys, at any depth.

    A string under a key that names a secret (`{"db_password": "…"}`) is masked whole, unless
    it is a sentence or a placeholder. What a model's service sealed or signed stays as it is.
    """
    masked: list[Masked] = []
    root = [value]
    todo: list[Any] = [root]
    while todo:
        box = todo.pop()
        for key, item in list(box.items() if isinstance(box, dict) else enumerate(box)):
            if isinstance(item, str):
                box[key] = _field(key, item, patterns, masked)
            elif isinstance(item, Mapping):
                box[key] = {_field(None, str(name), patterns, masked): inner for name, inner in item.items()}
                todo.append(box[key])
            elif isinstance(item, list | tuple):
                box[key] = list(item)
                todo.append(box[key])
    return RedactedJson(root[0], tuple(masked))


def _field(key: object, text: str, patterns: Sequence[str], masked: list[Masked]) -> str:
    if isinstance(key, str) and redact_context.names_secret(key) and _is_one_secret(text):
        masked.append(Masked("secret", _preview("secret", text)))
        return "[REDACTED:secret]"
    if key in _SEALED and re.fullmatch(r"[A-Za-z0-9+/_-]*={0,2}", text):
        return text
    result = redact(text, patterns)
    masked += result.masked
    return result.text


_SEALED = frozenset({"encrypted_content", "signature", "thought_signature", "thoughtSignature"})


def _is_one_secret(text: str) -> bool:
    """Whether a string that stands under the name of a secret is one, not a sentence about it."""
    return len(text) >= 4 and len(text.split()) == 1 and not is_stand_in(text) and not _MARK.fullmatch(text)


def _around(text: str, own: Sequence[re.Pattern[str]], masked: list[Masked]) -> Iterator[str]:
    """The piece of text with its secrets replaced, what is base64 as a whole or not at all."""
    at = 0
    for start, end, kind in blocks(text, _first_kind):
        yield _mask(text[at:start], own, masked)
        if kind:
            masked.append(Masked(kind, _preview(kind, text[start:end])))
        yield f"[REDACTED:{kind}]" if kind else text[start:end]
        at = end
    yield _mask(text[at:], own, masked)


def _first_kind(text: str) -> str:
    return next((each.kind for each in redact(text).masked), "")


def _mask(text: str, own: Sequence[re.Pattern[str]], masked: list[Masked]) -> str:
    """The piece of text with its secrets replaced; what was masked is added to `masked`."""
    spans = sorted(_spans(text, own))
    if not spans:
        return text
    out: list[str] = []
    at = 0
    for start, end, kind in _merged(spans):
        out += (text[at:start], f"[REDACTED:{kind}]")
        masked.append(Masked(kind, _preview(kind, text[start:end])))
        at = end
    return "".join((*out, text[at:]))


def _spans(text: str, own: Iterable[re.Pattern[str]]) -> Iterator[Span]:
    for pattern in own:
        yield from ((*match.span(), "pattern") for match in pattern.finditer(text) if match.group())
    lower = redact_context.folded(text)
    for rule in (*SHORT_RULES, *RULES) if _LONG_RUN.search(text) else SHORT_RULES:
        if redact_context.holds(lower, rule.hints):
            yield from _by_rule(rule, text)
    yield from redact_context.find(text, lower)
    yield from redact_numbers.find(text)


def _by_rule(rule: Rule, text: str) -> Iterator[Span]:
    pattern = compiled(rule.pattern)
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        value = match[group]
        if _CHECKS[rule.check](value):
            yield *match.span(group), rule.kind


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "shape": lambda value: True,
    "value": lambda value: not is_stand_in(value),
    "token": lambda value: not (is_stand_in(value) or is_name(value)) or is_random(value.rpartition(".")[0]),
    "mixed": lambda value: look(value) >= MIXED,
    "strong": lambda value: look(value) >= STRONG,
    "random": lambda value: is_random(value) and not is_stand_in(value),
}


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans as one, under the name of the first (the longer one of two that start together)."""
    merged: list[Span] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        else:
            merged.append((start, end, kind))
    return merged


def _preview(kind: str, secret: str) -> str:
    size = f"({len(secret)} characters)"
    return size if kind in _GUARDED or len(secret) < 20 else f"{secret[:4]}… {size}"


@lru_cache(maxsize=16)
def _own_patterns(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(map(_own_pattern, patterns))


def _own_pattern(pattern: str) -> re.Pattern[str]:
    from memorybook.errors import ConfigError

    if len(pattern) > 2 and pattern[0] == pattern[-1] == "/":
        try:
            return re.compile(pattern[1:-1])
        except re.error as error:
            raise ConfigError(f"redaction pattern {pattern!r} is not a regular expression: {error}") from error
    if not pattern.strip():
        raise ConfigError(f"redaction pattern {pattern!r} is empty; give a literal such as 'sk-' or a /regex/")
    edge = r"(?<![A-Za-z0-9_])" if pattern[0].isalnum() and pattern[0].isascii() else ""
    word = r"[!#-&*-+\--:=?-Z\\^_a-z~]*[A-Za-z0-9_\-+/=~$%&@]"
    tail = f"(?:{word})?" if pattern[-1].isalnum() else word  # a literal such as sk- alone is no secret
    return re.compile(f"{edge}{re.escape(pattern)}{tail}")
