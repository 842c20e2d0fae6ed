"""Orders to forget, or not to keep: which part of a sentence is one, what it means, and whether a text says that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from memorybook.entries.candidate import ForgetRequest
from memorybook.entries.cues import find, without_lead
from memorybook.model import Turn
from memorybook.text.sentences import Sentence, compiled, content_size, sentences
from memorybook.text.tokens import query_words

# --- order patterns ---------------------------------------------------------------------------------

_DONT = (
    r"(?:don't|dont|do\s+not|(?:can|could|would|will)\s+(?:you\s+not|you\s+please\s+not)|"
    r"I(?:'d|\s+would)\s+(?:rather|prefer)\s+(?:that\s+)?you\s+(?:didn't|did\s+not|don't|not))\s+(?:please\s+)?"
)
_NO_NEED = (
    r"(?:(?:there(?:'s|\s+is)\s+)?no\s+need\s+to|you\s+(?:(?:don't|dont|do\s+not)\s+(?:need|have)\s+to|needn't|"
    r"shouldn't|should\s+not|mustn't|must\s+not))\s+"
)
_SAID = r"(?:that|this|it|these|those|any\s+of\s+(?:that|this|it)|anything)"
_SAID_ALONE = (
    rf"{_SAID}(?=\s*(?:[,.;:!?—–-]|$)|\s+(?:please|either|anywhere|at\s+all|thanks|for\b|(?:in|to)\s+(?:your\s+|"
    rf"the\s+)?"
    r"(?:memory|notes?|book)\b|one\b|I\b))"
)
_MATTER = r"(?:the|that|this|my|our)\s+(?:[\w'-]+\s+){1,3}?(?:thing|bit|part|stuff|business|matter|story)\b"
LEFT_OUT_EN = (
    rf"{_DONT}(?:(?:remember|memori[sz]e|note|record)\s+(?:{_SAID}|what|my|I|I'm|{_MATTER})\b|"
    rf"(?:save|store|keep|log|write)\s+(?:{_SAID_ALONE}|what\s+I\b|{_MATTER}|my\b(?!\s+(?:changes?|edits?|files?|drafts?)\b)))|"
    rf"{_NO_NEED}(?:remember|memori[sz]e|note|record|save|store|keep)\s+(?:{_SAID_ALONE}|what\s+I\b)|"
    rf"(?:{_DONT}|{_NO_NEED})(?:(?:write|jot|note|take|put)\s+(?:{_SAID}\s+)?down\b(?!\s+(?:to|the)\b)|"
    r"(?:make|take)\s+(?:a\s+|any\s+)?notes?\b(?:\s+(?:of|on|about)\b)?|"
    rf"(?:put|add|commit|save|write)\s+{_SAID}\s+(?:in|into|to)\s+(?:your\s+|the\s+|any\s+)?(?:memory|memories|book|"
    r"notes?)\b)|(?:this|that|it)(?:'s|\s+is)\s+off\s+the\s+record\b|off\s+the\s+record\b(?=\s*[,:])"
)
"""In English, in any case; no part of it has a name."""

_MACHINE = (
    r"(?:files?|folders?|director(?:y|ies)|lines?|code|branch(?:es)?|commits?|imports?|functions?|tests?|tables?|"
    r"columns?|rows?|"
    r"databases?|disks?|cache|logs?|comments?|keys?|variables?|containers?|images?|text|paragraphs?|words?|sentences?|"
    r"changes?|edits?|drafts?|class(?:es)?|methods?|packages?|dependenc(?:y|ies)|whitespace|duplicates?|spaces?|tags?)"
)
"""What an agent is told to delete that is no memory."""

_KEPT_IN = r"(?:your|the|my)\s+(?:memory|memories|records?|notes?|file|book|mind|head)"
_TAKE_OUT = r"(?:delete|remove|erase|wipe|drop|strike|withdraw|clear|scrub)"
ORDERED_EN = (
    rf"(?:kindly\s+forget\s+(?!to\b)\w|forget\s+(?:(?:who|where|when|why|how|which|whatever|anything|him|her|them|"
    rf"his|their|our|"
    rf"its|this|these|those)\b|(?-i:[A-Z])\w+|\w+['’]s\b)|"
    rf"{_TAKE_OUT}\b[^.!?;]*\s(?:from|in|out\s+of|off)\s+{_KEPT_IN}\b|"
    rf"leave\b[^.!?;]*\sout\s+of\s+{_KEPT_IN}\b|"
    rf"{_TAKE_OUT}\s+(?:everything|anything|whatever|all(?:\s+that)?)\s+(?:about|on|of|you\s+(?:know|have|noted)|"
    rf"I\s+(?:told|said))\b|"
    rf"{_TAKE_OUT}\s+(?:where|when|who|what|how|which)\s+(?!to\b)|"
    rf"(?:delete|remove|erase|wipe|strike|withdraw)\s+(?:(?:my|our)\s+|(?:the\s+(?:\w+\s+){{0,2}}?)?\w+['’]s\s+)"
    rf"(?!(?:\S+\s+){{0,3}}{_MACHINE}\b)\w|"
    rf"(?:erase|withdraw)\s+the\s+(?!(?:\S+\s+){{0,3}}{_MACHINE}\b)\w|"
    rf"you\s+(?:don['’]?t|do\s+not|needn['’]?t)\s+(?:need\s+to\s+)?know\s+(?:my|our|about|where|who|when|what\s+I)\b)"
    rf"|(?:\w+\s+)?(?:asks?|wants?|asked|wanted)\s+(?:us|you|me)\s+to\s+(?:forget|{_TAKE_OUT})\s+"
    rf"(?:everything|anything|what|whatever|all|his|her|their|the)\b"
    rf"|kindly\s+{_TAKE_OUT}\s+(?:my|our|what|where|who)\b"
)
"""How a user tells an agent in English to forget what it knows, in any case."""

CONFIDENTIAL_EN = (
    rf"(?:is|was|are|['’]s)\s+(?:strictly\s+)?(?:confidential|private|secret|sensitive|personal)\b[^.!?]*?\b"
    rf"(?:forget|{_TAKE_OUT})\s+(?:it|that|them|this)\b"
)
"""The same of what is said to be nobody's business."""

_THIS = (
    r"(?:[这那][个条事些句点]|[这那](?:件|些|番|段|几)(?:事情?|话|信息|内容)|它|以上|我?(?:刚才|刚刚|上面)?说的)"
    r"(?:话|事|信息|内容)?"
)
_ENDS = r"(?=了?[吧啊呀哈哦啦]*(?:[，,。！!？?；;\s]|$))"
_NOT_ZH = r"(?:别|不要|不许|不准|请勿|甭)"
_NO_NEED_ZH = r"(?:不用|无需|无须|不必|不需要|没必要|没有必要)"
_NOTE_ZH = r"(?:记(?:住|着|下来?|到|在|进|入)?(?![得错混恨仇者忆反串岔录])|备注)"
_STORE_ZH = r"(?:存(?:下来?|起来|进去?|着)?|保存|储存|存储|保留|记录|写(?:下来|下|进去))"
LEFT_OUT_ZH = (
    rf"(?:^|[，,。；;\s—-])(?:不过|但是?|可是?|所以|那|就|请|拜托|麻烦|你|您|千万|先|都|也|能不能|可不可以|"
    rf"{_THIS}){{0,5}}"
    rf"(?:(?:{_NOT_ZH}|{_NO_NEED_ZH})(?:给我|帮我|替我)*(?:把(?P<held>[^，,。；]{{1,14}}?)|往[^，,。；]{{1,6}}?)"
    rf"(?:往[^，,。；]{{1,6}}?)?(?:{_NOTE_ZH}|(?<=[这那它][个条事些])(?:给)?{_STORE_ZH}{_ENDS}|"
    rf"(?<=事)(?:给)?{_STORE_ZH}{_ENDS})|"
    rf"{_NOT_ZH}(?:给我|帮我|替我)*(?:{_NOTE_ZH}|{_STORE_ZH}(?:{_THIS})?{_ENDS})|"
    rf"{_NO_NEED_ZH}(?:给我|帮我|替我)*(?:{_NOTE_ZH}|{_STORE_ZH})(?:{_ENDS}|(?=我|{_THIS}{_ENDS})))"
)
"""The same in Chinese; `held` is what stands before the verb: 别把这件事记下来."""

_MACHINE_ZH = (
    r"(?:文件|目录|文件夹|代码|分支|注释|函数|日志|缓存|表|列|行|数据库|变量|容器|镜像|段落?|句子?|字|图片?|测试|"
    r"空格|提交|依赖|包|"
    r"类|方法|磁盘|硬盘|配置|标签|草稿箱|邮件|按钮|页面)"
)
_CLAUSE_ENDS = r"(?:吧|啊|哈|呀|哦|了)*(?=[，,。！!；;\s]|$)"
_ERASED = r"(?:删了|删掉|删除|删去|清掉|清除|抹掉|抹去|去掉)"
_BEFORE_IT = r"(?:你|先|都|也|全|就|给|统统|全部)*"
ORDERED_ZH = (
    rf"(?:^|[，,。；;：:\s])(?:请|麻烦|帮我|你|先|"
    rf"那)*把(?![^，,。；]*{_MACHINE_ZH}{_BEFORE_IT}{_ERASED})[^，,。；]{{1,20}}?{_BEFORE_IT}"
    rf"(?:忘了|忘掉|{_ERASED}){_CLAUSE_ENDS}|"
    rf"(?:的[^，,。；]{{0,6}}|[那这](?:条|个|件事?|单|些)|相关的){_BEFORE_IT}(?:忘了吧|你忘了|忘掉吧?|"
    rf"{_ERASED}){_CLAUSE_ENDS}|"
    rf"(?<=[^，,。；\s])(?:先|都|就|也|以后|你|千万)*(?:(?:别|不要|勿)再?(?:留着?|存着?|记着?|保留|出现)|(?:不用|"
    rf"不必)再(?:记|留|存)着?|"
    rf"别再?(?:记|存)了){_CLAUSE_ENDS}|"
    rf"(?:^|[，,。；;：:\s])(?:先|都|就|也|千万)*(?:别|不要)再?留着?{_CLAUSE_ENDS}"
)
"""The same in Chinese; what is meant stands before the verb: 把猫的事删了, 外孙的事别留."""

# --- told to forget, or not to keep what is said ---------------------------------------------------

_START_EN = r"(?:^|[,;:.!，：；。–—]\s*|\s-+\s+|\b(?:please|and|also|so|but|just|ok|okay)[,\s]+)(?:please\s+)?"
_START_LEFT = _START_EN.replace(",;:.!，：；。", ",;.!，；。")
_POLITE_EN = r"(?:(?:can|could|would|will)\s+you\s+(?:kindly\s+)?|I(?:'d\s+like|\s+want)\s+you\s+to\s+)?(?:please\s+)?"
_FORGET_EN = (
    r"I\s+(?:don't|do\s+not)\s+want\s+you\s+to\s+remember\s+(?:that|this|it|what|any|my|I)\b|"
    r"forget\s+(?:about\s+|(?:that|what|everything|the|my|it|all)\b)|stop\s+remembering\b|"
    r"(?:delete|remove|erase)\b.*\b(?:memory|memories|remember(?:ed)?)\b|"
    r"(?:delete|remove|erase)\s+(?:what|everything|all)\s+(?:that\s+)?(?:you\s+know|"
    r"I\s+(?:just\s+)?told\s+you)\s+about\b"
)
_FORGET_ZH = (
    r"忘掉|忘了(?:吧|它|这|那|我之前|我刚)|(?:^|[，,。：:；\s])(?:请|麻烦|帮我)*(?:忘了我(?:[说讲提]过|告诉过?你)|"
    r"把[^，,。]{1,20}[这那]条(?:记忆|记录|信息)?(?:给)?(?:删了|删掉|删除|忘了)吧?[。！!]*$)|(?:^|"
    r"[，,。：；\s])(?:(?:请|麻烦|帮我)你?忘记(?!了)|"
    r"忘记(?:我(?:的|说|之前|刚)|关于|这|那|它))|^忘记我(?:住|喜欢|讨厌|爱|不|在|是|叫|对|有|养|吃|"
    r"喝)(?!.*[了吗][。！!]*$)|"
    r"(?:^|[，,。：:；\s])(?:请|你|麻烦)?(?:别|不要)(?:记得|再记(?:住|着|得)?)(?=我|关于|[这那][个条件事])|"
    r"(?<!我)把[^，,。]{1,20}忘记(?!了|在|带)|当我没(?:说|讲|提)|当没(?:说|讲)过|(?:删掉|删除|清除|清空|"
    r"抹掉).{0,12}(?:记忆|记录|记住)"
)
LEFT_OUT = rf"(?i:\b(?:{LEFT_OUT_EN}))|{LEFT_OUT_ZH}"
SHORT = (
    r"(?i:(?:please\s+)?forget\s+(?:everything|all|him|her|them|(?:about|my)\s+(?!it\b|that\b|this\b|them\b)\w+|"
    r"(?-i:[A-Z])\w+)[\s.!]*$)|"
    r"(?:请|麻烦|帮我)?(?:忘掉|忘记)(?!它|[这那吧了])..|把.{1,20}[这那]条"
)
"""`Forget everything.`, 忘掉预算: `forget it` is no order."""

FORGET = (
    rf"{_START_EN}{_POLITE_EN}(?:{_FORGET_EN})|{_START_LEFT}(?:{LEFT_OUT_EN})"
    rf"|(?i:{_START_EN}(?:{ORDERED_EN})|{CONFIDENTIAL_EN})|{_FORGET_ZH}|{LEFT_OUT_ZH}|{ORDERED_ZH}"
)
"""An order to forget something, or not to keep what is said, in a sentence whose first letter was made small."""

PRIVATE = (
    r"(?i:\b(?:don't(?!\s+rem)|do\s+not|never|not|no|nobody|mustn't|needn't|nothing|leave|"
    r"keep)\b[^.!?]{0,30}?\b(?:stor(?:e|ing)|sav(?:e|ing)|"
    r"not(?:e|es|ing)\b|record|write|written|write-?up|log|memory|rememb\w+|head|keep(?:ing)?\s+(?:it|that|this|"
    r"them)|hang\s+on\s+to|word\s+of)\b|"
    r"\b(?:between\s+(?:us|ourselves|you\s+and\s+me)|off\s+the\s+record|confidential|get\s+rid\s+of|"
    r"(?:tell|repeat)\b[^.!?]{0,12}\b(?:nobody|no\s+one|anyone|anybody)|cross\s+(?:that|this|it)\s+out|"
    r"(?:erase|delete|wipe|strike|forget)\s+(?:that|this|it|the|what|everything)|scratch\s+(?:the|what|all)|"
    r"for\s+(?:this|the)\s+(?:\w+\s+)?only|(?:this|that)\s+stays\s+(?:here|between)|outlive|lying\s+around|"
    r"(?:say(?:ing)?|use)\s+(?:it|this|that)\s+(?:\w+\s+)?(?:the\s+)?once|take\s+(?:it|that)\s+off|use\s+it\s+(?:now|"
    r"once))\b)|"
    r"(?:[别莫甭勿休]|不要|不用|不必|不准|不许|无需|"
    r"用不着)(?![^，,。；]{0,3}忘)[^，,。；]{0,8}?(?:[存留](?![学意心神言])|记(?![错得者忆])|备忘|脑子|外传|往外|"
    r"写[下进])|"
    r"[删抹](?:掉|了|除|去|干净)|当我?没(?:说|见|讲|听|提)|忘[掉了]吧|烂在|保密|用完(?:就|即|以后)?[扔删丢忘]|"
    r"这一[次回](?:用)?[，,]|"
    r"不作数|一笔勾销|听完拉倒|听听(?:得了|就好|就算)|别告诉|别跟(?:别人|人)"
)
"""What says in any way that it is not to be kept: nothing of such a turn is kept without being told so."""


# --- an order ---------------------------------------------------------------------------------------

ASKED = "asked to be forgotten"
"""Why something is left out of which a user said that it is to be forgotten, or not to be kept."""


def parted(text: str) -> tuple[str, ...]:
    """A sentence that orders to forget one thing and says another too, cut between them; else the sentence alone.

    What is not surely another thing stays with the order, as more is not to be kept than was wished: an order that
    names nothing of its own (`I like tea, but don't save that`), a list (`forget that I row and I sing`).
    """
    joints = list(compiled(_JOINT).finditer(text))
    pieces = zip([0, *(each.end() for each in joints)], [*(each.start() for each in joints), len(text)], strict=True)
    cut: list[tuple[int, int]] = []
    ordered = False
    for start, end in pieces:
        kind = _kind(text[start:end])
        if cut and not (kind and _apart(text[slice(*cut[-1])], text[start:end], kind, text[cut[-1][1] :], ordered)):
            start, _ = cut.pop()
        cut.append((start, end))
        ordered = ordered or kind == "forget"
    return tuple(text[start:end].strip() for start, end in cut)


def _kind(text: str) -> str:
    cue = find(text, talk="agent", dated=False)
    return cue.kind if cue is not None else ""


def _apart(before: str, piece: str, kind: str, rest: str, ordered: bool) -> bool:
    """Whether a piece with a cue is another thing than what stands before it, where an order to forget may stand.

    `rest` is the piece with its joint and all that follows; `ordered`: an order to forget stands somewhere before.
    """
    told = _kind(before)
    if kind == "forget" and compiled(_ALL_THAT).search(piece):
        return False
    if kind == "forget":
        own = named(piece, only=True)
        return bool(told and own) and (told in _ORDERS or own.isdisjoint(query_words(before)))
    if not ordered or (told == "forget" and not named(before, only=True)):
        return False
    return kind == "explicit" or compiled(_LISTED).search(rest) is None


_ALL_THAT = r"(?i:\b(?:all|any|everything)\s+(?:of\s+)?(?:that|this|it)\b)|[这那]些(?:都|全)|(?:全|统统)都?"
"""What an order to forget means besides that it names: what stands before it."""

_ORDERS = ("forget", "explicit")
_JOINT = (
    r"(?i:\s*[,，;；]\s*(?:(?:and|but|so|then|also|instead)\b[,\s]*|(?:但是?|不过|然后|并且?|同时|而且|另外|还有)[，,]?)*"
    r"|\s+(?:and|but|then)\s+(?:(?:then|also)\s+)?(?=(?:please\s+)?(?:forget|remember|note|keep\s+in|don['’]t|do\s+not|"
    r"delete|erase|remove)\b)"
    r"|(?:并且?|然后|同时|再|顺便)(?=(?:请|帮我)?(?:记住|记下|忘掉|忘记|别记)))"
)
"""Where one thing may end and another begin."""

_LISTED = (
    r"(?i:\b(?:and|or)\s+(?:that\s+)?(?:I|my|we|our)\b|^[\s,;]*(?:that|because|since|as|who|which)\b)"
    r"|[这那](?:些|[两几]?[件个条句])|的(?:事|话)|也|都"
)
"""What shows that statements after an order to forget are still what is to be forgotten, or may be."""


def asked_to_forget(text: str, request: ForgetRequest) -> bool:
    """Whether a text says most of what a request to forget names, or is mostly made of what it points at."""
    if request.said:
        words = frozenset(query_words(text)) - _USER
        return bool(words) and len(words.intersection(query_words(request.said))) >= 0.6 * len(words)
    words = named(request.text)
    return bool(words) and len(words & set(query_words(text))) >= 0.6 * len(words)


_USER = frozenset(query_words("the user's 用户的"))
"""How an entry calls who says `I`."""


def leaves_out(order: str) -> bool:
    """Whether an order is not to keep what is said (`don't save that`), which means nothing that was kept before."""
    text = order.replace("’", "'")
    folded = text.lower()
    if not any(word in folded for word in _NEGATED):
        return False
    found = compiled(_LEFT_OUT_EN).search(text) or compiled(LEFT_OUT_ZH).search(text)
    return found is not None and compiled(_FORGET).search(text) is None


def points_back(request: ForgetRequest) -> bool:
    """Whether a request names nothing, so that only the talk can say what it means, which is not found yet."""
    return not request.said and not named(request.text) and not names_everything(request.text)


def pointed(request: ForgetRequest, earlier: str, later: str, before: Turn | None) -> ForgetRequest:
    """The request with what it points at, if it names nothing: what stands beside it in its turn, else the turn before.

    Args:
        request: As it was said.
        earlier: What stands before it in its turn; what was told to be remembered there is not meant, if something else
            stands between.
        later: What stands after it.
        before: The last turn before it in which something was said; None if there is none.
    """
    if not points_back(request):
        return request
    own = _beside(reversed(sentences(earlier)))
    if not own and compiled(_POINTS_ON).search(request.text):
        own = _beside(sentences(later))
    if own:
        return replace(request, said=own, said_in=request.turn_id)
    if before is None:
        return request
    last = [one.text for one in sentences(before.text)][-1:] if compiled(_ONE_SENTENCE).search(request.text) else []
    return replace(request, said=" ".join(last) or before.text, said_in=before.id)


def _beside(others: Iterable[Sentence]) -> str:
    """The statements next to an order: up to another order, which only counts if it is the first and no request."""
    said: list[str] = []
    for one in others:
        kind = _kind(one.text)
        if kind == "forget" or (kind == "explicit" and said):
            break
        said.append(one.text)
        if kind == "explicit":
            break
    return " ".join(said) if content_size(" ".join(said)) > 1 else ""


@lru_cache(maxsize=128)
def named(order: str, *, only: bool = False) -> frozenset[str]:
    """The words of what an order to forget is about: after its verb, else (not with `only`) before it.

    Behind the clause of an order to forget stands why (`forget it, I was joking`), behind one not to keep what is said
    there may stand what is meant (`don't save this, I am ill`).
    """
    order = without_lead(order.replace("’", "'"))
    clause = compiled(_FORGOTTEN).search(order)
    words = _telling(f"{clause['held'] or ''} {clause['what']}") if clause else frozenset[str]()
    if words or only:
        return words
    if clause is None:
        return _telling(order)
    return _telling(f"{order[: clause.start()]} {order[clause.end() :] if leaves_out(order) else ''}")


def _telling(text: str) -> frozenset[str]:
    """The words in which an order differs from others, also of one that has none but those that questions leave out."""
    text = compiled(_POINTING).sub(" ", text.rstrip(" 。.!！"))
    return frozenset(query_words(f"{text} {_FORGETTING}")).difference(query_words(_FORGETTING))


_FORGET = (
    r"(?i:\b(?:forget|delete|remove|erase|drop)\b|n['’]t want you to remember\b|stop remembering\b|忘掉|忘了|忘记|删掉|"
    r"删除|删了|清除|清空|抹掉|当我?没(?:说|讲|提)过?|(?:别|不要)再记(?:住|着|得)?(?=我|关于|[这那][个条件事])|(?:别|不要)记得)"
)
_NEGATED = ("n't", "not ", "dont ", "no need", "off the", "别", "不", "勿", "甭", "无", "没")
_LEFT_OUT_EN = rf"(?i:\b(?:{LEFT_OUT_EN}))"
_FORGOTTEN = rf"(?:{_FORGET}|{_LEFT_OUT_EN}|{LEFT_OUT_ZH})(?P<what>[^，,。！!？?；;\n]*)"
"""What is to be forgotten stands after the verb, in its clause, or is `held` before it: 别把…记下来."""

_POINTING = (
    r"把|一切|所有的?|全部的?|[这那](?:一|几|两)?[个条件句些](?:事情?|话)?|(?<![酒网贴])吧$|[刚上][才刚]?[那这一]?[句条](?:话)?|刚[才刚]?我?[说讲提]的?|"
    r"最后[那这一]{0,2}[句条](?:话)?|(?:本子|笔记|记忆)里?|"
    r"(?i:\bI(?:['’]ve)?\s+just\s+(?:said|told\s+you|wrote|mentioned)|\b(?:(?:the|my|that)\s+)?(?:very\s+)?last\s+(?:thing|sentence|"
    r"message|line|bit)(?:\s+(?:that\s+)?I\s+(?:just\s+)?(?:said|told\s+you|wrote|sent))?|\b(?:in|into|to|from)\s+(?:your|the)\s+"
    r"(?:memory|memories|notes?|book)\b|\bdown\s*$)"
)
"""What only points at something, or says where it is not to stand."""

_POINTS_ON = r"(?i:\bthis\b)|这|以下"
_ONE_SENTENCE = r"(?i:\bsentence\b)|句"

_FORGETTING = (
    "please forget that what I said about remember memory delete everything user know all just told mentioned "
    "no wait sorry never mind okay thanks either anywhere anyone anything was only joke joking kidding wrong mistake "
    "private secret personal sensitive confidential between us "
    "忘掉忘了吧那事我之前刚才说的那个想法当没讲过别记 关于 的话 话 件事 记忆 记录 算了 对不起 不好意思 谢谢 刚刚 上面 "
    "请 麻烦 帮我 一下 掉 开玩笑 玩笑 瞎说 乱说 说错 隐私 私事 秘密 保密 "
    "以上 随口说 随便说 说说而已 不重要 没事 提过"
)


def names_everything(order: str) -> bool:
    """Whether an order is to forget all there is, and nothing by name."""
    if compiled(_EVERYTHING).search(order) is None or compiled(_JUST_NOW).search(order) or leaves_out(order):
        return False
    return not named(order)


_EVERYTHING = r"(?i:\b(?:everything|all|memories|memory)\b)|一切|所有|全部|记忆"
_JUST_NOW = r"(?i:\b(?:just|last|earlier)\b|\b(?:that|this|it)\b(?!\s+(?:I|you)\b))|刚|[这那][个条件句些]"
