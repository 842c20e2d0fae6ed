"""Ask a model to fill in a form, and read its answer leniently: unusable items are set aside, the rest stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from memorybook.book.fade import importance_score
from memorybook.formats.llm_messages import Form
from memorybook.model import CATEGORIES, CATEGORY_ALIASES, TRUST_ORDER, Category, Discarded, Entry, Trust, Turn
from memorybook.text.sentences import compiled
from memorybook.text.tokens import is_chinese, normalise

if TYPE_CHECKING:
    from memorybook.formats.llm_messages import Usage
    from memorybook.protocols import LLM

T = TypeVar("T")

Language = Literal["en", "zh"]

Mask = Callable[[str], str]
"""Takes the secrets out of a text."""

Importance = Literal["high", "medium", "low"] | float
"""A word, or a number 0..1."""

Audience = Literal["agent", "people"]
"""Listener: an agent, who takes orders to remember and to behave, or people among themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that may become an entry.

    Attributes:
        content: The statement, in the language of the talk, to be read by itself.
        category: See `Category`.
        importance: How firmly it was said: `high`, `medium` or `low`, or a number 0..1.
        tags: Words for finding it, without `#`.
        entities: Names in it, at most 8.
        group: Where it belongs, `work/api`; None if nobody filed it. Rules do not file.
        turn_ids: Turns it rests on, in order, at least one.
        quote: The words of one of these turns that it rests on.
        expires: Day a todo lapses; None if it names none.
        trust: The lowest of the turns it rests on: `user`, `agent`, `tool`, `import` for an imported session, `suspect`
            for what a person insists on in a turn that tries to instruct its reader.
        reinforces: Ids of known entries that say the same.
        contradicts: Ids of known entries that are no longer true by it, finished todos among them.
        disputes: Ids of known entries of which only a person can say whether they are no longer true by it.
        told: Whether the user asked in so many words that it be remembered, or always be done so.
        doubt: Why it waits for a person's word, as it does not rest on what was said; "" if it does.
        changes: Whether rules are to find what is no longer so by it, as no model has looked.
        leans: Whether it cannot be read without what it changes: alone it is not kept.
    """

    content: str
    category: Category
    importance: Importance
    turn_ids: tuple[str, ...]
    quote: str
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    group: str | None = None
    expires: date | None = None
    trust: Trust = "user"
    reinforces: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()
    told: bool = False
    doubt: str = ""
    changes: bool = False
    leans: bool = False

    @property
    def score(self) -> float:
        """The score of an entry of this importance."""
        return importance_score(self.importance)

    def left(self, reason: str) -> Discarded:
        """Return it as something that is not stored, with the reason."""
        return Discarded(text=self.content, reason=reason, quote=self.quote)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteCandidate:
    """Something that happened or is planned, worth a line in the day's notes but not an entry.

    Attributes:
        text: One line, to be read by itself.
        time: When it was said, UTC.
        turn_id: Turn it rests on.
        kind: Always `event`.
    """

    text: str
    time: datetime
    turn_id: str
    kind: str = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """A command to forget something, or not to keep it, as it was said; nothing was stored for it.

    Attributes:
        text: The user's words.
        turn_id: Turn they stand in.
        ids: Known entries that are meant, where a model said so; () leaves finding them to the caller.
        said: What the words point at, where they name nothing (`forget what I just said`): the statement beside them
            or the turn before; "" if they name it, or nothing stands there.
        said_in: Turn in which that stands; "" if `said` is.
    """

    text: str
    turn_id: str
    ids: tuple[str, ...] = ()
    said: str = ""
    said_in: str = ""


class Skipped(NamedTuple):
    """A text that was left out, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What is worth keeping of a conversation.

    Attributes:
        candidates: In the order in which they were first said, no two alike.
        notes: The same; only rules find them.
        skipped: What of the talk was refused, with the reason: what had a cue, or turns that instruct.
        discarded: What a model found and was set aside, with the reason.
        forget_requests: Commands to forget; carrying them out is the caller's.
        summary: What the talk was about; "" from rules (`sessions.summarize` writes theirs).
        decisions: What was decided, as sentences; () from rules.
        open_questions: What was left open; () from rules.
        usage: What the model's calls cost; None if none was called.
    """

    candidates: tuple[Candidate, ...] = ()
    notes: tuple[NoteCandidate, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    forget_requests: tuple[ForgetRequest, ...] = ()
    summary: str = ""
    decisions: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    usage: Usage | None = None


# --- asking --------------------------------------------------------------------------------------


def prompt_language(setting: Literal["auto", "en", "zh"], text: str) -> Language:
    """Return the language of a prompt: the setting's, or for `auto` that of the text."""
    return setting if setting != "auto" else "zh" if is_chinese(text) else "en"


class Step(NamedTuple):
    """A step that asks a model to fill in a form.

    Attributes:
        name: Of the form.
        prompt: What to do, in both languages.
        description: What the form is, in both languages.
        schema: JSON Schema of the answer.
    """

    name: str
    prompt: Mapping[Language, str]
    description: Mapping[Language, str]
    schema: Mapping[str, Any]


def ask(
    llm: LLM, step: Step, language: Language, shown: str, read: Callable[[Any], T], *, system: str | None = None
) -> tuple[T, Usage]:
    """Ask a model to fill in the form of a step; return what `read` makes of the answer, and the usage.

    `read` raises ValueError for an answer that cannot be used; the model is then asked once more, with the reason.
    `system` takes the place of the step's prompt. Raises LLMFailed.
    """
    form = Form(step.name, step.description[language], step.schema, read)
    prompt = step.prompt[language] if system is None else system
    reply = llm.complete([{"role": "system", "content": prompt}, {"role": "user", "content": shown}], form=form)
    return reply.data, reply.usage


TEXT: Mapping[str, Any] = {"type": "string"}
MAYBE: Mapping[str, Any] = {"type": ["string", "null"]}


def choice_of(*words: str) -> dict[str, Any]:
    """Return the schema of one of these words."""
    return {"type": "string", "enum": list(words)}


def list_of(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def object_of(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with just these fields, all of them given."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def items_of(value: Any) -> list[Any]:
    """Return the items of a list; a single object or text is one."""
    return value if isinstance(value, list) else [value] if isinstance(value, dict | str) and value else []


def line_of(value: Any, width: int) -> str:
    """Return a text in one line that every file can hold, cut; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    text = compiled(r"[\x00-\x1f\x7f\u2028\u2029]+").sub(" ", value)
    return " ".join(text.encode("utf-8", "replace").decode().split())[:width]


# --- what prompts show ----------------------------------------------------------------------------


def show_memory(text: str, width: int, mask: Mask) -> str:
    """Return a memory as prompts show it: masked, cut, in one line that cannot end a block of data.

    A person may have written a secret into the book with an editor; it is masked before a cut can halve it.
    """
    return cut_line(unfenced(one_line(mask(text))), width)


def one_line(text: str) -> str:
    """Return a text in one line that any wire can send."""
    return " ".join(text.split()).encode("utf-8", "replace").decode()


def cut_line(line: str, width: int) -> str:
    """Cut a line to `width` characters."""
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def unfenced(text: str) -> str:
    """Return a text that cannot write the markers between which it stands as data."""
    return compiled(r"(?i)<(?=\s*/?\s*(?:known|talk|memory|memories|instruction|task)\b)").sub("< ", text)


# --- reading -------------------------------------------------------------------------------------

CONTENT = 500
"""Most characters of a statement; a longer one is no summary of a thought."""

MOST = 50
"""Most candidates of one answer; the most important are kept, in their order."""


class Reading(NamedTuple):
    """The usable part of an answer, and what was set aside."""

    candidates: tuple[Candidate, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    forget_requests: tuple[ForgetRequest, ...] = ()
    summary: str = ""
    decisions: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()


class Aliases(NamedTuple):
    """The aliases allowed in an answer: `t1` for turns, `m1` for known entries."""

    turns: Mapping[str, tuple[Turn, ...]]
    known: Mapping[str, Entry]


class _Bad(ValueError):
    """An item of an answer cannot be used; says why."""


def read_reply(value: Any, aliases: Aliases, *, most: int = MOST) -> Reading:
    """Read a decoded answer of any shape.

    Unknown categories become the nearest known one, else `fact`; wrong importance `medium`; broken dates, tags,
    groups and the like are left out. An item is set aside if it says nothing, is over 500 characters, rests on no
    turn that was shown, names an entry that was not shown, or has a number that is none.

    Raises:
        ValueError: It holds something to remember, and nothing of that can be used; says why.
    """
    fields = _fields(value)
    candidates: list[Candidate] = []
    discarded: list[Discarded] = []
    for item in items_of(fields.get("candidates")):
        try:
            candidates.append(_candidate(item, aliases))
        except _Bad as reason:
            content = item.get("content") if isinstance(item, dict) else item
            label = line_of(content, 200) if isinstance(content, str) else type(content).__name__
            discarded.append(Discarded(text=label, reason=str(reason), quote=line_of(_first(item, "quote"), 200)))
    requests = []
    for item in items_of(fields.get("forget")):
        text = line_of(_first(item, "text"), 500)
        turns = [turn for name in aliases_of(_first(item, "turn"), "t") for turn in aliases.turns.get(name, ())]
        if text and turns:
            meant = (aliases.known.get(name) for name in aliases_of(_first(item, "known"), "m"))
            ids = dict.fromkeys(entry.id for entry in meant if entry is not None)
            requests.append(ForgetRequest(text=text, turn_id=turns[0].id, ids=tuple(ids)))
    if discarded and not (candidates or requests):
        raise ValueError(f"none of the candidates can be used; the first: {discarded[0].reason}")
    merged = merged_by_text(candidates)
    best = set(sorted(range(len(merged)), key=lambda place: -merged[place].score)[:most])
    over = (one.left(f"is one of more than {most}") for place, one in enumerate(merged) if place not in best)
    return Reading(
        tuple(one for place, one in enumerate(merged) if place in best),
        (*discarded, *over),
        tuple(requests),
        line_of(fields.get("summary"), 2_000),
        _lines(fields.get("decisions"), 20, 300),
        _lines(fields.get("open_questions"), 20, 300),
    )


def _fields(value: Any) -> Mapping[str, Any]:
    """Return the answer as an object; a bare list is one of candidates."""
    if isinstance(value, list):
        value = {"candidates": value}
    if not isinstance(value, dict):
        raise ValueError("the answer is not a JSON object with a list `candidates`")
    for name in ("memories", "facts", "items"):
        if "candidates" not in value and isinstance(value.get(name), list):
            value = {**value, "candidates": value[name]}
    known = {"candidates", "summary", "decisions", "open_questions", "forget"}
    if not known & value.keys():
        raise ValueError("the answer has none of `candidates`, `summary`, `decisions`, `open_questions`, `forget`")
    if value.get("candidates") is not None and not isinstance(value["candidates"], list | dict):
        raise ValueError("`candidates` is not a list")
    return cast(Mapping[str, Any], value)


# --- one candidate -------------------------------------------------------------------------------


def _candidate(item: Any, aliases: Aliases) -> Candidate:
    if not isinstance(item, dict):
        raise _Bad("is not an object")
    content, quote = line_of(item.get("content"), 1_000_000), line_of(item.get("quote"), 1_000)
    if not re.search(r"\w", content):
        raise _Bad("has no content")
    if len(content) > CONTENT:
        raise _Bad(f"has {len(content)} characters, more than {CONTENT}")
    turns = _turns(_first(item, "turns", "source_turns", "turn"), quote, aliases)
    contradicts = tuple(_known_texts(item.get("contradicts"), aliases))
    again = {id: text for id, text in _known_texts(item.get("reinforces"), aliases).items() if id not in contradicts}
    copied = normalise(content).rstrip("…")  # a known statement without its date, or cut, stands for it in full
    return Candidate(
        content=next((text for text in again.values() if copied in normalise(text)), content),
        category=category_of(item.get("category")),
        importance=_importance(_first(item, "importance", "score")),
        turn_ids=tuple(dict.fromkeys(turn.id for turn in turns)),
        quote=quote,
        tags=tags_of(item.get("tags")),
        entities=_lines(item.get("entities"), 8, 80),
        group=_group(item.get("group")),
        expires=_day(_first(item, "expires_at", "expires")),
        trust=trust_of(turns),
        reinforces=tuple(again),
        contradicts=contradicts,
    )


def _first(item: Any, *names: str) -> Any:
    return next((item[name] for name in names if isinstance(item, dict) and item.get(name) is not None), None)


def _turns(value: Any, quote: str, aliases: Aliases) -> tuple[Turn, ...]:
    """Find the turns named; where none is, those that hold the quote."""
    found = {turn.id: turn for name in aliases_of(value, "t") for turn in aliases.turns.get(name, ())}
    if not found and len(quote) >= 6:
        wanted = normalise(quote)
        for turns in aliases.turns.values():
            found.update((turn.id, turn) for turn in turns if wanted in normalise(turn.text))
    if not found:
        named = ", ".join(aliases_of(value, "t"))
        raise _Bad(f"rests on {named}, which is no turn of the talk" if named else "rests on no turn of the talk")
    return tuple(found.values())


def _known_texts(value: Any, aliases: Aliases) -> dict[str, str]:
    """Return the texts of the entries named, all of which were shown, by id."""
    names = aliases_of(value, "m")
    for name in names:
        if name not in aliases.known:
            raise _Bad(f"names {name}, which is no known memory")
    return {aliases.known[name].id: aliases.known[name].text for name in names}


def aliases_of(value: Any, letter: str) -> list[str]:
    """Read the aliases in a list, a text such as `t1, t2`, or a number."""
    if isinstance(value, list):
        return [name for one in value if not isinstance(one, list) for name in aliases_of(one, letter)]
    if isinstance(value, int) and not isinstance(value, bool):
        return [f"{letter}{value}"] if 0 < value < 1_000_000 else ["a number"]
    if not isinstance(value, str) or _is_nothing(value):
        return []
    bare = re.split(r"[:：=]", re.sub(r"[(（][^)）]*[)）]|\band\b|[和与&]", " ", value.lower()))[0]
    parts = [part for part in re.split(r"[\s,;，、；\[\]()\"'`]+", bare) if part]
    named = list(takewhile(lambda part: part[-1].isdigit(), parts))
    parts = named or parts  # after its alias a model may copy what stands there
    return [f"{letter}{part}" if part.isascii() and part.isdigit() else line_of(part, 40) for part in parts]


def _is_nothing(value: str) -> bool:
    """Return whether an optional text stands for none: blank, `null`, `n/a`, 无."""
    return value.strip().strip("\"'`()[]<>").strip().lower() in _NOTHING


_NOTHING = frozenset(("", "-", "none", "null", "nil", "n/a", "na", "no", "nothing", "false", "empty", "无", "没有"))


def trust_of(turns: Iterable[Turn]) -> Trust:
    """Return the trust of what rests on these turns: the user's if they said any of it, else the lowest."""
    doors: set[Trust] = {_DOORS.get(turn.role, "agent") for turn in turns}
    return "user" if "user" in doors else min(doors, key=TRUST_ORDER.index, default="agent")


_DOORS: Mapping[str, Trust] = {"user": "user", "": "user", "assistant": "agent", "tool": "tool"}


def category_of(value: Any) -> Category:
    """Return the category meant; `fact` where none is near."""
    if not isinstance(value, str):
        return "fact"
    word = re.sub(r"[\s-]+", "_", value.strip().lower()[:40])
    named: dict[str, Category] = {one: one for one in CATEGORIES}
    known = {**named, **CATEGORY_ALIASES, **_CATEGORY_WORDS}.get(word)
    if known is not None:
        return known
    near = get_close_matches(word, named, n=1, cutoff=0.7)
    return named[near[0]] if near else "fact"


_CATEGORY_WORDS: Mapping[str, Category] = {
    **dict.fromkeys(("pref", "like", "likes", "habit", "instruction", "偏好", "喜好", "习惯"), "preference"),
    **dict.fromkeys(("profile", "identity", "knowledge", "information", "事实", "信息"), "fact"),
    **dict.fromkeys(("choice", "agreement", "决定", "决策"), "decision"),
    **dict.fromkeys(("event", "lesson", "incident", "learning", "经历", "经验", "教训", "事件"), "experience"),
    **dict.fromkeys(("process", "convention", "rule", "procedure", "流程", "规矩", "规范"), "workflow"),
    **dict.fromkeys(("tool", "tool_use", "tool_usage", "技能", "工具", "工具用法"), "skill_usage"),
    **dict.fromkeys(("task", "plan", "reminder", "deadline", "goal", "action_item", "待办", "任务", "计划"), "todo"),
    **dict.fromkeys(("status", "state", "situation", "现状", "背景", "上下文"), "context"),
}


def _importance(value: Any) -> Importance:
    number = fraction_of(value)
    return number if number is not None else _IMPORTANCES.get(str(value).strip().lower(), "medium")


def fraction_of(value: Any) -> float | None:
    """Read a number 0..1; one above that is of 1..10. None for what is no number; raises ValueError for any other."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= 10:  # NaN is not either
        raise _Bad("has an importance that is no number from 0 to 1")
    return float(value) / 10 if value > 1 else float(value)


_IMPORTANCES: Mapping[str, Importance] = {
    **dict.fromkeys(("high", "critical", "very high", "高", "重要"), "high"),
    **dict.fromkeys(("low", "minor", "very low", "低"), "low"),
}


def _group(value: Any) -> str | None:
    """Read a path of at most three names, `work/api`; None if there is none."""
    if not isinstance(value, str) or _is_nothing(value):
        return None
    parts = [" ".join(part.split()) for part in re.split(r"[/／>]", line_of(value, 1_000))]
    path = "/".join([part for part in parts if re.search(r"\w", part)][:3])
    return path if path and len(path) <= 60 else None


def _day(value: Any) -> date | None:
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value.strip()[:10])
    except ValueError:
        return None


def tags_of(value: Any) -> tuple[str, ...]:
    """Read at most 8 tags, without their #."""
    return tuple(dict.fromkeys(tag for one in _lines(value, 8, 40) if (tag := one.strip("# "))))


# --- the rest ------------------------------------------------------------------------------------


def merged_by_text(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Merge candidates of equal normalised text into one that rests on all their turns."""
    merged: dict[str, Candidate] = {}
    for one in candidates:
        key = normalise(one.content)
        known = merged.get(key)
        if known is None:
            merged[key] = one
            continue
        contradicts = distinct(known.contradicts, one.contradicts)
        merged[key] = replace(
            known,
            turn_ids=distinct(known.turn_ids, one.turn_ids),
            contradicts=contradicts,
            reinforces=tuple(id for id in distinct(known.reinforces, one.reinforces) if id not in contradicts),
            disputes=distinct(known.disputes, one.disputes),
            doubt=known.doubt and one.doubt,
            told=known.told or one.told,
        )
    return list(merged.values())


def distinct(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of both, in order, each once."""
    return tuple(dict.fromkeys((*one, *other)))


def _lines(value: Any, limit: int, width: int) -> tuple[str, ...]:
    """Read the texts of a list, or of one text with commas, each in one line; longer ones are left out."""
    if isinstance(value, str):
        value = re.split(r"[,，、;；\n]|\s+(?=#)", value) if width < 200 else [value]
    if not isinstance(value, list):
        return ()
    lines = [line_of(one, width + 1) for one in value[: limit * 4]]
    said = (line for line in lines if re.search(r"\w", line) and len(line) <= width and not _is_nothing(line))
    return tuple(dict.fromkeys(said))[:limit]
