"""Session summaries: `sessions/DATE-NAME-ID.md`, front matter and a page that a person can read.

::

    ---
    session: 5f2c0a3e-…
    name: planning
    started: 2026-02-24T10:12:33Z
    ended: 2026-02-24T11:02:00Z
    turns: 18
    title: Where the index lives
    ---

    # Where the index lives

    The summary.

    ## Decisions

    - The index is derived.

    ## Open questions

    - Who rebuilds it?

    ## Turns

    D1:1..18

The front matter is flat `key: value` in the part of YAML where both agree. Titles of sections may be
English or Chinese. Equal prefixes with counting numbers are written as ranges.

What was collected from another machine stands in a folder of its name, `sessions/NODE/DATE-NAME-ID.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from hashlib import blake2b
from itertools import groupby, islice
from unicodedata import normalize

from memorybook.errors import InvalidInput
from memorybook.formats.entry_block import UNSAFE, escape, reference, unescape
from memorybook.model import Note, Session, SessionSummary
from memorybook.text.tokens import language_of

_TITLES: Mapping[str, tuple[str, str, str]] = {
    "en": ("Decisions", "Open questions", "Turns"),
    "zh": ("决定", "待解决的问题", "对话"),
}
_SECTIONS = {title.casefold(): place for titles in _TITLES.values() for place, title in enumerate(titles)}

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"(?m)^(#{1,2})[ \t]+([^\n]*)\n?")
_TEXT = rf"(?m)^#(?=#?[ \t])|\A\s|\s\Z|{UNSAFE}"
_LINE = rf"\n|\A\s|\s\Z|{UNSAFE}"
_TURN = rf"[\s,]|\.(?=\.)|\A#|{UNSAFE}"
_PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[^\W\d_](?:[\w /._-]*\w)?", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,8})", re.DOTALL)
_RANGE = re.compile(r"(.+)\.\.([0-9]{1,9})")
_MOST_IN_RANGE = 100_000  # turns that are read of one range, and of one page: a few bytes may name any number of them


# --- writing -----------------------------------------------------------------------------------


def render(summary: SessionSummary, *, language: str = "auto") -> str:
    """Render the document in `en`, `zh` or `auto` (by what it says). Raises InvalidInput for another language."""
    if language == "auto":
        said = " ".join([summary.title, summary.summary, *summary.decisions, *summary.open_questions])
        language = language_of(language, [said])
    if language not in _TITLES:
        raise InvalidInput(f"language {language!r} is not known: use 'en' or 'zh'")
    title = escape(_LINE, summary.title)
    parts = [_front_matter(summary), *([f"# {title}"] if title else [])]
    if summary.summary:
        parts.append(escape(_TEXT, summary.summary))
    turns = ", ".join(_ranges(summary.turn_ids))
    lists = (_list(summary.decisions), _list(summary.open_questions), turns)
    for heading, body in zip(_TITLES[language], lists, strict=True):
        if body:
            parts.append(f"## {heading}\n\n{body}")
    return "\n\n".join(parts) + "\n"


def recounted(text: str, summary: SessionSummary) -> str:
    """Update `turns` and `ended` in the front matter of a page that a person edited; a lost one is put back."""
    front = _FRONT.match(text)
    if front is None:
        return f"{_front_matter(summary)}\n\n{text}"
    lines = front[1].splitlines()
    for key, value in (("ended", _moment(summary.ended)), ("turns", str(summary.turns))):
        places = [n for n, line in enumerate(lines) if line.partition(":")[0].strip() == key]
        if value and places:
            lines[places[-1]] = f"{key}: {value}"
        elif value:
            lines.append(f"{key}: {value}")
    return text[: front.start(1)] + "\n".join([*lines, ""]) + text[front.end(1) :]


def _front_matter(summary: SessionSummary) -> str:
    fields = {
        "session": _value(summary.session),
        "name": _value(summary.name),
        "started": _moment(summary.started),
        "ended": _moment(summary.ended),
        "turns": str(summary.turns),
        "title": _value(summary.title),
    }
    lines = [f"{key}: {value}" for key, value in fields.items() if value]
    return "\n".join(["---", *lines, "---"])


def _value(text: str) -> str:
    """Return the text as YAML reads it, too: plain where that is safe, else in double quotes."""
    escaped = escape(_LINE, text)
    plain = not escaped or _PLAIN.fullmatch(escaped) or _UUID.fullmatch(escaped)
    return escaped if plain else json.dumps(escaped, ensure_ascii=False)


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _list(items: Iterable[str]) -> str:
    return "\n".join([f"- {escape(_LINE, item) or '&#x;'}" for item in items])


def _ranges(ids: Iterable[str]) -> Iterator[str]:
    """Yield the ids in order, three or more that count on from one another as `prefix1..9`."""
    numbered = [(id, match[1], int(match[2])) if (match := _NUMBERED.fullmatch(id)) else (id, None, 0) for id in ids]
    for (prefix, _), run in groupby(enumerate(numbered), key=lambda item: (item[1][1], item[1][2] - item[0])):
        found = [id for _, (id, _, _) in run]
        if prefix is not None and len(found) >= 3:
            last = found[-1][len(prefix) :]
            yield f"{escape(_TURN, found[0])}..{last}"
        else:
            yield from [escape(_TURN, id) or "&#x;" for id in found]


# --- reading -----------------------------------------------------------------------------------


def parse(text: str) -> SessionSummary:
    """Parse a summary; missing parts are empty and unknown sections belong to the summary; no text raises."""
    front = _FRONT.match(text)
    fields = _read_fields(front[1]) if front else {}
    title, bodies = _sections(without_front_matter(text))
    summary, decisions, questions, turns = bodies
    try:
        count = int(fields.get("turns", "0"))
    except ValueError:
        count = 0
    return SessionSummary(
        session=fields.get("session", ""),
        title=fields.get("title", title),
        summary=unescape(summary.replace("\r\n", "\n").strip()),
        name=fields.get("name", ""),
        started=_read_moment(fields.get("started")),
        ended=_read_moment(fields.get("ended")),
        turns=count,
        decisions=tuple(_items(decisions)),
        open_questions=tuple(_items(questions)),
        turn_ids=tuple(islice(_read_ranges(turns), _MOST_IN_RANGE)),
    )


def without_front_matter(text: str) -> str:
    """Return what stands on a page for people."""
    return _FRONT.sub("", text)


def _read_fields(front: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in front.split("\n"):
        key, colon, raw = line.partition(":")
        raw = raw.strip()
        if len(raw) > 1 and raw[0] == raw[-1] == '"':
            with suppress(ValueError):
                raw = str(json.loads(raw))
        elif len(raw) > 1 and raw[0] == raw[-1] == "'":
            raw = raw[1:-1].replace("''", "'")
        if colon:
            fields[key.strip()] = unescape(raw)
    return fields


def _sections(page: str) -> tuple[str, list[str]]:
    """Return the title, and the texts of summary, decisions, open questions and turns."""
    title, bodies = "", ["", "", "", ""]
    at = place = 0
    for heading in _HEADING.finditer(page):
        text = heading[2].rstrip(" \t#\r")
        known = _SECTIONS.get(text.casefold()) if heading[1] == "##" else None
        is_title = (
            heading[1] == "#" and not title and not "".join(bodies).strip() and not page[at : heading.start()].strip()
        )
        bodies[place] += page[at : heading.start()]
        place = 0 if known is None else known + 1
        at = heading.end() if is_title or known is not None else heading.start()
        title = unescape(text) if is_title else title
    bodies[place] += page[at:]
    return title, bodies


def _items(body: str) -> Iterator[str]:
    """Yield list items; indented lines go on with the item before them."""
    item = ""
    for line in [*body.replace("\r\n", "\n").split("\n"), "- "]:
        mark = re.match(r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]+", line + " ")
        if mark is None:
            item += f"\n{line.strip()}" if item and line.strip() else line.strip()
            continue
        if item:
            yield unescape(item)
        item = line[mark.end() :].strip()


def _read_ranges(body: str) -> Iterator[str]:
    for part in re.split(r"[\s,]+", body):
        span = _RANGE.fullmatch(part)
        first = _NUMBERED.fullmatch(unescape(span[1])) if span else None
        if span and first and 0 <= int(span[2]) - int(first[2]) < _MOST_IN_RANGE:
            yield from [f"{first[1]}{number}" for number in range(int(first[2]), int(span[2]) + 1)]
        elif part:
            yield unescape(part)


def _read_moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


# --- names -------------------------------------------------------------------------------------


def summary_path(session: Session) -> str:
    """Return the path of a session's summary, `sessions/2026-02-24-NAME-1a2b3c.md`, safe on every system.

    The day of its first turn (or `undated`), its name in lower case (without that day at its end), six characters that
    tell sessions apart.
    """
    day = session.created.astimezone(UTC).date().isoformat() if session.created else "undated"
    name = re.sub(r"[\W_]+", "-", normalize("NFKC", session.name.removesuffix(day)).lower()).strip("-")[:40].strip("-")
    uuid = session.uuid
    digest = blake2b(uuid.encode(errors="surrogatepass"), digest_size=3).hexdigest()
    short = uuid[-6:].lower() if _UUID.fullmatch(uuid) else digest
    return f"sessions/{'-'.join([part for part in (day, name, short) if part])}.md"


def node_of(path: str) -> str:
    """Return the machine a summary came from, `laptop` for `sessions/laptop/….md`; "" for one of the book's own."""
    parts = path.split("/")
    return parts[1] if len(parts) == 3 and parts[0] == "sessions" else ""


def is_uuid(session: str) -> bool:
    """Return whether it names one session of the whole world, and not one of each machine, such as `main`."""
    return _UUID.fullmatch(session) is not None


_NEWLINES = re.compile(r"\s*[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+\s*")
_WORD = rf"[\s\[\]]|{UNSAFE}"
_KIND = re.compile(r"\[([^\[\]\s]+)\](?=\s|\Z)")
_LAST_TAG = re.compile(r"(?:\A|(?<=\s))#(?=\S+\Z)")
_STAMP = re.compile(
    r"\s*(?:[-*+]\s+)?(?:(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)[ ]?(Z|[+-]\d{2}:?\d{2})?)?"
    r"|(\d{1,2}:\d{2}(?::\d{2})?))(?=\s|\Z)",
    re.ASCII,
)
_BULLET = re.compile(r"\s*[-*+]\s+")
_PATH = re.compile(r"daily/(\d{4}-\d{2}-\d{2})\.md", re.ASCII)


def render_line(note: Note) -> str:
    """Return the note as one line without a newline: its time in whole seconds, line ends in its text as spaces."""
    stamp = note.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    text = escape(UNSAFE, _NEWLINES.sub(" ", note.text.strip()))
    text = _LAST_TAG.sub(reference, text)
    if note.kind is None and _KIND.match(text):
        text = f"&#x5B;{text[1:]}"
    kind = [] if note.kind is None else [f"[{escape(_WORD, note.kind) or '&#x;'}]"]
    tags = [f"#{escape(_WORD, tag) or '&#x;'}" for tag in note.tags]
    return " ".join(["-", stamp, *kind, *([text] if text else []), *tags])


def parse_line(line: str, *, day: date | None = None) -> Note | None:
    """Parse a note; None for other lines. With the file's `day` a list item without a date is a note too."""
    found = _read_time(line, day)
    if found is None:
        return None
    moment, rest = found[0], found[1].strip()
    kind = _KIND.match(rest)
    if kind is not None:
        rest = rest[kind.end() :].lstrip()
    text, tags = _without_tags(rest)
    return Note(time=moment, text=unescape(text), kind=unescape(kind[1]) if kind else None, tags=tags)


def _without_tags(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the tags that stood behind it."""
    if "#" not in text:
        return text, ()
    words = [word.span() for word in re.finditer(r"\S+", text)]
    kept = len(words)
    while kept and text[words[kept - 1][0]] == "#" and words[kept - 1][1] - words[kept - 1][0] > 1:
        kept -= 1
    tags = tuple(unescape(text[start + 1 : end]) for start, end in words[kept:])
    return text[: words[kept - 1][1]] if kept else "", tags


def _read_time(line: str, day: date | None) -> tuple[datetime, str] | None:
    """Return the time and the rest of the line."""
    stamp = _STAMP.match(line)
    if stamp is None:
        bullet = _BULLET.match(line)
        return None if bullet is None or day is None else (datetime.combine(day, time(), UTC), line[bullet.end() :])
    stamped, clock, zone, clock_alone = stamp.groups()
    if stamped is None and day is None:
        return None
    try:
        on = date.fromisoformat(stamped) if stamped else day
        clock = clock or clock_alone or "00:00"
        at = time.fromisoformat(("0" if clock[1] == ":" else "") + clock + (zone or ""))
        moment = datetime.combine(on or date.min, at.replace(microsecond=0, tzinfo=at.tzinfo or UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment, line[stamp.end() :]


def daily_path(day: date) -> str:
    """Return the document for notes of that day, `daily/2026-02-24.md`."""
    return f"daily/{day.isoformat()}.md"


def day_of(path: str) -> date | None:
    """Return the day of a document of notes; None if the path is another's."""
    match = _PATH.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
