"""What the recalls of past conversations answer: sessions, turns, and the block for a prompt.

Frozen values with a `json()` that every door shows as it is.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from memorybook._light import datetime

    Scene = Literal["history", "topic", "session", "within"]


class FoundSession(NamedTuple):
    """A session as a recall shows it.

    Attributes:
        uuid: Stable id.
        name: The source's own name for it, "" if none.
        title: One line; "" if nothing was said that could be one.
        summary: Some lines, in the words of the talk where no other summary was written yet.
        started: First turn's time, UTC; None if the source has no times.
        ended: None while it is open, or where nobody told of its end.
        turns: How many turns are kept of it.
        path: Its summary document; "" until written.
        score: How much speaks for it, comparable within one answer only; 0 where nothing was asked.
        updated: Last turn's time, UTC; None if the source has no times.
        open: Whether it goes on by itself: a talk with an agent or a chat that nobody ended.
    """

    uuid: str
    name: str = ""
    title: str = ""
    summary: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    turns: int = 0
    path: str = ""
    score: float = 0.0
    updated: datetime | None = None
    open: bool = False

    def json(self) -> dict[str, Any]:
        """All fields; times in UTC."""
        return {
            **self._asdict(),
            "started": moment(self.started),
            "ended": moment(self.ended),
            "updated": moment(self.updated),
            "score": round(self.score, 4),
        }


class FoundTurn(NamedTuple):
    """A turn as a recall shows it, word for word.

    Attributes:
        id: Unique in its session; `get turn:SESSION/ID` opens it.
        session: Uuid of its session.
        role: `user`, `assistant`, `system`, `tool`; "" in a talk between people.
        speaker: Name, or the role.
        text: All that was said.
        time: UTC; None if the source does not say.
        position: Place in its session, from 0.
        score: How much speaks for it, comparable within one answer only; 0 for what stands beside such a turn, or
            where nothing was asked.
        place: What `get` opens it by: `turn:ID`, or `turn:SESSION/ID` where several sessions have that id.
    """

    id: str
    session: str
    role: str
    speaker: str
    text: str
    time: datetime | None = None
    position: int = -1
    score: float = 0.0
    place: str = ""

    def json(self) -> dict[str, Any]:
        """All fields; the time in UTC."""
        return {**self._asdict(), "time": moment(self.time), "score": round(self.score, 4)}


class Recollection(NamedTuple):
    """What a recall brought.

    Attributes:
        scene: Which recall it was.
        sessions: Best first; newest first for `history`.
        turns: Best first for `topic` and `within`, in their order for `session`. Each is of one of `sessions`.
        degraded: Why it is less than it could be, one sentence each.
        span: First and last day that it was narrowed to, `YYYY-MM-DD`, each None where open; None if it was not.
        text: A bounded block for a prompt, between markers; "" if nothing was found.
        tokens: Size of `text`.
        has_relevant: Whether something found is about the question; False where nothing was found.
        reason: How it was understood: why this scene, why this session; "" where nothing had to be.
        disabled: True while memory is switched off: nothing was looked at.
    """

    scene: Scene
    sessions: tuple[FoundSession, ...] = ()
    turns: tuple[FoundTurn, ...] = ()
    degraded: tuple[str, ...] = ()
    span: tuple[str | None, str | None] | None = None
    text: str = ""
    tokens: int = 0
    has_relevant: bool = False
    reason: str = ""
    disabled: bool = False

    def json(self) -> dict[str, Any]:
        """The recollection as every door shows it."""
        return {
            "scene": self.scene,
            "sessions": [session.json() for session in self.sessions],
            "turns": [turn.json() for turn in self.turns],
            "has_relevant": self.has_relevant,
            "span": None if self.span is None else {"since": self.span[0], "until": self.span[1]},
            "reason": self.reason,
            "degraded": list(self.degraded),
            "text": self.text,
            "tokens": self.tokens,
            "disabled": self.disabled,
        }


class Held(NamedTuple):
    """A session that a client holds.

    Attributes:
        session: Its uuid.
        name: "" if none.
        turns: Ids of the turns that were given, in order.
        new: How many of them were not stored before.
        redacted: Secrets masked.
        skipped: Texts that were not taken, with the reason.
    """

    session: str
    name: str = ""
    turns: tuple[str, ...] = ()
    new: int = 0
    redacted: int = 0
    skipped: tuple[tuple[str, str], ...] = ()

    def json(self) -> dict[str, Any]:
        """All fields; `"skipped": [{"text", "reason"}]`."""
        skipped = [{"text": text, "reason": reason} for text, reason in self.skipped]
        return {**self._asdict(), "turns": list(self.turns), "skipped": skipped}


class Talks(NamedTuple):
    """Sessions, newest first; `more` says that older ones were left out."""

    sessions: tuple[FoundSession, ...] = ()
    more: bool = False
    disabled: bool = False

    def json(self) -> dict[str, Any]:
        """`{"sessions": […], "more"}`; `disabled` only while memory is switched off."""
        shown = {"sessions": [session.json() for session in self.sessions], "more": self.more}
        return {**shown, "disabled": True} if self.disabled else shown


def short(uuid: str) -> str:
    """As much of a session's uuid as its reader needs; whatever else it is called by as it is.

    >>> short("37b51692-0d5e-4c7a-9b1e-2f3a4b5c6d7e"), short("chat-7")
    ('37b51692', 'chat-7')
    """
    return uuid[:8] if len(uuid) == 36 and uuid.count("-") == 4 else uuid


def moment(time: datetime | None) -> str | None:
    """The time in UTC as it stands in answers, `2026-02-24T10:12:33Z`."""
    if time is None:
        return None
    from memorybook._light import UTC

    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
