"""Tokens that several servers give out at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memorybook.errors import Unavailable
from memorybook.http.api_tokens import Tokens, owner_token
from serving import OWNER


def test_servers_that_share_a_workspace_lose_no_token_of_each_other(tmp_path: Path) -> None:
    kept = str(tmp_path / "tenants.json")
    one, other = Tokens(kept, OWNER), Tokens(kept, OWNER)
    gone = [one.issue("ann")["id"] for _ in range(20)]
    made: list[str] = []
    noise = threading.Thread(target=lambda: made.extend(other.issue("ann")["id"] for _ in range(20)))
    noise.start()
    for id in gone:
        one.revoke("ann", id)
    noise.join(20)
    assert [token["id"] for token in one.listed("ann")] == made


def test_servers_that_start_together_have_one_owners_token(tmp_path: Path) -> None:
    place = str(tmp_path / "state" / "token")
    with ThreadPoolExecutor(8) as servers:
        assert len(set(servers.map(lambda _: owner_token(place), range(8)))) == 1


@pytest.mark.parametrize(
    "kept", ["[]", "{}", "null", '{"tenants": {}, "tokens": {"0123456789ab": {}}}', '{"tenants": [], "tokens": {}}']
)
def test_a_file_of_something_else_lets_nobody_in_and_is_left_as_it_is(tmp_path: Path, kept: str) -> None:
    place = tmp_path / "tokens.json"
    place.write_text(kept)
    place.chmod(0o600)
    tokens = Tokens(str(place), OWNER)
    with pytest.raises(Unavailable):
        tokens.caller("mb_0123456789ab_x")
    with pytest.raises(Unavailable):
        tokens.issue("ann")
    assert place.read_text() == kept


def test_a_file_that_others_may_change_lets_nobody_in(tmp_path: Path) -> None:
    place = tmp_path / "tokens.json"
    tokens = Tokens(str(place), OWNER)
    token = tokens.issue("ann")["token"]
    assert tokens.caller(token)
    place.chmod(0o666)
    with pytest.raises(Unavailable, match="chmod 600"):
        tokens.caller(token)
    place.chmod(0o600)
    assert tokens.caller(token)
