"""Secrets are masked on every way in, so that a book never holds one.

Rules of five kinds: for keys and pictures in base64 (`blocks`), for shapes that a provider prints and for values that a
sentence or an assignment gives away (`redact_rules`), for numbers with check digits (`find`), and patterns from the
settings. Nothing finds every secret; what is found is replaced by `[REDACTED:kind]` and reported, without its value.
"""

from __future__ import annotations

import re
from base64 import b64decode
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from memorybook.errors import ConfigError
from memorybook.text import redact_rules

_LENGTHS = (  # of an IBAN, by country
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
    "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 "
    "LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 "
    "SD18 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 "
)
_COUNTRIES = {each[:2]: int(each[2:]) for each in _LENGTHS.split()}
_ENOUGH = re.compile(r"[0-9]{4}[ \u00a0-]?[0-9]{4}")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,29}")
_CITIZEN = re.compile(
    r"(?<![0-9])(?:1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3])[0-9]{4}[ -]?(?:18|19|20)[0-9]{2}"  # where, when
    r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[ -]?[0-9]{3}[0-9Xx]"
    r"(?![0-9A-Za-z])"
)
_CARD = re.compile(  # in fours; in one run only where a card is spoken of
    r"(?<![0-9A-Za-z.-])[2-6][0-9]{3}"
    r"(?:([ \u00a0-])[0-9]{4}(?:\1[0-9]{4}){2}(?:\1[0-9]{3})?|[0-9]{11,15})(?![0-9A-Za-z-])"
)
_CARD_HINTS = ("card", "卡", "visa", "amex")
_SEPARATORS = str.maketrans("", "", " \u00a0-")


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield spans `(start, end, kind)` of numbers whose check digits are right."""
    if not _ENOUGH.search(text):
        return
    for found in _IBAN.finditer(text):  # words may follow
        length = _COUNTRIES.get(found[0][:2].upper(), 0)
        places = [at for at in range(*found.span()) if text[at].isalnum()][:length]
        if not length or len(places) < length or re.match("[A-Za-z0-9]", text[places[-1] + 1 : places[-1] + 2]):
            continue
        number = "".join(text[at] for at in places)
        if int("".join(str(int(c, 36)) for c in number[4:] + number[:4])) % 97 == 1:
            yield found.start(), places[-1] + 1, "iban"
    for found in _CITIZEN.finditer(text):
        number = found[0].translate(_SEPARATORS)
        total = sum(int(digit) * pow(2, 17 - at, 11) for at, digit in enumerate(number[:17]))
        if "10X98765432"[total % 11] == number[17].upper():
            yield *found.span(), "identity-number"
    for found in _CARD.finditer(text):
        digits = [int(digit) for digit in reversed(found[0].translate(_SEPARATORS))]
        doubled = (2 * digit - 9 * (digit > 4) for digit in digits[1::2])
        before = text[max(0, found.start() - 40) : found.start()].lower()
        if (found[1] or redact_rules.holds(before, _CARD_HINTS)) and (sum(digits[::2]) + sum(doubled)) % 10 == 0:
            yield *found.span(), "card-number"


Block = tuple[int, int, str]
"""Start, end, and as what it is masked; "" for what is left alone."""

_LARGE = 1_000  # characters of base64 that no secret but a private key has
_RUN = re.compile(r"[A-Za-z0-9+/]{40,}")
_LINE = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,}={0,2}")
_MIXED_LINE = re.compile(r"(?=[A-Za-z+/]*[0-9])(?=[A-Z0-9+/]*[a-z])(?=[a-z0-9+/]*[A-Z])[A-Za-z0-9+/]{16,}={0,2}")
_KEY_LINE = re.compile(_MIXED_LINE.pattern.replace("16", "32"))
_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: ?[0-9]{1,4}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-MAC: ?[0-9a-f]{16,}")
_LONGEST = 20_000  # characters from the begin of a key to its end …
_SOON = 600  # … from its begin to its first line …
_DRESS = 80  # … and of what stands between two lines
_DATA_URL = re.compile(
    r"data:(?:(?:image|audio|video|font)/[\w.+-]{1,100}(?:;[\w=.-]{1,100}){0,4},[^\s\"'<>()\[\]，。]*"
    r"|[\w.+/;=-]{0,200};base64,[A-Za-z0-9+/_-]*={0,2})"
)
_ALPHABET = re.compile(r"[A-Za-z0-9+/]*")
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{1000,}={0,2}")

_MEDIA = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"OggS", b"ID3", b"fLaC", b"wOF", b"PK\3\4", b"7z\xbc\xaf",
    b"II*\0", b"MM\0*", b"\0\0\1\0", b"BZh", b"\x1f\x8b\x08", b"\xfd7zXZ", b"(\xb5/\xfd", b"\0asm", b"SQLite format",
)  # fmt: skip
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f\x7f]")
_ANY = "x7Kq2mZp9Lw4Rt6Vb1"  # a word that looks like any secret
_OPENSSH = b"openssh-key-v1\0"
# a sequence that opens with a version, as no certificate and no public key does; then what follows
_DER_KEY = re.compile(rb"0(?:\x82..|\x81.|[\x20-\x7f])\x02\x01(?:\0[\x02\x30]|\x01[\x04\x30]|\x03\x30)", re.DOTALL)


def blocks(text: str, secret_in: Callable[[str], str]) -> Iterator[Block]:
    """Return the base64 blocks in the text, in order; `secret_in` names the secret in decoded text, "" for none."""
    if not (_RUN.search(text) or "data:" in text or "PRIVATE KEY" in text or "Private-Lines" in text):
        return
    shown = text.replace("\\n", "  ").replace("\\r", "  ")  # breaks as programs write them; all stays in its place
    at = 0
    found = [*_keys(shown), *_others(text, secret_in)]
    for start, end, kind in sorted(found, key=lambda block: (block[0], not block[2], -block[1])):
        if start >= at:
            yield start, end, kind
            at = end


def _keys(text: str) -> Iterator[Block]:
    """Yield private keys: those that say so, and lines that are one without saying so."""
    at = 0
    for tail in _END.finditer(text):
        start = _start_of(text, at, tail.start())
        if start < tail.start() and not _BEGIN.search(text, at, tail.start()):  # the head is missing
            yield start, tail.end(), "private-key"
        at = tail.end()
    for begin in _BEGIN.finditer(text):
        line = _KEY_LINE.search(text, begin.end(), begin.end() + _SOON)
        if line:
            end = _END.search(text, begin.end(), begin.end() + _LONGEST)
            again = _BEGIN.search(text, begin.end(), end.start() if end else begin.end())
            yield begin.start(), end.end() if end and not again else _end_of(text, line), "private-key"
    for run in _RUN.finditer(text):
        if _is_key(_decoded(run[0][:80])):
            yield run.start(), _end_of(text, run), "private-key"


def _start_of(text: str, begin: int, end: int) -> int:
    """Return where the lines begin that end before a place: all as wide, but for the first and the last one."""
    start, widths = end, list[int]()
    for line in reversed([*_LINE.finditer(text, max(begin, end - _LONGEST), end)]):
        width = line.end() - line.start()
        if start - line.end() > _DRESS or (len(widths) > 1 and width > widths[-1]):
            break
        if len(widths) > 1 and width < widths[-1]:
            return line.start() if _MIXED_LINE.match(line[0]) else start
        start = line.start()
        widths.append(width)
    return start


def _end_of(text: str, line: re.Match[str]) -> int:
    """Return where the lines end that begin with this one: as wide as it, and one that is less wide."""
    width, at = line.end() - line.start(), line.end()
    while True:
        near = [*_LINE.finditer(text, at, at + _DRESS + width + 2)]
        same = next((one for one in near if len(one[0].rstrip("=")) == width and one.start() - at <= _DRESS), None)
        if same is None or text.count("\n", at, same.start()) > 2:
            break
        at = same.end()
    last = next((one for one in near if len(one[0]) < width and re.search("[0-9+/=]", one[0])), None)
    if last is not None and text.count("\n", at, last.start()) <= 1:
        return last.end()
    return at + len(text[at : at + 2]) - len(text[at : at + 2].lstrip("="))


def _others(text: str, secret_in: Callable[[str], str]) -> Iterator[Block]:
    """Yield what a `data:` URL or a long run says, or that it says nothing."""
    for url in _DATA_URL.finditer(text):
        content = url[0].partition(";base64,")[2]
        kind = "private-key" if _is_key(_decoded(content[:80])) else _secret(content, secret_in)
        yield url.start(), url.end(), kind
    end = 0
    for run in _RUN.finditer(text):
        if run.start() < end:
            continue
        end = _wrapped_end(text, run)
        kind = _secret(re.sub(r"\s", "", text[run.start() : end]), secret_in)
        data = _decoded(run[0][:80])
        if kind or data.startswith(_MEDIA) or data[4:8] == b"ftyp":
            yield run.start(), end, kind
        elif end - run.start() >= _LARGE and not _is_key(data):
            yield run.start(), end, _named(text, run.start(), secret_in)
    for run in _ENCODED.finditer(text):
        if "-" in run[0] or "_" in run[0]:
            yield run.start(), run.end(), _named(text, run.start(), secret_in)


def _secret(content: str, secret_in: Callable[[str], str]) -> str:
    """Return the kind of secret in the text that base64 says; "" for none."""
    data = _decoded(content[:80])
    with suppress(ValueError):  # the beginning of a text; its last letter may be cut
        if len(data) >= 8 and not _CONTROL.search(data) and getincrementaldecoder("utf-8")().decode(data):
            return secret_in(_decoded(content).decode("utf-8"))
    return ""


def _named(text: str, start: int, secret_in: Callable[[str], str]) -> str:
    """Return as what anything at this place is masked, for what stands before it."""
    return secret_in(text[max(0, start - 60) : start] + _ANY)


def _wrapped_end(text: str, run: re.Match[str]) -> int:
    """Return where a run ends that goes on in lines of the same width, with nothing around them."""
    width = run.end() - run.start()
    more = re.compile(
        rf"(?:\r?\n[A-Za-z0-9+/]{{{width}}}(?![A-Za-z0-9+/]))*(?:\r?\n[A-Za-z0-9+/]{{1,{width}}})?={{0,2}}"
    )
    found = more.match(text, run.end()) if width <= 100 else re.compile("={0,2}").match(text, run.end())
    return found.end() if found else run.end()


def _is_key(data: bytes) -> bool:
    """Return whether these bytes are the beginning of a private key."""
    return data.startswith(_OPENSSH) or _DER_KEY.match(data) is not None


def _decoded(text: str) -> bytes:
    text = _ALPHABET.match(text.replace("-", "+").replace("_", "/"))[0]  # type: ignore[index]
    text = text[: len(text) - (len(text) % 4 == 1)]
    return b64decode(text + "=" * (-len(text) % 4))


class Masked(NamedTuple):
    """A masked secret: its kind as in the mark, and a preview (`sk-p… (164 characters)`) where that is safe."""

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
    """Replace every secret in the text by `[REDACTED:kind]`; idempotent, in linear time.

    `patterns` come from the settings: `/…/` is a regular expression, anything else a literal, which masks the whole
    token that starts with it. Raises ConfigError for an empty or broken one.
    """
    own = [*map(_own_pattern, patterns)]
    masked: list[Masked] = []
    while True:
        pieces = _MARK.split(text) if "[REDACTED:" in text else [text]
        done = [piece if at % 2 else "".join(_around(piece, own, masked)) for at, piece in enumerate(pieces)]
        again = "".join(done)
        if again == text:
            return Redacted(text, tuple(masked))
        text = again


def redact_json(value: Any, patterns: Sequence[str] = ()) -> RedactedJson:
    """Mask secrets in the strings and keys of a JSON value, at any depth.

    A string under a key that names a secret is masked whole, unless it is a sentence or a placeholder; what a model's
    service sealed or signed stays.
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
    named = isinstance(key, str) and len(text) >= 4 and len(text.split()) == 1 and redact_rules.names_secret(key)
    if named and not redact_rules.is_stand_in(text) and not _MARK.fullmatch(text):  # a secret, not a sentence about it
        masked.append(Masked("secret", _preview("secret", text)))
        return "[REDACTED:secret]"
    if key in _SEALED and re.fullmatch(r"[A-Za-z0-9+/_-]*={0,2}", text):
        return text
    result = redact(text, patterns)
    masked += result.masked
    return result.text


_SEALED = frozenset({"encrypted_content", "signature", "thought_signature", "thoughtSignature"})


def _around(text: str, own: Sequence[re.Pattern[str]], masked: list[Masked]) -> Iterator[str]:
    """Yield the piece of text with its secrets replaced, what is base64 as a whole or not at all."""
    at = 0
    for start, end, kind in blocks(text, lambda inner: next((each.kind for each in redact(inner).masked), "")):
        yield _mask(text[at:start], own, masked)
        if kind:
            masked.append(Masked(kind, _preview(kind, text[start:end])))
        yield f"[REDACTED:{kind}]" if kind else text[start:end]
        at = end
    yield _mask(text[at:], own, masked)


def _mask(text: str, own: Sequence[re.Pattern[str]], masked: list[Masked]) -> str:
    """Return the piece of text with its secrets replaced; what was masked is added to `masked`."""
    spans: list[Span] = []
    for start, end, kind in sorted(sorted(_spans(text, own)), key=lambda span: (span[0], -span[1])):
        if spans and start < spans[-1][1]:  # they overlap: the name is of the first, the longer of two at one place
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]), spans[-1][2])
        else:
            spans.append((start, end, kind))
    out: list[str] = []
    at = 0
    for start, end, kind in spans:
        out += (text[at:start], f"[REDACTED:{kind}]")
        masked.append(Masked(kind, _preview(kind, text[start:end])))
        at = end
    return "".join((*out, text[at:]))


def _spans(text: str, own: Iterable[re.Pattern[str]]) -> Iterator[Span]:
    for pattern in own:
        yield from ((*match.span(), "pattern") for match in pattern.finditer(text) if match.group())
    lower = redact_rules.folded(text)
    for rule in (
        (*redact_rules.SHORT_RULES, *redact_rules.RULES) if _LONG_RUN.search(text) else redact_rules.SHORT_RULES
    ):
        if redact_rules.holds(lower, rule.hints):
            pattern = redact_rules.compiled(rule.pattern)
            group = "secret" if "secret" in pattern.groupindex else 0
            fitting = (match for match in pattern.finditer(text) if _CHECKS[rule.check](match[group]))
            yield from ((*match.span(group), rule.kind) for match in fitting)
    yield from redact_rules.find(text, lower)
    yield from find(text)


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "shape": lambda value: True,
    "value": lambda value: not redact_rules.is_stand_in(value),
    "token": lambda value: (
        not (redact_rules.is_stand_in(value) or redact_rules.is_name(value))
        or redact_rules.is_random(value.rpartition(".")[0])
    ),
    "mixed": lambda value: redact_rules.look(value) >= redact_rules.MIXED,
    "strong": lambda value: redact_rules.look(value) >= redact_rules.STRONG,
    "random": lambda value: redact_rules.is_random(value) and not redact_rules.is_stand_in(value),
}


def _preview(kind: str, secret: str) -> str:
    size = f"({len(secret)} characters)"
    return size if kind in _GUARDED or len(secret) < 20 else f"{secret[:4]}… {size}"


@lru_cache(maxsize=64)
def _own_pattern(pattern: str) -> re.Pattern[str]:
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
