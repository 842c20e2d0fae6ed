"""Masking of secrets on the way in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memorybook.text.redact import redact, redact_json

if TYPE_CHECKING:
    from memorybook.context import Context


class Mask:
    """Masks secrets as the settings of a memory say, and counts them.

    Attributes:
        count: How many it has masked so far.
    """

    def __init__(self, context: Context) -> None:
        self._settings = context.config.redaction
        self.count = 0

    def text(self, text: str) -> str:
        """Return the text without its secrets."""
        if not self._settings.enabled:
            return text
        clean = redact(text, self._settings.patterns)
        self.count += len(clean.masked)
        return clean.text

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return tags or names without the secrets in them."""
        return tuple(map(self.text, words))

    def json(self, value: Any) -> Any:
        """Return a JSON value without the secrets in it."""
        if not self._settings.enabled:
            return value
        clean = redact_json(value, self._settings.patterns)
        self.count += len(clean.masked)
        return clean.value
