"""The table of phrases that name days, English and Chinese, and what the words in them mean.

A pattern is a regular expression in short: `{month}` is one of the `WORDS` for it and fills the field of that name (see
`READ`), `{month:name}` is one of other words, or fits a pattern that stands there, and `{=month}` fills no field. A
space is any white space, `(` only groups, and words before `{at}` only lead to the phrase.
"""

from __future__ import annotations

from memorybook._light import Any, Callable, NamedTuple
from memorybook.text.tokens import number

LEVELS = ("sure", "alone", "led", "beside")
SURE, ALONE, LED, BESIDE = range(4)
"""A phrase names days in any case; only where no other does; after "in" and the like; only beside a year or month.

Whoever doubts a date takes them all.
"""

FEW = (2, 6)
"""How many "a few" and 几 may be."""

WEEKEND = 7
"""Stands for a day of the week: Saturday and Sunday."""


class Rule(NamedTuple):
    """A line of the table.

    Words of which a text must hold one, `also` of these, pattern, sure fields (`sure days=-1,-1`).
    """

    words: frozenset[str]
    also: frozenset[str]
    pattern: str
    told: str

    @property
    def level(self) -> int:
        """How sure a phrase is."""
        return LEVELS.index(self.told.split()[0])

    @property
    def fixed(self) -> dict[str, Any]:
        """The fields that it fills in any case."""
        return {name: _value(text) for name, _, text in (field.partition("=") for field in self.told.split()[1:])}


def _value(text: str) -> Any:
    numbers = [int(part) for part in text.split(",") if part.lstrip("-").isdecimal()]
    return tuple(numbers) if len(numbers) > 1 else numbers[0] if numbers else text or True


# --- words ---------------------------------------------------------------------------------------

MONTHS = "january february march april may june july august september october november december".split()
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth"
    " twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
).split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()

_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_N = (
    rf"(\d{{1,3}}|an?|({'|'.join(_TENS)})([\s-]({_ONES}))?|(four|six|seven|eigh|nine)teen|thirteen|fifteen|ten|eleven"
    rf"|twelve|{_ONES})"
)
_HAN_N = "([0-3]?\\d|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"

WORDS = {
    "at": "",
    "year": r"(19|20)\d\d",
    "month": "(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?"
    r"|dec(ember)?)\b",
    "name": rf"(?!may (i|we|you|he|she|they|it|be|not|have)\b)(?-i:{'|'.join(map(str.capitalize, MONTHS))})",
    "figure": r"\d{1,2}",
    "day": r"\d{1,2}(st|nd|rd|th)?",
    "ordinal": f"({'|'.join(ORDINALS[::-1])})",
    "weekday": "(mon|tues|wednes|thurs|fri|satur|sun)day",
    "or weekend": "({=weekday}|weekend)",
    "or short": r"({=weekday}|mon|tues?|thu(rs?)?|fri|((?<=\bon\s)|(?<=\bby\s)|(?<=since\s)|(?<=until\s)|(?<=from\s)"
    r"|(?<=last\s)|(?<=next\s)|(?<=this\s))(wed|sat|sun)|^(wed|sat|sun)(?=\W*$)"
    r"|(?<=[\w,]\s)(?<!the\s)(?-i:Wed|Sat|Sun))",
    "one": _N,
    "away": rf"((a )?few|(a )?couple( of)?|several|half an?|{_N} (or|to) {_N}|\d{{1,3}}\s*[-–]\s*\d{{1,3}}|{_N})",
    "and_half": " and a half",
    "unit": "(day|week|fortnight|month|year)",
    "open": "(month|year)",
    "far": "(before last|after next)",
    "which": "(last|previous|this|current|next|coming)",
    "part": r"((early|late|mid)([\s-]+in)?|(the )?(start|beginning|middle|end) of)",
    "term": "(spring|summer|autumn|fall|winter)",
    "nth": "(first|second|third|fourth|last)",
    "quarter": "(1|2|3|4)",
    "half": "(first|second)",
    "holiday": r"(christmas( (eve|day))?|xmas|boxing day|easter|halloween|thanksgiving|valentine'?s?( day)?"
    r"|(chinese |lunar )new year|new year('?s( (eve|day))?)?|(spring|lantern) festival|(mid-?autumn|dragon boat|moon)"
    r" festival|mid-autumn|qingming)\b(?! (trees?|eggs?|cards?|carols?|songs?|gifts?|presents?|movies?|planners?"
    r"|resolutions?|islands?|lights|menu|recipes?|bunny|costumes?|sales?|jumpers?|sweaters?|playlist)\b)",
    "han": "一二三四五六七八九",
    "n": _HAN_N,
    "count": r"(好?[几数]|半|[二三四五六七八九]?十[几来多]|[一二两三四五六七八][、到]?[二两三四五六七八九](?!十)"
    r"|\d[、到~-]\d|\d{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])",
    "measure": r"(个?(周|星期|礼拜)|个月|(?<=[两几数半来多\d])月|天|年)",
    "week": "(周|星期|礼拜)",
    "day of it": "([二三四五六日末]|天(?![气天下])|一(?![起些直]))",
    "part of it": "([初底末]旬?|中旬?(?![国间])|[上下]旬)",
    "part of year": "([初底末]|中(?![国间秋学]))",
    "no day": "线楼院门机码方馆店房车位场窗柜桌台座室",
    "not numbered": "".join(f"(?<!{thing}是)" for thing in "柜子 座位 球衣 门牌 工位 编号 房间 楼号".split()),
    "not ago": "(?<![从以之目年月天周期拜然今每])",  # 三天前天气很好 speaks of no 前天
    "no number": r"(?<![\d.十百千第])",
    "not evening": "(?<![上下晚早马网线楼地以一])",
    "holidays": "(春节|除夕|元宵节?|清明节?|劳动节"
    "|(?<![第十{=han}])五一(劳动节|节|假期|长假|黄金周|(?=[期那的我之前,，。\\s]|$))"
    "|端午节?|七夕节?|中秋节?|重阳节|国庆节?|元旦|圣诞节?|平安夜|情人节|万圣节|感恩节|复活节|双十一|双11"
    "|过年(?=的?时候|期间|那))(?!节|[之以]?[前后]|[树卡歌路]|老人|礼物|联欢|晚会|月饼|广场|快乐|放假|调休|祝福|档"
    "|大街|贺|怎么过|去哪)",
    "any holidays": "(春节|过年|除夕|清明|五一|劳动节|端午|中秋|国庆|元旦|圣诞|情人节|万圣|感恩节|新年|大年"
    "|十一(?![月个点号])|(?<![\\d十半几数一二三四五六七八九])年[前后])",
}
"""What stands for a field in a pattern."""

_AHEAD = {"last": -1, "previous": -1, "past": -1, "this past": -1, "before last": -2, "next": 1, "coming": 1}
_AHEAD |= {"after next": 2, "大前": -3, "前": -2, "去": -1, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_TERMS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
_TERMS |= {"暑": 6, "寒": 12}
_NTH = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 0, "final": 0, "最后": 0}
_UNITS = {"日": "d", "天": "d", "周": "w", "星": "w", "礼": "w", "月": "m", "年": "y"}


def _ahead(text: str) -> int:
    """Return -1 for last, 0 for this, 1 for next; as many as there are 上 or 下."""
    return _AHEAD.get(text, text.count("下") - text.count("上"))


def weekday(text: str) -> int:
    """Return the number of a weekday; Monday is 0."""
    if text in ("weekend", "末"):
        return WEEKEND
    return _place(WEEKDAYS, text) if text.isascii() else "一二三四五六日".index(text.replace("天", "日"))


def _place(names: list[str], text: str) -> int:
    return next(place for place, name in enumerate(names) if name.startswith(text[:3]))


def month(text: str) -> int:
    """Return the number of a month; January is 1."""
    return _place(MONTHS, text) + 1 if "a" <= text[0] <= "z" else number(text)


def _nth(text: str) -> int:
    """Return 1 for the first, 0 for the last."""
    return _NTH[text] if text in _NTH else number(text)


def _part(text: str) -> str:
    if text.startswith(("mid", "中")) or "middle" in text:
        return "middle"
    return "start" if text.startswith(("early", "初", "上")) or "start" in text or "begin" in text else "end"


def _away(text: str) -> tuple[float, float]:
    """Return the least and the most that a number in words may be."""
    if "couple" in text:
        return 2, 2
    if "few" in text or text in ("several", "几", "数", "好几", "好数"):
        return FEW
    if text.startswith(("half", "半")):
        return 0.5, 0.5
    if text[-1] in "几来多":
        return number(text[:-1]) - 2, number(text[:-1]) + 9
    if len(text) == 2 and not text.isdecimal() and not text.isascii() and "十" not in text:
        text = f"{text[0]}到{text[1]}"
    for mark in (" or ", " to ", "、", "到", "~", "-", "–"):
        least, found, most = text.partition(mark)
        if found and least not in _TENS:
            either = number(least.strip()), number(most.strip())
            return min(either), max(either)
    return (number(text),) * 2


READ: dict[str, tuple[str, Callable[[str], Any]]] = {
    "year": ("year", int),
    "month": ("month", month),
    "day": ("day", lambda text: number(text.rstrip("stndrh"))),
    "ordinal": ("day", lambda text: 1 + ORDINALS.index(text)),
    "weekday": ("weekday", weekday),
    **{name: (name, _ahead) for name in ("years", "quarters", "months", "weeks", "which")},
    **{name: (name, str) for name in ("at", "holiday", "open")},
    "days": ("days", lambda text: (_ahead(text[:-1]),) * 2),
    "away": ("away", _away),
    "and_half": ("and_half", bool),
    "unit": ("unit", lambda text: _UNITS.get(text.removeprefix("个")[0], text[0])),
    "term": ("term", lambda text: (_TERMS[text], 3)),
    "quarter": ("term", lambda text: (3 * (_nth(text) or 4) - 2, 3)),
    "half_year": ("term", lambda text: (1 if text in ("1", "上", "first") else 7, 6)),
    "half": ("half", _nth),
    "part": ("part", _part),
    "nth": ("nth", _nth),
}
"""By the name of a group, the field that it fills, and with what."""


# --- the rules -----------------------------------------------------------------------------------

_LISTS = {
    "MONTH": " ".join([*MONTHS, *(name[:3] for name in MONTHS), "sept"]),
    "DAY": f"{' '.join(WEEKDAYS)} mon tue tues wed thu thur thurs fri sat sun weekend",
    "DAYS": " ".join(f"{day}s" for day in (*WEEKDAYS, "weekend")),
    "UNIT": "day days week weeks fortnight fortnights month months year years",
    "NTH": f"{' '.join(ORDINALS[:20])} thirtieth twenty thirty",
    "SEASON": "spring summer autumn fall winter",
    "WHICH": "last this next previous current coming past",
    "FEAST": "春节 除夕 清明 五一 劳动节 端午 中秋 国庆 元旦 圣诞 情人节 万圣 感恩节 过年",
    "季": "春天 夏天 秋天 冬天 春季 夏季 秋季 冬季",
}
"""Words of a rule by the name of their list."""


def _rules(table: str, frame: str = "%s") -> list[Rule]:
    """Return the rules of a table, one a line: words, level and fields, pattern; an indented line goes on."""
    return [
        Rule(_words(first), _words(also), frame % pattern, told)
        for words, told, pattern in (line.split("  ") for line in table.replace("\n    ", "")[1:-1].split("\n"))
        for first, _, also in (words.partition(" & "),)
    ]


def _words(text: str) -> frozenset[str]:
    return frozenset(" ".join([_LISTS.get(word, word) for word in text.split()]).split())


BOTH = _rules(r"""
#  sure  (?<![A-Za-z\d]){year}[-/.]{month:figure}([-/.]{day:figure})?(?!\d)
#  sure  ((?<![A-Za-z\d_.:/-])|(?<=(19|20)\d\d[-–~])){year}
    (\s*年(年?{part:part of year})?|(?![\w/]|-(?!{=year}\b)\d|[.:]\d))
#  sure either  (?<![\w./-])({month:figure}/{day:figure}/|{month:figure}-{day:figure}-|{day:figure}\.{month:figure}\.)
    {year}(?![\w/-])
/  sure either  (^\W*|\b(on|from|since|between|until|till|around|by) |(?<=\d\s)(and|to) |(?<=[\u3400-\u9fff])\s?){at}
    (?!24/7\b){month:figure}/{day:figure}(?=\W*$|\s+(?!of\b|the\b|inch|cups?\b)[a-z]|[,;?!]
    |\s?([那号日早晚,，。?？]|上午|中午|下午|我们|的会|的讨论|的对话|[聊说谈到至]))
/  sure either  (?<![\w./-])(?!24/7\b){month:figure}/{day:figure}(?='?s? (meeting|call|chat|session|talk|conversation
    |discussion|sync|standup)|\s?([那号日]|我们|的会|的讨论|的对话))
/ .  beside either  (?<![\d/.]){month:figure}[/.]{day:figure}(?![\d/.%])
""")

ENGLISH = _rules(
    r"""
MONTH  sure  {day} (of )?{month}\.?(,? {year})?|{month}\.? (the )?{day}\b(?![:.]\d)(,? {year})?
    |{month}\.?,? (of )?({year}|{years:which} year)
MONTH  sure  (in|of|during|since|until|till|between|from|through) {at}{month}(?! \d)|^{month}\.?(?=\W*$)
MONTH  led  {month:name}
MONTH & WHICH  sure  ({which:last|previous|next|coming}|{which:this}(?! (?-i:may))) {month}(?! \d)
#th  beside  {day}\b(?<=[a-z])
NTH  beside  {ordinal}( of {month})?
#th  alone  the {day}\b(?<=[a-z])(?! (conversation|chat|session|discussion|talk|time|one|call)| (of )?{=month})
UNIT & ago back  sure ago  (?<![-./]){away}{and_half}? {unit}s?{and_half}? (ago|back)
UNIT & earlier before  beside ago  {away} {unit}s? (earlier|before)\b(?! last)
UNIT & in  sure  in {away} {unit}s?
UNIT & after within for later from  beside  (after|within|for) {away} {unit}s?|{away} {unit}s? (later|from now|after)
UNIT & past last  sure lately  past (?!day\b)({away} )?{unit}s?|last {away} {unit}s?
DAY DAYS & ago back  sure ago  {away:one} {weekday:or weekend}s? (ago|back)
DAY & before  sure ago away=2,2  the {weekday:or weekend} before last
DAY & WHICH  sure ago away=1,1  (last|(this )?past) {weekday:or short}
DAY & WHICH  sure  {weeks:this|next|coming} {weekday:or short}|{weeks:which} {weekday:weekend}
weekend & over at during on  sure  (over|at|during|on) the {at}{weekday:weekend}
DAY DAYS  alone  ({weekday:or short}|{weekday:weekend})s?
week month year & WHICH  sure  {weeks:which} week|{months:which} month|{years:which} year
quarter & WHICH  sure  {quarters:{=which}|past} quarter\b(?! (of|past|mile|century|final|pound))
week month year quarter & before after  sure  week {weeks:far}|month {months:far}|year {years:far}
    |quarter {quarters:far}
today  sure days=0,0  today
yesterday night  sure days=-1,-1  yesterday|last night
yesterday  sure days=-2,-2  day before yesterday
tomorrow tmrw  sure days=1,1  tomorrow|tmrw
tomorrow  sure days=2,2  day after tomorrow
other  sure days=-7,-1  the other (day|night|evening)
other  sure days=-13,-6  the other week
tonight morning afternoon evening  alone days=0,0  this (morning|afternoon|evening)|tonight
recently lately  beside days=-10,0  recently|lately
month year MONTH & early late mid start beginning middle end  sure  {part}[\s-]+({months:which} month|{years:which} year
    |(the )?{open}\b(?! \d)|{month}(?! \d{1,2}\b)(,? {year})?)
month year & end  sure part=end  {open}[-\s]end
week & of  beside whole  week of
SEASON & WHICH that  sure  {which:{=which}|that} {term}
SEASON  beside  {term}
q1 q2 q3 q4 quarter  led  (q{quarter}|{quarter:first|second|third|fourth|final|last(?= quarter of)} quarter)
    \b(?![_.-]\w)( of the {open:(year)})?
h1 h2  beside  h{half_year:[12]}
half & first second  beside  (the )?{half} half
half & year  sure  (the )?{half_year:half} half (of|in) the {open:(year)}
week  beside  (the )?{nth} week
week half & month  sure  (the )?({nth} week|{half} half) (of|in) the {open:(month)}
time & this same  beside same=15  (this|same) time
christmas xmas boxing easter halloween thanksgiving valentine valentines year festival autumn qingming  led
      ({which:(this )?past|last|this|next} )?{holiday}
""",
    r"\b(%s)\b",
)

CHINESE = _rules(r"""
月  sure  (?<![个\d十{=han}]){month:n}\s*月(?!一?[次回遍])(份|\s*{day:n}\s*[日号](?![{=no day}])
    |\s*{day:figure}(?![\d个点条次])|的?{part:part of it})?
号 日  alone  (?<![\d.第十{=han}]){=not numbered}(?<![^个上下这本每当次]月)(?<![^个上下这本每当次]月\s)
    {day:n}\s*(号|日(?!之?[前内]))(?![{=no day}])
月  sure  ({=not evening}{months:上+|下+}|{months:[这本]})个?月(?![亮球经饼光薪])份?(的?{part:part of it})?
月  sure open=month  (?<![个\d十{=han}上这本下\s])月{part:part of year}
年  sure  ({years:[今去明]}|{=not ago}{years:大?前|后})年(?![轻龄纪级])(年?{part:part of year})?
年  sure open=year  (?<![\d〇零十去今前明后每成半百{=han}])年{part:[初底]}(?!二)
周 星期 礼拜  sure  ({=not evening}{weeks:上+|下+}|{weeks:[这本]})个?{=week}({weekday:day of it}|(?![期年围岁刊]))
周 星期 礼拜  alone  (?<![一两几]){=week}{weekday:day of it}(?![次遍])
今 昨 明天 明日 明晚 明早 明夜 明晨 明儿  sure  {days:[今昨明]([天日晚夜早晨]|儿(?![童子]))}
前天 前儿 前晚 后天 后儿  sure  {=not ago}{days:大?前[天儿晚]|大?后[天儿]}(?![气童子])
天 日子  sure days=-7,-1  前[几些]天|前些日子
两天  sure days=-4,-1  前两天
天  sure days=-4,0  [这近][几两]天
阵 段  sure days=-75,-7  前一?阵子?|前一?段(时间|日子)
早上 刚才 方才  alone away=0,0 unit=d  早上|刚才|方才
最近  beside days=-10,0  最近
天 周 星期 礼拜 月 年 & 前  sure ago  {=no number}({away:count}{and_half:个半}?\s*{unit:measure}
    |{away:count}{unit:年}{and_half:半})[之以]?前
天 周 星期 礼拜 月 年 & 最近 过去 近 这  sure lately  (最近|过去|近|这)的?{away:count}\s*{unit:measure}(?![之以]?前)
天 周 星期 礼拜 月 年 & 后  sure  {=no number}{away:count}\s*{unit:measure}[之以]?后(?![天年])
天 日 周 星期 礼拜 月 年 & 后 内  beside  {=no number}{away:count}\s*{unit:日|个?月|{=measure}}[之以]?[后内]
日 月 & 前  beside ago  {=no number}{away:count}\s*{unit:日|个?月}[之以]?前
季  sure  {which:上个?|[这本]个?|下个?}的?{term:[春夏秋冬]}[天季]
季 暑假 寒假  beside  {term:[春夏秋冬]}[天季]|{term:[暑寒]}假
季度  sure  ({=not evening}{quarters:上+}|{quarters:[这本下]})(一?个)?季度|第?{quarter:[一二三四1-4]}季度
q1 q2 q3 q4  sure  (?<![A-Za-z0-9_])q{quarter}(?![A-Za-z0-9_]|[.-]\w)
半年  sure  {half_year:[上下]}半年
周 星期 礼拜  beside  (第{nth:n}个?|{nth:最后}(一个?)?){=week}(?![一二三四五六日天])
周 星期 礼拜  beside whole  那个?一?{=week}(?![一二三四五六日天])
时候 这会儿 同期 此时  beside same=15  这个?时候|这会儿|同期|此时
FEAST 元宵 七夕 重阳 平安夜 复活节 双十一 双11  sure  ({which:上个}的?)?(?<!关于)(?<!为了){holiday:holidays}
FEAST 新年 大年 年前 年后 十一  beside  {holiday:any holidays}
""")
