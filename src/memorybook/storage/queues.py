"""What waits and what was used, beside the operations of the journal: `Queues`, the other half of `SqliteJournal`."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Iterable, Mapping, Sequence
from memorybook.errors import Conflict, NotFound
from memorybook.storage.index.columns import (
    as_json,
    bindable,
    list_of,
    maybe_bindable,
    maybe_readable,
    maybe_stamp,
    maybe_time_of,
    readable,
    row_limit,
    stamp,
    time_of,
)
from memorybook.storage.journal_rows import among, json_of, mark_memorized, unforced
from memorybook.storage.sqlite import Store, immediate

if TYPE_CHECKING:
    from datetime import date, datetime

    from memorybook.model import Parked, Proposal, Shown, Spent

PROMPTS_KEPT = 20
"""Prompts kept of each entry, the newest."""

MOST_QUERY = 200
"""Characters kept of what a prompt was for."""

_PARKED = "id, kind, session, payload, reason, tries, since, next"
_PROPOSAL = "id, kind, changes, reason, time, state, operation"


class Queues:
    """The parked, the proposed, the memorized, the spent and the shown, in the journal's file."""

    _store: Store

    # --- work to try again ---------------------------------------------------------------------

    def park(
        self,
        id: str,
        *,
        kind: str,
        payload: Mapping[str, Any],
        reason: str,
        time: datetime,
        session: str | None = None,
        next: datetime | None = None,
    ) -> Parked:
        """Keep work that failed at `time`, to be tried again; durable on return. See `model.Parked`.

        Parking an id that is parked counts a try, and keeps only since when of what was there.
        """
        row = (bindable(id), bindable(kind), maybe_bindable(session), as_json(payload), bindable(reason))
        with immediate(self._store.created()) as db:
            db.execute(
                "INSERT INTO parked (id, kind, session, payload, reason, tries, since, next)"
                " VALUES (?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT (id) DO UPDATE SET kind=excluded.kind,"
                " session=excluded.session, payload=excluded.payload, reason=excluded.reason,"
                " tries=tries+1, next=excluded.next",
                (*row, stamp(time), maybe_stamp(next)),
            )
            [found] = db.execute(f"SELECT {_PARKED} FROM parked WHERE id=?", row[:1])
        return _parked(found)

    def parked(self, *, kind: str | None = None, due: datetime | None = None) -> Sequence[Parked]:
        """What is parked, oldest first; of one kind, and what may be tried at the time `due`, if these are given."""
        db = self._store.existing()
        if db is None:
            return []
        rows = db.execute(f"SELECT {_PARKED} FROM parked ORDER BY since, id")
        found = [_parked(row) for row in rows]
        return [
            each
            for each in found
            if (kind is None or each.kind == kind) and (due is None or each.next is None or each.next <= due)
        ]

    def unpark(self, id: str) -> bool:
        """Forget what is parked under that id; whether there was something."""
        db = self._store.existing()
        if db is None:
            return False
        with immediate(db):
            return db.modify("DELETE FROM parked WHERE id=?", (bindable(id),)) > 0

    # --- changes that wait for a person's word ---------------------------------------------------

    def propose(self, kind: str, changes: Sequence[Mapping[str, Any]], *, reason: str, time: datetime) -> str:
        """Keep changes for a person to decide on; returns the proposal's id. Durable on return.

        The same changes of the same kind are proposed once while they are open.
        """
        wanted = (bindable(kind), as_json(list(changes)))
        with immediate(self._store.created()) as db:
            known = db.first("SELECT id FROM proposals WHERE state='open' AND kind=? AND changes=?", wanted)
            if known is not None:
                return readable(known[0])
            [(number,)] = db.execute("SELECT coalesce(max(seq), 0) + 1 FROM proposals")
            id = f"p{number}"
            db.execute(
                "INSERT INTO proposals (seq, id, kind, changes, reason, time) VALUES (?, ?, ?, ?, ?, ?)",
                (number, id, *wanted, bindable(reason), stamp(time)),
            )
        return id

    def proposals(
        self, *, state: str | None = "open", kind: str | None = None, limit: int | None = None
    ) -> Sequence[Proposal]:
        """Proposals, oldest first; of one state (None: of all) and one kind, at most `limit`."""
        db = self._store.existing()
        if db is None:
            return []
        rows = db.execute(
            f"SELECT {_PROPOSAL} FROM proposals WHERE (?1 IS NULL OR state=?1) AND (?2 IS NULL OR kind=?2)"
            " ORDER BY seq LIMIT ?3",
            (state, maybe_bindable(kind), row_limit(limit)),
        )
        return [_proposal(row) for row in rows]

    def decide(self, id: str, state: str, *, time: datetime, operation: str | None = None) -> None:
        """Settle an open proposal as `accepted` or `rejected` (by that operation) or `withdrawn`.

        Raises NotFound; Conflict if it was decided otherwise before.
        """
        db = self._store.existing()
        row = None if db is None else db.first("SELECT state FROM proposals WHERE id=?", (bindable(id),))
        if db is None or row is None:
            raise NotFound(f"there is no proposal {id!r}; review lists those that are open")
        with immediate(db):
            decided = db.modify(
                "UPDATE proposals SET state=?, decided=?, operation=? WHERE id=? AND state='open'",
                (state, stamp(time), maybe_bindable(operation), bindable(id)),
            )
            [(standing,)] = db.execute("SELECT state FROM proposals WHERE id=?", (bindable(id),))
        if not decided and standing != state:
            raise Conflict(f"proposal {id!r} was {standing} already")

    # --- what was memorized --------------------------------------------------------------------

    def memorized(self, session: str, digest: str) -> str | None:
        """Id of the operation that memorized this content ("" if nothing came of it); None if it is new."""
        db = self._store.existing()
        if db is None:
            return None
        found = db.first(
            "SELECT operation FROM memorized WHERE session=? AND digest=?", (bindable(session), bindable(digest))
        )
        return None if found is None else readable(found[0])

    def all_memorized(self, session: str) -> frozenset[str]:
        """Every content of the session that was memorized."""
        db = self._store.existing()
        rows = () if db is None else db.execute("SELECT digest FROM memorized WHERE session=?", (bindable(session),))
        return frozenset(readable(digest) for (digest,) in rows)

    def mark_memorized(self, session: str, *digests: str, operation: str, time: datetime) -> None:
        """Record that these contents of the session were memorized. Not forced to disk."""
        with unforced(self._store.created()) as db:
            mark_memorized(db, session, digests, operation, stamp(time))

    def reached(self, session: str) -> int:
        """Position of the turn up to which the session was memorized; -1 if nothing of it was."""
        db = self._store.existing()
        row = None if db is None else db.first("SELECT position FROM reached WHERE session=?", (bindable(session),))
        return -1 if row is None else int(row[0])

    def reach(self, session: str, position: int, *, time: datetime) -> None:
        """Record that the session was memorized up to the turn at `position`; never goes back. Durable on return."""
        with immediate(self._store.created()) as db:
            db.execute(
                "INSERT INTO reached (session, position, time) VALUES (?, ?, ?) ON CONFLICT (session) DO UPDATE"
                " SET position=excluded.position, time=excluded.time WHERE position<excluded.position",
                (bindable(session), position, stamp(time)),
            )

    # --- what LLM calls used -------------------------------------------------------------------

    def spend(
        self, day: date, *, calls: int = 0, failed: int = 0, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        """Add to what LLM calls used on that day. Not forced to disk."""
        with unforced(self._store.created()) as db:
            db.execute(
                "INSERT INTO spent (day, calls, failed, input_tokens, output_tokens) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (day) DO UPDATE SET calls=calls+excluded.calls, failed=failed+excluded.failed,"
                " input_tokens=input_tokens+excluded.input_tokens, output_tokens=output_tokens+excluded.output_tokens",
                (day.isoformat(), calls, failed, input_tokens, output_tokens),
            )

    def spent(self, day: date) -> Spent:
        """What LLM calls used on that day."""
        from memorybook.model import Spent

        db = self._store.existing()
        query = "SELECT calls, failed, input_tokens, output_tokens FROM spent WHERE day=?"
        row = None if db is None else db.first(query, (day.isoformat(),))
        if row is None:
            return Spent()
        calls, failed, given, made = row
        return Spent(calls=calls, failed=failed, input_tokens=given, output_tokens=made)

    # --- which prompts an entry entered --------------------------------------------------------

    def shown(self, ids: Iterable[str], *, time: datetime, session: str | None = None, query: str = "") -> None:
        """Count that a prompt took these entries in, each time an id is named, and record it. Not forced to disk.

        The newest 20 prompts of each are kept, `query` cut to 200 characters; mask what is secret in it first.
        """
        rows = [(bindable(id), stamp(time), maybe_bindable(session), bindable(query[:MOST_QUERY])) for id in ids]
        if not rows:
            return
        with unforced(self._store.created()) as db:
            db.executemany(
                "INSERT INTO access (entry, count) VALUES (?, 1) ON CONFLICT DO UPDATE SET count=count+1",
                [row[:1] for row in rows],
            )
            db.executemany("INSERT INTO prompts (entry, time, session, query) VALUES (?, ?, ?, ?)", rows)
            db.executemany(
                "DELETE FROM prompts WHERE entry=?1 AND seq<="
                "(SELECT seq FROM prompts WHERE entry=?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
                [(row[0], PROMPTS_KEPT) for row in rows],
            )

    def access_counts(self, ids: Iterable[str]) -> Mapping[str, int]:
        """Access count by id, 0 left out."""
        rows = among(self._store.existing(), "SELECT entry, count FROM access WHERE entry IN ({})", ids)
        return {readable(entry): count for entry, count in rows}

    def prompts_of(self, id: str) -> Sequence[Shown]:
        """The last prompts that the entry entered, newest first."""
        from memorybook.model import Shown

        db = self._store.existing()
        if db is None:
            return []
        rows = db.execute(
            "SELECT time, session, query FROM prompts WHERE entry=? ORDER BY seq DESC LIMIT ?",
            (bindable(id), PROMPTS_KEPT),
        )
        return [
            Shown(time=time_of(time), session=maybe_readable(session), query=readable(query))
            for time, session, query in rows
        ]


def _parked(row: tuple[Any, ...]) -> Parked:
    from memorybook.model import Parked

    id, kind, session, payload, reason, tries, since, again = row
    return Parked(
        id=readable(id),
        kind=readable(kind),
        session=maybe_readable(session),
        payload=json_of(payload) or {},
        reason=readable(reason),
        tries=tries,
        since=time_of(since),
        next=maybe_time_of(again),
    )


def _proposal(row: tuple[Any, ...]) -> Proposal:
    from memorybook.model import Proposal

    id, kind, changes, reason, time, state, operation = row
    return Proposal(
        id=readable(id),
        kind=readable(kind),
        changes=tuple(list_of(changes)),
        reason=readable(reason),
        time=time_of(time),
        state=state,
        operation=maybe_readable(operation),
    )
