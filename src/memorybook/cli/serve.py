"""The verbs that serve over HTTP: serve and ui."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import command, working_directory, write
from memorybook.errors import InvalidInput, MissingExtra
from memorybook.text.screen import visible

if TYPE_CHECKING:
    from memorybook.cli.call import Call
    from memorybook.config.settings import Config


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
    from memorybook.http.api_tokens import Tokens, owner_token
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
