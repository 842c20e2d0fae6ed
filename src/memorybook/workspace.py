"""Where books are: the workspace is the home of many, one per project.

Only names and paths; nothing is created here.
"""

from __future__ import annotations

import os

from memorybook.errors import InvalidInput
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.config import Config

_LONGEST_KEY = 120


def book_root(config: Config, *, cwd: str, book: str | None = None, project: str | None = None) -> str:
    """The directory of the book meant here, absolute; it need not exist.

    `book` (a directory) wins, then the configured `root_dir`, then `workspace_dir` / key, where the
    key is `project`, else the configured `project_key`, else `project_key(cwd)`.

    Raises:
        InvalidInput: A blank book, one where a file is, or whose path is not UTF-8; a project key that would
            not be one plain folder name.
    """
    if book is not None and not os.fspath(book).strip():
        raise InvalidInput(f"book is blank ({book!r}): give a directory, or leave it out for the project's book")
    return _usable(_root(config, cwd, book or (config.root_dir if project is None else ""), project))


def _usable(root: str) -> str:
    """The root, if a book can be there: its databases take no path that is not UTF-8."""
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


def _root(config: Config, cwd: str, book: str, project: str | None) -> str:
    if book:
        return os.path.abspath(os.path.join(cwd, os.path.expanduser(book)))
    key = project if project is not None else config.project_key or project_key(cwd)
    if not 0 < len(key) <= _LONGEST_KEY or key.startswith(".") or not all(_is_plain(c) or c in "@+" for c in key):
        raise InvalidInput(f"project key {key!r} cannot be a folder name: use letters, digits, '_', '-', '.', '@', '+'")
    return os.path.join(os.path.abspath(os.path.expanduser(config.workspace_dir)), key)


def project_key(cwd: str) -> str:
    """Name of the project that `cwd` is in: `github.com_owner_repo` from its git remote, else folder-hash.

    The hash is of the absolute path of the git top level (or of `cwd` outside git), so two folders
    called `app` are two projects and every sub-folder of a checkout is the same one.
    """
    top = _git_top(cwd)
    remote = _origin(top) if top else None
    if remote:
        return remote
    folder = os.path.realpath(top or cwd)
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
    """The text with one mark instead of each run of characters that a folder's name should not have."""
    return mark.join("".join(c if _is_plain(c) else " " for c in text).split())


def tenant_key(channel: str, chat_id: str | int) -> str:
    """Name of the folder of a tenant's book: readable, plain on every file system, another one for every tenant.

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


def _git_top(cwd: str) -> str | None:
    folder = os.path.abspath(cwd)
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _git_config(top: str) -> str:
    """Text of the repository's config, also for a worktree or submodule, whose `.git` is a file."""
    git = os.path.join(top, ".git")
    try:
        if os.path.isfile(git):
            with open(git, encoding="utf-8") as pointer:
                git = os.path.join(top, pointer.read().partition("gitdir:")[2].strip())
            common = os.path.join(git, "commondir")
            if os.path.exists(common):
                with open(common, encoding="utf-8") as file:
                    git = os.path.join(git, file.read().strip())
        with open(os.path.join(git, "config"), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _origin(top: str) -> str | None:
    """`host_owner_repo` of the remote `origin` (else the first remote); None without one."""
    remotes = _remotes(_git_config(top))
    host, path = _address(remotes.get("origin") or next(iter(remotes.values()), ""))
    if not host or not path:
        return None
    return _joined(f"{host}_{path}", "_").strip("_.")[:_LONGEST_KEY] or None


def _remotes(text: str) -> dict[str, str]:
    """The first address of each remote that a git config names. By hand: patterns cost a cold start ten times that."""
    found: dict[str, str] = {}
    name = ""
    for line in map(str.strip, text.split("\n")):
        if line.startswith("["):
            name = line.split('"')[1] if line.startswith('[remote "') and line.count('"') > 1 else ""
        elif name and line.partition("=")[0].strip() == "url" and line.partition("=")[2].strip():
            found[name], name = line.partition("=")[2].split()[0], ""
    return found


def _address(url: str) -> tuple[str, str]:
    """Host and path of `scheme://user@host:port/path.git` or `user@host:path`; either may be ""."""
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
