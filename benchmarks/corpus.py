"""A made-up corpus of any size: seeded, with words by Zipf's law and topics, so that questions have answers.

A passage is 20 to 60 words of one topic, dated, said by somebody; one in five is Chinese. Passage
number n is the same in a corpus of any size. As a book, half of the passages are Markdown (notes of a day,
sections of documents), half are turns of conversations, and MEMORY.md has entries of its own.
"""

from __future__ import annotations

import json
import random
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

SEED = 7
VOCABULARY = 20_000
TOPICS = 2_000
TOPIC_WORDS = 24
CHINESE_SHARE = 0.2

TURNS_PER_SESSION = 50
SESSIONS_PER_FILE = 100
NOTES_PER_DAY = 50
SECTIONS_PER_DOCUMENT = 40
ENTRIES = 100

KINDS = ("three words", "twelve with function words", "twelve content words", "six Chinese words")
"""Kinds of questions, as people and agents ask them."""

SPEAKERS = ("Ann", "Bob", "Carla", "David", "Mei")
START = datetime(2012, 1, 1, 8, tzinfo=UTC)

FUNCTION_WORDS = (
    "the of and to a in is that it was for on with as at by this we be are or from but not have they an which you were "
    "all their has there been if will more when who so no out up into than them can only other time some could these"
).split()
STEMS = (
    "bread stone river paint garden winter market signal cloud paper bridge forest candle mirror ladder engine "
    "harbor island kettle lemon magnet needle orange pepper quilt ribbon saddle tunnel valley window anchor "
    "basket carpet dragon eagle feather guitar hammer jacket kitchen lantern marble napkin oyster pillow rocket "
    "salmon ticket violin walnut yellow zipper autumn bottle cactus dinner energy fabric ginger helmet insect "
    "jungle kernel leather metal noodle olive parrot rabbit silver tower umbrella velvet whistle button camera "
    "desert eleven finger glacier honey iron jewel knight lizard mother north ocean planet queen rain sugar table "
    "uncle voice wagon yard copper budget deploy server backup schema query cache branch merge sprint report "
    "meeting client vendor contract doctor school piano train hotel flight museum bicycle coffee dentist recipe "
    "marathon puppy wedding visa passport"
).split()
ENDINGS = ("", "s", "ing", "er", "ful", "less", "land", "side", "house", "work", "man", "ship", "line", "light", "book")
HAN_FUNCTION = "的 了 在 我 是 他 和 也 就 都 说 要 去 你 会 着 没有 看 好 这".split()
HAN = (
    "用户喜欢简洁代码风格会议预算部署咖啡旅行医生学校面包冬天服务器截止博物馆自车项目数据接口测试上线周末孩子音乐电"
    "影书房城市山水花园火飞机朋友老师同事客合报告计划问题答案早晨晚春夏秋红黄蓝绿白黑金银铜铁木石米茶酒油盐糖肉鱼鸡牛羊马"
)
HAN_VOCABULARY = 6_000


class Passage(NamedTuple):
    """One piece of the corpus.

    Attributes:
        number: Its place, from 0.
        text: Without speaker and date.
        words: Its content words, most telling (rarest) first.
        speaker: Who says it.
        time: When, UTC.
        session: The conversation it belongs to.
        chinese: Whether it is in Chinese.
    """

    number: int
    text: str
    words: tuple[str, ...]
    speaker: str
    time: datetime
    session: str
    chinese: bool


class Question(NamedTuple):
    """A question, of one of `KINDS`, whose words are those of passage number `answer`."""

    kind: str
    text: str
    answer: int


def passage(number: int) -> Passage:
    """The passage of that number."""
    rnd = random.Random(SEED * 1_000_003 + number)
    chinese = rnd.random() < CHINESE_SHARE
    topic = _topic(rnd.randrange(TOPICS), chinese)
    content = _han_word if chinese else _word
    function, weights = (HAN_FUNCTION, _HAN_WEIGHTS) if chinese else (FUNCTION_WORDS, _FUNCTION_WEIGHTS)
    size = HAN_VOCABULARY if chinese else VOCABULARY
    said: list[str] = []
    ranks: dict[str, int] = {}
    for _ in range(rnd.randint(20, 60)):
        kind = rnd.random()
        if kind < 0.45:
            said.append(function[bisect(weights, rnd.random() * weights[-1])])
            continue
        rank = topic[int(TOPIC_WORDS * rnd.random() ** 2)] if kind < 0.8 else _zipf(rnd, size)
        said.append(content(rank))
        ranks[said[-1]] = rank
    text = _sentences(said, "，", "。", "") if chinese else _sentences(said, ", ", ". ", " ")
    telling = tuple(sorted(ranks, key=ranks.__getitem__, reverse=True))
    turn = number // 2
    session = turn // TURNS_PER_SESSION
    time = START + timedelta(hours=12 * session, minutes=2 * (turn % TURNS_PER_SESSION))
    return Passage(number, text, telling, rnd.choice(SPEAKERS), time, f"s{session:05d}", chinese)


def passages(count: int) -> Iterator[Passage]:
    """The first `count` passages."""
    return map(passage, range(count))


def questions(count: int, each: int) -> list[Question]:
    """Questions on the first `count` passages, `each` of every kind in turn."""
    rnd = random.Random(SEED)
    ask: dict[str, Callable[[Passage], str]] = {
        KINDS[0]: lambda found: " ".join(rnd.sample(found.words, 3)),
        KINDS[1]: lambda found: "what did we say about the {} of {} and {} {} {}?".format(*rnd.sample(found.words, 5)),
        KINDS[2]: lambda found: " ".join(rnd.sample(found.words, 12)),
        KINDS[3]: lambda found: "".join(rnd.sample(found.words, 6)),
    }
    asked = []
    for _ in range(each):
        for kind in KINDS:
            found = _any(rnd, count, chinese=kind == KINDS[3])
            asked.append(Question(kind, ask[kind](found), found.number))
    return asked


def _any(rnd: random.Random, count: int, *, chinese: bool) -> Passage:
    """Some passage of that language with words enough for a question."""
    while True:
        found = passage(rnd.randrange(count))
        if found.chinese == chinese and len(found.words) >= (6 if chinese else 12):
            return found


# --- words ---------------------------------------------------------------------------------------


def _zipf(rnd: random.Random, size: int) -> int:
    """A rank below `size`; rank r comes up about in proportion to 1 / r."""
    return int(size ** rnd.random()) - 1


@cache
def _word(rank: int) -> str:
    """The English-looking word of that rank: short where it is frequent, as in a language."""
    rest, stem = divmod(rank, len(STEMS))
    second, ending = divmod(rest, len(ENDINGS))
    return STEMS[stem] + (STEMS[second] if second else "") + ENDINGS[ending]


@cache
def _han_word(rank: int) -> str:
    first, second = divmod(rank * 7919 % len(HAN) ** 2, len(HAN))
    return HAN[first] + HAN[second]


@cache
def _topic(number: int, chinese: bool) -> tuple[int, ...]:
    """The ranks of a topic's words, the most used first; no two topics have the same."""
    rnd = random.Random(SEED + number)
    size = HAN_VOCABULARY if chinese else VOCABULARY
    return tuple(_zipf(rnd, size) for _ in range(TOPIC_WORDS))


def _weights(count: int) -> list[float]:
    return list(accumulate(1 / (rank + 2) for rank in range(count)))


_FUNCTION_WEIGHTS = _weights(len(FUNCTION_WORDS))
_HAN_WEIGHTS = _weights(len(HAN_FUNCTION))


def _sentences(words: list[str], comma: str, stop: str, space: str) -> str:
    """Words as sentences of twelve, with a comma in their midst."""
    parts = [words[at : at + 12] for at in range(0, len(words), 12)]
    written = [space.join(part[:6]) + (comma + space.join(part[6:]) if len(part) > 6 else "") for part in parts]
    return stop.join(line[:1].upper() + line[1:] for line in written) + stop.rstrip()


# --- as a book -----------------------------------------------------------------------------------


def turns_of(count: int, most: int | None = None) -> int:
    """How many of the first `count` passages are turns: half of them, at most `most`."""
    return min(count // 2, count // 2 if most is None else most)


def write_chats(folder: Path, turns: int) -> list[Path]:
    """The first odd passages as turns: JSON Lines files of a hundred sessions each."""
    folder.mkdir(parents=True)
    files = []
    step = TURNS_PER_SESSION * SESSIONS_PER_FILE
    for start in range(0, turns, step):
        files.append(folder / f"{start // step:04d}.jsonl")
        with files[-1].open("w", encoding="utf-8") as file:
            for turn in range(start, min(start + step, turns)):
                file.write(json.dumps(_turn(passage(2 * turn + 1)), ensure_ascii=False) + "\n")
    return files


def _turn(said: Passage) -> dict[str, str]:
    return {
        "id": f"p{said.number}",
        "session": said.session,
        "speaker": said.speaker,
        "timestamp": said.time.isoformat(),
        "content": said.text,
    }


def write_entries(root: Path, count: int) -> None:
    """A MEMORY.md with an entry for ten passages, at most a hundred, that are not among the others."""
    root.mkdir(parents=True, exist_ok=True)
    lines = ["# Agent Memory", "", "## Preferences", "", "## Active Memories", ""]
    for number in range(min(ENTRIES, count // 10)):
        lines += [f"### [e{number:05d}] fact | 0.60 | 2025-11-01 | 1", passage(-1 - number).text, ""]
    (root / "MEMORY.md").write_text("\n".join(lines), encoding="utf-8")


def write_documents(root: Path, count: int, turns: int) -> int:
    """Those of the first `count` passages that are no turns as Markdown in the book's folder; returns how many."""
    root.mkdir(parents=True, exist_ok=True)
    numbers = [number for number in range(count) if number % 2 == 0 or number > 2 * turns]
    _write_days(root / "daily", numbers[::2])
    _write_documents(root / "notes", numbers[1::2])
    return len(numbers)


def _write_days(folder: Path, numbers: Sequence[int]) -> None:
    folder.mkdir(exist_ok=True)
    for day, at in enumerate(range(0, len(numbers), NOTES_PER_DAY)):
        date = START + timedelta(days=day)
        lines = [
            f"- {(date + timedelta(minutes=10 * minute)).strftime('%Y-%m-%dT%H:%M:%SZ')} {passage(number).text}\n"
            for minute, number in enumerate(numbers[at : at + NOTES_PER_DAY])
        ]
        (folder / f"{date:%Y-%m-%d}.md").write_text("".join(lines), encoding="utf-8")


def _write_documents(folder: Path, numbers: Sequence[int]) -> None:
    for document, at in enumerate(range(0, len(numbers), SECTIONS_PER_DOCUMENT)):
        path = folder / f"{document // 100:03d}" / f"{document:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"# Document {document}\n"]
        for number in numbers[at : at + SECTIONS_PER_DOCUMENT]:
            said = passage(number)
            parts.append(f"\n## {' '.join(said.words[-2:])}\n\n{said.text}\n")
        path.write_text("".join(parts), encoding="utf-8")
