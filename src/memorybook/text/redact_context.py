"""Secrets that are known only by what is written around them: `the password is …`, 密码：…, `DB_PASSWORD=…`.

A label opens a window of at most 100 characters, which ends with the sentence, the line or the next label. Every word in it
is weighed: the tighter it is bound to the label, the less it must look like a secret itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memorybook.text.redact_values import LETTERS, MIXED, NUMBER, ORDINARY, RANDOM, STRONG, is_hex, is_stand_in, look

HINTS = (
    "pass", "pwd", "pw", "pin", "secret", "token", "key", "cred", "code", "otp", "login", "cookie", "pat", "psk", "seed", "mnemonic", "phrase",
    "密码", "口令", "密钥", "秘钥", "密匙", "令牌", "凭证", "凭据", "码", "私钥", "暗号", "助记词", "登录", "账", "帐", "用户名",
)  # fmt: skip
"""One of these stands in the lower-case text, or nothing here applies."""

_WINDOW = 100

_LABEL = (
    r"(?P<password>pass(?:word|wd|phrase|code|wort)s?|(?<![a-z])(?:pwd|pw|psk|pass|contraseña)(?![a-z])|(?:db|my|pg|user)pwd"
    r"|密\s?码|口令|暗号|开机码|锁屏码|通行码)"
    r"|(?P<code>(?-i:(?<![A-Za-z])PIN(?![A-Za-z]))(?:\s?(?:code|number))?|(?<![a-z])pin(?=\s(?:code|number)|\s*(?:is|was|[:=：为是]))(?:\s(?:code|number))?"
    r"|(?<![a-z])(?:auth(?:entication|ori[sz]ation)?|verification|security|access|alarm|door|gate|unlock|lock(?:box|er)?|entry|garage|safe|keypad"
    r"|recovery|backup|one[- ]time|sms|2fa|mfa|totp|login|confirmation|bypass|panic|disarm|building|app)[ -]codes?(?![a-z])"
    r"|(?<![a-z])(?:otp|cvv2?|cvc)(?![a-z])"
    r"|(?:授权|验证|校验|动态|提取|解压|安全|恢复|备份|门禁|报警|访问|识别|激活|解锁|认证|开锁|开门|确认|取款|pin\s?)码)"
    r"|(?P<secret>(?<![a-z])secrets?(?![a-rt-z])|(?:client|app|api|jwt|webhook|signing|consumer|shared|access)secret"
    r"|(?<![a-z])tokens?(?![a-z])|(?:access|auth|refresh|bearer|id|api|bot|csrf|session|personal|device|push|user)tokens?(?![a-z])"
    r"|(?:api|access|secret|private|signing|encryption|master|licen[cs]e|auth|service|admin|app|account|storage|shared|webhook|subscription|deploy|ssh"
    r"|root|project|server|client|session|recovery|integration|write|read|bot|track|bearer|wifi|wpa2?|wep|network|security|activation|product|aes|hmac)"
    r"[ _\-]?keys?(?![a-z])|credentials?|(?<![a-z])creds?(?![a-z])|(?-i:(?<![A-Za-z])PAT(?![A-Za-z]))"
    r"|密钥|秘钥|密匙|令牌|凭证|凭据|私钥|加密串)"
    r"|(?P<weak>(?<![a-z])(?:key|cookie|ak|sk|auth)s?(?![a-z])|(?-i:(?<=[a-z])Key(?![a-z])))"
)
_ABOUT = re.compile(  # a label that goes on like this speaks of the thing, it does not give it
    r"[\"'`*]{0,2}[\s_\-]?(?:hash(?:es)?|count|length|limit|id|ids|name|type|policy|manager|url|uri|endpoint|expir\w*|ttl|field|file|path|version"
    r"|usage|size|cost|budget|fingerprint|alias|format|algorithm|alg|pair\s+name|vault|hint|prefix|max|min|per|bucket|arn)(?![a-z])",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(  # what a key is when it is none of ours
    r"(?:public|primary|foreign|partition|sort|cache|index|composite|unique|routing|idempotency|shortcut|hot|registry|publishable|site|object|map|dict"
    r"|next|page|continuation|cursor|dedup\w*|sync|group|row|range|hash|lookup|translation|i18n|zip|qr|postal|公共|主|外|热)[\s_\-]?\Z",
    re.IGNORECASE,
)
_OTHER_THING = re.compile(  # what the word before a value says it is instead
    r"(?:commit|sha-?\d*|hash|digest|md5|checksum|fingerprint|[ug]uid|(?<![a-z])ids?|build|version|etag|order|issue|ticket|request|trace|span|run|job"
    r"|user(?:name)?|account|login|ssid|host(?:name)?|server|port|e-?mail|phone|at|in|from|via|using|uses|with|on|by|under|region|bucket|model|mode"
    r"|单号|编号|提交|摘要|哈希|校验和|指纹|版本|订单|工单|用户名?|账户|账号|帐号|主机|服务器|域名|端口|邮箱|电话|手机号?|型号|算法|采用|使用|走|在|见|存到|存在|放在"
    r")[\s\"'`:：=#（(是为]{0,4}\Z",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:[:=：＝→|]|->|=>|—|–|(?<![a-z])(?:is|was|are|be|to|now|as|equals?|still|becomes?)|是|为|成|叫|用|即|填|到|给你|如下|这个)"
    r"[\s\"'`“”‘’「『（(\[<*_]*\Z",
    re.IGNORECASE,
)
_ADJACENT = re.compile(r"[\s\"'`“”‘’「『（(\[<*_\-—–/]*\Z")
_UNIT = re.compile(
    r"\s?(?:[位天年月日次个分秒小时元块条字人层期款]|%|(?:days?|hours?|minutes?|seconds?|digits?|characters?|chars?|times|years?|months?|weeks?)\b)"
)
_WORD = re.compile(r"[!#-&(-:=?-_a-~]+")  # printable ASCII without quotes, angle brackets and semicolons
_END = re.compile(r"[。！？；]|[.!?;]\s|\n")
_OPENING = ":=([*|,/-_"
_CLOSING = ")]}*,.:?|"
_QUOTES = "\"'`“‘「『"

_LOGIN = (
    r"(?:log[ -]?in|sign[ -]?in|account|acct|user(?:name)?|creds|credentials|账号|账户|帐号|帐户|用户名?|登[录陆])(?![a-z])"
    r"[\s:：=是为名用\-]{0,4}[\"'`]?[A-Za-z][\w.@\-]{0,40}[\"'`]?\s{0,2}(?:[/|,，:;、]|and|和|with)\s{0,2}[\"'`]?(?P<secret>[!#-&(-:=?-_a-~]{6,64})"
)
_SEED = (
    r"(?:助记词|恢复短语|种子短语|mnemonic|(?:seed|recovery|backup|secret)[ -](?:phrase|words)|seed)[^\n]{0,40}?[\s:：=是为\"'`“（(\[]"
    r"(?P<secret>[a-z]{3,8}(?:[\s,\d.]{1,4}[a-z]{3,8}){11,23})(?![a-z])"
)
_HAN_SEED = r"助记词[^\n]{0,12}?(?P<secret>[一-鿿](?:[\s、,]{1,2}[一-鿿]){11,23})"
_PROSE = frozenset(
    "the and for are was not from have has must should were been keep write with your which these those its their".split()
)


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Spans `(start, end, kind)` of what the surrounding words give away, in no order; spans may overlap."""
    yield from _seeds(text)
    yield from _logins(text)
    yield from _labelled(text)


def names_secret(name: str) -> bool:
    """Whether a field of this name (`db_password`, `apiKey`, 密码) holds a secret."""
    labels = [*_compiled(_LABEL).finditer(name[-80:])]
    return bool(labels) and labels[-1].end() == len(name[-80:]) and not _is_other_kind(name[-80:], labels[-1])


def _labelled(text: str) -> Iterator[tuple[int, int, str]]:
    labels = [*_compiled(_LABEL).finditer(text)]
    for label, following in zip(labels, [*labels[1:], None], strict=False):
        end = _window_end(text, label.end(), following.start() if following else len(text))
        if end - label.end() < 4 or _is_other_kind(text, label):
            continue
        found = _value(text, label, end)
        if found:
            yield found


def _is_other_kind(text: str, label: re.Match[str]) -> bool:
    if _ABOUT.match(text, label.end(), label.end() + 24):
        return True
    return (
        label.lastgroup in ("secret", "weak")
        and _NOT_SECRET.search(text[max(0, label.start() - 16) : label.start()]) is not None
    )


def _window_end(text: str, start: int, next_label: int) -> int:
    """Where the sentence or line ends; a line that ends with its label or a colon goes on in the next one."""
    limit = min(start + _WINDOW, next_label)
    stop = _END.search(text, start, limit)
    if stop and stop.group() == "\n" and text[start : stop.start()].strip(" \t*`\"'") in ("", ":", "：", "="):
        stop = _END.search(text, stop.end(), limit)
    return stop.start() if stop else limit


def _value(text: str, label: re.Match[str], end: int) -> tuple[int, int, str] | None:
    kind = str(label.lastgroup)
    for word in _WORD.finditer(text, label.end(), end + _rest_of_word(text, end)):
        if word.start() >= end:
            break
        start, stop = _trimmed(text, word.start(), word.end())
        if start == stop:
            continue
        start = _after_user(text, start, stop)
        if _gives(text, label, start, stop):
            return start, stop, "secret" if kind == "weak" else kind
    return None


def _rest_of_word(text: str, end: int) -> int:
    """How far the word that the window cuts goes on, so that a secret is never cut in two."""
    tail = _WORD.match(text, end, end + 400)
    return tail.end() - end if tail and end and _WORD.match(text, end - 1, end) else 0


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    while start < stop and text[start] in _OPENING:
        start += 1
    while stop > start and text[stop - 1] in _CLOSING:
        stop -= 1
    return start, stop


def _after_user(text: str, start: int, stop: int) -> int:
    """Start of the password in `user/password` or `user:password`; `start` for anything else."""
    for mark in "/:":
        cut = text.find(mark, start, stop)
        if 0 < cut - start <= 24 and text[start:cut].replace("_", "a").replace("-", "a").isalnum():
            plain = text[start:cut].islower() or text[start:cut].isalpha()
            if plain and look(text[cut + 1 : stop]) >= MIXED:
                return cut + 1
    return start


def _gives(text: str, label: re.Match[str], start: int, stop: int) -> bool:
    """Whether the label gives this word away as its value."""
    value, between = text[start:stop], text[label.end() : start]
    if value.startswith("[REDACTED"):
        return False
    bound = _BOUND.search(between) is not None
    close = bound and len(between.encode()) <= 48 and not any(mark in between for mark in ",，、")
    if not bound and _ADJACENT.fullmatch(between):
        return _fits(str(label.lastgroup), text, start, stop, assigned=False)
    if _OTHER_THING.search(between[-24:]):
        return False
    if close:
        return _fits(str(label.lastgroup), text, start, stop, assigned=True)
    seen = look(value)
    return seen == RANDOM or (bound and seen == STRONG and label.lastgroup != "weak" and not is_hex(value))


def _fits(kind: str, text: str, start: int, stop: int, *, assigned: bool) -> bool:
    """Whether a word right behind its label, or assigned to it, can be the value of a label of this kind."""
    value = text[start:stop]
    seen = look(value)
    if seen >= STRONG:
        return kind != "weak" or assigned or not is_hex(value)
    if kind in ("secret", "weak"):
        joined = text[start - 1] in "=:\"'"
        return (seen == LETTERS and len(value) >= 16) or (
            kind == "secret" and joined and seen == MIXED and len(value) >= 8
        )
    if seen == NUMBER:
        return len(value) <= 12 and not _UNIT.match(text, stop)
    if kind == "code":
        return (
            seen >= LETTERS
            or (len(value) in (16, 24) and value.isalpha() and (value.islower() or value.isupper()))
            or _is_short_code(value)
        )
    if seen == ORDINARY:
        return assigned and _is_quoted_word(text, start, stop)
    return True


def _is_short_code(value: str) -> bool:
    """Four to eight letters and digits, as in 提取码 x7k2; lower-case or capitals."""
    return 4 <= len(value) <= 8 and value.isalnum() and not value.isalpha() and not is_stand_in(value)


def _is_quoted_word(text: str, start: int, stop: int) -> bool:
    """Whether a plain word is given as a value: in quotes, or right behind `=`."""
    value = text[start:stop]
    if len(value) < 4 or not value.isalnum() or is_stand_in(value):
        return False
    before, after = text[start - 1], text[stop : stop + 1]
    return (before in _QUOTES and after != "" and after in "\"'`”’」』") or (
        before == "=" and text[start - 2 : start - 1].isalnum()
    )


def _logins(text: str) -> Iterator[tuple[int, int, str]]:
    """`login admin / …`, 账号 root / …: a user's name, then something that only a password looks like."""
    for pair in _compiled(_LOGIN).finditer(text):
        start, stop = _trimmed(text, *pair.span("secret"))
        if look(text[start:stop]) == RANDOM:
            yield start, stop, "password"


def _seeds(text: str) -> Iterator[tuple[int, int, str]]:
    lower = text.lower()
    if "助记词" in text:
        yield from ((*match.span("secret"), "mnemonic") for match in _compiled(_HAN_SEED).finditer(text))
    if any(hint in lower for hint in ("助记词", "seed", "phrase", "mnemonic", "短语")):
        for match in _compiled(_SEED).finditer(text):
            if _PROSE.isdisjoint(match["secret"].lower().split()):
                yield *match.span("secret"), "mnemonic"
