"""Changes as the journal keeps them while they wait: nothing is lost."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.strategies import ENTRIES, IDS, METADATA, TEXTS, WORDS
from memorybook.formats.changes_json import parse, render
from memorybook.model import Add, Append, Archive, Change, Drop, Put, Reinforce, Remove, RemoveTurns, Supersede, Update

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXTS, "tags": WORDS, "expires": st.none() | st.dates(), "last_activated": st.dates(),
        "score": st.floats(0, 1), "pinned": st.booleans(), "metadata": METADATA,
    },
)  # fmt: skip
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(Add, entry=ENTRIES, reason=TEXTS),
    st.builds(Update, id=IDS, fields=FIELDS, reason=TEXTS),
    *(st.builds(kind, id=IDS, reason=TEXTS) for kind in (Reinforce, Archive, Remove)),
    st.builds(Supersede, id=IDS, by=IDS, reason=TEXTS),
    st.builds(Append, path=TEXTS, line=TEXTS, section=st.none() | TEXTS, reason=TEXTS),
    st.builds(Put, path=TEXTS, text=TEXTS, reason=TEXTS, made_from=st.none() | TEXTS),
    st.builds(Drop, path=TEXTS, line=st.none() | TEXTS, reason=TEXTS),
    st.builds(RemoveTurns, session=TEXTS, turn_ids=st.none() | WORDS, reason=TEXTS),
)


@given(CHANGES)
def test_what_is_written_is_read(change: Change) -> None:
    assert parse(json.loads(json.dumps(render(change)))) == change


def test_what_is_as_always_is_left_out() -> None:
    assert render(Archive(id="a1")) == {"do": "archive", "id": "a1"}
    assert render(Update(id="a1", fields={"expires": date(2026, 1, 2), "tags": ("a",)})) == {
        "do": "update",
        "id": "a1",
        "fields": {"expires": "2026-01-02", "tags": ["a"]},
    }


def test_names_of_others_are_left_alone() -> None:
    assert parse({"do": "archive", "id": "a1", "seen": "xyz"}) == Archive(id="a1")


@pytest.mark.parametrize("shown", [{}, {"do": "fly"}, {"do": "archive"}, {"do": "update", "id": "a", "fields": 3}])
def test_what_is_no_change_is_refused(shown: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no change"):
        parse(shown)
