"""The one tokeniser, for indexing, queries, similarity and de-duplication; and the one token counter.

Words are what people search by: stemmed Latin words, CJK characters with their overlapping bigrams,
identifiers both whole and in parts. On the path of a cold search, so it imports almost nothing.
"""

from __future__ import annotations

from itertools import chain, groupby
from operator import add

import Stemmer

from memorybook._light import (
    TYPE_CHECKING,
    Callable,
    Iterable,
    Iterator,
    Memo,
    NamedTuple,
    Sequence,
    lazily,
    once,
)
from memorybook.text.stop_words import (
    DAYS,
    FUNCTION_CHARACTERS,
    STOP_WORDS,
    without_phrases,
)

if TYPE_CHECKING:
    import re
    from hashlib import blake2b

_MEANINGS = """
妻子 老婆, 爸爸 父亲 老爸, 妈妈 母亲 老妈, 父母 爸妈 双亲, 外公 姥爷, 外婆 姥姥, 女儿 闺女, 男友 男朋友,
女友 女朋友, 亲戚 亲属, 邻居 街坊, 医生 大夫, 老师 教师, 生病 患病, 头疼 头痛, 胃疼 胃痛, 牙疼 牙痛, 吃药 服药,
减肥 减重 瘦身, 睡觉 入睡, 年龄 年纪 岁数, 番茄 西红柿, 土豆 马铃薯, 玉米 苞米, 餐厅 餐馆 饭馆, 早餐 早饭,
午餐 午饭, 晚餐 晚饭, 好吃 美味, 甜食 甜品 甜点, 雪糕 冰淇淋 冰激凌, 做饭 烹饪, 酒店 宾馆 旅馆, 卧室 睡房,
宿舍 寝室, 房租 租金, 搬家 搬迁, 商店 店铺, 汽车 轿车, 火车 列车, 驾驶 驾车, 停车 泊车, 乘坐 搭乘, 旅行 旅游,
预订 预定, 密码 口令, 照片 相片, 衣服 衣物 服装, 手表 腕表, 礼物 礼品, 错误 报错 出错, 讨论 商量 商讨,
方法 办法, 原因 缘故, 建议 提议, 意见 观点, 同意 赞成 赞同, 辞职 离职, 工资 薪水 薪资 薪酬, 价格 价钱,
便宜 廉价, 存款 积蓄, 外号 绰号 昵称, 性格 脾气, 爱好 兴趣, 喜欢 喜爱 偏爱, 讨厌 厌恶 反感, 开心 快乐 愉快,
悲伤 伤心, 生气 愤怒 恼火, 害怕 恐惧 惧怕, 担心 担忧 忧虑, 疲惫 疲劳 疲倦 劳累, 孤独 孤单 寂寞, 后悔 懊悔,
感谢 感激, 吵架 争吵, 离婚 离异, 跳舞 舞蹈, 跑步 慢跑, 爬山 登山, 小狗 狗狗, 小猫 猫咪, 颜色 色彩,
帮助 帮忙 协助, 聚会 派对, 推迟 延期 延后, 忘记 忘掉 遗忘, 丢失 弄丢 遗失, 选择 挑选, 洗澡 沐浴, 生日 诞辰,
傍晚 黄昏, 立刻 立即
"""

FIRST = {word: first for first, *others in map(str.split, _MEANINGS.split(",")) for word in others}
"""From a word to the one that stands for all of its meaning."""

BEGINNING: dict[str, list[tuple[str, str]]] = {}
"""From the first two characters of words to these words, each with the one that stands for it."""
for _each, _first in FIRST.items():
    BEGINNING.setdefault(_each[:2], []).append((_each, _first))


_FIRST_SPACELESS = "\u2e80"
"""From here on, scripts are written without spaces: Han, kana, Hangul and their neighbours.

Compared, not matched: a character class that wide takes a millisecond to compile.
"""

_is_spaceless = _FIRST_SPACELESS.__le__

MAX_QUERY_WORDS = 128
_MAX_TOKEN = 96
_KNOWN_PIECES = 65_536

# A chunk is what may be one name: words with single joints between them. Bounded, so that a hostile
# line cannot fill the memo. Only single characters repeat possessively: Python before 3.11.5 gets
# possessive groups wrong.
_CHUNK = r"W(?:(?:[-_./\\@:+#?&=%~']|,(?=[0-9]{3}(?![0-9])))(?://)?W){0,16}(?:\+\+|#)?"
_ASCII_CHUNK = lazily(_CHUNK.replace("W", "[a-zA-Z0-9_]{1,96}+"))
_MARKS = (  # vowels and the like in words, which `\w` does not hold
    r"\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e30-\u0e3a\u0e40-\u0e4e\u0eb0-\u0ece"
    r"\u1000-\u103f\u1780-\u17d3"
)
_ANY_CHUNK = lazily(_CHUNK.replace("W", rf"[\w{_MARKS}]{{1,96}}+"))
_ASKED = lazily(r"[？؟]|\?(?![A-Za-z0-9_/&=%#])")  # a question mark that is not part of an address
_JOINTS = "-_./\\@:+#?&=%~',"
_SEGMENTS = lazily(r"[^/\\@:?&=#%~+]+")
_PARTS = lazily(rf"(?:[^\W_]|[{_MARKS}])+")
_HUMP = lazily(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z][a-z])")
_CONTRACTED = frozenset(("t", "d", "m", "ll", "re", "ve"))
_EDGES = ".,!?;:()[]\"'。、…《》「」“”"
_HYPHENATED = lazily(r"[a-z]+(?:-[a-z]+)+")
_ASCII_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "
_TOKENS_OF = (  # by the first byte of a character in UTF-8
    (_ASCII_LETTERS, 0.2),
    (bytes(range(128)).translate(None, _ASCII_LETTERS), 1.3),
    (b"\xd0\xd1", 0.42),  # Cyrillic
    (bytes({*range(0xC2, 0xE3)} - {0xD0, 0xD1}), 1.0),
    (b"\xe3", 1.15),  # kana
    (bytes([*range(0xE4, 0xEA), *range(0xEE, 0xF5)]), 1.5),  # Han
    (bytes(range(0xEA, 0xEE)), 1.95),  # Hangul
)

_stem = Stemmer.Stemmer("english", 0).stemWord  # holds the GIL throughout, so threads may share it
_STEMS = {  # by the block of Unicode that a word begins in; Latin words are stemmed as English ones
    block: Stemmer.Stemmer(language, 0).stemWord
    for block, language in ((0x03, "greek"), (0x04, "russian"), (0x06, "arabic"), (0x09, "hindi"))
}


def tokens(text: str) -> list[str]:
    """Return the words of a text in order, with repetition.

    NFKC, lower case. Latin words are stemmed without accents; Han, kana and Hangul give characters and bigrams, after
    synonyms; identifiers, paths and hyphenated words come whole, then in parts. No token holds white space, quotes or
    NUL, or exceeds 96 characters.

    >>> tokens("The plans in src/main.py")
    ['the', 'plan', 'in', 'src/main.py', 'src', 'main.py', 'main', 'py']
    >>> tokens("喜欢咖啡")
    ['喜', '喜欢', '欢', '欢咖', '咖', '咖啡', '啡']
    >>> tokens("老婆")
    ['妻', '妻子', '子']
    """
    if text.isascii():
        return list(chain.from_iterable(map(_tokens_of, text.split())))
    found: list[str] = []
    for chunk in chain.from_iterable(map(_chunks, _nfkc(text).replace("’", "'").split())):
        if chunk.isascii():
            found += _words(chunk)
        elif min(chunk) >= _FIRST_SPACELESS:
            found += _characters(chunk)
        else:  # scripts with and without spaces touch, such as `用pnpm安装`
            for spaceless, run in groupby(chunk, _is_spaceless):
                piece = "".join(run)
                found += _characters(piece) if spaceless else _words(piece.strip(_JOINTS))
    return found


def query_words(text: str) -> tuple[str, ...]:
    """Return the distinct telling tokens of a question, at most 128; stop words only if nothing else is left."""
    words = dict.fromkeys(tokens(text))
    if text.isascii():
        telling = [word for word in words if word not in STOP_WORDS]
    else:
        bare, particles = without_phrases(_nfkc(text))
        telling = [
            word
            for word in dict.fromkeys(tokens(bare))
            if word not in STOP_WORDS and particles.isdisjoint(word) and not FUNCTION_CHARACTERS.issuperset(word)
        ]
    return tuple(telling or words)[:MAX_QUERY_WORDS]


USER_WORDS = frozenset(("user", "用", "用户", "户"))
"""Query words of `the user's 用户的`; without them a statement has the same words in the first and third person."""


def is_telling(word: str) -> bool:
    """Return whether a token says much: no single CJK or function character, no word for today."""
    return word.isascii() or (len(word) > 1 and FUNCTION_CHARACTERS.isdisjoint(word) and word not in DAYS)


def is_stop_word(word: str) -> bool:
    """Return whether a token takes no part in a question that has others."""
    return word in STOP_WORDS


def normalise(text: str) -> str:
    """Normalise the text for equality: NFKC, lower case, folded white space, no final full stops. Idempotent."""
    folded = _nfkc(_nfkc(text).lower())
    words = folded.split()
    if folded.isascii():
        joined = " ".join(words)
    else:
        joined = "".join(
            word if not before or _is_spaceless(before[-1]) or _is_spaceless(word[0]) else f" {word}"
            for before, word in zip(["", *words], words, strict=False)
        )
    return joined.rstrip(" .。!,、;:~·…") or joined


def digest(text: str) -> str:
    """Return 32 hexadecimal digits naming the statement: blake2b over `normalise(text)`."""
    return text_digest(normalise(text))


def text_digest(text: str) -> str:
    """Return 32 hexadecimal digits naming exactly this text (blake2b): the key of its cached vector."""
    return _blake2b()(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@once
def _blake2b() -> type[blake2b]:
    """Return the hash, imported when it is first needed: a search needs none."""
    from hashlib import blake2b

    return blake2b


def han_share(text: str) -> float:
    """Return share of the letters that are Han, kana or Hangul, 0..1; 0 for a text without letters."""
    if text.isascii():
        return 0.0
    letters = [*filter(str.isalpha, text)]
    return sum(map(_is_spaceless, letters)) / len(letters) if letters else 0.0


def language_of(setting: str, texts: Iterable[str]) -> str:
    """Return `en` or `zh`: the setting, or for `auto` `zh` if the texts are Chinese; names in them may be English."""
    if setting != "auto":
        return setting
    return "zh" if is_chinese("\n".join(texts)) else "en"


def is_chinese(text: str) -> bool:
    """Return whether a text is rather Chinese: 3 Han characters for 2 Latin words, and 2 for each kana.

    >>> [is_chinese(text) for text in ("test_payment_retry还不稳定吗？", "What does 苹果 mean?", "苹果を食べました")]
    [True, False, False]
    """
    if text.isascii():
        return False
    han, kana = (sum(map(len, runs.findall(text))) for runs in (_HAN, _KANA))
    return han > 0 and han * 2 >= max(len(_LATIN_WORD.findall(text)) * 3, kana * 4)


_HAN = lazily("[\u3400-\u9fff]+")
_KANA = lazily("[\u3041-\u30ff]+")
_LATIN_WORD = lazily(r"(?a:[A-Za-z][\w.+/@:'’-]*)")


def without_names(text: str, names: Iterable[str]) -> str:
    """Remove these names as whole words, with a possessive 's; a text of names alone comes back unchanged."""
    wanted = sorted({name.strip() for name in names} - {""}, key=len, reverse=True)
    if not wanted:
        return text
    left = text
    for name in wanted:
        left = _without(left, name.lower())
    if left == text:
        return text
    left = " ".join(left.split()).lstrip(",;:，；：、 ")
    return left if any(map(str.isalnum, left)) else text


def is_question(text: str) -> bool:
    """Return whether something is asked in the text, with a question mark or without.

    Without one in English, Chinese, Japanese or Korean.
    """
    if "?" in text or "？" in text or "؟" in text:
        return _ASKED.search(text) is not None
    if _ASKING.match(text) is not None:
        return True
    if text.isascii():
        return False
    pattern = _ASKING_IN_JAPANESE_OR_KOREAN if _KANA_OR_HANGUL.search(text) else _ASKING_IN_CHINESE
    return pattern.search(text) is not None


def count_tokens(text: str) -> int:
    """Estimate a language model's tokens; 0 only for empty text.

    Against the Llama 2 tokeniser: English chat -5 %, notes +3 %, Chinese -6 to +3 %, Japanese and Korean +-3 %, Russian
    +-5 %, source code +20 %.
    """
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    if text.isascii():
        marks = len(data.translate(None, _ASCII_LETTERS))
        return round((len(data) - marks) * 0.2 + marks * 1.3) or 1
    return round(sum(worth * (len(data) - len(data.translate(None, marks))) for marks, worth in _TOKENS_OF)) or 1


class _Pieces(dict[str, tuple[str, ...]]):
    """Tokens of pieces of ASCII text without white space; most were seen before, punctuation and all."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        bare = piece.strip(_EDGES)
        head, mark, tail = bare.partition("'")  # one chunk for sure: letters and digits, at most with an apostrophe
        plain = len(bare) < _MAX_TOKEN and head.isalnum() and (not mark or tail.isalnum())
        chunks = [bare] if plain else _ASCII_CHUNK.findall(piece)
        found = tuple(chain.from_iterable(map(_words, chunks)))
        if len(piece) <= _MAX_TOKEN:
            if len(self) >= _KNOWN_PIECES:
                self.clear()
            self[piece] = found
        return found


_tokens_of = _Pieces().__getitem__  # a look-up in C: twice as fast as a memo that is called


def _chunks(piece: str) -> Sequence[str]:
    """Return the chunks of a piece of any text without white space; most are one, with punctuation around it."""
    bare = piece.strip(_EDGES)
    return (bare,) if bare.isalnum() and len(bare) <= _MAX_TOKEN else _ANY_CHUNK.findall(piece)


def _characters(run: str) -> list[str]:
    """Return characters of a CJK run with the bigram of each and its follower between them."""
    pairs, synonyms = [*map(add, run, run[1:])], BEGINNING
    if not synonyms.keys().isdisjoint(pairs):
        for pair in pairs:
            for word, first in synonyms.get(pair, ()):
                run = run.replace(word, first)
        pairs = [*map(add, run, run[1:])]
    found = [""] * (2 * len(run) - 1)
    found[::2] = run
    found[1::2] = pairs
    return found


def _words_of(chunk: str) -> tuple[str, ...]:
    """Return tokens of one chunk: the whole, its segments, its parts, each distinct one once."""
    low = chunk.lower()
    if "\u0e00" <= low[:1] <= "\u0eff" or "\u1000" <= low[:1] <= "\u109f" or "\u1780" <= low[:1] <= "\u17ff":
        return tuple(_characters(low))  # Thai, Lao, Burmese, Khmer: no spaces between words either
    is_word = chunk.isalnum() or (not chunk.isascii() and _PARTS.fullmatch(chunk) is not None)
    if is_word and (chunk == low or chunk.istitle() or chunk.isupper()):
        return (_word(low),)
    if low.endswith("'s"):
        return _words(chunk[:-2])
    head, _, tail = low.partition("'")
    if tail in _CONTRACTED and head.isalpha() and head.isascii():
        return (low[:_MAX_TOKEN],)
    bare = low.strip("_")[:_MAX_TOKEN]
    found = [bare, _word(bare) if bare.isalnum() else ""]
    if "," in low:
        found.append(low.replace(",", ""))
    if _HYPHENATED.fullmatch(low):
        found.append(_word(low.replace("-", "")))
    for segment in _SEGMENTS.findall(chunk):
        parts = [hump for part in _PARTS.findall(segment) for hump in _HUMP.split(part)]
        if len(parts) > 1:
            found.append(segment.lower().strip("_.-',")[:_MAX_TOKEN])
        found += [_word(part.lower()) for part in parts]
    return tuple(dict.fromkeys(filter(None, found)))


_words: Callable[[str], tuple[str, ...]] = Memo(_words_of, _KNOWN_PIECES).__getitem__


def _word(low: str) -> str:
    """Return one lower-case word as a token: without accents where that leaves ASCII, stemmed."""
    if not low.isascii():
        from unicodedata import combining, normalize

        bare = "".join(mark for mark in normalize("NFKD", low) if not combining(mark))
        if not bare.isascii():
            return str(_STEMS.get(ord(low[0]) >> 8, str)(low[:_MAX_TOKEN]))
        low = bare
    return str(_stem(low[:_MAX_TOKEN]))


def _nfkc(text: str) -> str:
    if text.isascii():
        return text
    for wide, plain in _WIDE:
        text = text.replace(wide, plain)
    from unicodedata import normalize

    return normalize("NFKC", text)


# Most Chinese text has nothing else that NFKC changes, and normalises by a look then instead of a walk.
_WIDE = tuple(zip("，！？：；（）", ",!?:;()", strict=True))


def _without(text: str, name: str) -> str:
    low = text.lower()
    if len(low) != len(text):  # a letter of which the small one is two characters
        low = text
    at = low.find(name)
    while at >= 0:
        end = at + len(name)
        if _in_word(text[at - 1 : at]) or _in_word(text[end : end + 1]):
            at = low.find(name, at + 1)
            continue
        if low[end : end + 2] in ("'s", "’s") and not _in_word(text[end + 2 : end + 3]):
            end += 2
        text, low = f"{text[:at]} {text[end:]}", f"{low[:at]} {low[end:]}"
        at = low.find(name, at)
    return text


def _in_word(mark: str) -> bool:
    """Return whether a character goes on with a name in Latin script; "" does not."""
    return (mark.isascii() and (mark.isalnum() or mark == "_")) or "\u00c0" <= mark <= "\u024f"


_ASKING = lazily(  # a whole English question without its mark
    r"(?i)\A\W*(?:(?:and|so|but|ok|okay|hey|hi|well|please)\W+)*"
    r"(?:(?:who|what|when|where|which|whose|whom|why|how)(?:'s|'re|'d)?"
    r"|(?:do|does|did|is|are|am|was|were|can|could|should|would|will|have|has|had)(?:n't)?\s+"
    r"(?:i|you|we|they|he|she|it|there|any|anyone|someone)"
    r"|(?:does|did|is|are|was|were|has)(?:n't)?\s+(?:the|my|our|your|this|that))\b[^.!。！]*\Z"
)
_ASKING_IN_CHINESE = lazily(  # by its words
    r"吗[\s。.!！~～…]*(?:\Z|\n)|\A[^\n，。,]{1,6}(?<![着正还])呢[\s。.~～…]*\Z"
    r"|\A(?![^\n]*(?:没什么|没有?谁|[谁哪](?:里|儿|个)?都|什么都|怎么都|不管|无论|不知道|不记得))[^\n。！!]{0,80}"
    r"(?:什么|怎么|怎样|为啥|为何|哪[里儿个些天位家种年次款]|谁|多少|多久|多大|第几|几[点号岁时月]|是否|有没有|是不是"
    r"|能不能|可不可以|会不会|要不要|如何)[^\n。！!]{0,80}\Z"
)

_KANA_OR_HANGUL = lazily("[\u3041-\u30ff\uac00-\ud7a3]")
_ASKING_IN_JAPANESE_OR_KOREAN = lazily(
    r"(?:(?:です|ます|ました|でした|ません|でしょう|だろう)か|かな|っけ|かね|(?<=[\u3041-\uffdc])は"
    r"|[니습]까|나요|가요|는가|던가|[을할]까요?|더라|(?<=[가-힣])[은는])[\s。.~～…]*(?:\Z|\n)"
    r"|\A(?=[^\n]*[ぁ-ヿ])[^\n。]{0,80}(?:何|誰|どこ|いつ|どう|どれ|いくら|いくつ|なぜ|どの|どんな)(?![かも]|でも)"
    r"[^\n。か]{0,40}(?<!ても)[\s。.~～…]*\Z"
    r"|\A(?:[^\n.]{0,80}\s)?(?:언제|어디|누구|누가|무엇|무슨|뭐|뭘|왜|어떻게|어떤|어느|얼마나?|며칠|몇)"
    r"(?!나|든|선가|이든|냐| 전)[^\n.]{0,80}(?<!다)[\s.~…]*\Z"
)


# --- numbers of both languages by value ---------------------------------------------------------


class Figure(NamedTuple):
    """A number in a text: every value it may have, and its place; not `sure` if it may be no number at all."""

    text: str
    values: frozenset[float]
    start: int
    end: int
    sure: bool


_ONES = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS: dict[str, int] = {word: value for value, word in enumerate(("zero", *_ONES, *_TEENS))}
_COUNTED = frozenset((*_ONES[2:], *_TEENS, *_TENS))  # words that are hardly ever anything but a number
WORDS |= {word: 20 + 10 * place for place, word in enumerate(_TENS)}
WORDS |= {
    word: 2 + place for place, word in enumerate("second third fourth fifth sixth seventh eighth ninth tenth".split())
}
WORDS |= dict.fromkeys("twice couple pair both double".split(), 2) | {"thrice": 3, "triple": 3, "dozen": 12}
WORDS |= {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_HAN_DIGITS = {numeral: value for value, numeral in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8}
_SCALES = _HAN_UNITS | {"百万": 1e6, "千万": 1e7, "百亿": 1e10, "k": 1e3, "w": 1e4}
_SCALES |= {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}

_CLOCK = lazily(r"(?<![\d:.])(?P<hour>\d{1,2})[:：](?P<minute>\d{2})(?:[:：]\d{2})?(?![\d:：])")
_ARABIC = lazily(
    r"(?<![A-Za-z_\d])(?<![A-Za-z_\d][.-])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*)"
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|百万|千万|百亿|[千万亿百])|(?P<letter>[kKwW])(?![A-Za-z]))?"
)
_ENGLISH = lazily(
    rf"(?i)\b(?:(?P<tens>{'|'.join(_TENS)})[\s-](?P<ones>{'|'.join(_ONES)})"
    rf"|(?P<count>{'|'.join(_ONES)})\s(?P<scale>hundred|thousand|million)|(?P<word>{'|'.join(WORDS)}))\b(?!-a-)"
)
_CHINESE = lazily(r"[零〇一二两三四五六七八九][零〇一二两三四五六七八九十百千万亿]*|十[一二三四五六七八九]?[万亿]?")
_READ_OUT = lazily("[零〇一二两三四五六七八九]{2,}")
_MEASURE = lazily(
    r"多?来?(?:个|天|月|年|次|台|条|元|块|米|点|分|秒|小时|周|名|位|页|行|单|家|签|岁|人|层|倍|份|种|项|张|只|件|套|轮|间|届|"
    r"期|度|折|成|节|桌|站|公里|斤|克|吨|票|批|款|步|杯|瓶|集|章|号|楼|室|组|段|句|遍|盘|辆|门|本|篇|股|核|本书|星期|礼拜|%)"
)


def number(text: str) -> int:
    """Return a number in digits, in Chinese numerals, or below a hundred in English words; raises KeyError for none.

    >>> number("7"), number("三十一"), number("an"), number("twenty-five")
    (7, 31, 1, 25)
    """
    if text.isdecimal():
        return int(text)
    if text and text.isascii():
        return sum(1 if word in ("a", "an") else WORDS[word] for word in text.lower().replace("-", " ").split())
    value = han_number(text)
    if value is None:
        raise KeyError(text)
    return int(value)


def figures(text: str) -> list[Figure]:
    """Return the numbers in a text, in no order. Letters with digits in them (`utf8`, `K3s`) are names."""
    return [Figure(one[0], frozenset(values), one.start(), one.end(), sure) for one, values, sure in _found(text)]


def _found(text: str) -> Iterator[tuple[re.Match[str], set[float], bool]]:
    """Yield each number with the values that it may have, and whether it is one for sure."""
    clocks = list(_CLOCK.finditer(text))
    for match in clocks:  # the hour in both ways of counting
        hour, minute = int(match["hour"]), int(match["minute"])
        values = {float(hour), float(hour - 12 if hour > 12 else hour + 12)}
        yield match, values | ({float(minute)} if minute else set()), True
    for match in _ARABIC.finditer(text):
        digits, scale = match["digits"].replace(",", ""), (match["scale"] or match["letter"] or "").lower()
        if any(clock.start() <= match.start() < clock.end() for clock in clocks):
            continue
        if digits.count(".") > 1:  # a version, or dates in figures: its parts
            yield match, {float(part) for part in digits.split(".") if len(part) < 300}, True
        else:
            yield match, {round(float(digits[:300]) * _SCALES.get(scale, 1.0), 6)}, True
    for match in _ENGLISH.finditer(text):
        value = number(match["count"]) * number(match["scale"]) if match["count"] else number(match[0])
        yield match, {float(value)}, match["word"] is None or match["word"].lower() in _COUNTED
    for match in _CHINESE.finditer(text):
        counted = han_number(match[0])
        if counted is not None:  # it is None for what only looks like a numeral (万一, 千万)
            digits_or_two = match[0] if _READ_OUT.fullmatch(match[0]) else ""
            measured = _MEASURE.match(text, match.end()) or not _HAN_UNITS.keys().isdisjoint(match[0])
            yield match, {counted, *(float(_HAN_DIGITS[one]) for one in digits_or_two)}, counted >= 2 and bool(measured)


def han_number(text: str) -> float | None:
    """Return the value of Chinese numerals, 三千五 and digits read out included; None for what has none.

    >>> han_number("三百"), han_number("一万二"), han_number("二〇二六")
    (300.0, 12000.0, 2026.0)
    """
    if all(one in _HAN_DIGITS for one in text):
        return float("".join(str(_HAN_DIGITS[one]) for one in text)) if text else None
    total = section = 0.0
    digit: float | None = None
    last = 1.0
    for one in text:
        if one in _HAN_DIGITS:
            digit = float(_HAN_DIGITS[one])
            last = 10.0 if one in "零〇" else last
        elif one in "十百千":
            section += (digit if digit is not None else 1.0) * _HAN_UNITS[one]
            digit, last = None, _HAN_UNITS[one]
        elif one in "万亿":
            scale = _HAN_UNITS[one]
            section += digit or 0
            total = (total + section) * scale if one == "亿" else total + section * scale
            section, digit, last = 0.0, None, scale
        else:
            return None
    tail = digit * last / 10 if digit is not None and last > 10 else digit or 0.0
    return total + section + tail


# --- what is said: corrections, questions, mere acknowledgements ---------------------------------


CUE = (
    r"(?:(?i:(?:oh |hmm,? |ah,? |okay,? |ok,? |well,? )*(?:no|nope|sorry|wait|correction|oops|whoops|actually|typo)\b"
    r"\s*[,:，：.!—–-]|(?:no,? )?(?:wait|sorry|actually|correction)\b|no(?=\s+(?:it|that|not|make|i)\b)"
    r"|i (?:meant|misspoke|mistyped|was wrong)\b"
    r"|(?:scratch|strike) that\b|make (?:that|it)\b|my (?:mistake|bad)\b|on second thoughts?\b|it['’]s actually\b"
    r"|i (?:swapped|mixed up|got)\b[^.]{0,30}\b(?:wrong|up|digits?|around)\b|(?:hm+\W+)?that (?:was|is) (?:wrong|old|"
    r"the old|last)\b|(?:and )?i should(?:['’]ve| have) said\b|hang on\b|turns out\b)"
    r"|[哦啊噢嗯哎呃]?[，,]?(?:不对|不不|不是的|更正|纠正|我?(?:刚才)?(?:说|打|写|记|搞|弄)[错岔]|错了|呸|"
    r"不行(?=[，,])|(?:等等)+|等下|应该是|改成|改为|改到|改口|准确地?说))"
)
"""How a correction begins, as a pattern; compiled by whoever uses it."""

_ANYWHERE = lazily(rf"(?:^|[.!?。！？;；…\n])\s*{CUE}")
_OPENING = lazily(rf"\W*(?:{CUE})了?[\s,:，：.!！…—–-]*")


def takes_back(text: str) -> bool:
    """Return whether a text, English or Chinese, says in one of its sentences that what was said before is not so.

    >>> takes_back("scratch that, 7314"), takes_back("Friday. No wait, Monday."), takes_back("No idea where it is")
    (True, True, False)
    >>> takes_back("打错，9208"), takes_back("呸，周四"), takes_back("不知道")
    (True, True, False)
    """
    return _ANYWHERE.search(text.lstrip()) is not None


def correction(sentence: str) -> str | None:
    """Return what a sentence says instead, if it begins by taking back what was said before it; None if it does not.

    >>> correction("no wait, Monday"), correction("打错，9208"), correction("No idea where it is")
    ('Monday', '9208', None)
    """
    rest = None
    while (found := _OPENING.match(sentence)) is not None and found.end():
        rest = sentence = sentence[found.end() :]
    return rest


_DATED = lazily(r"\s?[(（]\d{4}-\d\d-\d\d[)）]$")


def undated(text: str) -> tuple[str, str]:
    """Split a statement and the day in brackets at its end, which rules add to `tomorrow`; "" if there is none.

    >>> undated("The user flies on Friday. (2026-11-27)")
    ('The user flies on Friday.', ' (2026-11-27)')
    """
    found = _DATED.search(text, max(0, len(text) - 14))  # a line may end after it
    return (text[: found.start()], found[0]) if found else (text, "")


PLACEHOLDERS = ("(left out on request)", "（按要求略去）")
"""What stands for an order to forget that was carried out, in English and in Chinese."""

_LEFT_OUT_WORDS = PLACEHOLDERS[0].strip("()").split()

_NOTHING = (
    r"(?i)\W*(?:(?:(?:i['’]ve |i have |duly )?noted(?: that| it)?(?: down)?|ok|okay|k|got (?:it|that)|gotcha|understood"
    r"|all right|allright|sure(?: thing)?|of course|certainly|will do|i see|thanks|thank you|so much|a lot"
    r"|thanks for (?:telling me|letting me know)"
    r"|(?:i['’]ll|i will) (?:remember|note|keep)(?: that| it| this)?(?: in mind)?|remembered|saved"
    r"|はい|うん|[わ分]かりました|承知しました|了解(?:です|しました)?|覚えました|ありがとう(?:ございます)?|네|예|응|알겠(?:습니다|어요?)"
    r"|기억할게요?|감사합니다|고마워요?|고맙습니다|да|хорошо|понятно|понял[аи]?|ладно|спасибо|запомнил[аи]?"
    r"|我?(?:已经?|都)?(?:记下来?|记住|记录|记好|知道|明白|了解)了?|收到|好的?|好嘞|嗯+|哦+|噢|行|没问题|多谢|谢谢你?|当然|[了啦吧呢]"
    r")(?:\W+|(?<=[\u3400-\u9fff])|\Z))*"
)

_EMPTY = lazily(_NOTHING)

_LONGEST_EMPTY = 100
"""Characters of a text from which it says something: the pattern takes a cold search as long as all its words."""


def says_something(text: str) -> bool:
    """Return whether a text, English or Chinese, says more than that it was heard.

    >>> [says_something(text) for text in ("Noted,", "OK.", "(left out on request)", "OK, at nine.", "No.")]
    [False, False, False, True, True]
    >>> [says_something(text) for text in ("好的，", "嗯，记下了。", "（按要求略去）", "好的，九点。", "不是。")]
    [False, False, False, True, True]
    """
    if len(text) > _LONGEST_EMPTY or any(_is_telling_word(word) for word in text.lower().split()):
        return True
    return _EMPTY.fullmatch(without_placeholders(text)) is None


def _is_telling_word(word: str) -> bool:
    """Return whether a plain word stands nowhere in the pattern; a cold search has not the time to compile that."""
    return len(word) > 2 and word.isascii() and word.isalpha() and word not in _NOTHING and word not in _LEFT_OUT_WORDS


def without_placeholders(text: str) -> str:
    """Return the text without what stands for orders to forget; the same text if there are none."""
    for mark in PLACEHOLDERS:
        text = text.replace(mark, "").strip() if mark in text else text
    return text


TELLS = 3.0
"""Words that tell something from which a clause beside a question is a statement; one in Chinese counts half."""

_SENTENCES = lazily(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_CLAUSES = lazily(r"[,，;；]+")
_POLITE = lazily(
    r"(?i)\W*(?:(?:hi|hello|hey|thanks|thank you|please|sorry|ok|okay|good (?:morning|evening|afternoon)|there)\W*)+"
    r"|\W*(?:(?:你好|您好|嗨|谢谢|多谢|早上好|晚上好|不好意思|好的|请|了|啊|呀)\W*)+"
)
_REQUEST = lazily(
    r"(?i)\W*(?:(?:hey|hi|hello|please|ok|okay|so|and|now|(?:can|could|would|will) you)\b[\s,]*)*"
    r"(?:(?:tell|remind|show|give) me (?:again )?(?:what|when|where|who|which|whose|why|how|if|about|the|my|our)\b"
    r"|i (?:wonder|forgot|forget) (?:what|when|where|who|which|whose|why|how|if)\b|do you (?:know|remember)\b)"
    r"|\W*(?:请|麻烦|你|能不能|可以|再|帮忙)*(?:告诉我|(?:帮我|给我)(?:再?[查找看])|[查找看]一下|查查|我?想知道|我?想问|请问)"
    r"|.*(?P<same>[\u4e00-\u9fff])不(?P=same)|.*了没有?\W*\Z|.*(?:星期|周|礼拜)几|.*几[楼袋层次个位种天年级路排座]\W*\Z"
    r"|.*(?:教えて|見せて)(?:ください|下さい|くれる?|ほしい)?\W*\Z"
    r"|.*(?:알려|가르쳐|보여) ?(?:줘요?|주세요|줄래요?)\W*\Z"
)
_TAG = lazily(
    r"(?i)\W*(?:right|ok|okay|correct|yes|no|remember|huh|you know"
    r"|(?:is|are|was|were|do|does|did|have|has|had|can|could|will|would)n?['’]?t? (?:i|you|he|she|it|we|they))\W*"
    r"|\W*(?:对吧|对吗|是吧|是吗|好吗|好吧|行吗|知道吗|记得吗|对不对|是不是)\W*"
)


def only_asks(text: str) -> bool:
    """Return whether all sentences, English or Chinese, are questions or ask to be told something; greetings aside.

    >>> [only_asks(text) for text in ("Hi! When do I leave?", "Tell me when I leave.", "I leave at six. Is it early?")]
    [True, True, False]
    >>> [only_asks(text) for text in ("请问几点走", "我六点从家里出发，早吗？", "The ferry leaves at six, right?")]
    [True, False, False]
    """
    said = [one for one in _SENTENCES.split(text) if one.strip() and not _POLITE.fullmatch(one)]
    return bool(said) and all(map(_asks, said))


def _asks(sentence: str) -> bool:
    """Return whether a sentence asks, and no clause of it states something."""
    if not _is_asked(sentence):
        return False
    clauses = [clause for clause in _CLAUSES.split(sentence) if clause.strip()]
    if len(clauses) < 2:
        return True
    if not _TAG.fullmatch(clauses[-1]):  # it is what asks
        clauses.pop()
    said = [(clause, sum(1.0 if word.isascii() else 0.5 for word in query_words(clause))) for clause in clauses]
    return not any(size >= TELLS and not _is_asked(clause) for clause, size in said)


def _is_asked(text: str) -> bool:
    return is_question(text) or _REQUEST.match(text) is not None
