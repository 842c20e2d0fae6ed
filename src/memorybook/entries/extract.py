"""What of a talk is worth keeping: by a model where there is one, else by rules.

Pure steps: what may be shown of the talk -> one call, with the entries that are pertinent under aliases -> read item by
item -> held against what was said (`entries.ground`) -> what the user ordered and the model missed. Matching comes
after. Texts are taken as redacted already; a talk of more than 8,000 tokens comes in stretches (`sessions.dialogue`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from math import log, sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memorybook.entries import model_prompts
from memorybook.entries.ground import FOREIGN
from memorybook.entries.read_reply import (
    Aliases,
    Candidate,
    Extraction,
    ForgetRequest,
    NoteCandidate,
    Reading,
    Skipped,
    merged_by_text,
    read_reply,
)
from memorybook.entries.rules import by_rules, entities_of
from memorybook.forget.order_text import ASKED, asked_to_forget
from memorybook.model import TRUST_ORDER, Discarded, Entry, Session, Trust, Turn
from memorybook.sessions import dialogue
from memorybook.sessions.summarize import refuses
from memorybook.text.sentences import compiled, content_size, sentences, without_recalled
from memorybook.text.tokens import count_tokens, is_telling, normalise, query_words, tokens

if TYPE_CHECKING:
    from memorybook.entries.ground import Heard
    from memorybook.formats.llm_messages import Usage
    from memorybook.protocols import LLM

__all__ = [
    "Candidate", "Extraction", "ForgetRequest", "NoteCandidate", "Skipped",
    "entities_of", "extract", "without_recalled",
]  # fmt: skip

PROMPT_TOKENS: Mapping[model_prompts.Language, int] = {"en": 2_450, "zh": 2_950}
"""Tokens of all that is sent but for the talk, known entries and the form included, by `text.tokens.count_tokens`.

More in Chinese, of which newer tokenisers make half as many: with less room too few known entries are shown.
"""

MOST_KNOWN = 50
"""Entries that are shown to the model."""

_KNOWN_WIDTH = 120
"""Characters that are shown of an entry."""


def extract(
    turns: Sequence[Turn],
    *,
    session: Session | None,
    now: datetime,
    llm: LLM | None = None,
    known: Iterable[Entry] = (),
    language: Literal["auto", "en", "zh"] = "auto",
    zone: tzinfo | None = None,
    mask: model_prompts.Mask = str,
    before: Turn | None = None,
    whole: Sequence[Turn] = (),
) -> Extraction:
    """Find what is worth keeping in these turns, English and Chinese.

    Without `llm` by rules (`rules.by_rules`). With one: one call, and none for a talk in which nobody
    said anything to speak of. What the user told to remember or always to do is found by rules as well and added where
    the model left it out.

    Args:
        turns: The talk, in order, redacted.
        session: Where it belongs; says whether it was imported.
        now: When this is; dates turns without a time.
        llm: The model; None extracts by rules.
        known: Entries; of these at most 50 are shown, those that share words with the talk first, then the
            strongest.
        language: Of the prompt; `auto` takes the talk's. What is kept stays in the language of the talk.
        zone: In which days are counted; None is that of `now`.
        mask: A text without its secrets; what is shown of entries, and all that the model says, passes through it.
        before: The last that a user said before these turns: `forget what I just said` may mean it.
        whole: All turns of the session, if these are its last ones: what is said is held against them as well.

    Raises:
        LLMFailed: The model gave no answer that can be used; nothing of it is kept.
    """
    now = now.astimezone(zone) if zone is not None else now
    if llm is None:
        return by_rules(list(dialogue.spoken(turns)), session=session, now=now, before=before)
    shown = dialogue.talk_of(turns)
    spoken = [turn for piece in shown.pieces for turn in piece.turns]
    found = by_rules(spoken, session=session, now=now, before=before)
    orders = [one for one in found.candidates if one.told]
    if dialogue.is_tiny(shown.pieces) and not orders and not found.forget_requests:
        return Extraction(skipped=shown.skipped)
    chosen = dialogue.language_of(shown.pieces) if language == "auto" else language
    reading, usage = _asked(shown.pieces, llm, tuple(known), now, chosen, mask, whole or turns)
    imported = session is not None and session.source.startswith("import:")
    return _completed(masked(reading, mask), found, shown, imported=imported, usage=usage)


def _asked(
    pieces: Sequence[dialogue.Piece],
    llm: LLM,
    known: Sequence[Entry],
    now: datetime,
    language: model_prompts.Language,
    mask: model_prompts.Mask,
    whole: Sequence[Turn],
) -> tuple[Reading, Usage]:
    """The model's answer, read and held against what was said, and what it took."""
    from memorybook.entries.ground import Heard

    prompt = prompt_of(pieces, known=known, now=now, language=language, mask=mask)
    heard = Heard(whole, known, now, now.tzinfo, shown=prompt.aliases.known.values())

    def read(value: Any) -> Reading:
        return held(read_reply(value, prompt.aliases), heard, pieces)

    return model_prompts.ask(llm, model_prompts.EXTRACT, language, prompt.user, read, system=prompt.system)


# --- the prompt ----------------------------------------------------------------------------------


OPEN, CLOSE = "<known>", "</known>"
"""Between these stands what is known, as data."""


class Prompt(NamedTuple):
    """What is sent, and what the aliases in it stand for."""

    system: str
    user: str
    aliases: Aliases


def prompt_of(
    pieces: Sequence[dialogue.Piece],
    *,
    known: Sequence[Entry],
    now: datetime,
    language: model_prompts.Language,
    mask: model_prompts.Mask = str,
) -> Prompt:
    """The prompt of one extraction: instructions and known entries, and the talk as data.

    Entries and groups stand between markers, masked; what tries to instruct is left out.
    """
    lines = [model_prompts.EXTRACT.prompt[language], OPEN]
    groups = _groups(known, mask)
    if groups:
        lines.append(model_prompts.GROUPS[language] + ", ".join(groups))
    fixed = ["\n".join([*lines, CLOSE]), model_prompts.KNOWN[language], *_form_texts(language)]
    room = PROMPT_TOKENS[language] - sum(map(count_tokens, fixed))
    shown: dict[str, Entry] = {}
    entries: list[str] = []
    for entry in pertinent(known, pieces):
        text = _known_line(entry.text, mask)
        if not _clear(text):
            continue
        line = f"m{len(shown) + 1} {text}"
        room -= count_tokens(line) + 1
        if room < 0:
            break
        shown[f"m{len(shown) + 1}"] = entry
        entries.append(line)
    if entries:
        lines += [model_prompts.KNOWN[language], *entries]
    lines = [*lines, CLOSE] if groups or entries else lines[:1]
    return Prompt(
        system="\n".join(lines),
        user=dialogue.shown(pieces, now=now, chinese=language == "zh"),
        aliases=Aliases({f"t{number}": piece.turns for number, piece in enumerate(pieces, 1)}, shown),
    )


def _form_texts(language: model_prompts.Language) -> tuple[str, str]:
    return model_prompts.EXTRACT.description[language], json.dumps(model_prompts.EXTRACT.schema)


def pertinent(known: Iterable[Entry], pieces: Sequence[dialogue.Piece]) -> list[Entry]:
    """At most 50 entries: first those that one turn of people shares most rare words with, then the best.

    Suspect ones are left out. Looked for turn by turn: an entry is spoken of in one turn, while a long talk shares
    some word with every entry.
    """
    entries = [entry for entry in known if entry.trust != "suspect"]
    words = {entry.id: set(filter(is_telling, query_words(entry.text))) for entry in entries}
    said = [
        set(filter(is_telling, tokens(piece.text)))
        for piece in pieces
        if piece.turns[0].role not in ("assistant", "tool")
    ]
    spread = Counter(word for each in words.values() for word in each)
    spoken = Counter(word for each in said for word in each)
    weights = {
        word: log(1 + len(entries) / count) * log(1 + len(said) / spoken[word])
        for word, count in spread.items()
        if word in spoken
    }
    worth = {
        entry.id: max((sum(weights[word] for word in words[entry.id] & each) for each in said), default=0.0)
        / sqrt(len(words[entry.id]) or 1)
        for entry in entries
    }
    return sorted(entries, key=lambda entry: (-worth[entry.id], -entry.score, entry.id))[:MOST_KNOWN]


def _groups(known: Iterable[Entry], mask: model_prompts.Mask) -> list[str]:
    """The ten groups that most entries are in."""
    counts = Counter(entry.group for entry in known if entry.group and entry.state == "active")
    most = (model_prompts.shown(group, 40, mask) for group, _ in counts.most_common(10))
    return [group for group in most if _clear(_as_words(group))]


def _known_line(text: str, mask: model_prompts.Mask) -> str:
    """An entry as it is shown, without the date that it opens with."""
    undated = compiled(_OPENING_DATE).sub("", model_prompts.one_line(text))
    return model_prompts.shown(undated or text, _KNOWN_WIDTH, mask)


_OPENING_DATE = r"(?i)^(?:(?:as of|by|on|since)\s+|截至\s*|从\s*)?\d{4}-\d\d-\d\d\s*(?:起)?[，,]?\s*"


# --- after the answer ----------------------------------------------------------------------------


STATEMENTS = 3
"""Statements of people from which a talk has something to tell."""


def held(reading: Reading, heard: Heard, pieces: Sequence[dialogue.Piece]) -> Reading:
    """The reading, held against what was said: each candidate, sentence and decision that does not stand has a doubt.

    Raises:
        ValueError: It refuses, is mostly in another language than the talk, or nothing of it stands though people
            stated things: no answer to go on with.
    """
    told = [*map(str.strip, sentences_of(reading.summary)), *reading.decisions]
    if any(refuses(text) for text in (*told, *(one.content for one in reading.candidates))):
        raise ValueError("it refuses: write down what was said in the talk, and nothing about yourself")
    candidates = [heard.grounded(one) for one in reading.candidates]
    doubts = {text: heard.doubt(text) for text in dict.fromkeys((*told, *reading.open_questions))}
    reasons = [*(one.doubt for one in candidates), *(doubts[text] for text in told)]
    if 2 * reasons.count(FOREIGN) > len(reasons):
        raise ValueError(f"most of it {FOREIGN}: write in the language of the talk")
    if all(reasons) and not reading.forget_requests and statements(pieces) >= STATEMENTS:
        found = f"; the first: {reasons[0]}" if reasons else ""
        raise ValueError(f"nothing of it stands in the talk, in which people stated things{found}")
    summary = "".join(text for text in sentences_of(reading.summary) if not doubts[text.strip()])
    turns = tuple(dict.fromkeys(turn.id for piece in pieces for turn in piece.turns))
    doubtful = [
        Candidate(
            content=text,
            category="decision" if text in reading.decisions else "context",
            importance="low",
            turn_ids=turns[:1],
            quote="",
            doubt=doubts[text],
        )
        for text in dict.fromkeys(told)
        if doubts[text]
    ]
    return reading._replace(
        candidates=(*candidates, *doubtful),
        summary=summary.strip(),
        decisions=tuple(text for text in reading.decisions if not doubts[text]),
        open_questions=tuple(text for text in reading.open_questions if not doubts[text]),
    )


def sentences_of(summary: str) -> list[str]:
    """The sentences of a summary, with the space after each."""
    return compiled(r"[^\s].*?(?:[.!?](?=\s|$)|[。！？]|$)\s*").findall(summary)


def statements(pieces: Iterable[dialogue.Piece]) -> int:
    """How many statements people made: no questions, nothing small."""
    return sum(
        not one.question and content_size(one.text) >= 3 and not dialogue.is_small(one.text)
        for piece in pieces
        if piece.turns[0].role in ("user", "")
        for one in sentences(piece.text)
    )


def masked(reading: Reading, mask: model_prompts.Mask) -> Reading:
    """The reading without secrets, and without names and tags that try to instruct whoever reads them."""
    return Reading(
        tuple(_masked(one, mask) for one in reading.candidates),
        tuple(
            Discarded(text=mask(one.text), reason=mask(one.reason), quote=mask(one.quote)) for one in reading.discarded
        ),
        tuple(replace(one, text=mask(one.text)) for one in reading.forget_requests),
        mask(reading.summary),
        tuple(map(mask, reading.decisions)),
        tuple(map(mask, reading.open_questions)),
    )


def _masked(one: Candidate, mask: model_prompts.Mask) -> Candidate:
    group = mask(one.group) if one.group else None
    return replace(
        one,
        content=mask(one.content),
        quote=mask(one.quote),
        doubt=mask(one.doubt),
        tags=tuple(tag for each in one.tags if _clear(_as_words(tag := mask(each)))),
        entities=tuple(name for each in one.entities if _clear(_as_words(name := mask(each)))),
        group=group if group and _clear(_as_words(group)) else None,
    )


def _as_words(name: str) -> str:
    """A tag or a path as a sentence: `ignore-all/previous_instructions` instructs as well."""
    return " ".join(compiled(r"[\s/_-]+").split(name))


def _completed(
    reading: Reading, found: Extraction, shown: dialogue.Talk, *, imported: bool, usage: Usage | None
) -> Extraction:
    """The reading, screened, without what the user asked to forget, with the orders that it lacks."""
    requests = _requests(found.forget_requests, reading.forget_requests)
    places = {turn.id: place for place, piece in enumerate(shown.pieces) for turn in piece.turns}
    spread = Counter(word for one in reading.candidates for word in set(query_words(one.content)))
    often = {word for word, count in spread.items() if count > 2 and 2 * count > len(reading.candidates)}
    kept: list[Candidate] = []
    discarded = list(reading.discarded)
    for one in reading.candidates:
        reason = _refused(one, requests, places, often)
        if reason is None:
            kept.append(_imported(one) if imported else one)
        else:
            discarded.append(Discarded(text=one.content, reason=reason, quote=one.quote))
    orders = [one for one in found.candidates if one.told]
    kept = [replace(one, told=any(covers(one, order) for order in orders)) for one in kept]
    missed = [order for order in orders if not any(covers(one, order) for one in kept if not one.doubt)]
    return Extraction(
        candidates=tuple(merged_by_text([*kept, *missed])),
        skipped=shown.skipped,
        discarded=tuple(discarded),
        forget_requests=requests,
        summary=_clear(reading.summary),
        decisions=tuple(filter(_clear, reading.decisions)),
        open_questions=tuple(filter(_clear, reading.open_questions)),
        usage=usage,
    )


def _requests(by_rule: Iterable[ForgetRequest], by_model: Iterable[ForgetRequest]) -> tuple[ForgetRequest, ...]:
    """What is asked to be forgotten, once for each turn, with the entries that the model named."""
    merged = {one.turn_id: one for one in by_rule}
    for one in by_model:
        known = merged.get(one.turn_id)
        merged[one.turn_id] = one if known is None else replace(known, ids=one.ids)
    return tuple(merged.values())


def _refused(
    one: Candidate, requests: Iterable[ForgetRequest], places: dict[str, int], often: Collection[str]
) -> str | None:
    """Why a candidate is not kept; None if it is. `often`: who most are about, which is not what is to be forgotten."""
    from memorybook.text.screen import screen

    reason = screen(one.content) or screen(one.quote)
    if reason is not None:
        return reason
    last = max(places.get(id, -1) for id in one.turn_ids)
    for request in requests:
        there = not request.said or request.said_in in one.turn_ids
        asked = set(query_words(request.text)).intersection(query_words(one.content))
        if request.text and not request.said and asked.issubset(often):
            continue
        if there and last <= places.get(request.turn_id, -1) and asked_to_forget(one.content, request):
            return ASKED
    return None


def _clear(text: str) -> str:
    """The text, or "" if it tries to instruct whoever reads it."""
    from memorybook.text.screen import screen

    return text if text and screen(text) is None else ""


def _imported(one: Candidate) -> Candidate:
    trust: Trust = min(one.trust, "import", key=TRUST_ORDER.index)
    return replace(one, trust=trust)


def covers(one: Candidate, order: Candidate) -> bool:
    """Whether a candidate says what the user ordered: by equal text, or from the same turn in shared words."""
    if normalise(one.content) == normalise(order.content):
        return True
    if not set(one.turn_ids) & set(order.turn_ids):
        return False
    if _points(order.content):
        return True
    quote, told = normalise(one.quote), normalise(order.quote)
    if quote and (quote in told or told in quote):
        return True
    words = set(filter(is_telling, query_words(order.content))) or set(query_words(order.content))
    shared = words & {*query_words(one.content), *query_words(one.quote)}
    return len(shared) >= 0.3 * len(words)


def _points(text: str) -> bool:
    """Whether a text only points at what was said before ("this one", 这坑): what rests on its turn says it better."""
    return compiled(r"(?i)(?:this|that|these|those|it)\b|[这那](?!么|样)|以上|上面").match(text) is not None
