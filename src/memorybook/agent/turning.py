"""Turns of a session: what the user says is stored, the model calls tools and answers, what it says is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from memorybook.agent.agent_words import WORDS, told
from memorybook.agent.messages import turn_of, words_of
from memorybook.agent.tool_loop import MAX_ROUNDS, Outcome, converse
from memorybook.agent.toolset import AgentTool, core_of, tools_of
from memorybook.errors import Unavailable

if TYPE_CHECKING:
    from memorybook.agent.conversation import Conversation
    from memorybook.agent.session import AgentSession
    from memorybook.formats.llm_messages import Message
    from memorybook.protocols import LLM, Function
    from memorybook.sessions.user_commands import Obeyed

NEW = "/new"
"""What a user says to begin anew."""


class Turning:
    """The half of an `AgentSession` that lets a model speak."""

    @property
    def _session(self) -> AgentSession:
        """This session, as all of it."""
        return cast("AgentSession", self)

    def run(
        self,
        llm: LLM | Function | None,
        user_content: str | Sequence[Any],
        *,
        system: str = "",
        tools: Sequence[AgentTool] = (),
        max_rounds: int = MAX_ROUNDS,
        piece: Callable[[str], None] | None = None,
        orders: bool = False,
    ) -> Outcome:
        """A turn: store what the user says, let the model call tools and answer, store what it says.

        The model always has the core memory tools and loads the others by name, see `toolset.CORE`. Two turns of one
        session wait for each other. `/new` is answered without the model, see `new`.

        Args:
            llm: The model, or a function; None takes that of the memory. It is kept within the budgets of the settings.
            user_content: What the user says: text, or blocks of content.
            system: The host's own words.
            tools: The agent's own.
            max_rounds: Rounds of tools, at least 0.
            piece: Given the answer piece by piece, as it comes, see `converse`.
            orders: Whether what the user plainly tells to remember or forget is done at once, see `obey`.

        Raises:
            Unavailable: There is no model; LLMFailed, BudgetSpent: it failed. What the user said is stored.
            InvalidInput: Two tools of one name.
            KeyboardInterrupt: The user's. What they said is stored, and the part of the answer that came.
        """
        order, _, name = words_of(user_content).strip().partition(" ")
        if order == NEW and "\n" not in name:
            return Outcome(self._session.new(name.strip()).text)
        message = {"role": "user", "content": user_content}
        return self._take_turn(llm, message, system, tools, max_rounds, piece=piece, orders=orders)

    def obey(self, message: Message) -> Obeyed | None:
        """Carry out at once what a message that was added plainly tells to remember or forget; None if nothing is.

        There is an event `obeyed`. The session's end finds it done.

        Raises:
            As `Book.apply`.
        """
        from memorybook.sessions.user_commands import obey

        with self._session._in_use() as talk:
            turn = turn_of(talk.memory, message, talk.uuid) if talk.session is not None else None
            if turn is None or talk.session is None or not talk.memory.config.enabled:
                return None
            done = obey(talk.memory.context, talk.session, turn)
            if done is not None:
                self._session._tell(talk, "obeyed", told(done, talk.language(turn.text)), done=done)
            return done

    def heartbeat(
        self,
        llm: LLM | Function | None,
        prompt: str,
        *,
        system: str = "",
        tools: Sequence[AgentTool] = (),
        max_rounds: int = MAX_ROUNDS,
    ) -> Outcome:
        """A turn that nobody asked for: as `run`, but the prompt is not the user's word; memorized at its end."""
        outcome = self._take_turn(llm, {"role": "user", "content": prompt, "boot": True}, system, tools, max_rounds)
        with self._session._in_use() as talk:
            with self._session._lock:
                kept = list(talk.kept)
            self._session._remembering.remember(talk, talk.uuid, kept, archive_all=True)
        return outcome

    def delegate(
        self,
        llm: LLM | Function | None,
        task: str,
        *,
        system: str = "",
        tools: Sequence[AgentTool] = (),
        max_rounds: int = MAX_ROUNDS,
    ) -> Outcome:
        """Let a worker do a task with its own tools and the memory tools; its talk is not the user's and is not kept.

        Arguments and errors are those of `run`. May be called by a tool of a turn.
        """
        with self._session._in_use() as talk:
            language = talk.language(system, task)
            known = self._session._gathered(talk, task, language, whole=False).context.text
            messages = [*self._session._head(talk, system, known, language), {"role": "user", "content": task}]
            return self._converse(talk, llm, messages, tools, max_rounds, language, lambda message: None)

    def _take_turn(
        self,
        llm: LLM | Function | None,
        message: Mapping[str, Any],
        system: str,
        tools: Sequence[AgentTool],
        max_rounds: int,
        *,
        piece: Callable[[str], None] | None = None,
        orders: bool = False,
    ) -> Outcome:
        session = self._session
        with session._turn, session._in_use() as talk:
            with session._lock:
                history = talk.history(session._workspace.memory_window)
            kept = session.add(message)
            obeyed = self.obey(kept) if orders else None
            asked = words_of(message["content"])
            language = talk.language(system, asked)
            looked_for = "" if obeyed is not None and obeyed.forgotten else asked  # nor is it to be recalled again
            known = session._gathered(talk, looked_for, language, whole=True)
            done = f"{WORDS[language].told}\n{told(obeyed, language)}" if obeyed is not None else ""
            head = session._head(talk, system, "\n\n".join(filter(None, (known.context.text, done))), language)
            messages = [*head, *history, {"role": "user", "content": message["content"]}]
            bounds = (tools, max_rounds, language)
            outcome = self._converse(talk, llm, messages, *bounds, session.add, piece, current=talk.uuid)
            return outcome._replace(context=known.context, found=known.found)

    def _converse(
        self,
        talk: Conversation,
        llm: LLM | Function | None,
        messages: Sequence[Message],
        tools: Sequence[AgentTool],
        max_rounds: int,
        language: str,
        keep: Callable[[Message], Any],
        piece: Callable[[str], None] | None = None,
        *,
        current: str = "",
    ) -> Outcome:
        model = talk.memory.context.metered(llm)
        if model is None:
            raise Unavailable("there is no language model: set llm.model, or give one")

        made: list[str] = []

        def called(name: str, ok: bool) -> None:
            self._session._tell(talk, "tool", name, name=name, ok=ok, operations=tuple(made))
            made.clear()

        own = {tool.schema.name for tool in tools}
        shown = self._session.placeless
        memory_tools = [tool._replace(shown=shown) for tool in tools_of(talk.memory, made.extend, current=current)]
        more = [tool for tool in memory_tools if tool.schema.name not in own]
        options: dict[str, Any] = {"more": more, "max_rounds": max_rounds, "language": language}
        return converse(
            model, messages, [*tools, *core_of(memory_tools)], **options, keep=keep, called=called, piece=piece
        )
