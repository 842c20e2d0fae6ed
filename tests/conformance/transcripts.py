"""What every implementation of `Transcripts` does. Subclass, and give a fixture `transcripts`: an empty store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.formats.document import ChatSummary, SummaryEmbedding, SummaryUpdate
from memorybook.model import Role, Session, Turn
from memorybook.protocols import Transcripts

START = datetime(2026, 2, 24, 10, 0, tzinfo=UTC)
ANYTHING = "e\u0301 喜欢 \x00 \ud800 \r\n \ufeff '; DROP TABLE turns; -- \U0001f600"


def session(uuid: str = "s1", **fields: str) -> Session:
    """An open session."""
    return Session(uuid=uuid, **fields)  # type: ignore[arg-type]


def turn(turn_id: str, role: Role = "user", *, of: str = "s1", text: str = "", minute: int | None = None) -> Turn:
    """A turn; its time is so many minutes after START."""
    time = None if minute is None else START + timedelta(minutes=minute)
    return Turn(id=turn_id, session=of, role=role, text=text or f"text of {turn_id}", time=time)


def ids(turns: object) -> list[str]:
    """Ids of turns in order."""
    return [one.id for one in turns]  # type: ignore[attr-defined]


def changed(transcripts: Transcripts, after: int) -> list[str]:
    """Ids of the turns that changed since."""
    return [one.id for _, one in transcripts.changes(after).turns]


class TranscriptsConformance:
    """The contract of `Transcripts`, one behaviour a test."""

    def test_an_empty_store_answers_everything(self, transcripts: Transcripts) -> None:
        assert transcripts.revision() == 0
        assert list(transcripts.sessions()) == []
        assert list(transcripts.turns("s1")) == []
        assert list(transcripts.find("t1")) == []
        assert list(transcripts.going_on("", "", "")) == []
        assert not transcripts.shared(["t1"])
        assert list(transcripts.short_names([("s1", "t1")])) == ["t1"]
        assert list(transcripts.beginning_with("t1")) == []
        assert transcripts.remove("s1") == 0
        assert dict(transcripts.counts()) == {"sessions": 0, "turns": 0}
        assert transcripts.changes(0).revision == 0
        assert list(transcripts.changes(0).turns) == []
        assert list(transcripts.changes(0).removed) == []

    def test_an_empty_store_has_no_session_to_name_or_update(self, transcripts: Transcripts) -> None:
        with pytest.raises(NotFound, match="s1"):
            transcripts.session("s1")
        with pytest.raises(NotFound, match="s1"):
            transcripts.update(session())

    def test_turns_come_back_as_they_were_said_in_their_places(self, transcripts: Transcripts) -> None:
        said = [
            turn("a", "user", minute=0),
            turn("b", "assistant", minute=1),
            turn("c", "tool", minute=2),
            turn("d", "user", minute=3),
            turn("e", "system", minute=4),
            turn("f", "", minute=5),
        ]
        stored = transcripts.append(session(), said)
        assert [one.position for one in stored] == [0, 1, 2, 3, 4, 5]
        assert list(transcripts.turns("s1")) == list(stored)
        assert [(one.id, one.text, one.role, one.time) for one in stored] == [
            (one.id, one.text, one.role, one.time) for one in said
        ]

    @pytest.mark.parametrize("role", ["user", "assistant"])
    def test_any_field_survives_whatever_it_holds(self, transcripts: Transcripts, role: Role) -> None:
        said = Turn(
            id=ANYTHING,
            session=ANYTHING,
            text=ANYTHING,
            role=role,
            speaker=ANYTHING,
            time=datetime(2026, 1, 1, 0, 0, 0, 17, tzinfo=UTC),
            tool_calls=({"name": ANYTHING, "arguments": {"n": [1, 2.5, None, True]}},),
            metadata={"key " + ANYTHING: ANYTHING},
        )
        told = Session(uuid=ANYTHING, name=ANYTHING, title=ANYTHING, source=ANYTHING, channel="x", chat_id=ANYTHING)
        [stored] = transcripts.append(told, [said])
        assert list(transcripts.turns(ANYTHING)) == [stored]
        assert list(transcripts.find(ANYTHING)) == [stored]
        [(of, seen)] = transcripts.changes(0).turns
        assert (of.title, seen) == (ANYTHING, stored)
        assert (stored.text, stored.speaker, stored.tool_calls, stored.metadata) == (
            said.text,
            said.speaker,
            said.tool_calls,
            said.metadata,
        )
        assert transcripts.session(ANYTHING).name == ANYTHING
        assert transcripts.remove(ANYTHING, [ANYTHING]) == 1

    @settings(
        max_examples=settings().max_examples // 2,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(
        texts=st.lists(st.tuples(st.text(), st.sampled_from(["user", "assistant", "tool", "system", ""])), max_size=8),
        cut=st.integers(0, 8),
    )
    def test_it_makes_no_difference_how_turns_are_handed_over(
        self, transcripts: Transcripts, texts: list[tuple[str, Role]], cut: int
    ) -> None:
        transcripts.remove("s1")
        said = [Turn(id=str(n), session="s1", text=text, role=role) for n, (text, role) in enumerate(texts)]
        transcripts.append(session(), said[:cut])
        transcripts.append(session(), said[cut:])
        assert [(one.text, one.role, one.position) for one in transcripts.turns("s1")] == [
            (text, role, n) for n, (text, role) in enumerate(texts)
        ]

    def test_a_turn_is_stored_once(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b", "assistant")])
        before = transcripts.revision()
        assert transcripts.append(session(), [turn("b", "assistant", text="other"), turn("a", text="other")]) == ()
        assert [one.text for one in transcripts.turns("s1")] == ["text of a", "text of b"]
        assert transcripts.revision() == before

    def test_a_turn_given_twice_at_once_is_stored_once(self, transcripts: Transcripts) -> None:
        assert [one.text for one in transcripts.append(session(), [turn("a", text="x"), turn("a", text="y")])] == ["x"]

    def test_only_the_new_turns_are_returned(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a")])
        stored = transcripts.append(session(), [turn("a"), turn("b", "assistant")])
        assert [(one.id, one.position) for one in stored] == [("b", 1)]

    def test_the_same_turn_id_may_be_in_several_sessions(self, transcripts: Transcripts) -> None:
        transcripts.append(session("s1"), [turn("a", text="one")])
        transcripts.append(session("s2"), [turn("a", of="s2", text="two")])
        transcripts.append(session("s2"), [turn("b", of="s2")])
        assert [(one.session, one.text) for one in transcripts.find("a")] == [("s1", "one"), ("s2", "two")]
        assert [one.text for one in transcripts.find("a", "s2")] == ["two"]
        assert list(transcripts.find("b", "s1")) == []
        assert transcripts.shared(["a", "b", "c"]) == {"a"}

    def test_a_uuid_is_named_by_as_much_of_its_beginning_as_no_other_has(self, transcripts: Transcripts) -> None:
        alike = [f"0190a1b2-c3d4-7000-8000-00000000000{n}" for n in range(3)]
        other, own = "9359ac7e-3df1-586a-ad3c-8d40b0a9d934", "message-1"
        transcripts.append(session(other), [turn(one, of=other) for one in (*alike, other, own, f"{own}0")])
        names = list(transcripts.short_names((other, one) for one in (*alike, other, own)))
        assert names == [*alike, "9359ac7e", "message-1"]
        assert [transcripts.beginning_with(name) for name in names] == [[(other, one)] for one in (*alike, other, own)]
        assert list(transcripts.beginning_with("0190a1b2", other)) == [(other, one) for one in alike]
        for short in ("9359ac7", "9359AC7E", "message-", "9359ac7e_", "9359ac7e%", ANYTHING):
            assert list(transcripts.beginning_with(short)) == []

    def test_a_turn_of_several_sessions_is_named_with_its_session(self, transcripts: Transcripts) -> None:
        one, two = "9359ac7e-3df1-586a-ad3c-8d40b0a9d934", "tea"
        for uuid in (one, two):
            transcripts.append(session(uuid), [turn("t1", of=uuid), turn(f"{uuid}-2", of=uuid)])
        assert list(transcripts.short_names([(one, "t1"), (two, "t1"), (two, "tea-2")])) == [
            "9359ac7e/t1", "tea/t1", "tea-2",
        ]  # fmt: skip
        assert list(transcripts.beginning_with("t1", "9359ac7e")) == [(one, "t1")]
        assert list(transcripts.beginning_with("t1", "te")) == []

    def test_a_reply_may_come_first(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("hello", "assistant"), turn("more", "tool"), turn("a"), turn("b", "tool")])
        assert ids(transcripts.turns("s1")) == ["hello", "more", "a", "b"]

    def test_replies_without_end_are_kept_in_order(self, transcripts: Transcripts) -> None:
        for start in range(0, 200, 7):
            transcripts.append(session(), [turn(f"r{n}", "tool") for n in range(start, start + 7)])
        assert ids(transcripts.turns("s1")) == [f"r{n}" for n in range(203)]
        assert [one.position for one in transcripts.turns("s1")] == list(range(203))
        assert ids(transcripts.turns("s1", last=2)) == ["r201", "r202"]

    def test_a_session_can_be_opened_before_anything_is_said(self, transcripts: Transcripts) -> None:
        assert transcripts.append(session(), []) == ()
        assert transcripts.session("s1").turn_ids == ()
        assert dict(transcripts.counts()) == {"sessions": 1, "turns": 0}

    @pytest.mark.parametrize(
        ("of", "bad"),
        [
            (session(), turn("")),
            (session(), turn("a", of="s2")),
            (session(""), turn("a", of="")),
            (session(), Turn(id="a", session="s1", text="x", time=datetime(2026, 1, 1))),
            (
                session(),
                Turn(id="a", session="s1", text="x", time=datetime.min.replace(tzinfo=timezone(timedelta(hours=8)))),
            ),
            (session(), Turn(id="a", session="s1", text="x", metadata={"x": object()})),
        ],
    )
    def test_a_turn_that_cannot_be_kept_is_refused_and_nothing_stored(
        self, transcripts: Transcripts, of: Session, bad: Turn
    ) -> None:
        with pytest.raises(InvalidInput):
            transcripts.append(of, [turn("good"), bad])
        assert dict(transcripts.counts()) == {"sessions": 0, "turns": 0}

    def test_a_session_has_the_times_and_ids_of_its_turns(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("b", minute=5), turn("c", "assistant", minute=9)])
        transcripts.append(session(), [turn("a", minute=1), turn("x")])
        found = transcripts.session("s1")
        assert (found.created, found.updated) == (START + timedelta(minutes=1), START + timedelta(minutes=9))
        assert found.turn_ids == ("b", "c", "a", "x")

    def test_a_session_without_times_has_none(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a")])
        assert (transcripts.session("s1").created, transcripts.session("s1").updated) == (None, None)

    def test_times_of_any_zone_come_back_in_utc(self, transcripts: Transcripts) -> None:
        local = datetime(2026, 2, 24, 18, 0, tzinfo=timezone(timedelta(hours=8)))
        transcripts.append(session(), [Turn(id="a", session="s1", text="x", time=local)])
        [found] = transcripts.turns("s1")
        assert (found.time, found.time and found.time.tzinfo) == (START, UTC)

    def test_a_session_is_found_by_uuid_and_by_name(self, transcripts: Transcripts) -> None:
        transcripts.append(session("s1", name="Monday"), [turn("a")])
        assert transcripts.session("s1") == transcripts.session("Monday")

    def test_a_name_that_several_sessions_have_is_a_conflict_that_names_them(self, transcripts: Transcripts) -> None:
        transcripts.append(session("s1", name="S"), [])
        transcripts.append(session("s2", name="S"), [])
        with pytest.raises(Conflict, match="s1, s2"):
            transcripts.session("S")

    def test_an_empty_name_finds_nothing(self, transcripts: Transcripts) -> None:
        transcripts.append(session("s1"), [])
        with pytest.raises(NotFound):
            transcripts.session("")

    def test_sessions_come_newest_first(self, transcripts: Transcripts) -> None:
        for uuid, minute in (("timeless", None), ("old", 1), ("new", 9), ("middle", 5)):
            transcripts.append(session(uuid), [turn("a", of=uuid, minute=minute)])
        assert [one.uuid for one in transcripts.sessions()] == ["new", "middle", "old", "timeless"]
        assert [one.uuid for one in transcripts.sessions(limit=2)] == ["new", "middle"]
        assert list(transcripts.sessions(limit=0)) == []

    def test_a_negative_limit_is_refused(self, transcripts: Transcripts) -> None:
        with pytest.raises(InvalidInput, match="-1"):
            transcripts.sessions(limit=-1)

    def test_a_tenants_open_sessions_are_told_from_all_others(self, transcripts: Transcripts) -> None:
        ours = {"source": "agent", "channel": "web", "chat_id": "7"}
        for minute, (uuid, fields) in enumerate(
            {"over": ours, "old": ours, "new": ours, "theirs": {**ours, "chat_id": "8"}, "brought": {}}.items()
        ):
            transcripts.append(session(uuid, **fields), [turn("a", of=uuid, minute=minute)])
        transcripts.update(replace(transcripts.session("over"), ended=START))
        assert [one.uuid for one in transcripts.going_on("agent", "web", "7")] == ["new", "old"]

    def test_update_stores_a_sessions_own_fields(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a", minute=0)])
        ended = START + timedelta(hours=1)
        transcripts.update(Session(uuid="s1", title="T", summary="两行\nof it", path="sessions/x.md", ended=ended))
        found = transcripts.session("s1")
        assert (found.title, found.summary, found.path, found.ended) == ("T", "两行\nof it", "sessions/x.md", ended)
        assert (found.created, found.updated, found.turn_ids) == (START, START, ("a",))

    def test_an_update_with_nothing_new_changes_nothing(self, transcripts: Transcripts) -> None:
        transcripts.append(session(title="T"), [turn("a", minute=0)])
        before = transcripts.revision()
        transcripts.update(transcripts.session("s1"))
        assert transcripts.revision() == before

    def test_append_leaves_the_fields_of_a_session_alone(self, transcripts: Transcripts) -> None:
        transcripts.append(session(title="kept"), [turn("a")])
        transcripts.append(session(title="other"), [turn("b")])
        assert transcripts.session("s1").title == "kept"

    def test_an_ended_session_may_go_on(self, transcripts: Transcripts) -> None:
        transcripts.append(Session(uuid="s1", ended=START), [turn("a")])
        transcripts.append(session(), [turn("b")])
        assert transcripts.session("s1").turn_ids == ("a", "b")

    def test_every_change_makes_the_revision_grow(self, transcripts: Transcripts) -> None:
        revisions = [transcripts.revision()]
        transcripts.append(session(), [turn("a"), turn("b", "assistant")])
        revisions.append(transcripts.revision())
        transcripts.append(session(), [turn("c", "tool")])
        revisions.append(transcripts.revision())
        transcripts.update(session(title="T"))
        revisions.append(transcripts.revision())
        transcripts.remove("s1", ["c"])
        revisions.append(transcripts.revision())
        transcripts.remove("s1")
        revisions.append(transcripts.revision())
        assert revisions == sorted(set(revisions))

    def test_removing_nothing_changes_nothing(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a")])
        before = transcripts.revision()
        assert transcripts.remove("s1", ["other"]) == 0
        assert transcripts.remove("s2") == 0
        assert transcripts.revision() == before

    def test_changes_tell_only_what_is_new(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b", "assistant")])
        seen = transcripts.changes(0)
        assert ids(one for _, one in seen.turns) == ["a", "b"]
        transcripts.append(session(), [turn("c", "tool"), turn("d")])
        assert changed(transcripts, seen.revision) == ["c", "d"]
        assert changed(transcripts, transcripts.revision()) == []

    def test_changes_tell_the_session_of_each_turn(self, transcripts: Transcripts) -> None:
        transcripts.append(session("s1", title="one"), [turn("a")])
        transcripts.append(session("s2", title="two"), [turn("a", of="s2")])
        assert [(of.title, one.session) for of, one in transcripts.changes(0).turns] == [("one", "s1"), ("two", "s2")]

    def test_changes_tell_what_was_removed(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b", "assistant"), turn("c", "tool")])
        seen = transcripts.revision()
        transcripts.remove("s1", ["b"])
        after = transcripts.changes(seen)
        assert (list(after.turns), list(after.removed)) == ([], [("s1", "b")])
        transcripts.remove("s1")
        assert list(transcripts.changes(after.revision).removed) == [("s1", "a"), ("s1", "c")]
        assert list(transcripts.changes(0).turns) == []

    def test_a_turn_that_came_back_is_not_removed(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b")])
        transcripts.remove("s1", ["a"])
        transcripts.append(session(), [turn("a")])
        now = transcripts.changes(0)
        assert (ids(one for _, one in now.turns), list(now.removed)) == (["b", "a"], [])

    @pytest.mark.parametrize("field", ["path", "name"])
    def test_another_path_or_name_of_a_session_alters_all_its_turns(self, transcripts: Transcripts, field: str) -> None:
        transcripts.append(session(), [turn("a"), turn("b", "assistant")])
        seen = transcripts.revision()
        transcripts.update(session("s1", **{field: "x"}))
        assert [(getattr(of, field), one.id) for of, one in transcripts.changes(seen).turns] == [("x", "a"), ("x", "b")]

    def test_another_title_alters_no_turn(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a")])
        seen = transcripts.revision()
        transcripts.update(session(title="T"))
        assert changed(transcripts, seen) == []

    def test_changes_are_those_of_one_moment(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn(f"t{n}") for n in range(50)])
        now = transcripts.changes(0)
        turns = iter(now.turns)
        first = next(turns)[1]
        transcripts.append(session(), [turn("late")])
        transcripts.remove("s1", ["t40"])
        assert [first.id, *(one.id for _, one in turns)] == [f"t{n}" for n in range(50)]
        assert list(now.removed) == []
        later = transcripts.changes(now.revision)
        assert (ids(one for _, one in later.turns), list(later.removed)) == (["late"], [("s1", "t40")])

    def test_changes_may_be_left_unread(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b")])
        next(iter(transcripts.changes(0).turns))
        transcripts.changes(0)
        transcripts.append(session(), [turn("c")])
        assert changed(transcripts, 0) == ["a", "b", "c"]

    @pytest.mark.parametrize("gone", ["a", "b", "c"])
    def test_one_turn_of_a_chat_can_be_removed(self, transcripts: Transcripts, gone: str) -> None:
        transcripts.append(session(), [turn("a"), turn("b", "assistant"), turn("c", "tool"), turn("d")])
        before = {one.id: one for one in transcripts.turns("s1")}
        assert transcripts.remove("s1", [gone, gone, "unknown"]) == 1
        left = list(transcripts.turns("s1"))
        assert left == [before[one] for one in "abcd" if one != gone]
        assert transcripts.session("s1").turn_ids == tuple(ids(left))
        assert list(transcripts.find(gone)) == []

    def test_a_session_may_lose_all_its_turns_and_go_on(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b", "assistant")])
        assert transcripts.remove("s1", ["a", "b"]) == 2
        assert transcripts.session("s1").turn_ids == ()
        transcripts.append(session(), [turn("c", "assistant")])
        assert ids(transcripts.turns("s1")) == ["c"]

    def test_a_session_can_be_removed(self, transcripts: Transcripts) -> None:
        transcripts.append(session("s1"), [turn("a"), turn("b", "assistant")])
        transcripts.append(session("s2"), [turn("a", of="s2")])
        assert transcripts.remove("s1") == 2
        with pytest.raises(NotFound):
            transcripts.session("s1")
        assert [one.session for one in transcripts.find("a")] == ["s2"]
        assert dict(transcripts.counts()) == {"sessions": 1, "turns": 1}

    def test_summaries_go_on_from_those_before(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b", "assistant"), turn("c")])
        before = transcripts.told("s1")
        assert (before.by, before.through, before.chats_through, before.last) == ("", -1, -1, 2)
        vector = SummaryEmbedding("m", 1, b"\x00" * 4)
        chats = [ChatSummary("a", "关于 a", vector), ChatSummary("gone", "of nothing")]
        assert transcripts.tell(SummaryUpdate(before, chats, "a talk", "A title", "rules", vector, 1))
        assert transcripts.revision() > before.revision
        after = transcripts.told("s1")
        assert (after.by, after.through, after.chats_through) == ("rules", 1, 2)
        assert (after.session.summary, after.session.title) == ("a talk", "A title")
        transcripts.append(session(), [turn("d", "assistant")])
        assert [ids(chat) for chat in transcripts.chats("s1", after=after.chats_through)] == [["c", "d"]]
        assert [ids(chat) for chat in transcripts.chats("s1")] == [["a", "b"], ["c", "d"]]
        assert transcripts.tell(SummaryUpdate(transcripts.told("s1"), through=1))
        assert transcripts.session("s1").summary == "a talk"

    @pytest.mark.parametrize(("by", "left"), [("rules", ""), ("model", ""), ("", "a talk")])
    def test_what_was_made_of_turns_goes_with_any_of_them(self, transcripts: Transcripts, by: str, left: str) -> None:
        transcripts.append(session(), [turn("a"), turn("b")])
        transcripts.tell(SummaryUpdate(transcripts.told("s1"), (), "a talk", "", by, None, 1))
        late = transcripts.told("s1")
        transcripts.remove("s1", ["b"])
        assert transcripts.session("s1").summary == left
        assert not transcripts.tell(SummaryUpdate(late, (), "what b said", through=1))
        assert transcripts.session("s1").summary == left
        now = transcripts.told("s1")
        assert (now.chats_through, now.through, now.last) == (0, 1 if left else -1, 0)
        late = transcripts.told("s1")
        transcripts.update(session(summary="somebody's words"))
        assert transcripts.told("s1").by == ""
        assert not transcripts.tell(SummaryUpdate(late, (), "later words", through=0))
        assert transcripts.session("s1").summary == "somebody's words"

    def test_counts(self, transcripts: Transcripts) -> None:
        transcripts.append(session("s1"), [turn("a"), turn("b", "assistant")])
        transcripts.append(session("s2"), [turn("a", of="s2")])
        assert dict(transcripts.counts()) == {"sessions": 2, "turns": 3}

    def test_closing_twice_does_nothing(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a")])
        transcripts.close()
        transcripts.close()

    @pytest.mark.parametrize("gone", [["c"], ["a", "d"], ["b", "c", "e"], None])
    def test_turns_put_back_stand_where_they_stood(self, transcripts: Transcripts, gone: list[str] | None) -> None:
        said = [turn("a"), turn("b", "assistant"), turn("c", "tool"), turn("d"), turn("e", "assistant"), turn("f")]
        transcripts.append(session(name="S"), said)
        transcripts.update(session(name="S", summary="a talk", path="sessions/s.md"))
        before, stored = transcripts.session("s1"), list(transcripts.turns("s1"))
        transcripts.remove("s1", gone)
        revision = transcripts.revision()
        missing = len(stored) - len(transcripts.turns("s1"))
        assert transcripts.restore(before, stored) == missing
        assert list(transcripts.turns("s1")) == stored
        assert transcripts.session("s1") == before
        assert sorted(changed(transcripts, revision)) == sorted(gone or [one.id for one in stored])
        assert transcripts.restore(before, stored) == 0
        later = transcripts.append(session(), [turn("g", "assistant")])
        assert list(transcripts.turns("s1")) == [*stored, *later]

    def test_turns_put_back_make_room_for_those_said_since(self, transcripts: Transcripts) -> None:
        transcripts.append(session(), [turn("a"), turn("b")])
        stored = list(transcripts.turns("s1"))
        transcripts.remove("s1")
        transcripts.append(session(), [turn("c")])
        transcripts.restore(session(), stored)
        assert ids(transcripts.turns("s1")) == ["c", "b", "a"]
