"""Classify a sentence by rules: an order to forget or remember, a statement, an event, or nothing.

A statement is kept unless something speaks against it. Rules say what a person does not mean to be known of them (a
question, a guess, a joke, a task, somebody else's words, how it is just now), not in which words they state things.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from memorybook.entries.read_reply import Audience, Importance
from memorybook.entries.replaces import CHANGED
from memorybook.forget.order_patterns import FORGET, LEFT_OUT, PRIVATE, SHORT
from memorybook.model import Category
from memorybook.text.sentences import compiled, content_size, is_question
from memorybook.text.tokens import is_chinese

Kind = Category | Literal["explicit", "forget"]
"""A category, or an order to remember (then filed by its content), or an order to forget."""


class Cue(NamedTuple):
    """The class of a sentence.

    Attributes:
        kind: A category; `explicit` (an order to remember) or `forget` (an order to forget).
        importance: How firmly it was said.
        content: The statement without the order to remember it; "" if that only points at what was said before.
    """

    kind: Kind
    importance: Importance
    content: str


def find(sentence: str, *, talk: Audience, dated: bool = False) -> Cue | None:
    """Classify a sentence; None if it is nothing to keep. `dated`: it names a day in the future."""
    if talk == "agent":
        if _forgets(sentence):
            return Cue("forget", "high", sentence)
        order = ordered_statement(sentence)
        if order is not None:
            return Cue("explicit", "high", order) if order or refers_back(sentence) else None
    return Cue(*classify(sentence, talk, dated=dated), sentence) if states(sentence, talk) else None


@lru_cache(maxsize=4096)
def _forgets(sentence: str) -> bool:
    text = _lowercase_first(sentence.replace("’", "'"))
    if compiled(_FEARED).search(text):
        return False
    if content_size(text) < (3 if is_chinese(text) else 4) and not (
        compiled(SHORT).match(text) or compiled(LEFT_OUT).search(text)
    ):
        return False
    return compiled(FORGET).search(text) is not None or bool(
        compiled(PRIVATE).search(text) and compiled(_EARLIER).search(text)
    )


_FEARED = (
    r"(?i:\b(?:before|in case|lest|so (?:that )?|until) (?:I|we|you)\b[^,;:.]{0,30}\bforget\b)|"
    r"[免省]得[^，。]{0,6}忘|趁[^，。]{0,6}没忘"
)
"""Phrases that fear forgetting rather than order it."""

_EARLIER = (
    r"(?i:\b(?:the\s+(?:bit|part|thing|story|quarrel|row)|what\s+I\s+(?:said|told)|I\s+(?:told\s+you|said|mentioned)|"
    r"earlier|last\s+time|everywhere)\b)|上[回次]|之前|刚才|那[段几件事些句]|说过|[讲说]的"
)
"""Phrases that point at something said before."""


def _lowercase_first(text: str) -> str:
    """Return the text with its first letter in lower case, as patterns expect; `I` and acronyms stay."""
    return text if compiled(r"I\b|[A-Z]{2}").match(text) else text[:1].lower() + text[1:]


# --- told to remember ------------------------------------------------------------------------------

PAST = r"was|were|had|did|got|went|came|saw|said|took|made|ran|met|fell|bought|lost"
"""Verbs in the past tense."""

_THIS = r"(?:this|that|it|these|those)"
_THIS_ZH = r"(?:[这那][个一]?[条点句些件]?(?:事情?|话)?|它)"
_ORDER = (
    r"(?i:(?P<en>(?:^|[,;:.!–—-]\s*|\b(?:please|and|also|so|but|do|just|ok|okay|you\s+(?:should|must)|(?:can|"
    r"could)\s+you|I(?:'d\s+like|\s+want)\s+you\s+to)[,\s]+)(?:please\s+)?"
    rf"(?:remember(?!\s+(?:when\b[^,]*\b(?:{PAST}|(?!need)\w\w+ed)\b|"
    r"how|the\s+time|last|yesterday|what|me\b|our\s+\w+\W*$|us\b|anything))|"
    r"(?:take\s+)?note(?=\s+(?:that|this)\b|\s*:)|"
    rf"(?:keep|bear)\s+(?:{_THIS}\s+)?in\s+mind|(?:do\s+not|don't)\s+forget|make\s+a\s+note|for\s+the\s+record|"
    rf"memori[sz]e|"
    rf"(?:write|note)\s+(?:{_THIS}\s+)?down|put\s+{_THIS}\s+down|save\s+{_THIS}|one\s+(?:thing\s+)?for\s+your\s+memory|"
    rf"(?:hang|hold)\s+on\s+to\s+{_THIS}|(?:put|keep)\s+{_THIS}\s+(?:somewhere|where)\s+[^,.:;]*)"
    rf"(?:\s+(?:to\s+memory|please|of(?=\s+{_THIS}\b)|that\s+(?=I\b|my\b|our\b|we\b)|{_THIS}|the\s+following|"
    rf"for\s+(?:later|me|next\s+time)))*))"
    r"|(?P<zh>(?<![我别])(?<!我[来先])(?<!不[要用])(?:请|麻烦|帮我|替我|给我|你|您|顺手|顺便|顺带|另外|还有|再|先|也|务必|一定|千万|可|要|得)*"
    rf"(?P<held>把(?:[^，,。：:]{{1,10}}?)|{_THIS_ZH}(?:你|帮我|替我|给我|先|也|要|得)*)?(?:请|麻烦|帮我|替我|给我)*"
    r"(?:记(?:住|一?下来?|着|好|得(?!了)|一笔|个?(?:待办|笔记))|牢记|别忘(?:记?了|记)?(?=[：:，,\s我]|[^记]{3})|备注(?:一下)?|收着|留着(?=[，,。]|$)|"
    r"放(?:你那[儿里]?|(?:进|在|到)?日历上?))(?:一下|一点)?(?![了过吗没错不]|上次|小时候|当时|以前|那时)(?:[吧啊哦哈呀]*(?=[：:，,。！!\s]|$))?)"
)
"""The words of an order to remember, anywhere in a sentence."""

_ELSEWHERE = (
    r"(?i:[\W_]*(?:(?:please|and|so|but|too|also)[,\s]+)*(?:before|after|when|while|until|till|if|for|in\s+case|once|"
    r"prior|as(?!\s+a\s+rule)|since|too|please|later|thanks)\b)|"
    r"[\W_]*(?:(?:我们|咱们?)?(?:再|接着|继续|先[讲说聊看]|回头|待会|等[会下]|稍后)|以后再|下面|下一|往下|走之前|师傅|谢谢)"
)
"""Beginnings of what follows an order without being its content: when, what for, what comes next."""

_CONDITION = (
    r"(?i:(?:when(?:ever)?|if|once|unless|before|after|while|until|in\s+case)\s+(?:[^,]*,\s*(?!please|thank)\S+\s|"
    r"[^,\s]+\s[^,]+\s(?:I|we|you|he|she|it|they)\s+\w+)|(?:when|if|once|unless)\s[^,]*\sto\s)"
)
"""Beginnings of a condition that its main clause follows: the order is kept whole."""

_ASIDE = (
    r"(?i:\b(?:(?:while|now\s+that|since|as|if)\s+(?:I|we|you)(?:'re|\s+don't)?\s+(?:think|mind|mention|at|"
    r"said|speak)(?:\s+(?:of\s+)?(?:it|that))?|by\s+the\s+way|btw|also|oh|and|so|please|ok|okay|well|then|"
    r"(?:another|one\s+more)\s+thing)\b)|说到[这那]个?|不介意的?话|(?:顺便|话)说(?:一句|回来)|"
    r"顺便|另外|还有(?:一?件?事|一点)?|对了|麻烦|噢|那|好的?|[哈啊嗯]|提醒|日子|师傅来之前"
)


def ordered_statement(text: str) -> str | None:
    """Return the statement that a sentence orders to remember; "" if it has none; None if it is no such order."""
    text = compiled(rf"(?:{_FEARED})[^,:，：]*[,:，：]\s*").sub("", text)
    order = compiled(_ORDER).search(text.replace("’", "'"))
    if order is None:
        return None
    before, after = text[: order.start()].strip(" ，,:：;；—–-"), text[order.end() :].strip(" ，,:：;；—–-")
    if content_size(compiled(_ASIDE).sub(" ", before)) >= (2 if is_chinese(before) else 3) and not is_question(before):
        bare = compiled(_ELSEWHERE).match(after) or content_size(after) < 3
        return before if not after or (bare and content_size(after) < 6 and "," not in after) else text
    if compiled(_CONDITION).match(after):
        return after
    if compiled(_ELSEWHERE).match(after) and order["held"] is None and text[order.end() : order.end() + 1] != "：":
        return ""
    if order["held"] and not compiled(rf"{_THIS_ZH}|把{_THIS_ZH}").match(order["held"]):
        return ""
    after = compiled(rf"(?:{_THIS_ZH})[，,]").sub("", after, count=1) if order["held"] is None else after
    if compiled(_ELSEWHERE).match(after) or compiled(_NAMED_ONLY).match(after):
        return ""
    return after if content_size(after) >= 2 else ""


_NAMED_ONLY = (
    r"(?:(?i:(?:my|our|your|the)\s+[a-z]+)|(?:我们?的)?(?:(?![是叫姓在有不吃住])[一-鿿]){1,3})[\s.!。！吧啊呀]*$"
)
"""A bare name of a thing, no statement."""


def refers_back(text: str) -> bool:
    """Return whether an order to remember points at what was said before it: `remember that, before we …`."""
    order = compiled(_ORDER).search(text.replace("’", "'"))
    return (
        order is not None
        and (order["held"] is None or compiled(rf"(?:把)?{_THIS_ZH}").match(order["held"]) is not None)
        and (compiled(rf"(?i:\b{_THIS}\b)|{_THIS_ZH}").search(text) is not None)
    )


# --- statements ------------------------------------------------------------------------------------

STANDING = (
    r"(?i:\b(?:always|never|from\s+(?:now|today|this\s+day)\s+on(?:wards?)?|(?:as\s+of|starting)\s+(?:now|"
    r"today),?\s+(?:please\s+|only\s+)*(?:use|write|answer|reply|speak|"
    r"call|keep|always|never|don't|stop|we|I)|going\s+forward|as\s+a\s+rule|"
    r"every|each|ever|whenever|when\s+you\s+(?!are\b|have\b|finish|get\b|can\b|see\b|find\b|need\b)\w+|by\s+default|"
    r"no\s+more|only|in\s+(?:the\s+)?future|instead)\b)|"
    r"以后|今后|往后|一律|从(?:现在|今天|今日|即日)(?:起|开始|往后)|每|必须|不许|不准|只准|规矩|都要|下次|"
    r"[给帮替跟]我[^，。]{1,8}时"
)
"""Words that make an order a lasting one."""

FOR_GOOD = (
    r"(?i:^(?:please\s+)?(?:always|never|don't|do\s+not)\b|\b(?:from|as\s+of|starting)\s+(?:now|today|this\s+day)\b|"
    r"\bgoing\s+forward\b|\bin\s+(?:the\s+)?future\b)|以后|今后|往后|从(?:现在|今天|今日|即日)|别再|不要再"
)
"""Words that make an order to an agent a permanent one."""

DECIDED = (
    r"(?i:\b(?:(?:decided|settled\s+on|agreed|chose|chosen|picked|final\s+decision|decision\s*:)\b|"
    r"(?:let's|lets|we'll|we\s+will|we're|I'll|I'm)\s+(?:go(?:ing)?\s+(?:ahead\s+)?with|us(?:e|ing)|"
    r"stick(?:ing)?\s+(?:with|to)|"
    r"adopt(?:ing)?|switch(?:ing)?\s+to|drop(?:ping)?|migrat(?:e|ing)|keep(?:ing)?)\s+(?!(?:this|that|it|you|your|me|"
    r"in\s+touch)\b)|"
    r"^go\s+with\s))|(?=[\u3400-\u9fff])(?:决定|下决心|敲定|拍板|定(?:下来)?了|选了|就(?:用|选|定)|(?:统一|一律)(?:用|走|改|换|采用|写|存|按)|(?:改|换)(?:成|为|"
    r"用)|那就(?![这那是好行算]))"
)
_TASK = (
    r"(?i:(?:(?:please|now|then|so|and|also|but|just|ok|okay|well|first|right)[,\s]+)*(?:"
    r"(?:(?:can|could|would|will)\s+you|let\s+(?:me|us|'s)|let's|lets|help|I(?:'d\s+like|\s+(?:want|need)\s+(?:you|"
    r"to\s+know|help)))\b|"
    r"(?:add|answer|ask|be|book|build|buy|call(?!\s+me\s+(?-i:[A-Z]))|change|check|choose|clean|come|compare|consider|continue|count|create|"
    r"delete|deploy|describe|"
    r"do|draft|explain|find|fix|forget|get|give|go|guess|help|hurry|ignore|implement|install|migrate|keep|list|look|"
    r"make|mind|move|note|open|order|pick|plan|print|"
    r"put|read|recommend|remember|remove|rename|reply|refactor|rerun|reveal|run|say|search|see|send|set|show|sort|"
    r"start|stop|style|suggest|summari[sz]e|take|tell|"
    r"test|thank|thanks|translate|try|turn|update|use|wait|watch|write)(?:\s|[,!.]|$)|you\s+(?:don't|do\s+not|"
    r"needn't|shouldn't)\b|(?:don't|do\s+not)\s+(?:\w+\s+)?(?:that|this|it|those)\b))|(?:千万|就|先)?(?:别|不要|不用|不必|甭)|"
    r"(?:(?!我)(?:现在|[请麻烦那就先再你您给帮替我忙来快顺便还是把]){0,6}|.{0,8}(?:帮我|替我|给我|麻烦))(?:看[看下一]|查|找|写|改一?下|改改|跑[一下个]|读|扫|列|总结|翻|解释|告诉|"
    r"说[说一下]|讲[讲一下]|试|算[算一下]|画[个张一]|把[^，。]{1,14}(?:一[遍下]|掉|给我|上去|出来)|推荐|整理|对比|"
    r"检查|修[复好改]|排查|部署|实现|分析|生成|做个|来[个一]|换个|继续|开始|打开|搜|订[个一]|买[个一]|填|留个)"
)
"""Beginnings of a task for now; lasting orders are no tasks (`STANDING`)."""

_HOW_TO_SPEAK = (
    r"(?i:\b(?:answers?|repl(?:y|ies)|respon(?:d|ses?)|explanations?|comments?|commit\s+messages?|emojis?|bullets?|"
    r"bottom\s+line|conclusion|praise|units?|prices?)\b)|回答|回复|输出|注释|答案|结论|表情|排版|文案|代码里"
)

_JEST = (
    r"[😂🤣😆😜🙃]|(?i:\b(?:lol|lmao|rofl|jk|ha(?:ha)+|jok(?:e|ing)|kidding|gotcha|messing\s+with|pulling\s+your)\b|"
    r"(?:^|[,;–—-]\s*)(?:not\s+really|as\s+if)\W*$)|哈哈|嘻嘻|呵呵|开(?:个|玩)|玩笑|[骗逗唬]你|[说闹]着玩|才怪|[瞎胡][说扯编][的呢啊啦]|[还也]真信"
)
"""Words that mark a joke."""

_NOT_MEANT = (
    # in jest; a secret, or what was one; an aside
    rf"{_JEST}|^[(（\[]|\[REDACTED|😅|"
    r"(?:\d[ -]?){13,19}(?![\d-])|\s/\s(?=\S*\d)(?=\S*[A-Za-z])[^\s,，。]{8}|"
    r"(?i:\b(?:(?:login|password|passcode|passphrase|credentials?)\b|"
    # it may be so, or might
    r"(?:someone|somebody|something|if|unless|suppose|supposing|imagine|wish|pretend|maybe|perhaps|probably|"
    r"might|could|would(?!\s+(?:much\s+)?rather)|"
    r"hypothetically|for\s+example|e\.g\.|wonder|whether|what\s+if|as\s+though|not\s+sure|wanting\s+to|undecided|who\s+knows)\b|"
    r"^(?:as\s+of|for)\s+now,?\s+(?:the|it|this|all)\b|^(?:what|how)\s|^we(?:'ve|\s+have)?(?:\s+(?:all|"
    r"both))?\s+(?:agreed|settled)\s+(?:on|to)\s+(?:that|it|this)\b[^,]*$|"
    r"(?:haven't|have\s+not|hasn't|not|never|no(?:thing|body)(?:'s)?|can't|cannot|still|yet|n't|to\s+be)\s+(?:\w+\s+){0,2}?"
    r"(?:decided?|agreed?|settled?|chosen|made\s+up)\b|no\s+decision\s+(?:yet|so|on|about)|jury\s+is|torn\s+between|"
    r"decided\s+(?:nothing|what|how|if|when|which|where)\b|"
    # somebody else's words
    r"(?:he|she|they|people|someone|somebody|everyone|who|(?:my|our|his|her|the)\s+(?!(?:doctor|physio|dentist|"
    r"vet|surgeon|"
    r"neurologist|consultant)\b)(?:\w+\s+)?\w+|(?!(?:I|We|Dr)\b)(?-i:[A-Z])\w+)\s+(?:said|says|told|thinks?|thought|"
    r"asked|claims?|claimed|wrote|reckons?|"
    r"swears?|insists?|jokes?)\b|(?:his|her|their)\s+words\b|(?:allegedly|supposedly|apparently)\b|reads:|AI\s+assistants?\b|"
    # a mood, an opinion, talk about the talk
    r"(?:I|we)\s+(?:just\s+|really\s+|don't\s+|do\s+not\s+|can't\s+|still\s+)*(?:think|guess|feel|hope|want\s+to|bet|"
    r"believe|mean|suppose|know|forgot|"
    r"remember|wonder|swear|understand|see|agree)\b|I'm\s+(?:(?:a\s+bit|so|very|really|just|not)\s+)*(?:trying|"
    r"looking|thinking|wondering|"
    r"feeling|going\s+to|getting|seeing|stuck|tired|sorry|happy|glad|afraid|sure|back|done\s+here|curious|confused|"
    r"bored|sad)\b|"
    r"^(?:I|we)\s+(?:\w+\s+)?(?:like|love|hate)\s+(?:that|this|it|these|those|you|your|how|what|the\s+\w+\s*(?:idea|"
    r"one|plan|way|look|sound)?[.!]*$)|"
    r"(?:thank(?:s|\s+you)|never\s+mind|you\s+(?:won't|wouldn't)\s+believe|can\s+you\s+imagine)\b))|"
    # the same in Chinese
    r"(?=[\u3400-\u9fff])(?:(?:密码|口令)\W*[是为]?\W*(?=\d*[A-Za-z])\w{6}|"
    r"^那?(?:我们)?就这么(?:说)?定了。?$|如果|要是|假如|假设|万一|倘若|要不(?![然要得])|也许|可能|说不定|大概|估计|"
    r"好像|琢磨|不[\u4e00-\u9fff]{1,2}我就|想象|幻想|哪天|没(?:有?决|敲)?定|没(?:拍板|想好|下决心)|[决拿]定不了|犹豫|拿不[准定]|待定|"
    r"(?:考虑|打算|准备|计划)(?!.*\d)|还有[^，。]{1,4}[天周个]|(?:他们?|她们?|人家|有人|别人|网上|[同网朋室]友|同[事学]|老板|客户|领导|邻居|[奶爷爸妈哥姐弟妹姨婆姑]|弟媳|"
    r"亲戚|猎头|销售|广告[里上]?)[^，,。]{0,8}?(?:说(?!好|定)|讲(?!课)|认为|问|写的?是|喊|念叨|觉得)|我[^，,。我会]{1,4}[说讲问]|原话|据说|听说|吹[吧牛]|书上|"
    r"文章里|发来的|通知[：:]|人工智能|我(?:觉得|感觉|希望|想要?(?!起)|怕|担心|猜|记得|忘|[来去再先](?![自电年])|试试)|心情|[唉哎]|吐[个]?槽|难过|开心|"
    r"高兴|无聊|好累|谢谢|多谢|喜欢你|爱你|作为一[个名]|是\s*(?i:ai)\b|(?:记住|知道|明白|懂|收到|忘)了[。！!]?$|忘[记了]|跟你(?:讲|说)(?:个|件)|期待|加油)"
)
"""Phrases that speak against taking a sentence as a statement."""

_JUST_NOW = (
    r"(?i:\b(?:today|tonight|right\s+now|at\s+the\s+moment|for\s+now|as\s+of\s+now|just\s+(?:this\s+|the\s+)?once|"
    r"this\s+(?:time|once|morning|"
    r"afternoon|evening)|yesterday|last\s+(?:night|week|weekend)|the\s+other\s+day|(?:days?|weeks?)\s+ago|"
    r"so\s+far)\b)|上周|上个?(?:星期|礼拜)|前[天几]|今天|今晚|今早|刚才|刚刚|昨[天晚]|这会儿|暂时|就[一这][次回晚天]|"
    r"眼下|先这样|下[^，。]{0,2}[雨雪]|\b(?:raining|snowing)\b"
)
"""Words in the main clause that say how it is just now, and not for longer."""

_TAKEN_BACK = rf"{_JEST}|(?i:\b(?:his|her|their|[A-Z]\w*\.?'s)\s+words\b)|原话"


def is_retracted(rest: str) -> bool:
    """Return whether the sentence after one takes it back: it was a joke, or somebody else's words."""
    return compiled(_TAKEN_BACK).search(rest) is not None


_WHO = r"(?:an?|the|my|our|(?-i:[A-Z]))\s*\w[^.!?]{1,30}?(?:,|\band)\s+(?:and\s+)?"
_ROLE = (
    rf"(?i:\b(?:role[- ]?play|improv\b|pretend\b|act(?:ing)?\s+(?:as|out)\b|(?:take|play)\s+the\s+(?:part|role)\b|"
    rf"(?:you(?:'re|\s+are|\s+be|\s+play)|^play)\s+{_WHO}I(?:'m|'ll\s+be|\s+am|\s+play)\b|"
    rf"I(?:'m|\s+am|'ll\s+(?:be|play))\s+{_WHO}you(?:'re|\s+are|\s+be|\s+play)\s+(?:an?|the|my)\b|"
    r"in\s+this\s+(?:game|scene|play)\b)|^be\s+my\s+\w+\s*[:,.])|"
    r"扮演|假装|[你您]来?(?:[演扮]一?下|[当演扮][^，。]{1,8}(?:[，,]|我来?[当演扮]))|[你您]来?[是做](?!对)[^，。]{1,8}[，,]我来?[是做当]|演一下|"
    r"(?:模拟|情景)(?:一下|对话)|练口语|玩个?游戏"
)
"""Words that start a role play."""

_FRAME = (
    r"(?i:\b(?:translat\w+|how\s+(?:do|does|would|to)\s+(?:you\s+|one\s+|I\s+)?say\b|(?:say|put|write)\s+(?:this|it|"
    r"that)\s+in(?:to)?\s+[A-Z]|"
    r"in\s+(?-i:[A-Z])[a-z]+(?:ese|ish|an|ch|ic|in)\s*(?:,?\s+please)?\s*[:,]|what's\s+the\s+(?-i:[A-Z])\w+\b|"
    r"imagine\b|in\s+this\s+story\b|(?:poem|story|limerick|screenplay|fan\s*fiction)\b|"
    r"(?:write|draft|compose|make\s+up|invent|dictate|phrase)\b[^.!?]{0,25}\b(?:letter|e-?mail|mail|message|song|"
    r"bio|speech|tweet|post|reply|toast|note\s+to|"
    r"text\s+to)\b|(?:letter|mail|message|reply|answer|write|text)\s+(?:back\s+)?to\s+(?:her|him|them|my|our|the|"
    r"(?-i:[A-Z])\w+)[^.!?:]{0,20}:))|(?=[\u3400-\u9fff])(?:翻译|翻成|[翻译]一[下句段]|译成|[英日法德韩俄][文语][^，。]{0,6}[说讲写]|"
    r"(?:写|编|拟|起草)(?:一?[封篇个首段份条])?[^，。；]{0,6}(?:信|邮件|诗|故事|日记|小说|自我介绍|检讨|发言稿|情书|"
    r"请假条|文案)|给[^，。；]{1,4}[回发][^，。；]{0,4}[：:]|[替帮][我忙]回[他她]|念给你)"
)
"""Phrases that frame a turn as words for somebody else: a translation, a letter, a role."""

_FRAME_ENDS = (
    r"(?i:\b(?:stop|back\s+to\s+me|out\s+of\s+character|enough|that's\s+it|end\s+of\s+(?:the\s+)?(?:game|"
    r"scene|role)|seriously)\b)|正经|出戏|结束|到此|不演了|不玩了|回到"
)


_ASKS = (
    r"(?i:\byou\b|\b(?:I|we)(?:\s+(?:want|need|must|ha(?:ve|d)\s+to)|(?:'d|\s+would)\s+\w+)\b|"
    r"\b(?:writ|draft|compos)ing\b)|[你您请帮替]|麻烦"
)
_TELLS_OF = r"(?i:^\s*(?:when(?:ever)?|if|(?:each|every)\s+time)\b)|我(?<![帮替给]我)|[他她它]|[写译编拟][了过]"
"""Words with which one asks for a text, and with which one tells of a text."""


def frame_start(text: str) -> int | None:
    """Return the offset from which a turn has words not its speaker's own, or None.

    A role begins anywhere; a translation, letter or story where one is asked for, or before a colon: "I work as a
    translator" frames nothing.
    """
    text = text.replace("’", "'")
    role = compiled(_ROLE).search(text)
    starts = [role.start()] if role is not None else []
    for clause in compiled(r"[^.!?;。！？；\n]+[?？]?").finditer(text):
        found = compiled(_FRAME).search(clause[0])
        if found is not None and _asks_for(clause[0], found):
            starts.append(clause.start() + found.start())
            break
    return min(starts, default=None)


def _asks_for(clause: str, found: re.Match[str]) -> bool:
    """Return whether a clause asks for the text that it names: tells whose words follow, or is a question or a task."""
    if compiled("[:：]").search(clause, found.start()) or is_question(clause):
        return True
    before = clause[: found.start()]
    told = clause[: found.end()] if is_chinese(clause) else before
    if compiled(_TELLS_OF).search(told) or compiled("的?时").match(clause, found.end()):
        writes = found[0][0] in "写编拟起" and compiled("(?:在|要|得|想)$").search(before)
        return bool(writes or compiled("[你您请麻]").search(before))
    if is_chinese(clause) or not before.strip() or compiled(_ASKS).search(before):
        return True
    return compiled(_TASK).match(without_lead(clause.strip())) is not None


def plays(text: str, playing: bool) -> bool:
    """Return whether a role is being played after this turn, given whether one was before it."""
    if playing:
        return compiled(_FRAME_ENDS).search(text) is None
    return compiled(_ROLE).search(text.replace("’", "'")) is not None


def is_not_meant(text: str) -> bool:
    """Return whether something speaks against taking a sentence as meant."""
    return compiled(_NOT_MEANT).search(without_lead(text.replace("’", "'"))) is not None


@lru_cache(maxsize=20_000)
def states(sentence: str, talk: Audience) -> bool:
    """Return whether a sentence, no question, states how things are for its speaker, and not only just now."""
    text = without_lead(sentence.replace("’", "'"))
    if content_size(text) < 3 and not compiled(r"(?i)我|\d|^I(?:'m| am)\b|^call me\b").search(text):
        return False
    stands = compiled(STANDING).search(text) is not None or compiled(_HOW_TO_SPEAK).search(text) is not None
    decided = compiled(DECIDED).search(text) is not None
    against = compiled(_NOT_MEANT).search(text)
    if against is not None and not (
        stands and against.start() == 0 and compiled(r"(?i:when(?:ever)?|if\s+you)\b").match(text)
    ):
        return False
    if not (stands or decided or compiled(CHANGED).search(text)) and compiled(_JUST_NOW).search(
        compiled(r"[，,；;]").split(text)[0]
    ):
        return False
    if not decided and text.rstrip(" 。.!！~～").endswith("吧"):
        return False
    own = compiled(r"(?i:my)\b").match(text) is not None
    if not decided and compiled(_TOLD).match(text) and own == (talk == "agent"):
        return False
    if talk == "people" and compiled(r"(?i:\b(?:you|your|yours|let's)\b)|[你您]").search(text):
        return False
    if compiled(_TASK).match(text) and (talk == "people" or not (stands or decided)):
        return False
    return talk == "agent" or compiled(r"(?i:don't|do\s+not|never|always|please|just|remember)\b").match(text) is None


_TOLD = rf"(?i:(?!I\b|we\b)(?:(?!(?:is|are|has|have|had)\b)[\w'-]+\s+){{1,4}}?(?:{PAST}|\w\w+ed)\b)"
"""Beginnings of reports of what others did."""

_ENOUGH = 8
"""Words from which any plain statement counts as worth keeping."""

_SPECIFIC = (
    r"\d|(?<=[a-z,;:'’)] )[A-Z]\w|[\u4e00-\u9fff][ “]?[A-Za-z]{2}|[零二两三四五六七八九十百千万]|"
    r"一(?=[月号点米千百岁])|(?i:\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundreds?|thousands?|dozen|"
    r"not?|called|ha(?:ve|s)\s+an?)\b|^(?:(?:my|our|the\s+user's)\s|(?:I|the\s+user)(?:['’]m|\s+(?:am|is))\s+an?\s(?!bit\b|little\b)|"
    r"(?:I|the\s+user)\s+(?!wants?\b|needs?\b|says?\b|ha(?:s|ve)\b|is\b|was\b|will\b|would\b|ca|\w+ed\b)[\w']+\s))|"
    r"^(?:我|用户)(?!有[点些])[的们家在只是有叫姓住会用养]|叫(?:我|用户)|[姐妹哥弟爸妈爷奶]|没有|[不周月年]|[:：、]"
)
"""Signs that a short statement is worth keeping: a number, a name, what somebody is or has, a denial."""


def tells_enough(text: str) -> bool:
    """Return whether a plain statement is worth keeping: it is long, or specific, or says what holds for good."""
    text = without_lead(compiled(r"^[^\s:：]{1,20}[:：]\s*").sub("", text.replace("’", "'")))
    return content_size(text) >= _ENOUGH or any(
        compiled(one).search(text) for one in (_SPECIFIC, STANDING, _HOW_TO_SPEAK, DECIDED, CHANGED)
    )


LEANING = (
    r"(?i:(?:and|but|so|also|then|or|plus|yes|no|yep)?[,\s]*(?:it(?!\s+turn)|that|this(?!\s+(?:year|month|week|"
    r"summer|winter|term))|these|those|they|he|she|"
    r"his|her|him|them|its|their|both|none|neither|same)(?:'\w+)?\b)|(?:但|而|也|都|就|还|可|"
    r"所以)?(?:[这那它他她其](?!实|他|余|么|我)|一样|同样|照旧|也(?!门))|[二三四五六七八九十]+、|[再然最][后给]"
)
"""Beginnings of sentences that cannot be read without the one before."""

_OWN = (
    r"(?i:(?:I|we|my|our|the|an?|no|nobody|please|always|never|don't|do\s+not|from|as\s+of|each|when(?:ever)?|if|"
    r"there)\b|"
    r"(?:[\w'’-]+\s+){1,4}(?:is|has|will|must)\b|"
    r"(?:[\w'’-]+\s+){1,3}(?:are|was|were|have|had|can|can't|cannot|may|does|do|don't|doesn't|never|"
    r"always|\w\w+(?:s|ed))\b)"
)


_POINTING = (
    r"(?i:\b(?:for|of|with|to|on|about|into|paid)\s+(?:it|them|that)(?=\W*$|\s+(?:in|at|from|second|by|on)\b)|"
    r"^I\s+\w+\s+(?:it|them|him|that|those)\b|^(?:and\s+)?(?:mine|ours|next\s+one|the\s+(?:rest|others?|same)|another|other|fewer|more)\b|\bthe\s+rest\b)|"
    r"^是(?!不是)"
)
"""Words that point at another sentence."""

_TELLS = (
    rf"^{_OWN}|^(?:[\w'’/-]+\s*){{1,4}}[:：]|{STANDING}|{_HOW_TO_SPEAK}|{DECIDED}|{CHANGED}|(?i:\b(?:I|my|we|"
    rf"our|me)\b)"
)
_TELLS_ZH = (
    rf"[我咱]|[A-Za-z0-9]|[：:]|[\u3400-\u9fff]{{2}}(?:周|星期|礼拜)[一二三四五六日天]|{STANDING}|{_HOW_TO_SPEAK}|"
    rf"{DECIDED}|{CHANGED}|过敏|不[吃喝碰住坐]|[叫姓住在是有]"
)
"""Signs that the first sentence of a turn is a statement rather than a bare answer."""


def is_dependent(text: str, *, first: bool, alone: bool = False) -> bool:
    """Return whether a sentence depends on the one before it; `first`: it is the first of its turn.

    `alone`: the one before is not kept, so no word of this one may point there.
    """
    text = without_lead(text.replace("’", "'"))
    if compiled(LEANING).match(text) or compiled(_POINTING).search(text):
        return True
    if first:
        return compiled(_TELLS_ZH if is_chinese(text) else _TELLS).search(text) is None
    if alone and (
        compiled(r"(?i:no\b|.*\b(?:it|them|him|her|one)\b)").match(text) or (is_chinese(text) and "我" not in text)
    ):
        return True
    if compiled(r"(?i:I|my|we|our)\b(?!.*\b(?:not|n't|have|do|did|will|can|am|are)\W*$)|[我咱]").match(text):
        return False
    return content_size(text) < 4 or not (is_chinese(text) or compiled(_OWN).match(text))


# --- what it is filed under --------------------------------------------------------------------------

_FILED: tuple[tuple[Category, Importance, str], ...] = (
    ("decision", "high", DECIDED),
    (
        "experience",
        "medium",
        r"(?i:\b(?:turn(?:s|ed)\s+out|the\s+(?:fix|culprit|root\s+cause|solution|trick|workaround|"
        r"real\s+problem)\s+(?:was|is)|root\s+cause|"
        r"lessons?\s+learn\w*|learn(?:ed|t)\s+(?:the\s+hard|that))\b)|原来是|(?:原因|根因|问题)(?:是|出在|在于)|教训|"
        r"踩(?:过|了)?坑|(?:解决|修复)(?:办法|方法)?是|就好了|就通了",
    ),
    (
        "preference",
        "high",
        r"(?i:^(?:please\s+)?(?:always|never|don't|do\s+not|stop|avoid|no\s+more|keep|make|give|write|format|answer|"
        r"reply|respond|lead|start|explain|use)\b)|"
        r"(?:以后|今后|往后|今天起|现在起)[^。]{0,6}[，,]?[^。]{0,8}(?:我|回答|回复|叫)|别再|不要再|(?:回答|回复|"
        r"输出|代码里|注释|文案)[^。]{0,10}(?:要|别|不|只|全|都)|简短|表情",
    ),
    (
        "workflow",
        "high",
        r"(?i:\b(?:from\s+(?:now|today|this\s+day)\s+on|going\s+forward|as\s+(?:of\s+now|a\s+rule)|starting\s+(?:now|"
        r"today)|our\s+(?:process|workflow|convention|policy|rule)|whenever|each\s+time|every\s+time)\b)|以后|今后|往后|"
        r"从(?:现在|今天)|规矩|不许|不准|必须|标准(?:流程|做法)",
    ),
    (
        "preference",
        "medium",
        r"(?i:\b(?:prefer\w*|favou?rite|dislike|hate|can't\s+stand|rather|(?:like|love|enjoy)s?\s+\w|allergic\s+to|"
        r"fan\s+of|(?:do|does)n't\s+(?:like|eat|drink)|"
        r"(?:eat|drink)s?\s+no\w*|no\s+longer\s+(?:eat|drink)s?|can\s+(?:now\s+)?(?:eat|drink)|avoid)\b)|喜欢|偏好|"
        r"偏爱|讨厌|(?<!不)习惯|受不了|爱[吃喝看听]|不[吃喝沾碰]|宁愿|口味|戒",
    ),
    (
        "workflow",
        "medium",
        r"(?i:\b(?:always|never|usually|every|each|must|(?:weekly|daily|monthly)|(?:mon|tues|wednes|thurs|fri|satur|"
        r"sun)days)\b)|每|一律|总是|从不|通常",
    ),
    (
        "skill_usage",
        "medium",
        r"(?i:\bI\s+know\s+how\s+to\b|\b(?:fluent|proficient|skilled|certified)\s+in\b|\bI\s+use\s+[A-Z`])|"
        r"我[^，。]{0,3}(?:熟悉|精通|擅长|会[用写说弹])",
    ),
)
"""(category, importance, pattern); the first match decides, else it is a fact."""

_FIRM = (
    r"(?i:\b(?:name(?:'s|\s+is)|I'm\s+called|call\s+me|birthday|allergic|diabetic|vegan|vegetarian|coeliac|pregnant|"
    r"I(?:'m|\s+am)\s+(?:\w+[\s-])?(?:handed|blind|deaf|sighted|(?:un)?employed|intolerant|married|single|divorced|widowed|"
    r"retired|bilingual|\w{3,}(?<!st|nt|at)[iy]c|autistic|asthmatic))\b)|"
    r"我(?:的名字)?叫|叫我|过敏|生日|糖尿病|怀孕|吃素|素食|我[^，。]{0,3}(?:[色夜雪]盲|单身|听不见|不耐|[已未离结再]过?[婚异])"
)
"""Facts of high importance, however casually said."""

_TO_DO = (
    r"(?i:\b(?:to-?do\b|remind\s+me|deadline|is\s+due|are\s+due|due\s+on|(?:I|we)(?:'ve)?\s+(?:need|have|got|must|"
    r"gotta|should)\b.*\b(?:by|before|until|to)\b|needs?\s+\w+ing|"
    r"(?:has|have)\s+to\b))|待办|提醒|记得|截止|(?:号|日|天|[底末初]|[一二三四五六日])(?:之|以)?前|[要得](?!是|不|"
    r"么)[^，。]{0,12}[交写做完成出去买送发办取寄还订]|别忘"
)


@lru_cache(maxsize=20_000)
def classify(text: str, talk: Audience, *, dated: bool) -> tuple[Category, Importance]:
    """Return the category and importance of a statement; if it names a future day it may be a todo."""
    text = _lowercase_first(without_lead(text.replace("’", "'")))
    asked = talk == "agent" and compiled(r"(?i:^(?:todo|to-do)\b|^remind\s+me)|待办|提醒我").search(text)
    if (asked or (dated and compiled(_TO_DO).search(text))) and compiled(DECIDED).search(text) is None:
        return "todo", "high" if talk == "agent" and not dated else "medium"
    for category, importance, pattern in _FILED:
        if compiled(pattern).search(text) and not (
            category == "preference" and importance == "high" and talk == "people"
        ):
            return category, importance
    return "fact", "high" if compiled(_FIRM).search(text) else "medium"


# --- what happened -----------------------------------------------------------------------------------

_WHEN = (
    r"(?i:\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next)\s+(?:week|weekend|month|year|night|summer|winter|"
    r"spring|fall|autumn|mon|tues|wednes|thurs|fri|satur|sun)\w*|(?:an?|few|two|three|\d+|couple\s+of|the\s+other|"
    r"one)\s+"
    r"(?:day|week|month|year)s?\s+ago|the\s+other\s+day|on\s+\w+day|(?:in|last|next)\s+(?:january|february|march|"
    r"april|june|july|"
    r"august|september|october|november|december|(?:19|20)\d\d)|back\s+in|this\s+(?:morning|afternoon|evening)|"
    r"just\s+(?:got|finished|"
    r"started|bought|came|passed|had|moved|took|made|won))\b)|昨[天晚]|前天|今[天早晚]|[明后]天|[上下]周|[上下]个?月|[去明]年|周末|"
    r"周[一二三四五六日天]|\d+\s*月\s*\d+\s*[日号]|将要|打算|计划|准备"
)
_DOING = (
    r"(?i:\b(?:I|we|my\s+\w+|our\s+\w+)(?:'m|'ve|'re|'d|'ll)?\b)|^(?:Just\s+)?(?:Got|Went|Had|Took|Lost|"
    r"Finished|Started|Met|Bought|Made|Won)\b|我|咱"
)
_NO_EVENT = (
    r"(?i:\b(?:if|wish|imagine|suppose|tell\s+you|here's|here\s+is|check\s+(?:it|this)|feels?|you\s+(?:know|"
    r"remember)|tired|trying)\b)|^那?(?:我们)?就这么(?:说)?定了。?$|如果|要是|假如|万一|心情|[唉哎]|吐[个]?槽|难过|开心|高兴|无聊|感觉|觉得|累|"
    r"想[和跟]你|(?i:ai)|期待|玩笑|哈哈"
)


def is_event(sentence: str) -> bool:
    """Return whether a sentence reports what the speaker or their people did or will do at some time: worth a note."""
    text = sentence.replace("’", "'")
    return bool(
        compiled(_WHEN).search(text) and compiled(_DOING).search(text) and compiled(_NO_EVENT).search(text) is None
    )


_LEAD = (
    r"^(?:(?:(?:对[啊呀的]|好[啊呀]|是[啊呀的]|没错|可是|但是?|其实|还有(?!件)|还有个?[事怪]的?|对了|另外|噢对?|嗯+|"
    r"行吧?|好的?|哈哈+|ok|对嘛|说正事|换个话题|知道|有|再补\w{1,8}|好险|不对|不是的|更正(?:一下)?|纠正(?:一下)?|我?(?:说|搞)错了|[一二三])"
    r"[，,：:。\s]+)|(?:对了|还有(?!件)|另外)(?=[^，,])|(?i:(?:yeah|yes|yep|oh|well|also|btw|by the way|anyway|plus|"
    r"and|so|but|wow|hey|haha|lol|"
    r"ok|okay|sure|right|good|actually|thanks|hmm|wait|sorry|correction|no(?!-))(?:\s*[,!:.-]+\s*|\s+(?=(?:I|we|my|"
    r"our)\b))|actually\s+)|"
    r"(?i:hi|hey|hello|good\s+(?:morning|afternoon|evening|day))(?:\s+(?i:again|all|everybody|everyone|folks|guys|team|"
    r"there))?(?:\s+(?!I\b)[A-Z]\w+)?(?:\s*[,!:–—-]+\s*|\s+(?=(?i:i|we|my|our|please)\b))|"
    r"(?i:(?:so[,\s]+)?we(?:'ve|\s+have)?(?:\s+(?:all|both))?\s+(?:agreed|settled)\s+(?:on|to)\s+(?:that|it|"
    r"this)\s*[,;.]\s*(?:(?:and|so|but)\s+)?)|(?:那)?(?:我们)?就这么(?:说)?定了[，,。！\s]*|"
    r"(?:你好|您好|大家好|各位好|(?:早上|上午|中午|下午|晚上)好|早安?|嗨|哈喽|哈啰|在吗)[啊呀哦]?(?:[，,。！!：:~～、\s]+|(?=我)))+"
)


def without_lead(text: str) -> str:
    """Return the text without a greeting or interjection at its beginning (`Hi Ann, …`, `Oh, …`, 你好，…)."""
    lead = compiled(_LEAD).match(text)
    return text[lead.end() :] or text if lead else text
