"""What the chat says by itself, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memorybook.agent.sentences_zh import chinese

if TYPE_CHECKING:
    from memorybook.errors import MemoryBookError


class Words(NamedTuple):
    """Fixed sentences in one language; braces are filled in."""

    you: str
    no_model: str
    off: str
    no_transcripts: str
    hint: str
    legend: str
    extra: str
    goes_on: str
    unanswered: str
    from_session: str
    found: str
    kept: str
    nothing: str
    nothing_then: str
    small: str
    stored: str
    forgot: str
    waits: str
    turns: str
    tokens: str
    fine: str
    interrupted: str
    lost: str
    again: str
    failed: str
    degraded: str
    compacting: str
    compacted: str
    nothing_to_compact: str
    ending: str
    remembered: str
    nothing_new: str
    talk_kept: str
    queued: str
    idle: str
    unknown: str
    near: str
    nothing_done: str
    asking: str


WORDS = {
    "en": Words(
        you="you",
        no_model="no language model is set (llm.model): I answer with what the book says",
        extra="lines are read plainly; for editing, history and completion: pip install 'memorybook[chat]'",
        off="memory is switched off: set enabled = true",
        no_transcripts="talks are not kept (transcripts.enabled = false): only what is remembered of them stays",
        hint="/help shows the commands, Ctrl-D ends the session",
        legend=(
            "under each reply: how long it took; recalled: past talks that were looked up for it; stored, forgot: what "
            "was written into the book, taken out of it; in review: waits for your word; turns: of this session; "
            "context: what the model was given besides the talk"
        ),
        goes_on="going on with the session of {time}: {turns}",
        unanswered="your last words are kept and were not answered: {text}",
        from_session="going on from {title} ({day}); what is said now is a session of its own",
        found="No model is set. This is what I found:",
        kept="Kept. ",
        nothing="The book says nothing about it yet.",
        nothing_then="Nothing was said then: {}.",
        small="Ask me what the book says, or tell me what to remember.",
        stored="stored {count}",
        forgot="forgot {count}",
        waits="{count} in review",
        turns="{count} turns",
        tokens="context {count} tokens",
        fine="ok",
        interrupted="interrupted; what came of the answer is kept",
        lost="interrupted before it was kept: say it again",
        again="Ctrl-C once more, or Ctrl-D, leaves",
        failed="failed: {}",
        degraded="degraded: {}",
        compacting="compacting the talk …",
        compacted="the talk was compacted; {done}",
        nothing_to_compact="there is nothing to compact",
        ending="remembering …",
        remembered="remembered: {texts}",
        nothing_new="nothing new to remember",
        talk_kept="; the talk is kept",
        queued="not remembered yet, the session waits: {reason}",
        idle="an earlier session that was left open is over",
        unknown="there is no command {name!r}",
        near="; did you mean {name}?",
        nothing_done="nothing was done in this chat that could be taken back; /undo OPERATION takes back anything",
        asking="What did we talk about {words}?",
    ),
    "zh": Words(
        you="我",
        no_model="没有设置语言模型（llm.model）：我用书里的内容回答",
        extra="逐行读取输入；要有编辑、历史和补全：pip install 'memorybook[chat]'",
        off="记忆已关闭：要使用请设 enabled = true",
        no_transcripts="不保存对话（transcripts.enabled = false）：除记住的内容外，说过的话不会留下",
        hint="/help 查看命令，Ctrl-D 结束会话",
        legend=(
            "每次回复下面一行：用时；想起了：为此取回的以往会话；存入、忘掉：写进书里的、从书里去掉的；待审核：等您决定的；"
            "条消息：本次会话的；上下文：除对话外交给模型的内容"
        ),
        goes_on="继续 {time} 的会话：{turns}",
        unanswered="您上一句话已保存，尚未得到回答：{text}",
        from_session="接着“{title}”（{day}）往下谈；现在说的是一个新会话",
        found="没有设置模型。以下是我找到的：",
        kept="已保存。",
        nothing="书里还没有相关内容。",
        nothing_then="那时没有对话：{}。",
        small="您可以问我书里的内容，或告诉我要记住什么。",
        stored="存入 {count} 条",
        forgot="忘掉 {count} 条",
        waits="{count} 项待审核",
        turns="{count} 条消息",
        tokens="上下文 {count} 词元",
        fine="正常",
        interrupted="已打断；已收到的部分保留",
        lost="保存前就被打断：请再说一遍",
        again="再按一次 Ctrl-C，或按 Ctrl-D 离开",
        failed="失败：{}",
        degraded="降级：{}",
        compacting="正在压缩对话……",
        compacted="对话已压缩；{done}",
        nothing_to_compact="没有可压缩的内容",
        ending="正在记忆……",
        remembered="记住了：{texts}",
        nothing_new="没有新的内容要记",
        talk_kept="；对话已保存",
        queued="暂未记住，会话在排队：{reason}",
        idle="先前未结束的会话现已结束",
        unknown="没有命令 {name!r}",
        near="；您是指 {name} 吗？",
        nothing_done="本次聊天没有可撤销的操作；/undo 操作号 可撤销任何操作",
        asking="我们{words}聊了什么？",
    ),
}


_KINDS = {
    "invalid_input": "输入有误",
    "unsafe_path": "路径不可用",
    "config": "设置有误",
    "not_found": "找不到",
    "missing_document": "找不到文档",
    "conflict": "有冲突",
    "doubtful": "存疑",
    "unavailable": "现在做不到",
    "book_locked": "书正被占用",
    "embedder_failed": "嵌入模型出错",
    "llm_failed": "语言模型出错",
    "budget_spent": "用量已到上限",
    "missing_extra": "缺少组件",
    "declined": "已取消",
}
"""What kind of error it is, in Chinese, by the error's code."""


def error_text(error: MemoryBookError, language: str) -> str:
    """What could not be done; in Chinese its kind, then the reason."""
    return f"{_KINDS.get(error.code, '出错')}：{chinese(str(error))}" if language == "zh" else str(error)


def counted(count: int, words: str) -> str:
    """`1 turn`, `2 turns`, `2 条消息`."""
    text = words.format(count=count)
    return text.removesuffix("s") if count == 1 else text
