"""A sentence that stands alone: who says it is named, so that it can be read without the talk around it."""

from __future__ import annotations

import re
from functools import cache

from memorybook.text.sentences import is_chinese

_IRREGULAR = {"am": "is", "'m": " is", "have": "has", "'ve": " has", "do": "does", "don't": "doesn't", "go": "goes"}
_UNCHANGED = (
    "was|had|did|can|can't|cannot|could|will|won't|would|should|must|might|may|didn't|couldn't|wouldn't|"
    "went|got|lost|quit|left|began|bought|sold|met|found|took|made|grew|became|wrote|built|taught|spent|chose|came"
)
_PRESENT = (
    "prefer|like|love|hate|dislike|enjoy|need|want|use|work|live|study|teach|speak|play|run|own|avoid|drink|eat|keep|"
    "write|read|think|believe|plan|hope|wish|know|feel|find|get|take|make|start|commute|sleep|wake|travel|drive|cook|"
    "care|tend|host|volunteer|coach|manage|lead|maintain|row|swim|cycle|ski|climb|sing|dance|paint|draw|knit|garden|"
    "smoke|code|trade|fly|walk|hike|ride|buy|sell|pay|grow|collect|practise|practice|train|visit|attend|stay|suffer"
)
_ADVERBS = (
    "really|also|just|actually|always|usually|generally|still|personally|definitely|mostly|normally|never|currently|now"
)


def stand_alone(text: str, name: str) -> str:
    """`text`, said by `name` ("" for an agent's user, whose name nobody knows), to be read by itself.

    A named speaker is put in front (`Caroline: I prefer tea`). The user's own words are put in the
    third person where that is safe (`The user prefers tea`, 用户喜欢茶), and get a `User:` in front where not.
    """
    if name:
        return f"{name}：{text}" if is_chinese(text) else f"{name}: {text}"
    if is_chinese(text):
        return _chinese(text)
    return _english(text)


@cache
def _first_person() -> re.Pattern[str]:
    return re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")


def _chinese(text: str) -> str:
    text = re.sub(r"俺(?!们)", "我", text)
    text = re.sub(r"我(?=(?:的)?(?:自己|们|国)|俩)|(?<=自)我", lambda found: found[0].replace("我", "\0"), text)
    text = re.sub(_CALLED, "用户", text)
    text = re.sub(rf"我(?={_THEIRS})", "用户的", text).replace("我", "用户")
    return text.replace("\0", "我").replace("我自己", "用户自己").replace("我的自己", "用户自己")


_THEIRS = (
    r"(?:[爸妈姥哥弟妹婆娃闺舅姨叔伯婶嫂侄]|阿姨|爷(?!们)|奶奶|姐|丈[夫母人]|岳[父母]|女(?:儿|婿|友|朋友|票)|儿[子媳女]|子女|孩子|"
    r"老(?:婆|公|板娘?|家|爸|妈|爹|娘|伴|乡|师(?!傅)|同学|同事|朋友|友|大(?!不小)|[二三四幺](?!来|是)|爷子|太太)|[表堂][哥姐弟妹]|"
    r"外[公婆甥孙]|孙[子女]|姑(?![且息])|男(?:友|朋友)|对象|妻|先生(?![气火孩个下病])|太太|同[事学桌]|上司|室友|"
    r"领导(?![一着过了的团这两三]))"
)
"""Who is somebody's: 我老婆 is the user's wife, 我老了 is the user who is old."""

_CALLED = (
    rf"(?<=[叫喊唤])我(?={_THEIRS}{{1,2}}(?:就行|就好|就可以|即可|好了|吧|呗|哦|啊)*(?:[，,。！!？?；;\s]|$))"
    r"|(?<=称)我|(?<=称呼)我"
)
"""Who is called something, whatever it is: 以后叫我老板. In 叫我老婆接电话 it is the wife who is called."""


def _english(text: str) -> str:
    if not _first_person().search(text):
        return text[:1].upper() + text[1:]
    text = text.replace("’", "'")
    opening = re.match(rf"I('\w+)?((?:\s+(?:{_ADVERBS}))*)\s*([\w']*)", text)
    if opening is not None:
        verb = _third_person(opening[1] or "", opening[2], opening[3])
        if verb is not None:
            return f"The user{verb}{_they(text[opening.end() :])}"
    elif text[:3].lower() == "my ":
        return f"The user's {_they(text[3:])}"
    return f"User: {text[:1].upper()}{text[1:]}"


def _third_person(contracted: str, adverbs: str, verb: str) -> str | None:
    """What follows "The user" for "I", a contraction or nothing, adverbs and the verb; None if unsure."""
    if contracted:
        turned = _IRREGULAR.get(contracted, {"'d": " would", "'ll": " will"}.get(contracted))
        return f"{turned}{adverbs} {verb}" if turned is not None else None
    if re.fullmatch(_UNCHANGED, verb) or (verb.endswith("ed") and len(verb) > 4 and verb != "need"):
        return f"{adverbs} {verb}"
    if verb in _IRREGULAR:
        return f"{adverbs} {_IRREGULAR[verb]}"
    if not re.fullmatch(_PRESENT, verb):
        return None
    ending = "es" if re.search(r"(?:s|sh|ch|x|z)$", verb) else "ies" if re.search(r"[^aeiou]y$", verb) else "s"
    return f"{adverbs} {verb[:-1] if ending == 'ies' else verb}{ending}"


def _they(text: str) -> str:
    """The rest of a sentence about the user, who is "they" by now."""
    for pattern, word in (
        (r"\bI'm\b|\bI am\b", "they are"),
        (r"\bI was\b", "they were"),
        (r"\bI(?='\w)|\bI\b", "they"),
        (r"\bmyself\b", "themselves"),
        (r"\bmy\b", "their"),
        (r"\bme\b", "them"),
        (r"\bmine\b", "theirs"),
    ):
        text = re.sub(pattern, word, text)
    return text
