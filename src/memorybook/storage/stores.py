"""Where a book is kept: `open_storage` builds its parts as the setting `storage.kind` says."""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Callable, Iterator, contextmanager, suppress
from memorybook.config.project import tenant_key
from memorybook.config.settings import machine_paths
from memorybook.errors import ConfigError, Unavailable
from memorybook.formats.document import PREPARED
from memorybook.storage.directory import STATE, DirectoryDocuments
from memorybook.storage.journal import SqliteJournal
from memorybook.storage.safe_open import check_system, claimed
from memorybook.storage.transcripts import open_transcripts

if TYPE_CHECKING:
    import threading
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memorybook.config.settings import Config
    from memorybook.protocols import Embedder, Index, Storage

_CHUNK = 1 << 20
_OURS = (".md.bak", ".mb-tmp", ".mb-swap")
_SHOWN = 100
_WRITTEN = ("daily", "sessions", "archive")


def open_storage(config: Config, root: str) -> Storage:
    """Return the storage of the book at `root`; nothing is made before something is written. Raises ConfigError."""
    where = config.storage
    if where.kind != "files" or where.dsn:
        kept = config.transcripts
        places = {"db_path": config.db_path, "transcripts.db_path": kept.db_path, "transcripts.url": kept.url}
        if name := next((name for name, place in places.items() if place), ""):
            kind = "postgresql" if where.dsn else where.kind
            raise ConfigError(f'{name} keeps a part of the book elsewhere than storage.kind "{kind}": leave one out')
    if where.dsn:
        from memorybook.storage.postgres_admin import waker
        from memorybook.storage.postgres_storage import PostgresStorage

        return PostgresStorage(
            where.dsn, root, pool=where.pool, wake=waker(where.idle_folder), standby_reads=where.standby_reads
        )
    if where.kind == "postgresql":
        raise ConfigError('storage.kind "postgresql" needs the server\'s address in storage.dsn')
    if where.kind == "memory":
        from memorybook.storage.in_memory import MemoryStorage

        return MemoryStorage(root)
    return FileStorage(root, config)


SERVED = "server"
"""Channel of the tenants that `memorybook serve` has: their names are the owner's, and are never given twice."""


def address(config: Config, place: str) -> str:
    """Return the root of a book, or of a workspace, that somebody wrote: an absolute path, or a name on a server."""
    return place if config.storage.dsn else os.path.abspath(os.path.expanduser(place))


def tenant_address(config: Config, workspace: str, channel: str, chat_id: str) -> str:
    """Return the root of a tenant's book: a folder of the workspace, or on a server just a name."""
    key = tenant_key(channel, chat_id)
    if config.storage.dsn:
        return chat_id if channel == SERVED else key
    return os.path.join(workspace, key)


def for_people(config: Config, root: str) -> str:
    """Return where a book or a workspace is, for those who may know."""
    if not config.storage.dsn:
        return root
    from memorybook.storage.postgres_connection import dsns_of, shown

    known = ", ".join(map(shown, dsns_of(config.storage.dsn)))
    return f"{known}#{root}" if root else known


def placeless(config: Config, *places: str) -> Callable[[str], str]:
    """Take out of a text where this machine keeps things, and which database server it uses; see `machine_paths`."""
    paths = machine_paths(config, *filter(os.path.isabs, places))
    if not config.storage.dsn:
        return paths
    import re

    from memorybook.storage.postgres_connection import dsns_of, shown

    known = "|".join(re.escape(shown(dsn)) for dsn in dsns_of(config.storage.dsn))
    # what its driver says names hosts and users, up to the end of the text in JSON or of the element in HTML
    found = re.compile(rf"(?:{known})((?:'|&#x27;|&#39;)[^:\"]{{,40}}: (?:\\.|[^\"\\<\n])*)?")
    return lambda text: found.sub(lambda one: f"...{(one[1] or '').partition(':')[0]}", paths(text))


class FileStorage:
    """`Storage` in a folder: documents as they are, machine state and SQLite databases in `.memorybook` in it."""

    def __init__(self, root: str, config: Config) -> None:
        check_system()
        self.documents = DirectoryDocuments(root)
        self.root = self.documents.root
        self.machine = os.path.join(root, STATE)
        kept, prepare = config.transcripts, self.documents.prepare
        self.transcripts = open_transcripts(self.machine, kept.db_path, kept.url, kept.auth_token, prepare=prepare)
        self.journal = SqliteJournal(os.path.join(self.machine, "journal.sqlite"), prepare=prepare)
        self._index = config.db_path or os.path.join(self.machine, "index.sqlite")
        self._extension = config.sqlite_vec_extension_path

    def open_index(self, embedder: Embedder | None) -> Index:
        """Return the index in SQLite."""
        from memorybook.storage.index.sqlite_index import SqliteIndex

        return SqliteIndex(self._index, embedder=embedder, sqlite_vec=self._extension)

    def exists(self) -> bool:
        """Return whether there is a folder."""
        return os.path.isdir(self.root)

    def transaction(self) -> AbstractContextManager[None]:
        """Hold the lock of the documents; what a crash leaves half done, `Book` completes from the journal."""
        return self.documents.lock()

    @contextmanager
    def lease(self, work: str) -> Iterator[bool]:
        """Yield whether nobody else, in any process or thread, does this work until the block ends."""
        with suppress(Unavailable):  # whoever cannot write shares the work with nobody
            self.documents.prepare()
        with claimed(os.path.join(self.machine, f"{work}.lock")) as ours:
            yield ours

    def identity(self, *, make: bool) -> str:
        """Return the random name in the file `node`; made if it has none yet and `make`, else ""."""
        with suppress(OSError), open(os.path.join(self.machine, "node"), encoding="ascii") as file:
            return file.read(32)
        if not make:
            return ""
        from memorybook.storage import safe_open
        from memorybook.storage.target import write_plain

        made = os.urandom(16).hex()
        safe_open.own_folder(self.machine)
        with safe_open.closing(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as root:
            folder = safe_open.open_folder(root, [STATE], STATE)
        with safe_open.closing(folder):
            write_plain(folder, "node", made.encode(), 0o600)
        return made

    def drop_prepared(self) -> None:
        """Discard the block that hooks keep for the start of a session."""
        with suppress(OSError):
            os.unlink(os.path.join(self.root, STATE, PREPARED))

    def leftovers(self, holds: Callable[[bytes], object], overlap: int) -> tuple[list[str], int]:
        """Return the files of the folder that hold it, those of the index only if no others do, and how many there are.

        A file is read in pieces that overlap by so many bytes.
        """
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names)
        found = [os.path.relpath(path, self.root) for path in files if _holds(path, holds, overlap)]
        truth = [path for path in found if not os.path.basename(path).startswith("index.")]
        return truth or found, len(files)  # the index holds what stands elsewhere

    def strangers(self, known: set[str]) -> list[str]:
        """Return files of the folder that are neither `known` nor memorybook's own; the first hundred."""
        from memorybook.formats.document import IGNORED, gitignore_of

        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name not in (STATE, ".git"))
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), self.root)
                if path == ".gitignore" and gitignore_of(self.root) == IGNORED:
                    continue
                if path.replace(os.sep, "/") not in known and not name.endswith(_OURS):
                    found.append(path)
        return found[:_SHOWN]

    def copy(self, folder: str) -> list[str]:
        """Copy the book as it is at one moment into an empty folder, with the times and permissions of its files."""
        from memorybook.storage.archive import copy

        return copy(self, folder, lambda path: os.stat(os.path.join(self.root, path)))

    def restore(self, fill: Callable[[str], None], *, identity: str, replace: bool, now: datetime) -> str:
        """Fill a folder beside the book's, and let the two change places; the old one is renamed."""
        from memorybook.storage.archive import replace_folder

        identity = self.identity(make=False) or identity
        return replace_folder(self.documents, fill, identity=identity, replace=replace, now=now)

    def notices(self, stop: threading.Event | None) -> Iterator[None]:
        """Yield whenever a Markdown file changed, as the system tells it."""
        from watchfiles import DefaultFilter, watch

        class Markdown(DefaultFilter):
            """Only documents: machine state changes with every search."""

            def __call__(self, change: object, path: str) -> bool:
                return path.endswith(".md") and super().__call__(change, path)  # type: ignore[arg-type]

        for _ in watch(self.root, watch_filter=Markdown(), stop_event=stop, raise_interrupt=True):
            yield

    def writable(self) -> bool:
        """Return whether the folders that documents are written into give that right."""
        folders = (os.path.join(self.root, name) for name in ("", *_WRITTEN))
        return all(os.access(folder, os.W_OK | os.X_OK) for folder in folders if os.path.exists(folder))

    def erase(self) -> None:
        """Remove the folder. Raises OSError."""
        import shutil

        shutil.rmtree(self.root)

    def hint(self) -> str:
        """Say what is kept out of git, where the folder is in a repository."""
        from pathlib import Path

        from memorybook.formats.document import IGNORED, gitignore_of

        root = Path(self.root)
        if not any(os.path.lexists(folder / ".git") for folder in (root, *root.parents)):
            return ""
        ignored = gitignore_of(self.root)
        if ignored is None or IGNORED.strip() in ignored.split():
            return "machine state and the back-up copy are kept out of git"
        return "machine state ignores itself; to keep the back-up copy out of git too, add '*.md.bak' to .gitignore"

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""
        for part in (self.transcripts, self.journal, self.documents):
            part.close()


def _holds(path: str, holds: Callable[[bytes], object], overlap: int) -> bool:
    try:
        with open(path, "rb") as file:
            tail = b""
            while chunk := file.read(_CHUNK):
                if holds(tail + chunk):
                    return True
                tail = (tail + chunk)[-overlap:]
    except OSError:  # it is gone by now, or is no file
        return False
    return False
