"""Formats of messengers: exported chats of WhatsApp, Telegram, WeChat and Signal.

A chat goes on for years: each day of it is a session. What is no one's words is left out and counted: media alone,
calls, what was deleted, and what the app itself says.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from html.parser import HTMLParser
from typing import Any

from memorybook.exchange.importers.records import as_object, is_telegram_chat, objects, several
from memorybook.formats.messages_json import Record, Said, Warn, clean, dated, first, word
from memorybook.formats.timestamps import Order, parse_time

Lines = Iterable[tuple[int, str]]
"""Of a text file, with their numbers."""

ME = "Me"
"""Who exported the chat, where the file does not name them."""


# --- chats into days -----------------------------------------------------------------------------


def by_day(said: Iterable[Said], *, messenger: str, chat: str, timezone: tzinfo, warn: Warn) -> Iterator[Said]:
    """Yield the messages of each chat in its days: a day is a session, and the same one in every export of the chat.

    Args:
        said: The messages; `scope` is the name of a chat and `session` its id, "" where the file has none.
        messenger: Name of its format.
        chat: What the file is called; "" if that tells no name.
        timezone: In which days are counted.
        warn: Is told which times are unsure.
    """
    chats: dict[tuple[str, str], list[Said]] = {}
    for one in dated(said, timezone=timezone, warn=warn, assumed=_likely_order):
        chats.setdefault((one.scope or chat, one.session if one.scope or not chat else ""), []).append(one)
    for (name, id), spoken in chats.items():
        others = dict.fromkeys(one.speaker for one in spoken if one.speaker not in ("", ME, "我"))
        name = name or ", ".join(list(others)[:2]) or ME
        days: dict[str, list[Said]] = {}
        day = ""
        for one in spoken:
            local = one.time and one.time.astimezone(timezone)
            day = local.date().isoformat() if local else day
            spelled = local.replace(tzinfo=None).isoformat() if local and not one.id else one.stamp
            days.setdefault(day, []).append(one._replace(stamp=spelled, speaker=one.speaker or name))
        if len(days) > 1 and "" in days:  # what stands before the first time
            later = next(day for day in days if day)
            days[later] = days.pop("") + days[later]
        for day, those in sorted(days.items()):
            session = f"{name} {day}".strip()
            yield from (one._replace(scope=f"{messenger} {id or name}", session=session, lasting=True) for one in those)


def _likely_order(stamps: Iterable[str]) -> Order:
    """Return the order of an app whose times nothing decides: month first in the United States, as they look there."""
    looks = list(stamps)
    padded = any(re.search(r"(?<!\d)0\d[/.-]", stamp) for stamp in looks)
    return "mdy" if not padded and any(re.search(r"[AP]M", stamp) for stamp in looks) else "dmy"


_NAMELESS = r"(?i)_?chat|index|data|main|result|-|messages?\d*|conversations?"


def chat_name(path: str, origin: str) -> str:
    """Return the name of the chat that a file is called by, or its folder; "" if neither tells one."""
    stem = os.path.splitext(os.path.basename(path))[0]
    if re.fullmatch(_NAMELESS, stem):
        holder = os.path.splitext(os.path.basename(origin))[0] if origin else os.path.basename(os.path.dirname(path))
        known = "whatsapp" in holder.lower() if origin or stem == "_chat" else True
        stem = holder if known else ""
    stem = re.sub(r"(?i)^whatsapp[- ]?chat\w*\s*(?:with|mit|[-–])\s*|_utf8$|\s*\(\d+\)$", "", stem)
    return re.sub(r"^与\s*|\s*的\s*WhatsApp\s*(?:聊天|對話|对话)\w*$", "", stem).strip()


def _report(left: Counter[str], warn: Warn) -> None:
    for what, count in sorted(left.items()):
        warn(f"{several(count, 'message')} {what}, left out")


_MEDIA = "of media, calls or deleted words alone"
_SYSTEM = "of the app itself"


# --- lines: WhatsApp, Signal ---------------------------------------------------------------------
# WhatsApp's "Export chat" writes `[03.01.24, 09:15:02] Ann: …` on iOS and `03/01/2024, 9:15 pm - Ann: …` on Android, in
# the phone's spelling of times; iOS puts U+200E before what the app says. signal-export writes Markdown of such lines.
# https://faq.whatsapp.com/1180414079177245, https://github.com/carderne/signal-export

_MARKS = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_STAMP = (
    r"\d{1,4}[./年년-]\s?\d{1,2}[./月월-]\s?\d{1,4}[.日일]?,?[^\]\n\d]{0,12}?\s?\d{1,2}[:.]\d\d(?:[:.]\d\d)?"
    r"(?:\s?[^\W\d_][^\d\]\n:-]{0,8})?"
)
_LINE = rf"[{_MARKS}]*(?:\[({_STAMP})\]|({_STAMP})\s[-–])\s(.*)"
_SIGNAL_LINE = r"\[\d{4}-\d\d-\d\d,? \d\d:\d\d(?::\d\d)?\] "
_MESSAGE = r"(?:message|nachricht|mensaje|messaggio|mensagem|сообщени[ея]|消息|訊息|メッセージ|메시지)"
_GONE = (
    r"(?:deleted|recalled|gelöscht|zurückgerufen|elimin(?:ó|ad[oa]|aste|ato)|supprimé|apag(?:ada|ou)|excluída"
    r"|удал(?:ено|или)|删除|刪除|撤回|削除|取り消|삭제|회수)"
)
_DELETED = (
    rf"(?i:(?=.*{_MESSAGE})(?=.*{_GONE})"
    r"\W?\w{1,20}(?:[^\w,，:：;；?？]{1,3}\w{1,20}){0,7}[^\w?？]{0,2})"
)
"""A line of few words in which some message is deleted, in any language that the apps speak here."""
_INSERTED = (
    r"\u200e?<[^<>\n:：]{2,30}[:：] ?[^<>\n]+\.\w{2,5}>"  # <attached: 00000012-PHOTO.jpg>
    rf"|\u200e<[^<>\n]+>|\s<(?i:[^<>\n]{{0,30}}{_MESSAGE}[^<>\n]{{0,20}})>\Z"  # <This message was edited>
    r"|(?m:^(?:\u200e\S[^\n]*|[A-Z]{3}-\d{8}-WA\d{4})\.\w{2,5} \([^()\n]+\)$)"
    r"|(?m:^\S[^\n]*\.\w{2,5} \((?:file attached|Datei angehängt|文件附件|檔案附件|[^()\n]*附[^()\n]*)\)$)"
    r"|!?\[[^\[\]\n]{0,300}\]\(\.{1,2}/[^)\n]{0,300}\)"  # files, reactions and stickers of signal-export
    r"|\n\(- .* -\)|(?m:^\(\( .* \)\)$)"
    r"|(?m:\A\s*(?:^> ?[^\n]*\n+)+)"  # what is answered to
)
_SAID_BY_APP = (
    rf"{_DELETED}|(?i:<[^<>\n]*(?: |[^\x00-\x7f])[^<>\n]*>|null"
    r"|(?:image|video|audio|sticker|gif|document|contact card|video note) omitted"
    r"|(?:bild|video|audio|sticker|gif|dokument|kontaktkarte|videonachricht) weggelassen"
    r"|(?:图片|图像|视频|音频|贴图|动态图|GIF|文档|名片|联系人卡片)\s?(?:已)?(?:忽略|省略|略去)"
    r"|(?:(?:incoming|outgoing|missed) )+(?:voice |video )?call(?: \([^)]*\))?)"
)


def is_whatsapp(head: str) -> bool:
    """Return whether a text begins as a chat of WhatsApp."""
    return re.match(rf"\s*{_LINE}", head) is not None


def is_signal_text(head: str) -> bool:
    """Return whether a text begins as a chat that signal-export wrote."""
    return re.match(rf"\s*{_SIGNAL_LINE}[^\n:]+: ", head) is not None and "\u200e" not in head


def read_lines(lines: Lines, *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of a chat; a line that does not begin with a time goes on with the one before."""
    left = Counter[str]()
    for number, stamp, opening, rest in _blocks(lines, lambda number, line: _parts(re.fullmatch(_LINE, line))):
        who = re.match(r"([^:\"“”„«»]{1,80}): ?", opening)
        if who is None:
            left[_SYSTEM] += 1
            continue
        text = re.sub(_INSERTED, "", "\n".join([opening[who.end() :], *rest])).strip()
        if not text or text.startswith("\u200e") or re.fullmatch(_SAID_BY_APP, _unmarked(text)):
            left[_MEDIA] += 1
        else:
            speaker = _unmarked(who[1]).lstrip("~").strip()
            time = parse_time(stamp, timezone)
            yield Said(text=_unmarked(clean(text)), speaker=speaker, time=time, stamp=stamp, line=number)
    _report(left, warn)


def _parts(found: re.Match[str] | None) -> tuple[str, str] | None:
    """Return the time and the rest of a line, whichever of two groups has the time."""
    return found and (found[1] or found[2], found[3])


def _blocks(
    lines: Lines, parted: Callable[[int, str], tuple[str, str] | None]
) -> Iterator[tuple[int, str, str, list[str]]]:
    """Yield the number, time, rest and further lines of each message; `parted` finds the line that one begins with."""
    block: tuple[int, str, str, list[str]] | None = None
    for number, raw in lines:
        line = raw.rstrip("\r\n").removeprefix("\ufeff")
        if begun := parted(number, line):
            if block:
                yield block
            block = (number, *begun, [])
        elif block:
            block[3].append(line)
    if block:
        yield block


def _unmarked(text: str) -> str:
    return re.sub(f"[{_MARKS}]", "", text).strip()


# --- WeChat --------------------------------------------------------------------------------------
# WeChatMsg (留痕, MemoTrace) writes text, a line of time and name above each message, and CSV, a row for each message;
# chatlog writes text with the name first.
# https://github.com/LC044/WeChatMsg, https://github.com/sjzar/chatlog

_HEADER = rf"(?:({_STAMP})\s+([^\s#*>|-][^\n]{{0,60}})|([^\s#*>|-][^\n:]{{0,80}}?)\s+({_STAMP}))\s*"
_WECHAT_MEDIA = r"!?\[[^\]\n]*\](?:\([^)\n]*\))?|<\?xml.*|<msg>.*"
_WECHAT_SYSTEM = (
    r"[^\n]{0,60}(?:拍了拍[^\n]{1,40}|加入了?群聊|移出了?群聊|修改群名为[^\n]*|现在可以开始聊天了。?|以上是打招呼的内容"
    r"|红包，请在手机上查看| tickled [^\n]{1,40}| to the group chat\.?| Start chatting!?)"
    rf"|{_DELETED}"
)


def is_wechat(head: str) -> bool:
    """Return whether a text begins with a line of time and name, and what was said under it."""
    found = re.match(rf"\s*{_HEADER}\n(?!\d{{4}}-)[^\n]*\S", head.lstrip("\ufeff"))
    return found is not None and not re.search(r"\b(?:INFO|DEBUG|WARN(?:ING)?|ERROR|TRACE)\b", found[0])


def is_wechat_csv(head: str) -> bool:
    """Return whether a text begins with the columns of such a table."""
    columns = set(head.lstrip("\ufeff").split("\n", 1)[0].strip().replace('"', "").split(","))
    return {"StrContent", "StrTime", "IsSender"} <= columns or {"发送人", "时间", "内容"} <= columns


def read_wechat(lines: Lines, *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of a chat as text."""
    left = Counter[str]()
    written = [(number, raw.rstrip("\r\n").removeprefix("\ufeff")) for number, raw in lines]
    above = ["", *(line.strip() for _, line in written)]
    headed = [bool(above[place]) for place, (_, line) in enumerate(written) if re.fullmatch(_HEADER, line)]
    spaced = 2 * sum(headed) < len(headed)  # else a line of time and name begins a message wherever it stands

    def parted(number: int, line: str) -> tuple[str, str] | None:
        found = re.fullmatch(_HEADER, line) if not (spaced and above[number - 1]) else None
        return found and ((found[1], found[2]) if found[1] else (found[4], found[3]))

    for number, stamp, name, rest in _blocks(written, parted):
        own = "(我)" in name
        speaker = re.sub(r"\s*(?:\[[^\]]*\]|\([\w@.-]+\))\s*", "", name)
        text = re.sub(r"\A(?:> ?[^\n]*\n)+", "", "\n".join(rest).strip())
        yield from _wechat(text, "我" if own else speaker, stamp, number, timezone, left)
    _report(left, warn)


def read_wechat_csv(lines: Lines, *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of a table; a chat by `TalkerId`."""
    left = Counter[str]()
    rows = csv.DictReader(line.removeprefix("\ufeff").replace("\0", "") for _, line in lines)
    for row in _rows(rows, warn):
        fields = {key: (value or "").strip() for key, value in row.items() if isinstance(key, str) and value}
        own = fields.get("IsSender") == "1"
        name = first(fields, "发送人", "Remark", "备注", "NickName", "昵称", "Sender") or ""
        kind = first(fields, "Type", "类型") or "1"
        text = first(fields, "StrContent", "内容") or ""
        if kind == "10000" or kind.startswith("系统"):
            left[_SYSTEM] += 1
        elif kind not in ("1", "49", "244813135921") and not kind.startswith(("文本", "引用")):
            left[_MEDIA] += 1
        else:
            stamp = first(fields, "StrTime", "时间", "CreateTime") or ""
            found = _wechat(text, "我" if own else name, stamp, rows.line_num, timezone, left)
            yield from (one._replace(session=fields.get("TalkerId", "")) for one in found)
    _report(left, warn)


def _rows(rows: csv.DictReader[str], warn: Warn) -> Iterator[Mapping[Any, Any]]:
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            warn(f"line {rows.line_num + 1}: {error}, skipped")


def _wechat(text: str, speaker: str, stamp: str, number: int, timezone: tzinfo, left: Counter[str]) -> Iterator[Said]:
    if speaker.startswith("系统消息") or re.fullmatch(_WECHAT_SYSTEM, text):
        left[_SYSTEM] += 1
    elif not text or re.fullmatch(_WECHAT_MEDIA, text, re.DOTALL):
        left[_MEDIA] += 1
    else:
        time = parse_time(stamp, timezone)
        yield Said(text=clean(text), speaker=speaker, time=time, stamp=stamp, line=number)


# --- Telegram ------------------------------------------------------------------------------------
# Telegram Desktop's "Export chat history" and "Export Telegram data": `result.json`, one chat or all under `chats`, or
# pages `messages.html`, `messages2.html`. https://telegram.org/blog/export-and-more


def is_telegram(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a chat of Telegram, or all of them."""
    return is_telegram_chat(fields) or any(isinstance(as_object(fields.get(name)).get("list"), list) for name in _CHATS)


_CHATS = ("chats", "left_chats")


def read_telegram(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of each chat; what was forwarded, as its author's."""
    left = Counter[str]()
    for record in records:
        lists = [objects(as_object(record.fields.get(name)).get("list")) for name in _CHATS]
        for chat in [record.fields] if is_telegram_chat(record.fields) else [one for each in lists for one in each]:
            name, id = word(chat.get("name")), word(chat.get("id"))
            for message in objects(chat.get("messages")):
                said = _telegram(message, record.line, timezone, left)
                if said is not None:
                    yield said._replace(scope=name or word(chat.get("type")).replace("_", " "), session=id)
    _report(left, warn)


def _telegram(message: Mapping[str, Any], line: int, timezone: tzinfo, left: Counter[str]) -> Said | None:
    parts = message.get("text")
    pieces = [first(part, "text") if isinstance(part, dict) else part for part in _list(parts)]
    text = clean("".join(piece for piece in pieces if isinstance(piece, str))).strip()
    if message.get("type") != "message" or not text:
        left[_MEDIA if message.get("type") == "message" else _SYSTEM] += 1
        return None
    sender = word(first(message, "from", "from_id"))
    author, answered = word(message.get("forwarded_from")), word(message.get("reply_to_message_id"))
    stamp = first(message, "date_unixtime", "date")
    return Said(
        text=text,
        speaker=author or sender,
        time=parse_time(stamp, timezone),
        stamp=word(stamp),
        id=word(message.get("id")),
        metadata=_found(forwarded_by=sender if author else "", reply_to=answered),
        line=line,
    )


def is_telegram_html(head: str) -> bool:
    """Return whether a text begins as a page of Telegram's export."""
    return "<title>Exported Data</title>" in re.sub(r">\s+|\s+<", lambda blank: blank[0].strip(), head)


def read_telegram_html(lines: Lines, *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of a page."""
    left = Counter[str]()
    page = _TelegramPage()
    for _, line in lines:
        page.feed(line)
    page.close()
    sender = author = ""
    for fields in page.messages:
        told = {name: re.sub(r"[ \t]*\n[ \t]*", "\n", clean(text)).strip() for name, text in fields.items()}
        sender = told.get("from_name") or sender
        author = told.get("forwarded from_name", "") or (author if "forwarded text" in told else "")
        message = {
            "type": told["type"],
            "id": told["id"],
            "date": told.get("date"),
            "from": sender,
            "forwarded_from": author,
            "text": told.get("forwarded text") or told.get("text"),
            "reply_to_message_id": told.get("reply_to"),
        }
        said = _telegram(message, 0, timezone, left)
        if said is not None:
            yield said._replace(scope=" ".join(page.title.split()))
    _report(left, warn)


class _TelegramPage(HTMLParser):
    """Collects the texts of a page by the class of the `div` that they stand in.

    Attributes:
        title: What the chat is called.
        messages: Of each its type, id, date and texts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.messages: list[dict[str, str]] = []
        self._open: list[str] = []
        self._aside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`."""
        given = {name: value or "" for name, value in attrs}
        classes = given.get("class", "").split()
        if tag == "br":
            self.handle_data("\n")
        elif (
            tag == "a"
            and self.messages
            and "reply_to" in self._open
            and (found := re.search(r"message(\d+)", given.get("href", "")))
        ):
            self.messages[-1]["reply_to"] = found[1]
        elif tag == "span" and (self._aside or "details" in classes):  # the date behind a forwarded name
            self._aside += 1
        elif tag == "div":
            self._open.append(next((name for name in _KEPT if name in classes), ""))
            if "message" in classes:
                kind = "service" if "service" in classes else "message"
                self.messages.append({"type": kind, "id": given.get("id", "").removeprefix("message")})
            elif "date" in classes and self.messages:
                self.messages[-1].setdefault("date", given.get("title", ""))

    def handle_endtag(self, tag: str) -> None:
        """See `HTMLParser`."""
        if tag == "div" and self._open:
            self._open.pop()
        elif tag == "span" and self._aside:
            self._aside -= 1

    def handle_data(self, data: str) -> None:
        """See `HTMLParser`."""
        here = self._open[-1] if self._open else ""
        if here not in ("text", "from_name") or self._aside:
            return
        if "page_header" in self._open:
            self.title += data
        elif self.messages:
            name = f"forwarded {here}" if "forwarded" in self._open else here
            self.messages[-1][name] = self.messages[-1].get(name, "") + data


_KEPT = ("page_header", "forwarded", "reply_to", "from_name", "text")


# --- Signal --------------------------------------------------------------------------------------
# Three programs write JSON Lines: signal-cli what it receives, an `envelope` each; signal-export a `data.json` beside
# the text; Signal Desktop's export the frames of its backup, `main.jsonl`. sigtop writes an array of its rows.
# https://github.com/AsamK/signal-cli, https://github.com/signalapp/Signal-Desktop (protos/Backups.proto),
# https://github.com/tbvdm/sigtop


def is_signal(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a message of Signal, or a frame of its backup."""
    return (
        isinstance(fields.get("envelope"), dict)
        or "backupTimeMs" in fields
        or isinstance(fields.get("chatItem"), dict)
        or ({"sender", "body", "date"} <= fields.keys() and not {"quote", "reactions"}.isdisjoint(fields))
        or {"conversationId", "sent_at"} <= fields.keys()
    )


def read_signal(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of each chat."""
    left = Counter[str]()
    names: dict[str, str] = {}
    read: list[Said] = []
    for record in records:
        fields = record.fields
        frame = as_object(fields.get("recipient")), as_object(fields.get("chat")), as_object(fields.get("chatItem"))
        if isinstance(fields.get("envelope"), dict):
            chat, sender, message, stamp = _enveloped(fields["envelope"], names)
            text, id = message.get("message"), ""
            if not message:
                continue  # receipts, typing
        elif any(frame):
            recipient, opened, message = frame
            names |= {f"recipient {word(recipient.get('id'))}": _recipient(recipient)} if recipient else {}
            names |= (
                {f"chat {word(opened.get('id'))}": f"recipient {word(opened.get('recipientId'))}"} if opened else {}
            )
            if not message:
                continue
            chat, sender = f"chat {word(message.get('chatId'))}", f"recipient {word(message.get('authorId'))}"
            sender = ME if "outgoing" in message else sender
            text = as_object(as_object(message.get("standardMessage")).get("text")).get("body")
            stamp, id = message.get("dateSent"), ""
        elif is_signal(fields) and "backupTimeMs" not in fields:
            chat, message = "", fields
            sender = word(first(fields, "sender", "sourceName", "source", "sourceServiceId", "sourceUuid"))
            sender = ME if fields.get("type") == "outgoing" else sender
            text, stamp = fields.get("body"), first(fields, "sent_at", "date", "timestamp")
            id = word(fields.get("id"))
        else:
            continue
        text = clean(text).strip() if isinstance(text, str) else ""
        if text and not re.fullmatch(_SAID_BY_APP, text):
            time = parse_time(stamp, timezone)
            read.append(
                Said(text=text, speaker=sender, time=time, stamp=word(stamp), scope=chat, id=id, line=record.line)
            )
        else:
            left[_SYSTEM if "updateMessage" in message else _MEDIA] += 1
    for said in read:
        speaker = names.get(said.speaker, said.speaker)
        scope = names.get(said.scope, said.scope)
        yield said._replace(speaker=speaker, scope=names.get(scope, scope), session=said.scope)
    _report(left, warn)


def _enveloped(envelope: Mapping[str, Any], names: dict[str, str]) -> tuple[str, str, Mapping[str, Any], Any]:
    """Return chat, sender, message and time of what signal-cli received, or of what was sent from another device."""
    sender = word(first(envelope, "sourceNumber", "sourceUuid", "source"))
    if name := word(envelope.get("sourceName")):
        names.setdefault(sender, name)
    sent = as_object(as_object(envelope.get("syncMessage")).get("sentMessage"))
    edited = as_object(first(envelope, "editMessage"))
    message = sent or as_object(envelope.get("dataMessage")) or as_object(edited.get("dataMessage"))
    group = as_object(message.get("groupInfo"))
    other = word(first(sent, "destinationNumber", "destinationUuid", "destination")) if sent else sender
    chat = word(group.get("groupId")) or other
    if name := word(group.get("groupName")):
        names.setdefault(chat, name)
    return chat, ME if sent else sender, message, first(message, "timestamp") or envelope.get("timestamp")


def _recipient(recipient: Mapping[str, Any]) -> str:
    """Return the name of a person or a group."""
    if "self" in recipient:
        return ME
    contact = as_object(recipient.get("contact"))
    group = as_object(as_object(as_object(recipient.get("group")).get("snapshot")).get("title"))
    named = as_object(contact.get("nickname"))
    for given, family in (
        (named.get("given"), named.get("family")),
        (contact.get("systemGivenName"), contact.get("systemFamilyName")),
        (contact.get("profileGivenName"), contact.get("profileFamilyName")),
        (group.get("title"), None),
        (contact.get("e164"), None),
    ):
        if name := " ".join(filter(None, (word(given), word(family)))):
            return name
    return word(recipient.get("id"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _found(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}
