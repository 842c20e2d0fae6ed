"""Every error memorybook raises on purpose, as one small tree.

Behind each name its exit code and its HTTP status::

    MemoryBookError                    1   500   the base, never raised itself
    ├── InvalidInput (ValueError)      2   400   a value the caller gave cannot be used
    │   ├── UnsafePath                 2   400   a path that leaves the book, or is not a plain .md file
    │   └── ConfigError                2   400   a setting that is unknown, contradictory or out of range
    ├── NotFound (LookupError)         3   404   nothing is stored under that name
    │   └── MissingDocument            3   404   no document at that path
    ├── Conflict                       4   409   the stored text is not what the caller expected
    ├── Declined                       1   500   the person at the terminal said no (of the command line)
    ├── Refusal                        1   500   the server itself refuses, with a status of its own (of the server)
    ├── Refused                        1   403   a server does not let the caller do it (of the client)
    └── Unavailable                    5   503   a part that is needed does not answer
        ├── BookLocked                 5   503   another process holds the book for too long
        ├── Damaged                    5   503   a database is malformed, or another program's
        ├── EmbedderFailed             5   503   the embedding service is down or answered nonsense
        ├── LLMFailed                  5   503   the language model is down or answered nonsense
        │   └── BudgetSpent            5   503   it may not be asked: what it may use is used up
        └── MissingExtra               5   503   an optional package is not installed

A message is one sentence that names the thing, the value and the way out. Doors translate: the
command line to `exit_code`, HTTP to `status`.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorybook.formats.llm_messages import Usage


class MemoryBookError(Exception):
    """Base of all errors above; caught, never raised itself.

    Attributes:
        code: Name of the class for programs, `not_found`.
        message_id: Of the message in `locale`; "" for one that is in English only.
        values: What was filled in.
    """

    code = "error"
    exit_code = 1
    status = 500
    message_id: str = ""
    values: Mapping[str, object] = {}

    def __init_subclass__(cls, code: str = "") -> None:
        if cls.__module__ == __name__:
            cls.code = code or "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__)[1:]


class InvalidInput(MemoryBookError, ValueError):
    """A value given by the caller cannot be used; the message says which and what would do."""

    exit_code = 2
    status = 400


class UnsafePath(InvalidInput):
    """A document path that is absolute, climbs out, passes a link, or is not a regular `.md` file."""


class ConfigError(InvalidInput, code="config"):
    """A setting is unknown, given twice with different values, of the wrong type or out of range."""


class NotFound(MemoryBookError, LookupError):
    """No entry, turn, session or document goes by that name."""

    exit_code = 3
    status = 404


class MissingDocument(NotFound):
    """No document is stored at the path."""


class Conflict(MemoryBookError):
    """The stored text changed since it was read; read it again and decide anew."""

    exit_code = 4
    status = 409


class Refused(MemoryBookError):
    """A server does not let the caller do this: for want of a token, by that token, or under that name."""

    status = 403


class Unavailable(MemoryBookError):
    """A back end that this call cannot do without does not answer."""

    exit_code = 5
    status = 503


class BookLocked(Unavailable):
    """Another process has held the book's lock longer than the timeout."""


class Damaged(Unavailable):
    """A database is malformed, no database at all, or holds what nobody here wrote. It is left as it is."""


class EmbedderFailed(Unavailable):
    """The embedder could not be reached, or its answer was refused by name (count, size, order, NaN)."""


class LLMFailed(Unavailable, code="llm_failed"):
    """The language model could not be reached, or none of its answers could be used.

    Attributes:
        usage: What the attempt took all the same; None if nothing was asked.
    """

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class BudgetSpent(LLMFailed):
    """The language model was not asked (again): the operation or the day has used what it may; names the setting."""


class MissingExtra(Unavailable):
    """An optional package is not installed; the message holds the install command."""


def error_of(code: str, status: int) -> type[MemoryBookError]:
    """Return the class of a server's error: by its code, for codes of the server's own by the HTTP status."""
    known = (each for each in globals().values() if isinstance(each, type) and issubclass(each, MemoryBookError))
    own = {each.code: each for each in known if each is not MemoryBookError}
    if code in own:
        return own[code]
    if status in (401, 403, 421):
        return Refused
    return Unavailable if status >= 500 or status in (408, 429) else InvalidInput
