"""The memory tools as plain typed functions: the one list that every door loops over.

A tool takes the open memory and the caller's arguments, and answers a JSON object. Its schema is
derived from its signature and docstring, so the two cannot drift apart; a trailing underscore keeps a
parameter from being a word of Python, and callers do not see it.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Callable, Collection, Mapping, Sequence

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
    """Search entries, notes, documents, summaries and past turns. Use it before answering about the past.

    Open a hit with memory_get. For faded entries use recall_memory. For a prompt block use memory_recall.

    Args:
        query: A question or words, in any language.
        max_results: Maximum, up to 200.
        min_score: Minimum relevance, 0 to 1.
        category: Only entries of this category.
        since: First day, YYYY-MM-DD.
        until: Last day.
        session: Only this session, uuid or name.
        explain: Add the components of each score.
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
    """Search archived and faded entries: snippets, best first. Use it when memory_search finds nothing.

    Args:
        query: A question or words, in any language.
        max_results: Maximum, up to 200.
    """
    return memory.recall_memory(query, max_results=max_results).json()


def memory_get(memory: Memory, target: str, from_: int = 1, lines: int | None = None) -> dict[str, Any]:
    """Read a document, an entry with all its fields, or a past turn.

    Args:
        target: A place from a search: path, path#L3-L5, entry id or turn:SESSION/ID.
        from: First line.
        lines: Number of lines; default all.
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
        category: Only this category.
        group: Only this group and its subgroups.
        state: active, archived or superseded.
        limit: Maximum.
    """
    return memory.entries(category=category, group=group, state=state, limit=limit).json()


def memory_recall(memory: Memory, query: str, max_tokens: int | None = None) -> dict[str, Any]:
    """Build the memory block of a prompt. Use it once at the start of a turn; to look something up use memory_search.

    Args:
        query: What the user just said.
        max_tokens: Size of the block, default 2000.
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
    """Store a lasting statement, such as a preference, fact or decision; a repeated one is strengthened.

    For events use memory_append. Use it to add; to correct use memory_update.

    Args:
        text: The statement, complete in itself.
        category: preference, fact, decision, experience, workflow, skill_usage, todo or context.
        importance: high, medium, low, or 0 to 1.
        tags: Words to find it by.
        group: Path of its group, such as work/api.
        expires: Day a todo lapses, YYYY-MM-DD.
        metadata: Your own JSON object.
        session: Session it belongs to; default none.
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
    """Append a note to today's file, or an item under a heading of MEMORY.md. Returns path and line.

    Use it for events; for lasting statements use memory_remember.

    Args:
        text: The note.
        kind: One short word, such as pref.
        tags: Words to find it by.
        section: Heading in MEMORY.md.
    """
    return memory.append(text, kind=kind, tags=tags, section=section).json()


def memory_flush(
    memory: Memory, text: str | None = None, messages: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Save what matters before a conversation is compacted: at most 20 notes of 500 characters.

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
    """Correct an entry; fields not given stay. Returns the entry.

    Args:
        id: Entry id.
        text: New statement.
        category: New category.
        importance: high, medium, low, or 0 to 1.
        tags: All its tags.
        group: New group; empty for none.
        expires: New day it lapses, YYYY-MM-DD; empty for never.
        metadata: New JSON object.
        instruction: How a language model should rewrite the statement; give it alone.
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
        id: Entry id.
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
    """Forget an entry, a session, a source or all about a query: give one. Use it when the user wants it gone.

    Args:
        target: Entry id.
        query: All entries and notes about this.
        session: Uuid or name, with all that came from it.
        source: turn:ID, document or imported file, with all that came from it.
        dry_run: Only report what would go.
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
    """Erase something for good, with every copy; this cannot be undone. Give one of the five.

    Args:
        target: Entry id, also of a forgotten entry.
        query: All entries and notes about this.
        session: Uuid or name, with all that came from it.
        source: turn:ID, document or imported file, with all that came from it.
        forgotten: Everything forgotten and not brought back.
        dry_run: Only report what would go.
    """
    return memory.purge(
        target, query=query, session=session, source=source, forgotten=forgotten, dry_run=dry_run
    ).json()


def memory_history(memory: Memory, id: str | None = None, limit: int | None = None) -> dict[str, Any]:
    """List what was done to the book, newest first, with reasons.

    Args:
        id: Only this entry, document path, session or operation.
        limit: Maximum, default 20.
    """
    return memory.history(id, limit=20 if limit is None else limit).json()


def memory_why(memory: Memory, id: str) -> dict[str, Any]:
    """Explain why an entry is remembered: what was said, what changed it, which prompts used it.

    Args:
        id: Entry id.
    """
    return memory.why(id).json()


def memory_undo(memory: Memory, operation: str, dry_run: bool = False) -> dict[str, Any]:
    """Undo one of your operations, also an undo. Only a person can undo what a person did.

    Args:
        operation: Operation id, see memory_history; MEMORY.md puts back what another program took out of it.
        dry_run: Only report what would happen.
    """
    if (
        memory.context.actor != "user"
        and operation != "MEMORY.md"
        and memory.book.journal.operation(operation).actor == "user"
    ):
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
        limit: Maximum, default 5.
        since: First day, YYYY-MM-DD.
        until: Last day.
        current: The current conversation, to leave out.
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
    """Find past conversations and their turns by subject. Use it for what was discussed.

    For remembered facts use memory_search.

    Args:
        query: The subject, in any language; days in it narrow the search.
        top: Maximum of conversations and of turns, default 5.
        since: First day, YYYY-MM-DD.
        until: Last day.
        current: The current conversation, to leave out.
    """
    return memory.recall_topic(query, top=top, since=since, until=until, current=current).json()


def recall_session(memory: Memory, which: str, limit: int = 50, current: str | None = None) -> dict[str, Any]:
    """Open one past conversation: its summary and last turns.

    Use it to go on where it ended; to look something up in it use recall_within.

    Args:
        which: Uuid, name, a day, or words such as last time, 上次 or last Tuesday.
        limit: Maximum of turns.
        current: The current conversation, to leave out.
    """
    return memory.recall_session(which, limit=limit, current=current).json()


def recall_within(memory: Memory, session: str, query: str, top: int | None = None) -> dict[str, Any]:
    """Find turns about something in one conversation. Use it when you know which; else use recall_topic.

    Args:
        session: Which one, as for recall_session.
        query: The subject, in any language.
        top: Maximum of turns, default 5.
    """
    return memory.recall_within(session, query, top=top).json()


def memory_review(
    memory: Memory, kind: str | None = None, state: str = "open", limit: int | None = None
) -> dict[str, Any]:
    """List proposals that wait for review; only a person accepts or rejects them.

    Args:
        kind: Such as archive, conflict or duplicate.
        state: open, accepted, rejected or withdrawn.
        limit: Maximum.
    """
    return memory.review(kind=kind, state=state, limit=limit).json()


def memory_status(memory: Memory) -> dict[str, Any]:
    """Report what is stored where, what waits, and what is degraded."""
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


def call(memory: Memory, name: str, arguments: Mapping[str, Any] | str, *, for_model: bool = False) -> dict[str, Any]:
    """Call a tool by name; while memory is switched off it does nothing and says so.

    Arguments are as `schema` has them, or under the names of `validate.ALSO`; an object or its JSON as models write
    it; None is as good as left out. With `for_model` a search returns only the hits that a model can use, see
    `recall.tool_results.select`.

    Raises:
        InvalidInput: No such tool, an argument it does not have, one that is missing, or of another type.
        MemoryBookError: What the tool raises.
    """
    from memorybook.errors import InvalidInput
    from memorybook.formats.json_schema import checked, decoded, private
    from memorybook.validate import renamed

    tool = TOOLS.get(name)
    if tool is None:
        raise InvalidInput(f"no tool {name!r}: there are {', '.join(TOOLS)}")
    parameters = schema(name)["parameters"]
    given = checked(name, parameters, renamed(parameters["properties"], decoded(name, arguments)))
    if for_model and tool in (memory_search, recall_memory):
        from memorybook.search.tool_results import search_for_model

        search = memory.search if tool is memory_search else memory.recall_memory
        return search_for_model(search, memory.book.transcripts, memory.config.max_results, **given)
    return run(memory, tool, **{private(each): value for each, value in given.items()})


def text(answer: Mapping[str, Any]) -> str:
    """The answer of a tool as text for a model: compact lines of a search, JSON of anything else."""
    from memorybook.search.tool_results import answer_text

    return answer_text(answer)


def run(memory: Memory, tool: Tool, **arguments: Any) -> dict[str, Any]:
    """Call a tool function; while memory is switched off it answers `{"disabled": true, …}` and does nothing."""
    if not memory.config.enabled and tool not in (memory_search, recall_memory, memory_status):
        return disabled(tool.__name__)
    return tool(memory, **arguments)


def disabled(name: str) -> dict[str, Any]:
    """What the tool or command of that name answers while memory is switched off."""
    from memorybook.config.settings import OFF

    return {"disabled": True, "tool": name, "reason": OFF}


def schema(name: str) -> dict[str, Any]:
    """Name, description and parameters (JSON Schema) of a tool, from its signature and docstring."""
    from memorybook.formats.json_schema import schema_of

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
    from memorybook.formats.json_schema import WIRES

    if wire not in WIRES:
        raise InvalidInput(f"no wire {wire!r}: there are {', '.join(WIRES)}")
    return [WIRES[wire](schema(name)) for name in offered(names)]
