"""Kill the primary of a PostgreSQL server, those who write to it, or servers of the books: is a write lost, or doubled?

Several processes append notes, remember entries and store turns through memorybook, in books of several tenants, over
an address that names a primary and its standby. Whatever they were told is written goes into a log outside, forced to
disk line by line. A write that fails is sent again until it is acknowledged, as any client would. In turn:

- `synchronous`: all processes of the primary are killed at once and the standby is promoted, several times;
- `workers`: the writers are killed at random, and started again where they were;
- `servers`: the writers send to several `memorybook serve --tenants` in turn, and these are killed at random and
  started again;
- `asynchronous`: as `synchronous`, but the primary waits for no standby, which is `--lag` seconds behind.

Then every acknowledged write is looked for in the books. Prints one JSON object:

    python benchmarks/failover.py --writes 10000 --writers 4 --kills 40
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

import memorybook
from benchmarks.postgres_servers import Server, dsn_of, servers
from memorybook.client import connect
from memorybook.config.settings import Config, StorageSettings
from memorybook.errors import MemoryBookError
from memorybook.http.access import Tokens
from memorybook.http.postgres_state import PostgresState
from memorybook.storage.postgres_admin import upgrade

KINDS = ("note", "entry", "turn")
PATIENCE = 120.0
"""Seconds until a writer gives up on a write."""

TOKEN = "only-for-this-measurement"


def config_of(dsn: str) -> Config:
    """Settings of the books: words alone, as vectors concern no truth."""
    return Config(backend="sqlite_fts", timezone="UTC", storage=StorageSettings(dsn=dsn))


# --- a writer ------------------------------------------------------------------------------------


def doors_of(address: str, tenant: str) -> Iterator[Any]:
    """Yield the tenant's book again and again: as servers of a list have it in turn, or at the database's address."""
    if address.startswith("http"):
        return cycle([connect(url, TOKEN, tenant=tenant, timeout=30.0) for url in address.split()])
    return cycle([memorybook.open(tenant, config=config_of(address))])


def write(address: str, name: str, log: Path, count: int, tenants: int) -> None:
    """Write from where the log ends; log each write that was acknowledged, with the seconds that it took."""
    rnd = random.Random(name)
    todo = [(rnd.randrange(tenants), KINDS[number % 3], f"{name} knows fact {number}") for number in range(count)]
    done = len(log.read_text().splitlines()) if log.exists() else 0
    with open(log, "a", encoding="utf-8") as acknowledged:
        books: dict[int, Iterator[Any]] = {}
        for tenant, kind, text in todo[done:]:
            if tenant not in books:
                books[tenant] = doors_of(address, f"tenant-{tenant}")
            seconds, failed = told(books[tenant], kind, name, text)
            print(json.dumps([tenant, kind, text, round(seconds, 4), failed]), file=acknowledged, flush=True)
            os.fsync(acknowledged.fileno())


def told(doors: Iterator[Any], kind: str, name: str, text: str) -> tuple[float, list[str]]:
    """Send one write until it is acknowledged; return the seconds, and what the answers were that failed."""
    began = time.monotonic()
    failed: list[str] = []
    while True:
        memory = next(doors)
        try:
            if kind == "note":
                memory.append(text)
            elif kind == "entry":
                memory.remember(text, category="fact")
            else:
                session = memory.open_session(name).session
                memory.add_messages(session, [{"role": "user", "content": text, "id": text}])
            return time.monotonic() - began, failed
        except MemoryBookError as error:
            failed.append(f"{type(error).__name__}: {error}"[:300])
            if time.monotonic() - began > PATIENCE:
                raise
            time.sleep(0.1)


class Processes:
    """Processes that may be killed: each is started again by its name."""

    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start one, or start it again."""
        raise NotImplementedError

    def kill(self, name: str) -> bool:
        """Kill one and start it again; False if it is done."""
        process = self.running[name]
        if process.poll() is not None:
            return False
        end(process)
        self.start(name)
        return True

    def end(self) -> None:
        """End all that still run."""
        for process in self.running.values():
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, if it still runs, and let go of its pipe."""
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


class Served(Processes):
    """Servers of all tenants of one database, each with a port that it keeps."""

    def __init__(self, dsn: str, count: int, tenants: int) -> None:
        super().__init__()
        self._dsn = dsn
        tokens = Tokens(PostgresState(dsn, "", pool=2), TOKEN)
        for tenant in range(tenants):
            tokens.add_tenant(f"tenant-{tenant}")
        for port in free_ports(count):
            self.start(f"http://127.0.0.1:{port}")
        self.address = " ".join(self.running)

    def start(self, name: str) -> None:
        """Start one, and wait until it listens."""
        command = [sys.executable, "-m", "memorybook", "serve", "--tenants", "--dsn", self._dsn, "--json", "--quiet"]
        settings = ("server.rate=0", "backend=sqlite_fts", "timezone=UTC", f"server.port={name.rpartition(':')[2]}")
        chosen = [part for setting in settings for part in ("--set", setting)]
        env = os.environ | {"MEMORYBOOK_TOKEN": TOKEN}
        self.running[name] = process = subprocess.Popen([*command, *chosen], stdout=subprocess.PIPE, env=env)
        assert process.stdout is not None
        if not process.stdout.readline():
            raise SystemExit(f"{name} did not start")


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now."""
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(one.getsockname()[1]) for one in opened]


class Writers(Processes):
    """Processes that write to a database or to servers, each with its log."""

    def __init__(self, address: str, folder: Path, count: int, writes: int, tenants: int) -> None:
        super().__init__()
        self.folder, self.writes = folder, writes
        self._address, self._each, self._tenants = address, -(-writes // count), tenants
        for number in range(count):
            self.start(f"{folder.name}{number}")

    def start(self, name: str) -> None:
        """Start one, or start it again."""
        command = [sys.executable, "-m", "benchmarks.failover", "--write", self._address, "--name", name]
        numbers = ["--log", str(self.folder / name), "--writes", str(self._each), "--tenants", str(self._tenants)]
        self.running[name] = subprocess.Popen([*command, *numbers], cwd=Path(__file__).parent.parent)

    def acknowledged(self) -> list[tuple[int, str, str, float, list[str]]]:
        """What was logged so far."""
        lines = [line for log in self.folder.iterdir() for line in log.read_text().splitlines(keepends=True)]
        return [tuple(json.loads(line)) for line in lines if line.endswith("\n")]

    def reach(self, share: float) -> None:
        """Wait until that share of the writes is acknowledged."""
        while len(self.acknowledged()) < share * self.writes:
            if all(process.poll() is not None for process in self.running.values()):
                raise SystemExit("the writers ended before their time")
            time.sleep(0.05)

    def wait(self) -> None:
        """Wait until all are done."""
        failed = [process.wait() for process in self.running.values()]
        if any(failed):
            raise SystemExit(f"writers failed: {failed}")


# --- what stands in the books --------------------------------------------------------------------


def standing(dsn: str, tenants: int) -> Counter[tuple[int, str, str]]:
    """How often each text stands in which tenant's book, as what."""
    found: Counter[tuple[int, str, str]] = Counter()
    for tenant in range(tenants):
        with memorybook.open(f"tenant-{tenant}", config=config_of(dsn)) as memory:
            found.update((tenant, kind, text) for kind, text in _texts(memory))
    return found


def _texts(memory: memorybook.Memory) -> Iterator[tuple[str, str]]:
    if not memory.book.storage.exists():
        return
    for info in memory.documents():
        if info.path.startswith("daily/"):
            for line in memory.document(info.path).text.splitlines():
                if " knows fact " in line:
                    yield "note", line[line.rindex("Z ") + 2 :]
    for entry in memory.entries(limit=100_000).entries:
        yield "entry", entry.entry.text
    transcripts = memory.book.transcripts
    for session in transcripts.sessions(turn_ids=False):
        for turn in transcripts.each_turn(session.uuid):
            yield "turn", turn.text


def judged(writers: Writers, dsn: str, tenants: int, began: float) -> dict[str, Any]:
    """What became of the acknowledged writes, and how long they took."""
    seconds = time.monotonic() - began
    acknowledged, found = writers.acknowledged(), standing(dsn, tenants)
    keys = [(tenant, kind, text) for tenant, kind, text, _, _ in acknowledged]
    lost = [key for key in keys if not found[key]]
    failures = Counter(error.partition(": ")[2][:90] for *_, failed in acknowledged for error in failed)
    return {
        "acknowledged": len(keys),
        "by_kind": dict(Counter(kind for _, kind, _ in keys)),
        "lost": len(lost),
        "lost_by_kind": dict(Counter(kind for _, kind, _ in lost)),
        "doubled": sum(found[key] > 1 for key in keys),
        "acknowledged_twice": len(keys) - len(set(keys)),
        "not_acknowledged": sum(key not in set(keys) for key in found if " knows fact " in key[2]),
        "writes_a_second": round(len(keys) / seconds, 1),
        "longest_write_seconds": round(max(taken for *_, taken, _ in acknowledged), 2),
        "failed_answers": sum(failures.values()),
        "failures": dict(failures.most_common(6)),
    }


# --- the runs ------------------------------------------------------------------------------------


def primaries(pair: tuple[Server, Server], writers: Writers, rounds: int, *, wait: bool, lag: float) -> list[float]:
    """Kill the primary and promote its standby so many times; return the seconds until the standby took writes."""
    primary, standby = pair
    taken = []
    for round_ in range(rounds):
        standby.follow(primary).start()
        if wait:
            primary.say("ALTER SYSTEM SET synchronous_standby_names='*'", "SELECT pg_reload_conf()")
        state = "sync" if wait else "async"
        while primary.say(f"SELECT 1 FROM pg_stat_replication WHERE sync_state='{state}' AND state='streaming'") == []:
            time.sleep(0.1)
        writers.reach((round_ + 1) / (rounds + 1))
        if lag:
            [(receiver,)] = standby.say("SELECT pid FROM pg_stat_wal_receiver")
            os.kill(receiver, signal.SIGSTOP)
            time.sleep(lag)
        primary.kill()
        began = time.monotonic()
        if lag:
            os.kill(receiver, signal.SIGKILL)  # what it did not receive is gone with the primary
        standby.promote()
        taken.append(round(time.monotonic() - began, 3))
        primary, standby = standby, primary
    return taken


def measured(kind: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One of the runs, on servers of its own."""
    logs = folder / kind
    logs.mkdir()
    with servers(2) as (first, second):
        first.make().start()
        upgrade(first.dsn)
        dsn, began = dsn_of(first, second), time.monotonic()
        served = Served(dsn, options.servers, options.tenants) if kind == "servers" else None
        writers = Writers(served.address if served else dsn, logs, options.writers, options.writes, options.tenants)
        figures: dict[str, Any] = {}
        try:
            if kind in ("workers", "servers"):
                figures["kills"] = kills(writers, served or writers, options.kills)
            else:
                wait = kind == "synchronous"
                figures["promotions_seconds"] = primaries(
                    (first, second), writers, options.failovers, wait=wait, lag=0.0 if wait else options.lag
                )
            writers.wait()
        finally:
            writers.end()
            if served:
                served.end()
        return figures | judged(writers, dsn, options.tenants, began)


def kills(writers: Writers, victims: Processes, count: int) -> int:
    """Kill victims at random, spread over the writes; return how many were killed while they ran."""
    rnd, killed = random.Random(1), 0
    for number in range(count):
        writers.reach((number + rnd.random()) / (count + 1))
        killed += victims.kill(rnd.choice(sorted(victims.running)))
    return killed


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--writes", type=int, default=10_000, help="in each run")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--failovers", type=int, default=3)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--lag", type=float, default=1.0, help="seconds that the asynchronous standby is behind")
    parser.add_argument("--only", nargs="+", default=["synchronous", "workers", "servers", "asynchronous"])
    parser.add_argument("--write", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(options.write, options.name, options.log, options.writes, options.tenants)
        return
    with tempfile.TemporaryDirectory(prefix="mb-") as folder:
        print(json.dumps({kind: measured(kind, Path(folder), options) for kind in options.only}, indent=1))


if __name__ == "__main__":
    main()
