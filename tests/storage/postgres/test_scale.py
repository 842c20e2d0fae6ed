"""The benchmark of many tenants runs, on next to nothing, and what it asks for is found by all that it compares."""

from __future__ import annotations

from argparse import Namespace

import pytest

from benchmarks import scale


def test_books_are_measured_beside_plain_sql_and_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "PASSAGES", 20)
    sizes = {"tenants": 2, "questions": 4, "idle": [2], "sizes": [60], "files": 60, "seconds": 0.2}
    figures = scale.run(Namespace(only=["tenants", "growth", "idle"], out=None, **sizes))
    [many], [large], [idle] = figures["tenants"], figures["growth"], figures["idle"]
    assert {way: each["found"] for way, each in many["search"].items()} == {"ours": 100, "plain": 100, "files": 100}
    assert large["search"]["ours"]["found"] == 100
    assert idle["bytes_of_one_more"] > 0
