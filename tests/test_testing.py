from __future__ import annotations

import doctest

import numpy as np
import pytest

import memorybook.testing
from conformance.embedder import EmbedderConformance, rows
from memorybook.errors import EmbedderFailed, LLMFailed
from memorybook.formats.llm_messages import Reply
from memorybook.protocols import Embedder
from memorybook.testing import FailingEmbedder, HashEmbedder, ScriptedLLM


class TestHashEmbedder(EmbedderConformance):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()


def cosines(first: str, *others: str) -> list[float]:
    found = rows(HashEmbedder(), [first, *others])
    return [float(found[0] @ other) for other in found[1:]]


def test_texts_that_share_words_are_near() -> None:
    near, far = cosines("the black cat sleeps", "a black cat", "green dogs bark")
    assert near > far + 0.3


def test_chinese_texts_that_share_characters_are_near() -> None:
    near, far = cosines("用户喜欢咖啡", "喜欢喝咖啡", "明天下雨")
    assert near > far + 0.3


def test_directions_are_the_same_in_every_process() -> None:
    assert rows(HashEmbedder(4), ["cat"])[0] == pytest.approx([0.5750, 0.1081, 0.6269, -0.5145], abs=1e-3)


def test_a_failing_embedder_fails_after_as_many_calls() -> None:
    embedder = FailingEmbedder(after=1, dimensions=8)
    assert np.array_equal(rows(embedder, ["one"]), rows(HashEmbedder(8), ["one"]))
    for _ in range(2):
        with pytest.raises(EmbedderFailed, match="down"):
            embedder.embed(["two"])
    assert (embedder.calls, embedder.texts, embedder.local) == (3, ["one"], False)


def test_a_script_is_answered_item_by_item_and_what_was_asked_is_kept() -> None:
    model = ScriptedLLM(["tea", lambda messages: messages[-1]["content"].upper(), Reply("茶"), OSError("down")])
    asked = [{"role": "user", "content": "hi"}]
    assert [model.complete(asked).text for _ in range(3)] == ["tea", "HI", "茶"]
    with pytest.raises(OSError, match="down"):
        model.complete(asked)
    assert [request.messages for request in model.requests] == [tuple(asked)] * 4


def test_a_script_that_is_used_up_fails_or_goes_on_as_it_was_told() -> None:
    asked = [{"role": "user", "content": "hi"}]
    with pytest.raises(LLMFailed, match="no answer left"):
        ScriptedLLM().complete(asked)
    endless = ScriptedLLM(then="ok")
    assert [endless.complete(asked).text for _ in range(3)] == ["ok"] * 3


def test_its_example_runs() -> None:
    assert doctest.testmod(memorybook.testing).failed == 0
