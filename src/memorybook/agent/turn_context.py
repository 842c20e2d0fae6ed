"""The memory part of a turn's prompt: the rule about the past, and one bounded block of what is known.

For a host's own loop: documents and memories quoted as data, and its system prompt with the memory.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook.agent.conversation import is_reply, recalled_by_tools, text_of
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.forget.forget_requests import EVERYTHING, LEFT_OUT, NOT_FOUND, NOT_OBEYED, UNNAMED
from memorybook.model import Entry
from memorybook.prompt.block import WORDING
from memorybook.results import Known, Recalled
from memorybook.search.tool_results import CLOSE, OPEN, fenced
from memorybook.search.types import Answer, Hit, place_of
from memorybook.sessions import recall_block
from memorybook.sessions.dialogue import ECHOES, echo_key
from memorybook.sessions.recalls import earlier
from memorybook.text.screen import screen
from memorybook.text.sentences import sentences
from memorybook.text.tokens import count_tokens, language_of, normalise, query_words

if TYPE_CHECKING:
    from datetime import tzinfo

    from memorybook.agent.conversation import Conversation
    from memorybook.formats.llm_messages import Message
    from memorybook.memory import Memory
    from memorybook.sessions.recall_block import Recollection
    from memorybook.sessions.user_commands import Obeyed

EARLIER_TOKENS = 600
"""Size of what was said in this session about a turn's words, where the prompt no longer shows it."""

LAST_TURNS = 20
"""Turns that are shown of a session that another one continues."""

MAX_TOKENS = 4_000
"""Size of a context, unless the settings say otherwise."""

_FRAME = frozenset(
    {OPEN, CLOSE}
    | {word for one in WORDING.values() for word in (one.title, one.data)}
    | {word for one in recall_block.WORDING.values() for word in (one.title, one.data)}
)

_TITLES: dict[str, tuple[float, dict[str, str]]] = {
    line: (level, words)
    for level, words in (
        *(
            (1.0, {key: getattr(one, name) for key, one in WORDING.items()})
            for name in ("written", "standing", "found", "unsure")
        ),
        (1.5, {key: one.unsure for key, one in recall_block.WORDING.items()}),  # all sessions stand below these two
        (1.5, {key: one.elsewhen for key, one in recall_block.WORDING.items()}),
    )
    for line in words.values()
}
"""Fixed titles: the level of each, as `#` are that of a heading, and the title by language."""

_ITEM = re.compile(r"[-*] (?:\[[^\]]{1,40}\] )?(?P<said>.*?)(?: \((?P<place>[^()\s]{3,})\))?$")
_QUOTABLE = 12
"""Minimum length of a text that counts as said where a longer one contains it."""

_FEWEST, _ECHOED = 3, 0.6
"""Minimum words of a sentence that is an echo, and the share of them that one recalled line has."""

_SPEAKER = re.compile(r"[^:：]{1,40}[:：] ")


class TurnContext(NamedTuple):
    """The memory block of a prompt.

    Attributes:
        text: The block between its markers; "" if it is empty.
        tokens: Estimated size of `text`.
        left_out: How many lines had no room.
    """

    text: str = ""
    tokens: int = 0
    left_out: int = 0


def build_context(
    summary: str,
    recalled: Sequence[str],
    long_term: str,
    *,
    said: Iterable[str] = (),
    language: str = "en",
    max_tokens: int = MAX_TOKENS,
    whole: bool = False,
) -> TurnContext:
    """Build one block of long-term memory, recalled talks and the session's summary, marked as data, without repeats.

    Long-term memory comes first, as it changes least from turn to turn. The summary may take a third of the room,
    long-term memory the rest, recalled talks what is left. Lines are left out from the end of each.

    Args:
        summary: Of the part of this session that the prompt does not show; "" if it shows all.
        recalled: Blocks of recalled sessions and turns, best first; their own markers and titles go.
        long_term: The block of the provider, likewise.
        said: What the prompt shows anyway: the messages of the talk.
        language: Of the titles, `en` or `zh`.
        max_tokens: Of the block, markers included; at least 1.
        whole: Never cut `long_term`: then only the rest is bounded.
    """
    wording = WORDING[language]
    seen = [("", normalise(text)) for text in said]
    frame = [OPEN, wording.title, wording.data, CLOSE]
    room = max(0, max_tokens - _cost(frame))
    title = ["", locale.message("agent.summary_title", language)]
    text = shortened("\n".join(filter(None, map(fenced, summary.splitlines()))), room // 3 - _cost(title))
    now = [*title, *text.split("\n")] if text else []
    seen += [("", _words(line)) for line in (" ".join(now[2:]), *now[2:]) if line]
    room -= _cost(now)
    known, cut_known = _fitting(_once(_lines(long_term, language), seen), None if whole else room)
    room -= _cost(known)
    found = [line for text in recalled for line in _once(_lines(text, language), seen, quoted=True)]
    title = ["", recall_block.WORDING[language].title] if found else []
    before, cut_past = _fitting([*title, *found], max(0, room))
    body = [*known, *before, *now]
    if not body:
        return TurnContext(left_out=cut_known + cut_past)
    text = "\n".join([*frame[:3], *body, CLOSE])
    return TurnContext(text, count_tokens(text), cut_known + cut_past)


def mark_echoes(message: Message, given: str, before: Sequence[Message]) -> Message:
    """Note in a reply which of its sentences repeat a line of what was recalled, see `dialogue.ECHOES`."""
    if not (isinstance(message, Mapping) and is_reply(message)):
        return message
    blocks = [given, *recalled_by_tools(before)]
    lines = [set(query_words(text)) for block in blocks for text in re.split(r'[\n"]', block)]
    found = []
    for sentence in sentences(text_of(message)):
        words = set(query_words(sentence.text))
        if len(words) >= _FEWEST and any(len(words & line) >= _ECHOED * len(words) for line in lines):
            found.append(echo_key(sentence.text))
    return {**message, ECHOES: found} if found else message


def shortened(text: str, room: int) -> str:
    """Cut the text to so many tokens, with … at its end; "" if there is no room."""
    if count_tokens(text) < room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle] + "…") < room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…" if low else ""


def _lines(text: str, language: str) -> list[str]:
    """Return the lines of a block without its frame, titles in the language, one blank line between paragraphs."""
    lines = [""]
    for line in map(str.rstrip, text.splitlines()):
        if line.strip() and line.strip() not in _FRAME:
            fixed = _TITLES.get(line)
            lines.append(fixed[1][language] if fixed else line.replace("<!--", "<! --").replace("-->", "-- >"))
        elif lines[-1]:
            lines.append("")
    return lines if lines[-1] else lines[:-1]


def _level(line: str) -> float:
    """Return the level of a title, by its `#` or `_TITLES`; 0 for any other line."""
    return _TITLES[line][0] if line in _TITLES else len(line) - len(line.lstrip("#"))


def _once(lines: Sequence[str], seen: list[tuple[str, str]], *, quoted: bool = False) -> list[str]:
    """Drop lines that were seen before, and titles of which nothing is left; add the others to `seen`.

    Only list items are compared, with `quoted` every line that is not a title.
    """
    stay = [not line or bool(_level(line)) or _is_new(line, seen, quoted) for line in lines]
    for place in reversed(range(len(lines))):
        if level := _level(lines[place]):
            rest = range(place + 1, len(lines))
            below = [each for each in takewhile(lambda n: not 0 < _level(lines[n]) <= level, rest) if lines[each]]
            stay[place] = not below or any(stay[each] for each in below)
    left = [line for line, stays in zip(lines, stay, strict=True) if stays]
    return [line for line, after in zip(left, [*left[1:], ""], strict=False) if line or after]


def _words(text: str) -> str:
    """Normalise what somebody said for comparison, without the speaker."""
    return normalise(_SPEAKER.sub("", text, count=1).strip("…"))


def _is_new(line: str, seen: list[tuple[str, str]], quoted: bool) -> bool:
    """Return whether an item is new, and remember it as (place, words); without `quoted` all other lines are new."""
    item = _ITEM.match(" ".join(line.split()))
    if item is None and not quoted:
        return True
    said, place = (item["said"], item["place"] or "") if item is not None else (line, "")
    told, words = normalise(said.strip("…")), _words(said)
    for where, known in seen:
        if known in (words, told) or (len(words) >= _QUOTABLE and words in known):
            return False
        if place and where == place and known in words:  # of the same turn, a piece
            return False
    seen.append((place, words))
    return True


def _fitting(lines: Sequence[str], room: int | None) -> tuple[list[str], int]:
    """Return the first lines that fit (with None all), and how many were left out."""
    if room is None:
        return list(lines), 0
    end = bisect_right(range(len(lines) + 1), room, key=lambda count: _cost(lines[:count])) - 1
    while 0 < end < len(lines):  # no blank, and no title of the line that is left out, at the end
        last, following = lines[end - 1], next(filter(None, lines[end:]), "")
        if last and not (_level(last) > 0 and not 0 < _level(following) <= _level(last)):
            break
        end -= 1
    return list(lines[:end]), sum(map(bool, lines[end:]))


def _cost(lines: Sequence[str]) -> int:
    return count_tokens("\n".join(lines)) + len(lines) if lines else 0


# --- gathering -----------------------------------------------------------------------------------


class Gathered(NamedTuple):
    """The memory gathered for a turn.

    Attributes:
        context: The block for the prompt.
        found: The recollection that the input asked for, or None.
        failures: Why something was not recalled, one sentence each.
    """

    context: TurnContext = TurnContext()
    found: Recollection | None = None
    failures: tuple[str, ...] = ()


def gather(talk: Conversation, asked: str, language: str, *, most: int, before: str = "") -> Gathered:
    """Gather what is remembered, the past talks that the words ask for, and what the prompt hides of this session.

    With `recall.auto_recall = false` only words that ask for the past are looked up, and nothing is detected. What
    fails is left out and named in `failures`.

    Args:
        talk: The conversation.
        asked: What the user says.
        language: Of the titles, `en` or `zh`.
        most: How many messages of the talk the prompt shows; 0 for a prompt without the talk.
        before: Uuid of the session that this one continues; "" for none.
    """
    config, memory = talk.memory.config, talk.memory
    if not config.enabled:
        return Gathered()
    failures: list[str] = []
    auto = config.recall.auto_recall
    known = ""
    try:
        known = talk.provider.recall(asked if auto or memory.detect(asked) is not None else "")
        failures += [] if known.strip() else filter(None, [getattr(talk.provider, "failure", "")])
    except Exception as error:  # a provider may be anybody's
        failures.append(f"{type(error).__name__}: {error}")
    _, found, failed = recollect(talk, asked)
    failures += failed
    blocks: list[str] = []
    shown = talk.shown(most)
    left_out = {each.message["id"] for each in talk.kept} - {each.message["id"] for each in shown}
    try:
        if auto and most and left_out and talk.stored and asked.strip() and (found is None or found.scene != "within"):
            said = earlier(memory.context, talk.uuid, asked, left_out, max_tokens=EARLIER_TOKENS)
            blocks += [said.text] if said is not None else []
    except MemoryBookError as error:
        failures.append(str(error))
    try:
        blocks += [memory.recall_session(before, limit=LAST_TURNS).text] if before else []
    except MemoryBookError as error:  # it may have been forgotten meanwhile
        failures.append(str(error))
    if found is not None:
        blocks.insert(0 if found.has_relevant else len(blocks), found.text)
    made = build_context(
        talk.earlier(most) if most else "",
        blocks,
        known,
        said=[asked, *(text_of(each.message) for each in shown)],
        language=language,
        max_tokens=config.recall.max_context_tokens,
        whole=getattr(talk.provider, "name", "") == "flat",
    )
    return Gathered(made, found, tuple(failures))


def recollect(talk: Conversation, asked: str) -> Gathered:
    """Recall the past talks that the words ask for, without a context; none with `recall.auto_recall = false`."""
    config = talk.memory.config
    if not (config.enabled and config.recall.auto_recall and asked.strip()):
        return Gathered()
    try:
        return Gathered(found=talk.memory.recollect(asked, current=talk.uuid or None))
    except MemoryBookError as error:
        return Gathered(failures=(str(error),))


# --- messages about it ---------------------------------------------------------------------------

_TITLE = 40  # characters of a session's title

_REFUSALS = {
    NOT_OBEYED: "nothing_found",
    NOT_FOUND: "nothing_found",
    EVERYTHING: "not_everything",
    LEFT_OUT: "not_kept",
    UNNAMED: "nothing_named",
}
"""Messages for the reasons why something was not forgotten."""


def describe_recollection(found: Recollection, language: str, zone: tzinfo | None) -> str:
    """Return `recalled 1 session, 3 turns: Trip to Kiel (2026-02-24)`, its days in the zone, None for the machine's."""
    zh = language == "zh"
    counts = [("agent.sessions", len(found.sessions)), ("agent.turns", len(found.turns))]
    many = ("，" if zh else ", ").join(locale.message(id, language, count=count) for id, count in counts if count)
    titles = []
    for one in found.sessions[:2]:
        title = " ".join((one.title or one.name).split())
        title = title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"
        day = f"{one.started.astimezone(zone):%Y-%m-%d}" if one.started else ""
        titles += [title + (locale.message("agent.aside", language, text=day) if day else "")] if title else []
    head = f"{locale.message('agent.recalled', language)} {many}"
    return f"{head}{'：' if zh else ': '}{' · '.join(titles)}".rstrip("：: ")


def describe_obeyed(done: Obeyed, language: str) -> str:
    """Return what was done at a user's word and what was not, a line each; without the words of what is suspect."""

    def say(id: str, /, **values: object) -> str:
        return locale.message(f"agent.{id}", language, **values)

    lines = [
        say("suspect" if id in done.suspect else form, id=id, text=text)
        for form, said in (("entry_remembered", done.remembered), ("known_already", done.known))
        for id, text in said
    ]
    lines += [say("forgot", text=text) for text in done.forgotten]
    lines += [say("kept_as_past", text=text) for text in done.before]
    lines += [say("proposals_wait", count=len(done.proposals))] if done.proposals else []
    lines += [
        say(_REFUSALS.get(reason, "not_done"), reason=locale.translate(reason, language)) for _, reason in done.refused
    ]
    lines += [say("similar", text=text) for text in done.near]
    return "\n".join(dict.fromkeys(lines))


# --- for a host's own loop ------------------------------------------------------------------------


COMPOSED_TOKENS = 4_000
"""Default size of a composed prompt."""

_LEAST = 60
"""Minimum tokens of a document that is cut; a smaller piece is left out."""


Remembered = str | Hit | Known | Entry
"""A memory as searches, lists and callers have it."""

Document = str | Mapping[str, Any]
"""Text, or `{"text"|"content", "title"|"path"|"source"}`."""


class Composed(NamedTuple):
    """A prompt, and what is in it.

    Attributes:
        prompt: The quoted data and the question.
        system: The system prompt as given.
        memories: Those in the prompt; `[n]` is the n-th.
        documents: Those in the prompt, cut ones too; `[Dn]` is the n-th.
        left_out: How many memories and documents had no room, or are not trusted.
        tokens: Estimated size of system and prompt.
    """

    prompt: str
    system: str
    memories: tuple[Remembered, ...]
    documents: tuple[Document, ...]
    left_out: int
    tokens: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages for a model; quoted data is part of the question, not of the system prompt."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.prompt}]


def compose(
    system: str,
    documents: Sequence[Document],
    memories: Sequence[Remembered] | Answer | Recalled,
    question: str,
    *,
    max_tokens: int = COMPOSED_TOKENS,
    language: str = "auto",
) -> Composed:
    """Compose a prompt of memories, retrieved documents and a question.

    Each memory is `[1] …` and each document `[D1] …`, between the markers of recalled text; the question follows.
    Memories and documents share the room that system and question leave, half each; what one does not need the other
    takes. What does not fit is left out from the end, the last document is cut. Memories that are suspect, superseded
    or instruct their reader are left out; documents are the caller's own choice.

    Args:
        system: The host's system prompt.
        documents: Best first.
        memories: Best first; the answer of a search; or that of `Memory.recall`, which alone has what is true now in
            the place of what was replaced, and corrections with what they correct.
        question: What the user asks.
        max_tokens: Of system and prompt together; system and question are never cut.
        language: Of the titles, `en` or `zh`; `auto` takes that of the question.

    Raises:
        InvalidInput: A blank question, or `max_tokens` below 1.
    """
    if not question.strip() or max_tokens < 1:
        raise InvalidInput("the question is blank" if max_tokens >= 1 else f"max_tokens {max_tokens} is below 1")
    spoken = language_of(language, [question])
    titles = [locale.message(f"compose.{name}", spoken) for name in ("data", "memories", "documents")]
    if isinstance(memories, Recalled):
        given: list[Remembered] = [*memories.cold, *memories.hot]
    else:
        given = list(memories.hits if isinstance(memories, Answer) else memories)
    fit = [(memory, line) for memory in given if (line := _line(memory))]
    remembered = [(memory, f"[{number}] {line}") for number, (memory, line) in enumerate(fit, 1)]
    retrieved = [(document, f"[D{number}] {_document(document)}") for number, document in enumerate(documents, 1)]
    room = max_tokens - count_tokens(system) - count_tokens("\n".join([OPEN, *titles, CLOSE, question])) - 4
    share = max(room // 2, room - sum(_tokens_of(text) for _, text in retrieved))
    used, lines = _what_fits(remembered, share, cut=False)
    taken, pages = _what_fits(retrieved, room - sum(map(_tokens_of, lines)), cut=True)
    parts = [f"{title}\n" + "\n".join(body) for title, body in zip(titles[1:], (lines, pages), strict=True) if body]
    quoted = "\n\n".join([f"{OPEN}\n{titles[0]}", *parts]) + f"\n{CLOSE}\n\n" if parts else ""
    prompt = quoted + question
    left_out = len(given) + len(documents) - len(used) - len(taken)
    return Composed(prompt, system, tuple(used), tuple(taken), left_out, count_tokens(system) + count_tokens(prompt))


def _tokens_of(text: str) -> int:
    """Count the tokens of a text on lines of its own, rounded up."""
    return count_tokens(f"{text}\n") + 1


def _what_fits(items: Sequence[tuple[Any, str]], room: int, *, cut: bool) -> tuple[list[Any], list[str]]:
    """Return the first items whose texts fit, with `cut` a piece of the next one, and these texts."""
    used: list[Any] = []
    texts: list[str] = []
    for item, text in items:
        cost = _tokens_of(text)
        if cost > room and cut and room > _LEAST:
            text = shortened(text, room - 2)
            cost = _tokens_of(text)
        if cost > room:
            break
        used.append(item)
        texts.append(text)
        room -= cost
    return used, texts


def _line(memory: Remembered) -> str:
    """Return the memory on one line, with its place; "" if it is not trusted or no longer true."""
    if isinstance(memory, Known):
        memory = memory.entry
    if isinstance(memory, str):
        return "" if screen(memory) else fenced(memory)
    if isinstance(memory, Entry):
        unfit = memory.trust == "suspect" or memory.superseded_by is not None or screen(memory.text)
        return "" if unfit else f"{fenced(memory.text)} ({memory.category}, {memory.id})"
    p = memory.passage
    if p.trust == "suspect" or p.state == "superseded" or screen(p.text):
        return ""
    who = f"{fenced(p.speaker)}: " if p.speaker else ""
    return f"{who}{fenced(memory.snippet)} ({f'{p.date}, ' if p.date else ''}{place_of(p)})"


def _document(document: Document) -> str:
    """Return the document's text under its title, unable to close the markers around it."""
    if isinstance(document, str):
        return _quoted(document)
    text = document.get("text") or document.get("content") or ""
    title = document.get("title") or document.get("path") or document.get("source") or ""
    if not isinstance(text, str):
        raise InvalidInput(f"document {repr(document)[:80]} has no text: give text, or {{'text', 'title'}}")
    return f"{fenced(str(title))}\n{_quoted(text)}" if title else _quoted(text)


def _quoted(text: str) -> str:
    return text.strip().replace("<!--", "<! --").replace("-->", "-- >")


# --- system prompt -------------------------------------------------------------------------------

FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md")
"""The files of a host that `system_prompt` reads by default, in order."""

MOST = 20_000
"""Maximum characters of one file."""


class SystemPrompt(NamedTuple):
    """A system prompt.

    Attributes:
        text: Each file under its name, then the memory block.
        tokens: Estimated size of `text`.
        files: Names of the files in it, in order.
        left_out: Files that were not read, or cut, with the reason; missing ones are not named.
    """

    text: str
    tokens: int
    files: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def system_prompt(
    memory: Memory, query: str = "", *, folder: str = ".", files: Sequence[str] = FILES, max_tokens: int | None = None
) -> SystemPrompt:
    """Build a host's system prompt: its files verbatim, in the order given, then what is remembered for the query.

    Args:
        memory: The book; the memory block is that of `Memory.recall`.
        query: What the user just said; "" for what every prompt has.
        folder: Directory of the files.
        files: Paths below `folder`; missing ones are skipped.
        max_tokens: Of the memory block; None is the default of `Memory.recall`.

    Raises:
        InvalidInput: As `Memory.recall`.
    """
    parts: list[str] = []
    names: list[str] = []
    left_out: list[tuple[str, str]] = []
    for name in files:
        try:
            with open(os.path.join(folder, name), encoding="utf-8-sig") as file:
                text = file.read(MOST + 1).strip()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            left_out.append((name, f"not read: {reason}"))
            continue
        if len(text) > MOST:
            left_out.append((name, f"cut after {MOST} characters"))
            text = f"{text[:MOST].rstrip()}…"
        if text:
            names.append(name)
            parts.append(f"## {name}\n\n{text}")
    remembered = memory.recall(query, max_tokens=max_tokens).text
    text = "\n\n".join(filter(None, [*parts, remembered]))
    return SystemPrompt(text, count_tokens(text), tuple(names), tuple(left_out))
