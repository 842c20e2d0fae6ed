"""Collecting what other machines wrote of their sessions, and handing out what this book has.

Each machine writes only in its own folders, and reads those of others without a lock. What stands here is compared
with what stands there, so that a run which finds nothing new writes nothing.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.book.undo import ATTEMPTS
from memorybook.entries.read import folder_of
from memorybook.errors import BookLocked, Conflict, InvalidInput, NotFound, Unavailable
from memorybook.exchange import peer_folders
from memorybook.exchange.collect_plan import KIND, FromNode, Plan
from memorybook.exchange.peer_memories import files_of, names_of, own_pages
from memorybook.validate import text_of

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.exchange.peer_folders import Handed, Node
    from memorybook.exchange.peer_memories import Standing

PATIENCE = 30.0
"""Seconds that a run waits for another one of the same book."""


class Collected(NamedTuple):
    """What a run did.

    Attributes:
        node: The name of this machine.
        nodes: What each of the others brought.
        handed: What was handed out; None if nothing was asked for.
        skipped: Folders that could not be read, with the reason.
        redacted: Secrets masked in what was taken.
        operation: Id of the operation; None if nothing was written into the book.
        dry_run: Whether nothing was done.
        degraded: What was less than it should be, one sentence each.
    """

    node: str
    nodes: tuple[FromNode, ...] = ()
    handed: Handed | None = None
    skipped: tuple[tuple[str, str], ...] = ()
    redacted: int = 0
    operation: str | None = None
    dry_run: bool = False
    degraded: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """All fields."""
        return {
            "node": self.node,
            "nodes": [each.json() for each in self.nodes],
            "handed": None if self.handed is None else self.handed._asdict(),
            "skipped": [{"place": place, "reason": reason} for place, reason in self.skipped],
            "redacted": self.redacted,
            "operation": self.operation,
            "dry_run": self.dry_run,
            "degraded": list(self.degraded),
        }


def sync_summaries(
    context: Context,
    sources: Sequence[str],
    *,
    to: str | None,
    sessions: Sequence[str] | None,
    group: str | None,
    node: str | None,
    dry_run: bool,
) -> Collected:
    """See `Memory.sync_summaries`."""
    if not sources and not to:
        raise InvalidInput("nothing to do: say where to collect from, or where to hand out to")
    if sessions is not None and not to:
        raise InvalidInput("sessions says of which the summaries are handed out: say where to as well")
    if group is not None and not folder_of(text_of(group, "group")):
        raise InvalidInput(f"group {group!r} has no name")
    name = _own_name(node)
    root = peer_folders.check_place(to, name, context.root) if to else ""
    with _alone(context, dry_run):
        found, skipped = _found(context, sources, name)
        done = Collected(name, skipped=tuple(skipped), dry_run=dry_run)
        if found:
            done = _collected(context, done, found, group)
        if to:
            own = list(own_pages(context, sessions))
            book, files = peer_folders.book_id(context.root, make=not dry_run), files_of(context, own, group)
            done = done._replace(handed=peer_folders.hand_out(root, name, book, files, dry_run=dry_run))
            done = done._replace(degraded=tuple(_missing(own, sessions or ())))
    if done.operation is None:
        return done
    return done._replace(degraded=(*done.degraded, *context.book.sync().degraded))


def _missing(own: Sequence[Standing], sessions: Sequence[str]) -> Iterator[str]:
    """One sentence on each session that was asked for in vain. It is no error: it may have been forgotten since."""
    found = set[str]().union(*map(names_of, own))
    for name in dict.fromkeys(sessions):
        if name not in found:
            yield f"no session {name!r} of this book has a summary to be handed out"


def _own_name(node: str | None) -> str:
    name = peer_folders.node_name(text_of(node, "node") if node is not None else socket.gethostname().partition(".")[0])
    if node is not None and (not name or re.search(r"[/\\]", node)):
        raise InvalidInput(f"node {node!r} is no name: give one of letters and digits, such as 'laptop'")
    return name or "node"


@contextmanager
def _alone(context: Context, dry_run: bool) -> Iterator[None]:
    """Wait until no other process collects into this book. Raises BookLocked."""
    deadline = time.monotonic() + PATIENCE
    while not dry_run:
        with context.alone(KIND) as ours:
            if ours:
                yield
                return
        if time.monotonic() > deadline:
            raise BookLocked(f"another process was collecting into {context.root!r} all the while: try again later")
        time.sleep(0.05)
    yield


# --- where from ----------------------------------------------------------------------------------


def _found(context: Context, sources: Sequence[str], own: str) -> tuple[list[Node], list[tuple[str, str]]]:
    """The machines' folders at these places, each machine once, and the places that there is nothing to be had of.

    Raises NotFound if none of the places is there, InvalidInput if one is this book.
    """
    found: dict[str, Node] = {}
    skipped: list[tuple[str, str]] = []
    missing: list[NotFound] = []
    for source in sources:
        try:
            nodes, others = _nodes_at(context, source, own)
        except NotFound as error:
            missing.append(error)
            skipped.append((source, str(error)))
            continue
        except Unavailable as error:
            skipped.append((source, str(error)))
            continue
        skipped += others
        for node in nodes:
            if found.setdefault(node.name, node).root != node.root:
                why = (
                    f"{found[node.name].root!r} is called {node.name!r} too: name one, such as --from {node.name}2=DIR"
                )
                skipped.append((node.root, why))
    if missing and len(missing) == len(sources):
        raise missing[0]
    return list(found.values()), skipped


def _nodes_at(context: Context, source: str, own: str) -> tuple[list[Node], list[tuple[str, str]]]:
    name, equals, place = text_of(source, "source").partition("=")
    if not equals or os.path.isdir(os.path.expanduser(source)):
        name, place = "", source
    if os.path.realpath(os.path.expanduser(place)) == os.path.realpath(context.root):
        raise InvalidInput(f"{place!r} is this book: collect from another one")
    nodes = peer_folders.nodes(place)
    if name:
        given = peer_folders.node_name(name)
        if not given or len(nodes) > 1:
            raise InvalidInput(f"{source!r}: a name is for the folder of one machine, and has letters or digits")
        nodes = tuple(node._replace(name=given) for node in nodes)
    mine = peer_folders.book_id(context.root, make=False)
    others = [node for node in nodes if not mine or node.book != mine]
    skipped = [(place, "nothing of a machine is in this folder")] if not nodes else []
    for node in [node for node in others if node.name == own]:
        others.remove(node)
        skipped.append(
            (node.root, f"it is called {own!r} as this machine is: give it another name, or this with --node")
        )
    return others, skipped


# --- collecting ----------------------------------------------------------------------------------


def _collected(context: Context, done: Collected, nodes: Sequence[Node], group: str | None) -> Collected:
    for attempt in range(ATTEMPTS):
        plan = Plan(context)
        for node in nodes:
            plan.read(node, group)
        plan.settle()
        try:
            operation = None if done.dry_run else plan.carried_out()
        except (Conflict, NotFound):  # somebody saves a summary, or takes out an entry, right now
            if attempt == ATTEMPTS - 1:
                raise
            continue
        break
    return done._replace(
        nodes=tuple(plan.told.values()),
        redacted=plan.redacted,
        operation=operation.id if operation else None,
    )
