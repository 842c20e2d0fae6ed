"""How English points at a session: at something earlier in this one, or at an earlier one as a whole."""

from __future__ import annotations

from memorybook.recall.cues import cue, words
from memorybook.recall.words_en import (
    ADV,
    ADVISE,
    BIT,
    COUNT,
    DAY,
    DID,
    HOW_TO,
    LONG_AGO,
    ORDER,
    SAID,
    SAY,
    TALK,
    TIME,
    TO_OTHERS,
    WE,
    WE_HAVE,
)

# --- within this talk ----------------------------------------------------------------------------

_NTH = (
    r"(?:(?:very\s+)?"
    + words(
        "first second third fourth last previous latest original initial opening earlier earliest prior"
        " preceding recent"
        " most_recent two three few"
    )
    + r"\s+)"
)
_MINE = words("questions? messages? requests? requirements? prompts? points? inputs? instructions? posts?")
_SENT = words(
    "files? snippets? code logs? list tables? image screenshot text error output numbers? function data json"
    " csv doc links? two"
)
_PUT_HERE = words("sent pasted typed uploaded posted attached provided gave_you shared")
WITHIN = (
    cue(
        "within",
        0.9,
        rf"\b(?:in|of|during|from|throughout|with|for)\s+(?:this|(?:the|our)\s+(?:current"
        rf"|present))\s+(?:(?:same|very)\s+)?{TALK}\b",
        r"\bthis\s+(?:chat|conversation|thread|session|discussion)\s+so\s+far\b|\b(?:in|of"
        r"|earlier\s+in)\s+this\s+thread\b",
        r"\b(?:summari[sz]e|recap)\s+this\s+(?:chat|conversation|thread|session)\b",
        beside=r"\b(?:i|you|we|my|your|our|i've|we've|you've|summari[sz]e|recap|tl;?dr|far|above|first|start"
        r"|beginning|list)\b",
        unless=rf"{HOW_TO}|\b{TALK}\s+(?:between|of|with|from)\s+(?!(?:you|me|us)\b)",
    ),
    cue(
        "within",
        0.85,
        r"\b(?:you|we)(?:'ve|'d|\s+have|\s+had)?\s+just\s+(?!(?:want|need|like|have|are|can|do|use|get|got|be)\b)\w+",
        rf"\bi(?:'ve|\s+have)?\s+just\s+{SAID}\b{TO_OTHERS}|\bdid\s+(?:i|you|we)\s+just\s+\w+",
    ),
    cue(
        "within",
        0.85,
        rf"\bjust\s+now\b|\b{COUNT}\s+(?:of\s+)?(?:seconds?|secs?|moments?|minutes?|mins?|messages?|turns?"
        rf"|replies|answers?"
        r"|posts?|lines?|exchanges?|prompts?)\s+(?:ago|back|earlier|before)\b",
        beside=rf"\b(?:you|your|we|suggestions?)\b|\bi\s+(?:\w+\s+)?(?:{SAID}|{SAY})\b{TO_OTHERS}",
    ),
    cue("within", 0.85, rf"\byour\s+(?:own\s+)?{_NTH}+(?:\w+\s+)?{BIT}\b", unless=rf"\bwould\s+be\b|{LONG_AGO}"),
    cue(
        "within",
        0.85,
        rf"\bmy\s+{_NTH}+{_MINE}\b(?!\s+(?:in|at|to|for)\b)|\b(?:read|answer)\s+my\s+{_MINE}\b"
        rf"|\bnot\s+what\s+i\s+asked\b",
        unless=LONG_AGO,
    ),
    cue(
        "within",
        0.8,
        rf"\b(?:{SAID}|{DID}|\w+ed)\s+(?:\w+\s+){{0,4}}?(?:above|further\s+up|up\s+top)\b(?!\s+(?:the|a|my|all|\d))",
        r"\b(?:everything|all)\s+(?:of\s+)?(?:the\s+|that\s+|this\s+)?above\b",
        rf"\b(?:{_SENT}|files?|{BIT})\s+above\b(?!\s+(?:the|a|my|all|\d))|\bthe\s+above\s+\w+",
        beside=r"\b(?:you|your|i|we|my)\b",
    ),
    cue(
        "within",
        0.85,
        r"\b(?:options?|points?|steps?|items?|parts?|ideas?|bullets?|numbers?|examples?|questions?)\s+(?:\d+"
        r"|one|two|three|four"
        rf"|five|[a-d])\s+(?:of|in|from)\s+(?:your|the)\s+(?:\w+\s+)?{BIT}\b",
        rf"\b(?:first|second|third|fourth|fifth|last|other|final)\s+(?:\w+\s+)?{BIT}\s+(?:that\s+)?(?:you"
        rf"|i)\s+(?:just\s+|have\s+)?"
        rf"(?:{SAID}|\w+ed)\b",
        rf"\bthe\s+(?:earlier|previous|first|original"
        rf"|last)\s+{BIT}\s+(?:of\s+\w+\s+\w+\s+)?(?:that\s+)?you\s+(?:wrote|gave|sent)\b",
        r"\bof\s+your\s+(?:reply|answer|message|response)\b|\bhaven't\s+you\s+answered\b",
        r"\b(?:repeat|redo|expand|elaborate\s+on|go\s+back\s+to)\s+(?:on\s+)?(?:step|point|item|option|part"
        r"|number)\s+(?:\d|one|two|three|four|five)",
        r"\bscroll(?:ing)?\s+(?:back\s+)?up\b|\btl;?dr\s+(?:of\s+)?this\b|\byou\s+(?:contradicted"
        r"|repeated)\s+yourself\b",
        r"\bthat\s+last\s+(?:remark|bit|part|point|sentence|paragraph|line|statement)\b",
        r"\bin\s+(?:the|your)\s+(?:last|previous|preceding|first|second|third)\s+(?:step|reply|answer|message"
        r"|edit|response|turn)\b",
        r"\b(?:change|edit)s?\s+you\s+(?:just\s+)?made\b|\b(?:the|your)\s+(?:previous|preceding)\s+(?:reply"
        r"|answer|message|response)\b",
        r"\bwhat\s+did\s+you\s+mean\b|\bdiscussing\s+here\b|\btalking\s+about\s+here\b|\byou\s+(?:forgot"
        r"|skipped|missed|ignored"
        r"|overlooked|haven't\s+answered|have\s+not\s+answered|didn't\s+answer)\b",
        unless=LONG_AGO,
    ),
    cue(
        "within",
        0.8,
        rf"\b{_SENT}\s+(?:that\s+|which\s+)?i(?:'ve|\s+have)?\s+(?:just\s+|already\s+)?"
        rf"{_PUT_HERE}\b",
        unless=rf"{LONG_AGO}|{TO_OTHERS.replace('?!', '?:')}",
    ),
    cue(
        "within",
        0.8,
        r"\b(?:at|from|in)\s+the\s+(?:very\s+)?(?:top|start|beginning|outset)\b|\bto\s+(?:start|begin)\s+with\b",
        beside=rf"\b(?:i|you|we)(?:'ve|'d|\s+have|\s+had)?\s+(?:{SAID}|started|suggested|proposed)\b"
        rf"|\bdid(?:n't)?\s+(?:i|you|we)\s+(?:{SAY}|{ADVISE})\b",
    ),
    cue(
        "within",
        0.75,
        rf"\b(?:i|you|we)(?:'ve|'d|\s+have|\s+had)?{ADV}\s+(?:{SAID}|{DID}|suggested|proposed"
        rf"|recommended)\b[^.?!]{{0,40}}?"
        r"\bearlier\b(?!\s+(?:this|that|in|today))",
        r"(?:^|[.,;!?]\s*)earlier,?\s+(?:you|i|we)\b",
        r"\bdid\s+(?:i|you|we)\s+\w+\s+(?:\w+\s+){0,4}?earlier\b(?!\s+(?:this|that|in|today))",
    ),
    cue(
        "within",
        0.8,
        r"\b(?:have\s+(?:we|you|i)|(?:we|you|i)(?:'ve|\s+have)|i\s+\w+(?:\s+in)?)\b[^?.!]*\bso\s+far\b(?!\s+this\b)",
        unless=r"\b(?:about|of)\s+me\b|\bi'?(?:ve|\s+have)?\s+(?:read|seen|done|watched|paid|saved)\b",
    ),
)

# --- an earlier talk as a whole ------------------------------------------------------------------

_ABOUT = rf"(?!\s+(?:about|on|regarding|concerning|over|around|of)\s+(?!(?:the\s+)?\d|{TIME})\w)"
_OF_MACHINES = (
    r"(?!\s*(?:cookies?|tokens?|ids?|keys?|storage|objects?|timeout|state|(?:in|of|from|with"
    r"|on)\s+(?:vs\s?code|chrome|firefox"
    r"|tmux|vim|ssh|screen|safari|php|redis|parliament|congress|the\s+browser)))"
)
_TELL = (
    r"\b"
    + words(
        "our we us me my i you summari[sz]e recap resume continue reopen open write_up show gist what how_did"
        " which transcript"
        " where go_back unfinished minutes rundown highlights recount give everything pick_up please start"
    )
    + r"\b"
)
_GO_ON = words(
    r"reopen bring_me_back continue carry_on resume pick_(?:\w+\s+){0,3}up finish go_on keep_going get_back"
    r" go_back return proceed back"
)
WHOLE = (
    cue(
        "session",
        0.9,
        rf"\b{ORDER}\s+(?:of\s+our\s+)?{TALK}\b{_OF_MACHINES}{_ABOUT}(?!\s+(?:with|between)\s+(?!(?:you|me|us)\b))",
        r"\b(?:session|chat|conversation|talk|one)\s+before\s+(?:last|that|this|our\s+last)\b",
        rf"\b(?:yesterday|today|{DAY})'?s\s+{TALK}\b{_ABOUT}",
        rf"\b(?:last|this|that|previous)\s+(?:{DAY}|week|month|weekend|night|morning|afternoon"
        rf"|evening)'?s\s+{TALK}\b{_ABOUT}",
        rf"\b{TALK}\s+(?:(?:that\s+)?we\s+had\s+|(?:from|on|of|at)\s+)?(?:the\s+)?{TIME}",
        beside=_TELL,
        unless=rf"{HOW_TO}|\bnew\s+{TALK}|\bsecond\s+interview",
    ),
    cue(
        "session",
        0.9,
        rf"\bwhat\s+did\s+we\s+end\b(?!\s+up\s+\w+ing)|\bwhere(?:'d|\s+did|\s+had|\s+have|\s+were|\s+was)?\s+(?:we|you|us|i"
        rf"|things)\s*(?:left\s+(?:off|it)|leave|stop|get\s+to|got"
        rf"|end|were|was|broke\s+off|at\b|{TIME})|\bwhere\s+were\s+we\b|\bhow\s+far\s+(?:did|had|have)\s+we\b"
        rf"|\bwhat\s+had\s+we\s+got",
        rf"\b{_GO_ON}\b[^.?!]{{0,30}}?\b(?:{WE}|us|you|i)\s+(?:started|began|left|stopped|paused"
        rf"|were\s+(?:\w+ed|doing|on|at|working))\b",
        rf"\b(?:continue|carry\s+on|resume|pick\s+(?:\w+\s+){{0,3}}up|keep\s+going|go\s+on)\s+(?:with\s+"
        rf"|from\s+)?{TIME}",
        r"\blast\s+time\s+(?:i\s+(?:was\s+here|came|visited|logged)|we\s+(?:talked|spoke|chatted|met"
        r"|worked))\b(?!\s+(?:about|on|of)\b)",
        r"\bwhen\s+(?:did\s+we\s+last|was\s+the\s+last\s+time\s+we)\s+(?:talk|speak|chat|spoke)|\bsince\s+we\s+last\b",
        rf"\b(?:last|first|latest)\s+(?:\w+\s+)?(?:thing|topic|subject)s?\s+(?:that\s+)?we\s+(?:ever\s+)?{DID}",
        rf"\bwhere\s+i\s+(?:quit|stopped|left)\b|\bwhat\s+was\s+(?:all\s+)?that\s+about\s+{TIME}"
        rf"|\bwe\s+were\s+half-?way|^\W*resume\W",
        r"\bwe\s+were\s+in\s+the\s+middle\s+of\b|\bhow\s+did\s+we\s+leave\b|\bdid\s+i\s+come\s+(?:to\s+you|here)\b",
        unless=HOW_TO,
    ),
    cue(
        "session",
        0.8,
        r"\bi\s+(?:had\s+to\s+(?:run|go|leave|stop)|(?:closed|lost)\s+the|(?:logged|dropped|signed)\s+off"
        r"|got\s+disconnected|was\s+here)\b",
        r"\binterrupted\b|\bgot\s+cut\s+off\b",
        beside=r"\b(?:where|what)\s+(?:did|was|were|had)\b",
    ),
)
WHAT_WE_DID = (
    cue(
        "session",
        0.8,
        rf"\bwhat\s+(?:all\s+|else\s+|exactly\s+)?(?:did|were|was|have|had)\s+{WE}\b",
        rf"\b(?:what|topics|everything)\s+(?:all\s+)?{WE_HAVE}{ADV}\s+{DID}\b",
        rf"\b(?:topics|things|subjects)\b[^.?!]*\b{WE}\b",
        beside=rf"\b(?:{TIME})|\b{ORDER}\s+{TALK}|\blast\s+time\b|\bbefore\s+i\b|\btalking\s+about\W*$",
    ),
)
"""These ask for a talk as a whole if they name no subject, else for the subject."""
