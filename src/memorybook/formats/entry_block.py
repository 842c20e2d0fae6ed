"""One entry as Markdown: a title line, its text, and a comment that carries the rest.

::

    ### [a1b2c3] preference | 0.92 | 2026-02-20 | 12
    The user likes terse code with few comments.
    <!-- score: 0.918734; scored: 2026-02-20; created: 2026-01-03T09:12:00Z; tags: style, python; pinned -->

The comment holds `key: value` fields and bare flags between semicolons. What is machine-written
comes back exactly (`read_entry(render_entry(x)) == x`). What a person writes or edits is read as
meant, by these rules:

- Without a comment the title is taken as it stands: its score is the strength on its own date.
- A title whose score differs from the comment's (to two decimals) is a person's new score, as of
  the day the file was changed.
- The comment says `archived` when it was written into the archived section. An entry that says so
  and stands among the active ones was moved there by a person: it is at least 0.2, and active as
  of the day the file was changed (a person who takes it out again uses it). One that does not say
  so and stands among the archived ones was archived by a person: it is at most 0.2, as of that day.
- A title may be incomplete, in another order of words, or free text: see `_read_title`. One that has
  a bracket too many or too few, or in the id's place what cannot be an id, is broken: its block is no
  entry, and is kept and reported.
- What a title or a comment says that cannot be read goes to the unknown fields: no word is ever lost.

One escape serves every document: a hexadecimal character reference such as `&#x23;` for `#`, which
Markdown shows as the character itself. Only characters that stand where they would be taken for
structure are written so, and the `&` of a text that holds such a reference already. `&#x;` is the
empty text, for places where nothing would be read as absence. So `unescape(escape(x)) == x` for
every text, and what a person writes by hand is read as it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from sys import maxunicode
from types import MappingProxyType
from typing import Any, NamedTuple

from memorybook.errors import InvalidInput
from memorybook.model import CATEGORIES, CATEGORY_ALIASES, IMPORTANCE, TRUST_ORDER, Category, Entry

UNSAFE = r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufeff\ud800-\udfff]|&(?=#x)"
"""Never written as they are: controls, other line ends, surrogates (not UTF-8), and the escape itself."""

_REFERENCE = re.compile(r"&#x([0-9A-Fa-f]{0,6});")
_FENCE = re.compile(r"(?m)^(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)$")


def escape(pattern: str, text: str) -> str:
    """Replace every character that the pattern (given as text, compiled when needed) matches by a reference."""
    return re.sub(pattern, reference, text)


def reference(match: re.Match[str]) -> str:
    """Return the matched characters as references."""
    return "".join([f"&#x{ord(char):X};" for char in match[0]])


def unescape(text: str) -> str:
    """Return the text with its references as characters; one that names no character stays."""
    if "&#x" not in text:
        return text
    return _REFERENCE.sub(
        lambda at: at[0] if int(at[1] or "0", 16) > maxunicode else at[1] and chr(int(at[1], 16)), text
    )


class Fences:
    """The fenced code blocks of a text. A fence at a line's start that nothing closes is no fence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: dict[str, int] = {}  # shortest fence of each kind that is known to have no end further on

    def end(self, start: int) -> int:
        """Return the end of the fenced block that starts at `start`, 0 if it stays open.

        Ask in the order of the text.
        """
        opening = _FENCE.match(self._text, start)
        if opening is None:
            return 0
        marks = opening[1] or opening[2]
        if len(marks) >= self._unclosed.get(marks[0], len(marks) + 1):
            return 0
        closing = re.compile(rf"(?m)^{marks[0]}{{{len(marks)},}}[ \t\r]*$").search(self._text, opening.end())
        if closing is None:
            self._unclosed[marks[0]] = len(marks)
            return 0
        return closing.end()


def fenced_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every fenced block; a fence that stays open has the end 0."""
    reader = Fences(text)
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        end = reader.end(opening.start())
        yield opening.start(), end
        at = end or opening.end()


def has_open_fence(text: str) -> bool:
    """Return whether a code fence is opened that nothing closes."""
    return ("```" in text or "~~~" in text) and any(not end for _, end in fenced_blocks(text))


# --- an entry ------------------------------------------------------------------------------------


BOUND = 0.2
"""The score that an entry gets when a person moves it to the other section."""

HANDMADE_CATEGORY: Category = "fact"
HANDMADE_SCORE = IMPORTANCE["medium"]
"""What an entry has of which a person wrote nothing but the text."""

UNKNOWN_CATEGORY: Category = "context"
"""What an entry has whose category nobody knows; the word itself stays among its unknown fields."""

NO_ID = "?"
"""Stands for the id of an entry that has none yet."""

HEADING = r"(?:[ \t\u3000\xa0\[\r]|$)"
"""What follows the `#` of a heading."""

MANAGED = (
    r"[ \t\u3000\xa0]*(?:(active memor(?:y|ies)|active entries|活跃记忆|活动记忆|当前记忆)"
    r"|(archived? memor(?:y|ies)|archived entries|已?归档记忆|存档记忆))[ \t]*[:：]?[ \t]*#*[ \t\r]*$"
)
"""What stands in a heading of a managed section; the first group is the active one, the second the archived."""

_TITLE = re.compile(
    r"###[ \t]+\[([^\s\[\]|]+)\][ \t]+([a-z_]+)[ \t]*\|[ \t]*([01]\.[0-9]{2})[ \t]*\|"
    r"[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2})[ \t]*\|[ \t]*([0-9]{1,99})[ \t]*(?:\r?\n|\Z)"
)
_STRUCTURE = (
    rf"(?mi)^#(?=#{{0,2}}{HEADING}|#{MANAGED})|^<(?=!--|<{{6}})|^>(?=>{{6}})|^=(?=={{6}})"
    rf"|^`(?=``)|^~(?=~~)|\A[ \t\n]|[ \t\n]\Z|{UNSAFE}"
)
_ID = rf"[\s\[\]|]|{UNSAFE}"

_CHINESE: Mapping[str, Category] = {
    "偏好": "preference", "事实": "fact", "决定": "decision", "决策": "decision", "经验": "experience",
    "工作流": "workflow", "流程": "workflow", "技能": "skill_usage", "待办": "todo", "背景": "context",
}  # fmt: skip
_CATEGORY_WORDS: Mapping[str, Category] = {name: name for name in CATEGORIES} | dict(CATEGORY_ALIASES) | dict(_CHINESE)
_SCORE_WORDS = dict(IMPORTANCE) | {"高": IMPORTANCE["high"], "中": IMPORTANCE["medium"], "低": IMPORTANCE["low"]}
_CATEGORIES = frozenset(CATEGORIES)

_BLANK = Entry(
    id=NO_ID, text=NO_ID, category=HANDMADE_CATEGORY, score=HANDMADE_SCORE, scored=date.min, last_activated=date.min
)
_FIELDS = tuple([(name, Entry.__dict__[name].__set__, getattr(_BLANK, name)) for name in Entry.__dataclass_fields__])
"""Of each field of an entry its name, what sets it, and its default."""


class Reading(NamedTuple):
    """The text under one title, or a loose paragraph, as read.

    `entry` is None if it is none (its id `NO_ID` if it has none); `settled` is False if reading made something up that
    the next rewrite should write down; `length` is in characters.
    """

    entry: Entry | None
    settled: bool
    length: int
    warnings: tuple[str, ...] = ()


# --- writing -----------------------------------------------------------------------------------


def render_entry(entry: Entry, *, fences: bool = True) -> str:
    """Render the entry: title, text, comment, no final newline. Raises InvalidInput for metadata that is no JSON.

    `fences=False` also escapes closed code fences, for a document where one is open before.
    """
    title = (
        f"### [{escape(_ID, entry.id)}] {entry.category} | {entry.score:.2f} | {entry.last_activated} | {entry.hits}"
    )
    text = entry.text
    blocks: list[tuple[int, int]] = []
    if fences and ("```" in text or "~~~" in text) and "\r" not in text and text == text.strip(" \t\n"):
        blocks = [span for span in fenced_blocks(text) if span[1]]

    def within(match: re.Match[str]) -> str:
        """Keep closed fences, and `#` lines in them (but `##`, which would end the block)."""
        start = match.start()
        plain = match[0] in "`~" or (match[0] == "#" and not text.startswith("##", start))
        return match[0] if plain and any(a <= start < b for a, b in blocks) else reference(match)

    return f"{title}\n{re.sub(_STRUCTURE, within, text)}\n<!-- {'; '.join(written_fields(entry))} -->"


# --- the title ---------------------------------------------------------------------------------


class _Title(NamedTuple):
    """The fields of a title; None and "" for those it lacks."""

    id: str | None = None
    category: Category | None = None
    score: float | None = None
    score_text: str = ""
    activated: date | None = None
    hits: int | None = None
    words: str = ""
    unknown: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    broken: str = ""


def _read_title(line: str) -> _Title:
    """Read a title by hand: parts may be missing, scores and categories words.

    `### preference | 0.8`, `### [a1b2] preference | high | yesterday`, `### Some free title`. What cannot be read is
    kept as an unknown field; what stands alone is text.
    """
    match = re.match(r"###[ \t\u3000\xa0]*(?:\[([^\s\[\]|]+)\](?![(\[]))?(.*)", line, re.DOTALL)
    id, rest = (match[1], match[2].strip()) if match else (None, line)
    cells = [cell.strip() for cell in re.split(r"[|｜]", rest)]
    category = _CATEGORY_WORDS.get(cells[0].lower())
    if category is None and (broken := _bracket_flaw(id, rest, cells)):
        return _Title(broken=f"{broken}; the block is kept as it is")
    if category is None and (len(cells) == 1 or (id is None and _score_of(cells[1]) is None)):
        return _Title(id=unescape(id) if id else None, words=unescape(rest))
    unknown = [] if category or not cells[0] else [("category", unescape(cells[0]))]
    warnings = [f"{cells[0]!r} is no category; read as {UNKNOWN_CATEGORY}"] if unknown else []
    score, activated, hits = None, None, None
    score_text, day_text, hits_text = [*cells[1:4], "", "", ""][:3]
    left = cells[4:]
    if hits_text.isdecimal() and len(hits_text) < 4300:
        hits = int(hits_text)
    elif hits_text:
        warnings.append(f"{hits_text!r} is no number of hits; read as 1")
        left.insert(0, hits_text)
    if day_text and (activated := _day_of(day_text)) is None:
        warnings.append(f"{day_text!r} is no date; read as the day the file was changed")
        left.insert(0, day_text)
    if score_text and (score := _score_of(score_text)) is None:
        warnings.append(f"{score_text!r} is no score from 0 to 1")
        left.insert(0, score_text)
    if any(left):
        unknown.append(("title", unescape(" | ".join(left))))
    return _Title(
        unescape(id) if id else None, category or (UNKNOWN_CATEGORY if cells[0] else None), score, score_text,
        activated, hits, "", tuple(unknown), tuple(warnings),
    )  # fmt: skip


def _bracket_flaw(id: str | None, rest: str, cells: list[str]) -> str:
    """Return what is wrong with the brackets of a title without a category; "" if it may be free text."""
    opened = id is None and rest.startswith("[")
    if opened and "]" not in rest:
        return "the [ of this title is never closed"
    if len(cells) == 1:
        return ""
    if opened:
        return "what stands in the brackets of this title is no id (one word, no brackets)"
    scored = id is not None or _score_of(cells[1]) is not None
    if cells[0].count("]") > cells[0].count("[") or (scored and "[" in cells[0]):
        return "this title has a bracket in the place of its category"
    return ""


def _score_of(text: str) -> float | None:
    if text.lower() in _SCORE_WORDS:
        return _SCORE_WORDS[text.lower()]
    try:
        score = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return score if 0.0 <= score <= 1.0 else None


def _day_of(text: str) -> date | None:
    if len(text) == 10 and text.isascii():
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    match = re.match(r"([0-9]{4})[-/.年]([0-9]{1,2})[-/.月]([0-9]{1,2})", text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


# --- reading -----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def read_entry(block: str, *, day: date, archived: bool | None) -> Reading:
    """Read the entry of a block that starts with its title line; cached.

    `day` is the file's last change (UTC); `archived` the section, None if the comment decides.
    """
    match = _TITLE.match(block)
    title = None
    if match is not None and match[2] in _CATEGORIES:
        id, category, score_text, day_text, hits = match.groups()
        score, activated = float(score_text), _day_of(day_text)
        if activated is not None and score <= 1.0:
            title = _Title(unescape(id), category, score, score_text, activated, int(hits))  # type: ignore[arg-type]
            start = match.end()
    if title is None:
        line, _, _ = block.partition("\n")
        title, match, start = _read_title(line), None, min(len(line) + 1, len(block))
    return _read_body(block, start, title, canonical=match is not None, day=day, archived=archived)


def _read_body(block: str, start: int, title: _Title, *, canonical: bool, day: date, archived: bool | None) -> Reading:
    warnings = list(title.warnings)
    comment = find_comment(block, start - 1)
    if comment is None:
        text, fields, length = block[start:], {}, len(block)
    else:
        at, length, body = comment
        text, fields = block[start:at], read_fields(body, warnings)
    if title.broken:
        return Reading(None, True, length, (title.broken,))
    text = unescape(_lines(text))
    if title.words:
        text = f"{title.words}\n{text}" if text else title.words
    if not text.strip():
        return Reading(None, True, length, (*warnings, "no text stands under this title; it is kept as it is"))
    settled = _settle(fields, title, day=day, archived=archived) and canonical
    fields["text"] = text
    entry = object.__new__(Entry)  # Entry(**fields), whose own way to set frozen fields is half the cost of reading
    for name, put, default in _FIELDS:
        put(entry, fields.get(name, default))
    entry.__post_init__()
    return Reading(entry, settled, length, tuple(warnings))


def _lines(text: str) -> str:
    return (text.replace("\r\n", "\n") if "\r" in text else text).strip(" \t\r\n")


def _settle(fields: dict[str, Any], title: _Title, *, day: date, archived: bool | None) -> bool:
    """Fill in the comment's fields from title and section. Return False if a person had changed them."""
    exact, edited = fields.get("score"), False
    activated = title.activated or fields.get("scored") or day
    fields["id"] = title.id or NO_ID
    fields["category"] = title.category or HANDMADE_CATEGORY
    fields["last_activated"] = activated
    fields["hits"] = 1 if title.hits is None else title.hits
    fields.setdefault("scored", activated)
    if title.unknown:
        fields["unknown"] = title.unknown + fields.get("unknown", ())
    if exact is None:
        fields["score"] = HANDMADE_SCORE if title.score is None else title.score
    elif title.score is not None and (written := f"{exact:.2f}") != title.score_text:
        edited = f"{title.score:.2f}" != written
        if edited:
            fields["score"], fields["scored"] = title.score, day
    if archived is None:
        return not edited
    moved = exact is not None and archived != fields.get("archived", False)
    if moved:
        fields["scored"] = day
        fields["score"] = min(fields["score"], BOUND) if archived else max(fields["score"], BOUND)
        fields["last_activated"] = activated if archived else day
    fields["archived"] = archived
    return not (edited or moved)


_ITEM_MARK = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+(?:(\[ \])[ \t]+)?|(?=\s|\Z))")


def read_loose(chunk: str, *, day: date, archived: bool) -> Entry | None:
    """Read a list item or paragraph among the entries as an entry without id (`- [ ]` is a todo).

    None if it says nothing.
    """
    if re.match(r"<!--|(?:[-*_][ \t]*){3,}\s*\Z", chunk):
        return None
    mark = _ITEM_MARK.match(chunk)
    text = chunk
    if mark is not None:
        first, *rest = chunk[mark.end() :].split("\n")
        text = "\n".join([first, *[re.sub(rf"\A[ \t]{{1,{mark.end()}}}", "", line) for line in rest]])
    text = unescape(_lines(text))
    if not text.strip():
        return None
    return Entry(
        id=NO_ID, text=text, category="todo" if mark and mark[1] else HANDMADE_CATEGORY, score=HANDMADE_SCORE,
        scored=day, last_activated=day, archived=archived,
    )  # fmt: skip


def parse_entry(block: str, *, modified: datetime) -> Entry:
    """Parse one rendered block, the exact inverse of `render_entry`. Raises InvalidInput without an entry or id."""
    reading = read_entry(block, day=modified.astimezone(UTC).date(), archived=None)
    if not block.startswith("###") or reading.entry is None or reading.entry.id == NO_ID:
        raise InvalidInput(f"not an entry: {block[:60]!r}; it starts with `### [id] category | score | date | hits`")
    return reading.entry


def made_ids(text: str) -> Iterator[str]:
    """Yield ids of six characters a-z0-9 made from the text, without end: every reading of it assigns the same."""
    content = text.encode(errors="surrogatepass")
    for number in count():
        digest = blake2b(content, digest_size=8, key=b"%d" % number).digest()
        yield base36(int.from_bytes(digest, "big"))


def base36(number: int) -> str:
    """Return the last six digits of a number, in base 36."""
    digits = []
    for _ in range(6):
        number, digit = divmod(number, 36)
        digits.append("0123456789abcdefghijklmnopqrstuvwxyz"[digit])
    return "".join(digits)


_VALUE = rf"[;\n\t]|(?<=-)>|\A\s|\s\Z|{UNSAFE}"
_ITEM = rf"[;,\n\t]|(?<=-)>|\A\s|\s\Z|{UNSAFE}"
_KEY = rf"[;:\n\t]|(?<=-)>|\A\s|\s\Z|{UNSAFE}"
_FIELD = re.compile(r"(?:&#x[0-9A-Fa-f]{0,6};|[^;])+")
_FIRST = re.compile(r"\A.")


def written_fields(entry: Entry) -> list[str]:
    """Return the comment's fields as text, the exact score first. Raises InvalidInput for metadata that is no JSON."""
    values = [(key, getattr(entry, key)) for key in _CODECS]
    given = {key: value for key, value in values if not (value is None or value is False or value in ((), {}))}
    try:
        fields = [f"{key}: {_CODECS[key].write(value)}" for key, value in given.items() if value is not True]
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the metadata of entry {entry.id!r} is no JSON object: {error}") from error
    for key, value in entry.unknown:
        name, shown = escape(_KEY, key) or "&#x;", escape(_VALUE, value)
        if key in _CODECS:
            with suppress(*_UNREADABLE):
                if value:
                    _CODECS[key].read(shown)
                name = _FIRST.sub(reference, key)  # else it would be taken for the field that it only looks like
        fields.append(f"{name}: {shown}" if value else name)
    return fields + [flag for flag, value in given.items() if value is True]


# --- the comment -------------------------------------------------------------------------------


def _read_moment(raw: str) -> datetime:
    moment = datetime.fromisoformat(unescape(raw))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@lru_cache(maxsize=1024)
def _read_list(raw: str) -> tuple[str, ...]:
    return tuple([unescape(item) for item in map(str.strip, raw.split(",")) if item])


def _read_score(raw: str) -> float:
    score = float(raw)
    if not 0.0 <= score <= 1.0:
        raise ValueError(raw)
    return score


def _read_flag(raw: str) -> bool:
    return {"": True, "true": True, "yes": True, "false": False, "no": False}[raw.lower()]


def _read_json(raw: str) -> Mapping[str, Any]:
    value = json.loads(unescape(raw))
    if not isinstance(value, dict):
        raise ValueError(raw)
    return MappingProxyType(value)


class _Codec(NamedTuple):
    """Writes a field into the comment, and reads it."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]


_TEXT = _Codec(lambda value: escape(_VALUE, value) or "&#x;", unescape)
_LIST = _Codec(lambda values: ", ".join([escape(_ITEM, value) or "&#x;" for value in values]), _read_list)
_DAY = _Codec(str, date.fromisoformat)
_FLAG = _Codec(str, _read_flag)
_TRUST: Mapping[str, str] = {trust: trust for trust in TRUST_ORDER}
_CODECS: Mapping[str, _Codec] = {
    "score": _Codec(lambda score: repr(float(score)), _read_score), "scored": _DAY,
    "created": _Codec(lambda moment: re.sub(r"\+00:00\Z", "Z", moment.isoformat()), _read_moment), "session": _TEXT,
    "source": _TEXT, "tags": _LIST, "entities": _LIST, "links": _LIST, "group": _TEXT, "expires": _DAY,
    "trust": _Codec(_TEXT.write, _TRUST.__getitem__), "superseded_by": _TEXT, "contradicts": _LIST,
    "metadata": _Codec(lambda value: _TEXT.write(json.dumps(dict(value), ensure_ascii=False)), _read_json),
    "archived": _FLAG, "pinned": _FLAG, "verified": _DAY, "lasting": _FLAG,
}  # fmt: skip
_UNREADABLE = (ValueError, KeyError, RecursionError, OverflowError)


def read_fields(body: str, warnings: list[str]) -> dict[str, Any]:
    """Return the comment's fields by their name in `Entry`; what cannot be read goes to `unknown`."""
    try:
        return _read_regular(body)
    except _UNREADABLE:
        return _read_tolerant(body, warnings)


def _read_regular(body: str) -> dict[str, Any]:
    """Return the fields as a machine writes them, at a third of the cost; raises if anything is unusual."""
    if "&#x" in body or "  " in body or " ;" in body or "\n" in body:
        raise ValueError(body)
    parts = body.strip(" ").split("; ")
    fields: dict[str, Any] = {}
    for part in parts:
        key, _, raw = part.partition(": ")
        fields[key] = _CODECS[key].read(raw)
    if len(fields) < len(parts):
        raise ValueError(body)
    return fields


def _read_tolerant(body: str, warnings: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    unknown: list[tuple[str, str]] = []
    for part in _FIELD.findall(body) if "&#x" in body else body.split(";"):
        key, _, raw = part.partition(":")
        key, raw = key.strip(), raw.strip()
        codec = _CODECS.get(key)
        if codec is None or key in fields:
            if key or raw:
                unknown.append((unescape(key), unescape(raw)))
        elif raw or codec is _FLAG:
            try:
                fields[key] = codec.read(raw)
            except _UNREADABLE:
                warnings.append(f"{key} {raw!r} cannot be read and is kept as it stands")
                unknown.append((key, unescape(raw)))
    if unknown:
        fields["unknown"] = tuple(unknown)
    return fields


def find_comment(block: str, start: int) -> tuple[int, int, str] | None:
    """Find the entry's comment, the first with a field of an entry: start, end, and what stands between the marks."""
    at = block.find("\n<!--", start)
    while at >= 0:
        close = block.find("-->", at + 5)
        if close < 0:
            return None
        body = block[at + 5 : close]
        named = (part.partition(":") for part in body.split(";"))
        codecs = ((_CODECS.get(key.strip()), colon) for key, colon, _ in named)
        if body.startswith(" score: ") or any(codec and (colon or codec is _FLAG) for codec, colon in codecs):
            return at, close + 3, body
        at = block.find("\n<!--", close)
    return None
