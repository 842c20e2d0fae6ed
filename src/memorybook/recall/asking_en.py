"""How English asks for what was said before: a person, a past, a verb of talking; or a talk that is pointed at."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.cues import cue, first, words
from memorybook.recall.sessions_en import WHAT_WE_DID, WHOLE, WITHIN
from memorybook.recall.words_en import (
    ADV,
    ADVISE,
    ADVISED,
    ASK,
    DID,
    HOW_TO,
    I_HAVE,
    ORDER,
    PEOPLE,
    SAID,
    SAY,
    TALK,
    TIME,
    TO_OTHERS,
    WE,
    WE_HAVE,
    YOU_HAVE,
)
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.recall.cues import Scene

# --- what never asks -----------------------------------------------------------------------------

_PLEASE = r"^\W*(?:(?:please|pls|plz|also|ok|and|hey)[,\s]+)*"
_PIECE = words(
    "e-?mail letter story apology post poem speech reply message essay tweet novel song joke blog response"
    " article text note"
)
_WORLD = (
    r"^\W*(?:(?:hey|so|and|ok)\W+)?did\s+you\s+know\s+(?!(?:about\s+|that\s+)?(?:i\b|i'm\b|my\b|we\b|our\b))"
    r"|^\W*(?:(?:hey|so|and|ok)\W+)?(?:can|could|do|would)\s+you\s+(?:still\s+)?(?:recall|remember|name)\s+"
    r"(?:the|who|what|which|how|when|where|all|any)\b(?!.*\b(?:we|our|us|i|i'm|i've|my|me|mine|your|you|earlier|last"
    r"|before|previous\w*|yesterday|discuss\w*|conversation|chat|session|talk\w*|decision|decided|agreed)\b)"
)
"""Asks what is known in the world, not what was said."""
_NEVER = lazily(
    rf"{_PLEASE}(?:don'?t\s+forget|do\s+remember|remember)\s+to\b|\bfrom\s+now\s+on\b|{_PLEASE}(?:note|save)\s+this\b"
    r"|\bremind\s+me\s+(?:to|in|at|on|every|tomorrow|tonight|next|later)\b|\bset\s+an?\s+(?:reminder|alarm)\b"
    rf"|{_PLEASE}(?:remember\s+(?:that\s+|i\b|i'm\b|my\b|we\b)|recall\s+that\s)(?![^?]*\?)"
    r"|^\W*(?:translate|rewrite|rephrase|proofread|paraphrase)\b|\btranslate\b[^?]*$"
    r"|\b(?:if|suppose)\s+(?:i|you|we)\s+(?:had|were|told|said|asked)\b"
    rf"|\b(?:write|draft|compose|prepare)\b(?:\s+\w+){{0,3}}?\s+(?:an?|some)\s+(?:\w+\s+){{0,3}}?{_PIECE}\b"
    rf"|{_WORLD}"
    rf"|{_PLEASE}(?:(?:can|could|shall)\s+we|let'?s|let\s+us|i'd\s+like\s+to|i\s+want\s+to)\s+(?:talk|discuss"
    rf"|chat|speak)\b"
)
_MANKIND = (
    r"\bwe\s+(?:\w+ly\s+)?(?:learn|evolve|discover|invent|domesticat|descend|become\s+human|come\s+from|know)"
    r"|\bto\s+deserve\b|\bfirst\s+see\b|\b(?:which|what)\s+(?:decade|century)\b|\bdid\s+we\s+(?:get|expect)\s*\?"
    r"|\b(?:humans?|humanity|mankind|species|the\s+moon|mars|world\s+war|peak\s+oil)\b"
)
_ASKED_BY_OTHERS = r"\b(?:he|she|they)\s+asked\b"

_ASKS = lazily(ASK)

# --- what the user told --------------------------------------------------------------------------

_TOLD_YOU = words("told gave given asked showed shown sent instructed warned ordered")
_LET_OUT = words("mentioned brought_up described said told let_slip revealed confessed")
_HISTORY = (
    cue(
        "history",
        0.9,
        rf"{I_HAVE}{ADV}\s+{_TOLD_YOU}\s+(?:(?:it|this|that)\s+to\s+)?"
        r"you\b(?!\s+so\b)",
        rf"{I_HAVE}{ADV}\s+{SAID}\b[^.?!]{{0,40}}?\b(?:to|with)\s+you\b|\byou(?:'ve"
        rf"|\s+have)?\s+heard\s+me\b|\bme\s+talking\s+about\b",
        rf"\b(?:did|have|had|haven't|didn't)\s+i{ADV}\s+(?:say|said|mention(?:ed)?\b(?!\s+to)|(?:{SAY}"
        rf"|{SAID})\b{TO_OTHERS})",
        rf"{I_HAVE}{ADV}\s+{_LET_OUT}\b{TO_OTHERS}(?!\s+in\s+an?\b|\s+you\s+so\b)",
        rf"\bi\s+(?:once|previously)\s+{SAID}\b{TO_OTHERS}|\b{TIME}[^.?!]{{0,10}}?\bi\s+{SAID}\b{TO_OTHERS}",
        r"\bi\s+keep\s+\w+ing\b[^.?!]*\byou\b|\b(?:was|were)\s+i\b[^.?!]*\bwith\s+you\b|\b(?:my"
        r"|mine)\b[^.?!]*\bfrom\s+before\b",
        r"\b(?:preferences|habits|details|facts)\s+of\s+mine\b|\bdid\s+i\s+[^.?!]{0,30}?\byou\b",
        r"\b(?:have|did)\s+you\s+\w+\s+(?:up\s+)?(?:about|on|of)\s+(?:me|my)\b",
        beside=ASK,
        unless=rf"{_ASKED_BY_OTHERS}|\bsay\s+(?:that|this|it)\s+(?:right|correctly|wrong)",
    ),
    cue(
        "history",
        0.8,
        r"\b(?:you|your)\b[^.?!]{0,40}?\b"
        + words(
            "know knew remember recall noted noticed saved stored kept learned learnt gathered picked_up"
            " on_file on_record notes_say"
            " recorded got memory"
        )
        + r"\b[^.?!]{0,30}?\b(?:my|mine|me|i|i'm)\b",
        r"\bof\s+my\b[^.?!]*\b(?:you\s+(?:know|noted|remember|saved|stored)|have\s+you|do\s+you)\b"
        r"|\babout\s+my\b[^.?!]*\byou\s+know\b",
        r"\bdo\s+you\s+(?:still\s+)?have\s+(?:my|any\w*\s+(?:\w+\s+)?(?:about|on)\s+me)\b|\b(?:stored|saved"
        r"|noted)\s+(?:on|about)\s+me\b",
        r"\bmy\b[^.?!]*\byou(?:'d)?\s+(?:know|remember|noted|have\s+(?:noted|stored|saved))\b",
        r"\bmy\s+(?:standing\s+)?(?:instructions|preferences|rules|orders)\s+(?:to|for)\s+you\b",
        r"\bdo\s+i\s+want\s+you\s+to\b|\b(?:questions|things|topics)\s+(?:have\s+i|did\s+i|i've|i)\s+(?:been\s+)?ask",
        r"\bhave\s+i\s+been\s+asking\b|\bdid\s+i\s+want\s+you\b|\bdid\s+i\s+\w+\s+you\s+(?:to|not)\b",
        beside=ASK,
        unless=r"\bknow\s+(?:how|if|whether|why|where|what|when)\s+(?:i|my\s+\w+)\s+(?:can|could|should|might|would"
        r"|need)|\bdid\s+you\s+know\b"
        r"|\bgot\s+(?:to\s+(?:help|tell)|any|some|a)\b|\b(?:tell|let)\s+me\s+know\b|\blet\s+me\b|\byou\s+know\s+who\b",
    ),
    cue(
        "history",
        0.75,
        rf"{_PLEASE}(?:remember|recall)\s+(?:my|(?:what|which|how|who|where)\s+(?:\w+\s+)?i)\b[^?]*\?"
        rf"|{_PLEASE}recall\s+my\b",
        r"\bremind\s+me\s+(?:of\s+)?(?:what|which|who|whose|where|how)\b[^.?!]*\b(?:my|i)\b|\bremind\s+me\s+of\s+my\b",
        r"\btell\s+me\s+again\s+(?:what|which|who|where|how)\b[^.?!]*\b(?:my|i)\b",
        r"^\W*(?:(?:and|so|ok|hey)[,\s]+)?(?:what|who|when|where|which|how)(?:'s|\s+is|\s+was|\s+are|\s+were"
        r"|'re|\s+do\s+i|\s+old)\b"
        r"[^.?!]*\b(?:my|i)\b[^.?!]*\bagain\b",
        r"\b(?:past|previous|earlier|our|prior)\s+(?:chats|conversations|sessions|talks"
        r"|history)\b[^.?!]*\b(?:my|i|me)\b",
    ),
    cue(
        "history",
        0.6,
        r"\b(?:how|what|which)\s+(?:\w+\s+){0,3}?do\s+i\s+(?:(?:usually|normally|always)\s+)?(?:like|prefer"
        r"|hate|love|dislike)\b",
        r"\bdo\s+i\s+(?:like|prefer|hate|love)\b",
        r"\b(?:what|who|when|where|which)(?:'s|\s+is|\s+was|\s+are|\s+were)\s+my\s+(?:\w+\s+)?(?:favou?rite"
        r"|usual|birthday|anniversary"
        r"|blood\s+type|shoe\s+size|nickname|preferences?|allerg\w+|hobb\w+)\b",
        rf"\b(?:what|who|when|where|how\s+old)(?:'s|\s+is|\s+was|\s+are|\s+were)\s+my\s+(?:{PEOPLE}|dog"
        rf"|cat)(?:'?s)?\b",
        unless=r"\bwhy\b|\bshould\b|\brights?\b",
    ),
)

# --- what was discussed --------------------------------------------------------------------------

_NOUN = (
    words(
        "plan decision reasoning conclusion agreement verdict debate discussion choice approach convention"
        " strategy talk conversation"
        " chat notes finding rationale design thinking outcome deal compromise consensus analysis"
        " recommendation advice suggestion"
        " proposal explanation estimate take idea tip pick opinion workaround setup argument reason brainstorm"
        " comparison research"
        " review investigation theory draft objection"
    )
    + "s?"
)
_FETCH = words(
    "recap remind recall pull dig bring repeat summari[sz]e (?:came|come)_(?:out_)?of happened_to refresh revisit find"
)
_ASKED_OF_US = cue(
    "topic",
    0.85,
    rf"\b(?:did|didn't|have|haven't|had|hadn't|hasn't|were|weren't)\s+{WE}\b",
    rf"\b(?:what|which|why|how|where|when|who|whether)\b[^.?!,;]{{0,40}}?{WE_HAVE}{ADV}\s+{DID}\b",
    r"\bmade\s+us\s+\w+|\bus\s+(?:agreeing|deciding|discussing|talking|settling|picking|choosing|trying)\b",
    beside=ASK,
    unless=rf"{_MANKIND}|{_ASKED_BY_OTHERS}|{HOW_TO}|^\W*(?:after|before|since)\s",
)
_THEN = (
    r"(?:what|which|who|why|how|how\s+(?:much|many|long|old|far|big|often)(?:\s+\w+)?|where)\s+"
    r"(?:was|were|did|had|won|came|went|\w+ed)\b"
)
_TALKED_OVER = words(
    "analysis discussions? debate conversations? talks? chats? verdict comparison brainstorm agreement"
    " compromise conclusion decision"
    " reasoning notes findings"
)
_TOPIC = (
    cue(
        "topic",
        0.65,
        rf"{WE_HAVE}{ADV}\s+(?:were\s+\w+ing|had|{DID})\b[^?]*[.,;:?–—-]+\s*(?:(?:so|and|but)\s+)?{_THEN}",
        rf"^\W*(?:remember\s+)?that\s+[^,?]{{3,60}}[,?]\s*{_THEN}",
        rf"\b(?:what|what's|which|where|where's|how|why)\b[^.?!]*\bour\s+(?:\w+\s+)?{_TALKED_OVER}\b",
        r"\b(?:what|which|how|why|where|who)\b[^.?!,]*\bdid\s+you\s+(?!(?:know|mean|do|think|eat|feel|get|go"
        r"|see|hear|sleep|learn|grow)\b)\w+",
        rf"{_PLEASE}remember\s+(?:that|this|the)\s+[^?]*\?\s*\w|\bfrom\s+before\b",
        beside=r"\?|\b(?:you|your)\b|^\W*that\b",
        unless=rf"{_MANKIND}|{HOW_TO}|{_ASKED_BY_OTHERS}|\bto\s+deserve\b|^\W*remember\s+the\b[^?]*\?\s*$",
    ),
    cue(
        "topic",
        0.75,
        rf"\b(?:the|that|those|a|an|one|everything|all|any\w*|some\w*"
        rf"|notes\s+on)\b[^.?!]{{0,60}}?{WE_HAVE}{ADV}\s+{DID}\b",
        rf"{WE_HAVE}{ADV}\s+{DID}\b[^?]*[.,;:–—-]+\s*(?:(?:so|and|but)\s+)?(?:what|which|who|why|remind"
        rf"|(?:do|can|could)\s+you)\b",
        beside=ASK,
        unless=rf"{_MANKIND}|\b(?:should|shall|could|would|can)\s+(?:i|we)\b|\bhow\s+(?:do|can|should)\b|\bthoughts\b"
        rf"|{_ASKED_BY_OTHERS}",
    ),
    cue(
        "topic",
        0.8,
        rf"\b(?:did|have|had|didn't|haven't)\s+you{ADV}\s+(?:{ADVISE}|{SAID}|explained|recommended|suggested)\b",
        rf"(?<!if )(?<!what )(?<!what's )(?<!as )(?<!when )(?<!think ){YOU_HAVE}{ADV}\s+{ADVISED}\b",
        rf"\bwhat\s+you(?:'ve|'d|\s+have|\s+had)?{ADV}\s+{ADVISED}\b[^.?!]*\b(?:about|on|{TIME})",
        beside=ASK,
    ),
    cue(
        "topic",
        0.75,
        rf"\b(?:was|were|wasn't)\s+(?:your|our)\s+(?:\w+\s+)?{_NOUN}\b",
        rf"\b(?:your|our)\s+(?:\w+\s+){{0,2}}?{_NOUN}\b[^?!]*\b(?:was|were|again)\b",
        rf"\b(?:did|was|has|had)\s+(?:our|your)\s+(?:\w+\s+)?{_NOUN}\b"
        rf"|\bour\s+(?:\w+\s+)?{_NOUN}\b[^?!]*\b(?:remind|recap)\b",
        rf"\?\s*{WE_HAVE}{ADV}\s+{DID}\b",
        r"\byou\s+who\s+\w+ed\b",
        rf"\bour\s+(?:earlier|previous|last|original|past|prior|old)\s+{_NOUN}\b",
        rf"\b{_FETCH}\b"
        rf"[^.?!]{{0,30}}?\b(?:our|your)\s+(?:\w+\s+)?{_NOUN}\b",
        rf"\b(?:remember|recall)\b[^.?!]{{0,40}}?\b(?:{WE}|us|our|the\s+(?:discussion|conversation|talk|chat"
        rf"|debate))\b",
        r"\b(?:do|don't|can)\s+you\s+(?:still\s+)?(?:remember|recall)\s+(?:that|those)\s",
        r"\b(?:come|came|comes)\s+up\s+(?:between\s+us|in\s+our|with\s+us)\b"
        r"|\bbetween\s+us\b[^.?!]*\b(?:before|ever|already)\b",
        r"\b(?:was|were|been)\s+(?:agreed|decided|settled|said)\s+between\s+us\b",
        rf"\breasons?\s+(?:that\s+|why\s+)?{WE}\s+\w+ed\b",
        beside=ASK,
        unless=rf"\bi\s+remember\s+when\b|{HOW_TO}",
    ),
)

_PAST = rf"(?:before|earlier|previously|already|once|last\s+time|back\s+then|originally|{TIME})"
_AS = r"(?:as|like|the\s+way|per\s+what)"
_AS_BEFORE = (
    cue(
        "history",
        0.8,
        rf"\b(?:just\s+)?(?:as|like)\s+i(?:'ve|'d|\s+have|\s+had)?{ADV}\s+{_TOLD_YOU}\s+you\b(?!\s+so\b)",
        rf"\b(?:just\s+)?(?:as|like)\s+i(?:'ve|'d|\s+have|\s+had)?{ADV}\s+{SAID}\s+{_PAST}\b{TO_OTHERS}",
        r"^\W*(?:(?:just|i'll\s+have|give\s+me|make\s+it|do)\s+)?(?:my|the)\s+usual\b(?:\W+please)?\W*$",
        unless=_ASKED_BY_OTHERS,
    ),
    cue(
        "topic",
        0.8,
        rf"\b{_AS}\s+{WE}(?:'ve|'d|\s+have|\s+had)?{ADV}\s+(?:{DID}|planned|wanted)\b",
        rf"\b(?:as|like|the\s+way)\s+you(?:'ve|'d|\s+have|\s+had)?{ADV}\s+(?:suggested|recommended|proposed|advised"
        rf"|explained|said\s+{_PAST}|did\s+{_PAST})\b",
        r"^\W*(?:(?:please|so|ok|okay|and)\W+)?(?:just\s+)?as\s+(?:previously\s+|already\s+)?(?:discussed|agreed|decided"
        r"|planned|settled)\b(?!\s+(?:in|by|with|at)\s)",
        r"\b(?:same|just)\s+(?:again\s+)?(?:as|like)\s+(?:last|the\s+last|the\s+previous)\s+time\b",
        r"\b(?:do|make|format|write|use|set|run|name|keep|handle|phrase|structure|style)\b[^.?!]{0,40}?\b(?:as|like)"
        r"\s+(?:(?:you|we)\s+did\s+)?(?:last\s+time|before)\b(?!\s+\w)",
        unless=rf"{_ASKED_BY_OTHERS}|{_MANKIND}|{HOW_TO}|\bwhy\s+|\b(?:with|by|at|in)\s+(?:my|the|his|her|their)\s+{PEOPLE}\b",
    ),
)
"""Asks for nothing in words, but cannot be done without what was said."""

_TYPOS = dict(
    pair.split(":")
    for pair in (
        "u:you ur:your wht:what wat:what abt:about rember:remember remeber:remember rememebr:remember remmeber:remember"
        " bck:back whats:what's wheres:where's ive:i've weve:we've lets:let's didnt:didn't havent:haven't prev:previous"
        " convo:conversation convos:conversations disscussed:discussed discused:discussed decied:decided"
        " dicided:decided"
        " mentionned:mentioned tlaked:talked yesterdays:yesterday's yesturday:yesterday sesh:session pervious:previous"
        " summerize:summarize youve:you've"
    ).split()
)
_WORD = lazily(r"(?i)[a-z]+(?:'[a-z]+)?")

_EMPTY = lazily(
    rf"(?i)\b(?:(?:from\s+)?{TIME}|{ORDER}|{TALK})(?:'s)?\b|\b"
    + words(
        "i  me my mine we  us our you  your it  its that this these"
        " those the an? there ones?"
        " what  which who whose when where  why how did  do does  was  were is"
        " are be been have"
        "  has had can could would will should to of for in on at from with about regarding by into and"
        " or but so if as up"
        " off out over down back again please pls kindly just now then ever still also all any some exactly"
        " actually once already"
        " ended? started? begin began begun remember recall remind forgot forget memory idea refresh tell told"
        " say said saying"
        " mention(?:ed)? talk(?:ed|ing)? speak spoken? spoke discuss(?:ed|ing)? decided? agreed? settled?"
        " concluded? land(?:ed)?"
        " suggest(?:ed)? recommend(?:ed)? explain(?:ed)? give gave given ask(?:ed|ing)? know knew doing done"
        " get got go went come"
        " came left leave stop(?:ped)? continue resume carry pick(?:ed)? finish keep going let  show open"
        " pull bring repeat"
        " list recap summari[sz]e summary gist transcript things? topics? subject work(?:ed|ing)? cover(?:ed)?"
        " like want need here"
        " time last happened same way usual hours? help(?:ed)? look(?:ed)? find found point must think sure believe am"
    )
    + r"(?:n't|'(?:s|d|m|re|ve|ll))?\b"
)
_SPACE = lazily(r"[\s,.;:!?▢()\-–—]+")


def scene_of(text: str) -> tuple[Scene, str, float] | None:
    """The recall that an English text asks for, the words that say so, and how sure that is; None for none."""
    text = plain(text)
    within = first(WITHIN, text)
    if within or _NEVER.search(text):
        return within
    if whole := first(WHOLE, text):
        return whole
    did = first(WHAT_WE_DID, text)
    return did if did and not subject(text) else first((_ASKED_OF_US, *_HISTORY, *_TOPIC, *_AS_BEFORE), text)


def asks(text: str) -> bool:
    """Whether something is asked or wanted at all."""
    return _ASKS.search(plain(text)) is not None


def never(text: str) -> bool:
    """Whether it is an order, a reminder or a text to be written, which asks for nothing whatever stands in it."""
    return _NEVER.search(plain(text)) is not None


def subject(text: str) -> str:
    """The text without English words that ask, point at a time or mean nothing by themselves."""
    return _SPACE.sub(" ", _EMPTY.sub(" ", _mended(text))).strip()


def plain(text: str) -> str:
    """In lower case, with single spaces, frequent slips of the keyboard mended."""
    return _mended(" ".join(text.lower().split()))


def _mended(text: str) -> str:
    return _WORD.sub(lambda word: _TYPOS.get(word[0].lower(), word[0]), text)
