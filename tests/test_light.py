"""What stands in for names of the standard library does what they do."""

from __future__ import annotations

import contextlib
import datetime
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memorybook import _light


def _blocks(contextmanager: Any) -> tuple[Callable[..., Any], list[str]]:
    """A block that says what happens to it, and swallows what it is told to."""
    said: list[str] = []

    def block(swallowed: type[BaseException] = KeyError, raised: BaseException | None = None) -> Iterator[str]:
        """Told to the reader."""
        said.append("in")
        try:
            yield "value"
        except swallowed as error:
            said.append("swallowed")
            if raised is not None:
                raise raised from error
        finally:
            said.append("out")

    return contextmanager(block), said


def _raise_in(block: contextlib.AbstractContextManager[Any], error: BaseException) -> None:
    with block:
        raise error


@pytest.mark.parametrize("contextmanager", [_light.contextmanager, contextlib.contextmanager])
def test_a_block_gives_its_value_and_is_left_in_order(contextmanager: Any) -> None:
    block, said = _blocks(contextmanager)
    with block() as value:
        said.append(value)
    assert said == ["in", "value", "out"]
    assert (block.__name__, block.__doc__) == ("block", "Told to the reader.")


@pytest.mark.parametrize("contextmanager", [_light.contextmanager, contextlib.contextmanager])
def test_a_block_may_swallow_an_error_pass_it_on_or_raise_another(contextmanager: Any) -> None:
    block, said = _blocks(contextmanager)
    _raise_in(block(), KeyError("swallowed"))
    assert said == ["in", "swallowed", "out"]
    for error in (ValueError("passed on"), KeyboardInterrupt(), GeneratorExit(), StopIteration()):
        with pytest.raises(type(error)) as caught:
            _raise_in(block(), error)
        assert caught.value is error
    with pytest.raises(OSError, match="another") as other:
        _raise_in(block(raised=OSError("another")), KeyError("first"))
    assert isinstance(other.value.__cause__, KeyError)


@pytest.mark.parametrize("suppress", [_light.suppress, contextlib.suppress])
def test_suppress_ends_a_block_at_the_errors_it_names(suppress: Any) -> None:
    _raise_in(suppress(KeyError, OSError), FileNotFoundError("gone"))
    with suppress():
        pass
    with pytest.raises(ValueError, match="other"):
        _raise_in(suppress(KeyError), ValueError("other"))


def test_days_are_those_of_datetime() -> None:
    for name in ("UTC", "date", "datetime", "timedelta", "tzinfo"):
        assert getattr(_light, name) is getattr(datetime, name)


def test_an_answer_that_is_kept_is_worked_out_once() -> None:
    calls: list[None] = []
    answer = _light.once(lambda: calls.append(None))
    assert (answer(), answer(), len(calls)) == (None, None, 1)


def test_a_memo_asks_for_what_it_does_not_know_and_keeps_its_size() -> None:
    asked: list[int] = []

    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    memo = _light.Memo(double, 2)
    assert [memo[number] for number in (1, 1, 2, 3, 1)] == [2, 2, 4, 6, 2]
    assert asked == [1, 2, 3, 1]
    assert len(memo) == 2


def test_nothing_large_is_imported_for_it() -> None:
    code = "import sys, memorybook._light; print({'collections', 'contextlib', 'datetime'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def _no_value() -> Iterator[None]:
    if not _light:
        yield


def _two_values(said: list[str]) -> Iterator[None]:
    try:
        with contextlib.suppress(KeyError):
            yield
        yield
    finally:
        said.append("closed")


@pytest.mark.parametrize("contextmanager", [_light.contextmanager, contextlib.contextmanager])
def test_a_block_has_to_yield_once(contextmanager: Any) -> None:
    with pytest.raises(RuntimeError, match="yield"), contextmanager(_no_value)():
        pass
    said: list[str] = []
    with pytest.raises(RuntimeError, match=r"yielded again|didn't stop"), contextmanager(_two_values)(said):
        pass
    with pytest.raises(RuntimeError, match=r"yielded again|didn't stop"):
        _raise_in(contextmanager(_two_values)(said), KeyError("swallowed"))
    if contextmanager is _light.contextmanager:  # early releases of 3.11 leave contextlib's generator open
        assert said == ["closed", "closed"]
