"""Vectors from a service that speaks OpenAI's `/embeddings`: OpenAI, SiliconFlow, vLLM, Ollama and others.

Nothing that comes back is believed: an answer that is not exactly one finite vector for each text is
refused by name, for a wrong vector in an index is never noticed again.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference.embed import unit_row, vectors_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

    from memorybook.protocols import Vectors

_PAUSES = (0.5, 1.0, 2.0, None)  # seconds after each try, unless the service asks for others
_LONGEST_WAIT = 30.0  # seconds; a service that asks for more is reported instead
_REST = 10.0  # seconds without another attempt once a query found the service down
_BYTES_PER_NUMBER = 32
_UNKNOWN_DIMENSIONS = 8192
_LONGEST_TEXT = 6000  # characters; services refuse whole batches for one text above their limit (8k tokens)


class RemoteEmbedder:
    """Embeds through one service, and contacts nothing else: no redirects, no proxies from the environment.

    A single text is taken for a question that somebody waits for: one try, `query_timeout`; after a failure
    single texts fail at once for ten seconds. Several texts are tried up to four times, with the pauses that
    the service asks for (`Retry-After`) or of 0.5, 1 and 2 seconds. Blank texts are never sent (a row of
    zeros), texts beyond 6,000 characters are cut. Safe to share between threads.

    Args:
        base_url: Up to but without `/embeddings`, such as `https://api.siliconflow.cn/v1`.
        api_key: Sent as bearer token; "" sends none.
        model: As the service calls it, such as `BAAI/bge-m3`.
        dimensions: Length of the vectors, asked for and insisted on; None takes what comes first.
        batch: Most texts in one request; halved when the service says that these are too many.
        timeout: Seconds that one request may take (half of it more if connecting is slow).
        query_timeout: The same for a single text; `timeout` if that is less.

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
        query_timeout: float = 2.0,
    ) -> None:
        self._url, self._service = _endpoint(base_url)
        if not model.strip():
            raise ConfigError("the embedding service needs a model name, such as 'BAAI/bge-m3'; set embeddings.model")
        if not (api_key.strip().isascii() and api_key.strip().isprintable()):
            raise ConfigError("the embedding service's key holds characters that no key has; set embeddings.api_key")
        _positive(dimensions=dimensions, batch=batch, timeout=timeout, query_timeout=query_timeout)
        self.name = f"remote/{self._service}/{model}" + (f"@{dimensions}" if dimensions else "")
        self.dimensions = dimensions or 0
        self._model = model
        self._key = api_key.strip()
        self._ask_dimensions = dimensions is not None
        self._batch = batch
        self._timeout = timeout
        self._query_timeout = min(query_timeout, timeout)
        self._client: httpx2.Client | None = None
        self._served: str | None = None
        self._down: tuple[float, str] = (0.0, "")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A float32 array (n, dimensions), unit rows in the order of `texts`, zeros for blank ones.

        Raises EmbedderFailed; the message says what to do and never holds the key.
        """
        sent = [number for number, text in enumerate(texts) if text and not text.isspace()]
        found: dict[int, bytes] = {}
        while len(found) < len(sent):
            numbers = sent[len(found) : len(found) + self._batch]
            rows = self._rows([_clean(texts[number]) for number in numbers], query=len(texts) == 1)
            found.update(zip(numbers, rows, strict=True))
        if not self.dimensions:
            self._rows(["dimensions"], query=True)
        blank = bytes(4 * self.dimensions)
        return vectors_of([found.get(number, blank) for number in range(len(texts))], self.dimensions)

    def close(self) -> None:
        """Close the connections; the next `embed` opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _rows(self, texts: list[str], *, query: bool) -> list[bytes]:
        """One row for each text, in as many requests as the service wants."""
        body = self._answer(texts, query)
        if body is None:
            self._batch = half = len(texts) // 2
            return self._rows(texts[:half], query=query) + self._rows(texts[half:], query=query)
        try:
            answer = _parsed(body)
            model, served = answer.get("model"), self._served
            if model is not None and served is not None and model != served:
                raise ValueError(f"vectors of the model {model!r} after those of {served!r}")
            vectors = _in_order(answer, len(texts))
            dimensions = self.dimensions or _length(vectors[0])
            rows = [_row(values, at, dimensions) for at, values in enumerate(vectors)]
        except ValueError as error:
            raise self._failed(f"answered with {error}", "check embeddings.model, and the service itself") from None
        self.dimensions, self._served = dimensions, served or model
        return rows

    def _answer(self, texts: list[str], query: bool) -> bytes | None:
        """The body of a successful answer, after as many tries as are due; None if these are too many texts at once."""
        if query and time.monotonic() < self._down[0]:
            raise EmbedderFailed(self._down[1])
        for pause in _PAUSES[-1:] if query else _PAUSES:  # pragma: no branch
            reply = self._post(texts, self._query_timeout if query else self._timeout)
            if reply.status == 200:
                self._down = (0.0, "")
                return reply.body
            if self._ask_dimensions and reply.refuses_dimensions():
                self._ask_dimensions = False  # a model with one length only: it is checked all the same
                return self._answer(texts, query)
            if len(texts) > 1 and reply.refuses_batch():
                return None
            wait = pause if reply.retry_after is None else reply.retry_after
            if pause is None or wait is None or wait > _LONGEST_WAIT or not reply.passing():
                break
            time.sleep(wait)
        failure = self._failed(reply.reason(), reply.advice())
        if query and reply.passing():
            self._down = (time.monotonic() + _REST, str(failure))
        raise failure

    def _post(self, texts: list[str], timeout: float) -> _Reply:
        """One request; a service that cannot be reached gives status 0."""
        import httpx2

        deadline = time.monotonic() + timeout
        payload: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._ask_dimensions:
            payload["dimensions"] = self.dimensions
        patience = httpx2.Timeout(timeout, connect=timeout / 2)
        try:
            with self._connected().stream("POST", self._url, json=payload, timeout=patience) as response:
                body = self._body(response, len(texts), deadline)
                pause = _seconds(response.headers.get("retry-after"))
                return _Reply(response.status_code, body, pause)
        except httpx2.TimeoutException:
            return _Reply(0, f"did not answer within {timeout:g} seconds".encode())
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return _Reply(0, f"could not be reached ({type(error).__name__}: {error})".encode())

    def _connected(self) -> httpx2.Client:
        import httpx2

        if self._client is None:
            headers = {"accept-encoding": "identity", "user-agent": "memorybook"}
            if self._key:
                headers["authorization"] = f"Bearer {self._key}"
            # Reading the certificates takes 30 ms, which a service without TLS (and without redirects) need not cost.
            tls = self._url.lower().startswith("https")
            self._client = httpx2.Client(headers=headers, verify=tls, trust_env=False, follow_redirects=False)
        return self._client

    def _body(self, response: httpx2.Response, count: int, deadline: float) -> bytes:
        """Read the answer: no more than `count` vectors can take, and of an error page its beginning."""
        import httpx2

        most = 65536 + count * (self.dimensions or _UNKNOWN_DIMENSIONS) * _BYTES_PER_NUMBER
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if response.status_code != 200 and len(body) > 4096:
                break
            if len(body) > most:
                raise self._failed(f"answered with more than {most:,} bytes", "check embeddings.base_url")
            if time.monotonic() > deadline:
                raise httpx2.ReadTimeout("the answer drips")
        return bytes(body)

    def _failed(self, what: str, advice: str) -> EmbedderFailed:
        message = f"the embedding service {self._service!r} {what}; {advice}"
        return EmbedderFailed(message.replace(self._key, "***") if self._key else message)


class _Reply(NamedTuple):
    """What came back: HTTP status, body, and the seconds that the service asks to wait. Status 0: nothing, and why."""

    status: int
    body: bytes
    retry_after: float | None = None

    def passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (0, 408, 429) or self.status >= 500

    def refuses_dimensions(self) -> bool:
        words = self.body.lower()
        return self.status in (400, 422) and (b"dimension" in words or b"matryoshka" in words)

    def refuses_batch(self) -> bool:
        return self.status == 413 or (self.status in (400, 422) and b"batch" in self.body.lower())

    def reason(self) -> str:
        if self.status == 0:
            return self.body.decode()
        asked = "" if self.retry_after is None else f" and asks to wait {self.retry_after:g} seconds"
        return f"answered with HTTP {self.status}{asked}: {_excerpt(self.body)}"

    def advice(self) -> str:
        if 300 <= self.status < 400:
            return "redirects are not followed, set embeddings.base_url to the address it moved to"
        known = {
            0: "check that it runs, and embeddings.base_url",
            401: "check embeddings.api_key",
            403: "check embeddings.api_key",
            404: "check embeddings.base_url and embeddings.model",
            413: "choose a model that takes longer texts",
            429: "try again later, or lower embeddings.batch",
        }
        return known.get(self.status, "try again later" if self.passing() else "check embeddings.model")


def _positive(**settings: float | None) -> None:
    for setting, value in settings.items():
        if value is not None and not value > 0:
            raise ConfigError(f"embeddings.{setting} is {value!r}; it must be greater than 0")


def _endpoint(base_url: str) -> tuple[str, str]:
    """The address to post to, and the host (with port) that names the service."""
    scheme, _, rest = base_url.strip().partition("://")
    authority, _, path = rest.partition("/")
    if scheme.lower() not in ("http", "https") or not authority.isprintable() or not authority.strip(" ?#:"):
        raise ConfigError("the embedding service needs an address such as 'https://host/v1'; set embeddings.base_url")
    if "@" in authority:
        raise ConfigError("embeddings.base_url holds a user name or password; put the key into embeddings.api_key")
    path, mark, parameters = path.partition("?")
    path = path.rstrip("/").removesuffix("/embeddings")
    return f"{scheme}://{authority}/{path}{'/' if path else ''}embeddings{mark}{parameters}", authority.lower()


def _clean(text: str) -> str:
    """What of a text can be sent: its beginning, without surrogates."""
    return text[:_LONGEST_TEXT].encode("utf-8", "replace").decode()


def _seconds(retry_after: str | None) -> float | None:
    """The seconds that a `Retry-After` asks for, given as a number or as an HTTP date; None if it says neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


def _excerpt(body: bytes) -> str:
    text = " ".join(body.decode("utf-8", "replace").split())
    return repr(text[:200] + ("…" if len(text) > 200 else ""))


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError(f"something that is not JSON, {_excerpt(body)}") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
        raise ValueError(f"JSON without a list 'data', {_excerpt(body)}")
    return answer


def _in_order(answer: dict[str, Any], count: int) -> list[Any]:
    """The vectors by their `index`, each of 0 … count-1 once."""
    items = answer["data"]
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
    return [vectors[index] for index in range(count)]


def _length(values: Any) -> int:
    return len(values) if isinstance(values, list) else 0


def _row(values: Any, at: int, dimensions: int) -> bytes:
    """The vector as a unit row of float32."""
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
