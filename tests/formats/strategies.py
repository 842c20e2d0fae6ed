"""Entries, notes and texts of any kind, for the properties of the formats."""

from __future__ import annotations

from datetime import UTC, date, datetime

from hypothesis import strategies as st

from memorybook.model import CATEGORIES, TRUST_ORDER, Entry

HOSTILE = st.sampled_from(
    [
        "###", "### [a1b2c3] fact | 0.50 | 2026-01-01 | 1", "## Active Memories", "## 活跃记忆", "# x", "##", "#",
        "<!--", "-->", "<!-- score: 0.5; scored: 2026-01-01 -->", ";", ",", "|", "[", "]", "&", "&#x23;", "&#x;", "\\",
        "```", "~~~", "```python", "- ", "\n", "\r", "\r\n", "\x00", "\ufeff", "\ud800", "\udc80", "\u2028", "\x85",
        " ", "\t",
        "<<<<<<< HEAD", "=======", ">>>>>>> x", "---", "喜欢", "word", "\u3000", "a: b", "pinned",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(st.characters(), max_size=30),
    st.lists(st.one_of(HOSTILE, st.just("\n")), max_size=14).map("".join),
    st.lists(HOSTILE, max_size=8).map("\n".join),
)
STATEMENTS = TEXTS.filter(lambda text: bool(text.strip()))
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
WORDS = st.lists(TEXTS, max_size=3).map(tuple)
IDS = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
KEYS = st.one_of(TEXTS, st.sampled_from(["tags", "expires", "pinned", "score", "session", "archived", "colour"]))
VALUES = st.one_of(TEXTS, st.sampled_from(["2026-01-01", "soon", "true", "0.5", "user"]))
METADATA = st.dictionaries(
    TEXTS, st.recursive(st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.lists(inner, max_size=2)),
    max_size=2,
)  # fmt: skip


def maybe(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    return st.none() | strategy


ENTRIES = st.builds(
    Entry, id=IDS, text=STATEMENTS, category=st.sampled_from(CATEGORIES), score=st.floats(0, 1), scored=DAYS,
    last_activated=DAYS, hits=st.integers(0, 10**20), archived=st.booleans(), created=st.none() | MOMENTS,
    session=maybe(TEXTS), source=maybe(TEXTS), tags=WORDS, entities=WORDS, links=WORDS, group=maybe(TEXTS),
    expires=st.none() | DAYS, pinned=st.booleans(), trust=st.none() | st.sampled_from(TRUST_ORDER),
    superseded_by=maybe(TEXTS), contradicts=WORDS, metadata=METADATA,
    unknown=st.lists(st.tuples(KEYS, VALUES), max_size=3).map(tuple),
)  # fmt: skip

DOCUMENTS = st.one_of(
    TEXTS,
    st.lists(
        st.one_of(
            HOSTILE,
            STATEMENTS,
            st.sampled_from(
                [
                    "## Active Memories", "## Archived Memories", "# Agent Memory", "<!-- Last updated: never -->",
                    "<!-- Total entries: 3 -->", "### [q1] todo | high | yesterday", "### preference | 0.8",
                    "### [q1] fact | 0.18 | 2026-01-10 | 2", "- an item", "  more", "", "# Archive 2026-02",
                    "## Preferences",
                    "<!-- score: 0.9; scored: 2026-01-01; archived -->", "text\r", "### Free title",
                ]
            ),
        ),
        max_size=16,
    ).map("\n".join),
)  # fmt: skip
