"""Stop words of questions by language, and detection of a text's script."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook._light import AbstractSet


def script_of(text: str) -> str:
    """Return what a text is mostly written in, by its rarer letters first; "" for a script that is not in `COMMON`.

    >>> [script_of(text) for text in ("My tea", "我的 tea", "私の茶", "내 차", "мой чай", "-")]
    ['latin', 'han', 'kana', 'hangul', 'cyrillic', '']
    """
    if text.isascii():
        return "latin" if any(map(str.isalpha, text)) else ""
    letters = [*filter(str.isalpha, text)]
    for script, first, last, least in _SCRIPTS:
        if letters and sum(first <= letter <= last for letter in letters) >= least * len(letters):
            return script
    return ""


def without_phrases(text: str) -> tuple[str, AbstractSet[str]]:
    """Return a question without what says nothing in it, and the characters that say nothing in what is left."""
    phrases, particles = _PHRASES, PARTICLES
    if any("\u3041" <= mark <= "\u30ff" for mark in text):  # Japanese, whose Chinese characters all tell something
        text = "".join(map(_parted, f" {text}", text))
        phrases, particles = _JAPANESE_PHRASES, frozenset()
    for phrase in phrases:
        text = text.replace(phrase, " ")
    if any("\uac00" <= mark <= "\ud7a3" for mark in text):
        text = " ".join(map(_korean_stem, text.split()))
    return text, particles


def _parted(before: str, mark: str) -> str:
    """Return a Japanese character as it stands after another: apart where a word begins, a space for a particle."""
    if before > _LAST_HIRAGANA:
        return " " if mark in _KANA_PARTICLES else mark
    return f" {mark}" if mark > _LAST_HIRAGANA and before > "\u3040" and before not in "おご" else mark


def _korean_stem(word: str) -> str:
    """Return a Korean word without particles and endings; "" if it says nothing."""
    word = word.strip(".,!?~")
    for _ in range(2):  # such as a particle, and the ending of the question behind it
        if word in _KOREAN_WORDS:
            return ""
        size = next((size for size in (4, 3, 2, 1) if word[-size:] in _KOREAN_ENDINGS), 0)
        if len(word) - size < (1 if size > 1 or word[-1:] in _KOREAN_SURE else 2):
            break
        word = word[: len(word) - size]
    return "" if word in _KOREAN_WORDS else word


PARTICLES = frozenset("的了是在我你您他她它们咱吗呢吧啊呀哦嘛么什怎哪谁啥这那和与就都也还又很")
"""Characters that say nothing themselves nor in a bigram with a neighbour."""

FUNCTION_CHARACTERS = PARTICLES.union(
    "有没或不会要把被给对从到让跟向为以于着过地得之其而但则且若个些每几可能想去来说上下里中时多一"
)
"""Characters that say nothing alone or among themselves, but may in a word (会议, 地址)."""

_PHRASES = tuple(
    """
什么时候 啥时候 那时候 这时候 什么样 为什么 为啥 多少 多久
几点 几号 几岁 几月 几次 几个 几种 几位 几级 哪一 哪个 哪里 哪儿 哪些 哪天 哪年
可不可以 是不是 有没有 能不能 会不会 要不要 还记得 记不记得
请问 麻烦你 麻烦帮 帮我 告诉我 告诉 查一下 找一下 看一下 来着 到底 究竟 记得 如何 怎样 是否 因为
之前 曾经 已经 说过 提到过 提到 提过
""".split()
)
"""What says nothing in a Chinese question; cut out whole, else it makes words with the characters beside it."""

_LAST_HIRAGANA = "\u309f"
_SCRIPTS = (
    ("kana", "\u3041", "\u30ff", 0.15),
    ("hangul", "\uac00", "\ud7a3", 0.3),
    ("han", "\u3400", "\u9fff", 0.3),
    ("cyrillic", "\u0400", "\u04ff", 0.3),
    ("latin", "A", "\u024f", 0.5),
)
"""First and last letter, and the share of a text's letters from which it is written in that script."""

NOWHERE = "ゎ"
COMMON = {
    "kana": "は の を に が",
    "hangul": "은 는 을 를 에 의 다",
    "han": "的 了 是 在 不 は の を に が",  # or Japanese, without its kana
    "cyrillic": "и в на не я что",
    "latin": "the a i in is of to do on an",
}
"""By script, words that most texts hold, all of them stop words; `NOWHERE` is one that none holds."""

_KANA_PARTICLES = frozenset("はがをにでとものへ")
"""Particles, where they follow what is not written in hiragana."""

_JAPANESE_PHRASES = tuple(
    """
いつまでに いつまで いつから いつごろ いつ頃 いつ どこから どこまで どこ どちら どれくらい どのくらい どれぐらい
どのぐらい どれだけ どれ どうやって どうして どうなった どうなって どう どの どんな なぜ なんで なんて なに なん だれ
いくら いくつ 何曜日 何時間 何時 何分 何日 何月 何年 何人 何回 何度 何語 何個 何の 何か 何 誰 教えてください
教えて下さい 教えて 知りたい 覚えている 覚えてる 覚えて ください 下さい お願いします について に関して という といった
ところ とき こと ため よう ですか ますか ましたか でしたか ませんか でしょうか だろうか ですよね でしたっけ ましたっけ
だったっけ だったか だっけ たっけ っけ でした ました ません ます です だった である であり ています ていました ていた
ている てる ておく てくれる てもらえる てもらう てくれ してい します する した して される された されて できる
できます ありますか あります ありました ある いますか いました います いる なっている なった なる いい よい から まで
より には では とは のは のを のが のに ても でも けど だけ しか など ほど くらい ぐらい それ これ あれ その この あの
そこ ここ わたし あなた
""".split()
)
"""What says nothing in a Japanese question."""

_KOREAN_ENDINGS = frozenset(
    """
이었더라 이었지 이었어 이었나 였더라 였지 였어 였나요 였나 이었나요 인가요 인가 이에요 예요 이야 이죠 이지 인지 일까
입니까 입니다 습니까 습니다 나요 을까요 을까 할까 까요 하나요 하나 했지 했어 했나요 했나 하지 한다 해요 해야 하려면
으려면 려면 으면 으시는 시는 하는 되는 해도 어도 아도 에서는 에서 에게서 에게 한테서 한테 께서는 께서 까지는 까지 부터
으로는 으로 이라고 라고 이랑 처럼 보다 마다 에는 에도 하고 들이 들은 들을 을 를 은 는 이 가 에 의 도 로 와 과 만 야 지
요
""".split()
)
"""What follows a Korean word and says nothing, of at most four syllables."""

_KOREAN_SURE = frozenset("을를는은야")
"""Those of one syllable that may leave a single one."""

_KOREAN_WORDS = frozenset(
    """
언제 언제쯤 어디 어디서 어디에 누구 누가 무엇 무슨 뭐 뭘 뭐가 뭔가 뭔지 왜 어떻게 어떤 어느 몇 얼마 얼마나 며칠 어때
어땠 해야 해 돼 되 되나 하 할 한 했 하는 하면 있 있어 있나 있는 있었 있었어 없 없어 알려 알려줘 알려주 주세요 줘 줘야
줄 가르쳐 말해 말해줘 말했 기억 기억나 혹시 좀 그 이 저 내 나 난 내가 제 제가 우리 것 거 게 수 때 데 더 안 못 또 및
다시 그리고 대해 대한 대해서 관해 관한 동안 지금 인
""".split()
)
"""What says nothing in a Korean question, particles and endings cut."""

DAYS = frozenset("今天 昨天 明天 前天 后天 最近 现在 目前 当时 今年 去年".split())
"""Words for times that stand in any talk."""

STOP_WORDS = frozenset(
    """
a an the this that these those there here i me my mine myself you your yourself he him his himself she her
herself it itself we us our ourselv they them their themselv who whom whose which what when where whi how am is
are was were be been do doe did done have has had will would shall should can could might must of at by for with
about against between into through dure befor after abov below to from in out on off over under again further
then onc and or but nor so if becaus as until while than too veri just also not no onli own same such both each
few more most other some ani all ever s t d ll m re ve im ive id don't doesn't didn't isn't aren't wasn't
weren't haven't hasn't hadn't won't wouldn't can't couldn't shouldn't i'm i've i'd i'll you're you've you'd
you'll he'd he'll she'd she'll it'd it'll we're we've we'd we'll they're they've they'd they'll that'll dont
doesnt didnt isnt cant pleas tell told say said mention rememb remind
时候 为何 何时 可以 知道 一下 一个 一些 所以 关于 以前 这样 那样
은 는 을 를 에 의 다 고 요
а без будет бы был в вам вас во вот все вы где да даж для до ег ем есл ещ же за зач и из ил их к как когд котор кто
куд ли мен мне мо мы на нам напомн нас наш не нет но ну о об он от откуд по под пожалуйст помн поч при про с сам себ
скаж скольк со так там теб то тож тольк тут ты у чем что эт этот я
""".split()
).union(map(chr, range(0x3041, 0x3100)))
"""Tokens that say nothing in a question; stemmed, for stemming some hundred words takes longer than a short search."""
