"""How English asks for what was said before: a person, a past, a verb of talking; or a talk that is pointed at."""

from __future__ import annotations

from memorybook.patterns import lazily
from memorybook.recall.cues import cue, first
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.recall.cues import Scene

# --- words ---------------------------------------------------------------------------------------

_ADV = (
    r"(?:\s+(?:\w+ly|ever|once|already|just|also|both|even|never|first|last|then|before|still|all|maybe|(?:kind"
    r"|sort)\s+of))*"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_COUNT = r"(?:\d+|an?|one|two|three|four|five|six|ten|a\s+few|few|a\s+couple(?:\s+of)?|several|some)"
_PART = r"(?:\s+(?:morning|afternoon|evening|night))?"
_SEASON = r"(?:night|week|month|year|weekend|time|spring|summer|autumn|fall|winter|quarter)"
_TIME = (
    rf"(?:yesterday{_PART}|last\s+(?:{_SEASON}|{_DAY}|{_MONTH}){_PART}|(?:the\s+)?other\s+(?:day|night|week|evening)"
    r"|(?:earlier\s+)?(?:this|that)\s+(?:morning|afternoon|evening|week|month|weekend|year)|earlier\s+today"
    r"|tonight|today"
    rf"|(?:over|on|at|during)\s+the\s+weekend|{_COUNT}\s+(?:days?|weeks?|months?|years?|hours?|nights?"
    rf"|{_DAY}s?)\s+(?:ago|back|earlier)"
    r"|(?:quite\s+)?a\s+(?:(?:long|little|good)\s+)?(?:while|time)\s+(?:ago|back)|ages\s+ago|way\s+back"
    r"|long\s+ago|some\s+time\s+ago"
    rf"|(?:back\s+)?(?:on|in)\s+(?:{_DAY}{_PART}|{_MONTH}\b|the\s+\d+(?:st|nd|rd|th)?\b)"
    rf"|(?:on\s+)?{_MONTH}\s+\d+|{_DAY}{_PART}"
    r"|previously|at\s+(?:some|one)\s+point|in\s+the\s+past|recently|lately|before)"
)
_ORDER = (
    r"(?:(?:very\s+)?(?:last|previous|prior|first|second|third|fourth|fifth|latest|most\s+recent|earliest|past"
    r"|preceding"
    r"|penultimate)(?:\s+ever)?(?:\s+(?:two|three|few))?)"
)
_TALK = r"(?:conversations?|chats?|sessions?|discussions?|talks?|exchanges?|dialogues?|calls?)"
_WE = r"(?:we|you\s+and\s+(?:i|me)|(?:i|me)\s+and\s+you)"
_YOU_HAVE = r"\byou(?:'ve|'d|\s+have|\s+had)?"
_WE_HAVE = rf"\b{_WE}(?:'d|'ve|\s+had|\s+have)?"
_I_HAVE = r"\bi(?:'ve|'d|\s+have|\s+had|\s+must\s+have|\s+may\s+have|\s+might\s+have)?"
_SAID = (
    r"(?:said|told|mentioned|brought\s+up|asked|shared|gave|given|described|complained|listed|noted|pasted"
    r"|posted|sent|wrote"
    r"|written|showed|shown|explained|specified|stated|typed|requested|confided|uploaded|provided|dropped\s+in)"
)
_SAY = (
    r"(?:say|tell|mention|bring\s+up|ask|share|give|describe|complain|list|note|paste|post|send|write|show"
    r"|explain|specify"
    r"|state|type|request|provide)"
)
_ADVISED = (
    r"(?:gave|given|wrote|written|recommended|suggested|told|explained|proposed|showed|shown|described|listed"
    r"|sent|advised"
    r"|warned|drafted|quoted|built|designed|calculated|estimated|generated|put\s+together|walked"
    r"|came\s+up\s+with|helped|taught"
    r"|outlined|sketched|pointed|made|found|used|picked|produced|offered|cited|worked\s+out|named"
    r"|summari[sz]ed|said|mentioned)"
)
_DID = (
    r"(?:discussed|talked|chatted|spoke|spoken|decided|agreed|settled|concluded|landed|picked|chose|chosen"
    r"|went|gone|ruled"
    r"|dropped|compared|considered|figured|found|fixed|debugged|solved|worked|came|planned|set|ended|looked"
    r"|covered|reached"
    r"|started|began|begun|chased|tracked|tried|rejected|preferred|named|called|wrote|written|built|made|gave"
    r"|used|avoided"
    r"|switched|adopted|evaluated|brainstormed|drafted|sketched|outlined|estimated|budgeted|left|stopped|got"
    r"|said|did|done"
    r"|touched|handled|resolved|changed|put|kept|cut|weighed|explored|reviewed|designed|sorted|arrived|opted|scrapped"
    r"|abandoned|traced|diagnosed|had|were|wanted|meant|listed|noted|promised|hit|ran)"
)
_BIT = (
    r"(?:repl(?:y|ies)|answers?|messages?|responses?|suggestions?|points?|remarks?|proposals?|options?|lists?"
    r"|snippets?|drafts?"
    r"|questions?|versions?|explanations?|examples?|outputs?|comments?|paragraphs?|sentences?|solutions?"
    r"|statements?|ideas?"
    r"|approach(?:es)?|requirements?|prompts?|requests?|instructions?|steps?|edits?|changes?|turns?|posts?|attempts?"
    r"|summar(?:y|ies)|tables?|code)"
)
_ASK = (
    r"\?|\b(?:what|what's|which|who|who's|whose|when|where|why|how|remind|recap|list|repeat|again|tell\s+me"
    r"|show|send|find|pull"
    r"|dig|look\s+up|bring|(?:can|could)\s+(?:i|you|we)|do\s+you|i'd\s+like|give\s+me|type\s+it|summari[sz]e"
    r"|recall|refresh"
    r"|forgot|forget|(?:did|have)\s+(?:i|we|you))\b"
)

# --- what never asks -----------------------------------------------------------------------------

_PLEASE = r"^\W*(?:(?:please|pls|plz|also|ok|and|hey)[,\s]+)*"
_NEVER = lazily(
    rf"{_PLEASE}(?:don'?t\s+forget|do\s+remember|remember)\s+to\b|\bfrom\s+now\s+on\b|{_PLEASE}(?:note|save)\s+this\b"
    r"|\bremind\s+me\s+(?:to|in|at|on|every|tomorrow|tonight|next|later)\b|\bset\s+an?\s+(?:reminder|alarm)\b"
    rf"|{_PLEASE}(?:remember|recall)\s+(?:that\s+|i\b|i'm\b|my\b|we\b)(?![^?]*\?)"
    r"|^\W*(?:translate|rewrite|rephrase|proofread|paraphrase)\b|\btranslate\b[^?]*$"
    r"|\b(?:if|suppose)\s+(?:i|you|we)\s+(?:had|were|told|said|asked)\b"
    r"|\b(?:write|draft|compose|prepare)\b(?:\s+\w+){0,3}?\s+(?:an?|some)\s+(?:\w+\s+){0,3}?"
    r"(?:e-?mail|letter|story|apology|post|poem|speech|reply|message|essay|tweet|novel|song|joke|blog)\b"
    rf"|{_PLEASE}(?:(?:can|could|shall)\s+we|let'?s|let\s+us|i'd\s+like\s+to|i\s+want\s+to)\s+(?:talk|discuss"
    rf"|chat|speak)\b"
)
_HOW_TO = (
    r"\bhow\s+(?:do|can|could|should|would|might|does|to)\b(?!\s+i\s+(?:like|prefer|take|want)\b)|\bshould\s+(?:i|we)\b"
    r"|\bis\s+there\s+an?\s+(?:way|command|shortcut)|\bis\s+it\s+(?:bad|okay|ok|safe|normal|possible)\b"
)
_MANKIND = (
    r"\bwe\s+(?:\w+ly\s+)?(?:learn|evolve|discover|invent|domesticat|descend|become\s+human|come\s+from|know)"
    r"|\b(?:humans?|humanity|mankind|species|the\s+moon|mars|world\s+war)\b"
)
_TO_OTHERS = (
    r"(?!\s+(?:him|her|them|my\s+\w+|the\s+(?:police|doctor|recruiter|team|client|customer)|no\b|yes\b|to\s+(?:my"
    r"|her|him|them)))"
)

# --- within this talk ----------------------------------------------------------------------------

_NTH = (
    r"(?:(?:very\s+)?(?:first|second|third|fourth|last|previous|latest|original|initial|opening|earlier"
    r"|earliest|prior|preceding"
    r"|recent|most\s+recent|two|three|few)\s+)"
)
_WITHIN = (
    cue(
        "within",
        0.9,
        rf"\b(?:in|of|during|from|throughout|with|for)\s+(?:this|(?:the|our)\s+(?:current"
        rf"|present))\s+(?:(?:same|very)\s+)?{_TALK}\b",
        r"\bthis\s+(?:chat|conversation|thread|session|discussion)\s+so\s+far\b",
        r"\b(?:in|of)\s+this\s+thread\b|\b(?:summari[sz]e|recap)\s+this\s+(?:chat|conversation|thread|session)\b",
        beside=r"\b(?:i|you|we|my|your|our|i've|we've|you've|summari[sz]e|recap|tl;?dr|far|above|first|start"
        r"|beginning|list)\b",
        unless=_HOW_TO,
    ),
    cue(
        "within",
        0.85,
        r"\b(?:you|we)(?:'ve|'d|\s+have|\s+had)?\s+just\s+(?!(?:want|need|like|have|are|can|do|use|get|got|be)\b)\w+",
        rf"\bi(?:'ve|\s+have)?\s+just\s+{_SAID}\b{_TO_OTHERS}|\bdid\s+(?:i|you|we)\s+just\s+\w+",
    ),
    cue(
        "within",
        0.85,
        rf"\bjust\s+now\b|\b{_COUNT}\s+(?:of\s+)?(?:seconds?|secs?|moments?|minutes?|mins?|messages?|turns?"
        rf"|replies|answers?"
        r"|posts?|lines?|exchanges?|prompts?)\s+(?:ago|back|earlier|before)\b",
        beside=rf"\b(?:you|your|we)\b|\bi\s+(?:\w+\s+)?(?:{_SAID}|{_SAY})\b{_TO_OTHERS}",
    ),
    cue("within", 0.85, rf"\byour\s+(?:own\s+)?{_NTH}+(?:\w+\s+)?{_BIT}\b", unless=r"\bwould\s+be\b"),
    cue(
        "within",
        0.85,
        rf"\bmy\s+{_NTH}+(?:questions?|messages?|requests?|requirements?|prompts?|points?|inputs?"
        rf"|instructions?|posts?)\b"
        r"(?!\s+(?:in|at|to|for)\b)",
        beside=r"\byou\b|\bwhat\s+(?:was|were)\b|\b(?:repeat|answer|go\s+back|again|revisit)\b",
    ),
    cue(
        "within",
        0.8,
        rf"\b(?:{_SAID}|{_ADVISED}|{_DID})\s+(?:\w+\s+){{0,4}}?(?:above|further\s+up|up\s+top)\b(?!\s+(?:the|a"
        rf"|my|all|\d))",
        rf"\b(?:files?|list|options?|snippet|table|error|log|steps?|example|{_BIT})\s+above\b(?!\s+(?:the|a|my"
        rf"|all|\d))",
        r"\bthe\s+above\s+\w+",
        beside=r"\b(?:you|your|i|we|my)\b",
    ),
    cue(
        "within",
        0.85,
        r"\b(?:options?|points?|steps?|items?|parts?|ideas?|bullets?|numbers?|examples?|questions?)\s+(?:\d+"
        r"|one|two|three|four"
        rf"|five|[a-d])\s+(?:of|in|from)\s+(?:your|the)\s+(?:\w+\s+)?{_BIT}\b",
        rf"\b(?:first|second|third|fourth|fifth|last|other|final)\s+(?:\w+\s+)?{_BIT}\s+(?:that\s+)?(?:you"
        rf"|i)\s+(?:just\s+|have\s+)?"
        rf"(?:{_ADVISED}|{_SAID})\b",
        r"\bscroll(?:ing)?\s+(?:back\s+)?up\b|\btl;?dr\s+(?:of\s+)?this\b",
        r"\bthat\s+last\s+(?:remark|bit|part|point|sentence|paragraph|line|statement)\b",
        r"\bin\s+(?:the|your)\s+(?:last|previous|preceding)\s+(?:step|reply|answer|message|edit|response|turn)\b",
        r"\b(?:change|edit)s?\s+you\s+(?:just\s+)?made\b|\b(?:the|your)\s+(?:previous|preceding)\s+(?:reply"
        r"|answer|message|response)\b",
        r"\bwhat\s+did\s+you\s+mean\b|\byou\s+(?:forgot|skipped|missed|ignored|overlooked|haven't\s+answered"
        r"|have\s+not\s+answered"
        r"|didn't\s+answer)\b",
    ),
    cue(
        "within",
        0.8,
        r"\b(?:at|from|in)\s+the\s+(?:very\s+)?(?:top|start|beginning|outset)\b|\bto\s+(?:start|begin)\s+with\b",
        beside=rf"\b(?:i|you|we)(?:'ve|'d|\s+have|\s+had)?\s+(?:{_SAID}|{_ADVISED}|started)\b|\bdid\s+(?:i|you"
        rf"|we)\s+{_SAY}\b",
    ),
    cue(
        "within",
        0.75,
        rf"\b(?:i|you|we)(?:'ve|'d|\s+have|\s+had)?{_ADV}\s+(?:{_SAID}|{_ADVISED}|talked\s+about"
        rf"|discussed)\b[^.?!]{{0,40}}?"
        r"\bearlier\b(?!\s+(?:this|that|in|today))",
        r"\bearlier,?\s+(?:you|i|we)\b|\bdid\s+(?:i|you|we)\s+\w+\s+(?:\w+\s+){0,4}?earlier\b(?!\s+(?:this"
        r"|that|in|today))",
    ),
    cue(
        "within",
        0.8,
        r"\b(?:have\s+(?:we|you|i)|(?:we|you|i)(?:'ve|\s+have))\b[^?.!]*\bso\s+far\b",
        unless=r"\b(?:about|of)\s+me\b",
    ),
)

# --- an earlier talk as a whole ------------------------------------------------------------------

_ABOUT = rf"(?!\s+(?:about|on|regarding|concerning|over|around|of)\s+(?!(?:the\s+)?\d|{_TIME})\w)"
_OF_MACHINES = (
    r"(?!\s*(?:cookies?|tokens?|ids?|keys?|storage|objects?|timeout|state|(?:in|of|from|with"
    r"|on)\s+(?:vs\s?code|chrome|firefox"
    r"|tmux|vim|ssh|screen|safari|php|redis|the\s+browser)))"
)
_TELL = (
    r"\b(?:our|we|us|me|my|i|you|summari[sz]e|recap|resume|continue|reopen|open|write\s+up|show|gist|what"
    r"|how\s+did|which"
    r"|transcript|where|go\s+back)\b"
)
_WHOLE = (
    cue(
        "session",
        0.9,
        rf"\b{_ORDER}\s+(?:of\s+our\s+)?{_TALK}\b{_OF_MACHINES}{_ABOUT}",
        rf"\b(?:session|chat|conversation|talk|one)\s+before\s+(?:last|that|this)\b|\b(?:yesterday|today"
        rf"|{_DAY})'?s\s+{_TALK}\b{_ABOUT}",
        rf"\b(?:last|this|that|previous)\s+(?:{_DAY}|week|month|weekend|night|morning|afternoon"
        rf"|evening)'?s\s+{_TALK}\b{_ABOUT}",
        rf"\b{_TALK}\s+(?:(?:that\s+)?we\s+had\s+|(?:from|on|of|at)\s+)?(?:the\s+)?{_TIME}",
        beside=_TELL,
        unless=rf"{_HOW_TO}|\bnew\s+{_TALK}|\bsecond\s+interview",
    ),
    cue(
        "session",
        0.9,
        rf"\bwhere(?:'d|\s+did|\s+had|\s+have|\s+were|\s+was)?\s+(?:we|you|us|i|things)\s*(?:left\s+(?:off|it)"
        rf"|leave|stop|get\s+to|got"
        rf"|end|were|was|broke\s+off|at\b|{_TIME})|\bwhere\s+were\s+we\b|\bhow\s+far\s+(?:did|had|have)\s+we\b"
        rf"|\bwhat\s+had\s+we\s+got",
        rf"\b(?:continue|carry\s+on|resume|pick\s+(?:\w+\s+){{0,3}}up|finish|go\s+on|keep\s+going|get\s+back"
        rf"|go\s+back|return|back)\b"
        rf"[^.?!]{{0,30}}?\b(?:{_WE}|us|you|i)\s+(?:started|began|left|stopped|paused|were\s+(?:doing|on|at"
        rf"|working))\b",
        rf"\b(?:continue|carry\s+on|resume|pick\s+(?:\w+\s+){{0,3}}up|keep\s+going|go\s+on)\s+(?:with\s+"
        rf"|from\s+)?{_TIME}",
        r"\blast\s+time\s+(?:i\s+(?:was\s+here|came|visited|logged)|we\s+(?:talked|spoke|chatted|met"
        r"|worked))\b(?!\s+(?:about|on|of)\b)",
        r"\bwhen\s+(?:did\s+we\s+last|was\s+the\s+last\s+time\s+we)\s+(?:talk|speak|chat|spoke)|\bsince\s+we\s+last\b",
        rf"\b(?:last|first|latest)\s+(?:\w+\s+)?(?:thing|topic|subject)s?\s+(?:that\s+)?we\s+(?:ever\s+)?{_DID}",
        unless=_HOW_TO,
    ),
    cue(
        "session",
        0.8,
        r"\bi\s+(?:had\s+to\s+(?:run|go|leave|stop)|closed\s+the|(?:logged|dropped|signed)\s+off|got\s+disconnected)\b"
        r"|\binterrupted\b|\bgot\s+cut\s+off\b",
        beside=r"\b(?:where|what)\s+(?:did|was|were|had)\b",
    ),
)
_WHAT_WE_DID = (
    cue(
        "session",
        0.8,
        rf"\bwhat\s+(?:all\s+|else\s+|exactly\s+)?(?:did|were|was|have|had)\s+{_WE}\b",
        rf"\b(?:what|topics|everything)\s+(?:all\s+)?{_WE_HAVE}{_ADV}\s+(?:did|talked|discussed|covered|worked"
        rf"|got|said|done)\b",
        rf"\b(?:topics|things|subjects)\b[^.?!]*\b{_WE}\b",
        beside=rf"\b(?:{_TIME})|\b{_ORDER}\s+{_TALK}|\blast\s+time\b|\bbefore\s+i\b",
    ),
)
"""These ask for a talk as a whole if they name no subject, else for the subject."""

# --- what the user told --------------------------------------------------------------------------

_HISTORY = (
    cue(
        "history",
        0.9,
        rf"{_I_HAVE}{_ADV}\s+(?:told|gave|given|asked|showed|shown|sent|instructed|warned|ordered)\s+(?:(?:it"
        rf"|this|that)\s+to\s+)?you\b",
        rf"{_I_HAVE}{_ADV}\s+(?:shared|mentioned|described|said|complained)\b[^.?!]{{0,40}}?\b(?:to|with)\s+you\b",
        rf"\b(?:did|have|had|haven't|didn't)\s+i{_ADV}\s+(?:{_SAY}|{_SAID})\b{_TO_OTHERS}",
        rf"{_I_HAVE}{_ADV}\s+(?:mentioned|brought\s+up|described|said|told)\b{_TO_OTHERS}(?!\s+in\s+an?\b)",
        beside=_ASK,
    ),
    cue(
        "history",
        0.8,
        r"\b(?:you|your)\b[^.?!]{0,40}?\b(?:know|knew|remember|recall|noted|noticed|saved|stored|kept|learned"
        r"|learnt|gathered"
        r"|picked\s+up|on\s+file|on\s+record|notes\s+say|recorded|got)\b[^.?!]{0,30}?\b(?:my|mine|me|i|i'm)\b",
        r"\b(?:of|about)\s+my\b[^.?!]*\b(?:you\s+(?:know|noted|remember|saved|stored)|have\s+you\s+\w+)\b"
        r"|\bof\s+my\b[^.?!]*\bhave\s+you\b",
        r"\bmy\s+(?:standing\s+)?(?:instructions|preferences|rules|orders)\s+(?:to|for)\s+you\b",
        r"\bdo\s+i\s+want\s+you\s+to\b|\b(?:questions|things|topics)\s+(?:have\s+i|did\s+i|i've"
        r"|i)\s+(?:been\s+)?ask|\bhave\s+i\s+been\s+asking\b",
        beside=_ASK,
        unless=r"\bknow\s+(?:how|if|whether|why|where|what|when)\s+(?:i|my\s+\w+)\s+(?:can|could|should|might|would"
        r"|need)|\bdid\s+you\s+know\b"
        r"|\bgot\s+to\s+(?:help|tell)|\bgot\s+(?:any|some|a)\b|\b(?:tell|let)\s+me\s+know\b|\blet\s+me\b",
    ),
    cue(
        "history",
        0.75,
        rf"{_PLEASE}(?:remember|recall)\s+(?:my|(?:what|which|how|who|where)\s+(?:\w+\s+)?i|me)\b[^?]*\?",
        r"\bremind\s+me\s+(?:of\s+)?(?:what|which|who|whose|where|how)\b[^.?!]*\b(?:my|i)\b|\bremind\s+me\s+of\s+my\b",
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
        r"\b(?:what|who|when|where|how\s+old)(?:'s|\s+is|\s+was|\s+are|\s+were)\s+my\s+(?:wife|husband|partner"
        r"|son|daughter|kid|mother"
        r"|father|mom|mum|dad|sister|brother|dog|cat|boss)(?:'?s)?\b",
        unless=r"\bwhy\b|\bshould\b|\brights?\b",
    ),
)

# --- what was discussed --------------------------------------------------------------------------

_NOUN = (
    r"(?:plan|decision|reasoning|conclusion|agreement|verdict|debate|discussion|choice|approach|convention"
    r"|strategy|talk"
    r"|conversation|chat|notes|finding|rationale|design|thinking|outcome|deal|compromise|consensus|analysis"
    r"|recommendation|advice"
    r"|suggestion|proposal|explanation|estimate|take|idea|tip|pick|opinion|workaround|setup|argument|reason)s?"
)
_ASKED_OF_US = cue(
    "topic",
    0.85,
    rf"\b(?:did|didn't|have|haven't|had|hadn't|hasn't|were|weren't)\s+{_WE}{_ADV}\s+\w+",
    rf"\b(?:what|which|why|how|where|when|who|whether)\b[^.?!,;]{{0,40}}?{_WE_HAVE}{_ADV}\s+{_DID}\b",
    r"\bmade\s+us\s+\w+|\bus\s+(?:agreeing|deciding|discussing|talking|settling|picking|choosing|trying)\b",
    beside=_ASK,
    unless=rf"{_MANKIND}|\b(?:he|she|they)\s+asked\b",
)
_TOPIC = (
    cue(
        "topic",
        0.75,
        rf"\b(?:the|that|those|a|an|everything|all|anything|notes\s+on)\b[^.?!]{{0,60}}?{_WE_HAVE}{_ADV}\s+{_DID}\b",
        rf"{_WE_HAVE}{_ADV}\s+{_DID}\b[^?]*[.,;:–—-]+\s*(?:(?:so|and|but)\s+)?(?:what|which|who|why|remind"
        rf"|(?:do|can|could)\s+you)\b",
        beside=_ASK,
        unless=rf"{_MANKIND}|\b(?:should|shall|could|would|can)\s+(?:i|we)\b|\bhow\s+(?:do|can|should)\b|\bthoughts\b",
    ),
    cue(
        "topic",
        0.8,
        rf"\b(?:did|have|had|didn't|haven't)\s+you{_ADV}\s+(?:give|recommend|suggest|tell|explain|propose"
        rf"|advise|warn|say|{_ADVISED})\b",
        rf"(?<!if )(?<!what )(?<!what's ){_YOU_HAVE}{_ADV}\s+{_ADVISED}\b",
        rf"\bwhat{_YOU_HAVE[2:]}{_ADV}\s+{_ADVISED}\b[^.?!]*\b(?:about|on|{_TIME})",
        beside=_ASK,
    ),
    cue(
        "topic",
        0.75,
        rf"\b(?:was|were|wasn't)\s+(?:your|our)\s+(?:\w+\s+)?{_NOUN}\b|\b(?:your"
        rf"|our)\s+(?:\w+\s+){{0,2}}?{_NOUN}\b[^?!]*\b(?:was|were|again)\b",
        r"\b(?:recap|remind|recall|pull|dig|bring|repeat|summari[sz]e|came\s+of|come\s+of|happened\s+to"
        r"|refresh|revisit|go\s+back\s+to"
        rf"|find)\b[^.?!]{{0,30}}?\b(?:our|your)\s+(?:\w+\s+)?{_NOUN}\b",
        rf"\b(?:remember|recall)\b[^.?!]{{0,40}}?\b(?:{_WE}|us|our|the\s+(?:discussion|conversation|talk|chat"
        rf"|debate))\b",
        r"\b(?:do|don't|can)\s+you\s+(?:still\s+)?(?:remember|recall)\s+(?:that|those)\s",
        r"\b(?:come|came|comes)\s+up\s+(?:between\s+us|in\s+our|with\s+us)\b"
        r"|\bbetween\s+us\b[^.?!]*\b(?:before|ever|already)\b",
        rf"\breasons?\s+(?:that\s+|why\s+)?{_WE}\s+\w+ed\b",
        beside=_ASK,
        unless=r"\bi\s+remember\s+when\b",
    ),
)

_TYPOS = dict(
    pair.split(":")
    for pair in (
        "u:you ur:your wht:what wat:what abt:about rember:remember remeber:remember rememebr:remember"
        " remmeber:remember bck:back"
        " whats:what's wheres:where's ive:i've weve:we've lets:let's didnt:didn't havent:haven't prev:previous"
        " convo:conversation"
        " convos:conversations disscussed:discussed discused:discussed decied:decided dicided:decided"
        " mentionned:mentioned"
        " tlaked:talked yesterdays:yesterday's yesturday:yesterday sesh:session pervious:previous summerize:summarize"
    ).split()
)
_WORD = lazily(r"[a-z]+(?:'[a-z]+)?")

_EMPTY = lazily(
    rf"(?i)\b(?:{_TIME}|{_ORDER}|{_TALK})(?:'s)?\b"
    r"|\b(?:i|i'd|i've|i'm|me|my|mine|we|we'd|we've|us|our|you|you'd|you've|your|it|its|that|this|these|those"
    r"|the|a|an|there|one|ones"
    r"|what|what's|which|who|whose|when|where|where'd|why|how|did|didn't|do|does|don't|was|wasn't|were|is|are"
    r"|be|been|have|haven't|has"
    r"|had|can|could|would|will|should|to|of|for|in|on|at|from|with|about|regarding|by|into|and|or|but|so|if"
    r"|as|up|off|out|over|down"
    r"|back|again|please|pls|kindly|just|now|then|ever|still|also|all|any|some|exactly|actually|once|already"
    r"|end|ended|started|start"
    r"|remember|recall|remind|forgot|forget|memory|idea|refresh|tell|told|say|said|saying|mention|mentioned"
    r"|talk|talked|talking|speak"
    r"|spoke|spoken|discuss|discussed|decide|decided|agree|agreed|settle|settled|conclude|concluded|land"
    r"|landed|suggest|suggested"
    r"|recommend|recommended|explain|explained|give|gave|given|ask|asked|asking|know|knew|doing|done|get|got"
    r"|go|went|come|came|left"
    r"|leave|stop|stopped|began|begun|begin|continue|resume|carry|pick|picked|finish|keep|going|let|let's|show"
    r"|open|pull|bring"
    r"|repeat|list|recap|summarize|summarise|summary|gist|transcript|thing|things|topic|topics|subject|work"
    r"|worked|working|cover"
    r"|covered|like|want|need|here|time|last|happened|look|looked|find|found|point|must|think|sure|believe|am)\b"
)
_SPACE = lazily(r"[\s,.;:!?▢()\-–—]+")


def scene_of(text: str) -> tuple[Scene, str, float] | None:
    """The recall that an English text asks for, the words that say so, and how sure that is; None for none."""
    text = _plain(text)
    if _NEVER.search(text):
        return None
    whole = first(_WHAT_WE_DID, text)
    if whole and subject(text):
        whole = None
    return (
        first(_WITHIN, text)
        or first(_WHOLE, text)
        or whole
        or first((_ASKED_OF_US,), text)
        or first(_HISTORY, text)
        or first(_TOPIC, text)
    )


def subject(text: str) -> str:
    """The text without English words that ask, point at a time or mean nothing by themselves."""
    return _SPACE.sub(" ", _EMPTY.sub(" ", text)).strip()


def _plain(text: str) -> str:
    """In lower case, with plain quote marks and spaces, frequent slips of the keyboard mended."""
    return _WORD.sub(lambda word: _TYPOS.get(word[0], word[0]), " ".join(text.lower().split()))
