"""What other parts of the book tell by themselves, said in Chinese: reasons, accounts of changes, errors."""

from __future__ import annotations

import re

_PARTS = (
    # how a recall was understood
    (r"the last session", "上一次会话"),
    (r"the only session(?: of .+)?", "唯一的一次会话"),
    (r"the last of (\d+) sessions(?: of .+)?", "{0} 次会话中的最后一次"),
    (r"number (\d+) from the end of (\d+) sessions(?: of .+)?", "{1} 次会话中的倒数第 {0} 次"),
    (r"number (\d+) of (\d+) sessions(?: of .+)?", "{1} 次会话中的第 {0} 次"),
    (r"(\d+) of (\d+) sessions", "共 {1} 次会话，显示 {0} 次"),
    (r"the start of this session", "本次会话的开头"),
    (r"the end of this session", "本次会话的末尾"),
    (r"nothing was said on (\S+)", "{0} 没有谈话"),
    (r"nothing was said from (\S+) to (\S+)", "{0} 至 {1} 没有谈话"),
    (r"nothing was said on (\S+) in other sessions", "其他会话在 {0} 没有谈话"),
    (r"nothing was said from (\S+) to (\S+) in other sessions", "其他会话在 {0} 至 {1} 没有谈话"),
    (r"nothing about it was said on (\S+): all days were searched", "{0} 没有谈到过；已查找所有日子"),
    (r"nothing about it was said from (\S+) to (\S+): all days were searched", "{0} 至 {1} 没有谈到过；已查找所有日子"),
    (
        r"nothing about it was said on (\S+) in other sessions: all days were searched",
        "其他会话在 {0} 没有谈到过；已查找所有日子",
    ),
    (
        r"nothing about it was said from (\S+) to (\S+) in other sessions: all days were searched",
        "其他会话在 {0} 至 {1} 没有谈到过；已查找所有日子",
    ),
    (r"no session is known that these words mean", "没有与这些词相符的会话"),
    (r"its uuid begins with (.+)", "编号以 {0} 开头"),
    (
        r"(there is no book at .+?)\. It is made by what is remembered first, or with: memorybook init",
        "{0}。记住第一件事时就会创建，也可以运行 memorybook init",
    ),
    (r"(there is no book at .+); the nearest (?:is|are) (.+?)(?: in (/.+))?", "{0}；最接近的是 {1}"),
    (
        r"there is no book at (.+), for (.+) is a copy of (.+) and has none of its own",
        "{0} 处没有记忆库：{1} 是 {2} 的副本，自己还没有",
    ),
    (r"there is no book at (.+)", "{0} 处没有记忆库"),
    # why it is less
    (
        r"the turns of this session are not kept here: its summary is all there is",
        "这里没有保存这次会话的消息，只有摘要",
    ),
    (
        r"(\d+) lines? (?:is|are) left out of the text: they try to instruct whoever reads them",
        "{0} 行未列出：它们试图指挥读者",
    ),
    (
        r"searched by words alone, the embedder (.+?) cannot be used: (.+?); tried again in (\d+) s",
        "仅按词语检索，嵌入模型 {0} 无法使用：{1}；{2} 秒后重试",
    ),
    (r"searched by words alone, the embedder (.+?) cannot be used: (.+)", "仅按词语检索，嵌入模型 {0} 无法使用：{1}"),
    (r"the index has not been synced to its end yet: the answer may lack something", "索引尚未同步完，结果可能不全"),
    (r"fts_enabled is false: searched by scanning the documents", "fts_enabled 为 false：逐篇扫描文档检索"),
    (r"the book was not tidied: (.+)", "没有整理：{0}"),
    (
        r"another program took (\d+) of (\d+) entries out of MEMORY\.md: have them back with "
        r"memorybook undo MEMORY\.md, or delete (.+) if they are meant to be gone",
        "别的程序从 MEMORY.md 里拿走了 {1} 条记忆中的 {0} 条："
        "用 memorybook undo MEMORY.md 找回；若本该如此，请删除 {2}",
    ),
    (
        r"the database (.+?) was deleted: put the right one back, or delete (.+) if it is meant to be so",
        "数据库 {0} 被删除：请放回原来的；若本该如此，请删除 {1}",
    ),
    (
        r"the database (.+?) is another one, or an older copy of it, than was written last: put the right one back, "
        r"or delete (.+) if it is meant to be so",
        "数据库 {0} 不是上次写入的那个，或是它的旧副本：请放回原来的；若本该如此，请删除 {1}",
    ),
    (r"turns are searched as they were known before: (.+)", "对话按先前所知检索：{0}"),
    (r"(.+) is not read: it (.+)", "{0} 没有读取：{1}"),
    (
        r"(\d+) sessions? waits? to be remembered: (.+); tried (?:once|(\d+) times)(?:, next try after (.+))?",
        "{0} 次会话等待记忆：{1}",
    ),
    (r"another process was remembering a session all the while", "另一个进程一直在记忆会话"),
    (r"it is being remembered now, or whoever did so has died over it", "正在记忆，或负责记忆的进程已中断"),
    # models
    (r"the language model at '(.+?)' (.+); (.+?)", "语言模型（{0}）{1}；{2}"),
    (r"the embedding service at '(.+?)' (.+); (.+?)", "嵌入服务（{0}）{1}；{2}"),
    (r"the language model (.+?) failed \((.+)\)", "语言模型 {0} 出错（{1}）"),
    (r"answered with HTTP (\d+): (.+)", "返回 HTTP {0}：{1}"),
    (r"answered with HTTP (\d+) and asks to wait (\S+) seconds: (.+)", "返回 HTTP {0}，要求等待 {1} 秒：{2}"),
    (r"answered with more than (\S+) bytes", "返回了超过 {0} 字节"),
    (r"answered with (.+)", "返回了{0}"),
    (r"did not answer within (\S+) seconds", "在 {0} 秒内没有回答"),
    (r"broke off \((.+)\)", "中途断开（{0}）"),
    (r"could not be reached \((.+)\)", "无法连接（{0}）"),
    (r"check that it runs, or raise (\S+)", "请检查它是否在运行，或调大 {0}"),
    (r"check that it runs, and (\S+)", "请检查它是否在运行，以及 {0}"),
    (r"check (\S+) and (\S+)", "请检查 {0} 和 {1}"),
    (r"check ((?:llm|embeddings)\.\S+)", "请检查 {0}"),
    (r"try again later", "请稍后再试"),
    (r"there is no language model: set llm\.model, or give one", "没有语言模型：请设置 llm.model"),
    (
        r"the answers of the model (.+?) cannot be used: (.+); try again, or choose a stronger model",
        "模型 {0} 的回答无法使用：{1}；请重试，或换更强的模型",
    ),
    (r"the language model was not asked: (.+)", "没有询问语言模型：{0}"),
    # what was done, and why
    (r"(~ .+), rewritten", "{0}，已改写"),
    (r"(\+ .+), written", "{0}，已写入"),
    (r"(- .+), all of it", "{0}，全部"),
    (r"([-+~]) (\d+) turns? of session (\S+)", "{0} 会话 {2} 的 {1} 条消息"),
    (r"~ title and summary of session (\S+)", "~ 会话 {0} 的标题和摘要"),
    (r"- all turns of session (.+)", "- 会话 {0} 的全部消息"),
    (r"  (turn:\S+): \(it tries to instruct whoever reads it\)", "  {0}：（它试图指挥读者）"),
    (r"  and (\d+) more", "  以及另外 {0} 条"),
    (r"archive (\S+): (.+)", "归档 {0}：{1}"),
    (r"remove (\S+): (.+)", "移除 {0}：{1}"),
    (r"reinforce (\S+): (.+)", "加深 {0}：{1}"),
    (r"change (sessions/\S+): (.+)", "修改 {0}：{1}"),
    (r"write (\S+\.md): (.+)", "写入 {0}：{1}"),
    (r"(\S+) is no longer true: (.+) \(now: (.+)\)", "{0} 已不成立：{1}（现为：{2}）"),
    (r"summary of the session", "会话摘要"),
    (r"summary of the session by the language model", "语言模型写的会话摘要"),
    (r"summary that the session came with", "会话自带的摘要"),
    (r"summary of the session, made elsewhere", "在别处写的会话摘要"),
    (r"turns of the session, in a summary that a person edited", "会话的消息，摘要由人改过"),
    (r"undone: (.+)", "撤销：{0}"),
    (r"said: (.+)", "说过：{0}"),
    (r"said in (turn:\S+)", "说于 {0}"),
    (r"remembered", "记住"),
    (r"appended", "记笔记"),
    (r"flushed", "刷写"),
    (r"updated", "修改"),
    (r"pinned", "置顶"),
    (r"unpinned", "取消置顶"),
    (r"forgotten", "忘掉"),
    (r"imported from (.+)", "导入自 {0}"),
    (r"collected from (.+)", "收集自 {0}"),
    (r"changed on (.+)", "在 {0} 上改动"),
    (r"revised: (.+)", "修订：{0}"),
    (r"asked to be forgotten: (.+)", "要求忘掉：{0}"),
    (r"asked to be forgotten turn:(\S+)", "要求忘掉 turn:{0}"),
    (r"asked to be forgotten", "要求忘掉"),
    (r"asks to forget: nothing was found under these words", "要求忘掉：没有找到这些词所说的内容"),
    (r"asks to forget: see `memorybook forget`", "要求忘掉：请用 /forget"),
    (r"asks to forget, and says not what: see `memorybook forget`", "要求忘掉，但没说是什么：请用 /forget"),
    (r"asks not to keep what is said: nothing of it is remembered", "要求不记：没有记住"),
    (r"was due on (\S+), (\d+) days? ago", "{0} 到期，已过 {1} 天"),
    (r"last said on (\S+), (\d+) times? in all(.*)", "上次说到是 {0}，共 {1} 次{2}"),
    (r"says the same as (\S+): (.+)", "与 {0} 相同：{1}"),
    (r"merged into (\S+): (.+)", "并入 {0}：{1}"),
    # what was left out
    (r"forgotten before", "以前忘掉过"),
    (r"rests on no turn of the talk", "在对话中没有依据"),
    (r"says nothing that stands in the turns it rests on", "所依据的原话里没有这个意思"),
    (r"too long: cut", "太长，已截断"),
    (r"a request to forget", "是忘掉的要求"),
    (r"is one of more than (\d+)", "超过 {0} 条"),
    (r"it was forgotten since", "此后已被忘掉"),
    (r"it is to be forgotten", "将被忘掉"),
    (r"entry (\S+) is in the book already", "条目 {0} 已在书里"),
    (r"entry (\S+) is gone", "条目 {0} 已不在"),
    (r"entry (\S+) was changed since", "条目 {0} 此后已改动"),
    (r"(\S+\.md) was changed since", "{0} 此后已改动"),
    # what cannot be done
    (r"no entry (.+?) in this book or its journal: a search names the ids", "书和日志里都没有条目 {0}：检索会列出编号"),
    (r"no entry (.+?) in this book: a search names the ids", "书里没有条目 {0}：检索会列出编号"),
    (r"no turn (.+?) in this book", "书里没有消息 {0}"),
    (r"no session (.+?) in this book", "书里没有会话 {0}"),
    (r"no session is called (.+?); there are none yet(.*)", "没有叫 {0} 的会话；目前还没有会话{1}"),
    (r"no session is called (.+?); the latest are (.+?)(; a day \(.*)?", "没有叫 {0} 的会话；最近的有 {1}{2}"),
    (r"; a day \((\S+)\) and words such as 'last time' or 上次 are understood too", "；也可以说日期（{0}）或“上次”等"),
    (r"this session is (.+?) already: choose another name, or none", "本次会话就是 {0}：请换个名称，或不写名称"),
    (r"nothing was said on (\S+), which is how (.+) was understood", "{0} 没有谈话（{1} 是这样理解的）"),
    (
        r"nothing was said on (\S+) in other sessions, which is how (.+) was understood",
        "其他会话在 {0} 没有谈话（{1} 是这样理解的）",
    ),
    (
        r"nothing was said from (\S+) to (\S+) in other sessions, which is how (.+) was understood",
        "其他会话在 {0} 至 {1} 没有谈话（{2} 是这样理解的）",
    ),
    (
        r"nothing was said from (\S+) to (\S+), which is how (.+) was understood",
        "{0} 至 {1} 没有谈话（{2} 是这样理解的）",
    ),
    (
        r"(\d+) sessions are called (.+?); give the uuid of one of them: (.+)",
        "有 {0} 次会话叫 {1}；请给出其一的编号：{2}",
    ),
    (r"(\d+) sessions begin with (.+?): (.+)", "有 {0} 次会话以 {1} 开头：{2}"),
    (r"no proposal (.+?) waits: see `memorybook review`", "没有待审核的 {0}：见 /review"),
    (r"review knows accept and reject, not (.+?): say review accept .+", "只有 accept 和 reject，没有 {0}"),
    (
        r"give ids of proposals, a kind, or all of them: exactly one of the three",
        "请给出编号、--kind 或 --all 三者之一",
    ),
    (
        r"nothing in this book comes from (.+?): name a turn, a document or an imported file",
        "书里没有来自 {0} 的内容：请给出消息、文档或导入的文件",
    ),
    (
        r"the journal has nothing of (.+?): give an entry, a path, a session or an operation",
        "日志里没有 {0}：请给出条目、路径、会话或操作号",
    ),
    (r"the journal has no operation (.+?); list the history to see their ids", "日志里没有操作 {0}"),
    (
        r"operation (.+?) cannot be undone: what stood there before it was purged",
        "操作 {0} 无法撤销：原先的内容已被抹除",
    ),
    (r"operation (.+?) changed nothing that could be undone", "操作 {0} 没有可撤销的改动"),
    (
        r"operation (.+?) cannot be undone, as something was changed since\. (.+)",
        "操作 {0} 无法撤销，因为此后有改动。{1}",
    ),
    (
        r"operation (.+?) is already undone by (.+?); undo that one to have it again",
        "操作 {0} 已被 {1} 撤销；要恢复请撤销后者",
    ),
    (r"(.+): the operation left (.+), now there is (.+)", "{0}：该操作之后是 {1}，现在是 {2}"),
    (r"the name of the session is blank", "会话名为空"),
    (
        r"there is a session (.+?) already, which is over or another's: choose another name",
        "已有会话 {0}，它已结束或不属于这里：请换个名字",
    ),
    (
        r"no session is open, and transcripts\.auto_session is false: open one by name, /new NAME",
        "没有进行中的会话，且 transcripts.auto_session 为 false：请用 /new 名字 开始",
    ),
    (r"(\w+) is blank: give some words", "{0} 为空：请写些内容"),
    (
        r"the input has a line of more than (\S+) bytes: give lines of text; the rest of it is not read",
        "输入中有一行超过 {0} 字节：请逐行给出文字；其余内容未读取",
    ),
    (
        r"the input is no text in UTF-8: give lines of text; the rest of it is not read",
        "输入不是 UTF-8 文字：请逐行给出文字；其余内容未读取",
    ),
    (r"(\S+) needs one of: (.+)", "{0} 需要以下之一：{1}"),
)

_FIELDS = {
    "text": "文字",
    "category": "类别",
    "importance": "重要性",
    "score": "分数",
    "hits": "次数",
    "tags": "标签",
    "group": "分组",
    "pinned": "置顶",
    "archived": "归档",
    "expires": "到期",
    "source": "来源",
    "session": "会话",
    "trust": "可信度",
    "superseded by": "被取代为",
    "contradicts": "矛盾",
    "entities": "对象",
}

_CHANGED = re.compile(r"(~ \S+: )(.+ → .+)")
_FIELD = re.compile(rf"(?:^|(?<=, ))({'|'.join(_FIELDS)}) (?=.*? → )")
_CHANGES = ("+ ", "- ", "~ ")


def chinese(sentence: str) -> str:
    """A sentence that another part of the book tells by itself, in Chinese; as it is where it is not known.

    What it quotes stays: words of a user, names, ids.

    >>> chinese("~ a1b2c3: score 0.60 → 0.68 (remembered)")
    '~ a1b2c3: 分数 0.60 → 0.68（记住）'
    """
    return "\n".join(map(_line, sentence.split("\n")))


def _line(line: str) -> str:
    for pattern, said in _PARTS:
        if found := re.fullmatch(pattern, line):
            return said.format(*(_part(each) for each in found.groups()))
    if line[:2] not in _CHANGES:
        return line
    head, reason = _with_reason(line)
    if found := _CHANGED.fullmatch(head):
        head = found[1] + _FIELD.sub(_named, found[2])
    elif reason:
        head = _line(head)
    return f"{head}（{reason}）" if reason else head


def _with_reason(line: str) -> tuple[str, str]:
    """What was done, and why, in Chinese; all of it and "" where no reason is known that ends it."""
    for bracket in re.finditer(r" \(", line) if line.endswith(")") else ():
        reason = line[bracket.end() : -1]
        if (said := _line(reason)) != reason:
            return line[: bracket.start()], said
    return line, ""


def _part(text: str | None) -> str:
    return _line(text) if text else ""


def _named(field: re.Match[str]) -> str:
    return f"{_FIELDS[field[1]]} "


def told_in(language: str, sentence: str) -> str:
    """The sentence in that language, `en` or `zh`; see `chinese`."""
    return chinese(sentence) if language == "zh" else sentence
