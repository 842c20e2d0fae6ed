"""The cues as data: patterns of one sentence, English and Chinese, in the order in which they are tried.

A pattern is searched in a sentence whose first letter was made small. A group named `rest…` is
what remains when the command around it is taken off; `(?=DUE)` asks for a sentence that names a
day to come. What a rule is not sure of must not match: precision goes before recall.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from memorybook.lifecycle.left_out import CONFIDENTIAL_EN, LEFT_OUT_EN, LEFT_OUT_ZH, ORDERED_EN, ORDERED_ZH
from memorybook.model import Category

Importance = Literal["high", "medium", "low"]
Talk = Literal["agent", "people"]
"""Somebody with an agent, who can be told to remember and how to behave, or people among themselves."""


Kind = Category | Literal["explicit", "forget"]
"""A category; or told to remember (filed by what is said), or told to forget."""


class Rule(NamedTuple):
    """One way to say something of a kind: how firmly, in which kind of talk, and how it reads.

    Every text that fits the pattern holds one of its `hints`, see `lifecycle.hints`.
    """

    kind: Kind
    importance: Importance
    talk: Literal["agent", "people", "any"]
    hints: str
    pattern: str


_ADVERB = (
    r"(?:(?:really|also|just|actually|honestly|always|usually|generally|still|personally|definitely|absolutely|"
    r"mostly|normally|recently|currently|now|finally|especially|much|even|generally|sincerely)\s+)*"
)
_I = rf"(?:^|[\s,;:—(-])I\s+{_ADVERB}"
_IM = rf"(?:^|[\s,;:—(-])I(?:'m|\s+am)\s+{_ADVERB}"
_IVE = rf"(?:^|[\s,;:—(-])I(?:'ve|\s+have)\s+{_ADVERB}"
_START = r"(?:^|[,;:.!，：；。]\s*|\b(?:please|and|also|so|but|just|ok|okay)[,\s]+)"
_NOT_LIKED = (
    r"(?!(?:that|this|it|these|those|you|your|you're|how|what|when|where|the\s+(?:way|idea|plan|look|sound|first|"
    r"second|third|last|new|approach|direction|design|result|vibe|energy|color|colour|pic|photo)\w*|'?em|them|him|"
    r"her|seeing|hearing|being|watching\s+you|to\s+(?:hear|see|know|think|say|help|join|try|learn|do)|having|"
    r"all\s+(?:the|of|your))\b)"
)
_KIN = (
    r"(?:wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|son|daughter|kids?|child(?:ren)?|mom|mum|mother|dad|"
    r"father|parents|brother|sister|siblings|grandma|grandmother|grandpa|grandfather|aunt|uncle|cousin|niece|nephew|"
    r"boss|manager|teammate|roommate|dog|cat|puppy|kitten|pets?|family|best\s+friend)"
)
_JOB = (
    r"(?:job|internship|position|promotion|offer|degree|scholarship|business|company|store|shop|studio|school|gig|"
    r"licen[cs]e|certificate|apartment|house|place|mortgage|dog|cat|puppy|kitten|visa)"
)
_HAN_KIN = (
    r"(?:爸爸|妈妈|父亲|母亲|爸|妈|老婆|老公|妻子|丈夫|爱人|对象|女朋友|男朋友|女友|男友|儿子|女儿|闺女|孩子|娃|"
    r"哥哥|姐姐|弟弟|妹妹|哥|姐|弟|妹|爷爷|奶奶|姥姥|姥爷|外公|外婆|叔叔|阿姨|舅舅|姑姑|表哥|表姐|表弟|表妹|堂哥|"
    r"堂姐|侄子|侄女|同事|上司|下属|老板|领导|室友)"
)

_FROM_NOW = (
    r"\b(?:from\s+(?:now|today|this\s+day)\s+on(?:wards?)?|going\s+forward)\b|\b(?:as\s+of|starting)\s+(?:now|today),?"
    r"\s+(?:please\s+|only\s+)*(?:call|use|write|answer|reply|respond|speak|keep|always|never|don't|do\s+not|stop|we(?:'ll)?|"
    r"I(?:'m|\s+am|\s+want|'ll|\s+don't|\s+no\s+longer))\b"
)
_FROM_NOW_ZH = r"从(?:现在|今天|今日|今儿|即日)(?:起|开始|往后|以后)"
STANDING = rf"(?i:{_FROM_NOW})|以后|今后|往后|从现在|{_FROM_NOW_ZH}"
"""What makes an order a lasting one."""

TABLE: tuple[Rule, ...] = (
    # told to forget, or not to keep what is said
    Rule(
        "forget",
        "high",
        "agent",
        "forget|memory|memories|remember|you know|told you",
        rf"{_START}(?:(?:can|could|would|will)\s+you\s+(?:kindly\s+)?|I(?:'d\s+like|\s+want)\s+you\s+to\s+)?"
        r"(?:please\s+)?(?:I\s+(?:don't|do\s+not)\s+want\s+you\s+to\s+remember\s+(?:that|this|it|what|any|my|I)\b|forget\s+(?:about\s+|that\b|what\b|everything\b|the\b|my\b|it\b|all\b)|"
        r"stop\s+remembering\b|(?:delete|remove|erase)\b.*\b(?:memory|memories|remember(?:ed)?)\b|"
        r"(?:delete|remove|erase)\s+(?:what|everything|all)\s+(?:that\s+)?(?:you\s+know|I\s+(?:just\s+)?told\s+you)\s+about\b)",
    ),
    Rule(
        "forget",
        "high",
        "agent",
        "don't|dont|do not|you not|you please not|you didn't|you did not|no need to|needn't|shouldn't|should not|"
        "mustn't|must not|off the record",
        rf"(?:^|[,;.!，；。–—]\s*|\s-+\s+|\b(?:please|and|also|so|but|just|ok|okay)[,\s]+)(?:please\s+)?(?:{LEFT_OUT_EN})",
    ),
    Rule(
        "forget",
        "high",
        "agent",
        "忘掉|忘了|记|当我没|当没|条",
        r"忘掉|忘了(?:吧|它|这|那|我之前|我刚)|(?:^|[，,。：:；\s])(?:请|麻烦|帮我)*(?:忘了我(?:[说讲提]过|告诉过?你)|"
        r"把[^，,。]{1,20}[这那]条(?:记忆|记录|信息)?(?:给)?(?:删了|删掉|删除|忘了)吧?[。！!]*$)|(?:^|[，,。：；\s])(?:(?:请|麻烦|帮我)你?忘记(?!了)|"
        r"忘记(?:我(?:的|说|之前|刚)|关于|这|那|它))|^忘记我(?:住|喜欢|讨厌|爱|不|在|是|叫|对|有|养|吃|喝)(?!.*[了吗][。！!]*$)|"
        r"(?:^|[，,。：:；\s])(?:请|你|麻烦)?(?:(?:别|不要)记得(?=我|关于|[这那][个条件事])|(?:别|不要)再记(?:住|着|得)?(?=我|关于|[这那][个条件事]))|"
        r"(?<!我)把[^，,。]{1,20}忘记(?!了|在|带)|"
        r"当我没(?:说|讲|提)|当没(?:说|讲)过|(?:删掉|删除|清除|"
        r"清空|抹掉).{0,12}(?:记忆|记录|记住)",
    ),
    Rule(
        "forget",
        "high",
        "agent",
        "别|不要|不许|不准|请勿|甭|不用|无需|无须|不必|不需要|没必要|没有必要",
        LEFT_OUT_ZH,
    ),
    Rule(
        "forget",
        "high",
        "agent",
        "forget|delete|remove|erase|wipe|drop|strike|withdraw|clear|scrub|leave|know",
        rf"(?i:{_START}(?:{ORDERED_EN})|{CONFIDENTIAL_EN})",
    ),
    Rule("forget", "high", "agent", "忘|删|清|抹|去掉|别|不要|不用|不必|勿", ORDERED_ZH),
    # told to remember, or that what is known is wrong
    Rule(
        "explicit",
        "high",
        "agent",
        "correction|更正|纠正",
        r"^(?:(?:small|one|a)\s+)?correction\s*[:,]\s*(?P<rest>\S.*)$|^(?:更正|纠正)(?:一下)?\s*[：:，,]\s*(?P<rest2>\S.*)$",
    ),
    Rule(
        "explicit",
        "high",
        "agent",
        "remember|note|in mind|forget|for the record|memori|save this|save that",
        rf"{_START}(?:can you |could you |you should |you must |I(?:'d\s+like|\s+want)\s+you\s+to\s+)?(?:please\s+)?"
        r"(?:remember(?!\s+(?:when|how|the\s+time|last|yesterday|what|me\b|our\b|us\b|anything|if))|"
        r"(?:please\s+)?(?:take\s+)?note(?=\s+that|\s*:)|keep\s+in\s+mind|bear\s+in\s+mind|don't\s+forget|"
        r"do\s+not\s+forget|make\s+a\s+note|for\s+the\s+record|memori[sz]e|save\s+(?:this|"
        r"that)(?:\s+to\s+memory)?)(?:\s+(?:that|this|of\s+this|the\s+following|for\s+(?:later|me|"
        r"next\s+time)))*\s*[:,，-]?\s*(?P<rest>(?!(?:my|our|your|the)\s+[a-z]+[.!]*$)\S.*)$",
    ),
    Rule(
        "explicit",
        "high",
        "agent",
        "记|别忘|备注",
        r"^(?:[^，,：:]{0,6}[，,：:\s])?(?:请|你|帮我|麻烦|给我|一定|务必|要|再)*(?:记住|记一下|记下来?|记着|记好|"
        r"记个(?:待办|事|笔记)|牢记|别忘了?|备注)(?!了)(?:一下|一点|这个?)?[：:，,\s]+(?P<rest>\S.+)$",
    ),
    Rule(
        "explicit",
        "high",
        "agent",
        "记|别忘",
        r"^(?:请|你|帮我|麻烦|给我|一定|务必|要)*(?:记住|记得|记着|牢记|别忘(?:记?了|记)?(?!记)|"
        r"记一下(?=我[^，,。]{0,12}(?:是|在|叫|有|要|喜欢|不|对|\d)))(?!了|得|上次|小时候|当时|以前|那时|吗)"
        r"(?P<rest>(?!我们?的[\u4e00-\u9fff]{2}[吧啊呀。！!]*$)\S.+)$",
    ),
    Rule(
        "explicit",
        "high",
        "agent",
        "记|备注|提醒|日历",
        r"^(?P<rest>.+?)[，,：:\s]*(?:请|你|帮我|麻烦|给我|先)*(?:记一下|记下来?|记着|记住(?!了)|记一笔|备注一下|"
        r"提醒(?:我)?(?:一下)?|放(?:在|进|到|下|个)?日历上?)[吧哈啊呀]*[。！!]?$",
    ),
    Rule(
        "explicit",
        "high",
        "agent",
        "记",
        r"^.{0,8}?(?:日子|事|点|件|条|坑)?(?:记一下|记一笔|要记|得记)[：:]\s*(?P<rest>\S.+)$|(?:这|那)(?:条|点|个|"
        r"坑|事|件事)(?:要|得)记",
    ),
    # todo
    Rule(
        "todo",
        "high",
        "agent",
        "todo|to-do|待办",
        r"(?i:\bto-?do\b)\s*[:：]\s*(?P<rest>\S.+)$|^TODO\s+(?P<rest2>\S.+)$|待办[：:]\s*(?P<rest3>\S.+)$",
    ),
    Rule(
        "todo",
        "high",
        "agent",
        "remind me|提醒|记得",
        rf"{_START}(?:please\s+)?remind\s+me\s+(?:to\s+|that\s+|about\s+)?(?P<rest>\S.*)$|提醒我|(?<!你)记得(?:要|去|"
        rf"把|带|买|交|给)",
    ),
    # what was decided, by some day perhaps
    Rule(
        "decision",
        "high",
        "any",
        "decided|settled on|agreed|chose to|decision",
        r"\b(?:we|I)(?:'ve|\s+have)?\s+(?:all\s+|both\s+|finally\s+|just\s+|already\s+|"
        r"also\s+)*(?:decided\s+(?!what|how|if|whether|when|which|where)|settled\s+on|agreed\s+(?:to|on|that)|"
        r"chose\s+to|made\s+the\s+decision\s+to)|\b(?:the\s+)?(?:final\s+)?decision(?:\s+is)?\s*:|\bit's\s+decided\b",
    ),
    Rule(
        "decision",
        "high",
        "agent",
        "决定",
        r"(?:我们?|最后|最终|已经|一致)(?:昨[天晚]|前天|今[天早晚]|刚[刚才]?|上个?(?:周|星期|月)[一二三四五六日天]?)?"
        r"决定(?!不了|没)|^决定(?:[：:了改]|推迟|提前)",
    ),
    # what is due by a day
    Rule(
        "todo",
        "medium",
        "any",
        "by|before|until|due",
        rf"(?:{_I}|\bwe\s+)(?:need|have|got|must|gotta|should)\b.*\b(?:by|before|until|due)\s+(?=DUE)",
    ),
    Rule(
        "todo",
        "medium",
        "any",
        "deadline|due date|is due|are due",
        r"\b(?:deadline|due\s+date)\b\s*(?:is|was|for|of|:).*(?=DUE)|\b(?:is|are)\s+due\s+(?=DUE)",
    ),
    Rule(
        "todo",
        "medium",
        "agent",
        "前|截止|得在|约在|约了|定在|放在|安排在|必须|要|得",
        r"(?=DUE).*(?:(?:号|日|周[一二三四五六日天]|月底|年底|天|周)(?:之|以)?前|截止|得在|约在|约了|定在|放在|"
        r"安排在|必须|要(?:交|写完|完成|出|去|做|买|送|发|搞定|切完|开会)|得(?:交|写完|完成|把|买|做))",
    ),
    Rule(
        "todo",
        "medium",
        "agent",
        "not|instead of|rather than|不是|而非|不在|不再是",
        r"(?=DUE).*(?:,\s*not|\binstead\s+of|\brather\s+than)\s+(?:(?:on|at|in|the|next|this)\s+)*(?:\d|tomorrow|today|"
        r"(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)day))|(?=DUE).*(?:不是|而非|不在|不再是)(?:原[来定]的?)?(?:\d|[明后]天|"
        r"下*个?(?:周|星期|礼拜)[一二三四五六日天])",
    ),
    # other decisions
    Rule(
        "decision",
        "high",
        "agent",
        "go with|going with|ahead with|use|using|stick|adopt|switch|drop|migrat|keep",
        rf"{_START}(?:let's|lets|we'll|we\s+will|we're|we\s+are|I'll|I\s+will|I'm)\s+"
        r"(?:go(?:ing)?\s+(?:ahead\s+)?with|us(?:e|ing)|stick(?:ing)?\s+(?:with|to)|adopt(?:ing)?|"
        r"switch(?:ing)?\s+to|drop(?:ping)?|migrat(?:e|ing)\s+to|keep(?:ing)?)\s+(?!(?:this|that|it|going|you|your|"
        r"in\s+touch|me|the\s+change)\b)\w",
    ),
    Rule(
        "decision",
        "high",
        "agent",
        "定|就|拍板",
        r"敲定|(?<!没)(?<!必须)拍板[：:]|"
        r"(?<![没还约锁固法预稳肯确否假])定了[：:，,]|^(?:[^，,]{0,6}[，,])?定\s*[A-Z]|就(?:这么|这样|按这个)定|"
        r"(?:^|[，,。])(?:那)?就(?:用|选|上|走|定)?\s*[A-Za-z][\w.+#-]*(?:\s*(?:吧|了|，|,|$))|(?:^|"
        r"[，,。])那就(?!是|好|行|算|这样|先|不|没|可以|对|麻烦|等|来|去|有|会|得|要|说|祝|让|别|更|太|应该|意味|试|"
        r"一起)\S.{1,}|就(?:用|选)(?!了?这|于|来|得着|不着)\S+",
    ),
    # how the agent is to behave, and what people like
    Rule(
        "preference",
        "high",
        "agent",
        "always|never|n't ever|not ever|use|using|add|writ|put|giv|sav|commit|push|emoji|bullet|"
        "answer|repl|response|explanation|comment|bottom line|conclusion|future",
        rf"{_START}(?:please\s+)?(?:always|never|don't\s+ever|do\s+not\s+ever)\s+(?!mind\b|again\b|been\b|had\b|"
        rf"seen\b|worked\b|a\b|the\b)[a-z]+|"
        r"^(?:please\s+)?(?:don't|do\s+not|stop|avoid|no\s+more|no)\s+(?:us(?:e|ing)|add(?:ing)?|writ(?:e|ing)|"
        r"put(?:ting)?|giv(?:e|ing)|sav(?:e|ing)(?!\s+(?:that|this|it|my)\b)|commit(?:ting)?|push(?:ing)?|emojis?|bullet)\b|"
        r"^(?:please\s+)?(?:keep|make|give|write|format|answer|reply|respond|lead|start|explain)\b.*\b(?:answers?|"
        r"repl(?:y|ies)|responses?|explanations?|comments?|commit\s+messages?|bottom\s+line|conclusion)\b|\b(?:in|"
        r"for)\s+(?:the\s+)?future,?\s+(?:please\s+)?(?:use|do|don't|write|keep|give|avoid)\b",
    ),
    Rule(
        "preference",
        "high",
        "agent",
        "以后|今后|往后|下次|从现在|从今|从即日|别再|不要再|不许再|回我|回复|回答|注释|代码里|源码里|文案|输出|说明|commit|排版|给我|答案|结论",
        rf"(?:^|[，,。；]){_FROM_NOW_ZH}[，,]?我(?:就|的名字)?(?:改?叫|不再?|只|改用)\S|"
        rf"(?:^|[，,。；])(?:以后|今后|往后|从今[以往]后|从此以后|{_FROM_NOW_ZH}[，,]?|下次)"
        r"(?:(?:你|的|都|请)*(?:回答|回复|输出|解释)[^，,]{0,4}(?:简短|简洁|简单|精简|详细|口语|正式|[短长])[^，,]{0,3}$|"
        r"(?!也|我们?会|会|可能|说不定|有机会|再说|再聊|还|见)"
        r"[^，,]{0,14}(?:都|请|先|别|不要|不用|一律|给我|只|要|再|记得|用|必须|默认|叫我))|(?:别再|不要再|"
        r"不许再)(?!说了|聊|提了|想|哭|难过|担心|犹豫)\S{2,}|(?:回我|回复|回答|注释|代码里|源码里|文案|输出|说明|"
        r"commit|排版)\S{0,10}?(?:别|不要|不用|只|全|都|一律|麻烦|直接)\S+|(?:给我)\s*\S{1,12}\s*(?:就行|就好|即可)|"
        r"(?:^|[，,。])(?:答案|结论)\S{0,4}(?:摆|放|写|在)\S{0,4}(?:前|上面|第一)",
    ),
    Rule(
        "preference",
        "medium",
        "any",
        "prefer|fav|n't stand|cannot stand|dislike|detest|despise|loathe|n't like|n't enjoy|n't drink|"
        "n't eat|n't want any|not like|not eat|not drink|avoid|rather|fan of|partial to|obsessed with|"
        "hooked on|allergic|into|passion|keen on|go-to|top pick|escape|happy place|jam|stress",
        rf"{_I}(?:strongly\s+)?(?:prefer|favou?r|can't\s+stand|cannot\s+stand|dislike|detest|despise|loathe|"
        rf"don't\s+(?:like|enjoy|drink|eat|want\s+any)|do\s+not\s+(?:like|eat|drink)|avoid)\s+{_NOT_LIKED}\w|"
        rf"{_I}(?:would|'d)\s+(?:much\s+)?rather\b|(?:^|\s)I'd\s+(?:much\s+)?rather\s+(?!not\s+say)|"
        rf"{_IM}(?:not\s+)?(?:a\s+)?(?:huge\s+|big\s+|massive\s+)?(?:fan\s+of|partial\s+to|obsessed\s+with|"
        rf"hooked\s+on|allergic\s+to)\s+{_NOT_LIKED}\w|{_IM}(?:really\s+|so\s+|very\s+|super\s+|also\s+)*(?:into|"
        rf"passionate\s+about|keen\s+on)\s+{_NOT_LIKED}\w|"
        r"\bmy\s+(?:all[- ]time\s+|own\s+|personal\s+)?(?:absolute\s+)?(?:favou?rites?|faves?|favs?|go-to|"
        r"top\s+pick|preferred)\b.{0,40}\b(?:is|are|has|'s|would)\b|\b(?:is|are|'s|'re)\s+(?:also\s+|definitely\s+|"
        r"always\s+|pretty\s+much\s+)*(?:one\s+of\s+)?my\s+(?:all[- ]time\s+|absolute\s+)?(?:favou?rites?|faves?|"
        r"favs?|go-to|top\s+pick|passion|escape|happy\s+place|jam|stress[\s-]\w+)\b",
    ),
    Rule(
        "preference",
        "medium",
        "any",
        "like|love|enjoy|adore|hate",
        rf"{_I}(?:like|love|enjoy|adore|hate)\s+{_NOT_LIKED}(?!.*\b(?:you|your)\b)(?!(?:\S+\s+){{0,5}}(?:them|it|"
        rf"this|that|these|those|there)\b)(?:\w+ing\b|to\s+\w+|(?!(?:to|is|was|"
        rf"are)\b)[\w-]+(?:\s+[\w-]+)*?\s+and\s+\w+|"
        r"(?!(?:the|a|an|my|our|his|their|about|most|more|every|some|to|is|was|are)\b)[\w'-]+)",
    ),
    Rule(
        "preference",
        "medium",
        "any",
        "喜欢|偏|讨厌|习惯|受不了|倾向|爱|中意|宁愿|不吃|不喝|忌口|不碰|迷上|沾不得|不能碰|碰不得|不能吃|戒了|口味|兴趣",
        r"(?:^|[，,。；\s：:])(?:但是?|其实|不过|对了|因为|嗯|而且|平时|平常)?[，,]?我(?:自己|个人|本人|"
        r"这人)?(?:平时|平常|一般|通常|从小|一直|最近)?(?:就|真的|真|很|最|特别|比较|更|超级?|还是|一向|都|也|非常|"
        r"挺|蛮|尤其|主要|其实)*(?:不(?:太|怎么|是很)?)?(?:喜欢|偏好|偏爱|讨厌|习惯|受不了|倾向于?|不爱|爱吃|爱喝|"
        r"爱看|爱听|中意|宁愿|不吃|不喝|忌口|不碰|迷上了)(?!上了?他|上了?她|你|您|这样|这个|那个|它|的[。，,]?$|"
        r"了[。，,]?$|[。，,！!]|$)\S|我(?:最|特别|很)?(?:喜欢|爱|讨厌|中意)的\S{1,20}(?:是|就是)\S|是我(?:最|特别|"
        r"很)(?:喜欢|爱|中意|讨厌)的|\S(?:我都?(?:沾不得|不能碰|碰不得|不能吃|彻底戒了|都?戒了))|我的?(?:偏好|口味|"
        r"习惯|爱好|兴趣)(?:是|就是)",
    ),
    Rule(
        "preference",
        "medium",
        "agent",
        "can eat|can drink|can now|我现在",
        rf"{_I}can\s+(?:eat|drink)\s+\w.*\b(?:now|again)\b|{_I}can\s+now\s+(?:eat|drink)\s+\w|"
        r"我现在(?:又?(?:可以|能)|不)[吃喝][^，,。；吗吧]+了",
    ),
    # how things are done
    Rule(
        "workflow",
        "high",
        "agent",
        "from now on|from today on|from this day on|going forward|as of now|as of today|starting now|starting today|"
        "as a rule|our process|our workflow|our convention|our policy|our rule|"
        "whenever|every time|each time|规矩|标准|不许|不准|必须",
        rf"{_FROM_NOW}|"
        r"\bas\s+a\s+rule\b|\bour\s+(?:process|workflow|convention|policy|"
        r"rule)\b.{0,30}\b(?:is|are)\b|\bwhenever\s+(?:we|I|you)\b.+,|\b(?:every|each)\s+time\s+(?:we|I|you)\b.+,|"
        r"(?:立|定)(?:个|了条?|一条)规矩|(?:死|硬)规矩|规矩(?:是|不变|[：:])|标准(?:流程|套路|做法|写法)|不许|不准|"
        r"(?<!今晚)(?<!今天)(?<!明天)必须(?:等|先|带|走|由|自己|经过)",
    ),
    Rule(
        "decision",
        "high",
        "agent",
        "统一|一律|改成|换成|改为|换为",
        r"(?:统一|一律)(?:用|走|改|换|成|采用|放|在|写|按|以|存)|(?:改成|换成|改为|换为)(?!.*(?:秒回|就好|达标|搞定|"
        r"就通))\s*(?:只有|每|[A-Z\d]|异步|同步)",
    ),
    Rule(
        "workflow",
        "medium",
        "any",
        "every|each",
        rf"{_I}(?!.*\b(?:enjoy|love|grateful|feel|excited|wish)\b)(?:\w+\s+){{1,3}}.*\b(?:every|"
        rf"each)\s+(?:single\s+)?(?:morning|night|evening|day|week|weekend|month|year|mon|tues|wednes|thurs|fri|"
        rf"satur|sun)\w*\b",
    ),
    Rule(
        "workflow",
        "medium",
        "any",
        "always|usually",
        r"\b(?:we|I)\s+(?:always|usually)\s+(?!love|like|enjoy|feel|forget|lose|wanted|been|wondered|thought|knew|"
        r"have\b|had\b|felt|dreamed|loved|liked)\w+",
    ),
    Rule(
        "workflow",
        "medium",
        "any",
        "每",
        r"(?:我|我们|组里|团队|公司|咱们?)[^，,。]{0,12}每(?:天|周|个?月|年|逢|次|晚|早)[^，,。]{2,}|每(?:周|个?月|"
        r"逢)[一二三四五六日天\d\s号、和]*[^，,。！]{0,12}(?:我|是|开|发|要|定投|例会|周会)",
    ),
    # lessons
    Rule(
        "experience",
        "medium",
        "any",
        "turned out|turns out|fix|culprit|root cause|solution|trick|real problem|workaround|lesson|"
        "learned|learnt|worked was|helped was",
        r"\b(?:turn(?:s|ed)\s+out\s+(?:that\s+|the\b|it\b|we\b|I\b)|the\s+(?:fix|culprit|root\s+cause|solution|"
        r"trick|real\s+problem|workaround)\s+(?:was|is|turned)\b|root\s+cause\b|lessons?\s+learn(?:ed|t)|learn(?:ed|"
        r"t)\s+(?:the\s+hard\s+way|that\b)|what\s+(?:finally\s+)?(?:worked|fixed\s+it|helped)\s+was)",
    ),
    Rule(
        "experience",
        "medium",
        "agent",
        "原来是|原因|根因|问题|确实是|果然是|就是|就好了|就通了|教训|坑|解决|修复|改成|换成|加上|下回|下次",
        r"原来是|(?:原因|根因|问题)(?:就)?(?:是|出在|在于)|(?:确实|果然|就)是\S+?[，,]\S{0,8}(?:就好|就行|就通|搞定|"
        r"解决)|是\S+?[，,]\S{0,14}就(?:好|通)了|教训|踩(?:过|了)?(?:的)?坑|坑过|(?:解决|修复)(?:办法|方法|"
        r"方案)?(?:是|[：:])|(?:改成|换成|加上)\S.{0,12}(?:秒回|就好了|搞定|达标|不报错|恢复)|下[回次]\S{1,10}先\S+",
    ),
    # facts
    Rule(
        "fact",
        "high",
        "any",
        "name's|name is|i'm called|call me|birthday|anniversary|pronouns|blood type|address|phone|born|"
        "allerg|diabetic|pregnant|vegan|vegetarian|coeliac|celiac|asthmatic|叫|过敏|生日|名字|今年",
        rf"\bmy\s+(?:full\s+|first\s+|last\s+)?name(?:'s|\s+is)\b|\bI'm\s+called\b|\bcall\s+me\s+[A-Z]|"
        rf"\bmy\s+(?:birthday|anniversary|pronouns|blood\s+type|address|phone)\b.{{0,20}}\b(?:is|are|was)\b|"
        rf"\bI\s+was\s+born\b|{_IM}(?:\w+ly\s+)?allergic\b|\bmy\b.{{0,30}}\ballerg|\ballergic\s+to\b|"
        rf"{_IM}(?:diabetic|pregnant|vegan|vegetarian|coeliac|celiac|asthmatic)\b|"
        r"(?:^|[，,。：:\s])我(?:的名字)?(?:就)?叫(?!了|你|他|她|它|的|车|外卖|住|上|不|到|做)\S|过敏(?!吗|怎|"
        r"的症状|原因|药)|我(?:的)?生日(?:是|在|为|\s*\d)|"
        rf"我(?:的)?{_HAN_KIN}(?:的)?(?:生日|名字|叫|今年\d)",
    ),
    Rule(
        "fact",
        "medium",
        "any",
        "work|live|moved|grew up|volunteer|graduated|majored|enrolled|retired|married|engaged|"
        "promoted|accepted|hired|fired|laid off|diagnosed|divorced|job|internship|position|promotion|"
        "offer|degree|scholarship|business|company|store|shop|studio|school|gig|licen|certificate|"
        "apartment|house|place|mortgage|dog|cat|puppy|kitten|visa|speak|play|i'm|i am|been|used to|"
        "wife|husband|partner|fianc|girlfriend|boyfriend|son|daughter|kid|child|mom|mum|mother|dad|"
        "father|parents|brother|sister|sibling|grandma|grandpa|aunt|uncle|cousin|niece|nephew|boss|manager|"
        "teammate|roommate|pet|family|best friend",
        rf"{_I}(?:work(?:ed)?\s+(?:as|at|for|in)|live\s+(?:in|at|near|with|on|by|alone|about)|lived\s+(?:in|at|near|"
        rf"with|abroad)|moved\s+(?:to|from|in|into|out|back|away|here)|grew\s+up|volunteer|graduated|majored|"
        rf"enrolled|retired|got\s+(?:married|engaged|promoted|accepted|hired|fired|laid\s+off|diagnosed|divorced)|"
        rf"(?:got|landed|lost|quit|left|started|accepted|opened|launched|founded|bought|adopted|sold|run|own|"
        rf"have)\s+(?:(?:a|an|my|the|our|own|new|first|second|temp|online|own|two|three|four|small|local|"
        rf"own)\s+)*(?:[\w-]+\s+)?{_JOB}|speak\s+[A-Z]|play\s+(?:the\s+)?(?:piano|guitar|violin|drums|clarinet|bass|"
        rf"sax\w*|cello|flute|ukulele))\b|{_IM}(?:working\s+(?:at|as|for)|living\s+in|moving\s+to|based\s+in|"
        rf"from\s+[A-Z]|married|engaged|divorced|single\b|a\s+single|retired|studying|majoring|training\s+for|"
        rf"\d{{2}}\s+years\s+old)|{_IM}an?\s+(?!(?:bit|little|lot|mess|fan|big|huge|sucker|believer|wreck|fool|few|"
        rf"total|complete|firm|mix|sure|step|work|good|great|better|tad|"
        rf"beginner\s+at)\b)(?:[\w-]+\s+){{0,3}}?(?:\w+(?:er|or|ist|ian|ant|ent|eer|man|woman|nurse|chef|coach|mom|"
        rf"dad|vet|pro))\b|{_IVE}been\s+(?!keeping|dreaming|thinking|wanting|meaning|looking|waiting|feeling|trying|"
        rf"busy|one\b)(?:\w+ing|married|together|a\s+\w+|into|in\s+[A-Z]\w+)\b.*\b(?:for\s+(?:\d+|a\s+(?:few|couple|"
        rf"decade|year)|many|several|two|three|four|five|six|seven|ten|years|ages)|since)\b|{_IVE}(?:got\s+)?(?:a|an|"
        rf"one|two|three|four|five|\d)\s+(?:\w+\s+){{0,2}}?{_KIN}\b|{_I}have\s+(?:a|an|one|two|three|four|five|"
        rf"\d)\s+(?:\w+\s+){{0,2}}?{_KIN}\b|{_I}used\s+to\s+(?!it|that|(?:think|be|love|like|feel|get|hate|struggle|"
        rf"worry|always)\b)\w+|\bmy\s+(?:\w+\s+)?{_KIN}(?:'s)?\s+(?:name\b|birthday\s+(?:is|was|in|on)\b|named\b|"
        rf"is\s+(?:an?\b|called|named|from|\d|allergic|in\b|turning|getting)|has\s+(?:an?\b|two|three|diabetes|"
        rf"high\b)|works\b|lives\b|turned\b|turns\b|passed\s+away|moved\b|started\s+(?:school|college|work))",
    ),
    Rule(
        "fact",
        "medium",
        "any",
        "我",
        r"(?:^|[，,。：:；\s])我(?:今年|现在|目前|已经|之前|以前|也|还)?(?:是(?:一[名个位]|个|做|在|学|搞|"
        r"[^，。]{0,8}(?:人|员|师|生|医生|经理|主管|负责人|工程师|老师|律师)(?:[，,。]|$))|"
        rf"住在?|(?:的)?老家|(?:的)?家乡|在[^，,。]{{1,20}}(?:工作|上班|上学|读书|读研|实习|做(?!了|客|梦|事|饭|菜|"
        rf"什么)\S{{1,6}})(?!过|吗|的时候)|毕业于|姓(?!什么)|从事|家住|家用的是|用的是|(?:编辑器|电脑|机器|手机)用|"
        rf"现在用|"
        r"\d{2}\s*岁|转(?:任|岗|正|技术|行)|入职|离职|升职|结婚|离婚|怀孕|换了工作|搬(?:家|到)|从\s*\d{4}\s*年)|"
        rf"我(?:的)?{_HAN_KIN}(?:的)?(?:(?:身高|年龄|学历|教育背景|家乡|老家|职业|工作|邮箱|电话|爱好|公司|性格|"
        rf"上班)\S{{0,8}}(?:是|在|叫|为)?|是(?!不是|谁|在)\S|在\S{{1,12}}(?:工作|上班|上学|读书)|读了|有(?!没有|点|"
        rf"些|时)\S)|是我的?{_HAN_KIN}(?!吗|呢)|我(?:的)?(?:职级|职位|职务|岗位|主力语言|电话|邮箱|血型|身高|体重|"
        rf"星座|学历|专业|车|房子|公司|小区)(?:是|叫|为|在)|我住的\S{{0,6}}叫",
    ),
    Rule(
        "fact",
        "medium",
        "agent",
        "负责人|经理|主管|总监|离职|居家办公|起|到",
        r"(?:转|升)(?:为|任|成)?(?:\S{0,6})(?:负责人|经理|主管|总监)|(?:提|办)?离职(?!原因)|"
        r"我[^，,。]{0,10}居家办公|(?:从|自).{1,8}起.{0,12}(?:挪到|改到|加到|停|恢复|居家|调到)|(?:推迟?|"
        r"延期?|提前|改|挪|调整)到\s*(?:周|\d|下)|(?:加|升|涨|降|收)到\s*\d",
    ),
    # tools
    Rule(
        "skill_usage",
        "medium",
        "any",
        "know how to|fluent|proficient|experienced|skilled|certified|been using|use|熟悉|精通|擅长|会用|会写|会说|会弹",
        rf"{_I}know\s+how\s+to\b|{_IM}(?:fluent|proficient|experienced|skilled|certified)\s+(?:in|with|at)\b|"
        rf"{_IVE}been\s+using\s+(?!this|that|it\b|them)|{_I}use\s+(?!it|that|this|to|them)[A-Z`][\w.`+-]*\s+(?:for|"
        rf"to|as|with|on)\b|"
        r"我(?:比较|很|挺)?(?:熟悉|精通|擅长|会用|会写|会说|会弹)(?!吗)\S",
    ),
)
