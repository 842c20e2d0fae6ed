from __future__ import annotations

import pytest

from known import known, told
from memorybook.entries.changed import replaces


@pytest.mark.parametrize(
    ("old", "new", "quote"),
    [
        ("The user's sister's name is Lena.", "The user's sister's name is not Lena but Lina.", ""),
        ("用户的女儿叫小雨。", "用户的女儿不叫小雨，叫小语。", ""),
        ("用户的女儿叫小雨。", "用户的女儿不是叫小雨，是叫小语。", ""),
        ("用户的女儿叫小雨。", "用户的女儿叫小语。", "不对，我女儿叫小语"),
        ("The server listens on port 8080.", "The server listens on port 9090 rather than 8080.", ""),
        ("The user lives in Boston.", "The user lives in New York, not Boston.", ""),
        ("The user drinks coffee.", "The user no longer drinks coffee.", ""),
        ("用户住在三楼。", "用户不住三楼，住五楼。", ""),
        ("会议在周五。", "会议在周一，不是周五。", ""),
        ("会议周五下午3点。", "会议改到周五下午4点。", ""),
        ("The meeting is on Friday.", "The meeting has moved to Monday.", ""),
        ("The meeting is at 3pm on Friday.", "The meeting is at 4pm on Friday, not 3pm.", ""),
        ("用户对花生过敏。", "用户对虾过敏，不是花生。", ""),
        ("The user's sister's name is Lena.", "The user's sister's name is Lina, not Lena.", ""),
        (
            "The user goes to Shanghai next Tuesday. (2026-11-24)",
            "The user goes to Shanghai on Thursday, not Tuesday. (2026-11-26)",
            "",
        ),
        (
            "We decided to ship on Friday. (2026-11-27)",
            "We decided to ship on Monday instead of Friday. (2026-11-23)",
            "",
        ),
        ("The gate code is 4711.", "The gate code is 4712.", "No, the gate code is 4712."),
        ("门禁密码是4711。", "门禁密码是4712。", "更正：门禁密码是4712。"),
        ("我们决定周五发布。（2026-11-27）", "我们决定改到周一发布。（2026-11-23）", ""),
        ("用户喜欢喝咖啡。", "用户现在不喝咖啡了，改喝茶。", ""),
        ("用户不吃香菜。", "用户现在可以吃香菜了。", ""),
        ("The user doesn't eat coriander.", "The user can eat coriander now.", ""),
    ],
)
def test_a_correction_replaces_what_it_corrects(old: str, new: str, quote: str) -> None:
    assert replaces(told(new, quote=quote), known("a", old)) == "corrects it"


@pytest.mark.parametrize(
    ("old", "new", "quote"),
    [
        ("Our backend ships on Friday.", "Our frontend ships on Monday, not Friday.", ""),
        ("The dinner is on Friday.", "The team dinner is on Monday, not Friday.", ""),
        ("The user drinks coffee.", "The user drinks tea in the evening instead of coffee.", ""),
        ("The user drinks coffee.", "The user drinks tea instead of coffee in the evening.", ""),
        ("The user drinks coffee in the morning.", "The user drinks tea, not coffee.", ""),
        ("The user's sister's name is Lena.", "Ann's sister's name is Lina, not Lena.", ""),
        ("Ann's sister's name is Lena.", "The user's sister's name is Lina, not Lena.", ""),
        ("The user likes Lena.", "The user's sister's name is Lina, not Lena.", ""),
        ("The user's sister's name is Lina, not Lena.", "The user's sister's name is Lina, not Lena.", ""),
        ("The user's sister's name is Lina, not Lena.", "The user's cat's name is Mimi, not Lena.", ""),
        ("用户的儿子叫小雨。", "用户的女儿叫小语，不是小雨。", ""),
        ("用户的女儿叫小雨。", "用户的大女儿叫小语，不是小雨。", ""),
        ("The backup runs at 3am.", "The backup runs at 4am.", ""),
        ("The backup of the shop runs at 3am.", "The backup runs at 4am.", "No, the backup runs at 4am"),
        ("The backup runs at 3am.", "The backup runs at 4am on 5 nodes.", "No, …"),
        ("用户喜欢喝咖啡。", "用户的妻子现在不喝咖啡了，改喝茶。", ""),
        ("用户的妻子不吃香菜。", "用户现在可以吃香菜了。", ""),
        ("用户不吃香菜。", "用户现在可以吃香菇了。", ""),
        ("Ann doesn't eat coriander.", "The user can eat coriander now.", ""),
        ("The user does not ship on Friday.", "The user ships on Monday, not Friday.", ""),
        ("The user has a dog, not a cat.", "The user has a bird, not a cat.", ""),
        ("用户住在杭州。", "用户现在不在杭州工作。", ""),
        ("Use tabs in Go.", "Use spaces in Python, not tabs.", ""),
        ("Use tabs in Go.", "Use spaces, not tabs.", ""),
        ("The user ran 5 km on Monday.", "The user ran 3 km on Tuesday.", "no, I ran"),
        ("The team works on Monday and Friday.", "The team works on Monday, not Tuesday.", ""),
        ("The user flies to Oslo on 3 May.", "The user flies to Bergen on 9 May, not Oslo.", ""),
        ("Call Bob instead of Ann.", "Call Kim instead of Ann.", ""),
        ("The API returns 404.", "The UI returns 500, not 404.", ""),
        ("Ann likes tea.", "Bob likes coffee, not tea.", ""),
        ("Ann is at 3pm.", "Bob is at 4pm, not 3pm.", ""),
    ],
)
def test_a_correction_of_something_else_leaves_it_alone(old: str, new: str, quote: str) -> None:
    assert replaces(told(new, quote=quote), known("a", old)) is None
