"""Hard budgets: a model that is not asked once the operation, or the day, has used what it may."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpcore2
import httpx2

from memorybook.errors import BudgetSpent, InvalidInput, LLMFailed
from memorybook.formats.llm_messages import Form, Message, Reply, ToolSchema, Usage
from memorybook.inference.structured_output import Request, checked, tokens_of

if TYPE_CHECKING:
    from memorybook.config.settings import Budget
    from memorybook.protocols import LLM


class Metered:
    """An LLM that keeps another one within a budget; make one for each operation. Safe to share between threads.

    Before each request (retries and second asks of a model that has `gated` included) the calls and tokens used so far
    are compared with the budget, tokens together with the estimate of what is to be sent. Only the answer to
    the last request may go beyond it.

    Args:
        llm: The model.
        budget: 0 is no limit.
        spent_today: The sum of this UTC day in the whole book, what `record` was told included.
        record: Told the usage of every call, failures too; a call that was refused used nothing and is not told.

    Attributes:
        usage: Of this operation so far.
    """

    def __init__(
        self,
        llm: LLM,
        budget: Budget,
        *,
        spent_today: Callable[[], Usage] = Usage,
        record: Callable[[Usage], None] = lambda usage: None,
    ) -> None:
        self.name = llm.name
        self.usage = Usage()
        self._llm = llm
        self._budget = budget
        self._spent_today = spent_today
        self._record = record
        self._lock = threading.Lock()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        form: Form[Any] | None = None,
        tools: Sequence[ToolSchema] = (),
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """See `LLM.complete`; raises BudgetSpent."""
        options: dict[str, Any] = {"form": form, "tools": tools, "tool_choice": tool_choice, "max_tokens": max_tokens}
        with self._metered(Request(tuple(messages), form, tuple(tools), tool_choice)) as (llm, replies):
            replies.append(llm.complete(messages, **options))
        return replies[0]

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Generator[str, None, Reply]:
        """Yield the text in pieces, or at once without `stream`; returns the Reply. Raises as `complete`."""
        options: dict[str, Any] = {"tools": tools, "tool_choice": tool_choice, "max_tokens": max_tokens}
        with self._metered(Request(tuple(messages), None, tuple(tools), tool_choice)) as (llm, replies):
            if hasattr(llm, "stream"):
                replies.append((yield from llm.stream(messages, **options)))
            else:
                replies.append(llm.complete(messages, **options))
                yield replies[0].text
        return replies[0]

    @contextmanager
    def _metered(self, request: Request) -> Iterator[tuple[Any, list[Reply]]]:
        """Yield the gated model and the list for its reply; record the usage, or the failure, at the end."""
        ahead = tokens_of(checked(request))

        def allow(used: Usage) -> None:
            self._check(used, ahead)

        allow(Usage())
        llm = self._llm.gated(allow) if hasattr(self._llm, "gated") else self._llm
        replies: list[Reply] = []
        try:
            yield llm, replies
        except LLMFailed as error:
            self._note(error.usage or Usage(1, 1, ahead))
            raise
        except InvalidInput:
            raise
        except (Exception, GeneratorExit, KeyboardInterrupt):  # a model may raise anything, a stream be left early
            self._note(Usage(1, 1, ahead))
            raise
        for reply in replies:
            self._note(reply.usage)

    def _note(self, usage: Usage) -> None:
        if usage == Usage():
            return
        with self._lock:
            self.usage += usage
        self._record(usage)

    def _check(self, used: Usage, ahead: int) -> None:
        budget, operation = self._budget, self.usage + used
        _limit("calls", "operation", budget.calls_per_operation, operation.calls, 1)
        _limit("tokens", "operation", budget.tokens_per_operation, operation.tokens, ahead)
        if budget.calls_per_day or budget.tokens_per_day:
            today = self._spent_today() + used
            _limit("calls", "day", budget.calls_per_day, today.calls, 1)
            _limit("tokens", "day", budget.tokens_per_day, today.tokens, ahead)


def _limit(what: str, period: str, limit: int, spent: int, ahead: int) -> None:
    """Raise BudgetSpent if what was spent and what is ahead do not fit into the limit."""
    if limit and spent + ahead > limit:
        wanted = "" if what == "calls" else f" and the next call takes about {ahead:,}"
        raise BudgetSpent(
            f"the language model was not asked: of {limit:,} {what} per {period} {spent:,} are used{wanted}; "
            f"{'wait for tomorrow (UTC), or ' if period == 'day' else ''}"
            f"raise llm.budget.{what}_per_{period}, now {limit} (0: no limit)"
        )


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
