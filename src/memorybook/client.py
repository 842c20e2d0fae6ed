"""A client for a served book, with the verbs of `Memory`: `connect(url, token)` instead of `open()`.

Every verb takes the same parameters, returns the same frozen values and raises the same errors. What needs the book at
hand is left out; `docs/client.md` lists it.
"""

from __future__ import annotations

import inspect
import json
import os
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from datetime import date
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import quote, urlencode, urlsplit

from memorybook import results
from memorybook.entries.background_tasks import Finished, Keeper, Running
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, NotFound, Unavailable, error_of
from memorybook.http.rest_api import API, BY_VERB, Resource
from memorybook.memory import Memory
from memorybook.storage.directory import refusals
from memorybook.storage.output_file import put_in_place
from memorybook.validate import day_of, renamed

if TYPE_CHECKING:
    import httpx2

    from memorybook.entries.documents import WrittenDocument
    from memorybook.exchange.export import Backup, Export

P = ParamSpec("P")
R = TypeVar("R")

_CONNECTING = 10.0
_KEPT = 2.0
"""Seconds that an idle connection is kept, well below the five of servers: none is used that they close just then."""

_WAITS = (0.2, 1.0)
_LONGEST_WAIT = 5.0
_NOT_BEGUN = frozenset({"busy", "too_many"})
"""Codes of refusals before anything was done."""

_NO_PLACE = "there is no such place"
"""Message of a 404 for an unknown path, as opposed to an unknown entry or document."""


def _verb(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Client, P], R]:
    """Return the verb of `Memory` as a request."""

    @wraps(method)
    def asked(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = _signature(method).bind(self, *args, **renamed(_signature(method).parameters, kwargs)).arguments
        return cast("R", self._ask(method, {name: given[name] for name in list(given)[1:]}))

    return cast("Callable[Concatenate[Client, P], R]", asked)


class Client:
    """A book on a server, made by `connect`. Safe to share between threads; use it as a context manager or `close` it.

    Besides what a verb of `Memory` raises, each raises Unavailable if the server cannot be reached, does not answer in
    time or takes no more, and Refused for what the token is not good for.
    """

    def __init__(self, url: str, http: httpx2.Client) -> None:
        self.url = url
        self._http = http
        self._keeper = Keeper(
            lambda task: self.store_if_worthwhile(
                task.goal, task.result, task.log, task.metadata, session_id=task.session, error=task.error
            )
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Store the tasks that are finished, close the connections; closing twice does nothing."""
        self._keeper.close()
        self._http.close()

    # --- finding -------------------------------------------------------------------------------

    search = _verb(Memory.search)
    recall_memory = _verb(Memory.recall_memory)
    get = _verb(Memory.get)
    entries = _verb(Memory.entries)
    recall = _verb(Memory.recall)
    preview = _verb(Memory.preview)
    retrieve_and_inject = _verb(Memory.retrieve_and_inject)
    get_prompt_memories = _verb(Memory.get_prompt_memories)
    get_prompt_memories_text = _verb(Memory.get_prompt_memories_text)
    summarize_existing = _verb(Memory.summarize_existing)

    # --- writing -------------------------------------------------------------------------------

    remember = _verb(Memory.remember)
    append = _verb(Memory.append)
    flush = _verb(Memory.flush)
    update = _verb(Memory.update)
    pin = _verb(Memory.pin)
    unpin = _verb(Memory.unpin)
    confirm = _verb(Memory.confirm)
    revise = _verb(Memory.revise)
    store_if_worthwhile = _verb(Memory.store_if_worthwhile)
    forget = _verb(Memory.forget)
    purge = _verb(Memory.purge)

    def task(self, goal: str, *, session: str | None = None, metadata: Mapping[str, Any] | None = None) -> Running:
        """See `Memory.task`."""
        return Running(self, goal, session=session, metadata=metadata)

    def _finish(self, task: Finished) -> None:
        """Queue a finished task for storing in the background."""
        self._keeper.add(task)

    # --- what was done, what waits for a person's word -------------------------------------------

    history = _verb(Memory.history)
    activity = _verb(Memory.activity)
    why = _verb(Memory.why)
    undo = _verb(Memory.undo)
    review = _verb(Memory.review)
    accept = _verb(Memory.accept)
    reject = _verb(Memory.reject)
    tidy = _verb(Memory.tidy)

    # --- conversations -------------------------------------------------------------------------

    open_session = _verb(Memory.open_session)
    add_messages = _verb(Memory.add_messages)
    end_session = _verb(Memory.end_session)
    retry_parked = _verb(Memory.retry_parked)
    close_idle = _verb(Memory.close_idle)
    sessions = _verb(Memory.sessions)
    recall_history = _verb(Memory.recall_history)
    recall_topic = _verb(Memory.recall_topic)
    recall_session = _verb(Memory.recall_session)
    recall_within = _verb(Memory.recall_within)
    detect = _verb(Memory.detect)
    recollect = _verb(Memory.recollect)

    def process_session_end(
        self, messages: Sequence[Mapping[str, Any]] = (), session_id: str | None = None, *, model: str = ""
    ) -> results.Memorized:
        """See `Memory.process_session_end`; uses the server's language model."""
        given = {"messages": messages, "session_id": session_id, "model": model}
        return cast("results.Memorized", self._ask(Memory.process_session_end, given))

    # --- documents -----------------------------------------------------------------------------

    documents = _verb(Memory.documents)
    document = _verb(Memory.document)
    rename_document = _verb(Memory.rename_document)

    def write_document(self, path: str, text: str, *, expect: str | None = None) -> WrittenDocument:
        """See `Memory.write_document`."""
        try:
            content = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise InvalidInput(f"write_document was given what cannot be sent to a server: {error}") from None
        place, headers = _place(BY_VERB["write_document"], {"path": path}), {"Content-Type": "text/markdown"}
        if expect is None:
            place += "?overwrite=true"
        else:
            headers |= {"If-None-Match": "*"} if expect == "" else _if_match(expect)
        response = self._sent("PUT", place, content=content, headers=headers)
        return cast("WrittenDocument", self._read(Memory.write_document, response))

    def remove_document(self, path: str, *, expect: str | None = None) -> WrittenDocument:
        """See `Memory.remove_document`."""
        place = _place(BY_VERB["remove_document"], {"path": path})
        response = self._sent("DELETE", place, headers=_if_match(expect))
        return cast("WrittenDocument", self._read(Memory.remove_document, response))

    # --- files of this machine -----------------------------------------------------------------

    def import_file(
        self,
        *paths: str,
        scope: str | None = None,
        format: str | None = None,
        since: str | date | None = None,
        by_model: bool = False,
        dry_run: bool = False,
    ) -> results.Imported:
        """See `Memory.import_file`; takes files and zip archives, each sent and imported separately, in order."""
        for path in paths:
            if not os.path.isfile(path):
                raise NotFound(f"there is no file {path!r}; of a folder make a zip archive, or name its files")
        if not paths:
            raise InvalidInput("nothing to import: name a file or a zip archive")
        asked = {"scope": scope, "format": format, "since": day_of(since, "since")}
        query = {name: value for name, value in asked.items() if value is not None}
        query |= {"by_model": str(by_model).lower(), "dry_run": str(dry_run).lower()}
        parts: list[results.Imported] = []
        for path in dict.fromkeys(paths):
            with refusals(f"{path!r} cannot be read"), open(path, "rb") as file:
                content = file.read()
            name = os.path.basename(path).lstrip(".-") or "upload"  # a server takes no hidden ones
            place = f"import?{urlencode({'name': name, **query}, errors='replace')}"
            parts.append(self._read(Memory.import_file, self._sent("POST", place, content=content)))
        found = parts[0]
        for part in parts[1:]:
            pairs: Any = zip(found, part, strict=True)
            found = results.Imported._make(mine if isinstance(mine, bool) else mine + other for mine, other in pairs)
        return found._replace(formats=tuple(dict.fromkeys(found.formats)))

    def export(self, path: str, *, session: str | None = None) -> Export:
        """See `Memory.export`; writes a new file on this machine. Raises Conflict if it exists and is not empty."""
        from memorybook.exchange.export import Export

        if os.path.isfile(path) and os.path.getsize(path):
            raise Conflict(f"{path!r} exists, and only a memory at hand makes an export grow: give another name")
        counts = self._downloaded(
            "export" if session is None else f"export?{urlencode({'session': session}, errors='replace')}", path
        )
        return cast("Export", results.from_json(Export, {**counts, "path": path}))

    def backup(self, path: str) -> Backup:
        """See `Memory.backup`; writes a file on this machine, `left_out` is always empty."""
        from memorybook.exchange.export import Backup, check_place

        check_place(path)
        return cast("Backup", results.from_json(Backup, {**self._downloaded("backup", path), "path": path}))

    def _downloaded(self, place: str, path: str) -> Mapping[str, Any]:
        """Download that place of the API into a file. Return the server's counts of its contents."""
        import httpx2

        self._check_open()
        try:
            with put_in_place(path) as new, open(new, "wb") as file, self._http.stream("GET", place) as response:
                if not response.is_success:
                    response.read()
                    raise self._failed(response)
                for chunk in response.iter_bytes():
                    file.write(chunk)
                return cast("Mapping[str, Any]", json.loads(response.headers["x-memorybook-wrote"]))
        except httpx2.HTTPError as error:
            raise Unavailable(self._unreached(error)) from None
        except (KeyError, ValueError):
            raise Unavailable(f"{self.url} does not say what is in its {place}: it may be of another version") from None

    # --- upkeep --------------------------------------------------------------------------------

    init = _verb(Memory.init)
    status = _verb(Memory.status)

    def sync(self) -> dict[str, Any]:
        """See `Memory.sync`."""
        return cast("dict[str, Any]", self._ask(Memory.sync, {}))

    def rebuild(self) -> dict[str, Any]:
        """See `Memory.rebuild`."""
        return cast("dict[str, Any]", self._ask(Memory.rebuild, {}))

    # --- asking --------------------------------------------------------------------------------

    def _ask(self, method: Callable[..., Any], given: Mapping[str, Any]) -> Any:
        """Return what the verb returns on the server."""
        resource = BY_VERB[method.__name__]
        rest, headers = dict(given), {"Accept": "application/json"}
        if method.__name__ in ("pin", "unpin"):
            rest = {"pinned": method.__name__ == "pin", **rest}
        place = _place(resource, rest)
        query = _query(resource, rest) if resource.method == "GET" else None
        if query is not None:
            response = self._sent("GET", f"{place}?{query}" if query else place, again=True, headers=headers)
        else:
            headers |= {"Content-Type": "application/json"} | (_if_match(None) if resource.method == "PATCH" else {})
            verb = "POST" if resource.reads else resource.method
            try:
                body = json.dumps(rest, default=_plain, allow_nan=False)
            except (TypeError, ValueError, RecursionError) as error:
                raise InvalidInput(f"{method.__name__} was given what cannot be sent to a server: {error}") from None
            response = self._sent(verb, place, again=resource.reads, content=body, headers=headers)
        return self._read(method, response)

    def _read(self, method: Callable[..., Any], response: httpx2.Response) -> Any:
        """Return the value in the answer of that method."""
        try:
            return results.from_json(_answer(method), response.json())
        except (ValueError, RecursionError) as error:
            told = f"{method.__name__} cannot be read from {self.url}, which may be of another version: {error}"
            raise Unavailable(told) from None

    def _sent(self, verb: str, path: str, *, again: bool = False, **request: Any) -> httpx2.Response:
        """Send a request and return its response. Retries only if nothing can have been done, or with `again`."""
        import httpx2

        self._check_open()
        for pause in (*_WAITS, None):
            try:
                response = self._http.request(verb, path, **request)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                nobody = isinstance(error, httpx2.ConnectError) and not _is_stranger(error)
                repeat = nobody or (again and not isinstance(error, httpx2.ConnectError | httpx2.TimeoutException))
                problem: MemoryBookError = Unavailable(self._unreached(error))
            else:
                if response.is_success:
                    return response
                problem = self._failed(response)
                repeat = problem.code in _NOT_BEGUN
                asked = response.headers.get("retry-after", "")
                pause = pause and max(pause, min(float(asked), _LONGEST_WAIT) if asked.isdecimal() else 0.0)
            if pause is None or not repeat:
                raise problem
            time.sleep(pause)
        raise AssertionError

    def _check_open(self) -> None:
        if self._http.is_closed:
            raise Unavailable(f"this client of {self.url} is closed: connect anew")

    def _unreached(self, error: Exception) -> str:
        import httpx2

        if _is_stranger(error):
            return f"the certificate of {self.url} is not trusted ({error}): give it, or who signed it, as ca"
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return f"no server answers at {self.url} ({error}): start it with `memorybook serve`"
        if isinstance(error, httpx2.TimeoutException):
            return f"the server at {self.url} did not answer in time: what was asked of it may be done all the same"
        return f"the connection to {self.url} broke ({error}): what was asked of it may be done all the same"

    def _failed(self, response: httpx2.Response) -> MemoryBookError:
        """Return the error that a response describes."""
        status = response.status_code
        try:
            told = response.json()["error"]
            code, message = str(told["code"]), str(told["message"])
        except (ValueError, LookupError, TypeError, RecursionError):
            return Unavailable(f"{self.url} answered {status} as no memorybook does: is the address right?")
        if status == 404 and message == _NO_PLACE:
            return Unavailable(
                f"{self.url} has no such verb: is it of another version, or the address not the server's?"
            )
        error = error_of(code, status)(message)
        error.code = code
        return error


def connect(
    url: str, token: str, *, tenant: str | None = None, timeout: float = 150.0, ca: str | None = None
) -> Client:
    """Return a memory on a server. Nothing is sent before the first verb.

    Args:
        url: Where `memorybook serve` says that it is, `http://127.0.0.1:8765`.
        token: The owner's, or one that the owner gave out.
        tenant: Whose book is meant, for the owner's token on a server of many.
        timeout: Seconds to wait for an answer; a server says by itself after its `server.timeout` that it is late.
        ca: File of the certificates that are trusted, PEM; None takes the usual ones.

    Raises:
        InvalidInput: An address, a token or a certificate that cannot be used.
    """
    place = _address(url)
    headers = {"Authorization": f"Bearer {_sendable(token, 'token')}"}
    if tenant is not None:
        headers["X-Memorybook-Tenant"] = _sendable(tenant, "tenant")
    if not timeout > 0:
        raise InvalidInput(f"timeout {timeout!r} must be above 0")
    import httpx2

    wait = httpx2.Timeout(timeout, connect=min(timeout, _CONNECTING))
    verify: ssl.SSLContext | bool = place.startswith("https:")  # reading certificates takes time plain HTTP need not
    if verify and ca is not None:
        try:
            verify = ssl.create_default_context(cafile=ca)
        except (OSError, ssl.SSLError) as error:
            raise InvalidInput(f"ca {ca!r} holds no certificates that can be read: {error}") from None
    pool = httpx2.Limits(keepalive_expiry=_KEPT)
    http = httpx2.Client(
        base_url=f"{place}{API}/", headers=headers, timeout=wait, limits=pool, verify=verify, trust_env=False
    )
    return Client(place, http)


def _address(url: str) -> str:
    """Normalise the address, without a trailing slash."""
    place = url.strip().rstrip("/") if isinstance(url, str) else ""
    try:
        parts = urlsplit(place)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and place.isprintable()
    except ValueError:
        sound = False
    if not sound or "?" in place or "#" in place or "@" in parts.netloc:
        raise InvalidInput("the address of a server is such as 'http://127.0.0.1:8765', without a token in it")
    return parts._replace(scheme=parts.scheme.lower()).geturl()


def _sendable(value: str, name: str) -> str:
    found = value.strip() if isinstance(value, str) else ""
    if not (found and found.isascii() and found.isprintable()):
        raise InvalidInput(f"{name} has characters that cannot be sent, or none")
    return found


def _is_stranger(error: Exception) -> bool:
    """Return whether the server's certificate is not trusted."""
    return "CERTIFICATE_VERIFY_FAILED" in str(error)


@cache
def _signature(method: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(method)


@cache
def _answer(method: Callable[..., Any]) -> Any:
    return results.hints_of(method)["return"]


_LONGEST_QUERY = 4000
"""Characters of a query that is sent in an address; a longer one goes into a body."""


def _place(resource: Resource, given: MutableMapping[str, Any]) -> str:
    """Return the path of a resource below the API; what stands in it is taken out of `given`."""
    parts = []
    for part in resource.path.split("/")[1:]:
        if part.startswith("{"):
            value = given.pop(part.strip("{}").removesuffix(":path"))
            try:
                part = quote(str(value), safe="/" if ":" in part else "")
            except UnicodeEncodeError:
                raise InvalidInput(f"{value!r:.80} is not UTF-8 and cannot stand in an address") from None
        parts.append(part)
    dots = {".": "%2E", "..": "%2E%2E"}  # which clients would resolve
    return "/".join(dots.get(part, part) for part in "/".join(parts).split("/"))


def _query(resource: Resource, given: Mapping[str, Any]) -> str | None:
    """Return the arguments as a query; None if they have to go into a body."""
    sent = {}
    for name, value in given.items():
        default = _signature(getattr(Memory, resource.verb)).parameters[name].default
        if value is None and default is None:
            continue
        if not isinstance(value, str | int | float | None):
            value = _plain(value)
        sent[name] = "" if value is None else str(value).lower() if isinstance(value, bool) else value
    try:
        query = urlencode(sent, doseq=True)
    except UnicodeEncodeError:
        if resource.long:
            return None
        raise InvalidInput(f"{resource.verb} was given text that is not UTF-8") from None
    return None if resource.long and len(query) > _LONGEST_QUERY else query


def _if_match(revision: str | None) -> dict[str, str]:
    return {"If-Match": "*" if revision is None else f'"{_sendable(revision, "expect")}"'}


def _plain(value: object) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return list(value)
    raise TypeError(f"a {type(value).__name__}")
