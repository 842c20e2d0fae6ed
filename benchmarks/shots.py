"""Screenshots of every view of the page, of a book that two months of talk have filled, in both languages and themes.

Usage: python benchmarks/shots.py FOLDER [--width 1120]

Writes FOLDER/VIEW-LANG-THEME.png. The talk below is taken in by rules, as of its days; nothing else is made up.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks.page import NOW, opened, served
from memorybook.config.settings import Config

TALKS: dict[str, tuple[tuple[int, str, tuple[str, ...]], ...]] = {
    "en": (
        (58, "Moving in", (
            "I'm Maya, I run a bakery in Leith with my brother Jonas.",
            "Remember that the flour order goes out every Tuesday before noon.",
            "I prefer short answers, and prices in pounds.",
            "We decided to buy the deck oven from Salva, because the other one needs three-phase power.",
        )),
        (44, "Staff", (
            "Remember that Ines is allergic to hazelnuts.",
            "Jonas does the books, so send invoices to him.",
            "Remember that our rent is 1,450 pounds, due on the first.",
        )),
        (30, "The oven", (
            "The oven tripped the fuse twice; a slower start fixed it.",
            "Correction: remember that the flour order goes out every Wednesday before noon, not Tuesday.",
            "I never work on Monday afternoons, I pick up my daughter.",
        )),
        (12, "Winter plans", (
            "We decided to close from 24 December to 2 January.",
            "Remember that our rent is 1,520 pounds now, due on the first.",
            "TODO: write to the council about the tables outside before 5 January.",
        )),
        (2, "Christmas orders", (
            "Remember that stollen orders close on 12 December.",
            "Please forget what I said about Ines and hazelnuts, she left.",
            "I prefer e-mail to phone calls for orders.",
        )),
    ),
    "zh": (
        (58, "开店", (
            "我叫陈禾，和弟弟一起在苏州开面包店。",
            "记住：面粉每周二中午前下单。",
            "我喜欢简短的回答，价格用人民币。",
            "我们决定买平板烤箱，因为另一台要三相电。",
        )),
        (44, "员工", (
            "记住：小林对榛子过敏。",
            "我弟弟管账，发票都发给他。",
            "记住：店铺月租 6800 元，每月一号交。",
        )),
        (30, "烤箱", (
            "烤箱跳闸两次，慢启动之后就好了。",
            "更正：记住面粉改成每周三中午前下单，不是周二。",
            "我周一下午从不上班，要接女儿。",
        )),
        (12, "冬天的安排", (
            "我们决定春节从除夕休到初六。",
            "记住：店铺月租现在是 7200 元，每月一号交。",
            "待办：一月五号之前给街道写信，申请门口摆桌子。",
        )),
        (2, "节前订单", (
            "记住：年糕订单十二月十二号截止。",
            "忘掉小林对榛子过敏那件事，她离职了。",
            "接订单我喜欢用微信，不喜欢打电话。",
        )),
    ),
}  # fmt: skip
"""By language: days ago, the name of a conversation, and what the user said in it."""

ASKED = {"en": "When does the flour order go out?", "zh": "面粉什么时候下单？"}
BOOKS = {"en": ("books", "Jonas and an accountant do the books."), "zh": ("管账", "用户的弟弟和会计一起管账。")}
"""By language: a word of an entry, and what an agent would make of it."""

TARGET = {"en": "flour", "zh": "面粉"}


def story(root: Path, lang: str) -> Path:
    """Make the book of a language."""
    for days, name, lines in TALKS[lang]:
        when = NOW - timedelta(days=days)
        times = [(when + timedelta(minutes=2 * place)).isoformat() for place in range(len(lines))]
        messages = [
            {"role": "user", "content": line, "timestamp": time} for line, time in zip(lines, times, strict=True)
        ]
        now = when + timedelta(hours=1)
        with memorybook.open(root, config=Config(), door="cli", clock=lambda now=now: now, missing_ok=True) as memory:  # type: ignore[misc]
            memory.process_session_end(messages, name)
            memory.tidy()
            memory.recall(ASKED[lang])
    with memorybook.open(root, config=Config(), door="cli") as memory:
        memory.pin(next(known.entry.id for known in memory.entries().entries if TARGET[lang] in known.entry.text))
        books = next(known.entry.id for known in memory.entries().entries if BOOKS[lang][0] in known.entry.text)
        agent = memory.seen_by(door="mcp", actor="agent")  # whose edits of a person's words wait for them
        agent.update(books, text=BOOKS[lang][1])
        memory.tidy()
        memory.sync()
    return root


def places(root: Path, lang: str) -> dict[str, str]:
    """Return the address of each view, with something to see."""
    with memorybook.open(root, config=Config(), door="cli") as memory:
        held = [known.entry for known in memory.entries().entries if TARGET[lang] in known.entry.text]
        session = memory.sessions(limit=3).sessions[-1].uuid
    return {
        "now": f"/?q={ASKED[lang]}",
        "explain": f"/search?q={ASKED[lang]}",
        "memories": "/memories",
        "why": f"/memories/{held[0].id}",
        "conversations": "/conversations",
        "conversation": f"/conversations/{session}",
        "fading": "/fading",
        "worth": "/worth",
        "river": "/river",
        "history": "/history",
        "review": "/review",
        "forget": f"/forget?query={TARGET[lang]}",
        "health": "/health",
    }


def shoot(folder: Path, width: int) -> None:
    """Write the screenshots."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as kept:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for lang in TALKS:
            root = story(Path(kept) / lang / "bakery", lang)
            with served(root, "sqlite_hybrid") as (url, logins):
                for theme in ("light", "dark"):
                    context: Any = opened(browser, url, logins, viewport={"width": width, "height": 860})
                    chosen = [{"name": "lang", "value": lang}, {"name": "theme", "value": theme}]
                    context.add_cookies([{**each, "url": url} for each in chosen])
                    for name, place in places(root, lang).items():
                        page = context.new_page()
                        page.goto(url + place)
                        page.screenshot(path=folder / f"{name}-{lang}-{theme}.png")
                        page.close()
                    context.close()
        browser.close()


def main() -> None:
    """Make the books, and shoot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=1120)
    options = parser.parse_args()
    shoot(options.folder, options.width)


if __name__ == "__main__":
    main()
