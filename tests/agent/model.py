"""A language model of tests that extracts whatever a user says after `Remember:` or `记住：`, and chats otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any


def extracting(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The filled form of an extraction, of the talk that the prompt shows."""
    shown = str(messages[-1]["content"])
    found = re.findall(r"^(t\d+) \d\d:\d\d user: (?:Remember: |记住：)(.+)$", shown, re.MULTILINE)
    candidates = [
        {
            "content": text, "category": "fact", "importance": "high", "tags": [], "entities": [], "group": None,
            "turns": [turn], "quote": text, "reinforces": [], "contradicts": [], "expires_at": None,
        }
        for turn, text in found
    ]  # fmt: skip
    summary = " ".join(text for _, text in found)
    return {"summary": summary, "decisions": [], "open_questions": [], "candidates": candidates, "forget": []}
