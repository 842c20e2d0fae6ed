"""Verbs that read: search, recall, get, list."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any
from memorybook.cli.call import command

if TYPE_CHECKING:
    from memorybook.cli.call import Call
    from memorybook.memory import Memory


@command(
    "search",
    """
query...  words or a question; - reads stdin
--max-results --limit -n N<=200  at most N hits, 1 to 200
--min-score X  only hits at least this relevant, 0 to 1
--category --type NAME  only entries of this category
--since DATE  only from this day on, 2026-02-24
--until DATE  only up to this day
--session ID  only this session
--explain  show the components of each score
--below-prompt  only faded and archived entries

examples:
  memorybook search "which port does staging use"
  memorybook search 上次为什么换数据库 -n 3
  memorybook search deploy --type decision --since 2026-01-01 --json""",
)
def _search(call: Call) -> dict[str, Any]:
    given = call.arguments("below_prompt")
    if call.options.below_prompt:
        for name in given.keys() - {"query", "max_results"}:  # a filter that did nothing would mislead
            from memorybook.errors import InvalidInput

            raise InvalidInput(f"--below-prompt cannot be combined with --{name.replace('_', '-')}")
        return call.tool("recall_memory", **given)
    found = call.tool("memory_search", **given)
    return found if call.options.json else _apart(call.memory, found)


def _apart(memory: Memory, found: dict[str, Any]) -> dict[str, Any]:
    """Name turns as `get` needs them: by SESSION/ID where several sessions share the id."""
    turns = [hit for hit in found["results"] if hit["source"] == "turn"]
    shared = memory.book.transcripts.shared({hit["turn"] for hit in turns}) if turns else ()
    for hit in turns:
        if hit["turn"] in shared:
            hit["turn"] = f"{hit['session']}/{hit['turn']}"
    return found


command(
    "recall",
    """
query...  the next prompt; - reads stdin
--max-tokens N<=1000000  maximum size of the block

example:
  memorybook recall "write the release notes" --max-tokens 800""",
    tool="memory_recall",
)

command(
    "get",
    """
target:PATH|ID|turn:ID  a document or lines of it (PATH:3-5), an entry's id, or a turn
from_=--from LINE  first line; default 1
--lines N  number of lines; default all

examples:
  memorybook get MEMORY.md
  memorybook get daily/2026-02-24.md:12-16
  memorybook get daily/2026-02-24.md --from 12 --lines 5""",
    tool="memory_get",
)


@command(
    "list",
    """
--category --type NAME  only this category
--group NAME  only this group and its subgroups, such as work/api
--archived  archived and superseded entries instead of active ones
--limit -n N<=100000  at most N

examples:
  memorybook list
  memorybook list --type todo --limit 5""",
)
def _list(call: Call) -> dict[str, Any]:
    if not call.options.archived:
        return call.tool("memory_list", state="active", **call.arguments())
    listed = call.tool("memory_list", **call.arguments("archived", "limit"))
    if listed.get("disabled"):
        return listed
    put_away = [entry for entry in listed["entries"] if entry["state"] != "active"]
    return {"entries": put_away[: call.options.limit], "total": len(put_away)}
