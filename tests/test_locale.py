"""The catalogue of messages: both languages say the same, and no sentence is translated that nobody says any more."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import memorybook
from memorybook.errors import InvalidInput
from memorybook.locale import describe, error, fix, table, translate

ROOT = Path(memorybook.__file__).parent
CODE = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py")))
CODE = re.sub(r'"\s*\n\s*f?"', "", CODE)  # one sentence may stand in several literals


@pytest.mark.parametrize(
    "name", ["agent", "compose", "mcp", "chat", "commands", "problems", "doctor", "setup", "fixes"]
)
def test_both_languages_have_the_same_messages_with_the_same_values(name: str) -> None:
    english, chinese = table(name, "en"), table(name, "zh")
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert set(re.findall(r"\{(\w+)", text)) == set(re.findall(r"\{(\w+)", chinese[key])), key


def test_every_message_is_used() -> None:
    for name in ("agent", "chat", "problems"):
        used = [key.removesuffix("_nor_words") for key in table(name, "en")]
        assert [key for key in used if not re.search(rf'["\'.]{key}["\']', CODE)] == []


def test_answers_of_commands_have_their_chinese_and_no_other_sentence_has() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "cli").glob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    drawn = [call.args[0] for call in calls if ast.unparse(call.func).endswith("words")]
    answers = table("answers", "zh").keys()
    assert {one.value for one in drawn if isinstance(one, ast.Constant)} - answers == set()
    forms = {one: {one, one.replace(" ", "_"), one.removeprefix("{} ")} for one in answers}
    assert [one for one, any_of in forms.items() if not any(each in CODE for each in any_of)] == []


def test_every_sentence_is_one_that_the_code_still_says() -> None:
    code = re.sub(r"\{[^{}\n]*\}", "", CODE)
    sentences = [*table("sentences", "zh"), *table("fixes", "en")]
    pieces = {one.strip("; ") for each in sentences for one in re.split(r"\{\w+\}|\(s\)", each)}
    said = {one for one in pieces if len(re.findall(r"\w", one)) > 3}
    assert {one for one in said if one not in code} == {one.replace("|", "") for one in PIECED_TOGETHER}
    assert [one for each in PIECED_TOGETHER for one in each.split("|") if one not in code] == []


REASONS = [
    "there is no book at '/b'. It is made by what is remembered first, or with: memorybook init",
    "fts_enabled is false: searched by scanning the documents",
    "searched by words alone, the embedder 'm' cannot be used: the embedding service at 'h' broke off (x); try again",
    "the index has not been synced to its end yet: the answer may lack something",
    "the index is far behind: what changed since is not found before memorybook sync",
    "documents change faster than they can be read: some are not up to date after 8 rounds",
    "the index cannot be used (the index '/i' cannot be used: x; delete it): searched by scanning the documents",
    "the index '/i' is damaged (x) and cannot be replaced: Permission denied",
    "the best hits were not read again: no model",
    "turns cannot be read: the database '/t' is damaged (x); it is kept as it is: copy it away, then restore a backup",
    "MEMORY.md cannot be read (Permission denied): its earlier text answers",
    "MEMORY.md cannot be written: check its rights",
    "the book '/b' cannot be written (No space left on device): check its folder and disk",
    "another program took 2 of 3 entries out of MEMORY.md: have them back with memorybook undo MEMORY.md, or delete "
    "'/b/x' if they are meant to be gone",
    "the database '/t' was deleted: put the right one back, or delete '/s' if it is meant to be so",
    "the database '/t' cannot be written; check the rights of its folder",
    "the database 'postgresql://h/m' does not answer: timeout",
    "what changed last is not found yet: x",
    "2 sessions wait to be remembered: the model failed; tried once, next try after 2026-02-24 10:00",
    "1 session of an agent host could not be taken in: it is damaged (see /b/.memorybook/spool/aside)",
    "3 events of agent hosts came while the settings could not be read: once they can, the next event takes them in",
    "uses of entries are not known: x",
    "it is not known what was interrupted, or how often entries were used: x",
    "the sqlite-vec library '/v' cannot be loaded (x): vectors are compared by the built-in scan",
    "the language model at 'h' could not be reached (refused); check that it runs, and llm.base_url",
    "/p/memorybook.toml is not trusted, its root_dir left out; read it, then run: memorybook trust /p/memorybook.toml",
]


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_why_something_is_less_has_its_fix(reason: str) -> None:
    english, chinese = fix(reason, "en"), fix(reason, "zh")
    assert english
    assert re.search("[\u4e00-\u9fff]", chinese) or english == chinese
    assert fix("the moon is full", "en") == ""


PIECED_TOGETHER = {
    "the last| session", "the only session| of", "the |start| of this session", "the |end| of this session",
    "nothing was said |on", "nothing was said |from", "nothing about it was said |on",
    "nothing about it was said |from", "in other sessions|, which is how", "in other sessions|: all days were searched",
    "line| is| left out of the text: |they try to instruct whoever reads them",
    "was deleted|: |put the right one back, or delete",
    "is another one, or an older copy of it, than was written last|: |put the right one back, or delete",
    "session waits| to be remembered:", "sessions wait| to be remembered:",
    "the language model| at |'", "the embedding service| at |'", "broke off| (", "could not be reached| (",
    "- |all turns| of session", "~ |title and summary| of session", "change |sessions/", ".md| was changed since",
}  # fmt: skip
"""What stands in several places of the code, by these parts."""


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("~ sessions/a.md, rewritten (summary of the session)", "~ sessions/a.md，已改写（会话摘要）"),
        ("+ a1b2c3: I row (daily). (undone: said: I row (daily). turn:t1)",
         "+ a1b2c3: I row (daily).（撤销：说过：I row (daily). turn:t1）"),
        ("~ a1b2c3: hits 1 → 2, text 'a' → 'b' (updated)", "~ a1b2c3: 次数 1 → 2, 文字 'a' → 'b'（修改）"),
        ("~ a1b2c3: pinned no → yes", "~ a1b2c3: 固定 否 → 是"),
        ("+ a1b2c3: We said: row (well).", "+ a1b2c3: We said: row (well)."),
        ("searched by words alone, the embedder 'm' cannot be used: the embedding service at 'h' did not answer "
         "within 3 seconds; check that it runs, or raise embeddings.timeout; tried again in 9 s",
         "仅按词语检索，嵌入模型 'm' 无法使用：嵌入服务（h）在 3 秒内没有回答；"
         "请检查它是否在运行，或调大 embeddings.timeout；9 秒后重试"),
        ("  turn:t2: (it tries to instruct whoever reads it)", "  turn:t2：（它试图指挥读者）"),
        ("- 1 turn of session s1", "- 会话 s1 的 1 条消息"),
        ("no entry 'a1' in this book: search to find its id", "记忆库里没有条目 'a1'：检索会列出编号"),
        ("nobody knows this sentence (remembered)", "nobody knows this sentence (remembered)"),
    ],
)  # fmt: skip
def test_a_sentence_is_said_in_chinese_and_what_it_quotes_stays(told: str, said: str) -> None:
    assert (translate(told, "zh"), translate(told, "en")) == (said, told)


def test_an_error_carries_its_message() -> None:
    found = error(InvalidInput, "agent.session_is_current", name="'tea'")
    assert str(found) == "this session is already 'tea': choose another name, or none"
    assert describe(found, "zh") == "本次会话就是 'tea'：请换个名称，或不写名称"
    assert describe(error(InvalidInput, "problems.blank", name="tea"), "zh") == "tea 为空：请写些内容"
