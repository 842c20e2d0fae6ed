"""The verbs of the command line as `commands.txt` lists them, and the page of `memorybook --help`."""

from __future__ import annotations

import os

from memorybook.errors import InvalidInput

VERBS: dict[str, tuple[str, str]] = {}
"""Verb -> module of this package, one line of help."""

TEXTS: dict[str, str] = {}
"""Verb, or `+ NAME` for lines that several verbs share -> its arguments and examples."""

_GROUPS: dict[str, list[str]] = {}
"""Title of a group -> its verbs."""


def _read() -> None:
    with open(os.path.join(os.path.dirname(__file__), "commands.txt"), encoding="utf-8") as file:
        parts = file.read().split("\n#")[1:]
    group: list[str] = []
    for part in parts:
        head, _, body = part.partition("\n")
        if head[0] == " ":
            group = _GROUPS[head.strip()] = []
        elif head.startswith("# +"):
            TEXTS[head[2:]] = body.strip()
        else:
            verb, module = head[2:-1].split(" (")
            line, _, text = body.partition("\n")
            VERBS[verb], TEXTS[verb] = (module, line), f"\n{text}"
            group.append(verb)


_read()

EVERYWHERE = TEXTS["+ everywhere"].split("\n")
"""Options of every command."""

ALIASES = {"remember": "add", "delete": "forget"}


def resolved(verb: str) -> str:
    """The verb, aliases followed. Raises InvalidInput with the nearest one."""
    verb = ALIASES.get(verb, verb)
    if verb not in VERBS:
        from difflib import get_close_matches

        near = get_close_matches(verb, (*VERBS, *ALIASES), n=1)
        raise InvalidInput(
            f"unknown command {verb!r}; " + (f"did you mean {near[0]!r}?" if near else "see: memorybook --help")
        )
    return verb


def overview() -> str:
    """The page of `memorybook --help`."""
    lines = ["usage: memorybook [--book DIR] [--project KEY] [--json] COMMAND …", ""]
    lines += ["Long-term memory for AI agents, in Markdown that a person can read."]
    for title, verbs in _GROUPS.items():
        lines += ["", title, *(f"  {verb:<16}{VERBS[verb][1]}" for verb in verbs)]
    lines += ["", "Options, before or after the command"]
    for usage, _, told in (line.partition("  ") for line in EVERYWHERE):
        lines.append(f"  {usage.rstrip(',').replace(' -', ', -'):<17}{told}")
    lines += ["", "More: memorybook COMMAND --help"]
    return "\n".join(lines) + "\n"


def version() -> str:
    """What `--version` says."""
    from importlib import metadata

    return f"memorybook {metadata.version('memorybook')}"
