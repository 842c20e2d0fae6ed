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
        check: What the secret must look like besides: `random` made by a machine, so that names stay; `strong` or
            `mixed` as in `redact_values`; `value` no placeholder and no ordinary word; `token` no name in words
            either; `shape` nothing more.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    check: str = "random"


_EDGE = r"(?<![A-Za-z0-9_\-])"

_PREFIXED: dict[str, tuple[str, ...]] = {  # kind -> what stands in front of 16 or more characters of a token
    "anthropic-key": ("sk-ant-",),
    "openai-key": ("sk-proj-", "sk-svcacct-", "sk-admin-"),
    "openrouter-key": ("sk-or-",),
    "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab-token": (
        "glpat-",
        "gldt-",
        "glrt-",
        "glcbt-",
        "glptt-",
        "glsoat-",
        "glagent-",
        "gloas-",
        "glft-",
        "glimt-",
    ),
    "slack-token": ("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "xwfp-"),
    "stripe-key": ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
    "huggingface-token": ("hf_", "api_org_"),
    "groq-key": ("gsk_",),
    "npm-token": ("npm_",),
    "pypi-token": ("pypi-",),
    "tavily-key": ("tvly-",),
    "age-key": ("age-secret-key-1",),
    "api-key": (
        *(
            "xai-",
            "pplx-",
            "nvapi-",
            "pcsk_",
            "lsv2_",
            "phc_",
            "pmak-",
            "nrak-",
            "figd_",
            "lin_api_",
            "ntn_",
            "glsa_",
            "glc_",
        ),
        *("sntrys_", "sbp_", "nfp_", "dp.pt.", "hvs.", "hvb.", "hrku-", "dop_v1_", "doo_v1_", "rubygems_", "dckr_pat_"),
        *("dckr_oat_", "atatt3", "gocspx-", "ya29.", "1//0", "sq0atp-", "sq0csp-", "jina_", "bce-v3/altak-", "jdc_"),
        *("shpat_", "shpca_", "shppa_", "shpss_"),
    ),
}
_LOOSE = ("sk-", "m0-", "fw_", "r8_", "secret_", "pul-", "dapi", "cio", "fc-", "altak", "aklt")
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
        (
            "token=",
            "key=",
            "secret=",
            "sig=",
            "signature=",
            "password=",
            "passwd=",
            "pwd=",
            "auth=",
            "code=",
            "sign=",
            "appid=",
        ),
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
        (
            *(
                "sessdata=",
                "session=",
                "sessid=",
                "sessionid=",
                "sess=",
                "sid=",
                "bili_jct=",
                "bduss=",
                "stoken=",
                "csrftoken=",
            ),
            *("csrf_token=", "xsrf-token=", "pt_key=", "auth_token=", "_auth="),
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
    """The pattern compiled once, when a text first needs it."""
    return re.compile(pattern)
