"""An agent's sessions: tenants with books of their own, prompts with memory, a bounded loop of tools.

>>> from memorybook.agent import Workspace
>>> with Workspace("/srv/books") as workspace:  # doctest: +SKIP
...     session = workspace.session("telegram", 4711)
...     session.run(llm, "Where did we want to meet?").text
'At the harbour, on Saturday (daily/2026-02-24.md#L3-L3).'
"""

from __future__ import annotations

from memorybook.agent.conversation import Compacted, Event, Remembered
from memorybook.agent.session import AgentSession, Workspace
from memorybook.agent.toolset import AgentTool, Outcome, converse, tools_of
from memorybook.agent.turn_context import Composed, SystemPrompt, compose, system_prompt

__all__ = [
    "AgentSession", "AgentTool", "Compacted", "Composed", "Event", "Outcome", "Remembered", "SystemPrompt", "Workspace",
    "compose", "converse", "system_prompt", "tools_of",
]  # fmt: skip
