"""The phrases by which people mark what is worth keeping, English and Chinese, and what they say by them.

A cue is looked for in one sentence. Cues are tried in the order of `_TABLE`; the first that fits
says what the sentence is. Precision goes before recall: what no rule is sure of is not kept.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from memorybook.model import Category

Importance = Literal["high", "medium", "low"]
Talk = Literal["agent", "people"]
"""Somebody with an agent, who can be told to remember and how to behave, or people among themselves."""


class Cue(NamedTuple):
    """What a sentence is, by its cue.

    Attributes:
        kind: A category; `explicit` (told to remember) or `forget` (told to forget).
        importance: How firmly it was said.
        content: What is said, without the command to remember it.
    """

    kind: Category | Literal["explicit", "forget"]
    importance: Importance
    content: str


class _Rule(NamedTuple):
    kind: Category | Literal["explicit", "forget"]
    importance: Importance
    talk: Literal["agent", "people", "any"]
    pattern: str


_ADVERB = (
    r"(?:(?:really|also|just|actually|honestly|always|usually|generally|still|personally|definitely|absolutely|"
    r"mostly|"
    r"normally|recently|currently|now|finally|especially|much|even|generally|sincerely)\s+)*"
)
_I = rf"(?:^|[\s,;:—(-])I\s+{_ADVERB}"
_IM = rf"(?:^|[\s,;:—(-])I(?:'m|\s+am)\s+{_ADVERB}"
_IVE = rf"(?:^|[\s,;:—(-])I(?:'ve|\s+have)\s+{_ADVERB}"
_START = r"(?:^|[,;:.!，：；。]\s*|\b(?:please|and|also|so|but|just|ok|okay)[,\s]+)"
_NOT_LIKED = (
    r"(?!(?:that|this|it|these|those|you|your|you're|how|what|when|where|the\s+(?:way|idea|plan|look|sound|first|"
    r"second|"
    r"third|last|new|approach|direction|design|result|vibe|energy|color|colour|pic|photo)\w*|'?em|them|him|her|"
    r"seeing|"
    r"hearing|being|watching\s+you|to\s+(?:hear|see|know|think|say|help|join|try|learn|do)|having|all\s+(?:the|of|"
    r"your))\b)"
)
_KIN = (
    r"(?:wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|son|daughter|kids?|child(?:ren)?|mom|mum|mother|"
    r"dad|father|"
    r"parents|brother|sister|siblings|grandma|grandmother|grandpa|grandfather|aunt|uncle|cousin|niece|nephew|boss|"
    r"manager|"
    r"teammate|roommate|dog|cat|puppy|kitten|pets?|family|best\s+friend)"
)
_JOB = (
    r"(?:job|internship|position|promotion|offer|degree|scholarship|business|company|store|shop|studio|school|gig|"
    r"licen[cs]e|"
    r"certificate|apartment|house|place|mortgage|dog|cat|puppy|kitten|visa)"
)
_HAN_KIN = (
    r"(?:爸爸|妈妈|父亲|母亲|爸|妈|老婆|老公|妻子|丈夫|爱人|对象|女朋友|男朋友|女友|男友|儿子|女儿|闺女|孩子|娃|哥哥|姐姐|弟弟|妹妹|哥|姐|弟|妹|"
    r"爷爷|奶奶|姥姥|姥爷|外公|外婆|叔叔|阿姨|舅舅|姑姑|表哥|表姐|表弟|表妹|堂哥|堂姐|侄子|侄女|同事|上司|下属|老板|领导|室友)"
)
_HAN_PLACE = r"(?:公司|厂|店|银行|医院|学校|大学|研究所|事务所|集团|科技|部门|团队|局|院)"

_TABLE: tuple[_Rule, ...] = (
    # told to forget
    _Rule(
        "forget",
        "high",
        "agent",
        rf"{_START}(?:please\s+)?(?:forget\s+(?:about\s+|that\b|what\b|everything\b|the\b|my\b|it\b|all\b)|"
        r"(?:don't|do\s+not)\s+(?:remember|save|store|memori[sz]e|keep)\s+(?:that|this|it|what|any|my)\b|"
        r"stop\s+remembering\b|(?:delete|remove|erase)\b.*\b(?:memory|memories|remember(?:ed)?)\b)",
    ),
    _Rule(
        "forget",
        "high",
        "agent",
        r"忘掉|忘了(?:吧|它|这|那|我之前|我刚)|(?:^|[，,。：；\s])(?:请|你|麻烦)?(?:别|不要|不用|无需)(?:再)?(?:记住|记着|记下|记录|记)(?!得)|"
        r"当我没(?:说|讲|提)|当没(?:说|讲)过|(?:删掉|删除|清除|抹掉).{0,12}(?:记忆|记录|记住)",
    ),
    # told to remember
    _Rule(
        "explicit",
        "high",
        "agent",
        rf"{_START}(?:can you |could you |you should |you must )?(?:please\s+)?"
        r"(?:remember(?!\s+(?:when|how|the\s+time|last|yesterday|what|me\b|our\b|us\b|anything|if))|"
        r"(?:please\s+)?(?:take\s+)?note(?=\s+that|\s*:)|keep\s+in\s+mind|bear\s+in\s+mind|don't\s+forget|"
        r"do\s+not\s+forget|"
        r"make\s+a\s+note|for\s+the\s+record|memori[sz]e|save\s+(?:this|that)(?:\s+to\s+memory)?)"
        r"(?:\s+(?:that|this|of\s+this|the\s+following|for\s+(?:later|me|next\s+time)))*\s*[:,，-]?\s*(?P<rest>\S.*)$",
    ),
    _Rule(
        "explicit",
        "high",
        "agent",
        r"^(?:[^，,：:]{0,6}[，,：:\s])?(?:请|你|帮我|麻烦|给我|一定|务必|要|再)*"
        r"(?:记住|记一下|记下来?|记着|记好|记个(?:待办|事|笔记)|牢记|别忘了?|备注)(?!了)(?:一下|一点|这个?)?[：:，,\s]+(?P<rest>\S.+)$",
    ),
    _Rule(
        "explicit",
        "high",
        "agent",
        r"^(?:请|你|帮我|麻烦|给我|一定|务必|要)*(?:记住|记得|牢记|别忘了?)(?!了|得|上次|小时候|当时|以前|那时|吗)(?P<rest>\S.+)$",
    ),
    _Rule(
        "explicit",
        "high",
        "agent",
        r"^(?P<rest>.+?)[，,：:\s]*(?:请|你|帮我|麻烦|给我|先)*(?:记一下|记下来?|记着|记住(?!了)|记一笔|备注一下|提醒(?:我)?(?:一下)?|"
        r"放(?:在|进|到|下|个)?日历上?)[吧哈啊呀]*[。！!]?$",
    ),
    _Rule(
        "explicit",
        "high",
        "agent",
        r"^.{0,8}?(?:日子|事|点|件|条|坑)?(?:记一下|记一笔|要记|得记)[：:]\s*(?P<rest>\S.+)$|(?:这|那)(?:条|点|个|坑|事|件事)(?:要|得)记",
    ),
    # todo
    _Rule(
        "todo",
        "high",
        "agent",
        r"(?i:\bto-?do\b)\s*[:：]\s*(?P<rest>\S.+)$|^TODO\s+(?P<rest2>\S.+)$|待办[：:]\s*(?P<rest3>\S.+)$",
    ),
    _Rule("todo", "high", "agent", rf"{_START}(?:please\s+)?remind\s+me\b|提醒我|(?<!你)记得(?:要|去|把|带|买|交|给)"),
    _Rule(
        "todo",
        "medium",
        "any",
        rf"(?:{_I}|\bwe\s+)(?:need|have|got|must|gotta|should)\b.*\b(?:by|before|until|due)\s+(?=DUE)",
    ),
    _Rule(
        "todo",
        "medium",
        "any",
        r"\b(?:deadline|due\s+date)\b\s*(?:is|was|for|of|:).*(?=DUE)|\b(?:is|are)\s+due\s+(?=DUE)",
    ),
    _Rule(
        "todo",
        "medium",
        "agent",
        r"(?=DUE).*(?:(?:号|日|周[一二三四五六日天]|月底|年底|天|周)(?:之|以)?前|截止|得在|约在|约了|定在|放在|安排在|必须|"
        r"要(?:交|写完|完成|出|去|做|买|送|发|搞定|切完|开会)|得(?:交|写完|完成|把|买|做))",
    ),
    # decisions
    _Rule(
        "decision",
        "high",
        "any",
        r"\b(?:we|I)(?:'ve|\s+have)?\s+(?:all\s+|both\s+|finally\s+|just\s+|already\s+|also\s+)*"
        r"(?:decided\s+(?!what|how|if|whether|when|which|where)|settled\s+on|agreed\s+(?:to|on|that)|chose\s+to|"
        r"made\s+the\s+decision\s+to)|"
        r"\b(?:the\s+)?(?:final\s+)?decision(?:\s+is)?\s*:|\bit's\s+decided\b",
    ),
    _Rule(
        "decision",
        "high",
        "agent",
        rf"{_START}(?:let's|lets|we'll|we\s+will|we're|we\s+are|I'll|I\s+will|I'm)\s+"
        r"(?:go(?:ing)?\s+(?:ahead\s+)?with|us(?:e|ing)|stick(?:ing)?\s+(?:with|to)|adopt(?:ing)?|"
        r"switch(?:ing)?\s+to|drop(?:ping)?|"
        r"migrat(?:e|ing)\s+to|keep(?:ing)?)\s+(?!(?:this|that|it|going|you|your|in\s+touch|me|the\s+change)\b)\w",
    ),
    _Rule(
        "decision",
        "high",
        "agent",
        r"(?:我们?|最后|最终|已经|一致)决定(?!不了|没)|^决定[：:了]|敲定|(?<!没)(?<!必须)拍板[：:]|(?<![没还约锁固法预稳肯确否假])定了[：:，,]|"
        r"^(?:[^，,]{0,6}[，,])?定\s*[A-Z]|就(?:这么|这样|按这个)定|"
        r"(?:^|[，,。])(?:那)?就(?:用|选|上|走|定)?\s*[A-Za-z][\w.+#-]*(?:\s*(?:吧|了|，|,|$))|"
        r"(?:^|[，,。])那就(?!是|好|行|算|这样|先|不|没|可以|对|麻烦|等|来|去|有|会|得|要|说|祝|让|别|更|太|应该|意味|试|一起)\S.{1,}|"
        r"就(?:用|选)(?!了?这|于|来|得着|不着)\S+",
    ),
    # how the agent is to behave, and what people like
    _Rule(
        "preference",
        "high",
        "agent",
        rf"{_START}(?:please\s+)?(?:always|never|don't\s+ever|do\s+not\s+ever)\s+(?!mind\b|again\b|been\b|had\b|"
        rf"seen\b|worked\b|a\b|the\b)[a-z]+|"
        r"^(?:please\s+)?(?:don't|do\s+not|stop|avoid|no\s+more|no)\s+(?:us(?:e|ing)|add(?:ing)?|writ(?:e|ing)|"
        r"put(?:ting)?|giv(?:e|ing)|"
        r"sav(?:e|ing)|commit(?:ting)?|push(?:ing)?|emojis?|bullet)\b|"
        r"^(?:please\s+)?(?:keep|make|give|write|format|answer|reply|respond|lead|start|explain)\b.*\b(?:answers?|"
        r"repl(?:y|ies)|"
        r"responses?|explanations?|comments?|commit\s+messages?|bottom\s+line|conclusion)\b|"
        r"\b(?:in|for)\s+(?:the\s+)?future,?\s+(?:please\s+)?(?:use|do|don't|write|keep|give|avoid)\b",
    ),
    _Rule(
        "preference",
        "high",
        "agent",
        r"(?:^|[，,。；])(?:以后|今后|往后|从今以后|下次)(?!也|我们?会|会|可能|说不定|有机会|再说|再聊|还|见)[^，,]{0,14}"
        r"(?:都|请|先|别|不要|不用|一律|给我|只|要|再|记得|用|必须|默认)|"
        r"(?:别再|不要再|不许再)(?!说了|聊|提了|想|哭|难过|担心|犹豫)\S{2,}|"
        r"(?:回我|回复|回答|注释|代码里|源码里|文案|输出|说明|commit|排版)\S{0,10}?(?:别|不要|不用|只|全|都|一律|麻烦|直接)\S+|"
        r"(?:给我)\s*\S{1,12}\s*(?:就行|就好|即可)|(?:^|[，,。])(?:答案|结论)\S{0,4}(?:摆|放|写|在)\S{0,4}(?:前|上面|第一)",
    ),
    _Rule(
        "preference",
        "medium",
        "any",
        rf"{_I}(?:strongly\s+)?(?:prefer|favou?r|can't\s+stand|cannot\s+stand|dislike|detest|despise|loathe|"
        rf"don't\s+(?:like|enjoy|drink|eat|want\s+any)|"
        rf"do\s+not\s+(?:like|eat|drink)|avoid)\s+{_NOT_LIKED}\w|"
        rf"{_I}(?:would|'d)\s+(?:much\s+)?rather\b|(?:^|\s)I'd\s+(?:much\s+)?rather\s+(?!not\s+say)|"
        rf"{_IM}(?:not\s+)?(?:a\s+)?(?:huge\s+|big\s+|massive\s+)?(?:fan\s+of|partial\s+to|obsessed\s+with|"
        rf"hooked\s+on|allergic\s+to)\s+{_NOT_LIKED}\w|"
        rf"{_IM}(?:really\s+|so\s+|very\s+|super\s+|also\s+)*(?:into|passionate\s+about|keen\s+on)\s+{_NOT_LIKED}\w|"
        r"\bmy\s+(?:all[- ]time\s+|own\s+|personal\s+)?(?:absolute\s+)?(?:favou?rites?|faves?|favs?|go-to|"
        r"top\s+pick|preferred)\b.{0,40}\b(?:is|are|was|has|'s|would)\b|"
        r"\b(?:is|are|was|'s|'re)\s+(?:also\s+|definitely\s+|always\s+|"
        r"pretty\s+much\s+)*(?:one\s+of\s+)?my\s+(?:all[- ]time\s+|absolute\s+)?"
        r"(?:favou?rites?|faves?|favs?|go-to|top\s+pick|passion|escape|happy\s+place|jam|stress[\s-]\w+)\b",
    ),
    _Rule(
        "preference",
        "medium",
        "any",
        rf"{_I}(?:like|love|enjoy|adore|hate)\s+{_NOT_LIKED}(?!.*\b(?:you|your)\b)(?:\w+ing\b|to\s+\w+|(?!(?:to|is|"
        rf"was|are)\b)[\w-]+(?:\s+[\w-]+)*?\s+and\s+\w+|"
        r"(?!(?:the|a|an|my|our|his|their|about|most|more|every|some|to|is|was|are)\b)[\w'-]+)",
    ),
    _Rule(
        "preference",
        "medium",
        "any",
        r"(?:^|[，,。；\s：:])(?:但是?|其实|不过|对了|因为|嗯|而且|平时|平常)?[，,]?我(?:自己|个人|本人|这人)?(?:平时|平常|一般|通常|从小|一直|最近)?"
        r"(?:就|真的|真|很|最|特别|比较|更|超级?|还是|一向|都|也|非常|挺|蛮|尤其|主要|其实)*"
        r"(?:不(?:太|怎么|是很)?)?(?:喜欢|偏好|偏爱|讨厌|习惯|受不了|倾向于?|不爱|爱吃|爱喝|爱看|爱听|中意|宁愿|不吃|不喝|忌口|不碰|害怕|迷上了)"
        r"(?!上了?他|上了?她|你|您|这样|这个|那个|它|的[。，,]?$|了[。，,]?$|[。，,！!]|$)\S|"
        r"我(?:最|特别|很)?(?:喜欢|爱|讨厌|中意)的\S{1,20}(?:是|就是)\S|是我(?:最|特别|很)(?:喜欢|爱|中意|讨厌)的|"
        r"\S(?:我都?(?:沾不得|不能碰|碰不得|不能吃|彻底戒了|都?戒了))|我的?(?:偏好|口味|习惯|爱好|兴趣)(?:是|就是)",
    ),
    # how things are done
    _Rule(
        "workflow",
        "high",
        "agent",
        r"\bfrom\s+now\s+on\b|\bgoing\s+forward\b|\bas\s+a\s+rule\b|\bour\s+(?:process|workflow|convention|policy|"
        r"rule)\b.{0,30}\b(?:is|are)\b|"
        r"\bwhenever\s+(?:we|I|you)\b.+,|\b(?:every|each)\s+time\s+(?:we|I|you)\b.+,|"
        r"(?:立|定)(?:个|了条?|一条)规矩|(?:死|硬)规矩|规矩(?:是|不变|[：:])|标准(?:流程|套路|做法|写法)|不许|不准|(?<!今晚)(?<!今天)(?<!明天)必须(?:等|先|带|"
        r"走|由|自己|经过)",
    ),
    _Rule(
        "decision",
        "high",
        "agent",
        r"(?:统一|一律)(?:用|走|改|换|成|采用|改成|放)|"
        r"(?:改成|换成|改为|换为)(?!.*(?:秒回|就好|达标|搞定|就通))\s*(?:只有|每|[A-Z\d]|异步|同步)",
    ),
    _Rule(
        "workflow",
        "medium",
        "any",
        rf"{_I}(?:\w+\s+){{1,3}}.*\b(?:every|each)\s+(?:single\s+)?(?:morning|night|evening|day|week|weekend|month|"
        rf"year|mon|tues|wednes|thurs|fri|satur|sun)\w*\b",
    ),
    _Rule(
        "workflow",
        "medium",
        "any",
        r"\b(?:we|I)\s+(?:always|usually)\s+(?!love|wanted|been|wondered|thought|knew|have\b|had\b|felt|dreamed|"
        r"loved|liked)\w+",
    ),
    _Rule(
        "workflow",
        "medium",
        "any",
        r"(?:我|我们|组里|团队|公司|咱们?)[^，,。]{0,12}每(?:天|周|个?月|年|逢|次|晚|早)[^，,。]{2,}|每(?:周|个?月|"
        r"逢)[一二三四五六日天\d\s号、和]*[^，,。！]{0,12}(?:我|是|开|发|要|定投|例会|周会)",
    ),
    # lessons
    _Rule(
        "experience",
        "medium",
        "any",
        r"\b(?:turn(?:s|ed)\s+out\s+(?:that\s+|to\s+be\s+|the\b|it\b|we\b|I\b)|the\s+(?:fix|culprit|root\s+cause|"
        r"solution|trick|real\s+problem|workaround)\s+(?:was|is|turned)\b|"
        r"root\s+cause\b|lessons?\s+learn(?:ed|t)|learn(?:ed|t)\s+(?:the\s+hard\s+way|that\b)|"
        r"what\s+(?:finally\s+)?(?:worked|fixed\s+it|helped)\s+was)",
    ),
    _Rule(
        "experience",
        "medium",
        "agent",
        r"原来是|(?:原因|根因|问题)(?:就)?(?:是|出在|在于)|(?:确实|果然|就)是\S+?[，,]\S{0,8}(?:就好|就行|就通|搞定|解决)|是\S+?[，,]\S{0,14}就(?:好|通)了|"
        r"教训|踩(?:过|了)?(?:的)?坑|坑过|(?:解决|修复)(?:办法|方法|方案)?(?:是|[：:])|(?:改成|换成|加上)\S.{0,12}(?:秒回|就好了|搞定|达标|不报错|恢复)|"
        r"下[回次]\S{1,10}先\S+",
    ),
    # facts
    _Rule(
        "fact",
        "high",
        "any",
        rf"\bmy\s+(?:full\s+|first\s+|last\s+)?name(?:'s|\s+is)\b|\bI'm\s+called\b|\bcall\s+me\s+[A-Z]|"
        rf"\bmy\s+(?:birthday|anniversary|pronouns|blood\s+type|address|phone)\b.{{0,20}}\b(?:is|are|was)\b|"
        rf"\bI\s+was\s+born\b|{_IM}(?:\w+ly\s+)?allergic\b|\bmy\b.{{0,30}}\ballerg|\ballergic\s+to\b|"
        rf"{_IM}(?:diabetic|pregnant|vegan|vegetarian|coeliac|celiac|asthmatic)\b|"
        r"(?:^|[，,。：:\s])我(?:的名字)?(?:就)?叫(?!了|你|他|她|它|的|车|外卖|住|上|不|到|做)\S|过敏(?!吗|怎|的症状|原因|药)|我(?:的)?生日|"
        rf"我(?:的)?{_HAN_KIN}(?:的)?(?:生日|名字|叫|今年\d)",
    ),
    _Rule(
        "fact",
        "medium",
        "any",
        rf"{_I}(?:work(?:ed)?\s+(?:as|at|for|in)|live|lived|moved|grew\s+up|volunteer|graduated|majored|enrolled|"
        rf"retired|got\s+(?:married|engaged|promoted|accepted|hired|fired|laid\s+off|diagnosed|divorced)|"
        rf"(?:got|landed|lost|quit|left|started|accepted|opened|launched|founded|bought|adopted|sold|run|own|"
        rf"have)\s+(?:(?:a|an|my|the|our|own|new|first|second|temp|online|own|two|three|four|small|local|own)\s+)*"
        rf"(?:[\w-]+\s+)?{_JOB}|speak\s+[A-Z]|play\s+(?:the\s+)?(?:piano|guitar|violin|drums|clarinet|bass|sax\w*|"
        rf"cello|flute|ukulele))\b|"
        rf"{_IM}(?:working\s+(?:at|as|for)|living\s+in|moving\s+to|based\s+in|from\s+[A-Z]|married|engaged|"
        rf"divorced|single\b|a\s+single|retired|studying|majoring|training\s+for|\d{{2}}\s+years\s+old)|"
        rf"{_IM}an?\s+(?!(?:bit|little|lot|mess|fan|big|huge|sucker|believer|wreck|fool|few|total|complete|firm|"
        rf"mix|sure|step|work|good|great|better|tad|beginner\s+at)\b)(?:[\w-]+\s+){{0,3}}?"
        rf"(?:\w+(?:er|or|ist|ian|ant|ent|eer|man|woman|nurse|chef|coach|mom|dad|vet|pro))\b|"
        rf"{_IVE}been\s+(?!dreaming|thinking|wanting|meaning|looking|waiting|feeling|trying|busy|one\b)(?:\w+ing|"
        rf"married|together|a\s+\w+|into|in\s+[A-Z]\w+)\b.*\b(?:for\s+(?:\d+|a\s+(?:few|couple|decade|year)|many|"
        rf"several|two|three|four|five|six|seven|ten|years|ages)|since)\b|"
        rf"{_IVE}(?:got\s+)?(?:a|an|one|two|three|four|five|\d)\s+(?:\w+\s+){{0,2}}?{_KIN}\b|{_I}have\s+(?:a|an|"
        rf"one|two|three|four|five|\d)\s+(?:\w+\s+){{0,2}}?{_KIN}\b|"
        rf"{_I}used\s+to\s+(?!it|that|(?:think|be|love|like|feel|get|hate|struggle|worry|always)\b)\w+|"
        rf"\bmy\s+(?:\w+\s+)?{_KIN}(?:'s)?\s+(?:name\b|birthday\s+(?:is|was|in|on)\b|named\b|is\s+(?:a|an|called|"
        rf"named|from|\d|allergic|in|turning|getting)|has\s+(?:a|an|been|two|three|diabetes|high)|works\b|lives\b|"
        rf"turned\b|turns\b|passed\s+away|moved\b|started\s+(?:school|college|work))",
    ),
    _Rule(
        "fact",
        "medium",
        "any",
        r"(?:^|[，,。：:；\s])我(?:今年|现在|目前|已经|之前|以前|也|还)?(?:是(?:一[名个位]|个|做|在|学|搞|[^，。]{0,8}(?:人|员|师|生|医生|经理|主管|负责人|"
        r"工程师|老师|律师)(?:[，,。]|$))|"
        rf"住在?|(?:的)?老家|(?:的)?家乡|在[^，,。]{{1,20}}(?:工作|上班|上学|读书|读研|实习|做(?!了|客|梦|事|饭|菜|什么)\S{{1,6}})(?!过|吗|的时候)|毕业于|"
        rf"姓(?!什么)|从事|家住|家用的是|用的是|(?:编辑器|电脑|机器|手机)用|现在用|"
        r"\d{2}\s*岁|转(?:任|岗|正|技术|行)|入职|离职|升职|结婚|离婚|怀孕|换了工作|搬(?:家|到)|从\s*\d{4}\s*年)|"
        rf"我(?:的)?{_HAN_KIN}(?:的)?(?:(?:身高|年龄|学历|教育背景|家乡|老家|职业|工作|邮箱|电话|爱好|公司|性格|上班)\S{{0,8}}(?:是|在|叫|为)?|是(?!不是|谁|"
        rf"在)\S|在\S{{1,12}}(?:工作|上班|上学|读书)|读了|有(?!没有|点|些|时)\S)|"
        rf"是我的?{_HAN_KIN}(?!吗|呢)|我(?:的)?(?:职级|职位|职务|岗位|主力语言|电话|邮箱|血型|身高|体重|星座|学历|专业|车|房子|公司|小区)(?:是|叫|为|在)|"
        rf"我住的\S{{0,6}}叫",
    ),
    _Rule(
        "fact",
        "medium",
        "agent",
        r"(?:转|升)(?:为|任|成)?(?:\S{{0,6}})(?:负责人|经理|主管|总监)|(?:提|办)?离职(?!原因)|我[^，,。]{{0,10}}居家办公|(?:从|"
        r"自).{{1,8}}起.{{0,12}}(?:挪到|改到|加到|停|恢复|居家|调到)|(?:推迟?|延期?|提前|改|挪|调整)到\s*(?:周|\d|下)|(?:加|升|涨|降|收)到\s*\d",
    ),
    # tools
    _Rule(
        "skill_usage",
        "medium",
        "any",
        rf"{_I}know\s+how\s+to\b|{_IM}(?:fluent|proficient|experienced|skilled|certified)\s+(?:in|with|at)\b|"
        rf"{_IVE}been\s+using\b|{_I}use\s+(?!it|that|this|to|them)[A-Z`][\w.`+-]*\s+(?:for|to|as|with|on)\b|"
        r"我(?:比较|很|挺)?(?:熟悉|精通|擅长|会用|会写|会说|会弹)(?!吗)\S",
    ),
)

_HYPOTHETICAL = (
    r"(?i:\b(?:if\s+(?:I|we|you|only)|what\s+if|suppose|imagine|wish|as\s+if|pretend|for\s+example|e\.g\.|"
    r"hypothetically)\b)|"
    r"如果|假如|要是|假设|万一|倘若|比如说|好比|幻想|想象一下"
)
_REPORTED = (
    r"(?i:\b(?:he|she|they|people|someone|everyone|who|friends?|mom|mum|dad|[A-Z][a-z]+)\s+(?:said|says|"
    r"told\s+(?:me|us)|thinks?|thought|asked|claims?|wrote)\b[^.;]*$)|"
    r"(?:他们?|她们?|人家|有人|别人|同学|朋友|网上|文章|书上)[^，,。]{0,6}(?:说|觉得|认为|问|讲|写)[^，,。]*$"
)
_WHEN = (
    r"(?i:\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next)\s+(?:week|weekend|month|year|night|summer|"
    r"winter|spring|fall|autumn|mon|tues|wednes|thurs|fri|satur|sun)\w*|"
    r"(?:a\s+few|two|three|\d+|a\s+couple\s+of)\s+(?:days|weeks|months|years)\s+ago|(?:a|the\s+other|"
    r"one)\s+(?:day|week|month|year)\s+ago|the\s+other\s+day|on\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"(?:in|on|last|next)\s+(?:january|february|march|april|june|july|august|september|october|november|december)|"
    r"in\s+(?:19|20)\d\d|back\s+in|"
    r"(?:this|last)\s+(?:morning|afternoon|evening)|just\s+(?:got|finished|started|launched|opened|signed|joined|"
    r"bought|came|passed|had|moved|took|made|won))\b)|"
    r"昨天|昨晚|前天|今天|今早|今晚|明天|后天|上周|下周|上个?月|下个?月|去年|明年|周末|周[一二三四五六日天]|\d+\s*月\s*\d+\s*[日号]|(?<![\d.])\d{1,2}\s*号|月底|"
    r"年底|将要|打算|计划|准备"
)
_DOING = (
    r"(?i:\b(?:I|we|my\s+\w+|our\s+\w+)(?:'m|'ve|'re|'d|'ll)?\b)|^(?:Just\s+)?(?:Got|Went|Had|Took|Lost|Finished|"
    r"Started|Met|Bought|Made|Been|Signed|Joined|Ran|Won)\b|我|咱"
)


class _Compiled(NamedTuple):
    rule: _Rule
    pattern: re.Pattern[str]
    needs_day: bool
    script: Literal["han", "latin", "both"]


@cache
def _rules(talk: Talk) -> tuple[_Compiled, ...]:
    """The rules of a kind of talk, compiled at first use; `(?=DUE)` in a pattern asks for a day to come."""
    return tuple(
        _Compiled(
            rule, re.compile(rule.pattern.replace("(?=DUE)", "")), "(?=DUE)" in rule.pattern, _script(rule.pattern)
        )
        for rule in _TABLE
        if rule.talk in (talk, "any")
    )


def _script(pattern: str) -> Literal["han", "latin", "both"]:
    """What a text must hold for a pattern to have a chance: it is not tried on the others."""
    if not re.search(r"[\u4e00-\u9fff]", pattern):
        return "latin"
    return "both" if re.search(r"[a-z]{3}", pattern) else "han"


@cache
def _guards() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in (_HYPOTHETICAL, _REPORTED, _WHEN, _DOING))


_LEAD = (
    r"^(?:(?:(?:还有|还有个事|还有个怪的|对了|另外|噢对|噢|嗯+|行吧?|好的?|哈哈+|ok|对嘛|说正事|换个话题|汇报战况|知道|有|不用|"
    r"提两个意见|说下\w{1,3}|再补\w{1,8}|生活方面|换换脑子|好险|二|一)[，,：:。\s]+)|(?:对了|还有|另外)(?=[^，,])|"
    r"(?i:(?:yeah|yes|yep|oh|well|also|btw|by the way|anyway|plus|and|so|wow|hey|haha|lol|ok|okay|sure|actually|"
    r"thanks|hmm)(?:\s*[,!:-]\s*|\s+(?=I\b))))+"
)


def without_lead(text: str) -> str:
    """`text` without the small words by which talk goes on (`Oh, …`, 对了，…)."""
    return re.sub(_LEAD, "", text) or text


def find(sentence: str, *, talk: Talk, dated: bool) -> Cue | None:
    """What a stated sentence is, by the first cue that fits; None if there is none.

    `dated` says whether the sentence names a day that is still to come.
    """
    text = _opened(sentence.replace("’", "'"))
    han = re.search(r"[\u4e00-\u9fff]", text) is not None
    hypothetical, reported, _, _ = _guards()
    for rule, pattern, needs_day, script in _rules(talk):
        if (script == "han" and not han) or (needs_day and not dated):
            continue
        found = pattern.search(text)
        if found is None:
            continue
        before = text[: found.start() + 1]
        firm = rule.kind in ("forget", "explicit")
        if not firm and (hypothetical.search(before) or reported.search(before)):
            continue
        return Cue(rule.kind, rule.importance, _content(sentence, found))
    return None


def _opened(text: str) -> str:
    """`text` with its first letter small, so that a pattern need not care where a sentence begins."""
    return text if re.match(r"I\b|[A-Z]{2}", text) else text[:1].lower() + text[1:]


def _content(sentence: str, found: re.Match[str]) -> str:
    """What is left when the command is taken off, or the whole sentence."""
    for name, part in found.groupdict().items():
        if name.startswith("rest") and part:
            return sentence[found.start(name) : found.end(name)].strip(" ，,：:;；-")
    return sentence


def is_event(sentence: str) -> bool:
    """Whether a sentence tells what the speaker (or theirs) did or will do at some time: worth a note."""
    text = sentence.replace("’", "'")
    hypothetical, _, when, doing = _guards()
    if hypothetical.search(text) or re.search(_TELLING, text):
        return False
    return bool(when.search(text) and doing.search(text))


_TELLING = (
    r"(?i:\b(?:tell\s+you|here's|here\s+is|check\s+(?:it|this)|feels?\s+like|you\s+(?:know|remember)|remembering)\b)"
)
"""Talk about the talk: what was going to be told, shown or recalled."""
