"""The command line: `memorybook VERB …`.

Only the invoked verb's module is imported and only its arguments are built, so that a search costs
little more than starting the interpreter. With `--json` stdout is exactly one JSON document.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 a back end does not answer, 130 Ctrl-C.
"""

from __future__ import annotations

import os
import sys

from memorybook.cli.call import Call, language_before, overview, remark, resolved, silence, to_stderr, version
from memorybook.errors import InvalidInput, MemoryBookError

_QUICK = frozenset({"search", "recall", "get", "append"})
"""Verbs that agents wait for: they leave sessions that nobody ended to the others."""

_WITH_VALUE = ("--book", "--project", "--layer", "--set")
_SWITCHES = ("--json", "--no-color", "--quiet", "-q", "--verbose", "-v")


def main(argv: list[str] | None = None) -> int:
    """Carry out one command line and return its exit code; nothing is raised, no traceback shown.

    `argv` is without the program's name; None is the process's own.
    """
    arguments = sys.argv[1:] if argv is None else argv
    as_json = "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)
    if sys.stderr is None:  # closed: what is said there goes nowhere
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    try:
        if sys.stdout is None:
            raise InvalidInput("stdout is closed: there is nowhere to write the answer")
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except MemoryBookError as error:
        return _fail(str(error) if as_json else _described(error, arguments), error.code, error.exit_code, as_json)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _stopped(error, as_json)


def _stopped(error: Exception, as_json: bool) -> int:
    """Report an unexpected exception and return the exit code."""
    if isinstance(error, OSError):
        try:
            sys.stdout.flush()
        except OSError:  # it is stdout that takes no more
            silence(sys.stdout)
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


def _run(arguments: list[str]) -> int:
    at = _verb_position(arguments)
    if at is None:
        sys.stdout.write(f"{version()}\n" if "--version" in arguments else overview(language_before(arguments)))
        return 0 if arguments else 2
    verb = resolved(arguments[at])
    try:
        call = Call(verb, arguments[:at] + arguments[at + 1 :])
    except SystemExit as leaving:  # a help page was shown
        return int(leaving.code or 0)
    if call.options.verbose or (verb != "hook" and any(name.startswith("OTEL_") for name in os.environ)):
        from memorybook.config import telemetry

        waited_for = verb not in ("serve", "ui", "mcp", "chat", "watch")
        telemetry.start(verbose=call.options.verbose, as_json=call.options.json, waited_for=waited_for)
    try:
        answer = call.run()
        if answer is not None and call.options.json:
            call.write_json(answer)
        elif answer is not None:
            from memorybook.cli import show

            page = show.Page(call.options, call.zone)
            page.words = call.words
            show.answer(verb, answer, page)
        if verb not in _QUICK:
            call.close_idle()
        return 0 if answer is None else call.code
    finally:
        call.close()


def _verb_position(arguments: list[str]) -> int | None:
    """Return the index of the verb; None if help or the version is asked for."""
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


def _described(error: MemoryBookError, arguments: list[str]) -> str:
    """Return the message of an error in the language of whoever called."""
    language = language_before(arguments)
    if language == "en":
        return str(error)
    from memorybook import locale

    return locale.describe(error, language)


def _fail(message: str, code: str, exit_code: int, as_json: bool) -> int:
    if as_json:
        import json

        from memorybook.text.screen import visible_json

        to_stderr(visible_json(json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False)))
    else:
        remark(message)
    return exit_code
