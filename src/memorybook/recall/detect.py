"""Whether an input asks for something that was said before, and which recall it asks for: pure rules, no model."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall import asking_en, asking_zh, likeness
from memorybook.standard import Sequence, date
from memorybook.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memorybook.recall.cues import Scene
    from memorybook.text.days.spans import Span

READ = 240
"""Characters read at either end of an input: who pastes a page asks before it or after it."""

LIKE = 0.5
"""Confidence of an input that asks for nothing but is like a past session just enough; 1 if it is the same."""

_ANY_DAY = date(2060, 8, 31)
"""Seen from which every phrase names days: all have begun, 29 February and the 31st of last month are there."""

_CODE = lazily(r"(?s)```.*?(?:```|$)")
_QUOTED = lazily(
    r"“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》|【[^】]*】|`[^`]*`|\"[^\"]*\"|(?<![\w'])'(?!\s)[^'\n]+'(?!\w)"
)
_HAN = lazily("[\u3400-\u9fff]")


_SEVERAL = lazily(
    r"(?i)\b(?:last|past|previous|latest|recent)\s+(?:\w+\s+){1,2}"
    r"(?:conversations|chats|sessions|discussions|talks)\b(?!\s+(?:with|between)\s+(?!(?:you|me|us)\b))"
    r"|(?:最近|最后|过去|近|前)的?这?[0-9二两三四五六七八九十几]{1,3}(?:[次场轮回段]|个)(?:我们|咱们)?的?"
    r"(?:(?:对话|会话|聊天|谈话|讨论|交谈|交流)(?![室软框群])|[^，。？！]{0,3}[聊谈]了?[些点]?(?:什么|啥|哪))"
)


class Recall(NamedTuple):
    """What an input asks to be recalled.

    Attributes:
        scene: `history` (what the user told or asked: preferences, facts about them), `topic` (what was discussed,
            decided or advised on a subject), `session` (an earlier conversation as a whole), `within` (earlier in
            this one).
        reason: The words that say so, as they were read.
        confidence: 0..1; of the rules' own making, not a measured probability.
        query: The subject: the input without the words that ask; may be empty for `session`.
        span: First and last day that it speaks of, as ordinals; None if it names none.
        limit: How many of the newest sessions it speaks of ("our last three conversations"), at least 1; None if it
            gives no number.
    """

    scene: Scene
    reason: str
    confidence: float
    query: str
    span: Span | None = None
    limit: int | None = None


def detect(text: str, keywords: Sequence[str] = (), *, today: date | None = None) -> Recall | None:
    """Which recall an input asks for; None if it asks for none.

    What stands in quotes or code is passed over: it is spoken about, not said. Any text is taken, none raises.

    Args:
        text: What the user just said.
        keywords: Further words that ask for a recall wherever they are said, in any case and width; blank ones do not
            count.
        today: What "last Tuesday" is counted from; None leaves such spans out.

    >>> detect("What did we decide about token expiry?").scene
    'topic'
    >>> detect("Remember to buy milk") is None, detect("git 怎么看上一次提交") is None
    (True, True)
    """
    said = _said(text)
    chinese = _HAN.search(said) is not None
    found = asking_zh.scene_of(said) if chinese else None
    found = found or asking_en.scene_of(said)
    named = None if found else _by_keyword(text, keywords)
    found = found or named
    rules = asking_zh if chinese else asking_en
    never = rules.never(said)
    if not never and (several := _several(said)):
        return several._replace(span=_span(said, today))
    if found is None and not never:
        found = likeness.likely(rules.plain(said), "zh" if chinese else "en", asks=rules.asks(said))
    if found is None:
        return None
    scene, reason, confidence = found
    query = (named and subject(_without(said, keywords))) or subject(said)  # the keyword itself if there is no more
    if scene == "topic" and not query:  # nothing is named but the talk
        scene = "session"
    return Recall(scene, reason, confidence, query, _span(said, today))


def resembles(best: float, threshold: float, text: str, *, today: date | None = None) -> Recall | None:
    """A recall by topic for an input that asks for none, but is that much like a past session.

    Args:
        best: The greatest relevance, 0..1, of a past session or turn for the input.
        threshold: The setting `recall.similarity_threshold`; 0 turns this off.
        text: The input, which is the query as it stands.
        today: As for `detect`.

    >>> resembles(0.8, 0.7, "the ndots issue").scene, resembles(0.6, 0.7, "hello"), resembles(0.6, 0.0, "hello")
    ('topic', None, None)
    """
    if threshold <= 0 or best < threshold:
        return None
    sure = LIKE + (1 - LIKE) * (min(best, 1.0) - threshold) / (1 - threshold) if threshold < 1 else 1.0
    return Recall("topic", f"like a past session ({best:.2f})", sure, " ".join(text.split()), _span(text, today))


def subject(text: str) -> str:
    """The text without days and the words that ask for a recall, of both languages; "" if nothing else is there."""
    from memorybook.text.days.past import without_days

    text = without_days(text, _ANY_DAY)
    if _HAN.search(text):
        text = asking_zh.subject(text)
    return asking_en.subject(text)


def plain(text: str, language: str) -> str:
    """What `likeness` is asked about, `en` or `zh`: what is said, in plain words."""
    said = _said(text)
    return asking_zh.plain(said) if language == "zh" else asking_en.plain(said)


def _said(text: str) -> str:
    """What of a text is said by its writer: no code, nothing quoted, and of a long one only its two ends."""
    text = _CODE.sub(" ▢ ", text.strip())
    if len(text) > 2 * READ:
        text = f"{text[:READ]}\n{text[-READ:]}"
    return _QUOTED.sub(" ▢ ", _plain(text))


def _plain(text: str) -> str:
    """In letters and digits of the usual width."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFKC", text).replace("’", "'")


def _without(said: str, keywords: Sequence[str]) -> str:
    """The text without the keywords: they ask for a recall, and are not what is looked for."""
    for word in filter(None, (_plain(word).strip().casefold() for word in keywords)):
        low = said.casefold()
        at = low.find(word) if len(low) == len(said) else -1
        while at >= 0:
            said, low = (f"{one[:at]} {one[at + len(word) :]}" for one in (said, low))
            at = low.find(word, at)
    return said


def _by_keyword(text: str, keywords: Sequence[str]) -> tuple[Scene, str, float] | None:
    wanted = [word for word in keywords if word.strip()]
    if not wanted:
        return None
    said = _QUOTED.sub(" ▢ ", _plain(_CODE.sub(" ▢ ", text))).casefold()
    word = next((word for word in wanted if _plain(word).casefold() in said), None)
    return ("topic", word, 0.6) if word else None


def _several(said: str) -> Recall | None:
    """The newest few sessions as such, where nothing but how many of them is said."""
    found = _SEVERAL.search(said)
    if found is None or subject(f"{said[: found.start()]} {said[found.end() :]}"):
        return None
    from memorybook.recall.order import counted

    limit = counted(found[0])
    return None if limit is None else Recall("history", found[0].strip(), 0.9, "", None, limit)


def _span(text: str, today: date | None) -> Span | None:
    if today is None:
        return None
    from memorybook.text.days.past import days_of

    return days_of(text, today)
