"""One call of a verb: its parser, the book it opens, its input and output."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

from memorybook._light import TYPE_CHECKING, Any, NamedTuple, cast, contextmanager
from memorybook.cli.wording import Translated, Wording, visible, wrapped
from memorybook.errors import InvalidInput, MemoryBookError, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from typing import TextIO

    from memorybook.config.settings import Config
    from memorybook.memory import Memory
    from memorybook.protocols import Progress

    Run = Callable[["Call"], "dict[str, Any] | None"]
    "Does the work and returns the JSON answer; None if it has written its output itself."
    Show = Callable[[dict[str, Any], "Any"], None]
    "Writes an answer for people on a `cli.show.Page`."


VERBS: dict[str, tuple[str, str]] = {}
"""Verb -> module of this package, one line of help."""

TEXTS: dict[str, str] = {}
"""Verb, or `+ NAME` for lines that several verbs share -> its arguments and examples."""

_GROUPS: dict[str, list[str]] = {}
"""Title of a group -> its verbs."""


with open(os.path.join(os.path.dirname(__file__), "commands.txt"), encoding="utf-8") as _file:
    for _head, _, _body in (_part.partition("\n") for _part in _file.read().split("\n#")[1:]):
        if _head[0] == " ":
            _group = _GROUPS[_head.strip()] = list[str]()
        elif _head.startswith("# +"):
            TEXTS[_head[2:]] = _body.strip()
        else:
            _verb, _module = _head[2:-1].split(" (")
            _line, _, _text = _body.partition("\n")
            VERBS[_verb], TEXTS[_verb] = (_module, _line), f"\n{_text}"
            _group.append(_verb)

EVERYWHERE = TEXTS["+ everywhere"].split("\n")
"""Options of every command."""

ALIASES = {"remember": "add", "delete": "forget"}


def resolved(verb: str) -> str:
    """Return the verb, aliases followed. Raises InvalidInput with the nearest one."""
    verb = ALIASES.get(verb, verb)
    if verb not in VERBS:
        from difflib import get_close_matches

        near = get_close_matches(verb, (*VERBS, *ALIASES), n=1)
        raise InvalidInput(
            f"unknown command {verb!r}; " + (f"did you mean {near[0]!r}?" if near else "see: memorybook --help")
        )
    return verb


def overview(language: str = "en") -> str:
    """Return the page of `memorybook --help`."""
    say = help_words(language)
    lines = [f"{say('usage:')} memorybook [--book DIR] [--project KEY] [--json] {say('COMMAND')} …", ""]
    lines += [say("Long-term memory for AI agents, in Markdown that a person can read.")]
    for title, verbs in _GROUPS.items():
        lines += ["", say(title), *(f"  {verb:<16}{say(VERBS[verb][1])}" for verb in verbs)]
    lines += ["", say("Options, before or after the command")]
    for usage, _, told in (line.partition("  ") for line in EVERYWHERE):
        lines.append(f"  {usage.rstrip(',').replace(' -', ', -'):<17}{say(told.strip())}")
    lines += ["", f"{say('More:')} memorybook {say('COMMAND')} --help"]
    return "\n".join(lines) + "\n"


def help_words(language: str) -> Callable[[str], str]:
    """Return what says a text of the help in a language."""
    if language == "en":
        return str
    from memorybook import locale

    table = locale.table("help", language)
    return lambda text: table.get(text, text)


def machine_language(config: Config) -> str:
    """Return the language in which a person at this machine is spoken to: the setting, else that of the locale."""
    if config.language != "auto":
        return config.language
    named = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "zh" if named.startswith("zh") else "en"


def language_before(words: Sequence[str]) -> str:
    """Return the language of what is said before a book is open, help and errors: by `--set`, settings, locale."""
    from memorybook.config.settings import Config, load

    given: dict[str, Any] = {}
    for before, word in zip(["", *words], words, strict=False):
        value = word if before == "--set" else word.removeprefix("--set=")
        if value != word or before == "--set":
            given |= dict([setting(value)]) if value.startswith("language=") else {}
    try:
        return machine_language(load(cwd=working_directory(), env=os.environ, arguments=given))
    except MemoryBookError:
        return machine_language(Config())


def version() -> str:
    """Return what `--version` says."""
    from importlib import metadata

    return f"memorybook {metadata.version('memorybook')}"


# --- call -------------------------------------------------

_ESCAPE = "backslashreplace"

_AT_ONCE = 3
"""Sessions left open that one command closes."""


class Declined(MemoryBookError):
    """The person at the terminal said no."""

    code = "declined"


class Argument(NamedTuple):
    """One argument.

    Attributes:
        names: `query`, or `--limit` and `-n`.
        dest: The option that it becomes.
        takes: How many words: "" none (a switch), "1" one, "?" one or none, "*" any, "+" some; "," one each time.
        metavar: What the help calls its value.
        read: Makes the value from a word.
        help: What the help says.
    """

    names: tuple[str, ...]
    dest: str
    takes: str
    metavar: str
    read: Callable[[str], Any]
    help: str

    @property
    def is_named(self) -> bool:
        """True if it is an option."""
        return self.names[0][0] == "-"

    @property
    def label(self) -> str:
        """What errors call it."""
        return "/".join(self.names) if self.is_named else self.metavar

    @property
    def repeats(self) -> bool:
        """True if an option may be given several times."""
        return self.is_named and self.takes in ("+", ",")

    def usage(self) -> str:
        """Return how it is written, for the help."""
        if self.is_named:
            return ", ".join(self.names) + (self.takes and f" {self.metavar}") + (" [...]" if self.takes == "+" else "")
        forms = {"?": f"[{self.metavar}]", "*": f"[{self.metavar} ...]", "+": f"{self.metavar} [...]"}
        return forms.get(self.takes, self.metavar)


def argument_of(line: str) -> Argument:
    """Read an argument from its line in `commands.txt`, which explains the form."""
    usage, _, told = line.strip().partition("  ")
    dest, equals, rest = usage.partition("=-")
    first, *more = f"-{rest}".split() if equals else usage.split()
    if first[0] != "-":
        bare = first.strip("[]")
        takes = ("1+" if bare == first else "?*")[bare.endswith("...")]
        name, _, metavar = bare.removesuffix("...").partition(":")
        return Argument((name,), name, takes, metavar or name, str, told.strip())
    names = (first, *(name for name in more if name[0] == "-"))
    value = more[-1] if more and more[-1][0] != "-" else ""
    metavar, _, most = value.removesuffix("...").removesuffix(",").partition("<=")
    takes = "+" if value.endswith("...") else "," if value.endswith(",") else "1" if value else ""
    read = number(int, 1, int(most or 10**9)) if metavar in ("N", "LINE") else _READERS.get(metavar, str)
    return Argument(names, dest if equals else first[2:].replace("-", "_"), takes, metavar, read, told.strip())


Options = SimpleNamespace
"""The values of a command line, as attributes."""


class Parser:
    """The arguments of a verb, as `commands.txt` has them. argparse would cost a cold search a fifth of its time."""

    def __init__(self, verb: str) -> None:
        lines, _, epilog = TEXTS[verb].partition("\n\n")
        self.prog = f"memorybook {verb}"
        self.description = VERBS[verb][1][0].upper() + VERBS[verb][1][1:] + "."
        self.epilog = epilog.replace("{prog}", self.prog)
        self.arguments = [
            argument_of(each) for line in lines.split("\n") if line for each in TEXTS.get(line, line).split("\n")
        ]

    def parse(self, words: Sequence[str]) -> Options:
        """Return the options. Raises InvalidInput, and SystemExit after printing the help or the version."""
        arguments = [*self.arguments, *global_options()]
        named = {name: one for one in arguments for name in one.names if one.is_named}
        options: dict[str, Any] = {one.dest: [] if one.repeats else None if one.takes else False for one in arguments}
        said, unknown, waiting = list[str](), list[str](), list(words)
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                said, waiting = said + waiting, []
            elif not _is_option(word, named):
                said.append(word)
            elif word in ("-h", "--help", "--version"):
                write(f"{version()}\n" if word == "--version" else self.help(language_before(words)))
                raise SystemExit(0)
            else:
                name, equals, value = word.partition("=")
                if name not in named and (one := named.get(word[:2])):  # -n5, -qy
                    waiting[:0] = [word[:2], f"-{word[2:]}" if not one.takes else word[2:]]
                elif name not in named:
                    unknown.append(word)
                else:
                    self._take(options, named[name], [value] if equals else None, waiting, named)
        left = self._place(options, said)
        if unknown or left:
            raise self._error(f"unrecognized arguments: {' '.join([*unknown, *left])}")
        return Options(**options)

    def _take(
        self,
        options: dict[str, Any],
        one: Argument,
        values: list[str] | None,
        waiting: list[str],
        named: Mapping[str, Argument],
    ) -> None:
        """Set an option to its values, or to the next words."""
        if not one.takes:
            if values:
                raise self._error(f"{one.label}: takes no value, not {values[0]!r}")
            options[one.dest] = True
            return
        several = one.takes == "+"
        if values is None:
            values = []
            while waiting and (several or not values) and waiting[0] != "--" and not _is_option(waiting[0], named):
                values.append(waiting.pop(0))
        if not values:
            raise self._error(f"{one.label}: expected {'at least ' * several}one argument")
        try:
            read = [one.read(value) for value in values]
        except InvalidInput as error:
            raise self._error(f"{one.label}: {error}") from None
        options[one.dest] = [*options[one.dest], *read] if one.repeats else read[0]

    def _place(self, options: dict[str, Any], said: list[str]) -> list[str]:
        """Hand out the words without a name; returns those that are too many."""
        missing = []
        for one in self.arguments:
            if one.is_named:
                continue
            if one.takes in ("1", "+") and not said:
                missing.append(one.label)
            elif one.takes in ("*", "+"):
                options[one.dest], said = said, []
            elif said:
                options[one.dest], said = said[0], said[1:]
        if missing:
            raise self._error(f"the following arguments are required: {', '.join(missing)}")
        return said

    def _error(self, message: str) -> InvalidInput:
        return InvalidInput(f"{message}; see: {self.prog} --help")

    def help(self, language: str = "en") -> str:
        """Return the page of `--help`."""
        say = help_words(language)
        width = min(terminal_width(sys.stdout) or 100, 100)
        taken = [one for one in self.arguments if not one.is_named]
        usage = " ".join([say("usage:"), self.prog, say("[options]"), *(one.usage() for one in taken)])
        line = VERBS[self.prog.partition(" ")[2]][1]
        description = self.description if say(line) == line else say(line) + "。"
        lines = [*wrapped(usage, width), "", *wrapped(description, width)]
        groups = {
            "arguments:": taken,
            "options:": [one for one in self.arguments if one not in taken],
            "everywhere:": global_options(),
        }
        for title, arguments in groups.items():
            lines += ["", say(title)] if arguments else []
            for one in arguments:
                told = wrapped(say(one.help), max(width - 24, 20))
                usage = f"  {one.usage()}"
                lines += [f"{usage:<24}{told.pop(0)}" if len(usage) < 23 else usage]
                lines += [f"{'':24}{row}" for row in told]
        notes, mark, examples = self.epilog.partition("example")
        title, _, examples = examples.partition("\n")
        one_line = " ".join(notes.split())
        if say(one_line) != one_line:
            notes = "\n".join([*wrapped(say(one_line), width), "", ""])
        epilog = notes + (f"{say(mark + title)}\n{examples}" if mark else "")
        return "\n".join([*lines, "", epilog.rstrip()]).rstrip() + "\n"


def _is_option(word: str, named: Mapping[str, Argument]) -> bool:
    """Return whether the word is an option; a lone dash, a negative number and a text with spaces are none."""
    if not word.startswith("-") or word == "-":
        return False
    number = word[1:].replace(".", "", 1).isdecimal()
    return word.partition("=")[0] in named or not (number or " " in word)


def global_options() -> list[Argument]:
    """Return the options that every verb takes."""
    return [argument_of(line) for line in EVERYWHERE]


def terminal_width(stream: Any) -> int | None:
    """Return the columns of the terminal behind the stream, at least 20; None if it is not a terminal."""
    try:
        if not stream.isatty():
            return None
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 80
    return max(columns, 20)


class Command(NamedTuple):
    """How a verb is carried out: what runs it, and what writes its answer where `cli.show` does not."""

    run: Run
    show: Show | None


COMMANDS: dict[str, Command] = {}
"""Verb -> command, of the modules that are imported."""


def command(
    verb: str, *, tool: str = "", method: str = "", progress: str = "", show: Show | None = None
) -> Callable[[Run], Run]:
    """Register a verb; it runs a memory tool, a method of `Memory`, or the function that this decorates.

    Args:
        verb: As in `commands.txt`.
        tool, method: What takes all arguments that were given, by name.
        progress: Label of the progress bar of a method that shows one.
        show: Writes the answer.
    """

    def call_tool(call: Call) -> dict[str, Any]:
        return call.tool(tool, **call.arguments())

    def call_method(call: Call) -> dict[str, Any] | None:
        def work(memory: Memory) -> dict[str, Any]:
            if not progress:
                return _json(getattr(memory, method)(**call.arguments()))
            with call.progress(progress) as shown:
                return _json(getattr(memory, method)(**call.arguments(), progress=shown))

        return call.unless_off(work)

    def register(run: Run) -> Run:
        COMMANDS[verb] = Command(run, show)
        return run

    if tool or method:
        register(call_tool if tool else call_method)
    return register


def _json(answer: Any) -> dict[str, Any]:
    return answer if isinstance(answer, dict) else cast("dict[str, Any]", answer.json())


def command_of(verb: str) -> Command:
    """Return a verb, whose module may not be imported yet."""
    if verb not in COMMANDS:
        __import__(f"memorybook.cli.{VERBS[verb][0]}")  # importlib imports more than it is worth here
    return COMMANDS[verb]


class Call:
    """A verb with its parsed options; the book is opened when it is first asked for, and closed once.

    Args:
        verb: As `VERBS` has it.
        arguments: The words after it.
        memory: An open memory to use instead, which stays its opener's to close.
        words: In which remarks and questions are told; None for English.

    Attributes:
        language: In which it speaks to a person, `en` or `zh`; known once the settings are loaded.
        code: The exit code once it has run; not 0 where it did less than was asked.

    Raises:
        InvalidInput: The arguments cannot be used.
        SystemExit: After printing the verb's help.
    """

    def __init__(
        self, verb: str, arguments: list[str], memory: Memory | None = None, words: Wording | None = None
    ) -> None:
        self._parser = Parser(verb)
        self.verb = verb
        self.code = 0
        self.words = words or Wording()
        self.language = "en"
        self.options = self._parser.parse(arguments)
        self._memory = memory
        self._ours = memory is None

    def run(self) -> dict[str, Any] | None:
        """Do it; the answer is the JSON document, None if everything is printed already."""
        return command_of(self.verb).run(self)

    def config(self) -> Config:
        """Load the settings, `--set` included; warnings go to stderr."""
        from memorybook.config.settings import load

        try:
            config = load(cwd=working_directory(), env=os.environ, arguments=dict(self.options.set))
        except MemoryBookError:
            if self.verb in ("status", "hook"):
                from memorybook.hooks.event import waiting

                told = waiting(working_directory(), book=self.options.book, project=self.options.project)
                if told:
                    self.warn(told)
            raise
        if self.options.layer:
            from memorybook.config.project import book_of_layer

            given = self.options.book or self.options.project
            self.options.book = book_of_layer(config, self.options.layer, given) or self.options.book
            self.options.layer = None
        if (language := machine_language(config)) != "en":
            self.language, self.words = language, Translated(language)
        if self.verb != "status":  # which has them itself, if it comes to an answer
            self._warn_of(config)
        return config

    def _warn_of(self, config: Config) -> None:
        for warning in config.warnings:
            self.warn(warning)

    @property
    def memory(self) -> Memory:
        """The book that the options, the settings and the directory point to."""
        if self._memory is None:
            config = self.config()
            from memorybook.memory import open as open_memory

            try:
                self._memory = open_memory(self.options.book, project=self.options.project, config=config, door="cli")
                for warning in self._memory.config.warnings[len(config.warnings) :] if self.verb != "status" else ():
                    self.warn(warning)
            except MemoryBookError:
                if self.verb == "status":  # what was left out may be why
                    self._warn_of(config)
                raise
        return self._memory

    @property
    def zone(self) -> tzinfo | None:
        """Timezone of the opened book; None for the machine's."""
        return self._memory.book.zone if self._memory is not None else None

    def arguments(self, *but: str) -> dict[str, Any]:
        """Return the verb's own arguments that were given, but for these; words are joined, - is read from stdin."""
        found = {one.dest: getattr(self.options, one.dest) for one in self._parser.arguments}
        given = {
            name: value
            for name, value in found.items()
            if name not in but and value is not None and value is not False and value != []
        }
        for name in ("text", "query", "which"):
            if isinstance(given.get(name), list):
                given[name] = text_of(given[name])
        return given | ({"tags": words_of(given["tags"])} if "tags" in given else {})

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a memory tool."""
        from memorybook import tools

        return tools.run(self.memory, name, **arguments)

    def unless_off(self, work: Callable[[Memory], dict[str, Any] | None]) -> dict[str, Any] | None:
        """Run `work`; while memory is switched off do nothing and say so."""
        if self.memory.config.enabled:
            return work(self.memory)
        from memorybook import tools

        return tools.disabled(self.verb)

    def close_idle(self) -> None:
        """Close sessions that nobody ended, if the book was opened; what fails is told, and seen again next time."""
        memory = self._memory
        if memory is None or not (self._ours and memory.config.enabled and memory.config.auto_capture_on_new_session):
            return
        self.flush()
        try:
            found = memory.close_idle(limit=_AT_ONCE)
        except MemoryBookError as error:
            self.warn(f"a session that was left open could not be closed: {error}")
        else:
            if found:
                self.warn(f"sessions that had been left open are closed and remembered: {len(found)}")

    def close(self) -> None:
        """Close the book if it was opened."""
        if self._memory is not None and self._ours:
            self._memory.close()
        self._memory = None

    def warn(self, message: str) -> None:
        """Write a warning to stderr: a line of text, or of JSON with `--json`; nothing with `--quiet`."""
        if self.options.quiet:
            return
        if self.options.json:
            import json

            from memorybook.text.screen import visible_json

            to_stderr(visible_json(json.dumps({"warning": {"message": message}}, ensure_ascii=False)))
        else:
            remark(translated(message, self.language))

    def write_json(self, answer: dict[str, Any]) -> None:
        """Write one JSON document to stdout: UTF-8, indented on a terminal only."""
        import json

        from memorybook.text.screen import visible_json

        text = json.dumps(answer, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)
        write(visible_json(text) + "\n", encoding="utf-8")

    def flush(self) -> None:
        """Flush stdout."""
        sys.stdout.flush()

    def confirm(self, question: str) -> None:
        """Ask on the terminal; `--yes` answers. Raises Declined, InvalidInput without a terminal."""
        if self.options.yes:
            return
        if sys.stdin is None or not sys.stdin.isatty():
            asks = "{verb} asks before it goes on, and there is no terminal to ask on: give --yes"
            raise InvalidInput(self.words(asks, verb=self.verb))
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes", "是", "好"):
            raise Declined(self.words("nothing was changed"))

    @contextmanager
    def progress(self, label: str) -> Iterator[Progress | None]:
        """Show a progress bar on stderr; yields None where nobody would see it."""
        if self.options.quiet or self.options.json or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total or None)


def translated(text: str, language: str) -> str:
    """Return a sentence that is composed in English in another language, as far as it is known there."""
    if language == "en":
        return text
    from memorybook import locale

    return locale.translate(text, language)


def remark(message: str) -> None:
    """Write a line for a person to stderr."""
    to_stderr(f"memorybook: {visible(message)}")


def to_stderr(line: str) -> None:
    """Write a line to stderr; bytes that are not UTF-8 as escapes.

    Errors of writing are ignored: there is nowhere left to report them.
    """
    try:
        sys.stderr.write(line.encode("utf-8", "backslashreplace").decode() + "\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Discard what a stream still buffers, which the interpreter would flush again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def working_directory() -> str:
    """Return the current directory. Raises NotFound if it is gone."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise NotFound("the current directory does not exist any more: go to another one") from None


def write(text: str, *, encoding: str | None = None) -> None:
    """Write to stdout, what its encoding cannot hold as escapes; `encoding` insists on one."""
    out: Any = sys.stdout
    if hasattr(out, "reconfigure") and (out.errors != _ESCAPE or (encoding and out.encoding != encoding)):
        out.reconfigure(encoding=encoding, errors=_ESCAPE)
    out.write(text)


def text_of(words: list[str]) -> str:
    """Join the words; a single `-` reads stdin, without its last line break."""
    if words != ["-"]:
        return " ".join(words)
    text = read_stdin().decode("utf-8", "surrogateescape")
    return text.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")


def read_stdin() -> bytes:
    """Read all of stdin."""
    check_stdin()
    return sys.stdin.buffer.read()


def check_stdin() -> None:
    """Raise InvalidInput if stdin is closed."""
    if sys.stdin is None:
        raise InvalidInput("stdin is closed: there is nothing to read for '-'")


# --- types of arguments --------------------------------------------------------------------------


def number(kind: Callable[[str], float], low: int, high: int) -> Callable[[str], float]:
    """Return the reader of a number, an int or a float, in `low..high`."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            what = "a whole number" if kind is int else "a number"
            raise InvalidInput(f"must be {what} from {low} to {high}, not {text[:40]!r}")
        return value

    return read


def setting(text: str) -> tuple[str, str]:
    """Read `KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InvalidInput(f"must be KEY=VALUE, not {text[:40]!r}")
    return key.strip(), value


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object."""
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInput(f'must be a JSON object such as \'{{"team": "api"}}\', not {text[:40]!r}')
    return value


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """Read `90s`, `30m`, `6h` or `1d`; above 0."""
    number, unit = text[:-1], _UNITS.get(text[-1:].lower())
    if unit is not None and number.replace(".", "", 1).isdecimal() and float(number) > 0:
        return float(number) * unit
    raise InvalidInput(f"must be a time such as 30m, 6h or 1d, not {text[:40]!r}")


_READERS: Mapping[str, Callable[[str], Any]] = {
    "X": number(float, 0, 1),
    "KEY=VALUE": setting,
    "JSON": json_object,
    "TIME": seconds,
}
"""What reads a value, by what the help calls it."""


def words_of(lists: list[str]) -> tuple[str, ...]:
    """Return `--tag a,b --tag c` as one tuple, without blanks."""
    return tuple(word.strip() for one in lists for word in one.replace("，", ",").split(",") if word.strip())
