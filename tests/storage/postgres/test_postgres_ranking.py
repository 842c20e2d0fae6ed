"""The same book in files and in PostgreSQL: the same documents, the same answers in the same order."""

from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import CONFIG
from memorybook.config.settings import Config
from memorybook.memory import Memory
from memorybook.model import Session, Turn

NOW = datetime(2026, 2, 24, 10, 0, tzinfo=UTC)
EN = "ferry heron tea boat river garden release budget doctor school kitchen piano lake market train server review"
ZH = "渡轮 苍鹭 乌龙茶 花园 发布 预算 医生 学校 厨房 钢琴 湖边 市场 火车 服务器 评审 房租 会议 生日"
SAID = (
    "I booked the {} near the {} for the {}.",
    "我们把{}和{}的事改到{}之后。",
    "Remember: the {} needs a {} and a {}.",
)


def fill(memory: Memory, chance: random.Random) -> None:
    """Entries, notes, sessions, in both languages."""
    words = EN.split() + ZH.split()
    for number in range(60):
        memory.remember(f"The {chance.choice(words)} number {number} belongs to the {chance.choice(words)}.")
        memory.append(f"{number}: {chance.choice(words)}、{chance.choice(words)} {chance.choice(words)}")
    for number in range(12):
        turns = [
            Turn(
                id=f"t{number}-{place}",
                session=f"s{number}",
                role="user" if place % 2 else "assistant",
                speaker="Ann" if place % 2 else "",
                text=chance.choice(SAID).format(*chance.sample(words, 3)),
                time=NOW - timedelta(days=number, minutes=-place),
            )
            for place in range(40)
        ]
        memory.book.transcripts.append(Session(uuid=f"s{number}", name=f"talk {number}"), turns)


@pytest.mark.parametrize("settings", [{}, {"vector_enabled": False}])
def test_two_hundred_questions_have_the_same_first_ten(
    tmp_path: Path, config: Config, tenant: str, settings: dict[str, Any]
) -> None:
    chance = random.Random(7)
    questions = [" ".join(chance.sample(EN.split(), 3)) for _ in range(100)]
    questions += ["".join(chance.sample(ZH.split(), 2)) + "？" for _ in range(100)]
    with (
        memorybook.open(str(tmp_path / "book"), config=CONFIG._replace(**settings), clock=lambda: NOW) as local,
        memorybook.open(tenant, config=config._replace(**settings), clock=lambda: NOW) as remote,
    ):
        fill(local, chance)
        local.book.storage.copy(str(tmp_path / "copy"))

        def copied(folder: str) -> None:
            shutil.copytree(tmp_path / "copy", folder, dirs_exist_ok=True)

        remote.book.storage.restore(copied, identity="", replace=False, now=NOW)
        for memory in (local, remote):
            memory.search("ferry 渡轮")
            assert memory.book.index.embed_pending() == 0
        assert local.status()["index"]["embedder"] == remote.status()["index"]["embedder"]
        same = 0
        for question in questions:
            here, there = ([hit.passage for hit in one.search(question).hits[:10]] for one in (local, remote))
            same += here == there
        assert same >= 198
        for info in local.documents():
            assert remote.document(info.path).text == local.document(info.path).text
        texts = [turn.text for turn in local.book.transcripts.turns("s3")]
        assert [turn.text for turn in remote.book.transcripts.turns("s3")] == texts
        assert remote.book.journal.operations() == local.book.journal.operations()
