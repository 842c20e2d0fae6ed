"""The verbs of the command line: where each is, what its help says, and the page of `memorybook --help`."""

from __future__ import annotations

from memorybook.errors import InvalidInput

VERBS = {
    "chat": ("conversations", "chat with a model that remembers, or with the book alone"),
    "sessions": ("conversations", "list past conversations, newest first"),
    "recall-history": ("conversations", "summarise the newest conversations"),
    "recall-topic": ("conversations", "find conversations about a topic"),
    "recall-session": ("conversations", "open one conversation by id, name, day, or words such as 'last time'"),
    "recall-within": ("conversations", "search one conversation"),
    "search": ("find", "search the book"),
    "recall": ("find", "show the memory block of a prompt"),
    "get": ("find", "read a document, an entry or a turn"),
    "list": ("find", "list active entries, strongest first"),
    "add": ("write", "remember a statement (alias: remember)"),
    "append": ("write", "append a note to today's page"),
    "flush": ("write", "save notes from a text or a conversation"),
    "update": ("write", "change an entry"),
    "pin": ("write", "keep an entry from fading"),
    "unpin": ("write", "let an entry fade again"),
    "forget": ("write", "forget entries, sessions or sources (alias: delete)"),
    "purge": ("write", "erase for good, with every copy"),
    "history": ("review_commands", "show what was done to the book, and why"),
    "why": ("review_commands", "explain why an entry is in the book"),
    "undo": ("review_commands", "undo an operation"),
    "review": ("review_commands", "list, accept or reject proposals"),
    "tidy": ("review_commands", "archive faded entries, propose other changes"),
    "import": ("conversations", "import chats and memories of other programs"),
    "memorize": ("conversations", "memorize an ended session, by the language model if there is one"),
    "export": ("upkeep", "export sessions to a JSON file, adding what is new"),
    "backup": ("upkeep", "write the whole book to one archive"),
    "restore": ("upkeep", "restore a book from a backup"),
    "sync-summaries": ("upkeep", "exchange session summaries with other machines"),
    "mcp": ("host_commands", "serve MCP hosts; install the server in one"),
    "hook": ("host_commands", "install hooks in agent hosts, for capture and recall"),
    "init": ("upkeep", "create a book here"),
    "status": ("upkeep", "show what is in the book and its settings"),
    "sync": ("upkeep", "update the index"),
    "rebuild": ("upkeep", "rebuild the index"),
    "watch": ("upkeep", "update the index on every change until Ctrl-C"),
    "trust": ("upkeep", "let a project's settings file choose book, model, server and paths"),
    "completion": ("upkeep", "print a completion script for a shell"),
    "serve": ("serve", "serve the book over HTTP, with a token"),
    "demo": ("demo", "play a demo of two sessions; needs no key and no network"),
}
"""Verb -> module of this package, one line of help."""

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
    groups = {
        "Conversations": "chat sessions recall-history recall-topic recall-session recall-within",
        "Search": "search recall get list",
        "Write": "add append flush update pin unpin",
        "Forget": "forget purge",
        "History": "history why undo",
        "Review": "review tidy",
        "Import": "import memorize",
        "Manage": "export backup restore sync-summaries init status sync rebuild watch trust completion",
        "Serve": "mcp hook serve",
        "Demo": "demo",
    }
    for title, verbs in groups.items():
        lines += ["", title, *(f"  {verb:<16}{VERBS[verb][1]}" for verb in verbs.split())]
    lines += ["", "Options, before or after the command"]
    for usage, _, told in (line.partition("  ") for line in EVERYWHERE):
        lines.append(f"  {usage.rstrip(',').replace(' -', ', -'):<17}{told}")
    lines += ["", "More: memorybook COMMAND --help"]
    return "\n".join(lines) + "\n"


EVERYWHERE = """
--book DIR  the book's directory (default: that of the current project)
--project KEY  the book of that project in the workspace
--json  print one JSON document
--no-color  no colours (NO_COLOR does the same)
--quiet -q  no warnings and hints on stderr
--set KEY=VALUE,  a setting for this call; may be repeated
--version  the version
""".strip().split("\n")
"""Options of every command, as `call.command` has them."""


def version() -> str:
    """What `--version` says."""
    from importlib import metadata

    return f"memorybook {metadata.version('memorybook')}"
