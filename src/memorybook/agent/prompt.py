"""The system's words of a turn: what the host says, the rule about the past, what was before, what is recalled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memorybook.agent.words import WORDS
from memorybook.patterns import lazily
from memorybook.recall.format import CLOSE, OPEN, WORDING, fenced

_PAST = lazily(
    r"(?i)\b(?:remember|recall|remind|last (?:time|week|month|year)|earlier|previous(?:ly)?|before|ago|yesterday|again|"
    r"did (?:we|i|you)|have (?:we|i|you)|(?:what|when|where|who|which|why|how) (?:was|were|did)|"
    r"(?:i|we|you) (?:said|told|decided|agreed|mentioned|talked))\b|"
    r"记得|记住|想起|回忆|之前|以前|上次|上回|上周|上个?月|去年|昨天|前天|刚才|曾经|当时|说过|聊过|提过|提到|讨论过|"
    r"决定过|约好|哪天|过吗|了吗"
)
"""What asks for the past."""

if TYPE_CHECKING:
    from memorybook.protocols import MemoryProvider


def system_text(system: str, *, rule: bool, recalled: str, earlier: str, language: str) -> str:
    """The parts that there are, blank lines between them; the rule if wanted, `recalled` as `recalled_block` has it."""
    before = f"{OPEN}\n{WORDS[language].earlier}\n{fenced(earlier)}\n{CLOSE}" if earlier else ""
    return "\n\n".join(filter(None, (system.strip(), WORDS[language].rule if rule else "", before, recalled)))


def asks_for_the_past(text: str, keywords: Sequence[str]) -> bool:
    """Whether the words ask for something that was before: by cues of both languages, or one of these keywords."""
    lower = text.lower()
    return any(word.lower() in lower for word in keywords if word) or _PAST.search(text) is not None


def recalled_block(provider: MemoryProvider, query: str, language: str) -> tuple[str, str]:
    """What the provider recalls, under the title `# Memory`, and why it recalls nothing ("" if it did not fail)."""
    try:
        text = provider.recall(query)
    except Exception as error:  # a provider may be anybody's, and a turn does not fail by it
        return "", f"{type(error).__name__}: {error}"
    if not text.strip():
        return "", getattr(provider, "failure", "")
    titles = {wording.title for wording in WORDING.values()}
    if not titles & set(text.splitlines()):
        text = f"{WORDING[language].title}\n{text}"
    return (text if OPEN in text else f"{OPEN}\n{text}\n{CLOSE}"), ""
