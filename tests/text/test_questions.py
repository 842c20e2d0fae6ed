from __future__ import annotations

import pytest

from memorybook.text.tokens import only_asks
from tables import table


@pytest.mark.parametrize(
    "text",
    table("""
        When do I leave? ¦ Hi there! When do I leave? ¦ when do i leave ¦ Tell me the names of my cats, please.
        I wonder what my licence plate is ¦ For lunch, what do we have? ¦ 我几点走？ ¦ 你好！我几点走？ ¦ 请问公司地址
        帮我查一下航班号 ¦ 酒店订了没有 ¦ 周末去不去爬山 ¦ 会议是星期几
    """),
)
def test_a_question_or_a_request_only_asks(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        *table("""
        Hello! ¦ I leave at six. Is that early? ¦ I'm flying to Shanghai on Tuesday, can you remind me?
        My flight to Oslo leaves at 6, doesn't it? ¦ Check the oven at 5 ¦ Will lives in Oslo ¦ Do not call me on Friday
        Please remind me that the code is 4471 ¦ Give Bruno half a tablet with food. ¦ 我六点从家里出发，早吗？
        我表妹在广州上班呢。 ¦ 尿酸复查我约在 5 月 16 号 ¦ 帮我记住：我对花生过敏 ¦ 我哪儿都不去 ¦ 警察查了我的车
    """),
        "",
    ],
)
def test_what_states_something_does_not(text: str) -> None:
    assert not only_asks(text)
