"""Forms filled and tools called by a language model: ask, read the answer, ask once more with what was wrong.

`LanguageModel` does so for every kind of model, and counts; a kind of model answers single requests. `Metered` keeps
any model within a budget.

JSON is read as language models write it: with prose around, fences, comments, wrong quotes, brackets left open. One
pass over the text without recursion, so no input makes it slow or deep. What is repaired are slips whose meaning is
plain; what ends in the middle, holds no number (NaN, 1e999) or is nested beyond reason is refused, for half an answer
that is taken for a whole one loses memories silently.
"""

from __future__ import annotations

import copy
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from memorybook.config.telemetry import Span, span
from memorybook.errors import BudgetSpent, InvalidInput, LLMFailed, MemoryBookError
from memorybook.formats.llm_messages import Form, Message, Reply, ToolCall, ToolSchema, Usage
from memorybook.text.tokens import count_tokens

if TYPE_CHECKING:
    from memorybook.config.settings import Budget
    from memorybook.protocols import LLM

_SHOWN_AGAIN = 4000  # characters of an answer that are shown to the model with what was wrong
_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Request:
    """A request, see `LLM.complete`; `spelled` also describes form or tools in the prompt text."""

    messages: tuple[Message, ...]
    form: Form[Any] | None = None
    tools: tuple[ToolSchema, ...] = ()
    tool_choice: str | None = None
    max_tokens: int | None = None
    spelled: bool = False


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call of a tool as it came: `arguments` decoded, or text that should be JSON."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer before validation; token counts are None if the server gave none."""

    text: str = ""
    calls: tuple[RawCall, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cut: bool = False

    def written(self) -> str:
        """Return all that the model wrote."""
        calls = (one.arguments if isinstance(one.arguments, str) else as_json(one.arguments) for one in self.calls)
        return "\n".join([self.text, *calls]).strip()


class Tally:
    """Usage of one `complete` so far; `allow` is called before each request and may raise BudgetSpent."""

    def __init__(self, allow: Callable[[Usage], None]) -> None:
        self.used = Usage()
        self._allow = allow

    def allow(self) -> None:
        """Ask for one more request. Raises BudgetSpent."""
        self._allow(self.used)

    def add(self, request: Request, seconds: float, raw: Raw | None, *, sent: bool = True) -> None:
        """Count a request: its answer, or None if it failed; `sent` False if the server did not take it."""
        if raw is None:
            self.used += Usage(1, 1, tokens_of(request) if sent else 0, 0, seconds)
            return
        took = tokens_of(request) if raw.input_tokens is None else raw.input_tokens
        gave = count_tokens(raw.written()) if raw.output_tokens is None else raw.output_tokens
        self.used += Usage(1, 0, took, gave, seconds)


class LanguageModel:
    """Base of every model, see `memorybook.protocols.LLM`: a kind of model overrides `request`.

    Args:
        name: See `LLM`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._allow: Callable[[Usage], None] = lambda used: None

    def request(self, request: Request, tally: Tally) -> Raw:
        """Answer one request. Calls `tally.allow` before each try and `tally.add` after it. Raises LLMFailed."""
        raise NotImplementedError

    def pieces(self, request: Request, tally: Tally) -> Generator[str, None, Raw]:
        """Yield the text of an answer as it comes and return the answer; all at once unless overridden."""
        raw = self.request(request, tally)
        yield clean(raw.text)
        return raw

    def close(self) -> None:
        """Release what the model holds; it may be used again."""

    def gated(self, allow: Callable[[Usage], None]) -> Self:
        """Return this model with a gate: `allow` is asked before each request with the usage so far."""
        other = copy.copy(self)
        other._allow = allow
        return other

    def complete(
        self,
        messages: Sequence[Message],
        *,
        form: Form[Any] | None = None,
        tools: Sequence[ToolSchema] = (),
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """See `LLM.complete`. An answer that cannot be used is asked for once more, with what was wrong with it."""
        request = checked(Request(tuple(messages), form, tuple(tools), tool_choice, max_tokens))
        with self._counting() as tally:
            raw = self.request(request, tally)
            try:
                return reply_of(raw, request, tally.used)
            except ValueError as problem:
                tally.used += Usage(failed=1)
                request = again(request, raw, problem)
            return self._last(self.request(request, tally), request, tally)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Generator[str, None, Reply]:
        """Yield the text as it comes and return the whole Reply (`reply = yield from llm.stream(…)`).

        Raises as `complete`, but asks only once: what was shown cannot be taken back.
        """
        request = checked(Request(tuple(messages), None, tuple(tools), tool_choice, max_tokens))
        with self._counting() as tally:
            raw = yield from self.pieces(request, tally)
            return self._last(raw, request, tally)

    @contextmanager
    def _counting(self) -> Iterator[Tally]:
        """Add what was used to whatever LLMFailed is raised."""
        tally = Tally(self._allow)
        try:
            yield tally
        except LLMFailed as error:
            error.usage = tally.used
            raise

    def _last(self, raw: Raw, request: Request, tally: Tally) -> Reply:
        try:
            return reply_of(raw, request, tally.used)
        except ValueError as problem:
            tally.used += Usage(failed=1)
            shown = " ".join(raw.written().split())[:200]
            raise LLMFailed(
                f"the answers of the model {self.name!r} cannot be used: {problem} ({shown!r}); "
                "try again, or choose a stronger model"
            ) from None

    def _timed(self, request: Request, tally: Tally, ask: Callable[[], Raw], failed: str) -> Raw:
        """Ask once; whatever is raised becomes LLMFailed, whose message begins with `failed`."""
        tally.allow()
        began = time.monotonic()
        try:
            raw = ask()
        except Exception as error:  # functions and providers raise what they like
            tally.add(request, time.monotonic() - began, None)
            if isinstance(error, LLMFailed):
                raise
            raise LLMFailed(f"{failed} ({type(error).__name__}: {error})") from error
        tally.add(request, time.monotonic() - began, raw)
        return raw


def checked(request: Request) -> Request:
    """Return the request, if it can be sent. Raises InvalidInput."""
    if not request.messages:
        raise InvalidInput("no messages to answer; give at least one")
    for message in request.messages:
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in ("system", "user", "assistant", "tool"):
            raise InvalidInput(f"the role {role!r} of a message is none of system, user, assistant, tool")
    as_json(request.messages)
    if request.form and request.tools:
        raise InvalidInput("a form and tools were given together; ask for one of them")
    names = [tool.name for tool in request.tools]
    if request.tool_choice not in (None, "required", *names) or (request.tool_choice and not names):
        raise InvalidInput(f"the tool {request.tool_choice!r} is not among those given: {', '.join(names) or 'none'}")
    return request


def tokens_of(request: Request) -> int:
    """Return about how many tokens the request has."""
    parts = []
    for message in request.messages:
        content, calls = message.get("content") or "", message.get("tool_calls")
        parts.append((content if isinstance(content, str) else as_json(content)) + (as_json(calls) if calls else ""))
    if request.form:
        parts += [request.form.description, as_json(request.form.schema)]
    parts += [f"{tool.name} {tool.description} {as_json(tool.parameters)}" for tool in request.tools]
    return sum(map(count_tokens, parts))


def as_json(value: Any) -> str:
    """Return JSON to be sent to a model; any mapping is an object. Raises InvalidInput if it cannot be."""
    try:
        return json.dumps(value, ensure_ascii=False, default=dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"what is sent to a model must be JSON ({error})") from None


# --- asking in words -----------------------------------------------------------------------------


def spelled_out(request: Request) -> tuple[Message, ...]:
    """Return the messages with what to fill in, or how to call a tool, said in words at the end."""
    form, tools, choice = request.form, request.tools, request.tool_choice
    chinese = _is_chinese(request)
    if form:
        how = "Answer with one JSON object and nothing else. It must fit this JSON schema:"
        how = "只回答一个 JSON 对象，不要有任何其他文字。它要符合这个 JSON schema：" if chinese else how
        words = f"{form.description}\n{how}\n{as_json(form.schema)}".lstrip()
    elif not tools:
        return request.messages
    else:
        how = 'To call a tool, answer only with {"name": the tool, "arguments": {…}}. The tools:'
        must = f"You must call {'one of them' if choice == 'required' else choice}."
        if chinese:
            how = '要调用工具，就只回答 {"name": 工具名, "arguments": {…}}，不要有其他文字。工具：'
            must = f"你必须调用{'一个工具' if choice == 'required' else f' {choice}'}。"
        listed = [f"- {tool.name}: {tool.description} {as_json(tool.parameters)}" for tool in tools]
        words = "\n".join([how, *listed, *([must] if choice else [])])
    *before, last = request.messages
    content = last.get("content")
    if last.get("role") == "user" and isinstance(content, str):
        return (*before, {**last, "content": f"{content}\n\n{words}"})
    return (*request.messages, {"role": "user", "content": words})


def _is_chinese(request: Request) -> bool:
    said = request.form.description if request.form else "".join(tool.description for tool in request.tools)
    return _HAN.search(said) is not None


def again(request: Request, raw: Raw, problem: ValueError) -> Request:
    """Return the request that shows the model its answer and what was wrong with it."""
    shown = raw.written()[:_SHOWN_AGAIN]
    if _is_chinese(request):
        words = f"这个回答不能用：{problem}。请改正后重新回答。"
    else:
        words = f"That answer cannot be used: {problem}. Mend this and answer again."
    mine: list[Message] = [{"role": "assistant", "content": shown}] if shown else []
    return replace(request, messages=(*request.messages, *mine, {"role": "user", "content": words}), spelled=True)


# --- reading the answer --------------------------------------------------------------------------


def reply_of(raw: Raw, request: Request, usage: Usage) -> Reply:
    """Read an answer. Raises ValueError, with a sentence for the model, if it is not what was asked for."""
    if request.form:
        return Reply(clean(raw.text), _filled(request.form, raw), (), usage, raw.cut)
    text = clean(without_thoughts(raw.text))
    calls = tuple(_call(one, request, at) for at, one in enumerate(raw.calls))
    if request.tools and not calls:  # a model may write them into its text
        names, written = {tool.name for tool in request.tools}, list[ToolCall]()
        with suppress(ValueError):
            for at, value in enumerate(values(raw.text)):
                if isinstance(value, dict) and value.get("name") in names:
                    arguments = value.get("arguments", value.get("parameters", {}))
                    written.append(_call(RawCall("", str(value["name"]), arguments), request, at))
        calls, text = tuple(written), "" if written else text
    wanted = request.tool_choice
    if wanted and not any(wanted in ("required", call.name) for call in calls):
        raise ValueError("no tool was called" if wanted == "required" else f"the tool {wanted!r} was not called")
    if not calls and not text.strip():
        raise ValueError("it is empty")
    return Reply(text, None, calls, usage, raw.cut)


def _filled(form: Form[Any], raw: Raw) -> Any:
    """Return the value of the first thing in the answer that fills the form, likeliest first."""
    problem: ValueError | None = None
    try:
        for value in _candidates(form, raw):
            try:
                return form.read(value)
            except ValueError as error:
                problem = problem or error
    except ValueError as error:
        problem = problem or error
    if raw.cut:
        raise ValueError("it was cut off at the limit of tokens; a shorter answer is needed")
    raise problem or ValueError("there is no JSON in it")


def _candidates(form: Form[Any], raw: Raw) -> Iterator[Any]:
    for call in raw.calls:
        arguments = call.arguments
        yield from values(arguments, cut=raw.cut) if isinstance(arguments, str) else [sound(arguments)]
    if raw.calls and not raw.text.strip():
        return
    for value in values(raw.text, cut=raw.cut):
        yield value
        if isinstance(value, dict):  # as some models write a call into the text
            if value.get("name") == form.name:
                yield value.get("arguments", value.get("parameters"))
            if list(value) == [form.name]:
                yield value[form.name]


def _call(raw: RawCall, request: Request, at: int) -> ToolCall:
    names = [tool.name for tool in request.tools]
    if raw.name not in names:
        raise ValueError(f"there is no tool {raw.name[:64]!r}; there are: {', '.join(names) or 'none'}")
    found = raw.arguments
    try:
        if isinstance(found, str):
            found = next(values(found), None) if found.strip() else {}
        found = sound({} if found is None else found)
    except ValueError as error:
        raise ValueError(f"the arguments of {raw.name} cannot be read: {error}") from None
    if not isinstance(found, Mapping):
        raise ValueError(f"the arguments of {raw.name} are not a JSON object")
    return ToolCall(clean(raw.id) or f"call_{at + 1}", raw.name, found)


# --- budgets -------------------------------------------------------------------------------------


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

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """See `LLM.complete`; raises BudgetSpent."""
        with self._metered(Request(tuple(messages), **options)) as (llm, replies):
            replies.append(llm.complete(messages, **options))
        return replies[0]

    def stream(self, messages: Sequence[Message], **options: Any) -> Generator[str, None, Reply]:
        """Yield the text in pieces, or at once without `stream`; return the Reply. Raises as `complete`."""
        with self._metered(Request(tuple(messages), **options)) as (llm, replies):
            if hasattr(llm, "stream"):
                replies.append((yield from llm.stream(messages, **options)))
            else:
                replies.append(llm.complete(messages, **options))
                yield replies[0].text
        return replies[0]

    @contextmanager
    def _metered(self, request: Request) -> Iterator[tuple[Any, list[Reply]]]:
        """Yield the gated model and the list for its reply; record the usage, or the failure, at the end."""
        ahead, budget = tokens_of(checked(request)), self._budget

        def allow(used: Usage) -> None:
            operation = self.usage + used
            _limit("calls", "operation", budget.calls_per_operation, operation.calls, 1)
            _limit("tokens", "operation", budget.tokens_per_operation, operation.tokens, ahead)
            if budget.calls_per_day or budget.tokens_per_day:
                today = self._spent_today() + used
                _limit("calls", "day", budget.calls_per_day, today.calls, 1)
                _limit("tokens", "day", budget.tokens_per_day, today.tokens, ahead)

        allow(Usage())
        llm = self._llm.gated(allow) if hasattr(self._llm, "gated") else self._llm
        replies: list[Reply] = []
        with span(f"chat {self.name}", kind="client", current=False, gen_ai__operation__name="chat") as done:
            done.set(gen_ai__request__model=self.name)
            try:
                yield llm, replies
            except LLMFailed as error:
                self._note(error.usage or Usage(1, 1, ahead), done)
                raise
            except InvalidInput:
                raise
            except (Exception, GeneratorExit, KeyboardInterrupt) as error:  # a stream may be left early
                used = Usage(1, 1, ahead)
                self._note(used, done)
                if isinstance(error, MemoryBookError) or not isinstance(error, Exception):
                    raise
                problem = f"the language model {self.name!r} failed ({type(error).__name__}: {error})"
                raise LLMFailed(problem, used) from error  # a model may be anybody's and raise anything
            for reply in replies:
                self._note(reply.usage, done)

    def _note(self, usage: Usage, done: Span) -> None:
        if usage == Usage():
            return
        done.set(gen_ai__usage__input_tokens=usage.input_tokens, gen_ai__usage__output_tokens=usage.output_tokens)
        done.set(memorybook__calls=usage.calls, memorybook__failed=usage.failed)
        with self._lock:
            self.usage += usage
        self._record(usage)


def _limit(what: str, period: str, limit: int, spent: int, ahead: int) -> None:
    """Raise BudgetSpent if what was spent and what is ahead do not fit into the limit."""
    if limit and spent + ahead > limit:
        wanted = "" if what == "calls" else f" and the next call takes about {ahead:,}"
        raise BudgetSpent(
            f"the language model was not asked: of {limit:,} {what} per {period} {spent:,} are used{wanted}; "
            f"{'wait for tomorrow (UTC), or ' if period == 'day' else ''}"
            f"raise llm.budget.{what}_per_{period}, now {limit} (0: no limit)"
        )


DEEPEST = 64
"""Levels of nesting that are taken."""

LONGEST = 4_000_000
"""Characters that are read."""

_LONGEST_REPAIR = 500_000
_LARGEST = sys.float_info.max
_MOST_PROSE = 1000  # brackets that begin nothing

_OPEN = {"{": "}", "[": "]", "(": ")", "｛": "}", "［": "]", "【": "]"}
_CLOSE = {"}": "}", "]": "]", ")": ")", "｝": "}", "］": "]", "】": "]"}
_QUOTES = {'"': '"', "'": "'’", "“": '”“"', "”": '”“"', "‘": "’‘'", "’": "’‘'", "「": "」", "`": "`"}
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_NO_NUMBERS = {"nan", "infinity", "inf"}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}

_START = re.compile(r"[\[{｛［]")
_SPACE = re.compile(r"(?:[\s\ufeff\u200b]|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_WORD = re.compile(r"[-+]?[^\W\d]\w*")
_KEY = re.compile(r"(?:\w|-)+(?=\s*[:：])")
_THINKING = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_ENDS_TEXT = re.compile(
    r"\s*(?:$|[}\])｝］】:：]|//|/\*|\n\s*[\"'“‘\[{]|[,，]\s*(?:$|[\"'“‘「`\[{(｛［}\]｝］]|//|/\*|#|-?\d|(?i:true|false|null|none)\b"
    r"|\w+\s*[:：]))"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def values(text: str, *, cut: bool = False) -> Iterator[Any]:
    """Yield the JSON objects and lists in a text, first to last; of a text that is JSON, its value.

    Args:
        text: What somebody wrote.
        cut: Whether it was cut off somewhere, so that a bracket left open is no slip.

    Raises:
        ValueError: There is none, or one cannot be read. A sentence that tells the writer what to mend.
    """
    if len(text) > LONGEST:
        raise ValueError(f"the answer has {len(text):,} characters; at most {LONGEST:,} are read")
    try:
        value = json.loads(text, strict=False, parse_constant=_not_a_number, parse_float=_number, parse_int=_number)
    except (ValueError, RecursionError):
        yield from _repaired(text, cut)
        return
    if isinstance(value, str) and _START.match(value.lstrip()):
        yield from values(value)  # JSON in JSON, as some servers give a tool's arguments
    else:
        yield sound(value)


def sound(value: Any, *, finite: bool = True) -> Any:
    """Return the decoded value, without lone surrogates (containers are cleaned in place).

    Raises ValueError if it is nested too deeply, or holds a number that no float can be, unless `finite` is False.
    """
    root = [value]
    level: list[Any] = [root]
    for _ in range(DEEPEST + 1):
        below: list[Any] = []
        for parent in level:
            for key, child in list(parent.items() if isinstance(parent, dict) else enumerate(parent)):
                if isinstance(child, str) and _SURROGATE.search(child):
                    parent[key] = clean(child)
                elif finite and isinstance(child, float | int) and not abs(child) <= _LARGEST:
                    raise ValueError(f"a number in it is out of range ({str(child)[:20]})")
                elif isinstance(child, list | dict):
                    below.append(child)
                if isinstance(key, str) and _SURROGATE.search(key):
                    parent[clean(key)] = parent.pop(key)
        if not below:
            return root[0]
        level = below
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def clean(text: str) -> str:
    """Return the text without lone surrogates, which no UTF-8 can hold."""
    return _SURROGATE.sub("\ufffd", text)


def without_thoughts(text: str) -> str:
    """Return the text without what a reasoning model thought aloud before it."""
    thought = _THINKING.match(text)
    return text[thought.end() :].lstrip() if thought else text


def _not_a_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def _number(digits: str) -> int | float:
    """Return a number that a float can hold. Raises ValueError."""
    if len(digits) < 300 and not set(digits) & set(".eE"):
        return int(digits)
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:20]} is out of range")
    return value


def _repaired(text: str, cut: bool) -> Iterator[Any]:
    if len(text) > _LONGEST_REPAIR:
        raise ValueError("it is not sound JSON, and too long to be repaired")
    thought = _THINKING.match(text)
    at, found, prose = (thought.end() if thought else 0), False, 0
    while (start := _START.search(text, at)) and prose < _MOST_PROSE:
        reader = _Reader(text, start.start(), cut)
        try:
            value = reader.read()
        except _Prose:
            at, prose = max(reader.at, start.end()), prose + 1
            continue
        found, at = True, reader.at
        yield sound(value)
    if not found:
        raise ValueError("there is no JSON in it")


class _Prose(ValueError):
    """A bracket that begins no JSON: nothing in it could be read."""


class _Reader:
    """Reads one object or list that begins at `at`; afterwards `at` is where it ended or went wrong."""

    def __init__(self, text: str, at: int, cut: bool) -> None:
        self.text = text
        self.at = at
        self.cut = cut
        self.members = 0
        self.comma = False
        self.stack: list[tuple[str, Any, str | None]] = []  # closing bracket, container, key that waits for a value

    def read(self) -> Any:
        """Return the value. Raises ValueError, _Prose."""
        root: list[Any] = []
        self._open(root)
        while self.stack:
            self._space()
            if self.at >= len(self.text):  # only closing brackets may be missing: half an answer is none
                if self.cut or not self.members or self.comma or self.stack[-1][2] is not None or not self.stack[-1][1]:
                    raise ValueError("it ends in the middle")
                break
            letter = self.text[self.at]
            if letter in _CLOSE:  # also of those in it whose own bracket was forgotten
                close = _CLOSE[letter]
                if close not in [one[0] for one in self.stack]:
                    raise self._wrong(f"a {close!r} that closes nothing")
                if self.stack[-1][2] is not None:
                    raise self._wrong(f"no value for {self.stack[-1][2]!r}")
                while self.stack.pop()[0] != close:
                    pass
                self.at += 1
                self.comma = False
            elif letter in ",，" and self.stack[-1][2] is None:
                self.at += 1
                self.comma = True
            else:
                self._member()
        return root[0]

    def _open(self, into: Any, key: str | None = None) -> None:
        """Begin a container and put it into its parent."""
        if len(self.stack) >= DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        close = _OPEN[self.text[self.at]]
        made: Any = {} if close == "}" else []
        if isinstance(into, dict):
            into[key] = made
        else:
            into.append(made)
        self.at += 1
        self.comma = False
        self.stack.append((close, made, None))

    def _member(self) -> None:
        close, into, key = self.stack[-1]
        if close == "}" and key is None:
            self.stack[-1] = (close, into, self._key())
            return
        if self.text[self.at] in _OPEN:
            self.stack[-1] = (close, into, None)
            self._open(into, key)
            return
        value = self._scalar()
        if isinstance(into, dict):
            into[key] = value
        else:
            into.append(value)
        self.stack[-1] = (close, into, None)
        self.members += 1
        self.comma = False

    def _key(self) -> str:
        bare = _KEY.match(self.text, self.at)
        if bare:
            key, self.at = bare[0], bare.end()
        elif self.text[self.at] in _QUOTES:
            key = self._quoted()
        else:
            raise self._wrong("no key")
        self._space()
        if self.at >= len(self.text):
            raise ValueError("it ends in the middle")
        if self.text[self.at] not in ":：":
            raise self._wrong(f"no colon after {key[:40]!r}")
        self.at += 1
        self.members += 1
        return key

    def _scalar(self) -> Any:
        if self.text[self.at] in _QUOTES:
            return self._quoted()
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return _number(number[0])
        word = _WORD.match(self.text, self.at)
        name = word[0].lower() if word else ""
        if name.lstrip("+-") in _NO_NUMBERS:
            _not_a_number(name)
        if word is None or name not in _LITERALS:
            raise self._wrong("no value")
        self.at = word.end()
        return _LITERALS[name]

    def _quoted(self) -> str:
        """Return a text up to the quote that ends it: the first one after which the JSON can go on."""
        begin = self.at + 1
        marks = re.escape(_QUOTES[self.text[self.at]])
        for found in re.compile(rf"\\.|[{marks}]", re.DOTALL).finditer(self.text, begin):
            if found[0][0] != "\\" and _ENDS_TEXT.match(self.text, found.end()):
                self.at = found.end()
                return _unescaped(self.text[begin : found.start()])
        self.at = len(self.text)
        raise ValueError("it ends in the middle of a text")

    def _space(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at

    def _wrong(self, what: str) -> ValueError:
        """Return the error at this place; nothing but prose if not a single member was read."""
        kind = ValueError if self.members else _Prose
        return kind(f"it has {what} at {self.text[self.at : self.at + 40]!r}")


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text

    def meaning(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return code.strip("\n") if code in _QUOTES or code == "\n" else _ESCAPES.get(code, "\\" + code)

    plain = re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\n|.)", meaning, text, flags=re.DOTALL)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# --- reading JSON that may be anything -----------------------------------------------------------


def object_at(found: Any, name: str | None = None) -> Mapping[str, Any]:
    """Return the object, or the one that it has under that name; empty if there is none."""
    if name is not None:
        found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str) and found:
            found = {"message": found}
    return found if isinstance(found, Mapping) else {}


def text_of(found: Any) -> str:
    """Return text as it stands, in a list of parts, or as the message of an error; "" for all else."""
    if isinstance(found, str):
        return found
    if isinstance(found, Mapping):
        return text_of(found.get("text") or found.get("message"))
    if isinstance(found, list):
        return "".join(text_of(part) for part in found if not isinstance(part, list))
    return ""


def count(found: Any) -> int | None:
    """Return a number of tokens; None for what cannot be one, and for 0, which servers say that do not count."""
    return found if type(found) is int and 0 < found < 10**9 else None
