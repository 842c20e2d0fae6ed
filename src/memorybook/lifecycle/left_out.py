"""How a user tells an agent not to keep what is said, as patterns: `don't note that down`, 别把这个记下来.

That means what is said, or was said just before, and not what a book has already: that is to be forgotten.
"""

from __future__ import annotations

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
    rf"{_SAID}(?=\s*(?:[,.;:!?—–-]|$)|\s+(?:please|either|anywhere|at\s+all|thanks|for\b|(?:in|to)\s+(?:your\s+|the\s+)?"
    r"(?:memory|notes?|book)\b|one\b|I\b))"
)
LEFT_OUT_EN = (
    rf"{_DONT}(?:(?:remember|memori[sz]e|note|record)\s+(?:{_SAID}|what|my|I|I'm)\b|"
    rf"(?:save|store|keep|log|write)\s+(?:{_SAID_ALONE}|what\s+I\b|my\b(?!\s+(?:changes?|edits?|files?|drafts?)\b)))|"
    rf"{_NO_NEED}(?:remember|memori[sz]e|note|record|save|store|keep)\s+(?:{_SAID_ALONE}|what\s+I\b)|"
    rf"(?:{_DONT}|{_NO_NEED})(?:(?:write|jot|note|take|put)\s+(?:{_SAID}\s+)?down\b(?!\s+(?:to|the)\b)|"
    r"(?:make|take)\s+(?:a\s+|any\s+)?notes?\b(?:\s+(?:of|on|about)\b)?|"
    rf"(?:put|add|commit|save|write)\s+{_SAID}\s+(?:in|into|to)\s+(?:your\s+|the\s+|any\s+)?(?:memory|memories|book|"
    r"notes?)\b)|(?:this|that|it)(?:'s|\s+is)\s+off\s+the\s+record\b|off\s+the\s+record\b(?=\s*[,:])"
)
"""In English, in any case; no part of it has a name."""

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
    rf"(?:^|[，,。；;\s—-])(?:不过|但是?|可是?|所以|那|就|请|拜托|麻烦|你|您|千万|先|都|也|能不能|可不可以|{_THIS}){{0,5}}"
    rf"(?:(?:{_NOT_ZH}|{_NO_NEED_ZH})(?:给我|帮我|替我)*(?:把(?P<held>[^，,。；]{{1,14}}?)|往[^，,。；]{{1,6}}?)"
    rf"(?:往[^，,。；]{{1,6}}?)?(?:{_NOTE_ZH}|(?<=[这那它][个条事些])(?:给)?{_STORE_ZH}{_ENDS}|(?<=事)(?:给)?{_STORE_ZH}{_ENDS})|"
    rf"{_NOT_ZH}(?:给我|帮我|替我)*(?:{_NOTE_ZH}|{_STORE_ZH}(?:{_THIS})?{_ENDS})|"
    rf"{_NO_NEED_ZH}(?:给我|帮我|替我)*(?:{_NOTE_ZH}|{_STORE_ZH})(?:{_ENDS}|(?=我|{_THIS}{_ENDS})))"
)
"""The same in Chinese; `held` is what stands before the verb: 别把这件事记下来."""
