"""Secrets are masked, look-alikes stay. No secret stands here: all are made at run time, at random from a seed."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import string
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import ConfigError
from memorybook.text.redact import redact, redact_json
from tables import table

DATA = Path(os.environ.get("MEMORYBOOK_DATA", Path(__file__).parents[3] / "shared" / "data"))
DICE = random.Random(4711)


def pick(count: int, among: str = string.ascii_letters + string.digits) -> str:
    return "".join(DICE.choice(among) for _ in range(count))


def encoded(count: int) -> str:
    return base64.b64encode(DICE.randbytes(count)).decode()


def password() -> str:
    return pick(1, string.ascii_uppercase) + pick(4, string.ascii_lowercase) + pick(1, "!@#%") + pick(4, string.digits)


def iban() -> str:
    """An account number of Germany, France or Spain, with its check digits."""
    country, length = DICE.choice([("DE", 18), ("FR", 23), ("ES", 20)])
    account = pick(length, string.digits)
    return f"{country}{98 - int(''.join(str(int(c, 36)) for c in account + country + '00')) % 97:02d}{account}"


def citizen() -> str:
    """An identity number of China, with its check digit."""
    where, year, month = DICE.choice(("110101", "330106", "440305")), f"19{pick(2, '6789')}", f"0{pick(1, '123456789')}"
    number = f"{where}{year}{month}1{pick(4, string.digits)}"
    return number + "10X98765432"[sum(int(c) * pow(2, 17 - n, 11) for n, c in enumerate(number)) % 11]


def card() -> str:
    """The number of a payment card, with its check digit."""
    number = pick(1, "3456") + pick(14, string.digits)
    total = sum(2 * int(digit) - 9 * (int(digit) > 4) for digit in number[::2]) + sum(map(int, number[1::2]))
    return f"{number}{-total % 10}"


MAKERS: dict[str, Callable[[], str]] = {
    "password": password,
    "simple": lambda: "sunshine" + pick(3, "123456789"),
    "t16": lambda: pick(15) + pick(1, "123456789"),
    "t32": lambda: pick(30) + pick(2, "123456789"),
    "t40": lambda: pick(39) + pick(1, "123456789"),
    "hex32": lambda: pick(32, "0123456789abcdef"),
    "hex40": lambda: pick(40, "0123456789abcdef"),
    "hex64": lambda: pick(64, "0123456789abcdef"),
    "digits4": lambda: pick(4, "123456789"),
    "digits6": lambda: pick(6, "123456789"),
    "digits10": lambda: pick(10, "123456789"),
    "lower16": lambda: pick(16, string.ascii_lowercase),
    "upper16": lambda: pick(16, string.ascii_uppercase),
    "base32": lambda: pick(16, string.ascii_uppercase + "234567"),
    "uuid": lambda: "-".join(pick(n, "0123456789abcdef") for n in (8, 4, 4, 4, 12)),
    "code": lambda: pick(3, "abcdefghjkmnpqrstuvwxyz") + pick(1, "23456789"),
    "b64": lambda: encoded(45),
    "card": card,
    "cards": lambda: " ".join(re.findall("....", card())),
    "iban": iban,
    "ibans": lambda: " ".join(re.findall(".{1,4}", iban())),
    "citizen": citizen,
    "citizens": lambda: " ".join(re.fullmatch("(.{6})(.{8})(.{4})", citizen()).groups()),  # type: ignore[union-attr]
    "der": lambda: "MII" + "EvQ" + "IBADANBgkqhkiG9w0BAQEFAASC" + encoded(60),
}


def filled(template: str) -> tuple[str, list[str]]:
    """The template with its `{maker}`s replaced, and the values, longest first."""
    values = {name: make() for name, make in MAKERS.items() if f"{{{name}}}" in template}
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template, sorted(values.values(), key=len, reverse=True)


SECRET = table("""
the key for evaluation is sk-proj-{t40}{t40} ¦ sk-ant-api03-{t40}{t40}AA ¦ DEEPSEEK_KEY=sk-{hex32}
tavily tvly-dev-{t32} ¦ push with ghp_{t32}abcd ¦ github_pat_{t16}aaaaaa_{t40} ¦ glpat-{t16}abcd
AKIA{base32} and {t40} ¦ aws_secret_access_key = {t40} ¦ AIza{t32}abc ¦ gsk_{t40}{t16} ¦ hf_{t32}ab
xoxb-{digits10}-{digits10}-{t16} ¦ sk_live_{t32} ¦ npm_{t32}abcd ¦ pypi-AgEIcHlwaS5vcmc{t40}{t40}
bot {digits10}:AA{t32}x ¦ SG.{t16}abcdef.{t40}abc ¦ eyJhbGciOiJIUzI1NiJ9.{t40}.{t40}
https://hooks.slack.com/services/T{upper16}/B{upper16}/{t16} ¦ https://discord.com/api/webhooks/{digits10}/{t40}{t16}
postgres://app:{password}@db.internal:5432/prod ¦ redis://:{simple}@cache:6379/0 ¦ root:{password}@10.0.0.7
curl -u admin:{password} https://ci.internal/job ¦ curl -H "Authorization: Bearer {t40}" https://api.example.org
Authorization: Basic {b64} ¦ https://x.example/cb?access_token={t32}&state=1 ¦ sshpass -p {simple} ssh root@host
docker login -u bob -p {simple} registry.internal ¦ redis-cli -h cache -a {simple} ping
Cookie: theme=dark; JSESSIONID={hex32} ¦ my password is {simple}, please remember it
The wifi password at the cabin is {password}. ¦ I changed the password of the router to {simple}
my bank password's {simple} ¦ password for the old NAS in the cellar: {simple} ¦ "password": "{simple}",
{"user":"bob","password":"{simple}"} ¦ SMTP_PASS={simple} ¦ jwt-secret: {t16}9a8B
passphrase for the ssh key: {simple} ¦ | prod | admin | password | {password} | ¦ Password:\\n  {simple}
login admin / {password} on the NAS ¦ the account is bob / {simple} ¦ user root, {password}
the door PIN is {digits4} ¦ card pin: {digits4} ¦ alarm code {digits6} ¦ your verification code is {digits6}
PAT: {t40} ¦ the key you asked for: {t32} ¦ -----BEGIN RSA PRIVATE KEY-----\\n{der}\\n-----END RSA PRIVATE KEY-----
{der} ¦ WIFI:T:WPA;S:Home;P:{simple};; ¦ QQ 邮箱的授权码是 {lower16} ¦ 网易邮箱授权码：{upper16}
阿里云 AccessKey ID：LTAI5t{t16}，AccessKey Secret：{t32} ¦ SecretId: AKID{t32} SecretKey: {hex32}
微信支付 APIv3 密钥：{t32} ¦ 智谱 {hex32}.{t16} ¦ https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={uuid}
https://open.feishu.cn/open-apis/bot/v2/hook/{uuid} ¦ https://oapi.dingtalk.com/robot/send?access_token={hex64}
加签密钥 SEC{hex64} ¦ 服务器的 root 密码：{password} ¦ 家里 Wi-Fi 密码 {simple}
管理后台口令为 {simple}，不要告诉别人 ¦ 我的邮箱密码改成了 {simple} ¦ 用户名/密码：deploy/{simple}
账号密码：admin / {simple} ¦ 门锁密码 {digits6} ¦ 门禁密码：{digits4}# ¦ 刚收到的验证码是 {digits6} ¦ 提取码：{code}
接口令牌为 {hex32} ¦ 私钥 {der} ¦ 小红书 cookie 里的 web_session={hex32} ¦ 【密码】{simple} ¦ PIN 码 {digits4}
def send(password: str = "{password}") -> Response2: ¦ {simple} is my password
{password} was the old wifi password, I think ¦ {simple} is the password for the NAS
use {password} as the password of the router ¦ "{simple}" is our admin password. ¦ {digits6} is my door code
{digits4} is the PIN of my card ¦ {simple} 是我的密码 ¦ {simple}是路由器的密码 ¦ 密码我改了，{password} 就是新的密码
{digits6} 是门锁密码 ¦ 用 {simple} 当密码 ¦ 把 {password} 设为登录密码 ¦ {digits6} 是我收到的验证码
wifi: net / {simple} ¦ Wi-Fi: Cafe Nero / {password} ¦ WLAN Gast | {simple} ¦ the wifi is HomeNet-5G / {simple}
无线：小李家 / {simple} ¦ WiFi 名 heFeng-5G / {password} ¦ CREATE USER 'app'@'%' IDENTIFIED BY '{simple}';
alter user root identified with mysql_native_password by "{password}"
GRANT ALL ON shop.* TO 'web'@'localhost' IDENTIFIED BY '{simple}' ¦ CREATE USER scott IDENTIFIED BY {simple}
set password for app; alter user app identified by '{simple}' replace 'x'
建用户：create user reader identified by '{simple}'; ¦ pay to {iban} ¦ IBAN: {iban}, BIC COBADEFFXXX ¦ {ibans}
打到这个账户 {ibans} ¦ Mon IBAN est {ibans}. ¦ iban={iban} ¦ 身份证号 {citizen} ¦ 我的身份证是{citizen}，帮我记一下
ID: {citizens} ¦ 证件号：{citizen}（本人） ¦ passport or ID {citizen} ¦ 她是 {citizens} 的持有人
mot de passe : {simple} ¦ Le mot de passe du Wi-Fi est {simple}. ¦ mdp {password} ¦ Mon code secret est {digits4}
clé API : {t32} ¦ le code d'accès de l'immeuble est {digits6} ¦ contraseña: {simple}
La contraseña del router es {simple} ¦ mi contraseña es "{simple}" ¦ clave de acceso: {password}
El código de verificación es {digits6} ¦ la clave API es {t32} ¦ パスワード：{simple} ¦ パスワードは{simple}です
Wi-Fiのパスワードは「{simple}」 ¦ 暗証番号は{digits4}です ¦ 認証コード：{digits6} ¦ APIキー: {t32}
비밀번호: {simple} ¦ 비밀번호는 {simple} 입니다 ¦ 와이파이 비번 {simple} ¦ 암호는 {password}이에요
인증번호 {digits6} ¦ API 키: {t32} ¦ пароль: {simple} ¦ Пароль от роутера — {simple} ¦ мой пароль {password}
пароль это {simple} ¦ код подтверждения: {digits6} ¦ код от домофона {digits4} ¦ API-ключ: {t32}
{simple}, that's my password ¦ {simple} – that is the wifi password ¦ {simple} (my NAS password)
{simple} has always been my password ¦ My password? {simple} ¦ {simple}，这是我的密码 ¦ {simple}，就是家里wifi的密码
我一直用{simple}做密码 ¦ {t32} 是我们的 API key ¦ {hex32} is the token for CI ¦ wifi: "Home Net" / "{simple}"
ALTER LOGIN sa WITH PASSWORD = N'{simple}'; ¦ mon mot de passe c'est {simple} ¦ Mot de passe: «{simple}»
tu contraseña nueva será {simple} ¦ clave: {password} ¦ {simple} es mi contraseña ¦ {simple} est mon mot de passe
パスワードを {simple} に変更しました ¦ {simple} がパスワードです ¦ 비밀번호를 {simple} 로 바꿨어요
{simple} 이 내 비밀번호야 ¦ {simple} — мой пароль ¦ поменял пароль на {simple} ¦ ПИН-код {digits4}
WiFi 家里：net / {simple} ¦ wifi 办公室：Guest5 / {password} ¦ Wi-Fi at home: HomeNet / {simple}
WLAN (guest): HomeNet / {password} ¦ the wifi in the cabin is Cabin5 / {simple} ¦ 无线 二楼：TP-LINK_5G / {simple}
热点 手机：Mate60 / {simple} ¦ 无线网（客厅）：heFeng | {password} ¦ wifi, upstairs: net5 / {simple}
IDENTIFIED WITH caching_sha2_password BY '{simple}' ¦ app: identified with mysql_native_password by "{password}"
用户 app IDENTIFIED WITH sha256_password BY '{simple}' ¦ …, IDENTIFIED WITH ed25519 AS '{t32}'
密码改了：identified with 'mysql_native_password' by '{simple}' ¦ identified  with plaintext_password by {password}
le mot de passe du wifi est {password} ¦ Mon code PIN : {digits4} ¦ clé API : {t32} ¦ jeton d'accès : {t32}
Le mdp c'est {simple} ¦ phrase secrète : {password} ¦ code d'accès : {digits6} ¦ {password} reste le mot de passe
La contraseña del wifi es {password} ¦ mi clave es {password} ¦ clave de API: {t32} ¦ el token de acceso es {t32}
código de verificación: {digits6} ¦ mi PIN es {digits4} ¦ frase secreta: {password} ¦ Contraseña: {simple}
パスワードは{simple}です ¦ Wi-Fiのパスワード：{password} ¦ 暗証番号は{digits4}です ¦ APIキー: {t32}
アクセストークン：{t32} ¦ 合言葉は{password} ¦ パスワード「{password}」で入れます ¦ 暗証番号：{digits4}
비밀번호는 {simple}입니다 ¦ 와이파이 비번: {password} ¦ API 키: {t32} ¦ 인증번호 {digits6} ¦ 암호는 {simple}
액세스 토큰: {t32} ¦ 비밀번호 {password} 로 로그인 ¦ пароль от вайфая: {password} ¦ Мой пароль — {simple}
код подтверждения: {digits6} ¦ ключ API: {t32} ¦ токен: {t32} ¦ пароль остался {password} ¦ секретный ключ: {t40}
{password} remains the admin password ¦ Apparently {password} is the router password ¦ {password}就是路由器密码
转账到 {iban}，谢谢 ¦ {citizen}，这是她的身份证号
my card is {cards} ¦ You'll want my card for the call-out: {cards} ¦ 退款要卡号是吧，{cards} ¦ {cards}
visa {card}, 09/29 ¦ 银行卡 {card} ¦ login for the archive: theodora / {password}. please remember it
sudo on the NAS is Lynx!u{digits4} ¦ NAS 的 root 是 Lynx!u{digits4} ¦ admin on the router: Otter%u{digits4}
my password is Yvpsk%{digits4} ¦ garmin is ruben.r / Fl4t-{simple}-W, keep that for me
""")

BENIGN = table("""
Passwords rotate every 90 days ¦ The password must be at least 12 characters ¦ Password: see 1Password item
password: ${DB_PASSWORD} ¦ postgres://${USER}:${PASS}@host/db ¦ postgres://user:password@localhost/db
password = getpass() ¦ password: "{{ vault_password }}" ¦ DB_PASSWORD=changeme ¦ api_key: <redacted>
client_secret=******** ¦ export TOKEN=xxxxxxxxxxxxxxxx ¦ sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx
export HF_HUB_ENABLE_HF_TRANSFER=1 ¦ npm_config_strict_ssl and npm_lifecycle_event are set by npm
uses: actions/pypi-publish-action-v1 ¦ Bearer tokens are validated by the gateway ¦ token count today: 128,394
token limit is 4096 ¦ The key insight is to batch the writes ¦ Primary key is (tenant_id, memory_id)
cache key is user:1234:profile ¦ public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{t32}
Uses AES-256-GCM with keys from KMS ¦ password_hash uses argon2id ¦ the token was rotated in commit {hex40}
idempotency key {uuid} ¦ Session {uuid} had 38 turns ¦ sha256:{hex64} ¦ git rev-parse HEAD -> {hex40}
pin numpy to 1.26.4 ¦ The PIN pad on floor 3 is broken ¦ Error code 1045, zip code 94107 ¦ ski pass costs $129
user: alice, role: admin ¦ What does "-----BEGIN RSA PRIVATE KEY-----" mean?
The seed phrase should be written on paper and kept in a safe place away from water and from fire
Cookie consent banner v2 ¦ see https://example.com/docs/auth/tokens#rotation ¦ 用户偏好每 90 天更换一次密码
密码长度至少 12 位，必须含大小写和数字 ¦ 密码：见 1Password 里的条目 ¦ 密码在 Vault 的 secret/prod/db 路径
密码：待定 ¦ 口令：<已脱敏> ¦ token 用量今天 128,394 ¦ 提交 {hex40} 修复了密码校验 ¦ 授权码模式走 OAuth2.0
验证码有效期 5 分钟 ¦ 验证码 60 秒后重发 ¦ 密钥存放在 KMS，别名 alias/prod-2024 ¦ 密钥算法 RSA-2048
私钥绝不能提交到仓库 ¦ 助记词要手抄在纸上 ¦ 账号 zhangsan2024 已开通 ¦ ETag: "{hex32}"
运行 `pass show prod/db` 取数据库密码 ¦ def send(password: str = "") -> Response2:
auth_token: Optional[str] = None) => Chunk2[T] ¦ the token bug is mem0#2820 ¦ 令牌问题是 mem0#2820
Step 2 is the password reset page ¦ OAuth2 is the password grant's successor ¦ 1Password is my password manager
Room 4711 is the one, and the password is on the door ¦ Version 2.4.1 is our token format
hunter is my password-cracking lab ¦ Fido2 is a password replacement ¦ 第 2 步是密码重置 ¦ 2024 年是密码学的好年份
方案 B2 是密钥管理方案 ¦ 用 OAuth2 当登录方式，不再用密码 ¦ wifi: 2.4 GHz / 5 GHz ¦ wifi / bluetooth work again
the wifi in the cabin: 2.4 GHz / unlimited ¦ 无线 二楼：802.11n / 802.11ac ¦ wifi at home: slow / unreliable
a bird identified with binoculars by 'Smith' ¦ he identified with them by and large ¦ wifi 家里：网速慢 / 经常断线
用户通过 LDAP 认证，identified with a badge by security ¦ WLAN (guest): off / disabled
la phrase secrète du film dure 2 heures ¦ Python3 remains the password tool ¦ ключ API хранится в Vault
无线：802.11ac / 802.11ax ¦ ssid: guest / no password ¦ the culprit was identified by 'Smith' in 2019
CREATE USER app IDENTIFIED BY '<password>' ¦ GB29 ABCD is the locker, DE12 3456 7890 1234 5678 90 no account
order DE89370400440532013001 shipped ¦ 订单号 110101199003077470，手机 13800138000
时间戳 202602241012331234 是任务编号 ¦ le mot de passe doit avoir 12 caractères
mot de passe oublié ? clé primaire : tenant_id ¦ la contraseña caduca cada 90 días
la clave del éxito es dormir 8 horas ¦ パスワードは8文字以上です ¦ パスワードを90日ごとに変更する
비밀번호는 12자 이상이어야 합니다 ¦ 암호화는 AES-256으로 합니다 ¦ пароль должен быть не короче 12 символов
ключ к успеху — это 2 часа сна ¦ код ошибки 1045 ¦ The password is the key is what I meant
Python3 is required for the password check ¦ iPhone15 is my work phone; the password is in 1Password ¦ B2B is the key
订单 88231，为我重置密码 ¦ 工单 20931，是关于忘记密码 ¦ order 88231, which is about a lost password
iPhone15 是我的手机，密码在 1Password ¦ 他用 Python3 当密码课的例子 ¦ The wifi: cafe-2F / free of charge
order 4111111111111111 shipped ¦ pay 4111 1111 1111 1112 to nobody ¦ the stack is nginx / k8s-cluster
login for the archive: monday / tuesday ¦ the choice is Docker / OAuth2.0
pay 1234 5678 9012 3456 to nobody ¦ la clave primaria es tenant_id ¦ el token caducó en 2024
код на Python3 лежит в репозитории ¦ код ошибки: 1045, почтовый код: 101000 ¦ パスポート番号の更新は2030年
sudo on the NAS is not needed ¦ the root of it is C++17-only code ¦ login is Anna.B77@example.com ¦ NAS 的 root 是 Anna
인증서 만료일은 2027-01-01
""")


@pytest.mark.parametrize("template", SECRET)
def test_a_secret_is_masked_and_reported(template: str) -> None:
    for _ in range(3):
        text, values = filled(template.replace("\\n", "\n"))
        result = redact(text)
        assert values[0] not in result.text
        assert result.masked
        assert "[REDACTED:" in result.text
        assert not any(values[0] in mask.preview for mask in result.masked)


@pytest.mark.parametrize("template", BENIGN)
def test_a_look_alike_stays(template: str) -> None:
    text, _ = filled(template)
    assert redact(text) == (text, ())


@pytest.mark.parametrize("template", SECRET + BENIGN)
def test_masking_twice_is_masking_once(template: str) -> None:
    once = redact(filled(template)[0]).text
    assert redact(once) == (once, ())


WORDS = st.sampled_from(
    "password is 密码 ： : = key sk- token tvly- hunter2 Kx7!abQ2 api secret PIN 4711 login "
    "admin / [REDACTED:password] "
    "[REDACTED: https:// bob : @host eyJ AKIA cookie session= 的 ， 。 . \" ' -----BEGIN".split(" ")
)


@given(st.lists(WORDS | st.text(max_size=6), max_size=16), st.sampled_from(["", " "]))
def test_any_text_is_masked_once_and_for_all(words: list[str], between: str) -> None:
    once = redact(between.join(words), ["sk-"]).text
    assert redact(once, ["sk-"]) == (once, ())


def test_the_value_behind_a_label_is_all_that_goes() -> None:
    value = password()
    assert redact(f"The NAS password is {value}, ask Tom.").text == "The NAS password is [REDACTED:password], ask Tom."
    assert redact(f"用户名/密码：deploy/{value}").text == "用户名/密码：deploy/[REDACTED:password]"


def test_a_pem_block_goes_whole_even_with_headers() -> None:
    body = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n" + encoded(96)
    kind = "RSA PRIVATE " + "KEY"
    text = f"before\n-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\nafter"
    assert redact(text).text == "before\n[REDACTED:private-key]\nafter"


def test_a_pem_block_without_its_end_loses_its_lines_only() -> None:
    text = "-----BEGIN " + "PRIVATE KEY-----\n" + encoded(48) + "\n" + encoded(48) + "\nafter that we left"
    assert redact(text).text.endswith("after that we left")
    assert redact(text).text.startswith("[REDACTED:private-key]")


def test_a_certificate_is_public() -> None:
    text = "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq" + encoded(60) + "\n-----END CERTIFICATE-----"
    assert redact(text).text == text


DER = {
    "RSA ": "308204a30201000282010100", "": "308204bd020100300d06092a864886f70d0101010500048204a7308204a3020100",
    "EC ": "30770201010420", "ENCRYPTED ": "308204fe3028060a2a864886f70d010c0103301a0414",
    "PKCS12 ": "308204fe020103308204", "OPENSSH ": b"openssh-key-v1\0\0\0\0\4none".hex(),
}  # fmt: skip


def body_of(kind: str) -> list[str]:
    data = bytes.fromhex(DER[kind])
    text = base64.b64encode(data + DICE.randbytes(100 if kind == "EC " else 700)).decode()
    return re.findall(".{1,64}", text)


def pem(kind: str, body: Sequence[str]) -> list[str]:
    return [f"-----BEGIN {kind}PRIVATE" + " KEY-----", *body, f"-----END {kind}PRIVATE KEY-----"]


DRESSES: dict[str, Callable[[list[str]], str]] = {
    "plain": "\n".join,
    "windows": "\r\n".join,
    "quoted": lambda lines: "\n".join(f"> {line}" for line in lines),
    "quoted twice": lambda lines: "\n".join(f"> > {line}" for line in lines),
    "numbered": lambda lines: "\n".join(f"{n:4}\t{line}" for n, line in enumerate(lines, 8)),
    "numbered with a colon": lambda lines: "\n".join(f"{n}: {line}" for n, line in enumerate(lines, 98)),
    "a list": lambda lines: "\n".join(f"{n}. `{line}`" for n, line in enumerate(lines, 1)),
    "a table": lambda lines: "\n".join(f"| {n} | {line} |" for n, line in enumerate(lines, 1)),
    "chat-stamped": lambda lines: "\n".join(f"[10:{n:02}] Bob: {line}" for n, line in enumerate(lines)),
    "a log": lambda lines: "\n".join(f"2026-02-24 10:31:{n:02} <bob> {line}" for n, line in enumerate(lines)),
    "聊天记录": lambda lines: "\n".join(f"张三 10:{n:02}：{line}" for n, line in enumerate(lines)),
    "微信": lambda lines: "\n".join(f"2026年2月24日 上午10:{n:02} 张三: {line}" for n, line in enumerate(lines)),
    "a diff": lambda lines: "\n".join(f"+    {line}" for line in lines),
    "a comment": lambda lines: "\n".join(f"    // {line}" for line in lines),
    "strings": lambda lines: " +\n".join(f'  "{line}\\n"' for line in lines),
    "an array": lambda lines: ",\n".join(f"    '{line}'" for line in lines),
    "one line": "\\n".join,
    "spaces": " ".join,
    "a page": "<br>\n".join,
}
"""What people, programs and chats put around each line of a key."""


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@pytest.mark.parametrize("kind", DER)
@pytest.mark.parametrize("around", [("before", "after that we left"), ("我的密钥如下", "之后我们就走了")])
def test_a_private_key_goes_in_any_dress(kind: str, dress: Callable[[list[str]], str], around: tuple[str, str]) -> None:
    body = body_of(kind)
    whole = pem(kind, body)
    tail = whole[max(2, len(body) // 2) :]
    forms = [
        whole, whole[:-1], whole[: len(body) // 2], tail, [tail[0][30:], *tail[1:]],
        *([body] if kind != "ENCRYPTED " else []),
    ]  # fmt: skip
    for lines in forms:
        before, after = around
        clean = redact(f"{before}\n\n{dress(lines)}\n\n{after}").text
        left = [line for line in body if line in clean and line in lines]
        assert [line for line in left if len(line) > 20] == []
        assert clean.startswith(before)
        assert clean.endswith(after)


def test_a_putty_key_goes_and_its_public_half_stays() -> None:
    public, private = encoded(270), encoded(200)
    lines = ["PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Comment: bob@home", "Public-Lines: 6"]
    lines += [*re.findall(".{1,64}", public), "Private-Lines: 5", *re.findall(".{1,64}", private)]
    lines += ["Private-MAC: " + pick(40, "0123456789abcdef")]
    for name, dress in DRESSES.items():
        for shown in (lines, lines[:-1]):
            clean = redact(f"before\n{dress(shown)}\nafter that we left").text
            assert [line for line in re.findall(".{30,64}", private) if line in clean] == [], name
            assert public[:40] in clean
            assert "Comment: bob@home" in clean
            assert clean.endswith("after that we left")


@pytest.mark.parametrize(
    "written",
    [
        "{}", "    client-key-data: {}", "KEY_B64={}", "data:application/x-pem-file;base64,{}",
        "密钥的 base64 是 {}，请保存", '{{"key.pem": "{}"}}', "base64 -w76:\n{76}\nthen",
    ],
)  # fmt: skip
def test_a_private_key_goes_in_base64_too(written: str) -> None:
    for kind in DER:
        text = base64.b64encode("\n".join(pem(kind, body_of(kind))).encode()).decode()
        lines = re.findall(".{1,76}", text)
        clean = redact(written.replace("{76}", "\n".join(lines)).format(text)).text
        assert [line for line in lines if len(line) > 20 and line in clean] == []
        assert "[REDACTED:private-key]" in clean


MEDIA = {
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0", "gif": b"GIF89a",
    "webp": b"RIFF\x10\x20\0\0WEBPVP8 ", "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "zip": b"PK\3\4\x14\0\0\0",
}  # fmt: skip
TRAPS = ["pin", "pw", "key", "cio", "sk", "PAT", "AKIA", "auth", "token", "pass", "code", "secret", "dapi", "MII"]


def picture(kind: str, size: int) -> str:
    """A picture in base64 in which, as by chance, stand the words and prefixes that secrets have."""
    text = base64.b64encode(MEDIA[kind] + DICE.randbytes(size)).decode()
    pieces = re.findall(".{1,120}", text[32:])
    return text[:32] + "".join(f"{piece[:90]}/{DICE.choice(TRAPS)}={piece[90:]}".replace("=", "+") for piece in pieces)


@pytest.mark.parametrize(
    "written",
    [
        "![shot](data:image/png;base64,{})", '<img alt="login page" src="data:image/png;base64,{}">',
        "background: url(data:image/png;base64,{}) no-repeat;", "截图 data:image/png;base64,{} 里是登录页",
        "The password page: {}", "密码页的截图：{}\n下一行", '{{"type": "image", "data": "{}"}}',
        "Content-Transfer-Encoding: base64\n\n{76}\n\n--boundary",
    ],
)  # fmt: skip
def test_a_picture_stays_whole(written: str) -> None:
    for kind, size in product(MEDIA, (60, 700, 5_000, 20_000)):
        data = picture(kind, size)
        text = written.replace("{76}", "\n".join(re.findall(".{1,76}", data))).format(data)
        assert redact(text) == (text, ())


def test_what_stands_beside_a_picture_and_what_a_data_url_says_is_looked_at() -> None:
    value = password()
    image = f"data:image/png;base64,{picture('png', 900)}"
    assert redact(f"![x]({image}) my password is {value}").text == f"![x]({image}) my password is [REDACTED:password]"
    said = base64.b64encode(f"my password is {value}".encode()).decode()
    assert said not in redact(f"see data:text/plain;base64,{said}").text
    assert value not in redact(f"data:text/plain,my password is {value}").text


@pytest.mark.parametrize(
    "text",
    [
        "seed phrase: " + " ".join(["witch", "collapse", "practice", "feed", "shame", "open"] * 2),
        "钱包助记词：" + " ".join(["legal", "winner", "thank", "year", "wave", "sausage"] * 2),
        "助记词：" + " ".join("天地玄黄宇宙洪荒日月盈昃"),
        'the passphrase is "correct horse battery staple"',
    ],
)
def test_words_that_open_something_are_masked(text: str) -> None:
    assert len(redact(text).masked) == 1


def test_a_preview_shows_no_password_and_only_the_head_of_a_token() -> None:
    assert redact(f"password: {password()}").masked[0].preview == "(10 characters)"
    token = "tvly-dev-" + MAKERS["t32"]()
    assert redact(token).masked[0] == ("tavily-key", "tvly… (41 characters)")


@pytest.mark.parametrize(
    ("text", "patterns", "left"),
    [
        ("use acme-12 now", ["acme-"], "use [REDACTED:pattern] now"),
        ("把 acme- 开头的都算", ["acme-"], "把 acme- 开头的都算"),
        ("xacme-12", ["acme-"], "xacme-12"),
        ("the word is xyzzy.", ["xyzzy"], "the word is [REDACTED:pattern]."),
        ("代号“凤凰”是机密", ["凤凰"], "代号“[REDACTED:pattern]”是机密"),
        ("case 12345 open", [r"/\b\d{5}\b/"], "case [REDACTED:pattern] open"),
        ("anything", ["/x*/"], "anything"),
        ("REDACTED twice", ["REDACTED"], "[REDACTED:pattern] twice"),
    ],
)
def test_configured_patterns_are_masked(text: str, patterns: list[str], left: str) -> None:
    assert redact(text, patterns).text == left


@pytest.mark.parametrize("pattern", ["", "  ", "/(/"])
def test_a_pattern_that_cannot_be_used_is_an_error_that_names_it(pattern: str) -> None:
    with pytest.raises(ConfigError, match="redaction pattern"):
        redact("text", [pattern])


def test_json_is_masked_at_any_depth_and_by_the_name_of_its_field() -> None:
    value = password()
    before: dict[str, Any] = {
        "db_password": "opensesame", "token_count": "12345678", "password": "see vault", "apiKey": "<your key>",
        "list": [{"say": f"my password is {value}"}, 1, None, True, (value[:2],)], "sk-" + MAKERS["hex32"](): 2.5,
    }  # fmt: skip
    after, masked = redact_json(before)
    assert after["db_password"] == "[REDACTED:secret]"
    assert after["token_count"] == "12345678"
    assert after["password"] == "see vault"
    assert after["apiKey"] == "<your key>"
    assert after["list"] == [{"say": "my password is [REDACTED:password]"}, 1, None, True, [value[:2]]]
    assert after["[REDACTED:api-key]"] == 2.5
    assert len(masked) == 3
    assert before["db_password"] == "opensesame"
    assert redact_json(after) == (after, ())


def test_what_is_sealed_or_a_picture_stays_whole_in_json_and_secrets_beside_it_do_not() -> None:
    key = "AKIAIOSFODNN7" + "KLMNOPQ"
    sealed = f"gAAAAAB/{key}/{'aB3+' * 20}=="
    value = {
        "encrypted_content": sealed,
        "content": [f"data:image/png;base64,{sealed}", {"data": f"{sealed[:-2]}/{'x0Y/' * 250}"}],
    }
    assert redact(sealed).text != sealed
    assert redact_json(value) == (value, ())
    told = {"signature": f"the key is {key}", "data": key, "url": f"data:text/plain,{key}", "private_key": sealed * 20}
    assert [text for text in redact_json(told).value.values() if key in text] == []


def test_a_bare_string_is_json_too() -> None:
    assert redact_json("tea") == ("tea", ())


def test_deep_json_does_not_overflow() -> None:
    value: Any = "x"
    for _ in range(5000):
        value = [value]
    redact_json(value)


HOSTILE = (
    "password ", "密码", "key=", "token=a", "?token=", "sk-", "eyJ", "eyJaaaaaaaa.", "://a:", "a@", "a", "a1B2", " ",
    "\n", "session=", "-----BEGIN " + "PRIVATE KEY-----", "AKIA", "LTAI", "mysql -p ", "sudo -u a -p", "curl -u a",
    "wifi:P:a", "login a ", "seed abc ", "助记词 ", "[REDACTED:", "MII" + "EvQIBA", "bearer a", 'passphrase "a b c ',
    "pin is ", "pw abcd ", "密码：abc1 ",
)  # fmt: skip


@pytest.mark.parametrize("seed", HOSTILE)
@pytest.mark.timeout(10)  # a hundred times what it takes: time that grows with the square of the length is past that
def test_a_hostile_line_comes_to_an_end_and_hides_no_secret_behind_it(seed: str) -> None:
    line = (seed * (65_536 // len(seed) + 1))[:65_536]
    assert "AKIAQ3EGV7XJ2LMNP5RT" not in redact(f"{line}\nAKIAQ3EGV7XJ2LMNP5RT").text


def test_recall_and_false_alarms_on_generated_notes() -> None:
    maker = DATA / "secrets" / "make.py"
    if not maker.exists():
        pytest.skip(f"needs {maker}")
    out = subprocess.run([sys.executable, str(maker)], capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    for language in ("en", "zh"):
        secret = [row for row in rows if row["lang"] == language and row["label"] == "secret"]
        benign = [row for row in rows if row["lang"] == language and row["label"] == "benign"]
        found = sum(is_masked(row["text"], row["secret"]) for row in secret)
        alarms = sum(redact(row["text"]).text != row["text"] for row in benign)
        assert found / len(secret) >= 0.97
        assert alarms / len(benign) <= 0.05


def is_masked(text: str, secret: str | None) -> bool:
    result = redact(text)
    return secret not in result.text if secret else bool(result.masked)


def test_conversations_hold_next_to_no_false_alarms_and_lose_their_pasted_secrets() -> None:
    folder = DATA / "zh-agent"
    if not folder.exists():
        pytest.skip(f"needs {folder}")
    turns = {row["id"]: row["content"] for row in rows_of(folder / "conversation.jsonl")}
    marked = json.loads((folder / "annotations.json").read_text("utf-8"))["secrets"]
    for secret in marked:
        assert secret["value"] not in redact(turns[secret["turn"]]).text
    talk = [row["content"] for path in sorted((DATA / "locomo").glob("conv-*.jsonl")) for row in rows_of(path)]
    others = [text for turn, text in turns.items() if turn not in {secret["turn"] for secret in marked}]
    alarms = sum(bool(redact(text).masked) for text in (*talk, *others))
    assert alarms / len((*talk, *others)) < 0.001


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("word", ["Todo", "fake", "FAKE", "your", "Example", "sample"])
def test_a_key_that_holds_a_placeholders_word_by_chance_is_masked(word: str) -> None:
    for prefix in ("ghp_", "glpat-", "sk-proj-"):
        key = prefix + "A8f3kQ9zLm2Xc" + word + "Nw5Rt6Yp0Gh4JsDq7Kx2"
        assert key not in redact(f"the key is {key}, keep it").text, key
    assert redact("token: ghp_YOUR_TOKEN_GOES_HERE_0000000000000").masked == ()
    assert redact("password: your-password").masked == ()


@pytest.mark.parametrize(
    "token",
    [
        "sk-" + string.ascii_lowercase + "123456",
        "sk-proj-" + string.ascii_lowercase[:10] + string.digits + string.ascii_uppercase[:10],
        "ghp_" + string.ascii_lowercase + string.digits,
        "AKIA" + string.ascii_uppercase[:16],
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
    ],
)
@pytest.mark.parametrize("around", ["my key is {}.", "密钥是{}，别外传"])
def test_a_made_up_token_of_the_right_shape_is_masked_too(around: str, token: str) -> None:
    assert token not in redact(around.format(token)).text
