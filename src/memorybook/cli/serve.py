"""The verbs that serve over HTTP, serve and ui, and db: tables and tenants of a PostgreSQL server."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import command, working_directory, write
from memorybook.cli.wording import visible
from memorybook.errors import InvalidInput, MissingExtra, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from memorybook.cli.call import Call
    from memorybook.cli.show import Page
    from memorybook.config.settings import Config
    from memorybook.protocols import Storage


@command("serve")
def _serve(call: Call) -> dict[str, Any] | None:
    o = call.options
    given = {"host": o.host, "port": o.port, "tls_cert": o.tls_cert, "tls_key": o.tls_key}
    vars(o)["set"] = [*o.set, *([("storage.dsn", o.dsn)] if o.dsn else [])]
    return _run(call, given, workspace=o.workspace, tenants=o.tenants, insecure=o.insecure_no_tls)


@command("ui")
def _ui(call: Call) -> dict[str, Any] | None:
    """Serve the page on this machine alone, and open it in the browser."""
    try:
        from memorybook.http.page import page_routes  # noqa: F401
    except ImportError as missing:
        raise MissingExtra(f"memorybook ui needs {missing.name}: pip install 'memorybook[ui]'") from None
    given = {"host": "127.0.0.1", "port": call.options.port or 0, "tls_cert": "", "tls_key": ""}
    return _run(call, given, browser=not call.options.no_browser)


def _run(
    call: Call,
    given: dict[str, Any],
    *,
    workspace: str | None = None,
    tenants: bool = False,
    insecure: bool = False,
    browser: bool = False,
) -> dict[str, Any] | None:
    """Serve until it is told to stop, with these settings of the server."""
    try:
        from memorybook.http import uvicorn_server
        from memorybook.http.access import Logins
        from memorybook.http.app import build_app
        from memorybook.storage.stores import for_people
    except ImportError as missing:
        needs = f"memorybook serve needs {missing.name}: pip install 'memorybook[server]'"
        raise MissingExtra(needs) from None
    import logging

    o = call.options
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    if not o.verbose:
        logging.getLogger("memorybook.server").setLevel(logging.WARNING if o.quiet or browser else logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # a stranger's nonsense is worth no line
    vars(o)["set"] = [*o.set, *((f"server.{name}", value) for name, value in given.items() if value is not None)]
    config = call.config()
    settings = config.server
    uvicorn_server.check_reach(settings, insecure=insecure)
    books, token = _books(call, config, workspace, tenants=tenants)
    listening = uvicorn_server.listen(settings)
    logins = Logins(books.tokens.state)
    url = uvicorn_server.url_of(listening, settings)

    login, root = f"{url}/?token={logins.link()}", for_people(config, books.root)
    if o.json:
        call.write_json({"url": url, "login": login, "root": root, "token": token})
    else:
        lines = [f"serving {root} at {url}", f"log in once with {login}", f"the owner's token is in {token}"]
        write("".join(f"{visible(line)}\n" for line in lines))
    call.flush()
    app = build_app(books, logins)
    server = uvicorn_server.server_of(app, settings)
    if browser:
        import threading
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(login,), daemon=True).start()  # the socket listens already
    with uvicorn_server.clean_exit():
        server.run(sockets=[listening])
    return None


def _books(call: Call, config: Config, workspace: str | None, *, tenants: bool) -> tuple[Any, str]:
    """Say what is served, and where the owner's token is."""
    from memorybook.config.files import user_dir
    from memorybook.config.project import book_root
    from memorybook.http.access import Tokens, owner_token
    from memorybook.http.books import Books, open_state

    o, here, many = call.options, working_directory(), tenants or workspace is not None
    if many and (o.book or o.project):
        raise InvalidInput("--workspace and --tenants serve the books of tenants: leave --book and --project out")
    if bool(config.storage.dsn) == (workspace is not None) and many:
        raise InvalidInput("give --workspace DIR for tenants in folders, or --tenants for those of storage.dsn")
    if many:
        root = book_root(config, cwd=here, book=workspace) if workspace is not None else ""
    else:
        root = book_root(config, cwd=here, book=o.book, project=o.project)
    place = os.path.join(user_dir("state", os.environ, os.path.expanduser("~")), "token")
    owner = os.environ.get("MEMORYBOOK_TOKEN", "").strip()  # files that it is read from end with a newline
    if owner and len(owner) < 16:
        raise InvalidInput("MEMORYBOOK_TOKEN is too short: give at least 16 characters")
    tokens = Tokens(open_state(config, root, many=many), owner or owner_token(place))
    return Books(config, root, many=many, tokens=tokens), "MEMORYBOOK_TOKEN" if owner else place


# --- the database of a server ---------------------------------------------------------------------


_TAKES = {
    "upgrade": {"partitions"},
    "push": {"tenant", "replace"},
    "pull": {"tenant", "into", "replace"},
    "move-tenant": {"tenant", "to"},
    "erase": {"tenant", "yes"},
    "index": {"least"},
    "rest": {"days"},
}
"""What each action takes, besides the options of all of them."""

_LABELS = {"tenant": "TENANT", "least": "--from"} | {
    name: f"--{name}" for name in ("partitions", "into", "to", "replace", "days", "yes")
}


def _shown(shown: dict[str, Any], page: Page) -> None:
    count = page.words.counted
    for each in shown.get("servers", ()):
        if "version" in each:
            told = "was of this version already" if each["before"] == each["version"] else "is of this version now"
            page.line(("place", each["server"]), f" {told}: {each['version']}")
            continue
        if "indexed" in each:
            page.line(("place", each["server"]), ": ", ("good", f"{count(len(each['indexed']), 'tenant')} indexed"))
            for tenant, rows in each["indexed"].items():
                page.text(f"{tenant} {rows}", "  ")
            continue
        if "resting" in each:
            page.line(("place", each["server"]), ": ", ("good", f"{count(len(each['resting']), 'tenant')} put to rest"))
            for tenant, path in each["resting"].items():
                page.text(f"{tenant} {path}", "  ")
            continue
        page.line(("place", each["server"]), ": ", ("good", f"{count(sum(each['rows'].values()), 'row')} erased"))
        for table, rows in each["rows"].items():
            page.text(f"{table} {rows}", "  ")
        page.text(f"left {each['left']}", "  ")
    if "from" in shown:
        rows = sum(shown.get("rows", {}).values())
        page.line(
            ("place", shown["from"]), " → ", ("place", shown["to"]), *([f": {count(rows, 'row')}"] if rows else [])
        )
    if shown.get("kept"):
        page.remark(f"what was there before is kept as {shown['kept']}")


@command("db", show=_shown)
def _db(call: Call) -> dict[str, Any]:
    o = call.options
    actions: dict[str, Callable[[Call, Config], dict[str, Any]]] = {
        "upgrade": _upgrade,
        "push": _push,
        "pull": _pull,
        "move-tenant": _move,
        "erase": _erase,
        "index": _index,
        "rest": _rest,
    }
    if o.action not in actions:
        raise InvalidInput(f"db does {', '.join(actions)}, not {o.action!r}; see: memorybook db --help")
    for name, label in _LABELS.items():
        if getattr(o, name) and name not in _TAKES[o.action]:
            raise InvalidInput(f"db {o.action} takes no {label}")
    if "tenant" in _TAKES[o.action] and not o.tenant:
        raise InvalidInput(f"db {o.action} needs the name of a tenant: memorybook db {o.action} TENANT")
    vars(o)["set"] = [*o.set, *([("storage.dsn", o.dsn)] if o.dsn else [])]
    config = call.config()
    if not config.storage.dsn:
        raise InvalidInput("which PostgreSQL server is meant? give --dsn postgresql://…, or set storage.dsn")
    return actions[o.action](call, config)


def _upgrade(call: Call, config: Config) -> dict[str, Any]:
    from memorybook.storage.postgres_admin import upgrade
    from memorybook.storage.postgres_connection import dsns_of, shown
    from memorybook.storage.postgres_schema import PARTITIONS

    partitions = PARTITIONS if call.options.partitions is None else call.options.partitions
    done = []
    for dsn in dsns_of(config.storage.dsn):
        before, now = upgrade(dsn, partitions=partitions)
        done.append({"server": shown(dsn), "before": before, "version": now})
    return {"servers": done}


def _index(call: Call, config: Config) -> dict[str, Any]:
    from memorybook.storage.postgres_connection import dsns_of, shown
    from memorybook.storage.postgres_index import HNSW_FROM, build

    made = []
    for dsn in dsns_of(config.storage.dsn):
        rows = build(dsn, least=HNSW_FROM if call.options.least is None else call.options.least)
        made.append({"server": shown(dsn), "indexed": rows})
    return {"servers": made}


def _rest(call: Call, config: Config) -> dict[str, Any]:
    from memorybook.storage.postgres_admin import DAYS, rest
    from memorybook.storage.postgres_connection import dsns_of, shown

    folder = config.storage.idle_folder
    if not folder:
        raise InvalidInput("where are books kept that nobody uses? set storage.idle_folder, for the servers as well")
    days = DAYS if call.options.days is None else call.options.days
    return {
        "servers": [{"server": shown(dsn), "resting": rest(dsn, folder, days)} for dsn in dsns_of(config.storage.dsn)]
    }


def _push(call: Call, config: Config) -> dict[str, Any]:
    with closing(_local(call, config)) as book, closing(_tenant(call, config)) as tenant:
        return _copied(call, book, tenant)


def _pull(call: Call, config: Config) -> dict[str, Any]:
    with closing(_tenant(call, config)) as tenant, closing(_local(call, config)) as book:
        return _copied(call, tenant, book)


def _copied(call: Call, source: Storage, target: Storage) -> dict[str, Any]:
    if not source.exists():
        raise NotFound(f"there is no book at {source.root!r}")

    def fill(folder: str) -> None:
        source.copy(folder)

    kept = target.restore(fill, identity="", replace=call.options.replace, now=datetime.now(UTC))
    return {"from": source.root, "to": target.root, "kept": kept}


def _tenant(call: Call, config: Config) -> Storage:
    from memorybook.storage.stores import open_storage

    return open_storage(config, call.options.tenant)


def _local(call: Call, config: Config) -> Storage:
    from memorybook.config.project import book_root
    from memorybook.config.settings import StorageSettings
    from memorybook.storage.stores import open_storage

    o, files = call.options, config._replace(storage=StorageSettings())
    if o.into and (o.book or o.project):
        raise InvalidInput("--into names the folder: leave --book and --project out")
    book = os.path.join(working_directory(), os.path.expanduser(o.into)) if o.into else o.book
    return open_storage(files, book_root(files, cwd=working_directory(), book=book, project=o.project))


def _move(call: Call, config: Config) -> dict[str, Any]:
    from memorybook.storage.postgres_admin import move, waker

    if not call.options.to:
        raise InvalidInput("db move-tenant needs the other server: --to postgresql://…")
    done = move(config.storage.dsn, call.options.tenant, call.options.to, wake=waker(config.storage.idle_folder))
    return {"from": done.before, "to": done.now, "rows": dict(done.rows)}


def _erase(call: Call, config: Config) -> dict[str, Any]:
    from memorybook.storage.postgres_admin import erase, waker

    tenant, storage = call.options.tenant, config.storage
    call.confirm(f"Erase the book of {tenant!r} with its history, its conversations and its tokens, for good?")
    erased = erase(storage.dsn, tenant, wake=waker(storage.idle_folder))
    return {"tenant": tenant, "servers": [{**one._asdict(), "rows": dict(one.rows)} for one in erased]}
