"""What a session says by itself, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memorybook.agent.sentences_zh import told_in

if TYPE_CHECKING:
    from datetime import tzinfo

    from memorybook.sessions.recall_types import Recollection
    from memorybook.sessions.user_commands import Obeyed


class Words(NamedTuple):
    """Fixed sentences in one language; braces are filled in."""

    rule: str
    cut: str
    told: str
    remembered: str
    waiting: str
    started: str
    aside: str
    kept: str
    put_off: str
    failed: str
    no_recall: str
    not_retold: str
    ended: str
    compacted: str
    last_round: str
    gave_up: str
    kept_word: str
    forgot: str
    before: str
    asks: str
    nothing: str
    unknown: str
    everything: str
    left_out: str
    near: str
    unnamed: str
    known: str
    suspect: str
    recalled: str
    sessions: str
    turns: str


WORDS = {
    "en": Words(
        rule=(
            "Before you answer about anything past (earlier talks, decisions, preferences, people, dates, todos), "
            "search the memory with memory_search and open the lines with memory_get; what is shown to you here is "
            "only a part. Cite path and lines of what you rely on, such as daily/2026-02-24.md#L12-L14. If you find "
            "nothing, say that you looked."
        ),
        cut="(the user interrupted here)",
        told="Carried out just now at the user's word, and not to be done again:",
        remembered="remembered {count} things",
        waiting="waiting in review: {count}",
        started="New session started.",
        aside=" ({})",
        kept="The session was kept, for it could not be archived: {reason}. Try /new again.",
        put_off="the one before waits to be remembered: {reason}",
        failed="not remembered yet, it will be tried again: {reason}",
        no_recall="nothing was recalled for this turn: {reason}",
        not_retold="the summary of the session is told less well: {reason}",
        ended="the session is over",
        compacted="the conversation was compacted",
        last_round="That was the last call of a tool in this turn: answer now.",
        gave_up="I stopped after {rounds} rounds of tools without an answer.",
        kept_word="remembered: {text} [{id}]",
        forgot="forgot: {text}",
        before="kept as what was true before: {text}",
        asks="waiting for your word in review: {count}",
        nothing="nothing was done about it: {reason}",
        unknown="nothing was forgotten: nothing was found under these words",
        everything=(
            "nothing was forgotten: everything does not go at a word; say what to forget, or use memorybook forget "
            "--query TEXT or --session ID, and memorybook purge to erase it for good"
        ),
        left_out='not remembered; what the book had before stays in it: "forget …" takes that out',
        near="if you mean this, say so in its words: {text}",
        unnamed="nothing was forgotten: say what to forget",
        known="known already: {text} [{id}]",
        suspect=(
            "remembered as suspect [{id}]: it tries to instruct whoever reads the book, and is never shown on its own"
        ),
        recalled="recalled",
        sessions="{count} sessions",
        turns="{count} turns",
    ),
    "zh": Words(
        rule=(
            "回答任何涉及过去的问题（以往的对话、决定、偏好、人物、日期、待办）之前，先用 memory_search 检索记忆，"
            "再用 memory_get 打开原文；这里给出的只是一部分。引用时注明路径和行号，例如 daily/2026-02-24.md#L12-L14。"
            "查不到就说明已经查过。"
        ),
        cut="（用户在此打断）",
        told="已按用户的话执行，不要重复：",
        remembered="记住了 {count} 件事",
        waiting="{count} 项待审核",
        started="已开始新会话。",
        aside="（{}）",
        kept="会话已保留，因为无法归档：{reason}。请稍后再试 /new。",
        put_off="上一次会话等待记忆：{reason}",
        failed="暂未记住，稍后会再试：{reason}",
        no_recall="本轮没有取回记忆：{reason}",
        not_retold="本次会话的摘要不如平常：{reason}",
        ended="会话已结束",
        compacted="对话已压缩",
        last_round="这是本轮最后一次调用工具，请现在作答。",
        gave_up="调用了 {rounds} 轮工具仍未得到答案，已停止。",
        kept_word="已记住：{text} [{id}]",
        forgot="已忘掉：{text}",
        before="作为以前的情况保留：{text}",
        asks="{count} 项等待您审核",
        nothing="没有执行：{reason}",
        unknown="没有可忘的内容：书里没有用这些词说的记录",
        everything=(
            "没有忘掉任何内容：不会凭一句话忘掉一切；请说明要忘掉什么，或用 memorybook forget --query 文字 或 "
            "--session 编号，彻底清除用 memorybook purge"
        ),
        left_out="不会记住；书里原有的内容不变：说“忘掉……”才会去掉",
        near="是不是指这条？请用其中的词再说一次：{text}",
        unnamed="没有忘掉任何内容：请说明要忘掉什么",
        known="已经记着：{text} [{id}]",
        suspect="已作为可疑内容记下 [{id}]：它试图指挥读到它的人，不会主动出现",
        recalled="想起了",
        sessions="{count} 次会话",
        turns="{count} 句话",
    ),
}


_TITLE = 40  # characters of a session's title


def _clipped(title: str) -> str:
    """A title in one line, with … where it is cut."""
    title = " ".join(title.split())
    return title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"


def remembered(count: int, language: str) -> str:
    """`remembered 1 thing`, `记住了 2 件事`."""
    return _counted(WORDS[language].remembered, count)


def _counted(words: str, count: int) -> str:
    text = words.format(count=count)
    return text.removesuffix("s") if count == 1 else text


def waiting(count: int, language: str) -> str:
    """`waiting in review: 2`, `2 项待审核`."""
    return WORDS[language].waiting.format(count=count)


def told(done: Obeyed, language: str) -> str:
    """What was done at a user's word and what was not, a line each; without the words of what is suspect."""
    words = WORDS[language]
    lines = [
        (words.suspect if id in done.suspect else form).format(id=id, text=text)
        for form, said in ((words.kept_word, done.remembered), (words.known, done.known))
        for id, text in said
    ]
    lines += [words.forgot.format(text=text) for text in done.forgotten]
    lines += [words.before.format(text=text) for text in done.before]
    if done.proposals:
        lines.append(words.asks.format(count=len(done.proposals)))
    lines += [_undone(reason, language) for _, reason in done.refused]
    lines += [words.near.format(text=text) for text in done.near]
    return "\n".join(dict.fromkeys(lines))


def _undone(reason: str, language: str) -> str:
    from memorybook.forget.forget_requests import EVERYTHING, LEFT_OUT, NOT_FOUND, NOT_OBEYED, UNNAMED

    words = WORDS[language]
    known = {
        NOT_OBEYED: words.unknown,
        NOT_FOUND: words.unknown,
        EVERYTHING: words.everything,
        LEFT_OUT: words.left_out,
        UNNAMED: words.unnamed,
    }
    return known.get(reason) or words.nothing.format(reason=told_in(language, reason))


def found_text(found: Recollection, language: str, zone: tzinfo | None) -> str:
    """`recalled 1 session, 3 turns: Trip to Kiel (2026-02-24)`, its days in the timezone, None for the machine's."""
    words = WORDS[language]
    counts = [(words.sessions, len(found.sessions)), (words.turns, len(found.turns))]
    many = ("，" if language == "zh" else ", ").join(_counted(word, count) for word, count in counts if count)
    days = [
        words.aside.format(f"{one.started.astimezone(zone):%Y-%m-%d}") if one.started else "" for one in found.sessions
    ]
    told = [(_clipped(one.title or one.name), day) for one, day in zip(found.sessions[:2], days, strict=False)]
    titles = [f"{title}{day}" for title, day in told if title]
    return f"{words.recalled} {many}{'：' if language == 'zh' else ': '}{' · '.join(titles)}".rstrip("：: ")
