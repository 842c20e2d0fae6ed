"""The verb that serves over HTTP: serve."""

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
    try:
        from memorybook.http import uvicorn_server
        from memorybook.http.access import Logins
        from memorybook.http.app import build_app
    except ImportError as missing:
        needs = f"memorybook serve needs {missing.name}: pip install 'memorybook[server]'"
        raise MissingExtra(needs) from None
    import logging

    o = call.options
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING, force=True)
    logging.getLogger("memorybook.server").setLevel(logging.WARNING if o.quiet else logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # a stranger's nonsense is worth no line
    given = {"host": o.host, "port": o.port, "tls_cert": o.tls_cert, "tls_key": o.tls_key}
    vars(o)["set"] = [*o.set, *((f"server.{name}", value) for name, value in given.items() if value is not None)]
    config = call.config()
    settings = config.server
    uvicorn_server.check_reach(settings, insecure=o.insecure_no_tls)
    books, token = _books(call, config)
    listening = uvicorn_server.listen(settings)
    logins = Logins()
    url = uvicorn_server.url_of(listening, settings)

    login = f"{url}/?token={logins.link()}"
    if o.json:
        call.write_json({"url": url, "login": login, "root": books.root, "token": token})
    else:
        lines = [f"serving {books.root} at {url}", f"log in once with {login}", f"the owner's token is in {token}"]
        write("".join(f"{visible(line)}\n" for line in lines))
    call.flush()
    with uvicorn_server.clean_exit():
        uvicorn_server.server_of(build_app(books, logins), settings).run(sockets=[listening])
    return None


def _books(call: Call, config: Config) -> tuple[Any, str]:
    """Say what is served, and where the owner's token is."""
    from memorybook.config.project import book_root
    from memorybook.context import MACHINE
    from memorybook.http.api_tokens import Tokens, owner_token
    from memorybook.http.books import Books

    o, here = call.options, working_directory()
    if o.workspace is not None:
        if o.book or o.project:
            raise InvalidInput("--workspace serves the books of tenants: leave --book and --project out")
        root = book_root(config, cwd=here, book=o.workspace)
        kept = os.path.join(root, "tenants.json")
    else:
        root = book_root(config, cwd=here, book=o.book, project=o.project)
        kept = os.path.join(root, MACHINE, "tokens.json")
    folder = os.environ.get("XDG_STATE_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    home = os.path.join(os.path.expanduser("~"), ".local", "state")
    place = os.path.join(folder if os.path.isabs(folder) else home, "memorybook", "token")
    owner = os.environ.get("MEMORYBOOK_TOKEN", "").strip()  # files that it is read from end with a newline
    if owner and len(owner) < 16:
        raise InvalidInput("MEMORYBOOK_TOKEN is too short: give at least 16 characters")
    tokens = Tokens(kept, owner or owner_token(place))
    return Books(config, root, many=o.workspace is not None, tokens=tokens), "MEMORYBOOK_TOKEN" if owner else place
