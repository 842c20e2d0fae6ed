"""Secrets by their own shape, such as provider tokens, and by the words around them: `the password is …`, 密码：….

A rule is anchored on what its issuer prints in front, so it needs no words around it. The left edge
is always checked and every repetition is over characters that the edge excludes, so a hostile line is read once.

A label opens a window of at most 100 characters, which ends with the sentence, the line or the next
label. Every word in it is weighed: the tighter it is bound to the label, the less it must look like a
secret itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
        r"(?i:(?:(?:create|alter|grant|set)\s(?:[^;]{0,200}?\s)?identified|identified(?=\s+with\s+[\"'`]?[a-z]*[_0-9]))"
        r"\s+(?:with\s+\S{1,60}\s+)?(?:by|as)\s+(?:password\s+)?)"
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


# --- values that the words around them give away -------------------------------------------------


_HINTS = tuple(
    (
        "pass pwd pw psk pin secret token key cred code otp cv cookie auth mdp mot contrase clave digo cl jeton "
        "码 口令 钥 密匙 令牌 凭证 凭据 暗号 パス 証番号 合言葉 コード キー トークン シークレット 鍵 비 암호 패스 "
        "인증 토큰 키 시크릿 парол код пин токен ключ секрет secrèt"
    ).split()
)
_EXACT_HINTS = ("PAT", "AK", "SK")
_LOGIN_HINTS = ("log", "sign", "acc", "user", "cred", "root", "sudo", "admin", "账", "帐", "登", "用户")
_NETWORK_HINTS = ("wifi", "wi-fi", "wlan", "ssid", "无线", "热点")
_SEED_HINTS = ("助记词", "seed", "phrase", "mnemonic", "短语")

_WINDOW = 100

# Case is folded before and what stands to the left is looked at afterwards, so the search may skip
# every character that begins no label.
_LABEL = lazily(
    r"(?=[pocstkamjf密口暗通开锁授验校动提解安恢备门报访识激认确取秘令凭私加パ合認確トシ비패암인토시пктс])(?:"
    r"(?P<password>pass(?:word|wd|phrase|code|wort)s?|pwd|psk|密 ?码|口令|暗号|通行码|开机码|锁屏码|mots? de passe"
    r"|(?:ph|f)rases? secr[eè]t[ea]s?"
    r"|mdp(?![a-z])|contraseñas?|clave de acceso|パス(?:ワード|フレーズ|(?=\s?[:：=]))|合言葉"
    r"|비밀 ?번호|패스워드|비번|암호(?!화)|(?<![\w-])парол(?:ь|я|ем|ю|и|ей)?(?!\w))"
    r"|(?P<pass>pass|pw)(?![a-z])"
    r"|(?P<code>(?:授权|验证|校验|动态|提取|解压|安全|恢复|备份|门禁|报警|访问|识别|激活|解锁|认证|开锁|开门|确认|取款)码"
    r"|code (?:secret|d['’]accès|de vérification)|código (?:secreto|de (?:acceso|verificación|seguridad))|暗証番号"
    r"|(?:認証|確認)(?:コード|番号)|인증 ?(?:번호|코드)"
    r"|(?<![\w-])(?:пин(?:-?код)?|код (?:подтверждения|доступа|из смс|от \w+))(?!\w))"
    r"|(?P<pin>pin)(?![a-z])(?:[ -]?(?:codes?|numbers?|码))?|(?P<otp>otp|cvv2?|cvc)(?![a-z])"
    r"|(?P<of_code>codes?)(?![a-z])"
    r"|(?P<secret>secrets?(?![a-z])|tokens?(?![a-z])|cred(?:ential)?s?(?![a-z])|密钥|秘钥|密匙|令牌|凭证|凭据|私钥|加密串"
    r"|jetons?(?![a-z])|clés? (?:api|secrète|privée)|clave (?:api|secreta|privada)|トークン|シークレット|秘密鍵"
    r"|api ?(?:キー|키)|토큰|시크릿|(?<!\w)токен\w{0,2}|секретный ключ|api-?ключ|ключ api)"
    r"|(?P<key>keys?|cookies?|ak|sk|auth|pat|claves?|clés?)(?![a-z]))"
)
# What stands before a noun, compared with str.endswith: a pattern that must end where a label begins would be slow.
_CODE_OF = tuple(
    (
        "auth|authentication|authorization|authorisation|verification|verify|security|access|alarm|door|gate|unlock|lock|"
        "lockbox|locker|entry|garage|safe|keypad|recovery|backup|one-time|one time|sms|2fa|mfa|totp|login|confirmation|"
        "bypass|panic|disarm|building|pass|pin|elevator|storage"
    ).split("|")
)
_KEY_OF = tuple(
    (
        "api access secret private signing encryption master license licence auth service admin app account shared "
        "webhook subscription deploy ssh root project server client session recovery integration write read bot track "
        "bearer wifi wi-fi wpa wpa2 wpa3 wep network security activation product aes hmac jwt unseal"
    ).split()
)
_NOT_SECRET = tuple(
    (
        "public primary foreign partition sort cache index composite unique routing idempotency shortcut hot registry "
        "publishable site object map dict next page continuation cursor dedup deduplication sync group row range hash "
        "lookup translation i18n zip qr postal 公共 主 外 热"
    ).split()
)
_ABOUT = re.compile(  # a label that goes on like this speaks of the thing, it does not give it
    r"[\"'`*]{0,2}[\s_\-]?(?:hash(?:es)?|count|length|limit|id|ids|name|type|policy|manager|url|uri|endpoint"
    r"|expir\w*|ttl|field|file|path|version"
    r"|usage|size|cost|budget|fingerprint|alias|format|algorithm|alg|pair\s+name|vault|hint|prefix|max|min|per"
    r"|bucket|arn)(?![a-z])",
    re.IGNORECASE,
)
_OTHER_THING = re.compile(  # what the word before a value says it is instead
    r"(?:commit|sha-?\d*|hash|digest|md5|checksum|fingerprint|[ug]uid|(?<![a-z])ids?|build|version|etag|order|issue"
    r"|ticket|request|trace|span|run|job"
    r"|user(?:name)?|account|login|ssid|host(?:name)?|server|port|e-?mail|phone|at|in|from|via|using|uses|with|on|by"
    r"|under|region|bucket|model|mode"
    r"|单号|编号|提交|摘要|哈希|校验和|指纹|版本|订单|工单|用户名?|账户|账号|帐号|主机|服务器|域名|端口|邮箱|电话|手机号?|型号|算法|采用|使用|走|在|见|存到|存在|放在"
    r")[\s\"'`:：=#（(是为]{0,4}\Z",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:[:=：＝→|]|->|=>|—|–|(?<![a-z])(?:is|was|are|be|to|now|as|equals?|still|becomes?|est|es|será|это|на)|['’]s"
    r"|(?:是|为|成|叫|用|即|填|到)了?|[はがを은는이가을를]"
    r"|给你|如下|这个)"
    r"\s?(?:[nbru](?=[\"']))?[\s\"'`“”‘’「『«（(\[<*_]*\Z",
    re.IGNORECASE,
)
_ADJACENT = re.compile(r"[\s?？\"'`“”‘’「」『』«»【】（）()\[\]<>*_\-—–/]*\Z")
_PIN_GIVEN = re.compile(r"\s*(?:is|was|[:=：为是])")
_UNIT = re.compile(
    r"\s?(?:[位天年月日次个分秒小时元块条字人层期款]|%|(?:days?|hours?|minutes?|seconds?|digits?|characters?|chars?|times|years?"
    r"|months?|weeks?)\b)"
)
_PARAMETER = re.compile(  # auth_token: str = "") -> X: what follows its default is no value of it
    r"\??\s?:\s?[A-Za-z_][\w.\[\]| ]{0,40}?"
    r"(?:\s?=\s?(?:[bru]?\"[^\"\n]*\"|[bru]?'[^'\n]*'|[^\s,()]+)|(?=\)\s?(?:[-=]>|:)))"
)
_ISSUE = re.compile(r"[a-z][a-z0-9._-]*#\d{1,6}")  # mem0#2820: a password may look so, a key or token does not
_WORD = re.compile(r"[!#-&(-:=?-_a-~]+")  # printable ASCII without quotes, angle brackets and semicolons
_END = re.compile(r"[。！？；]|[.!?;]\s|\n")
_OPENING = ":=([*|,/-_}@)]"
_CLOSING = ")]}*,.:?|"
_QUOTES = "\"'`“‘「『"

_CANDIDATE = re.compile("[0-9!@#$%^&*?~+=\"'`“‘「『]|[A-Za-z]{8}")  # what every value has, or has beside it
_DIGIT = re.compile("[0-9]")
_LOGIN = lazily(
    r"(?i)(?:log[ -]?in|sign[ -]?in|account|acct|user(?:name)?|creds|credentials|账号|账户|帐号|帐户|用户名?|登[录陆])"
    r"(?![a-z])(?:[/和、]?密码)?(?:\s(?:is|was)\s|\s(?:for|to|of)\s[^\n:：,，.]{1,40}:)?"
    r"[\s:：=是为名用\-]{0,4}[\"'`]?[A-Za-z][\w.@\-]{0,40}[\"'`]?"
    r"\s{0,2}(?P<mark>[/|,，:;、]|and|和|with)\s{0,2}[\"'`]?(?P<secret>[!#-&(-:=?-_a-~]{6,64})"
)
_ACCOUNT = lazily(  # sudo on the NAS is …: only what mixes cases, digits and punctuation
    r"(?i)(?<![a-z])(?:sudo|root|admin|log-?in|登录)(?![a-z])[^\n.。,，;；:：=]{0,40}?(?P<mark>\bis\b|[:：=是为])\s?[\"'`“]?"
    r"(?P<secret>(?=[^\s]*[!@#$%^&*?~])[!#-&(-:=?-_a-~]{8,64})"
)
_PAIR = lazily(  # a name and, behind a slash, a word that has digits for letters
    r"(?:(?<![a-z])is|[:：=是])\s?[\"'`]?[A-Za-z][\w.@\-]{1,40}[\"'`]?(?P<mark> / )[\"'`]?"
    r"(?P<secret>(?=[^\s/]*[A-Z])(?=[^\s/]*[A-Za-z][0-9][a-z])[!#-&(-:=?-_a-~]{8,64})"
)
_PHRASE = lazily(
    r"(?i)(?:pass(?:phrase|word|code)|口令|密码)s?[^\n\"“`]{0,40}[\"“`](?P<secret>[a-z]+(?:[ \-][a-z]+){3,9})[\"”`]"
)
_WIFI = lazily(r"(?i)wifi:(?=[^\n]{0,200}?;)[^\n]{0,120}?\bP:(?P<secret>[^;\n]{4,64})")
_SEED = lazily(
    r"(?i)(?:助记词|恢复短语|种子短语|mnemonic|(?:seed|recovery|backup|secret)[ -](?:phrase|words)|seed)"
    r"[^\n]{0,40}?[\s:：=是为\"'`“（(\[]"
    r"(?P<secret>[a-z]{3,8}(?:[\s,\d.]{1,4}[a-z]{3,8}){11,23})(?![a-z])"
)
_HAN_SEED = lazily(r"(?i)助记词[^\n]{0,12}?(?P<secret>[一-鿿](?:[\s、,]{1,2}[一-鿿]){11,23})")
_NETWORK = lazily(
    r"(?i)(?:wi-?fi|wlan|ssid|无线(?:网络?)?|热点)(?![a-z])(?:(?:\s?名称?)?(?:\sis)?\s{0,2}[:：=是为]?"
    r"|[^/|:：=\n]{1,24}?(?:[:：=是为]|\sis\s))\s{0,2}[\"'`“]?"  # whose it is, or where
    r"[^\s/|,，:：][^\n/|,，:：]{0,31}[\"'`”]?\s{0,2}(?P<mark>[/|,，])\s{0,2}[\"'`“]?(?P<secret>[!#-&(-:=?-_a-~]{8,63})"
)
_WHOSE = r"(?:my|our|the|his|her|their|your|its|an?|mon|ma|notre|le|la|mi|el|nuestr[ao]|мой|наш|[\w-]+['’]s)"
_GIVEN_BEFORE = re.compile(  # what stands between a value and the label that it is given for
    r"(?P<secret>[!#-&(-:=?-_a-~]{4,64})[\"'`”’」』»]?(?:"
    r"(?:\s+|\s*[,，]\s*(?:that|this|which)\s?|\s+[–—-]\s+that\s?)(?:['’]s|is|was|remains|stays|reste|has\s+always\s+been|as|for|est|es)"
    rf"(?:\s+(?:still|now|also|again))?\s+{_WHOSE}(?:\s+[\w-]+){{0,2}}\s*|\s*[(（]{_WHOSE}(?:\s+[\w-]+){{0,2}}\s*"
    r"|\s+(?:as|это|—|–)(?:\s+[\w-]+){0,2}\s*"
    r"|\s*(?:[，,]?\s*[这那]个?|[，,]\s*(?=就))?(?:[就才仍还也]?[是为]|当作?|作为?|做|设[为成]|当成|[はがを]|[이가은는])了?"
    r"[^，。；！？,.;!?:：\n]{0,16})\Z",
    re.IGNORECASE,
)
_ENDS_IN_LABEL = re.compile(  # a label that something was given for, not the first half of another word
    r"[\"'`”’」』）)]*(?:\s*(?:[,.;:!?，。；：！？\n—–)）]|\Z)|[了吧哦呢啊喔呀だです입이야]"
    r"|\s+(?:for|of|to|on|at|in|and|but|or|since|until|from|now|i|we|du|de|pour|del|para|от|для)(?!\w))",
    re.IGNORECASE,
)
_PROSE = frozenset(
    "the and for are was not from have has must should were been keep write with your which these those its".split()
)


class Label(NamedTuple):
    """Where a label stands, and of what kind it is: `password`, `code`, `secret`, or `weak` (a bare `key`)."""

    start: int
    end: int
    kind: str


def find(text: str, lower: str) -> Iterator[tuple[int, int, str]]:
    """Return spans `(start, end, kind)` that the surrounding words give away; they may overlap.

    `lower` is `folded` text.
    """
    if holds(lower, _HINTS) or holds(text, _EXACT_HINTS):
        yield from _labelled(text, lower)
        if any(mark in text for mark in _QUOTES):  # a passphrase of several words, held together by its quotes
            yield from (span for span in _given(_PHRASE, text, "password") if not _is_prose(text, span))
    if holds(lower, _LOGIN_HINTS) and _DIGIT.search(text):
        yield from _logins(text, _LOGIN, "/")
        yield from _logins(text, _ACCOUNT, "")
    if " / " in text:
        yield from _logins(text, _PAIR, " / ")
    if holds(lower, _NETWORK_HINTS):
        yield from _logins(text, _NETWORK, "/|")
    if holds(lower, _SEED_HINTS):
        for pattern in (_SEED, _HAN_SEED):  # the twelve or more words that restore a wallet
            yield from (span for span in _given(pattern, text, "mnemonic") if not _is_prose(text, span))
    if "wifi:" in lower:  # the text of a QR code
        yield from (span for span in _given(_WIFI, text, "password") if not is_stand_in(text[span[0] : span[1]]))


def holds(text: str, hints: tuple[str, ...]) -> bool:
    """Return whether one of the hints stands in the text. A plain loop: half the price of `any`."""
    for hint in hints:  # noqa: SIM110
        if hint in text:
            return True
    return False


def names_secret(name: str) -> bool:
    """Return whether a field of this name (`db_password`, `apiKey`, 密码) holds a secret."""
    tail = name[-80:]
    labels = [*_labels(tail, folded(tail))]
    return bool(labels) and labels[-1].end == len(tail) and not _is_other_kind(folded(tail), labels[-1])


def folded(text: str) -> str:
    """Return the text in lower case, every character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _labels(text: str, lower: str) -> Iterator[Label]:
    for match in _LABEL.finditer(lower):
        name = match.lastgroup
        kind = name if name in ("password", "secret", "code") else _kind(text, lower, match)
        if kind:
            yield Label(*match.span(), kind)


def _kind(text: str, lower: str, match: re.Match[str]) -> str | None:
    """Return what the noun is a label for, judged by what stands before it; None for a word that is no label."""
    name, start, end = str(match.lastgroup), match.start(), match.end()
    inside = start > 0 and "a" <= lower[start - 1] <= "z"
    before = _before(lower, start)
    if name == "of_code":
        return "code" if before.endswith(_CODE_OF) else None
    if name == "key" and lower.startswith("key", start) and before.endswith(_KEY_OF):
        return "secret"
    if inside and not (text[start].isupper() and text[start - 1].islower()):
        return None
    if name == "pin":
        return "code" if end - start > 3 or text[start:end] == "PIN" or _PIN_GIVEN.match(lower, end) else None
    if name == "key" and lower.startswith("pat", start):
        return "secret" if text[start:end] == "PAT" else None
    return {"pass": "password", "otp": "code"}.get(name, "weak")


def _labelled(text: str, lower: str) -> Iterator[tuple[int, int, str]]:
    labels = [*_labels(text, lower)]
    carried = ""
    for label, following in zip(labels, [*labels[1:], None], strict=False):
        if carried and label.kind in ("secret", "weak"):
            label = label._replace(kind=carried)
        if (given := _value_before(text, lower, label)) is not None:
            yield given
        limit = min(label.end + _WINDOW, following.start if following else len(text))
        if limit - label.end < 2:  # labels in a row, as in API key
            carried = label.kind
            continue
        # the window ends with the sentence or line; a line that ends with its label or a colon goes on in the next one
        parameter = _PARAMETER.match(text, label.end, limit)
        stop = None if parameter else _END.search(text, label.end, limit)
        if stop and stop.group() == "\n" and text[label.end : stop.start()].strip(" \t*`\"'") in ("", ":", "：", "="):
            stop = _END.search(text, stop.end(), limit)
        if stop and stop.group()[0] in "?？" and stop.start() == label.end:  # My password? …
            stop = _END.search(text, stop.end(), limit)
        end = parameter.end() if parameter else stop.start() if stop else limit
        # passphrase for the ssh key: …, where the value of the second is the first's
        carried = label.kind if following and end == following.start else ""
        if end - label.end < 4 or not _CANDIDATE.search(text, label.end, end + 64) or _is_other_kind(lower, label):
            continue
        found = _value(text, label, end)
        if found:
            carried = ""
            yield found


def _is_other_kind(lower: str, label: Label) -> bool:
    if lower.startswith("}", label.end) or _ABOUT.match(lower, label.end, label.end + 24):
        return True
    return label.kind in ("secret", "weak") and _before(lower, label.start).endswith(_NOT_SECRET)


def _before(lower: str, start: int) -> str:
    """Return the last characters before a noun, without what joins them."""
    return lower[max(0, start - 18) : start].rstrip(" _-")


def _value(text: str, label: Label, end: int) -> tuple[int, int, str] | None:
    kind = label.kind
    # how far the word that the window cuts goes on, so that a secret is never cut in two
    tail = _WORD.match(text, end, end + 400) if end and _WORD.match(text, end - 1, end) else None
    for word in _WORD.finditer(text, label.end, tail.end() if tail else end):
        if word.start() >= end:
            break
        start, stop = _trimmed(text, word.start(), word.end())
        if start == stop:
            continue
        for mark in "/:":  # the password in `user/password` or `user:password`
            cut = text.find(mark, start, stop)
            if 0 < cut - start <= 24 and text[start:cut].replace("_", "a").replace("-", "a").isalnum():
                plain = text[start:cut].islower() or text[start:cut].isalpha()
                if plain and look(text[cut + 1 : stop]) >= MIXED:
                    start = cut + 1
                    break
        if _gives(text, label, start, stop):
            return start, stop, "secret" if kind == "weak" else kind
    return None


def _value_before(text: str, lower: str, label: Label) -> tuple[int, int, str] | None:
    """Return the value of a label that stands before it: `hunter2 is my password`, 用 hunter2 当密码."""
    if label.kind == "weak" or _is_other_kind(lower, label) or not _ENDS_IN_LABEL.match(text, label.end):
        return None
    found = _GIVEN_BEFORE.search(text, max(0, label.start - _WINDOW), label.start)
    if found is None:
        return None
    start, stop = _trimmed(text, *found.span("secret"))
    seen = look(text[start:stop])
    least = {"password": NUMBER, "code": NUMBER, "secret": STRONG}[label.kind]
    return (start, stop, label.kind) if seen >= least and seen != LETTERS else None


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    while start < stop and text[start] in _OPENING:
        start += 1
    while stop > start and text[stop - 1] in _CLOSING:
        stop -= 1
    return start, stop


def _gives(text: str, label: Label, start: int, stop: int) -> bool:
    """Return whether the label gives this word away as its value."""
    seen = look(text[start:stop])
    if text.startswith("[REDACTED", start) or not _fits(label.kind, seen, text, start, stop):
        return False
    between = text[label.end : start]
    bound = _BOUND.search(between[-16:]) is not None
    if not bound and _ADJACENT.fullmatch(between):
        return seen > ORDINARY or label.kind == "code"
    if _OTHER_THING.search(between[-24:]):
        return False
    if bound and len(between.encode("utf-8", "surrogatepass")) <= 48 and not any(mark in between for mark in ",，、"):
        return True
    return seen == RANDOM or (bound and seen == STRONG and label.kind != "weak" and not is_hex(text[start:stop]))


def _fits(kind: str, seen: int, text: str, start: int, stop: int) -> bool:
    """Return whether a word that looks like that can be the value of a label of this kind, if it is bound to it."""
    value = text[start:stop]
    if seen >= STRONG:
        return kind not in ("secret", "weak") or _ISSUE.fullmatch(value) is None
    if kind in ("secret", "weak"):
        joined = kind == "secret" and text[start - 1] in "=:\"'"
        return (seen == LETTERS and len(value) >= 16) or (joined and seen == MIXED and len(value) >= 8)
    if seen == NUMBER:
        return len(value) <= 12 and not _UNIT.match(text, stop)
    if seen >= (LETTERS if kind == "code" else ORDINARY + 1):
        return True
    if kind == "code":
        if len(value) in (16, 24) and value.isalpha():  # the 16 letters of a mail provider's 授权码
            return value.islower() or value.isupper()
        # four to eight letters and digits, as in 提取码 x7k2
        return 4 <= len(value) <= 8 and value.isalnum() and not value.isalpha() and not is_stand_in(value)
    before, after = text[start - 1], text[stop : stop + 1]  # a plain word: in quotes, or right behind `=`
    quoted = before in _QUOTES and after != "" and after in "\"'`”’」』"
    joined = before == "=" and text[start - 2 : start - 1].isalnum()
    return (quoted or joined) and len(value) >= 4 and value.isalnum() and not is_stand_in(value)


def _logins(text: str, pattern: re.Pattern[str], marks: str) -> Iterator[tuple[int, int, str]]:
    """Yield `login admin / …`, 无线：家 / …: a name, then something that only a password looks like."""
    for pair in pattern.finditer(text):
        start, stop = _trimmed(text, *pair.span("secret"))
        if look(text[start:stop]) >= (MIXED if pair["mark"] in marks else RANDOM):
            yield start, stop, "password"


def _given(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[tuple[int, int, str]]:
    return ((*match.span("secret"), kind) for match in pattern.finditer(text))


def _is_prose(text: str, span: tuple[int, int, str]) -> bool:
    return not _PROSE.isdisjoint(text[span[0] : span[1]].lower().split())
