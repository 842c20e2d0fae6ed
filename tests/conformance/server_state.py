"""What every `ServerState` promises. Subclass `ServerStateConformance`; its fixture `opened` opens the same state."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from memorybook.http.server_state import ServerState

Open = Callable[[], ServerState]


class ServerStateConformance:
    """The tests; the clock stands still."""

    @pytest.fixture
    def opened(self) -> Open:
        raise NotImplementedError

    @pytest.fixture
    def state(self, opened: Open) -> ServerState:
        return opened()

    def test_what_is_registered_is_there_for_every_server(self, opened: Open) -> None:
        one, other = opened(), opened()
        assert one.register() == {"tenants": {}, "tokens": {}}
        with one.changing() as register:
            register["tenants"]["ann"] = {"created": "2026-02-24T10:00:00Z"}
        assert (
            one.register()
            == other.register()
            == {"tenants": {"ann": {"created": "2026-02-24T10:00:00Z"}}, "tokens": {}}
        )
        with other.changing() as register:
            del register["tenants"]["ann"]
        assert one.register()["tenants"] == {}
        one.check()

    def test_a_change_that_fails_is_none(self, opened: Open) -> None:
        with pytest.raises(ValueError, match="half"), opened().changing() as register:  # noqa: PT012
            register["tenants"]["ann"] = {"created": ""}
            raise ValueError("half")
        assert opened().register()["tenants"] == {}

    def test_no_change_is_lost_to_another(self, opened: Open) -> None:
        def add(number: int) -> None:
            with opened().changing() as register:
                register["tenants"][str(number)] = {"created": ""}

        with ThreadPoolExecutor(4) as servers:
            list(servers.map(add, range(20)))
        assert len(opened().register()["tenants"]) == 20

    def test_a_value_is_kept_for_its_time_and_taken_once(self, state: ServerState) -> None:
        state.put("link", "a", ["owner", None, True], seconds=900)
        state.put("login", "a", "another", seconds=900)
        state.put("link", "late", "none", seconds=0)
        assert state.get("link", "a") == ["owner", None, True]
        assert state.get("link", "late") is None
        assert state.take("link", "b") is None
        with ThreadPoolExecutor(4) as askers:
            taken = list(askers.map(lambda _: state.take("link", "a"), range(8)))
        assert [value for value in taken if value is not None] == [["owner", None, True]]
        assert (state.get("link", "a"), state.get("login", "a")) == (None, "another")

    def test_a_tenant_that_is_due_is_claimed_by_one_server(self, opened: Open) -> None:
        one = opened()
        other = one if one.near else opened()
        assert one.claim(seconds=60) is None
        one.note("later", seconds=60)
        one.note("ann", seconds=0)
        with ThreadPoolExecutor(4) as servers:
            claimed = list(servers.map(lambda number: (one, other)[number % 2].claim(seconds=60), range(8)))
        [due] = [due for due in claimed if due is not None]
        assert due.tenant == "ann"
        one.note("ann", seconds=0)
        one.settle(due)
        again = other.claim(seconds=0)
        assert again is not None, "it was noted anew while it was looked after"
        again = other.claim(seconds=0)
        assert again is not None, "whoever claimed it has died"
        other.settle(again)
        assert one.claim(seconds=60) is None

    def test_a_name_that_nobody_has_is_in_no_register(self, state: ServerState) -> None:
        for name in ("x" * 300, "a\0b", "\udce9", "'; --"):
            assert name not in state.register()["tenants"]

    def test_a_token_makes_as_many_requests_as_it_may(self, state: ServerState) -> None:
        assert [state.wait("any", 0) for _ in range(100)] == [0.0] * 100
        waits = [state.wait("one", 0.001) for _ in range(3)]
        assert waits[0] == 0
        assert all(900 < wait <= 1000 for wait in waits[1:])
        assert state.wait("other", 0.001) == 0
