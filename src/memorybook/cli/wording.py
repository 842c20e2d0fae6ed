"""The sentences of the command line, in English or as the catalogue has them."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Wording:
    """Wording of answers: English, or a translation table.

    Args:
        table: Each English sentence as it stands in the code, with the one that is said instead; what is counted stands
            in it as `{} entry`.
    """

    language = "en"

    def __init__(self, table: Mapping[str, str] | None = None) -> None:
        self._table = table or {}

    def __call__(self, sentence: str, **values: Any) -> str:
        """Return the sentence, translated, with its braces filled in."""
        said = self._table.get(sentence, sentence)
        return said.format(**values) if values else said

    def counted(self, number: int, one: str, many: str = "") -> str:
        """Return `1 entry`, `2 entries`, `2 条记忆`."""
        said = self._table.get(f"{{}} {one}", "")
        return said.format(number) if said else f"{number} {one if number == 1 else many or one + 's'}"


class Translated(Wording):
    """Wording of a language, `en` or `zh`: by the catalogue's answers, else as text that is composed in English."""

    def __init__(self, language: str) -> None:
        from memorybook import locale  # of which a search in English has no need

        super().__init__(locale.table("answers", language))
        self._translate, self.language = locale.translate, language

    def __call__(self, sentence: str, **values: Any) -> str:
        """Return the sentence, its braces filled in."""
        said = super().__call__(sentence, **values)
        return self._translate(sentence, self.language) if said == sentence and not values else said
