"""Search results as a model gets them from a tool: which hits, and one compact line for each."""

from __future__ import annotations

from itertools import islice, pairwise

from memorybook._light import TYPE_CHECKING, Any, Callable, Iterable, Mapping
from memorybook.text.screen import screen
from memorybook.text.tokens import tokens

if TYPE_CHECKING:
    from memorybook.protocols import Transcripts
    from memorybook.search.types import Answer, Hit, Passage

OPEN, CLOSE = "<!-- memorybook:recalled -->", "<!-- /memorybook:recalled -->"
"""Around recalled text in a prompt, so that capture can cut it out again (no echo)."""

NEAREST = 2
"""Hits that are shown where none is relevant."""

_DEEPER = 4
"""Searched hits for each one shown, since some are dropped."""

_MOST = 200

_TOOL_WORDS = frozenset({"tool", "output", "print", "stdout", "stderr", "工具", "输出", "打印"})
"""Words of a query, stemmed, that ask for the output of tools."""

_LEFT_OUT = 'outputs of tools left out: {}; to see them, name the tool or "tool output" in the query'

_TRUST_OF_ROLE = {"assistant": "agent", "system": "agent", "tool": "tool"}


def search_for_model(
    search: Callable[..., Answer],
    transcripts: Transcripts,
    default: int,
    *,
    query: str,
    max_results: int | None = None,
    **filters: Any,
) -> dict[str, Any]:
    """Search and return the answer as JSON with the hits that a model can use, see `select`.

    Args:
        search: `Memory.search` or `Memory.recall_memory`.
        transcripts: Give turns their short names.
        default: Maximum of hits if `max_results` is None.
        query, max_results, filters: Arguments of `search`.

    Raises:
        InvalidInput, NotFound, Conflict: As `search` does.
    """
    limit = default if max_results is None else max_results
    searched = min(_MOST, _DEEPER * limit) if 1 <= limit <= _MOST else limit
    found = select(search(query, max_results=searched, **filters), query, limit, transcripts)
    turns = [hit for hit in found["results"] if hit["source"] == "turn"]
    for hit, name in zip(turns, transcripts.short_names((hit["session"], hit["turn"]) for hit in turns), strict=True):
        hit["place"] = f"turn:{name}"
    return found


def select(answer: Answer, query: str, limit: int, transcripts: Transcripts) -> dict[str, Any]:
    """Return the answer as JSON with at most `limit` hits, in their order.

    - Relevance must be above 0, to two decimals. If it is for none, the nearest two are given, with `"nearest": True`.
    - Turns without text and turns that only call a tool are dropped.
    - Output of tools is dropped unless the query asks for it, see `asks_for_output`; `left_out` says how many.
    - A hit has `trust` unless that is `user` or unknown; text that instructs its reader is `suspect`.
    """
    said = [hit for hit in answer.hits if hit.passage.text.strip()]
    asked = [hit for hit in said if hit.passage.role != "tool" or asks_for_output(query, hit.passage.speaker)]
    relevant = _first([hit for hit in asked if _is_relevant(hit)], limit, transcripts)
    nearest = [] if relevant else _first(asked, min(NEAREST, limit), transcripts)
    dropped = sum(hit not in asked and _is_relevant(hit) for hit in said[:limit])
    return {
        **answer.json(),
        "results": [hit.json() | _trust_of(hit.passage) for hit in relevant or nearest],
        "has_relevant": answer.has_relevant and (bool(relevant) or not answer.hits),
        **({"nearest": True} if nearest else {}),
        **({"left_out": [_LEFT_OUT.format(dropped)]} if dropped else {}),
    }


def _first(hits: Iterable[Hit], count: int, transcripts: Transcripts) -> list[Hit]:
    """Return the first hits that say something; the turns of the others only call a tool."""
    return [*islice((hit for hit in hits if not _only_calls(hit.passage, transcripts)), count)]


def _is_relevant(hit: Hit) -> bool:
    return round(hit.relevance, 2) > 0


def _only_calls(passage: Passage, transcripts: Transcripts) -> bool:
    """Return whether it is an assistant's turn with nothing but a call of a tool, which some formats keep as text."""
    if passage.source != "turn" or passage.role != "assistant" or passage.turn is None:
        return False
    turns = transcripts.find(passage.turn, passage.session)
    said = passage.text.strip()
    return _is_call(said) or any(
        said == str(call.get("arguments")).strip() for turn in turns for call in turn.tool_calls
    )


def _is_call(text: str) -> bool:
    """Return whether a text is a call of a tool, as models without calls of their own write it."""
    if text.startswith("<tool_call>"):
        return text.endswith("</tool_call>") and text.count("<tool_call>") == 1
    if not text.startswith("{") or '"arguments"' not in text:
        return False
    import json

    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and {"name", "arguments"} <= found.keys()


def asks_for_output(query: str, tool: str) -> bool:
    """Return whether a query asks for the tool's output: by its name as written, or by a word such as output, 输出.

    >>> [asks_for_output(query, "Read") for query in ("what did Read return?", "the books I read", "工具的输出")]
    [True, False, True]
    """
    if not _TOOL_WORDS.isdisjoint(tokens(query)):
        return True

    def is_word(char: str) -> bool:
        return char == "_" or (char.isascii() and char.isalnum())

    beside = pairwise(query.split(tool)) if tool else ()
    return any(not is_word(before[-1:]) and not is_word(after[:1]) for before, after in beside)


def _trust_of(passage: Passage) -> dict[str, str]:
    """Return `{"trust": …}`, stored or by role, `suspect` for text that instructs; {} for the user's or unknown."""
    trust = "suspect" if screen(passage.text) else passage.trust or _TRUST_OF_ROLE.get(passage.role, "")
    return {"trust": trust} if trust not in ("", "user") else {}


# --- as text -------------------------------------------------------------------------------------


def result_lines(answer: Mapping[str, Any]) -> list[str]:
    """Print an answer of a search: a line for each hit, with a first one if none is relevant.

    A hit: rank, relevance, the place to open, what is known of it (what is missing, or stands in the place, is not
    named), its text.

    Args:
        answer: JSON of a search while memory is switched on; its nulls may be missing.
    """
    lines = [_line(rank, hit) for rank, hit in enumerate(answer["results"], 1)]
    if not answer["has_relevant"]:
        lines[:0] = ["Nothing relevant; the nearest:" if lines else "Nothing relevant found."]
    elif not lines:
        lines = [f"Nothing above relevance {answer['threshold']:g}."]
    return [*lines, *(f"(degraded: {reason})" for reason in answer["index"]["degraded"])]


def _line(rank: int, hit: Mapping[str, Any]) -> str:
    place, date = f"{hit['path']}#L{hit['start_line']}-L{hit['end_line']}", hit.get("date") or ""
    if hit["source"] == "turn":
        place = str(hit.get("place") or f"turn:{hit['session']}/{hit['turn']}")
    place = f"{hit['layer']}:{place}" if "layer" in hit else place
    about = [hit.get("category") or hit["source"], hit.get("state"), "" if date in place else date, hit.get("speaker")]
    about += [f"not confirmed since {since[:7]}" if (since := hit.get("unconfirmed_since")) else ""]
    about += [f"trust {hit['trust']}" if hit.get("trust") else "", f"id {hit['id']}" if hit.get("id") else ""]
    known = " ".join(", ".join(filter(None, about)).split())
    if why := hit.get("why"):
        known += "; " + ", ".join(f"{name} {value:g}" for name, value in why.items())
    return f"{rank}. {hit['relevance']:.2f} {place} ({known}): {' '.join(hit['snippet'].split())}"


def answer_text(answer: Mapping[str, Any]) -> str:
    """Print the answer of a tool for a model: a search as `result_lines`, anything else as JSON."""
    if "results" in answer and not answer["disabled"]:
        return "\n".join([*result_lines(answer), *(f"({sentence})" for sentence in answer.get("left_out", ()))])
    import json

    return json.dumps(answer, ensure_ascii=False, default=str)


def fenced(text: str) -> str:
    """Return a text on one line, unable to close the markers around it."""
    return " ".join(text.split()).replace("<!--", "<! --").replace("-->", "-- >")


def marked(text: str) -> str:
    """Put a text between the markers, unable to close them."""
    return f"{OPEN}\n{text.replace(CLOSE, '<!-- /memorybook:recalled -- >')}\n{CLOSE}"
