"""The command line: `memorybook VERB …`.

Only the invoked verb's module is imported and only its arguments are built, so that a search costs
little more than starting the interpreter. With `--json` stdout is exactly one JSON document.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 a back end does not answer, 130 Ctrl-C.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from memorybook._light import TYPE_CHECKING
from memorybook.errors import InvalidInput, MemoryBookError

if TYPE_CHECKING:
    from memorybook.cli.call import Call

VERBS = {
    "chat": ("chat_command", "talk: with a model that remembers, or with the book alone"),
    "sessions": ("recall_commands", "list past conversations, newest first"),
    "recall-history": ("recall_commands", "what the newest conversations were about"),
    "recall-topic": ("recall_commands", "the conversations that were about something"),
    "recall-session": ("recall_commands", "one conversation: by id, name, day, or words such as 'last time'"),
    "recall-within": ("recall_commands", "what was said about something in one conversation"),
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
    "forget": ("forget_commands", "take out of the book (alias: delete)"),
    "purge": ("forget_commands", "erase for good, with every copy"),
    "history": ("history_commands", "what was done to the book, and why"),
    "why": ("history_commands", "why an entry is in the book"),
    "undo": ("history_commands", "take back an operation"),
    "review": ("review_commands", "what waits for your word: list, accept, reject"),
    "tidy": ("review_commands", "archive what has faded, propose what else is due"),
    "import": ("import_commands", "take in what other programs keep, by rules"),
    "memorize": ("import_commands", "remember a session that has ended, by the model if there is one"),
    "export": ("keep", "write the sessions into a JSON document, which grows"),
    "backup": ("keep", "write the whole book into one archive"),
    "restore": ("keep", "make a book of an archive that backup wrote"),
    "sync-summaries": ("keep", "collect what other machines wrote of their sessions, hand out this one's"),
    "mcp": ("mcp_command", "serve hosts of the Model Context Protocol; set one up"),
    "hook": ("hook_commands", "let agent hosts tell what is said, and be told what is remembered"),
    "init": ("upkeep", "make a book here"),
    "status": ("upkeep", "what is in the book, and how it is set up"),
    "sync": ("upkeep", "bring the index up to the documents"),
    "rebuild": ("upkeep", "make the index anew"),
    "watch": ("upkeep", "keep the index up to the documents until Ctrl-C"),
    "trust": ("upkeep", "let a project's settings file choose book, model, server and paths"),
    "completion": ("upkeep", "print a completion script for a shell"),
    "serve": ("serve", "serve the book over HTTP, with a token"),
    "demo": ("demo", "watch a week of two sessions: no key, no network"),
}
"""Verb -> module of this package, one line of help."""

ALIASES = {"remember": "add", "delete": "forget"}

_LONG = frozenset(
    "import memorize sync rebuild purge tidy watch demo chat export backup restore sync-summaries serve".split()
)
"""Verbs that may work for long and so need their garbage collected."""

_QUICK = frozenset({"search", "recall", "get", "append"})
"""Verbs that agents wait for: they leave sessions that nobody ended to the others."""

_WITH_VALUE = ("--book", "--project", "--set")
_SWITCHES = ("--json", "--no-color", "--quiet", "-q")


def main(argv: list[str] | None = None) -> int:
    """Carry out one command line and return its exit code; nothing is raised, no traceback shown.

    `argv` is without the program's name; None is the process's own, which ends here.
    """
    if argv is not None:
        return _outcome(argv)
    gc.disable()  # a short life: collecting costs it more than the memory is worth
    code = _outcome(sys.argv[1:])
    _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process at once: taking the interpreter apart takes it a fifth of the time that starting it does.

    Not while somebody wants to hear of the end: a thread, a handler (of coverage, say), a debugger, a profiler, a
    prompt that follows; nor while stdout refuses what it still holds, which the interpreter then reports.
    """
    if "threading" in sys.modules or atexit._ncallbacks() or os.environ.get("MEMORYBOOK_DEBUG") or _is_watched():
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _is_watched() -> bool:
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    tools = () if monitoring is None else map(monitoring.get_tool, range(6))
    return bool(sys.gettrace() or sys.getprofile() or sys.flags.inspect or any(tools))


def _outcome(arguments: list[str]) -> int:
    as_json = "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)
    if sys.stderr is None:  # closed: what is said there goes nowhere
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    try:
        if sys.stdout is None:
            raise InvalidInput("stdout is closed: there is nowhere to write the answer")
        code = _run(arguments)
        sys.stdout.flush()
    except MemoryBookError as error:
        return _fail(str(error), error.code, error.exit_code, as_json)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _stopped(error, as_json)
    return code


def _stopped(error: Exception, as_json: bool) -> int:
    """The exit code for what no part of memorybook raises on purpose: the system's refusals, and mistakes in here."""
    if isinstance(error, OSError):
        _check_stdout()
    if isinstance(error, BrokenPipeError):  # whoever read has gone
        return 0
    if os.environ.get("MEMORYBOOK_DEBUG"):
        raise error
    if isinstance(error, OSError):
        about = "" if error.filename is None else f": {error.filename!r}"
        return _fail(f"the system refused: {error.strerror or error}{about}", "system", 1, as_json)
    what = f"{type(error).__name__}: {error}".replace("\n", " ")
    message = f"unexpected {what} (please report; run with MEMORYBOOK_DEBUG=1 for the traceback)"
    return _fail(message, "unexpected", 1, as_json)


def _check_stdout() -> None:
    """Silence stdout if it is what takes no more."""
    try:
        sys.stdout.flush()
    except OSError:
        from memorybook.cli.terminal_escape import silence

        silence(sys.stdout)


def _run(arguments: list[str]) -> int:
    at = _verb_position(arguments)
    if at is None:
        sys.stdout.write(f"{version()}\n" if "--version" in arguments else overview())
        return 0 if arguments else 2
    from memorybook.cli.call import Call

    verb = resolved(arguments[at])
    if verb in _LONG:
        gc.enable()
    try:
        call = Call(verb, arguments[:at] + arguments[at + 1 :])
    except SystemExit as leaving:  # argparse has shown a help page
        return int(leaving.code or 0)
    try:
        code = _answer(call)
        if verb not in _QUICK:
            call.close_idle()
        return code
    finally:
        call.close()


def _answer(call: Call) -> int:
    answer = call.run()
    if answer is None:
        return 0
    if call.options.json:
        call.write_json(answer)
    else:
        from memorybook.cli import show

        show.answer(call.verb, answer, show.Page(call.options, call.zone))
    return call.code


def _verb_position(arguments: list[str]) -> int | None:
    """Where the verb stands among the options before it; None if help or the version is asked for."""
    skip = False
    for at, argument in enumerate(arguments):
        if skip or argument in _SWITCHES or argument.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            skip = False
        elif argument in _WITH_VALUE:
            skip = True
        elif argument in ("-h", "--help", "--version"):
            return None
        elif argument.startswith("-"):
            raise InvalidInput(f"unknown option {argument!r} before the command; see: memorybook --help")
        else:
            return at
    if arguments:
        raise InvalidInput("no command given; see: memorybook --help")
    return None


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
        "chat_command": "Converse",
        "recall_commands": "Converse",
        "find": "Find",
        "write": "Write",
        "forget_commands": "Take out",
        "history_commands": "Look back",
        "review_commands": "Tidy up",
        "import_commands": "Take in",
        "keep": "Keep",
        "mcp_command": "Serve",
        "hook_commands": "Serve",
        "upkeep": "Keep",
        "serve": "Serve",
        "demo": "Look",
    }
    for title in dict.fromkeys(groups.values()):
        lines += ["", title]
        lines += [f"  {verb:<16}{line}" for verb, (home, line) in VERBS.items() if groups[home] == title]
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


def _fail(message: str, code: str, exit_code: int, as_json: bool) -> int:
    from memorybook.cli.terminal_escape import remark, to_stderr

    if as_json:
        import json

        from memorybook.text.visible import visible_json

        to_stderr(visible_json(json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False)))
    else:
        remark(message)
    return exit_code
