"""Secrets that are known by their own shape: provider tokens, keys, addresses that hold credentials.

A rule is anchored on what its issuer prints in front, so it needs no words around it. The left edge
is always checked and every repetition is over characters that the edge excludes, so a hostile line is read once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Rule(NamedTuple):
    """One shape of secret.

    Attributes:
        kind: What it is called in the mark that replaces it.
        hints: Literals of which the lower-case text must hold one; this is all that ordinary text costs.
        pattern: Its `secret` group is replaced, or the whole match if it has no such group.
        check: `random`: the secret must also look made by a machine, so that examples stay; `value`: it must
            not be a placeholder or an ordinary word; `shape`: the shape alone is enough.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    check: str = "random"


_EDGE = r"(?<![A-Za-z0-9_\-])"

_PREFIXED: dict[str, tuple[str, ...]] = {
    # kind -> what stands in front, as a pattern; then at least 16 characters of a token follow
    "anthropic-key": ("sk-ant-",),
    "openai-key": ("sk-proj-", "sk-svcacct-", "sk-admin-"),
    "openrouter-key": ("sk-or-",),
    "langfuse-key": ("sk-lf-",),
    "api-key": (
        "sk-",  # OpenAI, DeepSeek, Moonshot, DashScope, SiliconFlow and many that copied them
        "xai-", "pplx-", "fw_", "nvapi-", "pcsk_", "m0-", "lsv2_", "r8_", "phc_", "pmak-", "nrak-", "figd_", "lin_api_",
        "secret_", "ntn_", "glsa_", "glc_", "sntrys_", "sbp_", "nfp_", "dp\\.pt\\.", "hvs\\.", "hvb\\.", "hrku-", "pul-",
        "dapi", "dop_v1_", "doo_v1_", "rubygems_", "dckr_pat_", "dckr_oat_", "atatt3", "gocspx-", "ya29\\.", "1//0", "sq0[a-z]{3}-",
        "sec(?=[0-9a-f]{64})", "tvly-", "jina_", "fc-", "bce-v3/altak-", "altak-?", "aklt", "jdc_", "sct[0-9]{3,8}t", "cio",
    ),
    "github-token": ("gh[pousr]_", "github_pat_"),
    "gitlab-token": ("gl(?:pat|dt|rt|cbt|ptt|soat|agent|oas|ft|imt)-",),
    "slack-token": ("xox[abeoprs]-", "xapp-", "xwfp-"),
    "stripe-key": ("[sr]k_(?:live|test)_", "whsec_"),
    "huggingface-token": ("hf_", "api_org_"),
    "groq-key": ("gsk_",),
    "npm-token": ("npm_",),
    "pypi-token": ("pypi-",),
    "shopify-token": ("shp(?:at|ca|pa|ss)_",),
    "age-key": ("age-secret-key-1",),
}  # fmt: skip


def _hint(prefix: str) -> str:
    """The literal that a prefix pattern begins with (its left-most run of plain characters)."""
    return re.split(r"[\[(?]", prefix.replace("\\", ""), maxsplit=1)[0]


RULES: tuple[Rule, ...] = (
    Rule(
        "private-key",
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]{0,20000}+(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----)?)",
        check="shape",
    ),
    # 30 82 .. .. 02 01 00: a DER sequence that opens with version 0, which certificates do not; then EC, Ed25519, OpenSSH
    Rule(
        "private-key",
        ("mii", "mhcca", "migha", "mc4ca", "b3blbnnzac1rzxktdje"),
        r"(?<![A-Za-z0-9+/])(?:MII[A-Za-z0-9+/][A-Za-z0-9+/][AQgw]IBA|MHcCAQEE|MIGHAgEA|MC4CAQAw|b3BlbnNzaC1rZXktdjE)"
        r"[A-Za-z0-9+/\r\n]{24,}+={0,2}",
        check="shape",
    ),
    Rule("jwt", ("eyj",), _EDGE + r"eyJ[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]{8,}+){1,4}", check="shape"),
    *(
        Rule(
            kind,
            tuple(map(_hint, prefixes)),
            _EDGE + rf"(?i:{'|'.join(prefixes)})(?=[A-Za-z0-9_\-.+/=]{{16}})[A-Za-z0-9_\-]++(?:[.+/=][A-Za-z0-9_\-]++)*+=*+",
        )
        for kind, prefixes in _PREFIXED.items()
    ),
    Rule("aws-key", ("akia", "asia", "abia", "acca", "aroa", "aida"),
         _EDGE + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    Rule("google-key", ("aiza",), _EDGE + r"AIza[A-Za-z0-9_\-]{35}(?![A-Za-z0-9])"),
    Rule("aliyun-key", ("ltai",), _EDGE + r"LTAI[A-Za-z0-9]{12,26}(?![A-Za-z0-9])"),
    Rule("tencent-key", ("akid",), _EDGE + r"AKID[A-Za-z0-9]{28,36}(?![A-Za-z0-9])"),
    # an access key's secret has no shape but its length; it stands near its id
    Rule("aws-secret", ("akia", "asia"),
         r"(?:AKIA|ASIA)[A-Z2-7]{16}\b[\s\S]{1,120}?(?<![A-Za-z0-9+/])(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])"),
    Rule("aliyun-secret", ("ltai",),
         r"LTAI[A-Za-z0-9]{12,26}\b[\s\S]{1,120}?(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{30})(?![A-Za-z0-9])"),
    Rule("tencent-secret", ("akid",),
         r"AKID[A-Za-z0-9]{28,36}\b[\s\S]{1,120}?(?<![A-Za-z0-9])(?P<secret>[A-Za-z0-9]{32})(?![A-Za-z0-9])"),
    Rule("zhipu-key", (".",), r"(?<![A-Za-z0-9])[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])"),
    Rule("telegram-token", (":a",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}(?![A-Za-z0-9_\-])"),
    Rule("sendgrid-key", ("sg.",), _EDGE + r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{30,60}"),
    Rule("twilio-key", ("sk",), _EDGE + r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    Rule("mailgun-key", ("key-",), _EDGE + r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    Rule("webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_\-]{16,})"),
    Rule("webhook", ("qyapi.weixin",), r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/\w+\?key=(?P<secret>[A-Za-z0-9\-]{16,})"),
    Rule("webhook", ("/webhooks/",), r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(?P<secret>\d{6,}/[A-Za-z0-9_\-]{16,})"),
    Rule("webhook", ("open-apis/bot",),
         r"(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/(?P<secret>[A-Za-z0-9\-]{16,})"),
    Rule("webhook", ("webhook.office", "logic.azure"),
         r"(?:webhook\.office\.com/webhookb2|logic\.azure\.com[:0-9]*/workflows)/(?P<secret>[^\s\"'<>]{16,})"),
    Rule("webhook", ("api.telegram.org/bot",), r"api\.telegram\.org/bot(?P<secret>[0-9]{6,}:[A-Za-z0-9_\-]{30,})"),
    Rule("webhook", ("sctapi", "sc.ftqq"), r"(?:sctapi|sc)\.ftqq\.com/(?P<secret>[A-Za-z0-9]{16,})"),
    Rule(
        "url-secret",
        ("token=", "key=", "secret=", "sig=", "signature=", "password=", "passwd=", "pwd=", "auth=", "code=", "sign="),
        r"[?&](?:[A-Za-z0-9]{1,24}[_\-])?(?:access_?token|token|api_?key|key|secret|sig|signature|sign|password|passwd|pwd|auth"
        r"|client_secret|code)=(?P<secret>[^\s&#\"'<>，。；）」]{8,})",
    ),
    Rule(
        "url-credentials",
        ("://",),
        r"://[^\s/@:\"'<>]{0,80}+:(?P<secret>[^\s/\"'<>]{1,200})(?<!@)@(?=[A-Za-z0-9\[])",
        "value",
    ),
    Rule("url-credentials", ("://",), r"://(?P<secret>[A-Za-z0-9_\-]{20,100}+)(?::x-oauth-basic)?@"),
    Rule("url-credentials", ("curl", "wget", "http "), r"\s(?:-u|--user|--proxy-user|-a|--auth)[ =]?[\"']?[^\s:\"']{1,80}+:(?P<secret>[^\s\"']{1,200})", "value"),
    Rule("password", ("sshpass",), r"sshpass\s+-p\s*[\"']?(?P<secret>[^\s\"']{3,})", "value"),
    Rule("password", ("mysql", "mariadb"), r"\b(?:mysql(?:dump|admin)?|mariadb)\s[^\n]{0,80}?\s-p[\"']?(?P<secret>[^\s\"'\-][^\s\"']{2,})", "value"),
    Rule("password", ("redis-cli",), r"redis-cli\s[^\n]{0,80}?-a\s+[\"']?(?P<secret>[^\s\"']{3,})", "value"),
    Rule("authorization", ("bearer ", "basic ", "token "),
         r"(?i:authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|apikey|digest)?\s+|(?<![a-z])bearer\s+)(?P<secret>[A-Za-z0-9._~+/=\-]{12,})"),
    Rule(
        "cookie",
        ("sess", "sid=", "bili_jct", "bduss", "csrf", "remember_", "_auth", "pt_key", "cna=", "a1=", "sso"),
        r"(?<![A-Za-z0-9])(?i:[\w.\-]{0,32}?(?:sessdata|session|sessid|sess|sessionid|connect\.sid|(?<![a-z])sid|bili_jct|bduss"
        r"|stoken|csrf_?token|xsrf-token|pt_key|remember_\w{1,24}|auth_token|_auth|sso_\w{1,24}))=[\"']?(?P<secret>[^\s;,\"'<>，；。）」]{10,})",
    ),
)  # fmt: skip


@lru_cache(maxsize=128)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern compiled once, when a text first needs it."""
    return re.compile(pattern)
