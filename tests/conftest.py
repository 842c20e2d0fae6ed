"""What holds for every test."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from books import kept_in as kept_in
from books import memory as memory
from books import reopen as reopen
from clock import Clock
from memorybook.inference import static
from memorybook.storage import sqlite

FORCING = {name: getattr(sqlite, name) for name in ("_DURABLE", "_DERIVED")}
"""What makes SQLite force to the disk."""

# A script's background jobs ignore interrupts, and what tests start and interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What tests write goes to memory, where there is room and it can be executed. `TMPDIR` overrules it.
if "TMPDIR" not in os.environ and os.path.isdir("/dev/shm"):
    shared = os.statvfs("/dev/shm")
    if shared.f_bavail * shared.f_frsize > 2 << 30 and not shared.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = "/dev/shm"

# Machines differ in speed, and drift: a slow draw is no failure of what is tested. Each run draws other examples,
# so that few of them do; `--hypothesis-profile=thorough` draws many. Tests that want more or fewer say so as a share.
settings.register_profile("anywhere", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("anywhere"), max_examples=1000)
settings.load_profile("anywhere")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than processors: many tests wait for a disk or another process."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects no garbage while tests are collected, and never again looks through the thousands that they are."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _one_vocabulary() -> Iterator[None]:
    """What every new book derives from the bundled tokenizer in 80 ms is derived once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(static, "_from_tokenizer", cache(static._from_tokenizer))
        yield


@pytest.fixture(scope="session", autouse=True)
def _power_that_never_fails() -> Iterator[None]:
    """No test cuts the power, and whatever dies, the system keeps what was written: nothing is forced to the disk."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        for name, pragmas in FORCING.items():
            patched.setattr(sqlite, name, pragmas.replace("=FULL", "=OFF").replace("=NORMAL", "=OFF"))
        yield


@pytest.fixture
def forcing(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what is forced to the disk: SQLite does as it does elsewhere."""
    for name, pragmas in FORCING.items():
        monkeypatch.setattr(sqlite, name, pragmas)


@pytest.fixture
def clock() -> Clock:
    return Clock()
