"""What the command line's answers say in a chat: their sentences in Chinese, and commands of the chat for its verbs."""

from __future__ import annotations

from typing import Any

from memorybook.agent.sentences_zh import chinese
from memorybook.cli.call import Wording

_EN = {
    "to have it again: memorybook undo {id}": "to have it again: /undo {id}",
    "to take one back: memorybook undo OPERATION": "to take one back: /undo OPERATION",
}

_FIELDS = {
    "preference": "偏好",
    "fact": "事实",
    "decision": "决定",
    "experience": "经验",
    "workflow": "流程",
    "skill usage": "技能使用",
    "skill_usage": "技能使用",
    "todo": "待办",
    "context": "背景",
    "entry": "条目",
    "note": "笔记",
    "summary": "摘要",
    "turn": "对话",
    "prose": "正文",
    "active": "有效",
    "archived": "已归档",
    "superseded": "已被取代",
    "user": "用户",
    "assistant": "助手",
    "system": "系统",
    "tool": "工具",
    "yes": "是",
    "no": "否",
}
"""Values of fields: categories, sources, states, roles."""

_STATUS = {
    "root": "位置",
    "exists": "已建立",
    "disabled": "已关闭",
    "provider": "策略",
    "documents": "文档",
    "count": "数量",
    "bytes": "字节",
    "notes": "笔记",
    "summaries": "摘要",
    "entries": "条目",
    "transcripts": "对话记录",
    "sessions": "会话",
    "turns": "消息",
    "pending operations": "未完成的操作",
    "waiting": "等待中",
    "proposals": "待审核",
    "index": "索引",
    "fresh": "已是最新",
    "backend": "后端",
    "passages": "段落",
    "by source": "按来源",
    "vectors": "向量",
    "pending": "待处理",
    "embedder": "嵌入模型",
    "embedded by": "由谁嵌入",
    "generation": "代次",
    "path": "路径",
    "pending vectors": "待算向量",
    "degraded": "降级",
    "warnings": "提醒",
    "settings": "设置来源",
}
"""Labels of the status."""

_KINDS = {
    "change": "改动",
    "remember": "记住",
    "order": "吩咐",
    "memorize": "记忆",
    "append": "记笔记",
    "flush": "刷写",
    "import": "导入",
    "collect": "收集",
    "update": "修改",
    "pin": "置顶",
    "unpin": "取消置顶",
    "forget": "忘记",
    "purge": "抹除",
    "review": "审核",
    "tidy": "整理",
    "evolve": "演化",
    "revise": "修订",
    "undo": "撤销",
    "loss": "丢失",
    "sync": "同步",
}
"""What operations are called."""

_COUNTED = {
    "{} entry": "{} 条记忆",
    "{} note": "{} 条笔记",
    "{} document": "{} 篇文档",
    "{} session": "{} 次会话",
    "{} turn": "{} 条消息",
    "{} secret": "{} 处机密",
    "{} time": "{} 次",
    "{} prompt": "{} 次提示词",
}

_SENTENCES = {
    "Memory is switched off: set enabled = true to use it.": "记忆已关闭：要使用请设 enabled = true。",
    # what is found
    "Nothing relevant found.": "没有找到相关内容。",
    "Nothing relevant found. The nearest all the same:": "没有找到相关内容。最接近的是：",
    "Nothing above the threshold of {threshold:g}.": "没有达到阈值 {threshold:g} 的内容。",
    "{count} less relevant left out by the threshold of {threshold:g}": (
        "另有 {count} 条相关性低于阈值 {threshold:g}，未显示"
    ),
    "degraded to {backend}: {reason}": "降级为 {backend}：{reason}",
    "{count} passages wait for their vectors; run: memorybook sync": "{count} 段还没有向量；请运行 memorybook sync",
    "No entries.": "还没有记忆。",
    "None of {total} entries shown.": "共 {total} 条，均未显示。",
    "{count} of {total} entries; more with --limit": "共 {total} 条，显示 {count} 条；更多请用 --limit",
    # past conversations
    "No conversations.": "没有会话。",
    "Nothing was said about it.": "没有谈到过。",
    "Nothing relevant was said.": "没有谈到过相关内容。",
    "Nothing relevant was said. The nearest all the same:": "没有谈到过相关内容。最接近的是：",
    "older ones with --limit": "更早的请用 --limit",
    "undated": "日期不详",
    "(untitled)": "（无标题）",
    ", open": "，进行中",
    "    … {missing} earlier turns; more with --limit": "    …… 前面还有 {missing} 条消息；更多请用 --limit",
    # what is written
    "created": "已记住",
    "strengthened": "已加深",
    "duplicate": "已有",
    "pinned": "已置顶",
    "{secrets} masked": "遮盖了 {secrets}",
    " holds {sessions} with {turns}; ": " 共有 {sessions}、{turns}；",
    "{sessions} and {turns} new": "新增 {sessions}、{turns}",
    "{turns} of what was forgotten since went out of it": "其中 {turns}已被忘记，已从文件中去掉",
    # what is taken out
    "nothing in the book says this, so nothing is forgotten": "书里没有这样的内容，没有可忘的",
    "would forget {what}": "将忘掉 {what}",
    "Forget this?": "要忘掉吗？",
    "nothing was changed": "没有任何改动",
    "{verb} asks before it goes on, and there is no terminal to ask on: give --yes": (
        "{verb} 需要您先确认，而这里没有终端可问：请加 --yes"
    ),
    "index.sqlite may keep single words, in no order, until `memorybook rebuild` makes it anew": (
        "index.sqlite 里可能留有零散词语，直到用 memorybook rebuild 重建"
    ),
    "journal.sqlite keeps what stood there before, until `memorybook purge`": (
        "journal.sqlite 保留原先的内容，直到用 memorybook purge 抹除"
    ),
    "versions/ keeps the last versions for merging with an editor": "versions/ 保留最近几个版本，以便合并改动",
    "MEMORY.md.bak is the document as it was before the last write": "MEMORY.md.bak 是上次写入之前的文档",
    "what else it says stays": "其余内容保留",
    "what was true before stays, as no longer so": "以前的情况保留，并注明已不是这样",
    "would forget": "将忘掉",
    "forgot": "已忘掉",
    "nothing": "零条",
    ", ": "、",
    # what was done
    "Nothing was done yet.": "还没有任何操作。",
    "… {count} more:": "…… 还有 {count} 项：",
    "left out ({reason}): {text}": "未采用（{reason}）：{text}",
    "    undoes {id}": "    撤销了 {id}",
    "    undone by {id}": "    已被 {id} 撤销",
    "{id} is no longer in the book.": "{id} 已不在书里。",
    "score": "分数",
    "said {times} · in {prompts}": "说过 {times} · 用于 {prompts}",
    "It rests on": "依据",
    "no longer kept": "原话已不在",
    "quoted: {quote}": "引文：{quote}",
    "What was done to it": "经过",
    "It replaces": "取代了",
    "It was replaced by": "已被取代，现为",
    "It contradicts": "与之矛盾",
    "The last prompts it entered": "最近用到它的提示词",
    "(no question)": "（没有问题）",
    "would undo": "将撤销",
    "undid": "已撤销",
    " is as it was before, to the byte": " 已恢复原样，一字不差",
    " keeps what else changed in it since": " 里此后的其他改动都保留",
    "to have it again: memorybook undo {id}": "要恢复请用 /undo {id}",
    # what waits
    "Nothing waits.": "没有等待审核的内容。",
    "{count} of {total} ({kinds}); more with --limit": "共 {total} 项（{kinds}），显示 {count} 项；更多请用 --limit",
    "because {reason}": "原因：{reason}",
    "  no longer fits: {reason}": "  已不适用：{reason}",
    "accepted": "已采纳",
    "rejected": "已拒绝",
    "withdrawn": "已撤回",
    ", it no longer fits: {reason}": "，已不适用：{reason}",
    "proposed anew: ": "重新提出：",
    "to take one back: memorybook undo OPERATION": "要撤销其中一项请用 /undo 操作号",
}


class _Chinese(Wording):
    """A table, and what other parts of the book tell."""

    def __call__(self, sentence: str, **values: Any) -> str:
        """The sentence, its braces filled in."""
        said = super().__call__(sentence, **values)
        return chinese(sentence) if said == sentence and not values else said


DRAWN = {
    "en": Wording(_EN),
    "zh": _Chinese({**_FIELDS, **_STATUS, **_KINDS, **_COUNTED, **_SENTENCES}),
}
"""By language: in which words the answers of commands are drawn."""
