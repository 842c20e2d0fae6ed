"""Secrets that are known by their own shape: provider tokens, keys, addresses that hold credentials.

A rule is anchored on what its issuer prints in front, so it needs no words around it. The left edge
is always checked and every repetition is over characters that the edge excludes, so a hostile line is read once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from memorybook._light import lazily


class Rule(NamedTuple):
    """A shape of secret.

    `kind` in the mark, `hints` of which the lower-case text must hold one, `pattern` (its `secret` group is replaced,
    or all), and `check` on the value: `random`, `strong`, `mixed`, `value` (no placeholder or ordinary word), `token`
    (no name in words either), `shape` (none).
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    check: str = "random"


_EDGE = r"(?<![A-Za-z0-9_\-])"

_PREFIXED = {
    kind: tuple(prefixes)
    for kind, *prefixes in (line.split() for line in """
anthropic-key sk-ant-
openai-key sk-proj- sk-svcacct- sk-admin-
openrouter-key sk-or-
github-token ghp_ gho_ ghu_ ghs_ ghr_ github_pat_
gitlab-token glpat- gldt- glrt- glcbt- glptt- glsoat- glagent- gloas- glft- glimt-
slack-token xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- xwfp-
stripe-key sk_live_ sk_test_ rk_live_ rk_test_ whsec_
huggingface-token hf_ api_org_
groq-key gsk_
npm-token npm_
pypi-token pypi-
tavily-key tvly-
age-key age-secret-key-1
api-key xai- pplx- nvapi- pcsk_ lsv2_ phc_ pmak- nrak- figd_ lin_api_ ntn_ glsa_ glc_ sntrys_ sbp_ nfp_ dp.pt. hvs. \
    hvb. hrku- dop_v1_ doo_v1_ rubygems_ dckr_pat_ dckr_oat_ atatt3 gocspx- ya29. 1//0 sq0atp- sq0csp- jina_ \
    bce-v3/altak- jdc_ shpat_ shpca_ shppa_ shpss_
""".strip().split("\n"))
}  # fmt: skip
"""What stands in front of 16 or more characters of a token, by its kind."""

_LOOSE = tuple("sk- m0- fw_ r8_ secret_ pul- dapi cio fc- altak aklt".split())
"""Short prefixes, `sk-` of many providers among them, that ordinary names have too: what follows must look random."""

_NEAR = r"[\s\S]{{1,80}}?(?<![{0}])(?P<secret>[{0}]{{{1}}})(?![{0}=])"
_BODY = r"(?=[A-Za-z0-9_\-.+/=]{16})[A-Za-z0-9_\-]++(?:[.+/=][A-Za-z0-9_\-]++)*=*+"


def _prefixed(kind: str, prefixes: tuple[str, ...], check: str) -> Rule:
    return Rule(kind, prefixes, _EDGE + rf"(?i:{'|'.join(map(re.escape, prefixes))}){_BODY}", check)


RULES: tuple[Rule, ...] = (
    Rule("jwt", ("eyj",), _EDGE + r"eyJ[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]{8,}+){1,4}", "shape"),
    *(_prefixed(kind, prefixes, "token") for kind, prefixes in _PREFIXED.items()),
    _prefixed("api-key", _LOOSE, "random"),
    # a name is not that long without a hyphen in it
    Rule("api-key", ("sk-",), _EDGE + r"sk-(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}+(?![A-Za-z0-9_\-])", "value"),
    Rule("aws-key", ("akia", "asia"), _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])", "shape"),
    Rule("google-key", ("aiza",), _EDGE + r"AIza[A-Za-z0-9_\-]{35}(?![A-Za-z0-9])", "value"),
    Rule("aliyun-key", ("ltai",), _EDGE + r"LTAI[A-Za-z0-9]{12,26}(?![A-Za-z0-9])", "value"),
    Rule("tencent-key", ("akid",), _EDGE + r"AKID[A-Za-z0-9]{28,36}(?![A-Za-z0-9])", "value"),
    # the secret half of a pair has no shape but its length; it stands near its id
    Rule("aws-secret", ("akia", "asia"), r"(?:AKIA|ASIA)[A-Z2-7]{16}\b" + _NEAR.format("A-Za-z0-9+/", 40)),
    Rule("aliyun-secret", ("ltai",), r"LTAI[A-Za-z0-9]{12,26}\b" + _NEAR.format("A-Za-z0-9", 30)),
    Rule("tencent-secret", ("akid",), r"AKID[A-Za-z0-9]{28,36}\b" + _NEAR.format("A-Za-z0-9", 32)),
    Rule("zhipu-key", (".",), r"(?<![A-Za-z0-9])[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])", "shape"),
    Rule("telegram-token", (":aa",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}(?![A-Za-z0-9_\-])", "value"),
    Rule("sendgrid-key", ("sg.",), _EDGE + r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{30,60}", "value"),
    Rule("twilio-key", ("sk",), r"SK(?<![A-Za-z0-9_\-]SK)[0-9a-f]{32}(?![A-Za-z0-9])"),
    Rule("mailgun-key", ("key-",), _EDGE + r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    Rule("dingtalk-secret", ("sec",), r"SEC(?<![A-Za-z0-9_\-]SEC)[0-9a-f]{64}"),
    Rule("api-key", ("sct",), r"SCT[0-9]{3,8}T[A-Za-z0-9]{16,}"),
    *(
        Rule("webhook", hints, f"{address}(?P<secret>{secret})", "value")
        for hints, address, secret in (
            (("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"[A-Za-z0-9/_\-]{16,}"),
            (("qyapi.weixin",), r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/\w{1,20}\?key=", r"[A-Za-z0-9\-]{16,}"),
            (("/webhooks/",), r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{6,}/", r"[A-Za-z0-9_\-]{16,}"),
            (("open-apis/bot",), r"(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/", r"[A-Za-z0-9\-]{16,}"),
            (("webhook.office",), r"webhook\.office\.com/webhookb2/", r"[^\s\"'<>]{16,}"),
            (("logic.azure",), r"logic\.azure\.com[:0-9]{0,6}/workflows/", r"[^\s\"'<>]{16,}"),
            (("api.telegram.org/bot",), r"api\.telegram\.org/bot", r"[0-9]{6,}:[A-Za-z0-9_\-]{30,}"),
            (("ftqq.com/",), r"(?:sctapi|sc)\.ftqq\.com/", r"[A-Za-z0-9]{16,}"),
        )
    ),
    Rule(
        "url-secret",
        tuple("token= key= secret= sig= signature= password= passwd= pwd= auth= code= sign= appid=".split()),
        r"[?&](?:[A-Za-z0-9]{1,24}[_\-]){0,2}"
        r"(?:access_?token|token|api_?key|key|secret|sig|signature|sign|password|passwd|pwd|auth|code|appid)="
        r"(?P<secret>[^\s&#\"'<>，。；）」]{8,})",
        "mixed",
    ),
    Rule("url-credentials", ("://",), r"://(?P<secret>[A-Za-z0-9_\-]{20,100}+)(?::x-oauth-basic)?@"),
    Rule(
        "authorization",
        ("authorization", "bearer "),
        r"(?i:authorization[\"']?\s?[:=]\s?[\"']?(?:bearer|basic|token|apikey|digest)?\s+|(?<![a-z])bearer\s+)"
        r"(?P<secret>[A-Za-z0-9._~+/=\-]{12,})",
        "strong",
    ),
    Rule(
        "cookie",
        tuple(
            (
                "sessdata= session= sessid= sessionid= sess= sid= bili_jct= bduss= stoken= csrftoken= csrf_token= "
                "xsrf-token= pt_key= auth_token= _auth="
            ).split()
        ),
        r"(?i:sessdata|session|sessid|sess|sessionid|sid|bili_jct|bduss|stoken|csrf_?token|xsrf-token|pt_key"
        r"|auth_token|_auth)="
        r"[\"']?(?P<secret>[^\s;,\"'<>，；。）」]{10,})",
        "strong",
    ),
)

SHORT_RULES: tuple[Rule, ...] = (
    Rule(
        "url-credentials",
        ("://",),
        r"://[^\s/@:\"'<>]{0,80}+:(?P<secret>[^\s/\"'<>]{1,200})(?<!@)@(?=[A-Za-z0-9\[])",
        "value",
    ),
    Rule(
        "url-credentials",  # root:…@10.1.2.3 without a scheme
        ("@",),
        r":(?<=[a-z0-9_]:)(?P<secret>[!#-.0-Z\\^_a-z~]{6,64})@(?=[A-Za-z0-9\-]{1,63}[.:\s])",
        "strong",
    ),
    Rule(
        "url-credentials",
        ("curl", "wget", "http "),
        r"\s(?:-u|--user|--proxy-user|-a|--auth)[ =]?[\"']?[^\s:\"']{1,80}+:(?P<secret>[^\s\"']{1,200})",
        "value",
    ),
    Rule("password", ("sshpass",), r"sshpass\s+-p\s{0,4}[\"']?(?P<secret>[^\s\"']{3,})", "value"),
    Rule(
        "password",
        (" -p",),
        r"\s-u ?[\"']?[^\s\"']{1,60}[\"']?\s+-p ?[\"']?(?P<secret>[^\s\"'\-][^\s\"']{2,})",
        "value",
    ),
    Rule(
        "password",
        ("identified",),
        r"(?i:create|alter|grant|set)\s(?:[^;]{0,200}?\s)?(?i:identified\s+(?:with\s+\S{1,60}\s+)?(?:by|as)\s+(?:password\s+)?)"
        r"[\"']?(?P<secret>[^\s\"';<]{3,100})",
        "value",
    ),
    Rule("password", ("redis-cli",), r"redis-cli\s[^\n]{0,80}?-a\s+[\"']?(?P<secret>[^\s\"']{3,})", "value"),
)
"""Rules for secrets that may be short; all of `RULES` need a run of 16 visible ASCII characters somewhere."""


@lru_cache(maxsize=128)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern compiled once, when a text first needs it."""
    return re.compile(pattern)


ORDINARY, NUMBER, LETTERS, MIXED, STRONG, RANDOM = range(6)
"""Looks of a value, in rising order of suspicion.

ORDINARY is a word, path, date, version, placeholder or reference; NUMBER four digits or more;
LETTERS a run of letters that no language makes; MIXED letters with digits or symbols (hunter2); STRONG what only a
generator or a careful person writes; RANDOM long enough to be a secret in any surrounding.
"""

_REFERENCE = (
    r"\$[({A-Z_]|\$[a-z_]+$|\{|%[A-Z_]+%$|<|\[REDACTED|@"  # $VAR, ${…}, {{…}}, %VAR%, <…>
    r"|(?:os|process|import\.meta|System|ENV|env|secrets?|vars|config|settings|self|this|vault|keychain|op|ssm|arn"
    r"|kms|file|sops|ref|data)"
    r"(?:\.|:|\[|://)"
    r"|\w+\("
)
_STAND_IN_WORD = (
    r"(?i:your|example|placeholder|redacted|masked|dummy|sample|change[-_]?(?:me|it|this)|replace|insert|todo|fake"
    r"|test[-_]?(?:key|token|secret)|not[-_]?(?:a[-_])?real|(?:my|the|some|any)[-_]?(?:api|secret|token|pass|key"
    r"|strong))"
)
_STAND_IN = (
    r"(?i:deadbeef|\.\.\.|…)"
    r"|(?i:x{4})|\*{3}|•{2}|#{3}|_{4}|-{4}|^0{6}|0{12}"
    rf"|(?<![A-Za-z0-9]){_STAND_IN_WORD}(?![a-z0-9])"
)
_TECHNICAL = (  # names that end in digits: AES-256-GCM, utf8mb4, gpt-4o, x509, h264
    r"(?i:aes|sha|rsa|hmac|rfc|iso|hs|rs|es|ps|md|utf|gpt|tls|http|ipv|pkcs|ed|curve|secp|base|argon|oauth|chacha"
    r"|wpa|blake|crc|cve|fips|sm|totp"
    r"|ecdsa|dsa|idea|des|rc|node|python|java|php|qwen|claude|llama|gemini|k8s|s3|ec2|i18n|web|win|fido|mp|utf8mb"
    r"|x(?=509)|h(?=26)|p(?=256|384|521))"
    r"[-_]?\d{1,5}(?:[-_.]?[A-Za-z]{1,4}\d{0,4})?(?:[-_.][A-Za-z0-9]{1,8}){0,3}$"
    r"|(?i:1password|argon2id?|bcrypt|[2m]fa|u2f|p2p|b2b|e2ee?|pbkdf2|keepassxc|x\.509|802\.11[a-z]{0,2}|7zip|k3s|k8s|oauth2(?:\.0)?"
    r"|auth0|sha256sum)$"
)
_UNITS = (
    r"(?i:days?|hours?|hrs?|weeks?|months?|years?|mins?|minutes?|secs?|seconds?|[hdsmwykx%]|ms|px|[kmgt]i?b?|th|st"
    r"|nd|rd"
    r"|am|pm|bits?|bytes?|chars?|characters|digits?|times|rpm|rps|qps|usd|eur|cny|rmb|words?|tokens?|f|c)"
)
_FILES = (
    r"(?i:py|js|ts|go|rs|md|txt|json|ya?ml|toml|env|pem|key|crt|cer|pub|html?|css|sh|sql|csv|log|pdf|png|jpe?g|zip"
    r"|gz|xml"
    r"|ini|conf|com|org|net|io|dev|cn|local|internal|example|lock|kdbx|gpg|asc|p12|pfx|jks)"
)
_PLAIN = (
    r"[a-z]+://|(?:~|\.{1,2})?/|[A-Za-z]:\\"  # addresses and paths
    r"|[\w.+\-]+@[\w\-]+(?:\.[a-z\-]{2,})+$"
    r"|\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:T[\d:.+Z\-]*)?$|\d{1,2}:\d\d(?::\d\d)?(?:am|pm)?$"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:/\d+)?$"
    r"|[vV]?\d+(?:\.\d+)+(?:[-+.]?(?:alpha|beta|rc|dev|post|a|b)?[.\-]?\d*)?$"
    rf"|[+\-$¥€£]?\d[\d,.]*{_UNITS}$|[\w\-./]+\.{_FILES}(?:[:#]\S*)?$"
    rf"|{_TECHNICAL}"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"  # UPPER_SNAKE names a variable
    r"|AAAA[BCE]3Nza|ssh-(?:rsa|ed25519)"  # public keys
)
_WORDS = frozenset(
    "none null nil true false yes no string str text required optional unknown unset empty missing invalid "
    "valid expired changed reset same different secret secrets password passwords passwd pass token tokens key "
    "keys pin code admin root user username login the a an my your our in on at see ask stored kept saved from "
    "with without for and or not is was available disabled enabled hidden protected encrypted hashed rotated "
    "shared default undefined boolean number integer bytes bearer basic vault bitwarden lastpass keepass "
    "keychain keyring passkey passkeys base64 plaintext postgres localhost wrong correct forgotten strong weak "
    "random generated here there below above attached".split()
)
_ORDINARY = lazily(f"(?s)(?:{_REFERENCE}|{_PLAIN})|.*?(?:{_STAND_IN})")
_STAND_IN_ALONE = lazily(_STAND_IN_WORD)
_JUMP = re.compile("(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_UNSPOKEN = re.compile(
    r"[bcdfghjklmnpqrstvwxz]{5}|q[^u]|[jvz][bcdfghjkmpqtvwx]|[bcdfghkmpqtvwz][jqxz]|x[bdgjkmnrsvz]|[wvj]{2}"
    r"|^[^aeiouy]{6,}$"
)
_HEX = re.compile(r"[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", r"[!@#$%^&*?~+=]")))
_NAME = re.compile(r"(?:[a-z]{1,12}|[A-Z]{1,12})(?:[_\-](?:[a-z]{1,12}|[A-Z]{1,12}|v?[0-9]{1,4})){2,}")
_WORD_PATH = re.compile(
    r"(?:[A-Za-z][A-Za-z\-_.]*|[a-z0-9][a-z0-9\-_.]{0,24})(?:/(?:[A-Za-z][A-Za-z\-_.]*|[a-z0-9\-_.]{0,24}))+"
)


def is_stand_in(value: str) -> bool:
    """Return whether the value is a placeholder, reference, path, date or ordinary word.

    What a machine made may hold `todo` or `fake` by chance: there such a word counts only by itself.
    """
    return (
        value.lower() in _WORDS
        or (len(value) >= 6 and len(set(value)) <= 3 and not value.isdigit())
        or _ORDINARY.match(value[:256]) is not None
        or (_STAND_IN_ALONE.search(value[:256]) is not None and not is_random(value))
        or _WORD_PATH.fullmatch(value[:256]) is not None
    )


def is_name(value: str) -> bool:
    """Return whether it is three or more words of letters in one case, as variables and pages are named, set to little.

    >>> is_name("HF_HUB_ENABLE_HF_TRANSFER=1"), is_name("pypi-publish-action"), is_name("ghp_abcdefghijklmnopqrst")
    (True, True, False)
    """
    name, _, set_to = value.partition("=")
    return len(set_to) < 8 and _NAME.fullmatch(name) is not None


def is_random(value: str) -> bool:
    """Return whether a machine made it: changes between cases and digits, or letters that no language puts together.

    >>> is_random("x7Kq2mZp9"), is_random("getUserName"), is_random("sk-learn-contrib")
    (True, False, False)
    """
    jumps = sum(1 for _ in _JUMP.finditer(value[:256]))
    if any(map(str.isdigit, value)):
        return jumps >= max(3, min(len(value), 256) // 14)
    return is_unspoken(value) or (jumps >= 4 and jumps * 5 >= len(value))


def is_unspoken(value: str) -> bool:
    """Return whether it is a run of letters that nobody could read out."""
    return len(value) >= 8 and value.isascii() and value.isalpha() and _UNSPOKEN.search(value.lower()) is not None


def is_hex(value: str) -> bool:
    """Return whether it is a UUID or 16 or more hexadecimal digits, as ids and hashes are too."""
    return _HEX.fullmatch(value) is not None


def look(value: str) -> int:
    """Return what the value looks like: `ORDINARY` to `RANDOM`, see there."""
    if len(value) < 4:
        return ORDINARY
    if value.isalpha():
        return LETTERS if is_unspoken(value) and not is_stand_in(value) else ORDINARY
    if is_stand_in(value):
        return ORDINARY
    if value.strip("#*").isdigit():
        return NUMBER
    lower, upper, digit, symbol = (pattern.search(value) is not None for pattern in _CLASSES)
    if is_hex(value):
        return STRONG
    if len(value) >= 16 and digit and (lower or upper) and is_random(value):
        return RANDOM
    if len(value) >= 8 and symbol and digit and (lower or upper) and value[0] not in "+=":
        return RANDOM if upper and lower and not _looks_computed(value) else STRONG
    if len(value) >= 10 and digit and (lower or upper) and is_random(value):
        return STRONG
    if len(value) >= 5 and (lower or upper) and (digit or symbol) and not _looks_computed(value):
        return MIXED
    return ORDINARY


def _looks_computed(value: str) -> bool:
    """Return whether it is an expression or assignment (a+b=c, f=x*2, n>=8) and not a word."""
    return any(mark in value for mark in ("==", "!=", "+=", "&&", "||", "=")) or "(" in value
