"""The system's words of a turn: what the host says, the rule about the past, what was before, what is recalled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybook.agent.words import WORDS
from memorybook.recall.format import CLOSE, OPEN, WORDING, fenced

if TYPE_CHECKING:
    from memorybook.protocols import MemoryProvider


def system_text(system: str, *, recalled: str, earlier: str, language: str) -> str:
    """The parts that there are, blank lines between them; `recalled` as `recalled_block` has it."""
    before = f"{OPEN}\n{WORDS[language].earlier}\n{fenced(earlier)}\n{CLOSE}" if earlier else ""
    return "\n\n".join(filter(None, (system.strip(), WORDS[language].rule, before, recalled)))


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
