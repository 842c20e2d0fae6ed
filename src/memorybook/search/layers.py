"""Books that are read together: the answer of one search over all of them, each hit saying whose it is."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Callable, Sequence
from memorybook.errors import MemoryBookError

if TYPE_CHECKING:
    from memorybook.search.types import Answer, Hit


def read_along(own: str, answer: Answer, others: Sequence[tuple[str, Callable[[], Answer]]], *, limit: int) -> Answer:
    """Return the answer with what other books have: of those on top of each book always the most relevant comes next.

    So each book's own order stays, what is true now before what it replaced. A book that cannot be searched is named
    among `degraded`.
    """
    waiting, degraded = [_of_layer(own, answer)], list(answer.state["degraded"])
    found = [answer]
    for name, search in others:
        try:
            other = search()
        except MemoryBookError as error:
            degraded.append(f"the {name} book cannot be read: {error}")
            continue
        found.append(other)
        waiting.append(_of_layer(name, other))
        degraded += [f"the {name} book: {reason}" for reason in other.state["degraded"]]
    hits: list[Hit] = []
    while len(hits) < limit and (left := [each for each in waiting if each]):
        hits.append(max(left, key=lambda each: each[0].relevance).pop(0))
    return answer._replace(
        hits=tuple(hits),
        has_relevant=any(each.has_relevant for each in found),
        cut=sum(each.cut for each in found),
        knows=max(each.knows for each in found),
        state={**answer.state, "degraded": degraded},
    )


def _of_layer(name: str, answer: Answer) -> list[Hit]:
    return [hit._replace(layer=name) for hit in answer.hits]
