"""The system's words of a turn: what the host says, the rule about the past, and the context that is gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memorybook.agent.agent_words import WORDS
from memorybook.agent.messages import text_of
from memorybook.agent.window import Context, context
from memorybook.errors import MemoryBookError
from memorybook.sessions.recalls import earlier

SAID_BEFORE = 600
"""Tokens of what was said in this session about a turn's words, where the prompt does not show it any more."""

LAST_TURNS = 20
"""Turns that are shown of a session that another one goes on from."""

if TYPE_CHECKING:
    from memorybook.agent.conversation import Conversation
    from memorybook.protocols import MemoryProvider
    from memorybook.sessions.recall_types import Recollection


def system_text(system: str, *, rule: bool, known: str, language: str) -> str:
    """The parts that there are, blank lines between them; the rule if wanted, `known` as a context has it."""
    return "\n\n".join(filter(None, (system.strip(), WORDS[language].rule if rule else "", known)))


class Gathered(NamedTuple):
    """What a turn should know.

    Attributes:
        context: The one block of it.
        found: The recollection that the words asked for; None if they asked for none.
        failures: Why something was not recalled, one sentence each.
    """

    context: Context = Context()
    found: Recollection | None = None
    failures: tuple[str, ...] = ()


def gathered(talk: Conversation, asked: str, language: str, *, most: int, before: str = "") -> Gathered:
    """What is remembered, what the words ask to be recalled, and of this session what is about them or sums it up.

    Of the session only what the prompt does not show. With `recall.auto_recall = false` only words that ask for the
    past are looked up, and nothing is detected. What fails is told and left out, for a turn does not fail by it.

    Args:
        talk: The conversation as it stands.
        asked: What the user says.
        language: Of the fixed words, `en` or `zh`.
        most: How many messages of the talk the prompt shows; 0 for a prompt without the talk.
        before: Uuid of the session that this one goes on from; "" if it does from none.
    """
    config = talk.memory.config
    if not config.enabled:
        return Gathered()
    failures: list[str] = []
    auto = config.recall.auto_recall
    looks = auto or talk.memory.detect(asked) is not None
    known = _provided(talk.provider, asked if looks else "", failures)
    found = _recollected(talk, asked, failures) if auto else None
    blocks: list[str] = []
    shown = talk.shown(most)
    if auto and most and (found is None or found.scene != "within"):
        blocks += _said_before(talk, asked, {each.message["id"] for each in shown}, failures)
    blocks += _went_before(talk, before, failures) if before else []
    if found is not None:
        blocks.insert(0 if found.has_relevant else len(blocks), found.text)
    made = context(
        talk.earlier(most) if most else "",
        blocks,
        known,
        said=[asked, *(text_of(each.message) for each in shown)],
        language=language,
        max_tokens=config.recall.max_context_tokens,
        whole=getattr(talk.provider, "name", "") == "flat",
    )
    return Gathered(made, found, tuple(failures))


def recollected(talk: Conversation, asked: str) -> Gathered:
    """What the words ask to be recalled, without a context; nothing with `recall.auto_recall = false`."""
    failures: list[str] = []
    config = talk.memory.config
    found = _recollected(talk, asked, failures) if config.enabled and config.recall.auto_recall else None
    return Gathered(found=found, failures=tuple(failures))


def _provided(provider: MemoryProvider, query: str, failures: list[str]) -> str:
    try:
        text = provider.recall(query)
    except Exception as error:  # a provider may be anybody's
        failures.append(f"{type(error).__name__}: {error}")
        return ""
    failure = "" if text.strip() else getattr(provider, "failure", "")
    failures += [failure] if failure else []
    return text


def _recollected(talk: Conversation, asked: str, failures: list[str]) -> Recollection | None:
    try:
        return talk.memory.recollect(asked, current=talk.uuid or None) if asked.strip() else None
    except MemoryBookError as error:
        failures.append(str(error))
        return None


def _said_before(talk: Conversation, asked: str, shown: set[str], failures: list[str]) -> list[str]:
    """What was said about these words in this session, in messages that the prompt shows no more; [] for nothing."""
    left_out = {each.message["id"] for each in talk.kept} - shown
    if not (left_out and talk.stored and asked.strip()):
        return []
    try:
        found = earlier(talk.memory.context, talk.uuid, asked, left_out, max_tokens=SAID_BEFORE)
    except MemoryBookError as error:
        failures.append(str(error))
        return []
    return [found.text] if found is not None else []


def _went_before(talk: Conversation, session: str, failures: list[str]) -> list[str]:
    """The session that this one goes on from; [] if it was forgotten meanwhile."""
    try:
        return [talk.memory.recall_session(session, limit=LAST_TURNS).text]
    except MemoryBookError as error:
        failures.append(str(error))
        return []
