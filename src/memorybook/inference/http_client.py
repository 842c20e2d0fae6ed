"""One way to talk to a service over HTTP: private, bounded in time and size, its key in no message; and embedders so.

Redirects are not followed (they would take the key elsewhere), proxies of the environment not used, an
answer that drips ends in time, one that is too long is refused, and what a service says about waiting
(`Retry-After`) is kept.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import httpcore2
import httpx2

from memorybook.errors import ConfigError, EmbedderFailed
from memorybook.inference.static import stacked, unit_row

if TYPE_CHECKING:
    from memorybook.protocols import Vectors

LONGEST_WAIT = 30.0
"""Seconds; a service that asks for more is reported instead."""

_PAUSES = (0.5, 1.0, 2.0)  # seconds after each failed try, unless the service asks for others
_ERROR_PAGE = 4096
_SHORTEST_KEY = 8
_HEADERS = {"accept-encoding": "identity", "content-type": "application/json", "user-agent": "memorybook"}


class Response(NamedTuple):
    """What came back.

    Attributes:
        status: Of HTTP; 0 if nothing came.
        body: The answer; of an error page its beginning.
        retry_after: Seconds that the service asks to wait; None if it does not say.
        problem: Why there is no whole answer, as "did not …" or "could not …"; "" if there is one.
        late: Whether the time was up.
        asked: Whether the service got the request, as far as can be known.
    """

    status: int
    body: bytes = b""
    retry_after: float | None = None
    problem: str = ""
    late: bool = False
    asked: bool = True

    @property
    def fine(self) -> bool:
        """True if the answer is complete and successful."""
        return self.status == 200 and not self.problem

    def passing(self) -> bool:
        """Return whether the same request may succeed later."""
        return self.status in (0, 408, 429) or self.status >= 500

    def refuses(self, *words: bytes) -> bool:
        """Return whether the service says that the request is wrong, with one of these words (lower case)."""
        said = self.body.lower()
        return self.status in (400, 422) and any(word in said for word in words)

    def wait(self, tries: int) -> float | None:
        """Return seconds until the next try after so many, at most three more; None if there should be none."""
        if not self.passing() or tries > len(_PAUSES):
            return None
        wait = _PAUSES[tries - 1] if self.retry_after is None else self.retry_after
        return wait if wait <= LONGEST_WAIT else None

    def reason(self) -> str:
        """Return what went wrong, to stand after the name of the service."""
        if self.problem:
            return self.problem
        asked = "" if self.retry_after is None else f" and asks to wait {self.retry_after:g} seconds"
        return f"answered with HTTP {self.status}{asked}: {excerpt(self.body)}"

    def advice(self, part: str) -> str:
        """Return what to do about it, naming settings of this part of them (`llm`, `embeddings`)."""
        if self.late:
            return f"check that it runs, or raise {part}.timeout"
        if 300 <= self.status < 400:
            return f"redirects are not followed, set {part}.base_url to the address it moved to"
        known = {
            0: f"check that it runs, and {part}.base_url",
            200: f"check {part}.base_url",
            401: f"check {part}.api_key",
            403: f"check {part}.api_key",
            404: f"check {part}.base_url and {part}.model",
        }
        return known.get(self.status, "try again later" if self.passing() else f"check {part}.model")


class Service:
    """One address of one service. Safe to share between threads.

    Args:
        url: Where requests go.
        host: How messages call it.
        key: Masked in whatever `masked` is given; "" is none.
        headers: Sent with every request.
    """

    def __init__(self, url: str, host: str, *, key: str = "", headers: Mapping[str, str]) -> None:
        self.url = url
        self.host = host
        self._key = key
        self._headers = _HEADERS | dict(headers)
        self._client: httpx2.Client | None = None
        self._lock = threading.Lock()

    def post(self, body: bytes, *, timeout: float, most: int) -> Response:
        """Send one request; never raises for what the service or the network does.

        Args:
            body: JSON.
            timeout: Seconds that all of it may take.
            most: Longest answer in bytes.
        """
        try:
            with ends_within(timeout), self._sent(body, timeout) as response:
                return _read(response, most)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return _failed(error, timeout)

    def lines(self, body: bytes, *, timeout: float, most: int) -> Generator[str, None, Response]:
        """Yield the lines of an answer as they end; returns what became of it, without a body if it was fine.

        Args:
            body: JSON.
            timeout: Seconds until the first and between two pieces; ten times as long for all of it.
            most: Longest answer in bytes.
        """
        deadline = time.monotonic() + 10 * timeout
        try:
            with ExitStack() as opened:
                with ends_within(timeout):
                    response = opened.enter_context(self._sent(body, timeout))
                    if response.status_code != 200:
                        return _read(response, most)
                got, rest = 0, b""
                for chunk in response.iter_bytes():
                    got += len(chunk)
                    if got > most:
                        return Response(200, problem=f"answered with more than {most:,} bytes")
                    if time.monotonic() > deadline:
                        raise httpx2.ReadTimeout("the answer drips")
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield line.decode("utf-8", "replace").removesuffix("\r")
                return Response(200)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return _failed(error, timeout)

    def _sent(self, body: bytes, timeout: float) -> AbstractContextManager[httpx2.Response]:
        with self._lock:
            if self._client is None:
                # Reading the certificates takes 30 ms, which a service without TLS (or redirects) need not cost.
                transport = Transport(verify=self.url.lower().startswith("https"))
                self._client = httpx2.Client(
                    headers=self._headers, transport=transport, trust_env=False, follow_redirects=False
                )
            client = self._client
        return client.stream("POST", self.url, content=body, timeout=timeout)

    def masked(self, message: str) -> str:
        """Return the message without the key; one shorter than keys are is no secret, and a part of ordinary words."""
        return message.replace(self._key, "***") if len(self._key) >= _SHORTEST_KEY else message

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def endpoint(base_url: str, tail: str, *, part: str, what: str) -> tuple[str, str]:
    """Return the address to post to, and the host (with port) that names the service.

    Args:
        base_url: With or without the tail, with or without parameters.
        tail: Of the path, such as `embeddings`.
        part: Of the settings, for messages.
        what: The service, for messages.

    Raises:
        ConfigError: It is no address, or holds a password; the message does not repeat it.
    """
    base, mark, parameters = base_url.strip().partition("?")
    scheme, _, rest = base.partition("://")
    authority, _, path = rest.partition("/")
    if scheme.lower() not in ("http", "https") or not authority.isprintable() or not authority.strip(" #:"):
        raise ConfigError(f"{what} needs an address such as 'https://host/v1'; set {part}.base_url")
    if "@" in authority:
        raise ConfigError(f"{part}.base_url holds a user name or password; put the key into {part}.api_key")
    path = path.rstrip("/").removesuffix(tail).rstrip("/")
    return f"{scheme}://{authority}/{path}{'/' if path else ''}{tail}{mark}{parameters}", authority.lower()


def sound_key(api_key: str, *, part: str, what: str) -> str:
    """Return the key as it can be sent, "" for none. Raises ConfigError."""
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key of {what} holds characters that no key has; set {part}.api_key")
    return key


def excerpt(body: bytes) -> str:
    """Return the beginning of an answer, to be shown."""
    text = " ".join(body.decode("utf-8", "replace").split())
    return repr(text[:200] + ("…" if len(text) > 200 else ""))


def _read(response: httpx2.Response, most: int) -> Response:
    """Return all of the answer, or the beginning of an error page."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if response.status_code != 200 and len(body) > _ERROR_PAGE:
            break
        if len(body) > most:
            return Response(response.status_code, problem=f"answered with more than {most:,} bytes")
    asked = response.headers.get("retry-after", "").strip()
    if asked.isdecimal():
        return Response(response.status_code, bytes(body), float(asked))
    try:
        wait = max(0.0, parsedate_to_datetime(asked).timestamp() - time.time()) if asked else None
    except ValueError:
        wait = None
    return Response(response.status_code, bytes(body), wait)


def _failed(error: Exception, timeout: float) -> Response:
    if isinstance(error, httpx2.TimeoutException):
        late = f"did not answer within {timeout:g} seconds"
        return Response(0, problem=late, late=True, asked=not isinstance(error, httpx2.ConnectTimeout))
    asked = isinstance(error, httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError)
    what = "broke off" if asked else "could not be reached"
    return Response(0, problem=f"{what} ({type(error).__name__}: {error})", asked=asked)


# --- a network on which a whole request ends in time --------------------------------------------


class _Time(threading.local):
    """When what this thread waits for is over; a request is sent and read in one thread."""

    ends: float | None = None


_time = _Time()


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Limit all waiting for the network in this block and thread to so many seconds.

    A block in another ends with that one at the latest.
    """
    before, ends = _time.ends, time.monotonic() + seconds
    _time.ends = ends if before is None else min(before, ends)
    try:
        yield
    finally:
        _time.ends = before


def _left(timeout: float | None) -> float | None:
    """Return what is left of the time. Raises ReadTimeout if it is over."""
    if _time.ends is None:
        return timeout
    left = _time.ends - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time is up")
    return left if timeout is None else min(timeout, left)


class Transport(httpx2.HTTPTransport):
    """As httpx2's own, with deadlines; without proxies and settings of the environment."""

    def __init__(self, *, verify: bool) -> None:
        context = httpx2.create_ssl_context(verify=verify, trust_env=False)
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context, max_connections=100, max_keepalive_connections=20, network_backend=_Network()
        )


class _Network(httpcore2.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        try:  # by hand: each of a host's addresses would have the whole time to itself
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        problem: Exception = httpcore2.ConnectError(f"{host} has no address")
        for *_, address in found:
            try:
                connected = super().connect_tcp(str(address[0]), port, _left(timeout), local_address, socket_options)
                return _Stream(connected)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
        raise problem


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


# --- vectors from a service that speaks openai's `/embeddings` ----------------------------------

_EMBEDDING_SERVICE = "the embedding service"
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
        url, host = endpoint(base_url, "embeddings", part="embeddings", what=_EMBEDDING_SERVICE)
        if not model.strip():
            raise ConfigError("the embedding service needs a model name, such as 'BAAI/bge-m3'; set embeddings.model")
        key = sound_key(api_key, part="embeddings", what=_EMBEDDING_SERVICE)
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
        query = len(texts) == 1
        sent = [number for number, text in enumerate(texts) if text and not text.isspace()]
        found: dict[int, bytes] = {}
        with ends_within(self._timeout) if query else nullcontext():
            while len(found) < len(sent):
                numbers = sent[len(found) : len(found) + self._batch]
                cut = [texts[number][:_LONGEST_TEXT].encode("utf-8", "replace").decode() for number in numbers]
                found.update(zip(numbers, self._rows(cut, query=query), strict=True))
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
            rows = []
            for at, row in enumerate(vectors):
                if not isinstance(row, list) or not row or not all(type(value) in (float, int) for value in row):
                    raise ValueError(f"an 'embedding' at index {at} that is not a list of numbers")
                if dimensions and len(row) != dimensions:
                    raise ValueError(
                        f"a vector of {len(row)} dimensions at index {at} where {dimensions} were expected"
                    )
                try:
                    rows.append(unit_row(row))
                except (ValueError, OverflowError) as error:
                    raise ValueError(f"a vector at index {at} that holds {error}") from None
                if not any(rows[-1]):
                    raise ValueError(f"a vector of zeros at index {at}")
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
        return EmbedderFailed(self._service.masked(f"{_EMBEDDING_SERVICE} {self._service.host!r} {what}; {advice}"))


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
