"""Verbs that read: search, recall, get, list."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any
from memorybook.cli.call import share, text_of, whole

if TYPE_CHECKING:
    from memorybook.cli.call import Call, Command, Parser
    from memorybook.memory import Memory


def _search_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("query", nargs="+", help="words or a question; - reads stdin")
    add("--max-results", "--limit", "-n", type=whole(1, 200), metavar="N", help="at most N hits, 1 to 200")
    add("--min-score", type=share, metavar="X", help="only hits at least this relevant, 0 to 1")
    add("--category", "--type", metavar="NAME", help="only entries of this category")
    add("--since", metavar="DATE", help="only from this day on, 2026-02-24")
    add("--until", metavar="DATE", help="only up to this day")
    add("--session", metavar="ID", help="only this session")
    add("--explain", action="store_true", help="show the components of each score")
    add("--below-prompt", action="store_true", help="only faded and archived entries")
    parser.epilog = """examples:
  memorybook search "which port does staging use"
  memorybook search 上次为什么换数据库 -n 3
  memorybook search deploy --type decision --since 2026-01-01 --json"""


def _search(call: Call) -> dict[str, Any]:
    o = call.options
    query = text_of(o.query)
    if o.below_prompt:
        _refuse_filters(call)
        return call.tool("recall_memory", query=query, max_results=o.max_results)
    filters = call.given("max_results", "min_score", "category", "since", "until", "session", "explain")
    found = call.tool("memory_search", query=query, **filters)
    return found if o.json else _apart(call.memory, found)


def _apart(memory: Memory, found: dict[str, Any]) -> dict[str, Any]:
    """Name turns as `get` needs them: by SESSION/ID where several sessions share the id."""
    turns = [hit for hit in found["results"] if hit["source"] == "turn"]
    shared = memory.book.transcripts.shared({hit["turn"] for hit in turns}) if turns else ()
    for hit in turns:
        if hit["turn"] in shared:
            hit["turn"] = f"{hit['session']}/{hit['turn']}"
    return found


def _refuse_filters(call: Call) -> None:
    """`--below-prompt` takes a query and a number; a filter that did nothing would mislead."""
    from memorybook.errors import InvalidInput

    filters = ("min_score", "category", "since", "until", "session", "explain")
    given = [
        name for name in filters if getattr(call.options, name) is not None and getattr(call.options, name) is not False
    ]
    if given:
        raise InvalidInput(f"--below-prompt cannot be combined with --{given[0].replace('_', '-')}")


def _recall_arguments(parser: Parser) -> None:
    parser.add_argument("query", nargs="+", help="the next prompt; - reads stdin")
    parser.add_argument("--max-tokens", type=whole(1, 1_000_000), metavar="N", help="maximum size of the block")
    parser.epilog = 'example:\n  memorybook recall "write the release notes" --max-tokens 800'


def _recall(call: Call) -> dict[str, Any]:
    return call.tool("memory_recall", query=text_of(call.options.query), max_tokens=call.options.max_tokens)


def _get_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("target", metavar="PATH|ID|turn:ID", help="a document or lines of it (PATH:3-5), an entry's id, or a turn")
    add("--from", type=whole(1, 10**9), default=1, dest="start", metavar="LINE", help="first line, from 1")
    add("--lines", type=whole(1, 10**9), metavar="N", help="how many lines; all by default")
    parser.epilog = """examples:
  memorybook get MEMORY.md
  memorybook get daily/2026-02-24.md:12-16
  memorybook get daily/2026-02-24.md --from 12 --lines 5"""


def _get(call: Call) -> dict[str, Any]:
    return call.tool("memory_get", target=call.options.target, from_=call.options.start, lines=call.options.lines)


def _list_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--category", "--type", metavar="NAME", help="only this category")
    add("--group", metavar="NAME", help="only this group and those under it, such as work/api")
    add("--archived", action="store_true", help="the archived and superseded entries instead of the active ones")
    add("--limit", "-n", type=whole(1, 100_000), metavar="N", help="at most N")
    parser.epilog = "examples:\n  memorybook list\n  memorybook list --type todo --limit 5"


def _list(call: Call) -> dict[str, Any]:
    o = call.options
    if not o.archived:
        return call.tool("memory_list", category=o.category, group=o.group, state="active", limit=o.limit)
    listed = call.tool("memory_list", category=o.category, group=o.group)
    if listed.get("disabled"):
        return listed
    put_away = [entry for entry in listed["entries"] if entry["state"] != "active"]
    return {"entries": put_away[: o.limit], "total": len(put_away)}


COMMANDS: dict[str, Command] = {
    "search": (_search_arguments, _search),
    "recall": (_recall_arguments, _recall),
    "get": (_get_arguments, _get),
    "list": (_list_arguments, _list),
}
