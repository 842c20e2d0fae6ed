"""Find the book of a folder: a workspace holds many books, one per project.

A project keeps its book when its folder is renamed or gets a git remote: the id of the book is in the folder
(`.memorybook-project`, inside `.git` if there is one) and, with the book's key and the folder, in the workspace
(`.projects`). Only an id that both know counts, so no folder can choose whose book it opens, and a copied folder is
told from a moved one.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, NamedTuple, Sequence, suppress
from memorybook.config.files import folders_above, git_folder, text_of
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from memorybook.config.settings import Config

MARK = ".memorybook-project"
"""File of a project's folder, or of its git folder, with the ids that workspaces know it by, one per line."""

_RECORD = ".projects"
_LONGEST_KEY = 120
_NEAR = 3


class Project(NamedTuple):
    """The project around a folder.

    Attributes:
        key: Folder of its book in the workspace.
        home: Folder that its mark belongs into; "" where the book or its key is named otherwise.
        id: What mark and workspace both know; "" while they do not.
        settled: Whether they say so of just this folder.
        copy_of: Project folder that this one is a copy of, and its key; "" for none.
    """

    key: str = ""
    home: str = ""
    id: str = ""
    settled: bool = False
    copy_of: tuple[str, str] = ("", "")


def book_root(config: Config, *, cwd: str, book: str | None = None, project: str | None = None) -> str:
    """Return the directory of the book meant here, absolute; it need not exist. One that does stays this project's.

    `book` (a directory) wins, then the configured `root_dir`, then `workspace_dir` / key, where the
    key is `project`, else the configured `project_key`, else that of the project around `cwd`.

    Raises:
        InvalidInput: A blank book, one where a file is, or whose path is not UTF-8; a project key that would
            not be one plain folder name.
    """
    root, found = locate(config, cwd=cwd, book=book, project=project)
    keep(root, found)
    return root


def locate(
    config: Config, *, cwd: str, book: str | os.PathLike[str] | None = None, project: str | None = None
) -> tuple[str, Project]:
    """Return the directory, and the project that it is found by; of a server's books, the tenant.

    Raises as `book_root` does.
    """
    if book is not None and not os.fspath(book).strip():
        raise InvalidInput(f"book is blank ({book!r}): give a directory, or leave it out for the project's book")
    if config.storage.dsn:
        return os.fspath(book or project or config.storage.tenant), Project()
    book = book or (config.root_dir if project is None else "")
    if book:
        return _usable(os.path.abspath(os.path.join(cwd, os.path.expanduser(book)))), Project()
    workspace = os.path.abspath(os.path.expanduser(config.workspace_dir))
    key = project if project is not None else config.project_key
    found = Project(key) if project is not None or key else project_around(workspace, cwd)
    key = found.key
    if not 0 < len(key) <= _LONGEST_KEY or key[0] == "." or not all(_is_plain(c) or c in "@+" for c in key):
        raise InvalidInput(
            f"project key {found.key!r} cannot be a folder name: use letters, digits, '_', '-', '.', '@', '+'"
        )
    return _usable(os.path.join(workspace, found.key)), found if config.enabled else Project(found.key)


def book_of_layer(config: Config, layer: str | None, other: object = None) -> str:
    """Return the directory of a layer's book; "" for the project's, which is found as without layers.

    Raises:
        InvalidInput: An unknown layer, one that the settings name no book for, or one beside an `other` book.
    """
    if layer is None or (layer == "project" and not other):
        return ""
    if layer not in ("project", *config.layers._fields):
        raise InvalidInput(f"unknown layer {layer!r}: there is personal, project and team")
    if other:
        raise InvalidInput(f"layer {layer!r} and {other!r} name two books: give one of them")
    place: str = getattr(config.layers, layer)
    if not place:
        raise InvalidInput(f"no {layer} book: name its directory in the setting layers.{layer}")
    return place


def layer_of(config: Config, root: str) -> str:
    """Return which layer the book at `root` is."""
    named = zip(config.layers._fields, config.layers, strict=True)
    return next(
        (name for name, place in named if place and os.path.realpath(place) == os.path.realpath(root)), "project"
    )


def _usable(root: str) -> str:
    """Return the root, if a book can be there: its databases take no path that is not UTF-8."""
    try:
        root.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"the book's path {root!r} is not UTF-8: give a directory whose path is") from None
    if "\0" in root:
        raise InvalidInput(f"the book's path {root!r} has a NUL in it: leave it out")
    place = root
    while not os.path.exists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise InvalidInput(f"{place} is a file, not a directory: give the book's directory")
    return root


# --- a project's folder ----------------------------------------------------------------------------


def project_around(workspace: str, cwd: str) -> Project:
    """Return the project that `cwd` is in: the nearest folder with a book of its own, up to the git top level.

    A new one has the key `github.com_owner_repo` of its git remote, which clones share, else that of its folder's name
    and path, of the main one for git's worktrees. The user's home and what is above has only itself for a project.
    """
    start = os.path.realpath(cwd)
    *_, above = folders_above(start)
    top = above if os.path.lexists(os.path.join(above, ".git")) else None
    user = os.path.join(os.path.realpath(os.path.expanduser("~")), "")
    folder = start
    while True:
        git = git_folder(folder) if folder == top else ""
        if folder in (start, top) or not user.startswith(os.path.join(folder, "")):
            homes = [git, folder] if git else [folder]
            marked, copy_of = _marked(workspace, homes)
            if marked is not None:
                return marked
            keys = _keys(folder, git) if folder == top or top is None else []
            for number, key in enumerate(keys):
                # one that was marked here has another name only if another project stands here now
                place = b" " + os.fsencode(homes[0])
                marked_once = number and any(line.endswith(place) for line in _record(workspace))
                if os.path.isdir(os.path.join(workspace, key)) and not marked_once:
                    return Project(key, homes[0])
            if folder == top or (keys and copy_of[0]):
                return Project(keys[0], homes[0], copy_of=copy_of)
        parent = os.path.dirname(folder)
        if parent == folder:
            return Project(_key_of_folder(start), start)
        folder = parent


def keep(root: str, project: Project) -> Project:
    """Let the book at `root`, once it is there, stay the project's; a folder that cannot be marked is left as it is."""
    home, name = project.home, os.path.join(project.home, MARK)
    if not home or project.settled or "\n" in home or not os.path.isdir(root):
        return project
    workspace = os.path.dirname(root)
    id = project.id or os.urandom(16).hex()
    others = [one for one in _marks(home) if one != id and not _recorded(workspace, one)]
    with suppress(OSError):
        record = os.open(os.path.join(workspace, _RECORD), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        new = f"{name}.{os.getpid()}"
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644), "w") as file:
                file.write("".join(f"{one}\n" for one in (*others, id)))
            os.replace(new, name)
            os.write(record, f"{id} {project.key} ".encode() + os.fsencode(home) + b"\n")
        finally:
            os.close(record)
            with suppress(OSError):
                os.unlink(new)  # which it is not, unless it could not be put in place
        if os.path.basename(home) == ".git" and id in _marks(os.path.dirname(home)):
            os.unlink(os.path.join(os.path.dirname(home), MARK))  # of before there was git
    return project._replace(settled=True)


def absence(root: str, project: Project) -> str:
    """Return what to tell who reads a book that is not there: where it would be, and which ones are nearest."""
    folder, name = os.path.split(root)
    told = f"there is no book at {root!r}"
    if project.copy_of[0]:
        told += f", for {_folder(project)} is a copy of {project.copy_of[0]} and has none of its own"
    near = _nearest(folder, name, project.copy_of[1]) if folder else []  # a name on a server has no neighbours
    if near:
        named = "the nearest are" if len(near) > 1 else "the nearest is"
        told += f"; {named} {', '.join(map(repr, near))}" + ("" if project.key else f" in {folder}")
    return told + ". It is made by what is remembered first, or with: memorybook init"


def copied(project: Project) -> str:
    """Return what to tell of a copy of a project, which has a book of its own."""
    original, key = project.copy_of
    return (
        f"{_folder(project)} is a copy of {original}: what is remembered here goes into a book of its own,"
        f" {project.key}; that of the original is meant with --project {key}"
    )


def _folder(project: Project) -> str:
    return project.home.removesuffix("/.git")


def _nearest(folder: str, name: str, first: str) -> list[str]:
    """List the books in a folder whose names are most like this one, `first` before them."""
    try:
        places = [os.path.join(folder, one) for one in os.listdir(folder) if one[0] != "."]
    except OSError:
        return []
    from difflib import SequenceMatcher

    def unlike(one: str) -> tuple[bool, float, str]:
        return one != first, -SequenceMatcher(None, name.lower(), one.lower()).ratio(), one

    of_book = ("MEMORY.md", ".memorybook", "daily")
    books = [place for place in places if any(os.path.exists(os.path.join(place, each)) for each in of_book)]
    return sorted(map(os.path.basename, books), key=unlike)[:_NEAR]


def _marked(workspace: str, homes: Sequence[str]) -> tuple[Project | None, tuple[str, str]]:
    """Return the project by its mark; else what the folder is a copy of."""
    copy_of = ("", "")
    for home in homes:
        for id in _marks(home):
            known = _recorded(workspace, id)
            if not known:
                continue
            key, place = known
            if os.path.realpath(place) not in homes and id in _marks(place):
                copy_of = (place.removesuffix("/.git"), key)
            else:
                return Project(key, homes[0], id, settled=place == homes[0] == home), ("", "")
    return None, copy_of


def _marks(home: str) -> list[str]:
    return [line for line in text_of(os.path.join(home, MARK)).split("\n") if len(line) == 32 and line.isalnum()]


def _recorded(workspace: str, id: str) -> tuple[str, str] | None:
    """Return the key of the book of this id, and the folder that was marked with it last."""
    lines = [line for line in _record(workspace) if line.startswith(id.encode() + b" ")]
    if not lines:
        return None
    _, key, home = lines[-1].split(b" ", 2)
    return key.decode("utf-8", "replace"), os.fsdecode(home)


def _record(workspace: str) -> list[bytes]:
    try:
        with open(os.path.join(workspace, _RECORD), "rb") as file:
            return [line for line in file.read().split(b"\n") if line.count(b" ") > 1]
    except OSError:
        return []


def _keys(folder: str, git: str) -> list[str]:
    """Return what a project there is called without a mark, the best name first."""
    remotes = _remotes(text_of(os.path.join(git, "config"))) if git else {}
    host, path = _address(remotes.get("origin") or next(iter(remotes.values()), ""))
    remote = _joined(f"{host}_{path}", "_").strip("_.")[:_LONGEST_KEY] if host and path else ""
    if git and os.path.dirname(git) != folder and os.path.basename(git) == ".git":
        folder = os.path.dirname(git)  # of a worktree: the one that it belongs to
    return [*([remote] if remote else []), _key_of_folder(folder)]


def _key_of_folder(folder: str) -> str:
    name = _joined(os.path.basename(folder), "-").strip("-.") or "book"
    return f"{name[:60]}-{_digest(os.fsencode(folder), 4)}"


def _digest(data: bytes, size: int) -> str:
    try:
        from _blake2 import blake2b  # hashlib would load OpenSSL along with it
    except ImportError:
        from hashlib import blake2b

    return blake2b(data, digest_size=size).hexdigest()


def _is_plain(character: str) -> bool:
    return character.isalnum() or character in "_.-"


def _joined(text: str, mark: str) -> str:
    """Return the text with one mark instead of each run of characters that a folder's name should not have."""
    return mark.join("".join(c if _is_plain(c) else " " for c in text).split())


def tenant_key(channel: str, chat_id: str | int) -> str:
    """Return the folder name of a tenant's book: readable, plain on every file system, unique to the tenant.

    Of both names it shows what is plain ASCII, in lower case; a digest of 128 bits tells apart what looks alike.
    7 and "7" are one chat.

    Raises:
        InvalidInput: A channel that is no text, a chat id that is neither text nor a whole number.
    """
    if not isinstance(channel, str) or not isinstance(chat_id, str | int) or isinstance(chat_id, bool):
        raise InvalidInput(f"channel {channel!r} and chat id {chat_id!r} name no tenant: give text, such as 'telegram'")
    import json
    from re import sub

    names = [channel, str(chat_id)]
    digest = _digest(json.dumps(names).encode(), 16)
    shown = [sub("[^0-9a-z]+", "-", name.lower()).strip("-")[:24] for name in names]
    return "-".join([*filter(None, shown), digest])


def _remotes(text: str) -> dict[str, str]:
    """Read the first address of each remote in a git config. By hand: patterns would slow a cold start tenfold."""
    found: dict[str, str] = {}
    name = ""
    for line in map(str.strip, text.split("\n")):
        if line.startswith("["):
            name = line.split('"')[1] if line.startswith('[remote "') and line.count('"') > 1 else ""
        elif name and line.partition("=")[0].strip() == "url" and line.partition("=")[2].strip():
            found[name], name = line.partition("=")[2].split()[0], ""
    return found


def _address(url: str) -> tuple[str, str]:
    """Split `scheme://user@host:port/path.git` or `user@host:path` into host and path; either may be ""."""
    scheme, mark, rest = url.partition("://")
    url = rest if mark and scheme.replace("_", "a").isalnum() else url
    user, mark, rest = url.partition("@")
    url = rest if mark and user and "/" not in user else url
    host = url[: next((at for at, c in enumerate(url) if not _is_plain(c)), len(url))]
    rest = url[len(host) :]
    if rest[:1] not in (":", "/") or len(rest) < 2:
        return host, ""
    port = rest[1:].partition("/")[0]
    path = rest[len(port) + 2 :] if rest[0] == ":" and port.isdecimal() and "/" in rest[1:] else rest[1:]
    return host, path.removesuffix("/").removesuffix(".git")
