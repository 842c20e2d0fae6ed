"""The verbs of `Memory`, awaited: `async with memorybook.aio.open(...) as memory: await memory.search(...)`.

Each verb runs in a thread. Cancelling the await does not stop a verb halfway: it ends in its thread, whole or refused,
and leaving the block waits for it. Coroutine functions, and models whose `complete` is one, are accepted as `llm`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar, cast

from memorybook import memory as sync
from memorybook.memory import Memory

if TYPE_CHECKING:
    from datetime import datetime
    from types import TracebackType

    from memorybook.config.settings import Config
    from memorybook.entries.background_tasks import Finished, Running
    from memorybook.entries.tidy import Tidied
    from memorybook.formats.llm_messages import Message, Reply
    from memorybook.protocols import LLM, Embedder, Function
    from memorybook.results import Memorized

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 8
"""Verbs that one memory runs at a time; more wait for their turn."""


def _awaited(verb: Callable[Concatenate[Memory, P], R]) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    """Return the verb as a coroutine function with the same arguments, answer and errors."""

    @wraps(verb)
    async def awaited(self: AsyncMemory, *args: Any, **kwargs: Any) -> Any:
        return await self._run(partial(verb, self._opened, *args, **kwargs))

    return cast("Callable[Concatenate[AsyncMemory, P], Awaitable[R]]", awaited)


class AsyncMemory:
    """An open memory whose verbs are awaited, made by `open`. Use it as an async context manager, or `close` it."""

    def __init__(self, opening: Callable[[], Memory], model: _Model | None) -> None:
        self._opening = opening
        self._model = model
        self._memory: Memory | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="memorybook-aio")

    async def __aenter__(self) -> Self:
        if self._model is not None:
            self._model.loop = asyncio.get_running_loop()
        opening = self._threads.submit(self._opening)
        try:
            self._memory = await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_opened)  # it is opened all the same
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for verbs that still run, then close the memory; closing twice does nothing."""
        if self._memory is None:
            return
        memory, self._memory = self._memory, None

        def finish() -> None:
            self._threads.shutdown(wait=True)
            memory.close()

        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, finish))

    @property
    def memory(self) -> Memory:
        """The memory itself, for what needs no waiting: `root`, `config`. Raises RuntimeError outside of the block."""
        return self._opened

    @property
    def _opened(self) -> Memory:
        if self._memory is None:
            raise RuntimeError("the memory is not open: use `async with memorybook.aio.open(...) as memory`")
        return self._memory

    async def _run(self, work: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, work)

    # --- finding -------------------------------------------------------------------------------

    search = _awaited(Memory.search)
    recall_memory = _awaited(Memory.recall_memory)
    get = _awaited(Memory.get)
    entries = _awaited(Memory.entries)
    recall = _awaited(Memory.recall)
    preview = _awaited(Memory.preview)
    retrieve_and_inject = _awaited(Memory.retrieve_and_inject)
    get_prompt_memories = _awaited(Memory.get_prompt_memories)
    get_prompt_memories_text = _awaited(Memory.get_prompt_memories_text)
    summarize_existing = _awaited(Memory.summarize_existing)

    # --- writing -------------------------------------------------------------------------------

    remember = _awaited(Memory.remember)
    append = _awaited(Memory.append)
    flush = _awaited(Memory.flush)
    update = _awaited(Memory.update)
    pin = _awaited(Memory.pin)
    unpin = _awaited(Memory.unpin)
    confirm = _awaited(Memory.confirm)
    revise = _awaited(Memory.revise)
    store_if_worthwhile = _awaited(Memory.store_if_worthwhile)
    forget = _awaited(Memory.forget)
    purge = _awaited(Memory.purge)

    def task(self, goal: str, *, session: str | None = None, metadata: Mapping[str, Any] | None = None) -> Running:
        """See `Memory.task`: `with memory.task("Deploy") as task:`; it is stored in the background."""
        return self._opened.task(goal, session=session, metadata=metadata)

    def _finish(self, task: Finished) -> None:
        self._opened._finish(task)

    # --- what was done, what waits for a person's word -------------------------------------------

    history = _awaited(Memory.history)
    activity = _awaited(Memory.activity)
    why = _awaited(Memory.why)
    undo = _awaited(Memory.undo)
    review = _awaited(Memory.review)
    accept = _awaited(Memory.accept)
    reject = _awaited(Memory.reject)
    tidy = _awaited(Memory.tidy)

    # --- conversations -------------------------------------------------------------------------

    open_session = _awaited(Memory.open_session)
    add_messages = _awaited(Memory.add_messages)
    end_session = _awaited(Memory.end_session)
    retry_parked = _awaited(Memory.retry_parked)
    close_idle = _awaited(Memory.close_idle)
    ingest = _awaited(Memory.ingest)
    sessions = _awaited(Memory.sessions)
    recall_history = _awaited(Memory.recall_history)
    recall_topic = _awaited(Memory.recall_topic)
    recall_session = _awaited(Memory.recall_session)
    recall_within = _awaited(Memory.recall_within)
    detect = _awaited(Memory.detect)
    recollect = _awaited(Memory.recollect)

    async def process_session_end(
        self,
        messages: Sequence[Mapping[str, Any]] = (),
        session_id: str | None = None,
        *,
        llm: LLM | Function | AsyncFunction | None = None,
        model: str = "",
    ) -> Memorized:
        """See `Memory.process_session_end`; `llm` may be asynchronous."""
        asked = _Model.of(llm, asyncio.get_running_loop())
        work = partial(self._opened.process_session_end, messages, session_id, llm=asked, model=model)
        return await self._run(work)

    # --- documents, files and upkeep -------------------------------------------------------------

    documents = _awaited(Memory.documents)
    document = _awaited(Memory.document)
    write_document = _awaited(Memory.write_document)
    rename_document = _awaited(Memory.rename_document)
    remove_document = _awaited(Memory.remove_document)
    import_file = _awaited(Memory.import_file)
    export = _awaited(Memory.export)
    backup = _awaited(Memory.backup)
    restore = _awaited(Memory.restore)
    sync_summaries = _awaited(Memory.sync_summaries)
    init = _awaited(Memory.init)
    sync = _awaited(Memory.sync)
    rebuild = _awaited(Memory.rebuild)
    status = _awaited(Memory.status)

    async def watch(self, on_change: Callable[[dict[str, Any]], None]) -> None:
        """See `Memory.watch`; runs until cancelled, `on_change` is called in a thread."""
        await self._until_cancelled(lambda stop: self._opened.watch(on_change, stop=stop))

    async def heartbeat(
        self, every: float, *, idle: float | None = None, on_run: Callable[[Tidied], None] = lambda tidied: None
    ) -> None:
        """See `Memory.heartbeat`; runs until cancelled, `on_run` is called in a thread."""
        await self._until_cancelled(lambda stop: self._opened.heartbeat(every, idle=idle, stop=stop, on_run=on_run))

    async def _until_cancelled(self, work: Callable[[threading.Event], None]) -> None:
        stop = threading.Event()
        running = asyncio.get_running_loop().run_in_executor(self._threads, work, stop)
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            await running
            raise


def _close_opened(opening: Future[Memory]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


# --- asynchronous models ---------------------------------------------------------------------------

AsyncFunction = Callable[["list[dict[str, Any]]"], "Coroutine[Any, Any, str | Mapping[str, Any] | Reply]"]
"""A coroutine function of messages that answers as a language model."""


class _Model:
    """A language model whose coroutines run in the event loop while a thread waits for them."""

    def __init__(self, model: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self._model = model
        self.loop = loop
        self.name: str = getattr(model, "name", "") or getattr(model, "__name__", type(model).__name__)

    @classmethod
    def of(cls, llm: Any, loop: asyncio.AbstractEventLoop | None) -> Any:
        """Return the model as it is, or wrapped if it is asynchronous."""
        asks = getattr(llm, "complete", llm)
        called = getattr(asks, "__call__", None)  # noqa: B004 - an object with an asynchronous __call__
        return cls(llm, loop) if inspect.iscoroutinefunction(asks) or inspect.iscoroutinefunction(called) else llm

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        assert self.loop is not None, "a model is asked once the memory is open"
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def complete(self, messages: Sequence[Message], **how: Any) -> Reply:
        """See `protocols.LLM`."""
        if hasattr(self._model, "complete"):
            return cast("Reply", self._wait(self._model.complete(messages, **how)))
        from memorybook.inference.llm import CallableModel

        return CallableModel(lambda given: self._wait(self._model(given)), name=self.name).complete(messages, **how)


def open(
    book: str | os.PathLike[str] | None = None,
    *,
    project: str | None = None,
    layer: Literal["personal", "project", "team"] | None = None,
    config: Config | None = None,
    door: str = "python",
    clock: Callable[[], datetime] | None = None,
    embedder: Embedder | None = None,
    llm: LLM | Function | AsyncFunction | None = None,
    missing_ok: bool = False,
) -> AsyncMemory:
    """Return the memory of a book to be entered with `async with`; see `memorybook.open` for arguments and errors."""
    model = _Model.of(llm, None)
    opening = partial(
        sync.open, book, project=project, layer=layer, config=config, door=door, clock=clock, embedder=embedder,
        llm=model, missing_ok=missing_ok,
    )  # fmt: skip
    return AsyncMemory(opening, model if isinstance(model, _Model) else None)
