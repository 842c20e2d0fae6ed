"""Remember finished tasks in the background: a context manager and a decorator whose callers neither wait nor fail.

What a task taught is judged and stored (`store_task`) in a thread of its own, one task after the other. What goes
wrong there is a warning, in `status` and in the log `memorybook`; what goes wrong in the task itself is remembered as
an experience and raised unchanged.
"""

from __future__ import annotations

import atexit
import inspect
import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from functools import partial, wraps
from reprlib import Repr
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from types import TracebackType

    from memorybook.context import Context

    Function = TypeVar("Function", bound=Callable[..., Any])

WAITING = 100
"""Tasks that may wait to be stored; what is finished while as many wait is not remembered, with a warning."""

PATIENCE = 30.0
"""Seconds that closing a memory waits for the tasks that are still to be stored."""

MOST_LINES = 2_000
"""Lines of a log that are kept of a task: the first and the last half of them."""

MOST_TEXT = 20_000
"""Characters that are kept of a result, and of a line."""

_FAILURES = 20


class Finished(NamedTuple):
    """A task that waits to be stored: the arguments of `store_if_worthwhile`, as texts."""

    goal: str
    result: str
    log: tuple[str, ...]
    metadata: Mapping[str, Any]
    session: str | None
    error: str


class Storing(Protocol):
    """A memory that finished tasks are handed over to: `Memory`, or a `memorybook.client.Client`."""

    def _finish(self, task: Finished) -> None:
        """Store it in the background, where memory is to store tasks; return at once."""


class Keeper:
    """Stores finished tasks, one after the other, in a thread that ends when none is left. Safe between threads.

    Args:
        store: Stores one; whatever it raises becomes a failure.
        mask: Takes the secrets out of what is told of a failure.

    Attributes:
        failures: Why tasks were not remembered, the last 20, oldest first.
    """

    def __init__(self, store: Callable[[Finished], object], mask: Callable[[str], str] = str) -> None:
        self._store = store
        self._mask = mask
        self._lock = threading.Lock()
        self._waiting: deque[Finished] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.failures: deque[str] = deque(maxlen=_FAILURES)

    def add(self, task: Finished) -> None:
        """Store it in the background; return at once."""
        with self._lock:
            why = "memory is closed" if self._closed else f"{WAITING} others wait already"
            taken = not self._closed and len(self._waiting) < WAITING
            if taken:
                self._waiting.append(task)
                if self._thread is None or not self._thread.is_alive():
                    atexit.unregister(self.close)
                    atexit.register(self.close)
                    self._thread = threading.Thread(target=self._run, name="memorybook-tasks", daemon=True)
                    self._thread.start()
        if not taken:
            self._fail(task, why)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds (None: for ever) until all is stored; return whether it is."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def close(self, timeout: float = PATIENCE) -> None:
        """Store what waits, and take nothing more; what takes over `timeout` seconds in all is given up as failed."""
        with self._lock:
            self._closed = True
        self.wait(timeout)
        atexit.unregister(self.close)
        with self._lock:
            left = list(self._waiting)
            self._waiting.clear()
        for task in left:
            self._fail(task, f"memory was closed, and storing the tasks before it took over {timeout:g} seconds")

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                task = self._waiting.popleft()
            try:
                self._store(task)
            except Exception as error:  # nobody waits for it who could be told
                self._fail(task, told(error))

    def _fail(self, task: Finished, why: str) -> None:
        goal = repr(" ".join(task.goal.split())[:60])
        self.failures.append(self._mask(f"a finished task was not remembered ({goal}): {why}"))
        warn(self._mask(f"a finished task was not remembered: {why}"))


def warn(line: str) -> None:
    """Write a warning into the log `memorybook`."""
    logging.getLogger("memorybook").warning(line)


class Kept(Storing, Protocol):
    """A memory of this process: it has a context, and a keeper once its first task is finished."""

    context: Context
    keeper: Keeper | None


def keeper_of(memory: Kept) -> Keeper:
    """Return the keeper of a memory; it is made when its first task is finished."""
    from memorybook.entries.store_task import store_if_worthwhile
    from memorybook.prompt.recall import redacted_text

    def store(task: Finished) -> None:
        goal, result, log, metadata, session, error = task
        store_if_worthwhile(memory.context, goal, result, log, metadata, session_id=session, error=error)

    with _making:
        if memory.keeper is None:
            memory.keeper = Keeper(store, partial(redacted_text, memory.context.config))
        return memory.keeper


_making = threading.Lock()


# --- one task ------------------------------------------------------------------------------------


class Running:
    """A task that goes on; a context manager, at whose end it is handed over to be remembered.

    Made by `Memory.task`. An exception that ends the task is kept as its error and goes on unchanged; one that stops
    the program or the coroutine (KeyboardInterrupt, CancelledError …) teaches nothing, and nothing is kept.

    Attributes:
        goal: What is to be done; may be changed until the end.
        result: What came of it, text or any value that can be shown; None if nothing is to be said.
        metadata: JSON object of your own, kept with what is remembered.
    """

    def __init__(
        self,
        memory: Storing | Callable[[], Storing],
        goal: str,
        *,
        session: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.goal = goal
        self.result: Any = None
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._memory = memory
        self._session = session
        self._lines: deque[str] = deque()
        self._token: Token[Running | None] | None = None

    def log(self, text: object) -> None:
        """Add a line, or lines, to the log of what is done."""
        self._lines.append(shown(text))
        if len(self._lines) > MOST_LINES:
            del self._lines[MOST_LINES // 2]

    def __enter__(self) -> Running:
        self._token = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            with suppress(ValueError):  # a generator may be ended in another context
                _current.reset(self._token)
        if error is not None and not isinstance(error, Exception):
            return
        try:
            memory = self._memory() if callable(self._memory) else self._memory
            said = "" if error is None else told(error)
            given = str(self.goal), shown(self.result), tuple(self._lines), dict(self.metadata)
            memory._finish(Finished(*given, self._session, said))
        except Exception as problem:  # the task is done, whatever becomes of its memory
            warn(f"a finished task was not remembered: {told(problem)}")


_current: ContextVar[Running | None] = ContextVar("memorybook_task", default=None)


def log(text: object) -> None:
    """Add to the log of the task that goes on here, the innermost one; does nothing outside of one."""
    task = _current.get()
    if task is not None:
        task.log(text)


def shown(value: object) -> str:
    """Return a value as text, cut: text as it is, None as "", anything else as a shortened repr."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:MOST_TEXT]
    short = Repr()
    short.maxdict = short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdeque = 50
    short.maxstring = short.maxother = 2_000
    try:
        return short.repr(value)[:MOST_TEXT]
    except Exception as error:  # a value may be anybody's and refuse to be shown
        return f"<{type(value).__name__}, which cannot be shown: {type(error).__name__}>"


def told(error: Exception) -> str:
    """Describe an exception in one line, `ValueError: bad row`."""
    try:
        words = " ".join(str(error).split())
    except Exception:  # its text may be anybody's code
        words = ""
    return f"{type(error).__name__}: {words[:500]}" if words else type(error).__name__


# --- the decorator -------------------------------------------------------------------------------


def remembering(
    memory: Storing | Callable[[], Storing],
    goal: str | None = None,
    *,
    session: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Callable[[Function], Function]:
    """Decorate a function: each call is a task, its value the result; coroutines and generators too.

    Args:
        memory: An open memory, or a function that gives it when a call ends.
        goal: What a call is to do; names of parameters in braces are filled in (`Deploy {service}`). None takes the
            first line of the function's docstring, else its name.
        session: Session that the memories belong to; None makes them everybody's.
        metadata: JSON object of your own, kept with what is remembered.

    Raises:
        InvalidInput: The function is an asynchronous generator; use `with memory.task(…)` inside of it.
    """

    def decorate(function: Function) -> Function:
        if inspect.isasyncgenfunction(function):
            raise InvalidInput(f"{function!r} is an asynchronous generator: use `with memory.task(…)` inside of it")
        template = goal
        if template is None:  # braces in it are none to fill in
            first = (inspect.getdoc(function) or "").partition("\n")[0].strip()
            name = first or getattr(function, "__name__", type(function).__name__).replace("_", " ")
            template = name.replace("{", "{{").replace("}", "}}")

        def task(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Running:
            filled = _filled(template, function, args, kwargs)
            return Running(memory, filled, session=session, metadata=metadata)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with task(args, kwargs) as running:
                running.result = value = await function(*args, **kwargs)
                return value

        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with task(args, kwargs) as running:
                running.result = value = yield from function(*args, **kwargs)
                return value

        def plain(*args: Any, **kwargs: Any) -> Any:
            with task(args, kwargs) as running:
                running.result = value = function(*args, **kwargs)
                return value

        is_coroutine, is_generator = inspect.iscoroutinefunction(function), inspect.isgeneratorfunction(function)
        wrapper = coroutine if is_coroutine else generator if is_generator else plain
        return cast("Function", wraps(function)(wrapper))

    return decorate


def _filled(template: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Fill in the goal's arguments; return it as it stands where that cannot be done."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        return template.format_map({name: shown(value) for name, value in bound.arguments.items()})[:MOST_TEXT]
    except Exception:  # a wrong call is the function's to refuse; what a template holds is only words
        return template
