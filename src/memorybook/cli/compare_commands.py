"""The verb that compares providers: compare."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from memorybook.cli.call import check_stdin
from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memorybook.cli.call import Call, Command, Parser
    from memorybook.cli.show import Drawing, Page
    from memorybook.memory import Memory

_SHOWN = 10
"""Statements of each list that are shown; JSON has all."""


def _compare_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="the conversation; - reads stdin")
    usual = "flat,tiered, or without a model tiered,agentic"
    add("--providers", metavar="A,B", help=f"two of flat, tiered, agentic; else {usual}")
    add("--query", metavar="TEXT", help="what the prompts are for; else what a user said last")
    parser.epilog = """examples:
  memorybook compare chat.jsonl
  memorybook compare chat.jsonl --providers tiered,agentic --query "where does she live?"
"""


def _compare(call: Call) -> dict[str, Any] | None:
    given = call.options.providers
    names = [] if given is None else [name.strip() for name in given.split(",")]
    if given is not None and len(names) != 2:
        raise InvalidInput(f"--providers {given!r} names {len(names)}: give two, such as flat,tiered")

    def compared(memory: Memory) -> dict[str, Any]:
        from memorybook.providers.compare import compare

        if call.options.file == "-":
            check_stdin()
        return compare(memory, call.options.file, *names, question=call.options.query).json()

    return call.unless_off(compared)


# --- shown -----------------------------------------------------------------------------------------


def _draw(shown: dict[str, Any], page: Page) -> None:
    names = [ran["provider"] for ran in shown["runs"]]
    rows: list[tuple[str, list[str]]] = [("", names)]
    rows += [(label, [value(ran) for ran in shown["runs"]]) for label, value in _ROWS.items()]
    rows = [(label, cells) for label, cells in rows if set(cells) != {"0"} or label in _ALWAYS]
    width = max(len(label) for label, _ in rows) + 2
    columns = [max(len(cells[side]) for _, cells in rows) + 2 for side in (0, 1)]
    for label, cells in rows:
        text = label.ljust(width) + "".join(cell.rjust(columns[side]) for side, cell in enumerate(cells))
        page.line(("strong", text) if not label else text)
    _statements("Remembered by both", shown["both"], page)
    for name in names:
        _statements(f"Only by {name}", shown["only"][name], page)
    for ran in shown["runs"]:
        page.line()
        page.line(("strong", f"Prompt of {ran['provider']} for: {page.clipped(shown['question'], 20)}"))
        page.text(ran["prompt"] or "(empty)", "  ")
    for ran in shown["runs"]:
        for reason in ran["failed"]:
            page.remark(f"{ran['provider']} could not remember {reason}")


def _count(action: str) -> Any:
    return lambda ran: str(Counter(told["action"] for told in ran["entries"])[action])


_ROWS: Mapping[str, Any] = {
    "sessions remembered": lambda ran: f"{ran['sessions'] - len(ran['failed'])} of {ran['sessions']}",
    **{f"entries {action}": _count(action) for action in ("created", "changed", "strengthened", "superseded")},
    "entries archived": _count("archived"),
    "notes": lambda ran: str(len(ran["notes"])),
    "history paragraphs": lambda ran: str(len(ran["history"])),
    "left out": lambda ran: str(len(ran["discarded"])),
    "waiting for review": lambda ran: str(ran["proposals"]),
    "model calls": lambda ran: str(ran["calls"]),
    "tokens in": lambda ran: f"{ran['input_tokens']:,}",
    "tokens out": lambda ran: f"{ran['output_tokens']:,}",
    "tokens of the prompt": lambda ran: f"{ran['prompt_tokens']:,}",
    "seconds": lambda ran: f"{ran['seconds']:.2f}",
}


_ALWAYS = ("entries created", "model calls")


def _statements(title: str, texts: list[str], page: Page) -> None:
    if not texts:
        return
    page.line()
    page.line(("strong", f"{title} ({len(texts)})"))
    for text in texts[:_SHOWN]:
        page.line(f"  - {page.clipped(text, 4)}")
    if len(texts) > _SHOWN:
        page.line(("faint", f"  … and {len(texts) - _SHOWN} more"))


COMMANDS: dict[str, Command] = {"compare": (_compare_arguments, _compare)}
SHOWN: dict[str, Drawing] = {"compare": _draw}
