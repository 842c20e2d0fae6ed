"""Regular expressions that cost nothing until they are used."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import re


def lazily(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when it is first used; flags stand in it, such as `(?i)`.

    Importing `re` and compiling what a module knows would cost a cold search a tenth of its time.
    """
    return cast("re.Pattern[str]", _Lazy(pattern))


class _Lazy:
    """Stands for a pattern: takes over each method of it at its first use."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        import re

        value = getattr(re.compile(self._pattern), name)
        setattr(self, name, value)
        return value
