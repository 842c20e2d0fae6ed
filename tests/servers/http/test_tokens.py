"""Tokens that several servers give out at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memorybook.servers.http.tokens import Tokens, owner_token
from servers.http.conftest import OWNER


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
