"""How a user tells an agent to forget, or not to keep what is said, as patterns: `don't note that`, 别把这个记下来.

Not to keep means what is said, or was said just before; what a book has already is to be forgotten.
"""

from __future__ import annotations

RATHER_NOT = r"I(?:'d|\s+would)\s+(?:rather|prefer)\s+(?:that\s+)?you\s+(?:didn't|did\s+not|don't|not)"
_DONT = (
    r"(?:don't|dont|do\s+not|(?:can|could|would|will)\s+(?:you\s+not|you\s+please\s+not)|"
    rf"{RATHER_NOT})\s+(?:please\s+)?"
)
_NO_NEED = (
    r"(?:(?:there(?:'s|\s+is)\s+)?no\s+need\s+to|you\s+(?:(?:don't|dont|do\s+not)\s+(?:need|have)\s+to|needn't|"
    r"shouldn't|should\s+not|mustn't|must\s+not))\s+"
)
_SAID = r"(?:that|this|it|these|those|any\s+of\s+(?:that|this|it)|anything)"
_SAID_ALONE = (
    rf"{_SAID}(?=\s*(?:[,.;:!?—–-]|$)|\s+(?:please|either|anywhere|at\s+all|thanks|for\b|about\b|(?:in|to)\s+(?:your\s+|"
    rf"the\s+)?"
    r"(?:memory|notes?|book)\b|one\b|I\b))"
)
_MATTER = r"(?:the|that|this|my|our)\s+(?:[\w'-]+\s+){1,3}?(?:thing|bit|part|stuff|business|matter|story)\b"
LEFT_OUT_EN = (
    rf"(?:please\s+(?:don't|do\s+not)|{RATHER_NOT})\s+remember\s+(?:where|who|when|how)\b|"
    rf"{_DONT}(?:(?:remember|memori[sz]e|note|record)\s+(?:{_SAID}|what|my|I|I'm|{_MATTER})\b|"
    rf"(?:save|store|keep|log|write)\s+(?:{_SAID_ALONE}|what\s+I\b|{_MATTER}|my\b(?!\s+(?:changes?|edits?|files?|drafts?)\b)))|"
    rf"{_NO_NEED}(?:remember|memori[sz]e|note|record|save|store|keep)\s+(?:{_SAID_ALONE}|what\s+I\b)|"
    rf"(?:{_DONT}|{_NO_NEED})(?:(?:write|jot|note|take|put)\s+(?:{_SAID}\s+)?down\b(?!\s+(?:to|the)\b)|"
    r"(?:make|take)\s+(?:a\s+|any\s+)?notes?\b(?:\s+(?:of|on|about)\b)?|"
    rf"(?:put|add|commit|save|write)\s+{_SAID}\s+(?:in|into|to)\s+(?:your\s+|the\s+|any\s+)?(?:memory|memories|book|"
    r"notes?)\b)|(?:this|that|it)(?:'s|\s+is)\s+off\s+the\s+record\b|off\s+the\s+record\b(?=\s*[,:])"
)
"""Not to keep what is said, in English; to be matched ignoring case; has no named groups."""

_MACHINE = (
    r"(?:files?|folders?|director(?:y|ies)|lines?|code|branch(?:es)?|commits?|imports?|functions?|tests?|tables?|"
    r"columns?|rows?|"
    r"databases?|disks?|cache|logs?|comments?|keys?|variables?|containers?|images?|text|paragraphs?|words?|sentences?|"
    r"changes?|edits?|drafts?|class(?:es)?|methods?|packages?|dependenc(?:y|ies)|whitespace|duplicates?|spaces?|tags?)"
)
"""What an agent may be told to delete that is no memory."""

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
"""To forget what is known, in English; to be matched ignoring case."""

CONFIDENTIAL_EN = (
    rf"(?:is|was|are|['’]s)\s+(?:strictly\s+)?(?:confidential|private|secret|sensitive|personal)\b[^.!?]*?\b"
    rf"(?:forget|{_TAKE_OUT})\s+(?:it|that|them|this)\b"
)
"""To forget what is called confidential, in English."""

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
    rf"(?:(?:{_NOT_ZH}|{_NO_NEED_ZH})再?(?:给我|帮我|替我)*(?:把(?P<held>[^，,。；]{{1,14}}?)|往[^，,。；]{{1,6}}?)"
    rf"(?:往[^，,。；]{{1,6}}?)?(?:{_NOTE_ZH}|(?<=[这那它][个条事些])(?:给)?{_STORE_ZH}{_ENDS}|"
    rf"(?<=事)(?:给)?{_STORE_ZH}{_ENDS})|"
    rf"{_NOT_ZH}再?(?:给我|帮我|替我)*(?:{_NOTE_ZH}|{_STORE_ZH}(?:{_THIS})?{_ENDS})|"
    rf"{_NO_NEED_ZH}(?:给我|帮我|替我)*(?:{_NOTE_ZH}|{_STORE_ZH})(?:{_ENDS}|(?=我|{_THIS}{_ENDS})))"
)
"""Not to keep what is said, in Chinese; group `held` is the object before the verb: 别把这件事记下来."""

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
"""To forget what is known, in Chinese; the object stands before the verb: 把猫的事删了, 外孙的事别留."""

# --- told to forget, or not to keep what is said ---------------------------------------------------

_START_EN = r"(?:^|[,;:.!，：；。–—]\s*|\s-+\s+|\b(?:please|and|also|so|but|just|ok|okay)[,\s]+)(?:please\s+)?"
_START_LEFT = _START_EN.replace(",;:.!，：；。", ",;.!，；。")
_POLITE_EN = r"(?:(?:can|could|would|will)\s+you\s+(?:kindly\s+)?|I(?:'d\s+like|\s+want)\s+you\s+to\s+)?(?:please\s+)?"
_FORGET_EN = (
    r"I\s+(?:don't|do\s+not)\s+want\s+you\s+to\s+remember\s+(?:that|this|it|what|any|my|I)\b|"
    r"forget\s+(?:about\s+|(?:that|what|everything|the|my|it|all|I)\b)|stop\s+remembering\b|"
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
    r"(?i:(?:please\s+)?forget\s+(?:everything|all|him|her|them|(?:about|my|our)\s+(?!it\b|that\b|this\b|them\b)\w+|"
    r"who\w*\s+\w+|[\w-]+'s\s+\w+|(?-i:[A-Z])\w+)[\s.!]*$)|"
    r"(?:请|麻烦|帮我)?(?:忘掉|忘记)(?!它|[这那吧了])..|把.{1,20}[这那]条"
)
"""`Forget everything.`, 忘掉预算: `forget it` is no order."""

FORGET = (
    rf"{_START_EN}{_POLITE_EN}(?:{_FORGET_EN})|{_START_LEFT}(?:{LEFT_OUT_EN})"
    rf"|(?i:{_START_EN}(?:{ORDERED_EN})|{CONFIDENTIAL_EN})|{_FORGET_ZH}|{LEFT_OUT_ZH}|{ORDERED_ZH}"
)
"""An order to forget, or not to keep what is said, in a sentence whose first letter is lower case."""

PRIVATE = (
    r"(?i:\b(?:don't(?!\s+rem)|do\s+not|never|not|no|nobody|mustn't|needn't|nothing|leave|"
    r"keep)\b[^.!?]{0,30}?\b(?:stor(?:e|ing)|sav(?:e|ing)|"
    r"not(?:e|es|ing)\b|record|write|written|write-?up|log|memory|rememb\w+|head|keep(?:ing)?\s+(?:it|that|this|"
    r"them)|hang\s+on\s+to|word\s+of)\b|"
    r"\b(?:between\s+(?:us|ourselves|you\s+and\s+me)|off\s+the\s+record|confidential|get\s+rid\s+of|"
    r"(?:tell|repeat)\b[^.!?]{0,12}\b(?:nobody|no\s+one|anyone|anybody)|cross\s+(?:that|this|it)\s+out|"
    r"(?:erase|delete|wipe|strike|forget)\s+(?:that|this|it|the|what|everything)|scratch\s+(?:the|what|all)|"
    r"for\s+(?:this|the)\s+(?:\w+\s+)?only|(?:this|that)\s+stays\s+(?:here|between)|to\s+yourself|outlive|lying\s+around|"
    r"(?:say(?:ing)?|use)\s+(?:it|this|that)\s+(?:\w+\s+)?(?:the\s+)?once|take\s+(?:it|that)\s+off|use\s+it\s+(?:now|"
    r"once))\b)|"
    r"(?:[别莫甭勿休]|不要|不用|不必|不准|不许|无需|"
    r"用不着)(?![^，,。；]{0,3}忘)[^，,。；]{0,8}?(?:[存留](?![学意心神言])|记(?![错得者忆])|备忘|脑子|外传|往外|"
    r"写[下进])|"
    r"[删抹](?:掉|了|除|去|干净)|当我?没(?:说|见|讲|听|提)|忘[掉了]吧|烂在|保密|用完(?:就|即|以后)?[扔删丢忘]|"
    r"这一[次回](?:用)?[，,]|"
    r"不作数|一笔勾销|听完拉倒|听听(?:得了|就好|就算)|别告诉|别说出去|别跟(?:别人|人)"
)
"""Any hint that something is not to be kept: of such a turn only what is explicitly asked for is remembered."""
