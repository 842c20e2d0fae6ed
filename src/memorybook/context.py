"""The context of a verb: open book, settings, actor, interface, and models."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, NamedTuple, cast
from memorybook.config.project import absence

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.config.project import Project
    from memorybook.config.settings import Config
    from memorybook.inference.structured_output import Metered
    from memorybook.model import Trust
    from memorybook.protocols import LLM, Embedder, Function


class Models:
    """The language models of an open memory: made when first asked for, closed with it.

    Args:
        given: The model or function given to `open`; None takes the configured one.
    """

    def __init__(self, given: LLM | Function | None = None) -> None:
        self._given = given
        self._opened: dict[str, LLM] = {}
        self.unsaved: list[Any] = []
        """Usage while memory is switched off, which is not written to the journal."""

    def get(self, config: Config, model: str = "") -> LLM | None:
        """Return the model given to `open`, else `model` of the configured server, else the configured one, if any.

        Raises:
            ConfigError: The settings of `llm` cannot be used.
            MissingExtra: The model needs a package that is not installed.
        """
        if self._given is not None:
            from memorybook.inference.llm import as_llm

            return as_llm(self._given)
        model = model or config.llm.model
        if model and model not in self._opened:
            from memorybook.inference.llm import open_llm

            self._opened[model] = cast("LLM", open_llm(config.llm._replace(model=model)))
        return self._opened.get(model)

    def close(self) -> None:
        """Close the models that were opened here."""
        for close in filter(None, (getattr(llm, "close", None) for llm in self._opened.values())):
            close()
        self._opened.clear()


class Context(NamedTuple):
    """The context of a verb. `context._replace(door=…, actor=…)` is the same memory for another caller.

    Attributes:
        root: Where the book is: a directory, see `Storage.root`.
        book: The open book.
        config: Its settings.
        door: The interface of the call (`python`, `cli`, `mcp`, `http`, …); recorded in every operation.
        actor: Who acts, `user` or `agent`; the trust of what comes in.
        embedder: Makes the book's vectors; None searches by words alone.
        models: Its language models.
        project: The project the book was found by.
        missing_ok: Whether a missing book is read as an empty one.
        layer: Which of the books that are read together this is: `personal`, `project` or `team`; "" if it is alone.
        layers: The others, for reading only.
    """

    root: str
    book: Book
    config: Config
    door: str
    actor: Trust
    embedder: Embedder | None
    models: Models
    project: Project
    missing_ok: bool = False
    layer: str = ""
    layers: tuple[Context, ...] = ()

    @property
    def absent(self) -> str:
        """That there is no book yet, and which ones are nearest; "" where there is one, or memory is switched off."""
        if self.book.storage.exists() or not self.config.enabled:
            return ""
        if self.missing_ok:  # to whom it is no mistake, others' books are no help
            return "there is no book yet: it is made by what is remembered first"
        return absence(self.root, self.project)

    def metered(self, given: LLM | Function | None = None, *, model: str = "") -> Metered | None:
        """Return the language model within the budgets, for one operation; None for none. Raises as `Models.get`.

        Args:
            given: Asked instead of the memory's own; one that is within budgets already stays as it is.
            model: Asked instead of the configured one, where neither this call nor `open` was given one.
        """
        if given is None:
            llm = self.models.get(self.config, model)
        else:
            from memorybook.inference.llm import as_llm

            llm = as_llm(given)
        if llm is None:
            return None
        from memorybook.inference.structured_output import Metered

        if isinstance(llm, Metered):
            return llm
        from memorybook.formats.llm_messages import Usage

        counts = ("calls", "failed", "input_tokens", "output_tokens")

        def spent_today() -> Usage:
            spent = self.book.journal.spent(self.book.now().date())
            return sum(self.models.unsaved, Usage(**{name: getattr(spent, name) for name in counts}))

        def record(usage: Usage) -> None:  # on disk unless the memory is switched off
            if self.config.enabled:
                spent = {name: getattr(usage, name) for name in counts}
                self.book.journal.spend(self.book.now().date(), **spent)
            else:
                self.models.unsaved.append(usage)

        return Metered(llm, self.config.llm.budget, spent_today=spent_today, record=record)
