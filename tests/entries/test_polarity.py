"""Whether a text says the contrary of what was said: denials, what undoes them, and what is left open."""

from __future__ import annotations

import pytest

from memorybook.entries.ground import contrary, polar_clauses
from tables import table

TURNED = table("""
        I'm allergic to penicillin. → The user is not allergic to penicillin.
        I'm allergic to penicillin and I moved to Leeds in May. → The user is not allergic to penicillin.
        I row on the canal and my sister keeps bees in Cork. → The user does not row on the canal.
        我对青霉素过敏而且五月份搬到了利兹的新房子里。 → 用户对青霉素不过敏。
        I don't drink coffee after noon. → The user drinks coffee after noon.
        We never deploy on Fridays. → The team deploys on Fridays.
        My daughter can swim. → The user's daughter cannot swim.
        I stopped smoking in 2019. → The user has smoked since 2019. ¦ Leo can't have nuts. → Leo can have nuts.
        The tests must not run in parallel. → The tests must run in parallel.
        I'm allergic to penicillin, so ask first. → The user has no allergy to penicillin.
        I'm allergic to latex. → The user wears latex without an allergy. ¦ I can dive. → The user is unable to dive.
        The landlord lets us keep a cat. → The landlord forbids keeping a cat.
        We have a lift in the building. → The building lacks a lift.
        I don't own a car. → The user owns a car. ¦ We have no dog. → The user has a dog.
        I don't trust the plumber. → The user trusts the plumber.
        My brother hasn't finished school. → The user's brother has finished school.
        The shop isn't open on Sundays. → The shop is open on Sundays.
        我没有车。 → 用户有车。 ¦ 我没猫。 → 用户有猫。 ¦ 我有一条狗。 → 用户没有狗。 ¦ 我哥没有房。 → 用户的哥哥有房。
        那个水管工我信不过。 → 用户信得过那个水管工。 ¦ 我看不懂德文。 → 用户看得懂德文。 ¦ 我有车。 → 用户没有车。
        我家没有狗。 → 用户家里有狗。 ¦ 店里周日不开门。 → 店里周日开门。 ¦ 膝盖不好，爬不了楼。 → 用户爬得了楼。
        房东允许我们养猫。 → 房东不允许养猫。 ¦ 房东允许我们养猫。 → 房东禁止养猫。
        老板让我在家办公。 → 老板不让用户在家办公。
        Lamb is over, it's fish now. → The dog eats lamb. ¦ 我对青霉素过敏。 → 用户对青霉素不过敏。
        我下午不喝咖啡。 → 用户下午喝咖啡。 ¦ 周五别部署。 → 周五可以部署。 ¦ 女儿会游泳。 → 用户的女儿不会游泳。
        白酒戒了。 → 用户爱喝白酒。 ¦ 香菜我一点都吃不了。 → 用户吃香菜。
        每周六清一遍 downloads，但 /movies 一个字节都不许动 → 每周六清理 /movies 目录。
        团购那群我退了，别再拉我。 → 用户在团购群，可以再拉他。
    """)

AGREEING = table("""
        I gave up smoking in 2019 → The user no longer smokes since 2019.
        No meetings before ten, please. → The user doesn't want meetings before ten.
        Don't forget that I'm allergic to penicillin. → The user is allergic to penicillin.
        I drink tea, not coffee. → The user drinks tea and no coffee.
        I can't stand cilantro. → The user dislikes cilantro.
        Nothing lands on main before lint is green → Code lands on main only once lint is green.
        I never said I don't like jazz, I love jazz. → The user loves jazz.
        We picked Lisbon. No wait, Seville. → The user goes to Seville instead of Lisbon.
        Speak in km, miles mean nothing to me → Ann wants kilometres, not miles.
        never touch the semicolons → Marguerite wants her semicolons left alone.
        I don't own a car, I have a bike. → The user has a bike. ¦ We have no dog but two cats. → The user has two cats.
        我没有猫，有一条狗。 → 用户有狗。 ¦ 我没有车，坐地铁。 → 用户没有车。 ¦ 信不过中介，自己找房。 → 用户自己找房。
        这把钥匙打不开。 → 钥匙打不开门。 ¦ 我没时间，下周再说。 → 用户没有时间。 ¦ 有两条狗，没有猫。 → 用户有狗。
        别忘了我对青霉素过敏 → 用户对青霉素过敏。 ¦ 咖啡戒了，改喝茶 → 用户不再喝咖啡，改喝茶。
        不要在周五部署 → 周五不部署。 ¦ 我不是不喜欢猫，是对猫过敏 → 用户对猫过敏。
        没有特殊情况不加班 → 用户一般不加班。 ¦ 词汇不用百词斩了，换成 Anki → 用户背词汇从百词斩换成 Anki。
        韵达丢了我三单，以后只发中通 → 只发中通，不发韵达。 ¦ 能不能换周三晚上 → 排练改到周三晚上。
    """)


@pytest.mark.parametrize(("said", "text"), TURNED)
def test_what_was_turned_round_is_seen(said: str, text: str) -> None:
    assert contrary(text, [said]) is not None


@pytest.mark.parametrize(("said", "text"), AGREEING)
def test_the_same_sense_in_other_words_is_no_contrary(said: str, text: str) -> None:
    assert contrary(text, [said]) is None


def test_who_it_is_about_is_left_out() -> None:
    assert contrary("Saskia does not row", ["Saskia rows"], subject="Saskia") == "row"
    assert contrary("Saskia is not here", ["Saskia"], subject="Saskia") is None


def test_a_denial_reaches_to_the_end_of_its_clause() -> None:
    [meat, fish] = polar_clauses("I eat no meat, I like fish")
    assert ("meat" in meat.denied, "eat" in meat.affirmed, "fish" in fish.affirmed) == (True, True, True)
    [flowers] = polar_clauses("no lilies, roses or tulips")
    assert {"rose", "tulip"} <= flowers.denied
