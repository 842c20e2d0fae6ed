"""Sentences of other parts in Chinese: none that nobody says any more, and what they quote stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import memorybook
from memorybook.agent import sentences_zh
from memorybook.agent.sentences_zh import chinese, told_in


def test_every_sentence_is_one_that_the_code_still_says() -> None:
    root = Path(memorybook.__file__).parent
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py")) if path.name != "sentences_zh.py"
    )
    code = re.sub(r'"\s*\n\s*f?"', "", code)  # one sentence may stand in several literals
    code = re.sub(r"\{[^{}\n]*\}", "", code)

    def literals(pattern: str) -> list[str]:
        parts = re.split(r"\([^()]*(?:\([^()]*\))?[^()]*\)[?+*]?|\\S\+|\\d\+|\.\+\??|.\?", pattern.replace(r"\(", "\0"))
        return [part.replace("\0", "(").replace("\\", "") for part in parts]

    said = [max(literals(pattern), key=len).strip("; ") for pattern, _ in sentences_zh._PARTS]
    assert {part for part in said if part not in code} == PIECED_TOGETHER


PIECED_TOGETHER = {
    "the last session", "the start of this session", "the end of this session", "nothing was said from",
    "nothing about it was said on", "nothing about it was said from", "the language model at '",
    "in other sessions, which is how", "in other sessions: all days were searched",
    "the embedding service at '", "broke off (", "could not be reached (", "- all turns of session",
    "~ title and summary of session",
    "bytes: give lines of text; the rest of it is not read",
    "the input is no text in UTF-8: give lines of text; the rest of it is not read",
}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("~ sessions/a.md, rewritten (summary of the session)", "~ sessions/a.md，已改写（会话摘要）"),
        (
            "+ a1b2c3: I row (daily). (undone: said: I row (daily). turn:t1)",
            "+ a1b2c3: I row (daily).（撤销：说过：I row (daily). turn:t1）",
        ),
        ("~ a1b2c3: hits 1 → 2, text 'a' → 'b' (updated)", "~ a1b2c3: 次数 1 → 2, 文字 'a' → 'b'（修改）"),
        ("~ a1b2c3: pinned no → yes", "~ a1b2c3: 置顶 no → yes"),
        ("+ a1b2c3: We said: row (well).", "+ a1b2c3: We said: row (well)."),
        (
            "searched by words alone, the embedder 'm' cannot be used: the embedding service at 'h' did not answer "
            "within 3 seconds; check that it runs, or raise embeddings.timeout; tried again in 9 s",
            "仅按词语检索，嵌入模型 'm' 无法使用：嵌入服务（h）在 3 秒内没有回答；"
            "请检查它是否在运行，或调大 embeddings.timeout；9 秒后重试",
        ),
        ("  turn:t2: (it tries to instruct whoever reads it)", "  turn:t2：（它试图指挥读者）"),
        ("  and 2 more", "  以及另外 2 条"),
        ("nobody knows this sentence (remembered)", "nobody knows this sentence (remembered)"),
    ],
)  # fmt: skip
def test_a_sentence_is_said_in_chinese_and_what_it_quotes_stays(told: str, said: str) -> None:
    assert (chinese(told), told_in("en", told), told_in("zh", told)) == (said, told, said)
