"""The memory tools that every door offers: a table of verbs of `Memory` with what a model is told of each.

A tool takes the open memory and the caller's arguments, and returns a JSON object. Types and defaults of its parameters
are those of the verb, so the two cannot drift apart. A trailing underscore keeps a parameter from being a word of
Python; callers do not see it.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Callable, Collection, Mapping, NamedTuple, Sequence

if TYPE_CHECKING:
    from memorybook.memory import Memory
    from memorybook.model import CategoryName, Importance


class Verb(NamedTuple):
    """A verb of `Memory` as a tool.

    Attributes:
        name: Of the method.
        doc: What a model is told: a description, and under `Args:` the parameters that the tool has.
    """

    name: str
    doc: str

    def __call__(self, memory: Memory, **arguments: Any) -> dict[str, Any]:
        """Call the verb; returns its answer as JSON."""
        found = getattr(memory, self.name)(**arguments)
        shown: dict[str, Any] = found if isinstance(found, dict) else found.json()
        return shown


Tool = Verb | Callable[..., dict[str, Any]]


def _memory_get(memory: Memory, target: str, from_: int = 1, lines: int | None = None) -> dict[str, Any]:
    """Read a document, an entry with all its fields, or a past turn.

    Args:
        target: A place from a search: path#L3-L5, entry id or turn:SESSION/ID.
        from: First line.
        lines: Number of lines; default all.
    """
    return memory.get(target, start=from_, lines=lines).json()


def _memory_update(
    memory: Memory,
    id: str,
    text: str | None = None,
    category: CategoryName | None = None,
    importance: Importance | float | None = None,
    tags: Sequence[str] | None = None,
    group: str | None = None,
    expires: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    instruction: str | None = None,
) -> dict[str, Any]:
    """Correct an entry; fields not given stay.

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


def _recall_session(memory: Memory, which: str, limit: int = 50, current: str | None = None) -> dict[str, Any]:
    """Open one past conversation: its summary and last turns.

    Use it to go on where it ended; to look something up in it use recall_within.

    Args:
        which: Uuid, name, a day, or words such as last time, 上次 or last Tuesday.
        limit: Maximum of turns.
        current: The current conversation, to leave out.
    """
    return memory.recall_session(which, limit=limit, current=current).json()


def _memory_history(memory: Memory, id: str | None = None, limit: int | None = None) -> dict[str, Any]:
    """List what was done to the book, newest first, with reasons.

    Args:
        id: Only this entry, document path, session or operation.
        limit: Maximum, default 20.
    """
    return memory.history(id, limit=20 if limit is None else limit).json()


def _memory_undo(memory: Memory, operation: str, dry_run: bool = False) -> dict[str, Any]:
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


TOOLS: Mapping[str, Tool] = {
    "memory_search": Verb(
        "search",
        """Search entries, notes, documents, summaries and past turns. Use it before answering about the past.

        Open a hit with memory_get. For faded entries use recall_memory. For a prompt block use memory_recall.

        Args:
            query: A question or words.
            max_results: Up to 200.
            min_score: Minimum relevance, 0 to 1.
            category: Only entries of this category.
            since: First day, YYYY-MM-DD.
            until: Last day.
            session: Only this session, uuid or name.
            explain: Add the components of each score.
        """,
    ),
    "memory_get": _memory_get,
    "memory_append": Verb(
        "append",
        """Append a note to today's file, or under a heading of MEMORY.md.

        Use it for events; for lasting statements use memory_remember.

        Args:
            text: The note.
            kind: One short word, such as pref.
            tags: Words to find it by.
            section: Heading in MEMORY.md.
        """,
    ),
    "memory_flush": Verb(
        "flush",
        """Save what matters before a conversation is compacted: at most 20 notes of 500 characters.

        Args:
            text: Text or Markdown.
            messages: The conversation instead: objects with role or speaker, and content.
        """,
    ),
    "memory_remember": Verb(
        "remember",
        """Store a lasting statement; saying it again strengthens it.

        For events use memory_append. Use it to add; to correct use memory_update.

        Args:
            text: A complete statement.
            category: Its kind.
            importance: high, medium, low, or 0 to 1.
            tags: Words to find it by.
            group: Path of its group, such as work/api.
            expires: Day a todo lapses, YYYY-MM-DD.
            metadata: Your own JSON object.
            session: Session it belongs to; default none.
        """,
    ),
    "memory_update": _memory_update,
    "memory_pin": Verb(
        "pin",
        """Keep an entry from fading, or let it fade again.

        Args:
            id: Entry id.
            pinned: False lets it fade again.
        """,
    ),
    "memory_forget": Verb(
        "forget",
        """Forget an entry, all about a query, or a session or source and all that came from it: give one.

        Use it when the user wants it gone.

        Args:
            target: Entry id.
            query: All about this.
            session: Uuid or name.
            source: turn:ID, document or imported file.
            dry_run: Only report what would go.
        """,
    ),
    "memory_list": Verb(
        "entries",
        """List entries, strongest first.

        Args:
            category: Only this category.
            group: Only this group and its subgroups.
            state: Only in this state.
            limit: Maximum.
        """,
    ),
    "memory_recall": Verb(
        "recall",
        """Build the memory block of a prompt.

        Use it once at the start of a turn; to look something up use memory_search.

        Args:
            query: What the user just said.
            max_tokens: Size of the block, default 2000.
        """,
    ),
    "recall_memory": Verb(
        "recall_memory",
        """Search archived and faded entries: snippets, best first. Use it when memory_search finds nothing.

        Args:
            query: A question or words, in any language.
            max_results: Up to 200.
        """,
    ),
    "recall_history": Verb(
        "recall_history",
        """List the newest conversations with their summaries.

        Use it to see what went on lately; for a subject use recall_topic.

        Args:
            limit: Maximum, default 5.
            since: First day, YYYY-MM-DD.
            until: Last day.
            current: The current conversation, to leave out.
        """,
    ),
    "recall_topic": Verb(
        "recall_topic",
        """Find past conversations and their turns by subject. Use it for what was discussed.

        For remembered facts use memory_search.

        Args:
            query: The subject; days in it narrow the search.
            top: Maximum of conversations and of turns, default 5.
            since: First day, YYYY-MM-DD.
            until: Last day.
            current: The current conversation, to leave out.
        """,
    ),
    "recall_session": _recall_session,
    "recall_within": Verb(
        "recall_within",
        """Find turns about something in one conversation. Use it when you know which; else use recall_topic.

        Args:
            session: Which one, as for recall_session.
            query: The subject, in any language.
            top: Maximum of turns, default 5.
        """,
    ),
    "memory_history": _memory_history,
    "memory_why": Verb(
        "why",
        """Explain why an entry is remembered: what was said, what changed it, which prompts used it.

        Args:
            id: Entry id.
        """,
    ),
    "memory_undo": _memory_undo,
    "memory_purge": Verb(
        "purge",
        """Erase something for good, with every copy; this cannot be undone. Give one of the five.

        Args:
            target: Entry id, also of a forgotten entry.
            query: All entries and notes about this.
            session: Uuid or name, with all that came from it.
            source: turn:ID, document or imported file, with all that came from it.
            forgotten: Everything forgotten and not brought back.
            dry_run: Only report what would go.
        """,
    ),
    "memory_review": Verb(
        "review",
        """List proposals that wait for review; only a person accepts or rejects them.

        Args:
            kind: Such as archive, conflict or duplicate.
            state: open, accepted, rejected or withdrawn.
            limit: Maximum.
        """,
    ),
    "memory_status": Verb(
        "status",
        """Report what is stored where, what waits, and what is degraded.""",
    ),
}
"""Every tool by name, in the order in which doors list them."""


def call(memory: Memory, name: str, arguments: Mapping[str, Any] | str, *, for_model: bool = False) -> dict[str, Any]:
    """Call a tool by name; while memory is switched off it does nothing and says so.

    Arguments are an object, or its JSON as models write it, by the names of `schema` or of `validate.ALSO`; None is
    the same as left out. With `for_model` a search returns only the hits that a model can use, see
    `search.tool_results.select`.

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
    if for_model and name in ("memory_search", "recall_memory"):
        from memorybook.search.tool_results import search_for_model

        search = memory.search if name == "memory_search" else memory.recall_memory
        return search_for_model(search, memory.book.transcripts, memory.config.max_results, **given)
    return run(memory, name, **{private(each): value for each, value in given.items()})


def text(answer: Mapping[str, Any]) -> str:
    """Return the answer of a tool as text for a model: compact lines of a search, JSON of anything else."""
    from memorybook.search.tool_results import answer_text

    return answer_text(answer)


def run(memory: Memory, name: str, **arguments: Any) -> dict[str, Any]:
    """Call the tool of that name; while memory is switched off it returns `{"disabled": true, …}` and does nothing."""
    if not memory.config.enabled and name not in ("memory_search", "recall_memory", "memory_status"):
        return disabled(name)
    return TOOLS[name](memory, **arguments)


def disabled(name: str) -> dict[str, Any]:
    """Return what a tool or command answers while memory is switched off."""
    from memorybook.config.settings import OFF

    return {"disabled": True, "tool": name, "reason": OFF}


def schema(name: str) -> dict[str, Any]:
    """Return name, description and parameters (JSON Schema) of a tool."""
    from memorybook.formats.json_schema import schema_of

    tool = TOOLS[name]
    if not isinstance(tool, Verb):
        return schema_of(tool, name)
    from memorybook.memory import Memory

    return schema_of(getattr(Memory, tool.name), name, tool.doc)


def offered(names: Collection[str] | None = None) -> list[str]:
    """Return the tools of these names, in order; None takes all but `memory_purge`, which is for a person.

    Raises:
        InvalidInput: There is no such tool.
    """
    from memorybook.errors import InvalidInput

    for unknown in () if names is None else (name for name in names if name not in TOOLS):
        raise InvalidInput(f"no tool {unknown!r}: there are {', '.join(TOOLS)}")
    return [name for name in TOOLS if (name != "memory_purge" if names is None else name in names)]


def schemas(wire: str, names: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the tools for the `tools` of a request to a model; a call that comes back is one for `call`.

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
