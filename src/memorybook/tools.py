"""The memory tools as plain typed functions: the one list that every door loops over.

A tool takes the open memory and the caller's arguments, and answers a JSON object. Its schema is
derived from its signature and docstring, so the two cannot drift apart; a trailing underscore keeps a
parameter from being a word of Python, and callers do not see it.
"""

from __future__ import annotations

from memorybook.standard import Callable, Collection, Mapping, Sequence
from memorybook.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorybook.memory import Memory

Tool = Callable[..., dict[str, Any]]


def memory_search(
    memory: Memory,
    query: str,
    max_results: int | None = None,
    min_score: float | None = None,
    category: str | None = None,
    since: str | None = None,
    until: str | None = None,
    session: str | None = None,
    explain: bool = False,
) -> dict[str, Any]:
    """Search long-term memory (entries, notes, documents, session summaries, past turns): snippets, best first.

    Use it to answer about the past, then open what you rely on with memory_get; recall_memory finds what has faded.
    memory_recall makes a block for a prompt.

    Args:
        query: What to look for, in any language.
        max_results: At most this many, up to 200.
        min_score: Lowest relevance, 0 to 1.
        category: Only entries of this category.
        since: From this day on, YYYY-MM-DD.
        until: Up to this day.
        session: Only this session, by uuid or name.
        explain: Tell what each score is made of.
    """
    return memory.search(
        query,
        max_results=max_results,
        min_score=min_score,
        category=category,
        since=since,
        until=until,
        session=session,
        explain=explain,
    ).json()


def recall_memory(memory: Memory, query: str, max_results: int | None = None) -> dict[str, Any]:
    """Search archived entries and those too weak to be in every prompt: snippets, best first.

    Use it when memory_search and the prompt lack what was known long ago.

    Args:
        query: What to look for, in any language.
        max_results: At most this many, up to 200.
    """
    return memory.recall_memory(query, max_results=max_results).json()


def memory_get(memory: Memory, target: str, from_: int = 1, lines: int | None = None) -> dict[str, Any]:
    """Read what a search found: lines of a document, an entry with all its fields, or a past turn.

    Args:
        target: A path, also with lines (daily/2026-02-24.md#L3-L5), an entry's id, or turn:SESSION/ID.
        from: First line of a document.
        lines: How many lines; else all that follow.
    """
    return memory.get(target, start=from_, lines=lines).json()


def memory_list(
    memory: Memory,
    category: str | None = None,
    group: str | None = None,
    state: str | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """List entries, strongest first.

    Args:
        category: Only of this category.
        group: Only of this group and those below it.
        state: active, archived or superseded.
        limit: At most this many.
    """
    return memory.entries(category=category, group=group, state=state, limit=limit).json()


def memory_recall(memory: Memory, query: str, max_tokens: int | None = None) -> dict[str, Any]:
    """Make the memory block for a prompt: what a person wrote, key facts, what fits the query.

    Use it once when a turn begins; to look something up use memory_search.

    Args:
        query: What the user just said.
        max_tokens: Size of the block; else 2000.
    """
    return memory.recall(query, max_tokens=max_tokens).json()


def memory_remember(
    memory: Memory,
    text: str,
    category: str = "fact",
    importance: str | float = "medium",
    tags: Sequence[str] = (),
    group: str | None = None,
    expires: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    session: str | None = None,
) -> dict[str, Any]:
    """Remember one statement for good; saying the same again strengthens it. Answers the entry with its id.

    Use it for what stays true: a preference, a fact, a decision; for what happened use memory_append.

    Args:
        text: The statement, complete in itself.
        category: preference, fact, decision, experience, workflow, skill_usage, todo or context.
        importance: high, medium, low, or 0 to 1.
        tags: Words to find it by.
        group: Where it belongs, such as work/api.
        expires: Day a todo lapses, YYYY-MM-DD.
        metadata: A JSON object of your own.
        session: Where it belongs; else it is everybody's.
    """
    return memory.remember(
        text,
        category=category,
        importance=importance,
        tags=tags,
        group=group,
        expires=expires,
        metadata=metadata,
        session=session,
    ).json()


def memory_append(
    memory: Memory, text: str, kind: str | None = None, tags: Sequence[str] = (), section: str | None = None
) -> dict[str, Any]:
    """Append a note to today's file, or a list item under a heading of MEMORY.md. Answers its path and line.

    Use it for what happened or was done; for what stays true use memory_remember.

    Args:
        text: The note.
        kind: A short word for it, such as pref.
        tags: Words to find it by.
        section: Heading of MEMORY.md to add it under.
    """
    return memory.append(text, kind=kind, tags=tags, section=section).json()


def memory_flush(
    memory: Memory, text: str | None = None, messages: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Save what is durable before a conversation is compacted: at most 20 notes of 500 characters.

    Answers where each was written, and what was left out and why.

    Args:
        text: Text or Markdown.
        messages: The conversation instead: objects with role or speaker, and content.
    """
    return memory.flush(text, messages=messages).json()


def memory_update(
    memory: Memory,
    id: str,
    text: str | None = None,
    category: str | None = None,
    importance: str | float | None = None,
    tags: Sequence[str] | None = None,
    group: str | None = None,
    expires: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    instruction: str | None = None,
) -> dict[str, Any]:
    """Change an entry that is wrong or no longer true; what is left out stays. Answers the entry as it stands now.

    Args:
        id: Its id.
        text: New statement.
        category: New category.
        importance: high, medium, low, or 0 to 1.
        tags: All its tags.
        group: New group; empty for none.
        expires: New day on which it lapses, YYYY-MM-DD; empty for never.
        metadata: New JSON object.
        instruction: How a language model is to rewrite the statement; given alone.
    """
    if instruction is not None:
        fields = (text, category, importance, tags, group, expires, metadata)
        if any(field is not None for field in fields):
            from memorybook.errors import InvalidInput

            raise InvalidInput("an instruction is given alone: change other fields in a call of their own")
        return memory.revise(id, instruction).json()
    return memory.update(
        id,
        text=text,
        category=category,
        importance=importance,
        tags=tags,
        group=group,
        expires=expires,
        metadata=metadata,
    ).json()


def memory_pin(memory: Memory, id: str, pinned: bool = True) -> dict[str, Any]:
    """Keep an entry from fading, or let it fade again.

    Args:
        id: Its id.
        pinned: False lets it fade again.
    """
    return memory.pin(id, pinned=pinned).json()


def memory_forget(
    memory: Memory,
    target: str | None = None,
    query: str | None = None,
    session: str | None = None,
    source: str | None = None,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Forget an entry, what is relevant to a query, a session, or a source. Give one of the four.

    Use it when the user wants something gone; what is no longer true is changed with memory_update.

    Args:
        target: Id of the entry.
        query: Entries and notes relevant to this go.
        session: By uuid or name; goes with its turns and what came from it.
        source: turn:ID, a document or an imported file; goes with what came from it.
        dry_run: Only say what would go.
    """
    return memory.forget(target, query=query, session=session, source=source, dry_run=dry_run).json()


def memory_purge(
    memory: Memory,
    target: str | None = None,
    query: str | None = None,
    session: str | None = None,
    source: str | None = None,
    forgotten: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Erase something for good, with every copy of it: it cannot be undone. Give one of the five.

    Args:
        target: Id of the entry, also of one that was forgotten.
        query: Entries and notes relevant to this go.
        session: By uuid or name; goes with its turns and what came from it.
        source: turn:ID, a document or an imported file; goes with what came from it.
        forgotten: All that was ever forgotten and not brought back.
        dry_run: Only say what would go.
    """
    return memory.purge(
        target, query=query, session=session, source=source, forgotten=forgotten, dry_run=dry_run
    ).json()


def memory_history(memory: Memory, id: str | None = None, limit: int | None = None) -> dict[str, Any]:
    """Tell what was done to the book, newest first, and why.

    Args:
        id: Only of this entry, document path, session or operation.
        limit: At most this many; else 20.
    """
    return memory.history(id, limit=20 if limit is None else limit).json()


def memory_why(memory: Memory, id: str) -> dict[str, Any]:
    """Tell why an entry is remembered: what was said, what changed it, which prompts it entered.

    Args:
        id: Its id.
    """
    return memory.why(id).json()


def memory_undo(memory: Memory, operation: str, dry_run: bool = False) -> dict[str, Any]:
    """Take back an operation of yours, also an undo. What a person did only a person takes back.

    Args:
        operation: Its id, see memory_history.
        dry_run: Only say what would happen.
    """
    if memory.actor != "user" and memory.book.journal.operation(operation).actor == "user":
        from memorybook.errors import InvalidInput

        told = f"operation {operation!r} was a person's: only a person takes it back"
        raise InvalidInput(f"{told}, with memorybook undo {operation}")
    return memory.undo(operation, dry_run=dry_run).json()


def recall_history(
    memory: Memory,
    limit: int | None = None,
    since: str | None = None,
    until: str | None = None,
    current: str | None = None,
) -> dict[str, Any]:
    """List the newest conversations with their summaries.

    Use it to see what went on lately; for a subject use recall_topic.

    Args:
        limit: At most this many; 5 if left out.
        since: From this day on, YYYY-MM-DD.
        until: Up to this day.
        current: The current conversation, which is left out.
    """
    return memory.recall_history(limit, since=since, until=until, current=current).json()


def recall_topic(
    memory: Memory,
    query: str,
    top: int | None = None,
    since: str | None = None,
    until: str | None = None,
    current: str | None = None,
) -> dict[str, Any]:
    """Find past conversations about something: their summaries, and the turns in which it was said.

    Use it for what was discussed or decided; for facts that are remembered use memory_search.

    Args:
        query: What it was about, in any language; days that it names narrow the search.
        top: At most this many conversations, and turns; 5 if left out.
        since: Only turns from this day on, YYYY-MM-DD.
        until: Only turns up to this day.
        current: The current conversation, which is left out.
    """
    return memory.recall_topic(query, top=top, since=since, until=until, current=current).json()


def recall_session(memory: Memory, which: str, limit: int = 50, current: str | None = None) -> dict[str, Any]:
    """Open one past conversation: its summary and its last turns.

    Use it to go on where it ended; to look something up in it use recall_within.

    Args:
        which: Its uuid, its name, a day, or words such as last time, 上次 or last Tuesday.
        limit: At most this many turns.
        current: The current conversation, which last time and the like do not mean.
    """
    return memory.recall_session(which, limit=limit, current=current).json()


def recall_within(memory: Memory, session: str, query: str, top: int | None = None) -> dict[str, Any]:
    """Find the turns about something in one conversation. Use it when that is known; else use recall_topic.

    Args:
        session: Which, as for recall_session.
        query: What it was about, in any language.
        top: At most this many turns; 5 if left out.
    """
    return memory.recall_within(session, query, top=top).json()


def memory_review(
    memory: Memory, kind: str | None = None, state: str = "open", limit: int | None = None
) -> dict[str, Any]:
    """List what was proposed and waits for a person's word; only a person accepts or rejects it.

    Args:
        kind: Such as archive, conflict or duplicate.
        state: open, accepted, rejected or withdrawn.
        limit: At most this many.
    """
    return memory.review(kind=kind, state=state, limit=limit).json()


def memory_status(memory: Memory) -> dict[str, Any]:
    """Tell what is stored where, what waits, and whether anything is degraded."""
    return memory.status()


TOOLS: Mapping[str, Tool] = {
    tool.__name__: tool
    for tool in (
        memory_search,
        memory_get,
        memory_append,
        memory_flush,
        memory_remember,
        memory_update,
        memory_pin,
        memory_forget,
        memory_list,
        memory_recall,
        recall_memory,
        recall_history,
        recall_topic,
        recall_session,
        recall_within,
        memory_history,
        memory_why,
        memory_undo,
        memory_purge,
        memory_review,
        memory_status,
    )
}
"""Every tool by name, in the order in which doors list them."""


def call(memory: Memory, name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """Call a tool by name; while memory is switched off it does nothing and says so.

    Arguments are as `schema` has them, an object or its JSON as models write it; None is as good as left out.

    Raises:
        InvalidInput: No such tool, an argument it does not have, one that is missing, or of another type.
        MemoryBookError: What the tool raises.
    """
    from memorybook.errors import InvalidInput
    from memorybook.tool_schema import checked, decoded, private

    tool = TOOLS.get(name)
    if tool is None:
        raise InvalidInput(f"no tool {name!r}: there are {', '.join(TOOLS)}")
    given = checked(name, schema(name)["parameters"], decoded(name, arguments))
    return run(memory, tool, **{private(each): value for each, value in given.items()})


def run(memory: Memory, tool: Tool, **arguments: Any) -> dict[str, Any]:
    """Call a tool function; while memory is switched off it answers `{"disabled": true, …}` and does nothing."""
    if not memory.config.enabled and tool not in (memory_search, recall_memory, memory_status):
        return disabled(tool.__name__)
    return tool(memory, **arguments)


def disabled(name: str) -> dict[str, Any]:
    """What the tool or command of that name answers while memory is switched off."""
    from memorybook.config import OFF

    return {"disabled": True, "tool": name, "reason": OFF}


def schema(name: str) -> dict[str, Any]:
    """Name, description and parameters (JSON Schema) of a tool, from its signature and docstring."""
    from memorybook.tool_schema import schema_of

    return schema_of(TOOLS[name])


def offered(names: Collection[str] | None = None) -> list[str]:
    """The tools of these names, in order; None takes all but `memory_purge`: what erases for good is a person's to do.

    Raises:
        InvalidInput: There is no such tool.
    """
    from memorybook.errors import InvalidInput

    for unknown in () if names is None else (name for name in names if name not in TOOLS):
        raise InvalidInput(f"no tool {unknown!r}: there are {', '.join(TOOLS)}")
    return [name for name in TOOLS if (name != "memory_purge" if names is None else name in names)]


def schemas(wire: str, names: Collection[str] | None = None) -> list[dict[str, Any]]:
    """What the tools take, for the `tools` of a request; a call that comes back is one for `call`.

    Args:
        wire: `openai` (Chat Completions), `openai-responses` or `anthropic` (Messages).
        names: Of the tools, see `offered`.

    Raises:
        InvalidInput: No such wire, or no such tool.
    """
    from memorybook.errors import InvalidInput
    from memorybook.tool_schema import WIRES

    if wire not in WIRES:
        raise InvalidInput(f"no wire {wire!r}: there are {', '.join(WIRES)}")
    return [WIRES[wire](schema(name)) for name in offered(names)]
