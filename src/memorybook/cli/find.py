"""Verbs that read: search, recall, get, list."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any
from memorybook.cli.call import command

if TYPE_CHECKING:
    from memorybook.cli.call import Call
    from memorybook.memory import Memory


@command("search")
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


command("recall", tool="memory_recall")

command("get", tool="memory_get")


@command("list")
def _list(call: Call) -> dict[str, Any]:
    if not call.options.archived:
        return call.tool("memory_list", state="active", **call.arguments())
    listed = call.tool("memory_list", **call.arguments("archived", "limit"))
    if listed.get("disabled"):
        return listed
    put_away = [entry for entry in listed["entries"] if entry["state"] != "active"]
    return {"entries": put_away[: call.options.limit], "total": len(put_away)}
