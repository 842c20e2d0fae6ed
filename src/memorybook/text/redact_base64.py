"""Base64 that is looked into: private keys, whatever stands around their lines, and texts with secrets; pictures stay.

The lines of a key are of one width but the last. So they are known again between the marks of a quotation, the numbers
of a listing, the times of a chat. All else that is base64 and no text, such as a picture, is left alone: by chance
there are letters in it that look like a secret, and it is worth nothing in part.
"""

from __future__ import annotations

import re
from base64 import b64decode
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator

Block = tuple[int, int, str]
"""Start, end, and as what it is masked; "" for what is left alone."""

_LARGE = 1_000
"""Characters of base64 that no secret but a private key has."""

_RUN = re.compile(r"[A-Za-z0-9+/]{40,}")
_LINE = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,}={0,2}")
_KEY_LINE = re.compile(r"(?=[A-Za-z+/]*[0-9])(?=[A-Z0-9+/]*[a-z])(?=[a-z0-9+/]*[A-Z])[A-Za-z0-9+/]{32,}={0,2}")
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
_SEALED = re.compile(r"[A-Za-z0-9+/_-]{1000,}={0,2}")

_MEDIA = (
    *(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"OggS", b"ID3", b"fLaC", b"wOF"),
    *(
        b"PK\3\4",
        b"\x1f\x8b\x08",
        b"II*\0",
        b"MM\0*",
        b"\0\0\1\0",
        b"BZh",
        b"7z\xbc\xaf",
        b"\xfd7zXZ",
        b"(\xb5/\xfd",
        b"\0asm",
        b"SQLite format",
    ),
)
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f\x7f]")
_ANY = "x7Kq2mZp9Lw4Rt6Vb1"
"""A word that looks like any secret."""

_OPENSSH = b"openssh-key-v1\0"
# a sequence that opens with a version, as no certificate and no public key does; then what follows
_DER_KEY = re.compile(rb"0(?:\x82..|\x81.|[\x20-\x7f])\x02\x01(?:\0[\x02\x30]|\x01[\x04\x30]|\x03\x30)", re.DOTALL)


def blocks(text: str, secret_in: Callable[[str], str]) -> Iterator[Block]:
    """The blocks in the text, in its order.

    Args:
        text: Anything.
        secret_in: As what a text that base64 says is masked; "" for one that holds no secret.
    """
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
    """Private keys: those that say so, and lines that are one without saying so."""
    for begin in _BEGIN.finditer(text):
        line = _KEY_LINE.search(text, begin.end(), begin.end() + _SOON)
        if line:
            end = _END.search(text, begin.end(), begin.end() + _LONGEST)
            again = _BEGIN.search(text, begin.end(), end.start() if end else begin.end())
            yield begin.start(), end.end() if end and not again else _end_of(text, line), "private-key"
    for run in _RUN.finditer(text):
        if _is_key(_decoded(run[0][:80])):
            yield run.start(), _end_of(text, run), "private-key"


def _end_of(text: str, line: re.Match[str]) -> int:
    """Where the lines end that begin with this one: as wide as it, and one that is less wide."""
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
    """What a `data:` URL or a long run says, or that it says nothing."""
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
    for run in _SEALED.finditer(text):
        if "-" in run[0] or "_" in run[0]:
            yield run.start(), run.end(), _named(text, run.start(), secret_in)


def _secret(content: str, secret_in: Callable[[str], str]) -> str:
    """As what the text that base64 says is masked; "" if it says none."""
    if not _is_text(_decoded(content[:80])):
        return ""
    try:
        return secret_in(_decoded(content).decode("utf-8"))
    except ValueError:
        return ""


def _named(text: str, start: int, secret_in: Callable[[str], str]) -> str:
    """As what anything at this place is masked, for what stands before it."""
    return secret_in(text[max(0, start - 60) : start] + _ANY)


def _wrapped_end(text: str, run: re.Match[str]) -> int:
    """Where a run ends that goes on in lines of the same width, with nothing around them."""
    width = run.end() - run.start()
    more = re.compile(
        rf"(?:\r?\n[A-Za-z0-9+/]{{{width}}}(?![A-Za-z0-9+/]))*(?:\r?\n[A-Za-z0-9+/]{{1,{width}}})?={{0,2}}"
    )
    found = more.match(text, run.end()) if width <= 100 else re.compile("={0,2}").match(text, run.end())
    return found.end() if found else run.end()


def _is_key(data: bytes) -> bool:
    """Whether these bytes are the beginning of a private key."""
    return data.startswith(_OPENSSH) or _DER_KEY.match(data) is not None


def _decoded(text: str) -> bytes:
    text = _ALPHABET.match(text.replace("-", "+").replace("_", "/"))[0]  # type: ignore[index]
    text = text[: len(text) - (len(text) % 4 == 1)]
    return b64decode(text + "=" * (-len(text) % 4))


def _is_text(data: bytes) -> bool:
    """Whether these bytes are the beginning of a text; its last letter may be cut."""
    if len(data) < 8 or _CONTROL.search(data):
        return False
    try:
        getincrementaldecoder("utf-8")().decode(data)
    except ValueError:
        return False
    return True
