from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import memorybook
from benchmarks import detect as measured
from memorybook.sessions.detect import BIAS, READ, detect, resembles, rules, runs
from tables import table

WEIGHTS = Path(memorybook.__file__).parent / "sessions" / "likeness.tsv"
TODAY = date(2023, 5, 12)  # a Friday
DATA = Path(os.environ.get("MEMORYBOOK_DATA", Path(__file__).parents[3] / "shared" / "data"))
SHIPPED = measured.read(measured.SHIPPED)
NEW = measured.read(measured.NEW, "new")


def scene(text: str) -> str | None:
    found = detect(text)
    return found.scene if found else None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_inputs_kept_aside_from_tuning_are_told_apart(language: str) -> None:
    inputs = [one for one in SHIPPED if one.language == language and one.part == "kept aside"]
    found = measured.figures(measured.tried(inputs))
    assert found["inputs"] > 150
    assert min(found["precision"], found["recall"]) >= 90
    assert found["scene right"] >= 85


@pytest.mark.parametrize("language", ["en", "zh"])
def test_of_the_inputs_tuned_on_hardly_any_is_got_wrong(language: str) -> None:
    inputs = [one for one in SHIPPED if one.language == language and one.part == "tuning"]
    found = measured.figures(measured.tried(inputs))
    assert min(found["precision"], found["recall"]) >= 98.5
    assert found["scene right"] >= 97


@pytest.mark.parametrize("language", ["en", "zh"])
def test_inputs_written_before_the_rules_are_told_apart(language: str) -> None:
    found = measured.figures(measured.tried(one for one in NEW if one.language == language))
    assert found["to trigger"] >= {"en": 40, "zh": 160}[language]
    assert min(found["precision"], found["recall"], found["scene right"]) >= 90


OLD_STUFF = "翻翻旧账 翻一翻旧账吧 来翻翻老账 咱们把旧账翻一翻 翻翻从前的旧账 翻下旧账，看看报价".split()
THAT_TIME = "报价那次 迁移那次，你怎么说的 谈租金那回 签合同那次我们让了多少 面试那次呢 搬家那回找的哪家公司".split()
RELATED = (
    "登录模块相关的内容 和发票相关的内容找一下 跟小程序有关的讨论 与供应商相关的聊天记录 所有跟备份有关的对话"
    " 翻出和年假相关的内容"
).split()
OLD_STUFF_EN = table("""
        let's dig up the past ¦ go through the old stuff again ¦ rake over the old accounts
        bring up the old business again ¦ go over our old notes ¦ look through the old talks
    """)
THAT_TIME_EN = table("""
        the time with the quote ¦ that time we priced the roof ¦ the time you drafted the offer
        that session on rent, what was the outcome ¦ the day we signed the lease, how much did we give way
        the time about the interview
    """)
RELATED_EN = table("""
        anything related to the login module we talked about ¦ what we have related to invoices
        our talks related to the mini app ¦ everything we said concerning suppliers
        all our conversations related to backups ¦ what in our chats relates to vacation
    """)


@pytest.mark.parametrize("text", [*THAT_TIME, *RELATED, *THAT_TIME_EN, *RELATED_EN])
def test_that_time_and_what_is_related_to_it_are_asked_for_by_topic(text: str) -> None:
    found = detect(text)
    assert found is not None
    assert found.scene == "topic"
    assert found.query


@pytest.mark.parametrize("text", [*OLD_STUFF, *OLD_STUFF_EN])
def test_the_old_stuff_is_asked_for(text: str) -> None:
    assert scene(text) in ("session", "topic")


LOOK_ALIKES = "夫妻总翻旧账怎么办 翻旧账是什么意思 那次地震死了多少人 报价单怎么写 推荐和健康相关的内容".split()
LOOK_ALIKES_EN = ("that time of year is cold", "articles related to climate", "why do people dig up the past in fights")


@pytest.mark.parametrize("text", [*LOOK_ALIKES, *LOOK_ALIKES_EN])
def test_what_only_sounds_like_it_asks_for_nothing(text: str) -> None:
    assert scene(text) is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_half_of_the_inputs_are_look_alikes(language: str) -> None:
    inputs = [one for one in SHIPPED if one.language == language]
    assert len({one.text for one in inputs}) == len(inputs) > 400
    assert 0.4 < sum(one.scene is None for one in inputs) / len(inputs) < 0.6


def test_the_labelled_inputs_that_define_the_scenes_are_told_apart() -> None:
    path = DATA / "zh-agent" / "detect.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    assert measured.failures(measured.tried(measured.read(path, "given"))) == []


@pytest.mark.parametrize("one", [one for one in SHIPPED if one.scene][::7], ids=lambda one: one.id)
def test_what_stands_in_quotes_asks_for_nothing(one: measured.Input) -> None:
    bare = one.text.translate(dict.fromkeys(map(ord, "\"'“”「」《》`"), " "))
    for opened, closed in ("“”", "「」", '""', "``", "《》"):
        assert detect(f"{opened}{bare}{closed}") is None
    assert detect(f"```\n{bare}\n```") is None


@given(st.text(), st.dates())
@example("我" * 5000, TODAY)
@example("we " * 3000 + "?", TODAY)
@example("你" * 300 + "?", date.min)
@example("\ud800上次我们聊到哪儿了\0", date.max)
def test_no_text_is_too_strange(text: str, today: date) -> None:
    found = detect(text, ["x"], today=today)
    assert found is None or 0 < found.confidence <= 1
    if found and found.span:
        assert found.span[0] <= min(found.span[1], today.toordinal())


@given(st.sampled_from([one.text for one in SHIPPED]), st.sampled_from(["", " ", "\n", "\t"]), st.booleans())
@example("从昨天中断的地方续上", " ", False)
def test_blanks_around_and_capitals_change_nothing(text: str, blank: str, upper: bool) -> None:
    assert scene(blank + (text.upper() if upper else text) + blank) == scene(text)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("What did we decide about token expiry?", "token expiry"), ("关于内存泄漏，我们上次聊到什么结论", "内存泄漏"),
        ("continue yesterday's conversation", ""), ("上次我们聊到哪儿了", ""),
        ("what did we talk about over the past two weeks?", ""), ("最近一周我们讨论了哪些事", ""),
        ("我是不是跟你讲过过敏史", "过敏史"), ("还记不记得我女儿的生日", "女儿 生日"), ("你忘了吗，我不吃辣", "不吃辣"),
        ("that recipe from Tuesday, how much flour was it", "recipe much flour"),
    ],
)  # fmt: skip
def test_the_query_is_what_is_left_without_the_words_that_ask(text: str, query: str) -> None:
    found = detect(text)
    assert found is not None
    assert found.query == query


def test_a_text_that_is_handed_over_to_be_worked_on_asks_for_nothing() -> None:
    for text in ("翻译：你还记得我吗", "Please summarise this conversation between Bob and Alice: Bob: hi."):
        assert detect(text) is None
    assert scene("Please summarise this conversation between you and me") == "within"


def test_days_are_read_where_today_is_known() -> None:
    day = date(2023, 5, 9).toordinal()
    asked = [("last Tuesday's chat, give me the gist", TODAY), ("上周三咱们聊了什么", None)]
    assert [found and found.span for text, today in asked for found in [detect(text, today=today)]] == [
        (day, day),
        None,
    ]


@pytest.mark.parametrize(
    ("text", "expected"), [("Open the Tea-Box", "topic"), ("翻一下小本本", "topic"), ("the tea box", None)]
)
def test_configured_keywords_ask_too(text: str, expected: str | None) -> None:
    found = detect(text, [" ", "", "tea-box", "小本本"])
    assert (found.scene if found else None) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Ｔｅａ－Ｂｏｘ please", "topic"), ('he said "tea-box" twice', None), ("`tea-box`", None), ("STRASSE", "topic")],
)
def test_a_keyword_is_heard_in_any_width_and_case_but_not_where_it_is_quoted(text: str, expected: str | None) -> None:
    found = detect(text, ["tea-ｂox", "Straße"])
    assert (found.scene if found else None) == expected


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("our last three conversations", 3), ("最近三次对话", 3), ("give me the last couple of chats", 2),
        ("最近几次会话", 3), ("咱们前两次聊了什么", 2), ("our last three conversations about tea", None),
        ("最近三次提交是谁的", None), ("our last conversation", None),
    ],
)  # fmt: skip
def test_the_newest_few_sessions_are_asked_for_by_their_number(text: str, limit: int | None) -> None:
    found = detect(text)
    assert (found.limit if found else None) == limit
    assert limit is None or (found is not None and (found.scene, found.query) == ("history", ""))


@pytest.mark.parametrize(
    ("text", "keyword", "query"),
    [("Lookback egret colonies", "lookback", "egret colonies"), ("翻旧账 白鹭栖息地", "翻旧账", "白鹭栖息地")],
)
def test_a_keyword_is_not_part_of_the_query(text: str, keyword: str, query: str) -> None:
    found = detect(text, [keyword])
    assert found is not None
    assert found.query == query


def test_a_keyword_makes_no_other_scene_of_what_asks_anyway() -> None:
    assert detect("What did we decide about tea?", ["tea"]) == detect("What did we decide about tea?")


def test_of_a_pasted_page_both_ends_are_read() -> None:
    page = "lorem ipsum dolor sit amet. " * (READ // 5)
    assert scene(f"{page}\nWhat did we decide about this last week?") == "topic"
    assert scene(f"What did we decide about this last week?\n{page}") == "topic"
    assert scene(f"{page} What did we decide about this? {page}") is None


def test_likeness_alone_recalls_by_topic_from_its_threshold_on() -> None:
    found = [resembles(best, 0.6, "the  ndots issue") for best in (0.6, 0.8, 1.5)]
    sure = [one.confidence for one in found if one and one[::3] == ("topic", "the ndots issue")]
    assert sure == [0.5, pytest.approx(0.75), 1.0]
    assert [resembles(*case, "x") for case in ((0.59, 0.6), (1.0, 0.0))] == [None, None]
    assert resembles(1.0, 1.0, "x") is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The rain fell.", None),
        ("德国的首都是哪里？", None),
        ("压测过了，p95 降到 210 毫秒，我先去吃饭，回来再看日志里那些告警是怎么来的，下午四点前给大家一个说法", None),
    ],
)
def test_plain_facts_and_statements_are_not_like_what_asks(text: str, expected: str | None) -> None:
    assert scene(text) == expected


def test_the_weights_that_ship_are_of_what_may_be_learned_from() -> None:
    inputs = [one for one in SHIPPED if one.part == "tuning"] + measured.read(measured.TAUGHT)
    seen = {run for one in inputs if one.language == "zh" for run in runs(rules("zh").plain(one.text), "zh")}
    shipped = [line.split("\t") for line in WEIGHTS.read_text("utf-8").splitlines()]
    chinese = {run for language, run, *_ in shipped if language == "zh"}
    assert len(chinese) > 100
    assert chinese - {BIAS} <= seen


def test_nothing_is_learned_from_that_is_measured() -> None:
    taught = {one.text for one in measured.read(measured.TAUGHT)}
    assert taught.isdisjoint(one.text for one in [*SHIPPED, *NEW])


@pytest.mark.parametrize("text", ["车停在哪里？", "我的自行车停在哪儿？", "船停在哪里？", "飞机停在哪？"])
def test_where_a_thing_is_parked_asks_for_no_talk(text: str) -> None:
    assert detect(text) is None


@pytest.mark.parametrize("text", ["停在哪了", "我们停在哪里了？", "上次停在哪里？"])
def test_where_a_talk_stopped_asks_for_the_session(text: str) -> None:
    found = detect(text)
    assert found is not None
    assert found.scene == "session"
