"""The tokeniser, question words, equality of statements, and the token counter."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text import tokens as t


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n\t ...!? ", []),
        ("Running dogs", ["run", "dog"]),
        ("喜欢咖啡", ["喜", "喜欢", "欢", "欢咖", "咖", "咖啡", "啡"]),
        ("爱", ["爱"]),
        ("用pnpm安装", ["用", "pnpm", "安", "安装", "装"]),
        ("きのう", ["き", "きの", "の", "のう", "う"]),
        ("한국", ["한", "한국", "국"]),
        ("ＡＰＩ　１２３", ["api", "123"]),
        ("café Zürich", ["cafe", "zurich"]),
        ("Привет", ["привет"]),
        ("Alice's don't", ["alic", "don't"]),
        ("3月20日", ["3", "月", "20", "日"]),
        ("APIs", ["apis", "api"]),
    ],
)
def test_words_become_tokens_in_order(text: str, expected: list[str]) -> None:
    assert t.tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "among"),
    [
        ("get_user_name", {"get_user_name", "get", "user", "name"}),
        ("getUserName", {"getusername", "get", "user", "name"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("src/app/main.py", {"src/app/main.py", "src", "app", "main.py", "main", "py"}),
        ("v1.2.3", {"v1.2.3", "v1", "2", "3"}),
        ("a1b2c3", {"a1b2c3"}),
        ("bob.smith@example.com", {"bob.smith@example.com", "bob.smith", "bob", "smith", "example.com", "com"}),
        ("https://example.com/docs?x=1", {"https://example.com/docs?x=1", "example.com", "doc", "1"}),
        ("128,394", {"128,394", "128394"}),
        ("2026-02-24", {"2026-02-24", "2026", "02", "24"}),
        ("Wi-Fi", {"wi-fi", "wifi", "wi", "fi"}),
        ("C++ and C#", {"c++", "c#", "c"}),
        ("__init__.py", {"init__.py", "init", "py"}),
        ("C:\\Users\\bob", {"c", "user", "bob"}),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(text: str, among: set[str]) -> None:
    assert among <= set(t.tokens(text))


def test_a_camel_name_and_its_lower_case_form_meet() -> None:
    assert set(t.tokens("getUserName")) & set(t.tokens("getusername"))


def test_repetition_is_kept() -> None:
    assert t.tokens("tea tea TEA") == ["tea"] * 3


def test_words_of_a_sentence_are_not_glued_by_its_punctuation() -> None:
    assert t.tokens("Yes, no. Well... a--b") == ["yes", "no", "well", "a", "b"]


@given(st.text(st.characters(max_codepoint=127)), st.text(st.characters(max_codepoint=127)))
def test_white_space_parts_text_for_good(one: str, other: str) -> None:
    assert t.tokens(f"{one} {other}") == t.tokens(one) + t.tokens(other)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_text_has_the_tokens_that_it_has_beside_other_scripts(text: str) -> None:
    assert t.tokens(f"{text} 茶") == [*t.tokens(text), "茶"]


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


# --- questions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does Alice like?", ("alic", "like")),
        ("the the", ("the",)),
        ("我喜欢什么咖啡", ("喜", "喜欢", "欢", "咖", "咖啡", "啡")),
        ("的了", ("的", "的了", "了")),
        ("爱", ("爱",)),
        ("我什么时候去上海？", ("上海", "海")),
        ("请问血压计到底放在哪儿来着", ("血", "血压", "压", "压计", "计", "放")),
        ("小时候的气候", ("小", "小时", "候", "气", "气候")),
        ("什么时候", ("什", "什么", "么", "么时", "时", "时候", "候")),
        ("会议地址", ("会议", "议", "议地", "地址", "址")),
        ("...", ()),
    ],
)
def test_a_question_is_asked_by_its_telling_words(text: str, expected: tuple[str, ...]) -> None:
    assert t.query_words(text) == expected


def test_a_long_question_is_bounded_and_distinct() -> None:
    words = t.query_words(" ".join(f"word{n} word{n}" for n in range(200)))
    assert len(words) == t.MAX_QUERY_WORDS == 128
    assert len(set(words)) == 128


@pytest.mark.parametrize(
    "text",
    [
        "How have you been? I am fine.",
        "Really?!",
        "what did we decide about the index",
        "so where is the key",
        "Do you like tea",
        "Is the server up",
        "你喜欢什么",
        "好吗？",
        "吃了吗",
        "你呢",
        "线上是怎么部署的",
        "有没有备份",
    ],
)
def test_questions_are_recognised_in_both_languages(text: str) -> None:
    assert t.is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I like tea.",
        "What a day!",
        "Do the dishes",
        "see https://example.com/?q=1",
        "我喜欢咖啡。",
        "没什么",
        "谁都知道",
        "他正忙着呢",
        "我不知道什么是索引",
    ],
)
def test_statements_are_no_questions(text: str) -> None:
    assert not t.is_question(text)


# --- equality ----------------------------------------------------------------------------------


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


@given(st.text(st.characters()))
def test_every_text_has_a_digest_of_32_hexadecimal_digits(text: str) -> None:
    assert len(t.digest(text)) == 32
    assert int(t.digest(text), 16) >= 0


def test_a_text_with_broken_bytes_has_a_digest() -> None:
    assert t.digest("a\udc80") != t.digest("a")


# --- languages and names -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 0.0), ("tea", 0.0), ("“—”", 0.0), ("喜欢", 1.0), ("喜欢ab", 0.5), ("é喜", 0.5), ("喜，。", 1.0)],
)
def test_share_of_cjk_letters(text: str, share: float) -> None:
    assert t.han_share(text) == share


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("What is Caroline's job", ["Caroline"], "What is job"),
        ("Did CAROLINE meet Mel?", ["Mel", "Caroline"], "Did meet ?"),
        ("Melanie sings", ["Mel"], "Melanie sings"),
        ("Ann Lee and Ann", ["Ann", "Ann Lee"], "and"),
        ("张三喜欢什么", ["张三"], "喜欢什么"),
        ("Caroline", ["Caroline"], "Caroline"),
        ("Caroline?", ["Caroline"], "Caroline?"),
        ("Caroline, who is it", ["Caroline"], "who is it"),
        ("text", ["", "  "], "text"),
        ("a+ b (c", ["(c", "a+"], "b"),
    ],
)
def test_names_are_dropped_as_whole_words(text: str, names: list[str], left: str) -> None:
    assert t.without_names(text, names) == left


@given(st.text(min_size=1), st.lists(st.text(), max_size=3))
def test_dropping_names_never_leaves_a_blank_text(text: str, names: list[str]) -> None:
    left = t.without_names(text, names)
    assert left.strip() or left == text


# --- the token counter -------------------------------------------------------------------------


def test_only_the_empty_text_has_no_tokens() -> None:
    assert t.count_tokens("") == 0
    assert t.count_tokens(" ") == 1
    assert t.count_tokens("é") == 1


@given(st.text(), st.text())
def test_more_text_never_counts_less(one: str, other: str) -> None:
    assert t.count_tokens(one + other) >= t.count_tokens(one)


ENGLISH = (
    "Last week I finally went back to the pottery class that my sister had told me about. The teacher is patient, "
    "the room is bright, and I came home with two bowls and a mug. Next month we want to try glazing them ourselves."
)
CHINESE = (
    "上周我终于回到了姐姐跟我说过的陶艺班。老师很有耐心，教室也很亮，我带回家两个碗和一个杯子。下个月我们想自己试着上釉。"
    "他说二零二六年春天会在杭州开一家新的工作室，欢迎大家周末过去喝茶。"
)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_the_counter_is_within_fifteen_percent_of_a_real_tokenizer(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    wordllama = pytest.importorskip("importlib.metadata").distribution("wordllama")
    path = wordllama.locate_file("wordllama/tokenizers/l2_supercat_tokenizer_config.json")
    if not os.path.exists(path):
        pytest.skip("the wheel of wordllama has no tokenizer")
    real = len(tokenizers.Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids)
    assert t.count_tokens(text) == pytest.approx(real, rel=0.15)


@given(st.text(alphabet="aB7'.,;:!?()[]\"-_/@#+ $s", max_size=12))
def test_a_plain_word_is_cut_as_any_other_piece_is(text: str) -> None:
    for piece in text.split():
        assert t._Pieces()[piece] == t._chunked(piece)


STOP_WORDS = """
a an the this that these those there here i me my mine myself you your yours yourself he him his himself she her
hers herself it its itself we us our ours ourselves they them their theirs themselves who whom whose which what when
where why how am is are was were be been being do does did doing done have has had having will would shall should
can could might must of at by for with about against between into through during before after above below to from in
out on off over under again further then once and or but nor so if because as until while than too very just also
not no only own same such both each few more most other some any all ever s t d ll m re ve im ive id
don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't wouldn't can't couldn't shouldn't
i'm i've i'd i'll you're you've you'd you'll he'd he'll she'd she'll it'd it'll we're we've we'd we'll
they're they've they'd they'll that'll dont doesnt didnt isnt cant please
tell tells telling told say says saying said mention mentions mentioned mentioning remember remind
"""


def test_stop_words_are_kept_as_the_tokens_that_they_become() -> None:
    english = {word for word in t._STOP_WORDS if word.isascii()}
    assert english == set(t.tokens(STOP_WORDS))
    chinese = t._STOP_WORDS - english
    assert {len(word) for word in chinese} == {2}  # bigrams, as tokens are
