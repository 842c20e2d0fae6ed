"""Verbs that look after a book: init, status, sync, rebuild, watch, trust, completion, copies of it, merges for git."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import ALIASES, VERBS, Parser, command, global_options, working_directory, write
from memorybook.cli.show import Page
from memorybook.errors import Conflict, InvalidInput, MissingExtra, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memorybook.cli.call import Argument, Call
    from memorybook.memory import Memory

command("status", tool="memory_status")
command("sync", method="sync", progress="Indexing")
command("rebuild", method="rebuild", progress="Indexing")


@command("init")
def _init(call: Call) -> dict[str, Any] | None:
    if call.options.here:
        return init_here(call)
    return call.unless_off(lambda memory: memory.init())


@command("watch")
def _watch(call: Call) -> dict[str, Any] | None:
    page = Page(call.options)

    def tell(report: dict[str, Any]) -> None:
        if call.options.json:
            call.write_json(report)
        else:
            page.line(", ".join(f"{name} {report[name]}" for name in ("checked", "changed", "removed")))
            for sentence in (*report.get("degraded", ()), *report.get("warnings", ())):
                page.remark(sentence)
        call.flush()

    def watch(memory: Memory) -> None:
        if not call.options.json:
            page.remark(f"watching {memory.root}; Ctrl-C ends it")
        memory.watch(tell, stop=None)

    return call.unless_off(watch)


@command("trust")
def _trust(call: Call) -> dict[str, Any]:
    from memorybook.config import settings

    here = working_directory()
    paths = [os.path.join(here, call.options.file)] if call.options.file else settings.project_files(here)
    if not paths:
        raise NotFound("this project has no memorybook.toml, memorybook.json or memorybook.yaml (or .yml) to trust")

    trusted = [{"path": path, "settings": settings.trust(path, env=os.environ)} for path in paths]
    call.config()  # which also tells the language to answer in
    return {"trusted": trusted, "merges": trust_clone(here)}


@command("completion")
def _completion(call: Call) -> None:
    try:
        import shtab
    except ImportError:
        raise MissingExtra("completion needs shtab: pip install shtab") from None
    if call.options.shell not in shtab.SUPPORTED_SHELLS:
        raise InvalidInput(f"no completion for {call.options.shell!r}: there is {', '.join(shtab.SUPPORTED_SHELLS)}")
    from argparse import ArgumentParser

    places = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}

    def add(parser: ArgumentParser, arguments: Iterable[Argument]) -> None:
        for one in arguments:
            how: dict[str, Any] = {"nargs": one.takes} if one.takes in ("?", "*", "+") else {}
            how |= {"metavar": one.metavar} if one.takes else {"action": "store_true"}
            action = parser.add_argument(*one.names, help=one.help, **how)
            if one.metavar in places:
                action.complete = places[one.metavar]  # type: ignore[attr-defined]

    whole = ArgumentParser(prog="memorybook")  # what shtab reads
    add(whole, global_options())
    verbs = whole.add_subparsers(metavar="COMMAND")
    for name, verb in ({verb: verb for verb in VERBS} | ALIASES).items():
        add(verbs.add_parser(name, help=VERBS[verb][1]), [*Parser(verb).arguments, *global_options()])
    write(shtab.complete(whole, shell=call.options.shell) + "\n")


def _shown_export(shown: dict[str, Any], page: Page) -> None:
    words, count = page.words, page.words.counted
    held = {"sessions": count(shown["sessions"], "session"), "turns": count(shown["turns"], "turn")}
    new = {"sessions": count(shown["new_sessions"], "session"), "turns": count(shown["new_turns"], "turn")}
    told = words(" holds {sessions} with {turns}; ", **held)
    page.line(("place", shown["path"]), told, ("good", words("{sessions} and {turns} new", **new)))
    if shown["left_out"]:
        gone = "{turns} of what was forgotten since went out of it"
        page.remark(words(gone, turns=count(shown["left_out"], "turn")))


@command("export", show=_shown_export)
def _export(call: Call) -> dict[str, Any] | None:
    def take(memory: Memory) -> dict[str, Any] | None:
        with call.progress("Exporting") as progress:
            done = memory.export(**call.arguments(), progress=progress)
        return None if done.path == "-" else done.json()

    return call.unless_off(take)


def _shown_backup(shown: dict[str, Any], page: Page) -> None:
    held = f"{page.words.counted(shown['documents'], 'document')}, the turns and the journal, {_size(shown['bytes'])}"
    page.line(("place", shown["path"]), f" holds {held}, in ", ("good", _size(shown["packed"])))
    if shown["left_out"]:
        names = ", ".join(shown["left_out"][:5]) + (" …" if len(shown["left_out"]) > 5 else "")
        page.remark(f"not in it, as they are no documents: {names}")


command("backup", method="backup", progress="Packing", show=_shown_backup)


def _shown_restored(shown: dict[str, Any], page: Page) -> None:
    page.line(
        ("place", shown["root"]),
        " is the book again: ",
        ("good", f"{page.words.counted(shown['documents'], 'document')}, {_size(shown['bytes'])}"),
    )
    if shown["kept"]:
        page.remark(f"what stood there before is kept in {shown['kept']}")


command("restore", method="restore", progress="Restoring", show=_shown_restored)

_MOST = 10
"""Files of one machine that are named."""


def _shown_collected(shown: dict[str, Any], page: Page) -> None:
    for each in shown["nodes"]:
        came = [
            f"{page.words.counted(each[what][kind], one, what)} {kind}"
            for one, what in (("summary", "summaries"), ("entry", "entries"))
            for kind in ("new", "updated", "edited", "known", "waiting")
            if each[what][kind]
        ]
        page.line(("strong", f"{each['node']}: "), ("good", ", ".join(came) or "nothing new"))
        for left in each["left_out"][:_MOST]:
            page.text(f"left out ({left['reason']}): {left['what']}", "  ")
        if len(each["left_out"]) > _MOST:
            page.text(f"left out: {len(each['left_out']) - _MOST} more", "  ")
        if each["gone"]:
            more = " …" if len(each["gone"]) > _MOST else ""
            page.text(f"no longer there, kept here: {', '.join(each['gone'][:_MOST])}{more}", "  ")
    if shown["handed"]:
        handed = shown["handed"]
        counts = f"{handed['written']} written, {handed['removed']} removed, {handed['unchanged']} as they were"
        page.line("handed out in ", ("place", handed["root"]), ": ", ("good", counts))
    if shown["dry_run"]:
        page.remark("nothing was done, as --dry-run asks")
    for each in shown["skipped"]:
        page.remark(f"skipped {each['place']}: {each['reason']}")
    for sentence in shown["degraded"]:
        page.remark(sentence)
    if shown["operation"]:
        page.remark(f"to take it back: memorybook undo {shown['operation']}")


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


@command("sync-summaries", show=_shown_collected)
def _collect(call: Call) -> dict[str, Any] | None:
    given, names = call.arguments("sessions"), set(call.options.sessions)
    if len(names) > 1 and names & {"none", "all"}:
        raise InvalidInput("--sessions is none, or all, or names of sessions: give one of these")
    chosen = None if names <= {"all"} else [] if names == {"none"} else call.options.sessions
    return call.unless_off(lambda memory: memory.sync_summaries(**given, sessions=chosen).json())


# --- a book in its project's repository -----------------------------------------------------------


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
