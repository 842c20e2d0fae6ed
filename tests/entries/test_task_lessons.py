"""What rules learn from a finished task, in both languages."""

from __future__ import annotations

import pytest

from memorybook.entries.store_task import MOST, Task, failure, is_trouble, learnt, turns_of
from tables import table


def said(task: Task) -> list[tuple[str, str]]:
    return [(one.category, one.content) for one in learnt(task)]


@pytest.mark.parametrize(
    ("goal", "result", "category"),
    table("""
        Fix the login test → The root cause was an expired token in the fixture. → experience
        Fix the login test → It was fixed by refreshing the token before each run. → experience
        Fix the login test → Restarting didn't help because the cache was kept on disk. → experience
        Pick a database → Chose Postgres over MySQL because of its JSON support. → decision
        Move the queue → Switched the queue from Redis to RabbitMQ. → decision
        Style the page → The user prefers dark colours and large type. → preference
        Release it → Next time make sure to run the migration before the deploy. → workflow
        Release it → The migration must be run before the deploy. → workflow
        修复登录测试 → 根因是夹具里的令牌过期。 → experience
        修复登录测试 → 通过每次刷新令牌解决了这个问题。 → experience
        选数据库 → 最终选用 Postgres，因为支持 JSON。 → decision ¦ 改页面样式 → 用户更喜欢深色和大字。 → preference
        发布 → 以后发布要先跑迁移再部署。 → workflow ¦ 发布 → 必须先跑迁移脚本，部署才会成功。 → workflow
    """),
)
def test_a_result_says_what_was_learnt_under_its_goal(goal: str, result: str, category: str) -> None:
    colon = ": " if goal.isascii() else "："
    assert said(Task(goal, result)) == [(category, f"{goal}{colon}{result}")]


@pytest.mark.parametrize(
    "result",
    table("""
        Renamed a.txt to b.txt. Done. ¦ All 214 tests pass, nothing was left to do.
        Shall we always run the migration first? ¦ Refactored it; always nice to see green tests.
        You should always keep receipts for seven years. ¦ They have to agree on the scope before hiring.
        他们以后会先讨论再投票。 ¦ Deployed to staging as build 412. ¦ 文件已经改名，任务完成。
        要不要以后都先跑迁移？ ¦ 没决定用哪个。
    """),
)
def test_what_is_no_lesson_is_left(result: str) -> None:
    assert said(Task("Do the chore", result)) == []


@pytest.mark.parametrize(
    ("goal", "result", "category", "content"),
    [
        (
            "Fix the checkout test",
            "## Summary\n- **Root cause**: the clock mock leaked\n- **Fix**: reset it in `afterEach`\n\nAll pass now.",
            "experience",
            "Fix the checkout test: Root cause: the clock mock leaked; Fix: reset it in `afterEach`",
        ),
        ("Set up CI", "Decision: uv instead of pip, it is faster.", "decision", None),
        ("Release", "Note for next time: the changelog comes first.", "workflow", None),
        (
            "排查回调丢失",
            "### 结论\n1. 原因：Nginx 超时设成了 5 秒\n2. 解决：改成 30 秒\n\n已验证。",
            "experience",
            "排查回调丢失：原因：Nginx 超时设成了 5 秒；解决：改成 30 秒",
        ),
        (
            "修登录",
            "根因是令牌过期。解决办法是每次刷新。",
            "experience",
            "修登录：根因是令牌过期。解决办法是每次刷新。",
        ),
        ("选库", "决定：用 Postgres 而不用 MySQL。", "decision", None),
        ("发布", "流程：先打标签，然后推镜像。", "workflow", None),
    ],
)
def test_labels_of_results_are_read(goal: str, result: str, category: str, content: str | None) -> None:
    colon = ": " if goal.isascii() else "："
    assert said(Task(goal, result)) == [(category, content or f"{goal}{colon}{result}")]


def test_cause_and_cure_rest_on_the_words_of_both() -> None:
    [one] = learnt(Task("Fix it", "The cause was a typo. It was fixed by a rename. We thank the reviewers for it all."))
    assert one.quote == "The cause was a typo. It was fixed by a rename."


def test_a_long_story_is_not_one_memory() -> None:
    result = " ".join(f"The root cause of bug {number} was a typo in the module of that name." for number in range(9))
    assert all(len(one.content) < 340 for one in learnt(Task("Fix bugs", result)))
    assert len(learnt(Task("Fix bugs", result))) > 1


def test_a_standing_order_in_the_goal_is_kept_as_the_users() -> None:
    [one] = learnt(Task("From now on always answer in Chinese. Translate the readme."))
    assert one.turn_ids == ("goal",)
    assert one.importance == "high"
    [one] = learnt(Task("整理接口文档，以后都用中文写注释"))
    assert one.content == "整理接口文档，以后都用中文写注释。"


def test_a_goal_that_is_a_todo_is_done_and_not_kept() -> None:
    assert learnt(Task("TODO: send the invoice by Friday", "The invoice was sent to them.")) == []


def test_an_error_that_was_overcome_is_kept_with_the_outcome() -> None:
    task = Task("Deploy", "It runs on staging as build 412.", ("helm upgrade", "Error: timed out waiting", "ok"))
    [one] = learnt(task)
    assert one.content == 'Deploy: ran into "Error: timed out waiting"; outcome: It runs on staging as build 412.'
    assert one.quote == "Error: timed out waiting"
    [one] = learnt(Task("部署服务", "最后跑在预发环境，版本四一二。", ("报错：等待超时",)))
    assert one.content == "部署服务：遇到「报错：等待超时」，结果：最后跑在预发环境，版本四一二。"


def test_an_error_without_an_outcome_is_not_said_to_be_overcome() -> None:
    assert learnt(Task("Deploy the service", "ok", ("Error: timed out",))) == []
    assert learnt(Task("Deploy the service", "It runs on staging now.", ("Error: timed out",), "TimeoutError")) == []


def test_lessons_stand_in_the_log_as_well_but_not_in_its_machine_lines() -> None:
    task = Task("Deploy", "", ("ERROR the root cause is unknown to the pod", "The culprit was a stale lock file."))
    assert said(task) == [("experience", "Deploy: The culprit was a stale lock file.")]


def test_the_most_important_come_first_and_no_more_than_a_few() -> None:
    result = " ".join(f"The root cause of bug {number} was a typo. It is mended by now." for number in range(9))
    task = Task("Fix bugs", f"{result} We decided to use a linter from then on.")
    found = learnt(task)
    assert len(found) == MOST
    assert found[0].category == "decision"


def test_a_failure_is_an_experience_that_quotes_the_error() -> None:
    one = failure(Task("Import the ledger", error="ValueError:\nbad date"))
    assert (one.category, one.content) == ("experience", "Import the ledger: failed with ValueError: bad date")
    assert failure(Task("导入账本", error="ValueError: 日期不对")).content == "导入账本：失败：ValueError: 日期不对"
    long = failure(Task("Import", error="ValueError: " + "word " * 90))
    assert long.content.endswith("…")
    assert not long.quote.endswith("…")


def test_the_texts_of_a_task_are_turns_in_their_order() -> None:
    assert [turn.id for turn in turns_of(Task("a", "b", ("c",), "d"))] == ["goal", "log", "result", "error"]
    assert [turn.id for turn in turns_of(Task("a"))] == ["goal"]


@pytest.mark.parametrize("line", ["KeyError: 'x'", "connection refused", "timed out", "报错了", "请求超时"])
def test_trouble_is_seen(line: str) -> None:
    assert is_trouble(line)


@pytest.mark.parametrize("line", ["all fine", "200 OK", "完成"])
def test_its_absence_too(line: str) -> None:
    assert not is_trouble(line)
