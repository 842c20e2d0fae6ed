"""An agent's sessions: tenants with books of their own, prompts with memory, a bounded loop of tools.

>>> from memorybook.agent import Workspace
>>> with Workspace("/srv/books") as workspace:  # doctest: +SKIP
...     session = workspace.session("telegram", 4711)
...     session.run(llm, "Where did we want to meet?").text
'At the harbour, on Saturday (daily/2026-02-24.md#L3-L3).'
"""

from __future__ import annotations

from memorybook.agent.compose import Composed, compose
from memorybook.agent.events import Event
from memorybook.agent.session import AgentSession, Compacted
from memorybook.agent.session_memory import Remembered
from memorybook.agent.tool_loop import Outcome, converse
from memorybook.agent.toolset import AgentTool, tools_of
from memorybook.agent.workspace import Workspace

__all__ = [
    "AgentSession", "AgentTool", "Compacted", "Composed", "Event", "Outcome", "Remembered", "Workspace", "compose",
    "converse", "tools_of",
]  # fmt: skip
