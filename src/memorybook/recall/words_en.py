"""English words that questions about the past are made of, as patterns."""

from __future__ import annotations

from memorybook.recall.cues import words

DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH = words(
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sept? oct nov dec"
)
COUNT = words(r"\d+ an? one two three four five six ten a_few few a_couple(?:\s+of)? several some")
PART = r"(?:\s+(?:morning|afternoon|evening|night|noon|lunchtime))?"
SPELL = words("night week month year weekend time spring summer autumn fall winter quarter")
TIME = (
    rf"(?:yesterday{PART}|last\s+(?:{SPELL}|{DAY}|{MONTH}){PART}|(?:the\s+)?other\s+(?:day|night|week|evening)"
    r"|(?:earlier\s+)?(?:this|that)\s+(?:morning|afternoon|evening|week|month|weekend|year)|earlier\s+today"
    r"|tonight|today"
    rf"|(?:over|on|at|during)\s+the\s+weekend|(?:the\s+)?day\s+before\s+yesterday|(?:around|at)\s+(?:noon"
    rf"|midnight|lunch)"
    rf"|{COUNT}\s+(?:days?|weeks?|months?|years?|hours?|nights?|{DAY}s?)\s+(?:ago|back|earlier)"
    r"|(?:quite\s+)?a\s+(?:(?:long|little|good)\s+)?(?:while|time)\s+(?:ago|back)|ages\s+ago|(?:way"
    r"|long)\s+(?:back|ago)"
    rf"|some\s+time\s+ago|(?:back\s+)?(?:on|in|from)\s+(?:{DAY}{PART}|{MONTH}\b)"
    rf"|(?:on\s+|from\s+)?the\s+\d+(?:st|nd|rd|th)(?:\s+of\s+{MONTH})?|(?:on\s+)?{MONTH}\s+\d+|{DAY}{PART}"
    r"|previously|at\s+(?:some|one)\s+point|in\s+the\s+past|recently|lately|before)"
)
LONG_AGO = (
    rf"\b(?:yesterday|last\s+(?:{SPELL}|{DAY}|{MONTH})|{COUNT}\s+(?:days?|weeks?|months?|years?)\s+(?:ago"
    rf"|back)|ages\s+ago)\b"
)
ORDER = (
    r"(?:(?:very\s+)?(?:last|previous|prior|first|second|third|fourth|fifth|latest|most\s+recent|earliest|past"
    r"|preceding"
    r"|penultimate)(?:\s+ever)?(?:\s+(?:two|three|few))?)"
)
TALK = r"(?:conversation|chat|session|discussion|talk|exchange|dialogue|call)s?"
OFTEN = words(
    "ever once already just also both even never first last then before still all maybe kind_of happen_to by_any_chance"
)
ADV = rf"(?:\s+(?:\w+ly|{OFTEN}))*"
WE = r"(?:we|you\s+and\s+(?:i|me)|(?:i|me)\s+and\s+you)"
WE_HAVE = rf"\b{WE}(?:'d|'ve|\s+had|\s+have)?"
YOU_HAVE = r"\byou(?:'ve|'d|\s+have|\s+had)?"
I_HAVE = r"\bi(?:'ve|'d|\s+have|\s+had|\s+must\s+have|\s+may\s+have|\s+might\s+have)?"
SAID = words(
    "said told mentioned brought_up asked shared gave given described complained listed noted pasted posted sent wrote"
    " written showed shown explained specified stated typed requested confided uploaded provided attached"
    " revealed admitted"
    " ranted raved vented confessed disclosed hinted let_slip let_on"
)
SAY = words(
    "say tell mention bring_up ask share give describe complain list note paste post send write show explain"
    " specify state"
    " type request provide talk speak rant reveal confess talked spoken"
)
ADVISE = words(
    "give recommend suggest tell explain propose advise warn say raise mention bring_up show write come_up"
    " send make draw list"
    " put design build calculate estimate compute pick name describe help walk teach find quote point argue"
    " promise object"
)
_NOT_ADVICE = words(
    "needed wanted liked used_to failed lived died happened supposed married tired asked called missed watched"
    " considered heard"
    " tried noticed seen imagined wondered played visited felt tasted planned guessed assumed expected started finished"
)
ADVISED = (
    rf"(?!{_NOT_ADVICE}\b)(?:\w+[^\We]ed|"
    + words(
        "gave given wrote written told showed shown sent built put_together came_up made found drew taught"
        " thought_of said"
        " brought_up chose worked_out had_(?:an?|the|some)_(?:idea|suggestion|point|theory|list|trick|plan|way)"
    )[3:]
)
DID = words(
    "discussed talked chatted spoke spoken decided agreed settled concluded landed picked chose chosen"
    " went_(?:with|over|through"
    "|for|back) gone_(?:with|over|through|for) ruled dropped compared considered figured found fixed debugged"
    " solved worked came_up"
    " came_to come_up planned set_(?:up|on|the|(?:this|that|it|them)_up) ended looked covered reached started"
    " began begun chased"
    " tracked tried rejected"
    " preferred named called wrote written built made gave used avoided switched leaned dug moved adopted evaluated"
    " brainstormed drafted"
    " sketched outlined estimated budgeted left stopped got_(?:to|around|rid) said did done touched handled"
    " resolved changed put"
    " kept cut weighed explored reviewed designed sorted arrived opted scrapped abandoned traced diagnosed"
    " identified argued"
    " debated promised ran_(?:into|through) hit migrated analysed analyzed measured tested defined listed"
    " noted mapped prepared"
    " were_(?:torn|discussing|talking|doing|working|on|at|going|planning|trying|considering) had_(?:to|in_mind"
    "|planned|said)"
)
BIT = (
    words("repl(?:y|ies) summar(?:y|ies) approach(?:es)?")[:-1]
    + "|"
    + words(
        "answer message response suggestion point remark proposal option list snippet draft question version"
        " explanation example"
        " output comment paragraph sentence solution statement idea requirement prompt request instruction"
        " step edit change turn"
        " post attempt table code formula"
    )[3:]
    + "s?"
)
ASK = (
    r"\?|\b(?:"
    + words(
        "what what's which who who's whose when where why how remind recap list repeat again tell_me show send"
        " find pull dig"
        " look_(?:it_)?up bring (?:can|could)_(?:i|you|we) do_you i'd_like give_me type_it summari[sz]e recall"
        " refresh forgot"
        " forget (?:did|have|had|was|were)_(?:i|we|you|there) state_(?:it|them) name(?:_(?:it|them))? guess"
        " any_idea correct"
        " i_can't_(?:find|remember|recall) (?:paste|post|resend|hand|print|read|put|share|get|see|want)_(?:it"
        "|them|that|those)"
    )[3:]
    + r"\b|^\W*any\b"
)
HOW_TO = (
    r"\bhow\s+(?:do|can|could|should|would|might|does|to)\b(?!\s+i\s+(?:like|prefer|take|want)\b)|\bshould\s+(?:i|we)\b"
    r"|\bis\s+there\s+an?\s+(?:way|command|shortcut)|\bis\s+it\s+(?:bad|okay|ok|safe|normal|possible|true)\b"
)
PEOPLE = words(
    "boss wife husband mom mum dad mother father parents doctor friends? manager team sister brother kids? son"
    " daughter colleagues?"
    " landlord partner girlfriend boyfriend"
)
TO_OTHERS = (
    rf"(?!\s+(?:him|her|them|my\s+{PEOPLE}|the\s+(?:police|doctor|recruiter|team|client|customer)|support"
    rf"|so\b|no\b|yes\b"
    r"|(?:to|with)\s+(?:my|her|him|them)))"
)
