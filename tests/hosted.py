"""A session as Claude Code records it (2.1.197): lines of a transcript, in two languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "5f2c6f4e-0000-4000-8000-000000000001"


def typed(number: int, text: str, **fields: Any) -> dict[str, Any]:
    """A user's line of a transcript."""
    return {
        "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/p", "sessionId": SESSION,
        "version": "2.1.0", "gitBranch": "main", "type": "user", "message": {"role": "user", "content": text},
        "uuid": f"u{number}", "timestamp": f"2026-11-20T10:{number:02}:00.000Z", **fields,
    }  # fmt: skip


def answered(number: int, text: str) -> dict[str, Any]:
    """An assistant's line of a transcript."""
    return {
        "parentUuid": f"u{number}", "isSidechain": False, "sessionId": SESSION, "type": "assistant",
        "message": {"id": f"m{number}", "type": "message", "role": "assistant", "model": "claude",
                    "content": [{"type": "text", "text": text}]},
        "uuid": f"a{number}", "timestamp": f"2026-11-20T10:{number:02}:30.000Z",
    }  # fmt: skip


def called(number: int, name: str, result: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The lines of a tool's call and of its answer."""
    call, answer = answered(number, ""), typed(number, "")
    call["message"]["content"] = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": {}}]
    answer["message"]["content"] = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": result}]
    return call, answer


ASIDE = (
    {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-11-20T10:00:59.000Z", "sessionId": SESSION},
    {
        "parentUuid": None, "isSidechain": False, "type": "attachment", "uuid": "h1", "sessionId": SESSION,
        "timestamp": "2026-11-20T10:00:59.500Z",
        "attachment": {
            "type": "hook_additional_context", "hookName": "SessionStart", "hookEvent": "SessionStart",
            "content": ["<!-- memorybook:recalled -->\n- The okapi is blue.\n<!-- /memorybook:recalled -->"],
        },
    },
    {"type": "last-prompt", "lastPrompt": "From now on the okapi is blue.", "leafUuid": "a2", "sessionId": SESSION},
)  # fmt: skip
"""Lines beside the talk, among them what hooks gave to it."""

TALK = (
    *ASIDE,
    typed(1, "We decided to move the harbour API to port 8443 from now on."),
    answered(1, "Noted: the harbour API is on 8443."),
    typed(2, "请记住：生产环境用的是蓝鲸集群。"),
    answered(2, "好的，记住了蓝鲸集群。"),
)
"""A recorded session, in two languages."""


def write(path: Path, *lines: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
