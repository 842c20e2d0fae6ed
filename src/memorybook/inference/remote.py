"""Vectors from a service that speaks OpenAI's `/embeddings`: OpenAI, SiliconFlow, vLLM, Ollama and others.

Nothing that comes back is believed: an answer that is not exactly one finite vector for each text is
refused by name, for a wrong vector in an index is never noticed again.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference.arrays import stacked, unit_row
from memorybook.inference.http_client import Service, endpoint, excerpt, sound_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.protocols import Vectors

_WHAT = "the embedding service"
_REST = 10.0  # seconds without another attempt once a query found the service down
_BYTES_PER_NUMBER = 32
_UNKNOWN_DIMENSIONS = 8192
_LONGEST_TEXT = 6000  # characters; services refuse whole batches for one text above their limit (8k tokens)


class RemoteEmbedder:
    """Embeds through one service, and contacts nothing else: no redirects, no proxies from the environment.

    A single text is taken for a question that somebody waits for: it has its vector within `timeout`, in one try, or
    fails; after a failure single texts fail at once for ten seconds. Several texts are tried up to four times, with
    the pauses that the service asks for (`Retry-After`) or of 0.5, 1 and 2 seconds. Blank texts are never sent (a row
    of zeros), texts beyond 6,000 characters are cut. Safe to share between threads.

    Args:
        base_url: Up to but without `/embeddings`, such as `https://api.siliconflow.cn/v1`.
        api_key: Sent as bearer token; "" sends none.
        model: As the service calls it, such as `BAAI/bge-m3`.
        dimensions: Length of the vectors, asked for and insisted on; None takes what comes first.
        batch: Most texts in one request; halved when the service says that these are too many.
        timeout: Seconds that one request may take, and all that a single text needs.

    Attributes:
        dimensions: 0 until the first answer, if not given.

    Raises:
        ConfigError: An argument cannot be used.
    """

    local = False

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str = "",
        dimensions: int | None = None,
        batch: int = 32,
        timeout: float = 30.0,
    ) -> None:
        url, host = endpoint(base_url, "embeddings", part="embeddings", what=_WHAT)
        if not model.strip():
            raise ConfigError("the embedding service needs a model name, such as 'BAAI/bge-m3'; set embeddings.model")
        key = sound_key(api_key, part="embeddings", what=_WHAT)
        for setting, value in (("dimensions", dimensions), ("batch", batch), ("timeout", timeout)):
            if value is not None and not value > 0:
                raise ConfigError(f"embeddings.{setting} is {value!r}; it must be greater than 0")
        self.name = f"remote/{host}/{model}" + (f"@{dimensions}" if dimensions else "")
        self.dimensions = dimensions or 0
        self._model = model
        self._ask_dimensions = dimensions is not None
        self._batch = batch
        self._timeout = timeout
        self._service = Service(url, host, key=key, headers={"authorization": f"Bearer {key}"} if key else {})
        self._served: str | None = None
        self._down: tuple[float, str] = (0.0, "")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, dimensions), unit rows in the order of `texts`, zeros for blank ones.

        Raises EmbedderFailed; the message says what to do and never holds the key.
        """
        if len(texts) == 1:
            from memorybook.inference.budget import ends_within

            with ends_within(self._timeout):
                return self._embedded(texts)
        return self._embedded(texts)

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        sent = [number for number, text in enumerate(texts) if text and not text.isspace()]
        found: dict[int, bytes] = {}
        while len(found) < len(sent):
            numbers = sent[len(found) : len(found) + self._batch]
            cut = [texts[number][:_LONGEST_TEXT].encode("utf-8", "replace").decode() for number in numbers]
            rows = self._rows(cut, query=len(texts) == 1)
            found.update(zip(numbers, rows, strict=True))
        if not self.dimensions:
            self._rows(["dimensions"], query=True)
        blank = bytes(4 * self.dimensions)
        return stacked([found.get(number, blank) for number in range(len(texts))], self.dimensions)

    def close(self) -> None:
        """Close the connections; the next `embed` opens new ones."""
        self._service.close()

    def _rows(self, texts: list[str], *, query: bool) -> list[bytes]:
        """Return one row for each text, in as many requests as the service wants."""
        body = self._answer(texts, query)
        if body is None:
            self._batch = half = len(texts) // 2
            return self._rows(texts[:half], query=query) + self._rows(texts[half:], query=query)
        try:
            model, vectors = _vectors(body, len(texts))
            served = self._served
            if model is not None and served is not None and model != served:
                raise ValueError(f"vectors of the model {model!r} after those of {served!r}")
            dimensions = self.dimensions or (len(vectors[0]) if isinstance(vectors[0], list) else 0)
            rows = [_row(values, at, dimensions) for at, values in enumerate(vectors)]
        except ValueError as error:
            raise self._failed(f"answered with {error}", "check embeddings.model, and the service itself") from None
        self.dimensions, self._served = dimensions, served or model
        return rows

    def _answer(self, texts: list[str], query: bool) -> bytes | None:
        """Return the body of a successful answer, retrying as due; None if these are too many texts at once."""
        if query and time.monotonic() < self._down[0]:
            raise EmbedderFailed(self._down[1])
        payload: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._ask_dimensions:
            payload["dimensions"] = self.dimensions
        data, tries = json.dumps(payload, ensure_ascii=False).encode(), 0
        most = 65536 + len(texts) * (self.dimensions or _UNKNOWN_DIMENSIONS) * _BYTES_PER_NUMBER
        while True:
            reply = self._service.post(data, timeout=self._timeout, most=most)
            if reply.fine:
                self._down = (0.0, "")
                return reply.body
            if self._ask_dimensions and reply.refuses(b"dimension", b"matryoshka"):
                self._ask_dimensions = False  # a model with one length only: it is checked all the same
                return self._answer(texts, query)
            if len(texts) > 1 and (reply.status == 413 or reply.refuses(b"batch")):
                return None
            tries += 1
            wait = None if query else reply.wait(tries)
            if wait is None:
                break
            time.sleep(wait)
        known = {413: "choose a model that takes longer texts", 429: "try again later, or lower embeddings.batch"}
        failure = self._failed(reply.reason(), known.get(reply.status) or reply.advice("embeddings"))
        if query and reply.passing():
            self._down = (time.monotonic() + _REST, str(failure))
        raise failure

    def _failed(self, what: str, advice: str) -> EmbedderFailed:
        return EmbedderFailed(self._service.masked(f"{_WHAT} {self._service.host!r} {what}; {advice}"))


def _vectors(body: bytes, count: int) -> tuple[Any, list[Any]]:
    """Return the model that answered, and its vectors by their `index`, each of 0 … count-1 once."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError(f"something that is not JSON, {excerpt(body)}") from None
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise ValueError(f"JSON without a list 'data', {excerpt(body)}")
    if len(items) != count:
        raise ValueError(f"{len(items)} vectors for {count} texts")
    vectors: dict[int, Any] = {}
    for item in items:
        index = item.get("index") if isinstance(item, dict) else None
        if type(index) is not int or not 0 <= index < count:
            raise ValueError(f"a vector whose 'index' is {index!r}, which must be one of 0 … {count - 1}")
        if index in vectors:
            raise ValueError(f"two vectors of 'index' {index}")
        vectors[index] = item.get("embedding")
    return answer.get("model"), [vectors[index] for index in range(count)]


def _row(values: Any, at: int, dimensions: int) -> bytes:
    """Return the vector as a unit row of float32."""
    if not isinstance(values, list) or not values or not all(type(value) in (float, int) for value in values):
        raise ValueError(f"an 'embedding' at index {at} that is not a list of numbers")
    if dimensions and len(values) != dimensions:
        raise ValueError(f"a vector of {len(values)} dimensions at index {at} where {dimensions} were expected")
    try:
        row = unit_row(values)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"a vector at index {at} that holds {error}") from None
    if not any(row):
        raise ValueError(f"a vector of zeros at index {at}")
    return row
