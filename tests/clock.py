"""A clock for books under test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC)


class Clock:
    """A time that stands still until it is moved, or set."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)
