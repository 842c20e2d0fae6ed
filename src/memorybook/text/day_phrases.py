"""Parse phrases that name days, in English and Chinese, independently of the day they are said on.

The table of phrases stands first. They are found; then neighbours are combined (去年 + 5月, "two weeks ago" + "on
Monday"), and the two ends of ranges.
"""

from __future__ import annotations

from itertools import pairwise

from memorybook._light import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Memo, NamedTuple, lazily
from memorybook.text.tokens import number

if TYPE_CHECKING:
    import re

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


SHORT = 24
"""Most characters of a text that is about the time it begins with: "March budget"."""


class When(NamedTuple):
    """The days of a phrase, its span, and its certainty; None for what it leaves open.

    Fields in the plural count from the day on which it is said: `weeks=-1` is last week.
    """

    start: int
    end: int
    level: int = SURE
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None  # Monday is 0
    years: int | None = None
    quarters: int | None = None
    months: int | None = None
    weeks: int | None = None
    days: tuple[int, int] | None = None  # the first and the last
    away: tuple[float, float] | None = None  # the least and the most of the units, below 0 if they are past
    unit: str = ""  # of `away`: d, w, f (fortnight), m or y
    lately: bool = False  # from there until today
    term: tuple[int, int] | None = None  # months of a year: the first, and how many
    holiday: str = ""
    part: str = ""  # start, middle or end of a month or year
    nth: int | None = None  # week of a month, 0 for the last
    half: int | None = None  # of a month or year
    open: str = ""  # the month or year of which only a part is told: "the end of the month"
    which: int | None = None  # of what comes every year: -1 the last, 0 this year's, 1 the next
    same: int | None = None  # the same day there, give or take so many
    whole: bool = False  # the week of the day
    either: bool = False  # month and day may be the other way round
    since: bool = False  # from then on
    until: Any = None  # what ends a range

    def but(self, **fields: Any) -> When:
        """Return the same with other values in these fields."""
        values = list(self)
        for name, value in fields.items():
            values[_FIELDS[name]] = value
        return When._make(values)


_FIELDS = {name: place for place, name in enumerate(When._fields)}
_BARE = When(0, 0)


# --- from a text to its phrases ------------------------------------------------------------------


_PLAIN = bytes(code if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
_RULES = (*BOTH, *ENGLISH, *CHINESE)
_WORDS = frozenset().union(*(rule.words for rule in _RULES))
_HAN_WORDS = tuple({word for rule in _RULES for word in (*rule.words, *rule.also) if not word.isascii()})


def _fitting(text: str) -> Iterator[Rule]:
    """Yield the rules whose words the text has: a look that costs a hundredth of trying the patterns."""
    lower = text.lower()
    if not text.isascii():
        lower = lower.replace("i̇", "i").replace("ı", "i").replace("ſ", "s")  # patterns take them for i and s
    words = set(lower.encode("ascii", "replace").translate(_PLAIN).decode().split())
    figures = [word for word in words if word[0] <= "9"]
    if any(word[:4].isdecimal() and len(word) > 3 for word in figures):
        words.add("#")
    if any(word.endswith(("st", "nd", "rd", "th")) for word in figures):
        words.add("#th")
    for mark in "/.":
        if mark in text and any(a[-1:].isdecimal() and b[:1].isdecimal() for a, b in pairwise(text.split(mark))):
            words.add(mark)
    if not text.isascii():
        words.update(word for word in _HAN_WORDS if word in lower)
    if words.isdisjoint(_WORDS):
        return
    for rule in _RULES[: -len(CHINESE)] if text.isascii() else _RULES:
        if not rule.words.isdisjoint(words) and not (rule.also and rule.also.isdisjoint(words)):
            yield rule


def may_name_days(text: str) -> bool:
    """Return whether a text may name days, without compiling a pattern: says yes too often, never no too often."""
    return any(rule.level < BESIDE for rule in _fitting(text if text.isascii() else plain(text)))


def plain(text: str) -> str:
    """Return full-width digits and letters as the usual ones."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFKC", text)


def every(text: str) -> list[When]:
    """Return all that phrases of a text may mean, those within longer ones too."""
    return [one for rule in _fitting(text) for one in _found(rule, text)]


def phrases(text: str, found: Iterable[When] | None = None) -> list[When]:
    """Return the phrases of a text in order, the longer of two that overlap; neighbours that mean one day are one."""
    chosen: list[When] = []
    for one in sorted(every(text) if found is None else found, key=lambda one: one.start - one.end):
        if not any(one.start < other.end and other.start < one.end for other in chosen):
            chosen.append(one)
    chosen.sort(key=lambda one: one.start)
    merged: list[When] = []
    for one in chosen:
        if one.level == LED:  # sure, if a word leads to it or the text is about it
            alone = len(text) <= SHORT and not any(map(str.isalnum, text[: one.start]))
            if alone or _LEADS.search(text[max(0, one.start - SHORT) : one.start]):
                one = one.but(level=SURE)
        while merged and one.start - merged[-1].end <= SHORT and _GAP.fullmatch(text, merged[-1].end, one.start):
            before, comma = merged[-1], "," in text[merged[-1].end : one.start]
            both = (None if comma else _within(before, one)) or _within(one, before)
            if both is None:
                break
            one = both.but(start=merged.pop().start, end=one.end)
        merged.append(one)
    return merged


def ranges(text: str, found: Iterable[When]) -> list[When]:
    """Join phrases between which "to" stands, and take in what says that one goes on until now."""
    rest = list(found)
    joined: list[When] = []
    while rest:
        one = rest.pop(0)
        if rest and (both := _from_to(one, rest[0], text)) is not None:
            one = both
            rest.pop(0)
        elif one.until is None:
            one = _borrowed(one, text)
            rest = [other for other in rest if other.start >= one.end]
        since, till = _SINCE.search(text[max(0, one.start - SHORT) : one.start]), _TILL_NOW.match(text, one.end)
        if since or till:  # it goes on until now
            start = one.start - len(since[0]) if since else one.start
            one = one.but(start=start, end=till.end() if till else one.end, since=True)
        joined.append(one)
    return joined


def without_recurring(text: str) -> str:
    """Return the text with spaces for what comes again and again: it names no one day."""
    return _RECURRING.sub(lambda match: " " * len(match[0]), text)


def _compiled(
    rule: Rule,
) -> tuple[re.Pattern[str], list[tuple[str, str, Callable[[str], Any]]], int, dict[str, Any]]:
    """Return the pattern of a rule, its groups (field and reader of each), its level, and what it fixes."""
    import re

    groups: list[tuple[str, str, Callable[[str], Any]]] = []

    def spelt(match: re.Match[str]) -> str:
        name, _, words = match[1].partition(":")
        inner = _written(WORDS.get(words or name.removeprefix("="), words))
        if name.startswith("="):
            return inner
        group = f"{name}_{len(groups)}"
        groups.append((group, *READ[name]))
        return f"(?P<{group}>{inner})"

    def _written(text: str) -> str:
        text = re.sub(r"\{([a-z=](?:[^{}]|\{[^{}]*\})*)\}", spelt, text)
        return re.sub(r"(?<!\\)\((?!\?)", "(?:", text.replace(" ", r"\s+"))

    return re.compile(f"(?i){_written(rule.pattern)}"), groups, rule.level, rule.fixed


_ready = Memo(_compiled, 200).__getitem__


def _found(rule: Rule, text: str) -> Iterator[When]:
    pattern, groups, level, fixed = _ready(rule)
    for match in pattern.finditer(text):
        fields = dict(fixed)
        start = match.start()
        for group, field, read in groups:
            if field == "at":
                start = max(start, match.start(group))
            elif told := match[group]:
                fields[field] = read(" ".join(told.lower().split()))
        if not 1 <= fields.get("month", 1) <= (31 if "either" in fields else 12) or not 1 <= fields.get("day", 1) <= 31:
            continue
        if "away" in fields or "unit" in fields:
            least, most = fields.get("away") or (1, 1)
            if fields.pop("and_half", False):
                least, most = least + 0.5, most + 0.5
            fields["away"] = (-most, -least) if fields.pop("ago", False) else (least, most)
        yield _BARE.but(start=start, end=match.end(), level=SURE if "which" in fields else level, **fields)


_RECURRING = lazily(
    r"(?i)每个?(?:月|年|周|星期|礼拜|逢)?[一二三四五六日天、和到至周星期礼拜\d\s号]*|\b(?:every|each)\s+\w+(?:\s+(?:and|to)\s+\w+day)?"
)


# --- neighbours ----------------------------------------------------------------------------------

_LEADS = lazily(r"(?i)\b(?:in|of|during|since|until|till|between|from|through|at|over|on|around)\s+(?:the\s+)?$")
_GAP = lazily(r"(?i)[\s,]*(?:(?:of|in|on|for)\s+)?(?:the\s+|an?\s+)?|'s\s+(?:on\s+)?|\s*(?:之?前)?的?那?个?\s*")
_TO = r"(?:to|until|till|up\s+to|through|thru|[-–—~～到至]|一直到)"
_JOINT = lazily(rf"(?i)\s*(?:{_TO}|(?P<and>and|[和与跟]))\s*(?:the\s+|了)?")
_BETWEEN = lazily(r"(?i)\bbetween\b[^,.;?!]{0,30}$")
_END = lazily(
    rf"(?i)\s*(?:{_TO}|(?P<and>and|[和与跟]))\s*(?:the\s+)?(?:(?P<weekday>[一二三四五六日天])(?![个次月十点百千万])"
    rf"|(?P<month>{WORDS['month']})(?!\s+\d)|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:/%]|\.\d)(?!\s+(?:of\b|{WORDS['month']}))"
    rf"|(?P<han>{WORDS['n']})[日号])"
)
_BEGIN = lazily(rf"(?i)\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:{_TO}|(?P<and>and))\s*(?:the\s+)?$")
_SINCE = lazily(r"(?i)\bsince\s+(?:the\s+)?$")
_TILL_NOW = lazily(r"(?i)\s*(?:以来|至今|起(?:到现在|至今)|[到至]现在|(?:to|until|till|up\s+to)\s+now\b)")


def _says(one: When) -> set[str]:
    """Return the fields that a phrase fills."""
    return {name for name, value, left in zip(When._fields[3:], one[3:], _BARE[3:], strict=True) if value != left}


def _within(large: When, small: When) -> When | None:
    """Join the smaller of two with what the larger says, such as its year; None if that means nothing."""
    whole, part, level = _says(large), _says(small), large.level
    if part == {"same"} or small.days == (0, 0):
        if whole == {"weeks"}:
            return small.but(level=SURE, days=(7 * (large.weeks or 0),) * 2, same=None)
        small, level = small.but(days=None, same=small.same or 0), SURE
        fits = bool(whole) and whole <= {"years", "months", "away", "unit"}
    elif whole in ({"year"}, {"years"}):
        if part == {"half"}:
            small = small.but(half=None, term=(6 * (small.half or 1) - 5, 6))
        fits, level = not part & {"year", "years", "which", "either"}, SURE
        fits = fits and bool(small.month or small.term or small.holiday)
    elif part == {"whole"}:
        fits = "day" in whole
    elif whole & {"month", "months"}:
        fits = whole <= {"month", "months", "year", "years", "which"} and part <= {"day", "nth", "half"}
    else:
        fits = whole == {"weeks"} or (whole == {"away", "unit"} and large.unit in "wf")
        fits = fits and part == {"weekday"} and small.level == ALONE
    return small.but(level=level, **{name: getattr(large, name) for name in whole}) if fits else None


# --- ranges --------------------------------------------------------------------------------------


def _leads(text: str, conjunction: str | None, start: int, end: int) -> bool:
    """Return whether "and" joins the ends of a range."""
    between = _BETWEEN.search(text[max(0, start - 60) : start])
    return not conjunction or between is not None or text[end:].lstrip()[:2] == "之间"


def _from_to(one: When, other: When, text: str) -> When | None:
    if min(one.level, other.level) > LED:
        return None
    joint = _JOINT.fullmatch(text, one.end, other.start)
    if joint is None or not _leads(text, joint["and"], one.start, other.end):
        return None
    start, end, level = one.start, other.end, min(one.level, other.level)
    if _says(other) <= {"day", "weekday"}:
        other = _beside(other, one, 1) or other
    elif _says(one) <= {"day", "weekday"}:
        one = _beside(one, other, -1) or one
    if (_says(one) == {"day"}) != (_says(other) == {"day"}):
        return None
    return one.but(start=start, end=end, level=level, until=other)


def _beside(one: When, other: When, direction: int) -> When | None:
    """Return a day told by its number or day of the week alone, in the month or week of the other end of the range."""
    if one.day is not None and other.day is not None and other.month is not None:
        fits = (one.day - other.day) * direction > 0
        return other.but(start=one.start, end=one.end, day=one.day) if fits else None
    if one.weekday is not None and other.weekday is not None and other.weeks is not None:
        over = (one.weekday - other.weekday) * direction < 0
        return other.but(start=one.start, end=one.end, weekday=one.weekday, weeks=other.weeks + over * direction)
    return None


def _borrowed(one: When, text: str) -> When:
    """Return a range, one end of which says only its day, of the month or the week of the other end."""
    end = _END.match(text, one.end)
    if end and _leads(text, end["and"], one.start, end.end()):
        day = int(number(end["day"] or end["han"] or "0"))
        name = weekday(end["weekday"]) if end["weekday"] else None
        until = When(end.start(), end.end(), day=day or None, weekday=name)
        if end["month"] and one.month is not None:
            return one.but(end=end.end(), until=until.but(month=month(end["month"].lower())))
        if name is not None and one.weekday is not None:
            return one.but(end=end.end(), until=_beside(until, one, 1) or until)
        if day <= 31 and (last := _beside(until, one, 1)) is not None:
            return one.but(end=end.end(), until=last)
    begin = _BEGIN.search(text[max(0, one.start - SHORT) : one.start]) if one.day is not None else None
    if begin:
        start = one.start - len(begin[0])
        first = _beside(When(start, one.start, day=int(begin["day"])), one, -1)
        if first is not None and (not begin["and"] or _BETWEEN.search(text[max(0, start - 60) : start])):
            return first.but(end=one.end, until=one)
    return one
