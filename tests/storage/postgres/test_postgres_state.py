"""What servers share, in the table that any number of them may use."""

from __future__ import annotations

import pytest

from conformance.server_state import Open, ServerStateConformance
from memorybook.config.settings import Config
from memorybook.http.access import Tokens
from memorybook.http.postgres_state import PostgresState


class TestPostgresState(ServerStateConformance):
    @pytest.fixture
    def opened(self, config: Config, tenant: str) -> Open:
        return lambda: PostgresState(config.storage.dsn, tenant, pool=5)


def test_what_one_server_registers_is_no_other_scopes(config: Config, tenant: str) -> None:
    one, other = (PostgresState(config.storage.dsn, f"{tenant}-{name}", pool=5) for name in "ab")
    tokens = Tokens(one, "x" * 16)
    tokens.add_tenant("ann")
    issued = tokens.issue("ann")["token"]
    assert tokens.caller(issued) is not None
    assert Tokens(other, "x" * 16).caller(issued) is None
    one.put("login", "a", ["ann", None, True], seconds=60)
    assert other.get("login", "a") is None


def test_going_through_many_names_misses_none(config: Config, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybook.http.postgres_state._PAGE", 3)
    state = PostgresState(config.storage.dsn, tenant, pool=5)
    with state.changing() as register:
        for number in range(10):
            register["tenants"][f"t{number}"] = {"created": str(number)}
    assert {name: told["created"] for name, told in Tokens(state, "x" * 16).tenants().items()} == {
        f"t{number}": str(number) for number in range(10)
    }
    with state.changing() as register:
        del register["tenants"]["t3"]
        assert len(register["tenants"]) == 9
        with pytest.raises(KeyError):
            del register["tenants"]["t3"]
