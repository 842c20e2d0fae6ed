"""Text that tries to instruct whoever reads the memory later, instead of telling something.

A signal, not a barrier: whoever writes with care passes it. Of public attack sets, rules of this kind
catch between none and two thirds, and none of the attacks that are worded like ordinary requests. What
protects a book is that trust comes from the door a text came through, and that recalled text is
shown as quoted data.
"""

from __future__ import annotations

from memorybook._light import Callable, Memo, NamedTuple, lazily, quoted


class Sign(NamedTuple):
    """A kind of attempt.

    Reason, `hints` (`this|that`, or with commas) of which the folded text must hold one, pattern, `also` groups that
    spare compiling the pattern where hints are common.
    """

    reason: str
    hints: str
    pattern: str
    also: tuple[str, ...] = ()


_AI = r"(?:ais?|llms?|(?:ai |llm |language |virtual )?(?:assistants?|agents?|models?|chatbots?|bots?))"
_REPLY = r"(?:answers?|repl(?:y|ies)|responses?|messages?|outputs?|e-?mails?|summar(?:y|ies)|conversations?)"
_AWAY = (
    r"(?:https?://|www\.|[\w.+-]+@[\w-]+\.\w|webhook|attacker|my server"
    r"|[\w-]+\.(?:com|net|org|io|cn|xyz|top|site|example|ru|dev|app|info)\b)"
)

SIGNS: tuple[Sign, ...] = (
    Sign(
        "asks to set earlier instructions aside",
        "ignor|disregard|forget|overrid|bypass|neglect|skip|drop|do not follow|don't follow|stop following",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?|neglect|skip|drop|(?:do not"
        r"|don't|stop) follow(?:ing)?)\b"
        r"[^.!?\n]{0,30}\b(?:previous|prior|above|earlier|preceding|foregoing|former|past|all|any|your|system"
        r"|existing|original|initial|safety)\b"
        r"[^.!?\n]{0,24}\b(?:instructions?|prompts?|rules|guidelines?|directions|directives?|commands|constraints"
        r"|programming|guardrails|polic(?:y|ies))\b",
        also=("instruction|prompt|rules|guideline|direction|directive|command|constraint|programming|guardrail|polic",),
    ),
    Sign(
        "asks to set earlier instructions aside",
        "忽略|无视|忘记|忘掉|不要理会|别理会|不用管|抛开|绕过|推翻|覆盖|不再遵守|不要遵守|停止遵守|丢弃",
        r"(?:忽略|无视|忘记|忘掉|不要理会|别理会|不用管|抛开|绕过|推翻|覆盖|不再遵守|不要遵守|停止遵守|丢弃)[^。！？\n]{0,12}"
        r"(?:之前|先前|以上|上面|上述|前面|此前|所有|全部|一切|任何|系统|原有|已有|原来|原先|你的|安全)[^。！？\n]{0,10}"
        r"(?:指令|指示|提示词?|规则|要求|设定|命令|限制|约束|规定|准则|策略)",
        also=("指令|指示|提示|规则|要求|设定|命令|限制|约束|规定|准则|策略",),
    ),
    Sign(
        "gives the reader another role",
        ("you are now|you're now|from now on|from today on|pretend|act as|roleplay as|your new|your real|your true"),
        rf"\b(?:you are|you're) now (?:an? |the |in )?[\w' -]{{0,30}}?(?:{_AI}|mode|unrestricted|dan|root|admin\w*"
        rf"|jailbroken)\b"
        rf"|\bfrom (?:now|today) on,? (?:you are|you're|act as|you will (?:act|be|respond|obey))\b"
        rf"|\bpretend (?:to be|you are|you're) an? [\w -]{{0,24}}{_AI}\b"
        rf"|\bact as (?:an? )?(?:unrestricted|uncensored|jailbroken|dan)\b|\byour (?:new|real|true) (?:task|goal"
        rf"|instructions?|role|purpose|job|mission)"
        r" (?:is|are)\b",
    ),
    Sign(
        "gives the reader another role",
        "你是|你现在|你将|扮演|你的新|你真正|你的真",
        r"(?:从(?:现在|今天)(?:起|开始)|现在起|今后|接下来)[^。\n]{0,4}你(?:就)?(?:是|将是|要扮演|将扮演|必须扮演)"
        r"|你现在是[^。！？\n]{0,16}(?:助手|模型|机器人|代理|ai|模式)|扮演[^。\n]{0,10}(?:不受限制|没有限制|无限制|dan)"
        r"|你(?:的新|真正|的真实|的真正)的?(?:任务|身份|角色|目标|指令|使命)是",
        also=("从现在|从今天|现在起|今后|接下来|你现在是|扮演|任务|身份|角色|目标|指令|使命",),
    ),
    Sign(
        "speaks to machines that read it",
        "assistant|agent|model| ai|llm|bot",
        rf"\b(?:notes?|attention|messages?|instructions?|notice|important|reminder|hey|dear)\b[ ,:]*(?:to"
        rf"|for)? ?(?:all |any |the |every )?(?:{_AI})"
        r"(?: reading(?: this)?)? ?[:!]"
        rf"|\b(?:if|when|as) (?:you are|you're) (?:an? |the )?(?:{_AI})\b[^.\n]{{0,40}}(?:,|you (?:must|should"
        rf"|have to|need to)|please|then)"
        rf"|\b(?:any|all|every) (?:{_AI}) (?:reading|processing|summari[sz]ing|who read) this\b",
        also=(
            "note|attention|message|instruction|notice|important|reminder|hey|dear|you are|you're|"
            "reading|processing|summari|who read",
            ":|!|you are|you're|reading|processing|summari|who read",
        ),
    ),
    Sign(
        "speaks to machines that read it",
        "ai|智能|模型|助手",
        r"(?:致|告|通知|提醒|请|注意|写给|各位|所有)[^。\n]{0,4}(?:所有|各位)?(?:ai|人工智能|智能|大语言模型|大模型|语言模型)(?:助手|代理|模型|体)?[：:！，,]"
        r"|如果你是(?:一个|一名)?(?:ai|人工智能|大语言模型|大模型|语言模型|智能助手|智能体)[^。\n]{0,30}(?:请|必须|务必|应该|需要|就)"
        r"|(?:读|看)到(?:这|此)(?:段|条|里)?[^。\n]{0,8}(?:ai|模型|助手)[^。\n]{0,10}(?:请|必须|务必|立即)",
        also=("致|告|通知|提醒|请|注意|写给|各位|所有|如果你是|读到|看到",),
    ),
    Sign(
        "announces new instructions",
        "instruction|prompt|directive|override|指令|提示|系统",
        r"\b(?:new|updated|real|actual|revised|secret|hidden|additional) (?:system )?(?:instructions?|prompts?"
        r"|directives?|orders)\s*(?::|follow)"
        r"|\bsystem (?:prompt|message|override|instructions?|notice|note)\s*:|\b(?:begin|end"
        r"|start) (?:of )?(?:system|new|hidden) (?:prompt|instructions?)\b"
        r"|(?:新的?|真正的|隐藏的?|最新)(?:系统)?(?:指令|提示词?|命令)\s*[：:]|系统(?:提示词?|指令|消息|覆盖|通知)\s*[：:]|【系统(?:提示|指令|消息)?】",
        also=(":|：|follow|begin |end |start |【系统",),
    ),
    Sign(
        "carries the mark-up of roles or tools",
        (
            "<|, [inst, <<sys, [/inst, <system, </system, <instruction, </instruction, <assistant, </assistant, "
            "<tool, </tool, <function, </function, ### instruction, ### system, </memor, <memor, </recalled, "
            "</untrusted, </data, </context, </user"
        ),
        r"<\|[a-z_ ]{2,24}\|?>|\[/?inst\]|<</?sys>>|</?(?:system(?:[_-]\w+)?|instructions?|assistant"
        r"|tool(?:[_-]\w+)?|function(?:[_-]\w+)?)\b[^>\n]{0,60}>"
        r"|</(?:memor\w+|recalled\w*|untrusted\w*|data|context|user[\w-]*)>|(?:^|\n)\s*### ?(?:instructions?"
        r"|system)\b ?:?\s*\n",
    ),
    Sign(
        "dictates the whole reply",
        "only|exactly|nothing but|只|仅",
        r"(?:\A|[.!?:;\n\"'“‘(]\s*|\b(?:and|then|must|always|should|please|now) )(?:reply|respond|answer"
        r"|output)(?: to [\w ]{1,24})?"
        r" (?:only|exactly|solely) (?:with|by|as|:)|\bonly (?:reply|respond|answer|output) with\b|\b(?:say|print"
        r"|write|output) nothing (?:else )?but\b"
        r"|(?:必须|请|务必|一律)?(?:只能|只许|仅|只需|只)(?:回复|回答|输出|返回)\s*[「“\"'：:『]",
        also=("reply|respond|answer|output|nothing|回复|回答|输出|返回",),
    ),
    Sign(
        "plants something into every reply",
        "every|each|all |any |future|subsequent|每|所有|之后|以后|今后|后续",
        r"\b(?:append|attach|insert|embed|include|add|put|mention|advertise)\b[^.!?\n]{0,30}"
        r"(?:\b(?:this|the following|following|below)\b[^.!?\n]{0,24}\b(?:url|link|address|image|text|code|phrase"
        r"|sentence|footer|banner|ad|tag)\b|https?://\S+)"
        rf"[^.!?\n]{{0,40}}\b(?:every|each|all|any|future|subsequent)\b[^.!?\n]{{0,24}}\b{_REPLY}"
        rf"|\b(?:in|at the end of|to|after) (?:every|each|all|any)(?: of)?(?: your| future"
        rf"| subsequent)? {_REPLY}\b[^.!?\n]{{0,30}}"
        r"\b(?:append|attach|insert|embed|include|add|put)\b[^.!?\n]{0,30}\b(?:url|link|address|image|https?)"
        r"|(?:每次|每条|每个|每一[次条个]|所有|之后|以后|今后|后续)[^。\n]{0,6}(?:回答|回复|答复|输出|消息|总结)[^。\n]{0,8}"
        r"(?:附上|附加|附带|加上|添加|插入|带上|贴上|嵌入)[^。\n]{0,20}(?:地址|链接|网址|url|图片|域名|以下|http|该|此)"
        r"|(?:把|将)[^。\n]{0,20}(?:地址|链接|网址|url|http\S{0,60})[^。\n]{0,8}(?:附|加|插入|放)(?:在|到|入)[^。\n]{0,4}(?:每|所有|之后|以后"
        r"|今后)",
        also=(
            "append|attach|insert|embed|include|add|put|mention|advertise|附|加|插入|带上|贴上|嵌入|放",
            "answer|repl|response|message|output|mail|summar|conversation|回答|回复|答复|输出|消息|总结|地址|链接|"
            "网址|url|http",
            "url|link|address|image|text|code|phrase|sentence|footer|banner|ad|tag|http|地址|链接|网址|图片|"
            "域名|以下|该|此",
        ),
    ),
    Sign(
        "plants trust or consent into the memory",
        (
            "trusted|authoritative|verified|reliable|agreed|approved|consent|authori|granted|permission|可信|权威|"
            "官方|信任|同意|授权|批准|许可"
        ),
        r"\b(?:remember|memori[sz]e|save|store|record|note|add to (?:your |the )?memory)\b(?:[^.!?\n]"
        r"|\.(?=\w)){0,80}?\b(?:is|are|as) (?:an? |the |your )?(?:\w+ ){0,2}?"
        r"(?:trusted|authoritative|verified|reliable|safe)(?: \w+)? (?:source|site|website|vendor|domain|url|company"
        r"|advis[eo]r|provider|partner|sender|tool)"
        r"|\b(?:remember|memori[sz]e|save|store|record|write)\b[^.!?\n]{0,40}\b(?:user|owner"
        r"|admin)\b[^.!?\n]{0,20}\b(?:has |have )?(?:already )?"
        r"(?:agreed|approved|consented|authori[sz]ed|granted|given (?:permission|consent))\b"
        r"|(?:记住|记下|写入|保存|存入|记录)[^。\n]{0,40}(?:是|为|属于)[^。\n]{0,6}(?:可信|可信任|权威|受信任|值得信任|官方认证)的?(?:来源|网站|站点|渠道|域名|供应商"
        r"|机构|工具)"
        r"|(?:记忆|记住|写入|保存|记录)[^。\n]{0,20}用户[^。\n]{0,6}(?:已经?|曾)?(?:同意|授权|批准|许可|允许)",
        also=("remember|memori|save|store|record|note|add to|write|记|写入|保存|存入",),
    ),
    Sign(
        "asks to send private things away",
        "send|post|upload|forward|leak|exfiltrate|transmit|email|发送|上传|转发|发给|传到|发到|泄露|外传",
        r"\b(?:send|post|upload|forward|leak|exfiltrate|transmit|e-?mail)\b[^.!?\n]{0,50}\b(?:conversations?"
        r"|chat (?:history|logs?)|memor(?:y|ies)|secrets?|api keys?"
        r"|passwords?|credentials|system prompt|env(?:ironment)? (?:variables?|file)|tokens|personal (?:data"
        r"|information)|contacts|private keys?|user data)\b"
        rf"[^!?\n]{{0,50}}\b(?:to|at|via)\b[^!?\n]{{0,24}}{_AWAY}"
        r"|(?:把|将)[^。\n]{0,20}(?:对话|聊天记录|记忆|密钥|密码|凭据|凭证|系统提示|隐私|通讯录|环境变量)[^。\n]{0,20}(?:发送|上传|转发|发给|传到|发到|传给|外传)"
        rf"[^。\n]{{0,16}}(?:{_AWAY}|服务器|邮箱|以下地址|该地址|这个地址)",
        also=(
            "conversation|chat |memor|secret|api key|password|credential|system prompt|env|tokens|"
            "personal |contacts|private key|user data|对话|聊天记录|记忆|密钥|密码|凭据|凭证|系统提示|"
            "隐私|通讯录|环境变量",
        ),
    ),
    Sign(
        "asks to send private things away",
        "](http",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,120}[?&/=](?:\{|<|\$\{|%7b|\[)[^)\n]{0,80}\)",
    ),
    Sign(
        "asks for hidden instructions",
        "system prompt|instructions|developer message|提示词|系统提示|指令",
        r"(?:\A|[.!?:;\n\"'“,]\s*|\b(?:and|then|now|please) )(?:reveal|print|repeat|output|leak|display|show(?: me)?"
        r"|tell me|recite|dump)\b[^.!?\n]{0,16}"
        r"\b(?:your|the|its) (?:(?:full|entire|exact|complete|hidden|secret|original|initial) )*(?:system prompt"
        r"|system message|initial instructions"
        r"|hidden instructions|instructions above|developer message)\b"
        r"|(?:输出|打印|泄露|复述|重复|显示|说出|公开|透露)[^。\n]{0,8}(?:系统提示词?|初始指令|隐藏指令|系统指令|开发者消息|你的提示词|你的指令)",
        also=(
            "reveal|print|repeat|output|leak|display|show|tell me|recite|dump|输出|打印|泄露|复述|重复|显示|说出|"
            "公开|透露",
        ),
    ),
    Sign(
        "asks to act behind the user's back",
        "the user|secretly|silently|用户|偷偷|悄悄|暗中",
        r"\b(?:without|don't|do not|never|avoid) (?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?"
        r"|ask(?:ing)?|mention(?:ing)?(?: this)? to|let(?:ting)?)"
        r" the user\b|\b(?:tell|instruct|convince|persuade|get) the user to (?:run|install|execute|download|paste"
        r"|click|visit|disable|enter|send|buy)\b"
        r"|\b(?:secretly|silently) (?:run|call|execute|send|save|upload|install|delete|add|use)\b"
        r"|(?:不要|别|无需|不用|切勿)(?:告诉|提醒|通知|告知|让|询问|征求)用户|瞒着用户|(?:引导|诱导|让|说服)用户(?:运行|执行|安装|下载|点击|访问|输入|转账)"
        r"|(?:偷偷|悄悄|暗中)(?:执行|运行|发送|上传|调用|写入|安装|删除)",
        also=(
            "tell|inform|notify|alert|ask|mention|let|instruct|convince|persuade|get|secretly|"
            "silently|告诉|提醒|通知|告知|让|询问|征求|瞒着|引导|诱导|说服|偷偷|悄悄|暗中",
        ),
    ),
    Sign(
        "plants a rule that fires later",
        "when|if |once|next time|当用户|如果用户|只要用户|每当|下次",
        r"\b(?:when(?:ever)?|if|once|next time|every time) (?:the |a |any )?user (?:asks?|mentions?|says?|types?"
        r"|requests?|wants?)\b[^.!?\n]{0,70}"
        r"\b(?:you must|you should always|always (?:recommend|say|reply|answer|respond|tell|suggest|mention|include"
        r"|use the link)|secretly|silently)\b"
        r"|(?:当|如果|只要|每当|下次)用户[^。\n]{0,30}(?:必须|务必|一律|总是|一定要)[^。\n]{0,6}(?:推荐|回答|回复|说|告诉|调用|执行|发送|附上|引导)",
        also=(
            "user|用户",
            "you must|you should always|always|secretly|silently|必须|务必|一律|总是|一定要",
        ),
    ),
    Sign(
        "switches limits off",
        (
            "developer mode|do anything now|dan mode|jailbreak mode|jailbroken|god mode|no restrictions|"
            "without restrictions|越狱|开发者模式|所有限制|一切限制|全部限制|安全限制|上帝模式"
        ),
        r"\bdeveloper mode (?:is )?(?:now )?(?:enabled|on|activated)|\bdo anything now\b|\b(?:enable|enter"
        r"|activate) (?:dan|jailbreak|god|developer) mode\b"
        r"|\byou (?:have|are under) no restrictions\b|\b(?:respond|answer|act"
        r"|operate) without (?:any )?(?:restrictions|filters|censorship)\b"
        r"|(?:进入|开启|启用|激活|打开)(?:越狱|开发者|上帝|dan)模式|(?:解除|取消|突破)(?:你的?)?(?:所有|一切|全部|安全)限制",
    ),
)
"""Tried in this order; the first that matches gives the reason. Gaps are bounded, so time grows with the text alone."""

_HINTS = tuple([words.split(", " if ", " in words else "|") for words in (sign.hints, *sign.also)] for sign in SIGNS)
_PATTERNS = tuple(lazily(sign.pattern) for sign in SIGNS)
_TALK = lazily(
    r"prompt[ -]?injection|injections?\b|jailbreak(?:s|ing)?\b|\battack(?:er|ers|s)?\b|\bphrases?\b|\bsuch as\b"
    r"|\be\.g\.|\bfor example\b|\bmeans?\b|\bmeaning\b"
    r"|\bdetect\w*|\bfilter\w*|\bresist\w*|\bdefen[ds]\w*|\bprevent\w*|\btest cases?\b|\bpapers?\b|\barticles?\b"
    r"|\bexplain\w*|\blearn(?:ing|s|ed)?\b"
    r"|\basked (?:what|how|why|whether|about)\b|\b(?:don't|do not|never|not|shouldn't|cannot|can't) (?:ignore"
    r"|disregard|forget|override|bypass|reveal|skip)\b"
    r"|注入|越狱攻击|攻击|例如|比如|诸如|之类|什么意思|检测|识别|过滤|防(?:御|范|止|护)|测试用例|论文|文章|解释|讨论|(?:不要|不能|不可|不会|不得|别|禁止|勿|拒绝)(?:忽略|无视|忘记|绕过"
    r"|泄露|输出)"
)
_MARKUP = "carries the mark-up of roles or tools"
_SPACED = lazily(r"(?<!\w)(?:\w[ .\-_*]){5,}\w(?!\w)")
_SEPARATORS = str.maketrans(".-_*", "    ")
_INVISIBLE = dict.fromkeys(
    [
        *map(ord, "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u3164\ufeff\uffa0"),
        *(code for first, last in ("\u180b\u180e", "\u200b\u200f", "\u202a\u202e", "\u2060\u206f", "\ufe00\ufe0f")
          for code in range(ord(first), ord(last) + 1)),
    ]
)  # fmt: skip
_TAGS = lazily("[\U000e0020-\U000e007e]{2,}")
_FLAG = lazily("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f")
_SELECTORS = lazily("[\U000e0100-\U000e01ef]{4,}")
_LOOK_ALIKES = str.maketrans(
    "аеіїорсухѕјһԁԛԝвмнткαενοριτυχκμΑΒΕΖΗΙΚΜΝΟΡΤΥΧӏɑɡɩ’‘“”‐‑‒–—",
    "aeiiopcyxsjhdqwbmhtkaevopituxkmabezhikmnoptyxlagi''\"\"-----",
)  # fmt: skip


def screen(text: str) -> str | None:
    """Return why this text looks like an instruction to the reader of a memory, as the end of "this text …"; else None.

    English and Chinese; full-width forms, invisible characters, look-alikes and s p a c e d words are folded first. A
    sentence about such attempts passes. A signal, not a barrier.
    """
    # tag characters (other than flags') or long runs of variation selectors
    if max(text, default="") >= "\U000e0020" and (_SELECTORS.search(text) or _TAGS.search(_FLAG.sub("", text))):
        return "hides text in invisible characters"
    folded = fold(text)
    for sign, hints, pattern in zip(SIGNS, _HINTS, _PATTERNS, strict=True):
        if all(any(word in folded for word in words) for words in hints):
            for match in pattern.finditer(folded):
                if sign.reason == _MARKUP or not _is_talk(folded, match.start(), match.end()):
                    return sign.reason
    return None


instructs: Callable[[str], str | None] = Memo(screen, 16_384).__getitem__
"""As `screen`, which of texts that were asked about lately is not worked out again."""


def fold(text: str) -> str:
    """Return the text as it is screened: what looks the same is the same, what is invisible is gone."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFKC", text).translate(_INVISIBLE).translate(_LOOK_ALIKES)
    text = text.lower()
    if text.count("_") + sum(len(word) == 1 for word in text.translate(_SEPARATORS).split()) < 4:
        return text  # too few single letters for a word that is spaced out, which is rare and dear to look for
    return _SPACED.sub(lambda match: "".join(match[0].translate(_SEPARATORS).split(" ")), text)


def _is_talk(folded: str, start: int, end: int) -> bool:
    """Return whether the sentence around a match talks about such attempts."""
    opening = max(folded.rfind(mark, max(0, start - 120), start) for mark in (". ", "! ", "? ", "\n", "。", "！", "？"))
    closing = [at for mark in (". ", "\n", "。", "！", "？") if (at := folded.find(mark, end, end + 80)) >= 0]
    sentence = folded[max(opening, start - 120, 0) : min([*closing, end + 80])]
    return _TALK.search(sentence) is not None


# --- characters that would act on a terminal ----------------------------------------------------

ACTING = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"  # C0 without tab and newline, DEL, C1: escapes, bells; ends of lines
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi: text that reads otherwise than it is
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"  # annotations, tags (unseen text), bytes that are not UTF-8
)
"""A pattern of characters that would act on a terminal, see `cli.wording.visible`."""


def visible_json(text: str) -> str:
    r"""Return a JSON document with those characters of its strings as JSON escapes: the same values.

    >>> visible_json('"\u202ered 红"')
    '"\\u202ered 红"'
    """
    if text.isprintable():
        return text
    import re

    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # halves of a pair are one
    return re.sub(ACTING, lambda found: quoted(found[0])[1:-1], text)
