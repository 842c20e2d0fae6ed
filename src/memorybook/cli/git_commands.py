"""A book in its project's repository: `init --here`, what `trust` does for a clone, and the merge that git calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import command, working_directory
from memorybook.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from memorybook.cli.call import Call

_SETTINGS = "memorybook.toml"
_FOLDER = "memory"


@command("git-merge")
def _git_merge(call: Call) -> None:
    """Merge for git: OURS becomes the merge of all three."""
    from datetime import UTC, datetime

    from memorybook.exchange.git_merge import merge

    o = call.options
    base, ours, theirs = map(_text, (o.base, o.ours, o.theirs))
    merged = merge(base, ours, theirs, now=datetime.now(UTC))
    with open(o.ours, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(merged.text)
    for sentence in merged.remarks:
        call.warn(f"{o.path or o.ours}: {sentence}")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as error:
        raise InvalidInput(f"{path!r} cannot be read ({error.strerror}): give the three files that git gives") from None


def init_here(call: Call) -> dict[str, Any]:
    """Put the book into the project: its folder, the setting that names it, and what git needs.

    Raises:
        Conflict: The project's settings name another book, or are not trusted.
        InvalidInput: The folder is outside the project, or settings that cannot be added to.
    """
    from memorybook.config import project, settings
    from memorybook.entries import history
    from memorybook.exchange import git_merge
    from memorybook.memory import open as open_memory

    here = working_directory()
    top = git_merge.top_of(here)
    home = top or here
    before, _ = project.locate(call.config(), cwd=here)
    wanted = (
        os.path.abspath(os.path.join(here, call.options.book)) if call.options.book else os.path.join(home, _FOLDER)
    )
    if not os.path.realpath(wanted).startswith(os.path.join(os.path.realpath(home), "")):
        raise InvalidInput(f"{wanted} is outside the project {home}: give a folder in it as --book")
    created = _name_book(home, here, wanted)
    config = settings.load(cwd=here, env=os.environ, arguments=dict(call.options.set))
    root, _ = project.locate(config, cwd=here)
    if os.path.realpath(root) != os.path.realpath(wanted):
        origin = config.sources.get("root_dir", "the settings")
        raise Conflict(f"{origin} names the book {root}, not {wanted}: change that first")
    with open_memory(root, config=config, door="cli") as memory:
        made = history.init(memory.context, dated=False)
    created += [os.path.join(root, path) for path in made["created"]]
    created += git_merge.write_git_files(root)
    if top:
        git_merge.set_driver(top)
    if before != root and os.path.exists(os.path.join(before, "MEMORY.md")):
        call.warn(f"what this project's book held until now stays in {before}")
    return made | {"created": created}


def _name_book(home: str, here: str, book: str) -> list[str]:
    """Name the book's folder in the project's settings, as trusted; return the file if it was written."""
    from memorybook.config import files, settings
    from memorybook.exchange import git_merge

    found = settings.project_files(here)
    path = found[0] if found else os.path.join(home, _SETTINGS)
    folder = os.path.relpath(book, os.path.dirname(path))
    git_merge.check_own(path)
    if found:
        if not settings.trusts(path, env=os.environ):
            raise Conflict(f"{path} is not trusted: read it, then run: memorybook trust {path}")
        if any(given.name == "root_dir" for given in files.read(path)):
            return []
        if not path.endswith(".toml"):
            raise InvalidInput(f"{path} is no TOML: add root_dir = {folder!r} to it, then run: memorybook trust")
    text = ""
    if found:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"root_dir = {_toml(folder)}\n{text}")
    settings.trust(path, env=os.environ)
    return [path]


def _toml(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def trust_clone(here: str) -> str:
    """Have a clone whose book is now trusted merge by entries; return git's settings, "" if nothing was set."""
    from memorybook.config import project, settings
    from memorybook.exchange import git_merge

    config = settings.load(cwd=here, env=os.environ)
    root, _ = project.locate(config, cwd=here)
    top = git_merge.top_of(here)
    if not top or not root.startswith(os.path.join(top, "")) or not git_merge.asks_for_driver(root):
        return ""
    git_merge.set_driver(top)
    return os.path.join(top, ".git", "config")
