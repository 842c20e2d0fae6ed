"""A standby takes over, writers and servers die, under load: what was acknowledged stands in the books once."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import failover


@pytest.mark.parametrize("kind", ["synchronous", "workers", "servers"])
def test_no_acknowledged_write_is_lost_or_doubled(kind: str, tmp_path: Path) -> None:
    options = Namespace(writes=150, writers=2, servers=2, tenants=3, failovers=1, kills=3, lag=0.0)
    figures = failover.measured(kind, tmp_path, options)
    assert figures["acknowledged"] == 150
    assert (figures["lost"], figures["doubled"], figures["acknowledged_twice"]) == (0, 0, 0)
