"""The verbs of the command line: where each is, what its help says, and the page of `memorybook --help`."""

from __future__ import annotations

from memorybook.errors import InvalidInput

VERBS = {
    "chat": ("conversations", "talk: with a model that remembers, or with the book alone"),
    "sessions": ("conversations", "list past conversations, newest first"),
    "recall-history": ("conversations", "what the newest conversations were about"),
    "recall-topic": ("conversations", "the conversations that were about something"),
    "recall-session": ("conversations", "one conversation: by id, name, day, or words such as 'last time'"),
    "recall-within": ("conversations", "what was said about something in one conversation"),
    "search": ("find", "find what the book says about something"),
    "recall": ("find", "the block of memories that a prompt gets for a query"),
    "get": ("find", "read a document, an entry or a turn"),
    "list": ("find", "list active entries, strongest first"),
    "add": ("write", "remember a statement (alias: remember)"),
    "append": ("write", "write a note into today's page"),
    "flush": ("write", "save what is worth keeping of a text or a conversation"),
    "update": ("write", "change an entry"),
    "pin": ("write", "keep an entry from fading"),
    "unpin": ("write", "let an entry fade again"),
    "forget": ("write", "take out of the book (alias: delete)"),
    "purge": ("write", "erase for good, with every copy"),
    "history": ("review_commands", "what was done to the book, and why"),
    "why": ("review_commands", "why an entry is in the book"),
    "undo": ("review_commands", "take back an operation"),
    "review": ("review_commands", "what waits for your word: list, accept, reject"),
    "tidy": ("review_commands", "archive what has faded, propose what else is due"),
    "import": ("conversations", "take in what other programs keep, by rules"),
    "memorize": ("conversations", "remember a session that has ended, by the model if there is one"),
    "export": ("upkeep", "write the sessions into a JSON document, which grows"),
    "backup": ("upkeep", "write the whole book into one archive"),
    "restore": ("upkeep", "make a book of an archive that backup wrote"),
    "sync-summaries": ("upkeep", "collect what other machines wrote of their sessions, hand out this one's"),
    "mcp": ("host_commands", "serve hosts of the Model Context Protocol; set one up"),
    "hook": ("host_commands", "let agent hosts tell what is said, and be told what is remembered"),
    "init": ("upkeep", "make a book here"),
    "status": ("upkeep", "what is in the book, and how it is set up"),
    "sync": ("upkeep", "bring the index up to the documents"),
    "rebuild": ("upkeep", "make the index anew"),
    "watch": ("upkeep", "keep the index up to the documents until Ctrl-C"),
    "trust": ("upkeep", "let a project's settings file choose book, model, server and paths"),
    "completion": ("upkeep", "print a completion script for a shell"),
    "serve": ("serve", "serve the book over HTTP, with a token"),
    "compare": ("compare_commands", "run a conversation through two providers, on copies of the book"),
    "demo": ("demo", "watch a week of two sessions: no key, no network"),
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
        "Converse": "chat sessions recall-history recall-topic recall-session recall-within",
        "Find": "search recall get list",
        "Write": "add append flush update pin unpin",
        "Take out": "forget purge",
        "Look back": "history why undo",
        "Tidy up": "review tidy",
        "Take in": "import memorize",
        "Keep": "export backup restore sync-summaries init status sync rebuild watch trust completion",
        "Serve": "mcp hook serve",
        "Try out": "compare",
        "Look": "demo",
    }
    for title, verbs in groups.items():
        lines += ["", title, *(f"  {verb:<16}{VERBS[verb][1]}" for verb in verbs.split())]
    lines += ["", "Options, before or after the command", *_OPTIONS, "", "More: memorybook COMMAND --help"]
    return "\n".join(lines) + "\n"


_OPTIONS = (
    "  --book DIR       the book's directory (else: the one of the project around you)",
    "  --project KEY    the book of that project in the workspace",
    "  --json           exactly one JSON document on stdout",
    "  --no-color       no colours (NO_COLOR does the same)",
    "  --quiet, -q      no remarks on stderr",
    "  --set KEY=VALUE  a setting for this call; may be repeated",
    "  --version        the version",
)


def version() -> str:
    """What `--version` says."""
    from importlib import metadata

    return f"memorybook {metadata.version('memorybook')}"
