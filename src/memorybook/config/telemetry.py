"""What the program says of its own work: log lines, spans of OpenTelemetry; numbers and names, no text of a memory.

Spans go wherever the application sends its own. A process of ours sends them as the `OTEL_*` variables say: `start`.
This module is imported only where `logging` is, which a cold search does without.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

R = TypeVar("R")

_log = logging.getLogger("memorybook.work")
_ADDRESSES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_{}_ENDPOINT")
_tracers: list[Any] = []


class Span:
    """One piece of work; `set` adds what is known of it only later."""

    def __init__(self, name: str, facts: Mapping[str, Any]) -> None:
        self.name = name
        self.facts = dict(facts)

    def set(self, **facts: Any) -> None:
        """Add facts: numbers and short names; `__` stands for a dot, an empty one is left out."""
        self.facts.update({name.replace("__", "."): value for name, value in facts.items() if value not in ("", None)})


@contextmanager
def span(
    name: str, *, kind: str = "internal", current: bool = True, carrier: Mapping[str, str] | None = None, **facts: Any
) -> Iterator[Span]:
    """Time a piece of work: a log line at DEBUG and, where the process traces, a span. An error keeps its message.

    Args:
        name: Of the work; what is set as `Span.name` before the end replaces it.
        kind: `internal`, `client` or `server`.
        current: Whether spans that begin meanwhile are its children; not for generators, whose callers go on.
        carrier: Headers that may name the span that asked for it.
        facts: As for `Span.set`.
    """
    done = Span(name, {})
    done.set(**facts)
    tracer = _tracer()
    if tracer is None and not _log.isEnabledFor(logging.DEBUG):
        yield done
        return
    began, failed = time.perf_counter(), ""
    with _traced(tracer, done, kind, current, carrier) as otel:
        try:
            yield done
        except BaseException as error:
            failed = str(getattr(error, "code", "") or type(error).__name__)  # its message may quote a memory
            raise
        finally:
            if _log.isEnabledFor(logging.DEBUG):
                told = "".join(f" {key.removeprefix('memorybook.')}={value}" for key, value in done.facts.items())
                milliseconds = (time.perf_counter() - began) * 1000
                _log.debug("%s %.1f ms%s%s", done.name, milliseconds, told, f" failed={failed}" if failed else "")
            if otel is not None:
                _finish(otel, done, failed)


@contextmanager
def _traced(tracer: Any, done: Span, kind: str, current: bool, carrier: Mapping[str, str] | None) -> Iterator[Any]:
    """Yield the span of OpenTelemetry, None without a tracer."""
    if tracer is None:
        yield None
        return
    from opentelemetry import context, propagate, trace

    above = propagate.extract(carrier) if carrier is not None else None
    otel = tracer.start_span(done.name, context=above, kind=trace.SpanKind[kind.upper()])
    token = context.attach(trace.set_span_in_context(otel, above)) if current else None
    try:
        yield otel
    finally:
        otel.end()
        if token is not None:
            context.detach(token)


def _finish(otel: Any, done: Span, failed: str) -> None:
    from opentelemetry.trace import StatusCode

    otel.update_name(done.name)
    otel.set_attributes(done.facts)
    if failed:
        otel.set_attribute("error.type", failed)
    if failed or done.facts.get("http.response.status_code", 0) >= 500:
        otel.set_status(StatusCode.ERROR)


def _tracer() -> Any:
    """Return the tracer; None unless the process has imported OpenTelemetry: nobody else can have set it up."""
    if not _tracers and "opentelemetry.trace" in sys.modules:
        from opentelemetry import trace

        _tracers.append(trace.get_tracer("memorybook"))
    return _tracers[0] if _tracers else None


def verb(function: Callable[..., R], given: tuple[Any, ...], named: Mapping[str, Any]) -> R:
    """Call a verb of a memory within a span that tells its door, and of its answer the numbers and lengths of lists."""
    door = getattr(getattr(given[0] if given else None, "context", None), "door", named.get("door", ""))
    with span(function.__name__, memorybook__door=door) as done:
        answer = function(*given, **named)
        fields = getattr(answer, "_fields", ()) or getattr(answer, "__dataclass_fields__", ())
        values = {name: getattr(answer, name) for name in fields} or {"results": answer}
        for name, value in values.items():
            if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
                value = len(value)
            if isinstance(value, bool | int | float):
                done.facts[f"memorybook.{name}"] = value
        return answer


# --- a process of ours -----------------------------------------------------------------------------------


class _JsonLines(logging.Formatter):
    """A log line as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        said = {"level": record.levelname.lower(), "logger": record.name, "message": super().format(record)}
        return json.dumps({"log": said}, ensure_ascii=False)


def is_configured() -> bool:
    """Return whether the environment says where spans or logs are sent."""
    names = [*_ADDRESSES[:1], "OTEL_TRACES_EXPORTER", "OTEL_LOGS_EXPORTER"]
    names += [_ADDRESSES[1].format(signal) for signal in ("TRACES", "LOGS")]
    return any(map(os.environ.get, names)) and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def start(*, verbose: bool = False, as_json: bool = False, waited_for: bool = True) -> None:
    """Set up the logs and spans of this process: all that the package says on stderr, and what `OTEL_*` asks for.

    Where somebody waits for the process to end, a collector that does not answer is given up after a second.

    What is sent where is the business of OpenTelemetry's own set-up, which reads those variables. Only its defaults
    are narrowed: to signals that have an address, to OTLP over HTTP, and to none for metrics, which `/metrics` has.
    """
    if not (verbose or is_configured()):
        return
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    if verbose:
        logging.getLogger("memorybook").setLevel(logging.DEBUG)
    if verbose and as_json:
        for handler in logging.getLogger().handlers:
            handler.setFormatter(_JsonLines())
    if not is_configured():
        return
    try:
        from opentelemetry.instrumentation.auto_instrumentation import initialize
        from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider
    except ImportError:
        _log.info("OTEL_* is set, but nothing is sent: pip install 'memorybook[otel]'")
        return
    if not isinstance(
        get_tracer_provider(), ProxyTracerProvider
    ):  # the process was started by opentelemetry-instrument
        return
    for signal in ("TRACES", "LOGS"):
        given = any(os.environ.get(name.format(signal)) for name in _ADDRESSES)
        os.environ.setdefault(f"OTEL_{signal}_EXPORTER", "otlp" if given else "none")
    os.environ.setdefault("OTEL_METRICS_EXPORTER", "none")
    os.environ.setdefault("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    os.environ.setdefault("OTEL_SERVICE_NAME", "memorybook")
    if waited_for:
        os.environ.setdefault("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    if not verbose:
        logging.getLogger("opentelemetry").setLevel(logging.ERROR)  # each try that failed would be a line
    logging.getLogger("opentelemetry.instrumentation").setLevel(logging.CRITICAL)  # it would show tracebacks
    try:
        initialize(swallow_exceptions=False)
    except Exception as error:  # whatever a component raises, memory goes on
        logging.getLogger("memorybook").warning("OpenTelemetry cannot be set up as OTEL_* says: %s", error)


def flush(seconds: float) -> None:
    """Send what waits to be sent, for a process that ends without the handlers of `atexit`."""
    if not _tracers:
        return
    from opentelemetry import _logs, trace

    for provider in (trace.get_tracer_provider(), _logs.get_logger_provider()):
        with suppress(Exception):  # the collector may be gone
            getattr(provider, "force_flush", lambda _: None)(int(seconds * 1000))
