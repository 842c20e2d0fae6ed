"""Secrets that are known only by what is written around them: `the password is …`, 密码：…, `DB_PASSWORD=…`.

A label opens a window of at most 100 characters, which ends with the sentence, the line or the next
label. Every word in it is weighed: the tighter it is bound to the label, the less it must look like a
secret itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memorybook._light import lazily
from memorybook.text.redact_rules import LETTERS, MIXED, NUMBER, ORDINARY, RANDOM, STRONG, is_hex, is_stand_in, look

_HINTS = tuple(
    (
        "pass pwd pw psk pin secret token key cred code otp cv cookie auth mdp mot contrase clave digo cl jeton "
        "码 口令 钥 密匙 令牌 凭证 凭据 暗号 パス 証番号 合言葉 コード キー トークン シークレット 鍵 비 암호 패스 "
        "인증 토큰 키 시크릿 парол код пин токен ключ секрет"
    ).split()
)
_EXACT_HINTS = ("PAT", "AK", "SK")
_LOGIN_HINTS = ("log", "sign", "acc", "user", "cred", "账", "帐", "登", "用户")
_NETWORK_HINTS = ("wifi", "wi-fi", "wlan", "ssid", "无线", "热点")
_SEED_HINTS = ("助记词", "seed", "phrase", "mnemonic", "短语")

_WINDOW = 100

# Case is folded before and what stands to the left is looked at afterwards, so the search may skip
# every character that begins no label.
_LABEL = lazily(
    r"(?=[pocstkamj密口暗通开锁授验校动提解安恢备门报访识激认确取秘令凭私加パ合認確トシ비패암인토시пктс])(?:"
    r"(?P<password>pass(?:word|wd|phrase|code|wort)s?|pwd|psk|密 ?码|口令|暗号|通行码|开机码|锁屏码|mots? de passe"
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
    r"|api ?(?:キー|키)|토큰|시크릿|(?<!\w)токен\w{0,2}|секретный ключ|api-?ключ)"
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
    r"(?![a-z])(?:[/和、]?密码)?(?:\s(?:is|was)\s)?[\s:：=是为名用\-]{0,4}[\"'`]?[A-Za-z][\w.@\-]{0,40}[\"'`]?"
    r"\s{0,2}(?P<mark>[/|,，:;、]|and|和|with)\s{0,2}[\"'`]?(?P<secret>[!#-&(-:=?-_a-~]{6,64})"
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
    r"(?i)(?:wi-?fi|wlan|ssid|无线(?:网络?)?|热点)(?![a-z])(?:\s?名称?)?(?:\sis)?\s{0,2}[:：=是为]?\s{0,2}[\"'`“]?"
    r"[^\s/|,，:：][^\n/|,，:：]{0,31}[\"'`”]?\s{0,2}(?P<mark>[/|,，])\s{0,2}[\"'`“]?(?P<secret>[!#-&(-:=?-_a-~]{8,63})"
)
_WHOSE = r"(?:my|our|the|his|her|their|your|its|an?|mon|ma|notre|le|la|mi|el|nuestr[ao]|мой|наш|[\w-]+['’]s)"
_GIVEN_BEFORE = re.compile(  # what stands between a value and the label that it is given for
    r"(?P<secret>[!#-&(-:=?-_a-~]{4,64})[\"'`”’」』»]?(?:"
    r"(?:\s+|\s*[,，]\s*(?:that|this|which)\s?|\s+[–—-]\s+that\s?)(?:['’]s|is|was|has\s+always\s+been|as|for|est|es)"
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
        if end - label.end < 4 or not _CANDIDATE.search(text, label.end, end) or _is_other_kind(lower, label):
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
