"""Stand-ins for models, for your tests as well as ours: deterministic, offline, standard library only."""

from __future__ import annotations

import re
from array import array
from hashlib import shake_128
from typing import TYPE_CHECKING, Any

from memorybook.errors import EmbedderFailed, LLMFailed
from memorybook.inference.llm import raw_of
from memorybook.inference.structured_output import LanguageModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memorybook.formats.llm_messages import Reply
    from memorybook.inference.structured_output import Raw, Request, Tally
    from memorybook.protocols import Vectors


_WORD = r"[\u3041-\u30fa\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3041-\u30fa\u3400-\u9fff\uac00-\ud7af]+"
"""A word, or one character of Chinese, Japanese or Korean."""


class HashEmbedder:
    """An embedder in which texts are near when they share words; it knows no meaning.

    Each word (in lower case; CJK by character) has a direction drawn from its hash; a text is the sum of
    its words. Two texts that share no word have a cosine around 0 ± 1/sqrt(dimensions).

    Attributes:
        calls: How often `embed` was called.
        texts: Every text it was given, in order.

    >>> cats, dogs = HashEmbedder().embed(["black cats", "black dogs"]).tolist()
    >>> sum(a * b for a, b in zip(cats, dogs)) > 0.3
    True
    """

    local = True

    def __init__(self, dimensions: int = 64) -> None:
        self.name = f"local/hash-{dimensions}"
        self.dimensions = dimensions
        self.calls = 0
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 memoryview (n, dimensions) of unit rows; zeros for a text without words."""
        self.calls += 1
        self.texts += texts
        rows = array("f")
        for text in (*texts, ""):  # one row more, for a view cannot be cast to a shape of no rows
            total = [0.0] * self.dimensions
            for word in re.findall(_WORD, text.lower()):
                direction = shake_128(word.encode()).digest(self.dimensions)
                total = [have + byte - 127.5 for have, byte in zip(total, direction, strict=True)]
            length = sum(value * value for value in total) ** 0.5 or 1.0
            rows.extend(value / length for value in total)
        return memoryview(rows).cast("B").cast("f", (len(texts) + 1, self.dimensions))[: len(texts)]


class FailingEmbedder(HashEmbedder):
    """A HashEmbedder that is down from its call number `after` on (0: from the start), as if it were remote."""

    local = False

    def __init__(self, after: int = 0, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self._after = after

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed as HashEmbedder until it is down. Raises EmbedderFailed then."""
        if self.calls >= self._after:
            self.calls += 1
            raise EmbedderFailed("the embedder for tests is down, as it was told to be")
        return super().embed(texts)


class ScriptedLLM(LanguageModel):
    """A language model that answers from a script, one item for each request.

    If an answer cannot be used, the retry takes the next item.

    Args:
        script: Text, a dict (the filled form), a Reply, an exception to raise, or a function of the messages that
            gives one of these.
        then: Answers when the script is used up; None raises LLMFailed.

    Attributes:
        requests: Every request it was given, in order: `messages`, `form`, `tools`, `tool_choice`, `max_tokens`.
        script: What is left.

    >>> model = ScriptedLLM(["hello", {"name": "recall", "arguments": {}}])
    >>> model.complete([{"role": "user", "content": "hi"}]).text
    'hello'
    >>> len(model.requests), len(model.script)
    (1, 1)
    """

    def __init__(self, script: Iterable[Scripted] = (), *, then: Scripted | None = None) -> None:
        super().__init__("scripted")
        self.requests: list[Request] = []
        self.script = list(script)
        self._then = then

    def request(self, request: Request, tally: Tally) -> Raw:
        """Take the next item of the script."""
        tally.allow()
        self.requests.append(request)
        item = self.script.pop(0) if self.script else self._then
        if callable(item):
            item = item(request.messages)
        if item is None:
            item = LLMFailed("the scripted language model has no answer left")
        if isinstance(item, Exception):
            tally.add(request, 0.0, None)
            raise item
        raw = raw_of(item)
        tally.add(request, 0.0, raw)
        return raw


if TYPE_CHECKING:
    Answer = str | Mapping[str, Any] | Reply | Exception
    Scripted = Answer | Callable[[Sequence[Mapping[str, Any]]], Answer]
