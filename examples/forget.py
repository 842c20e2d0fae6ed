"""Correct, ask why, forget, undo: every change is an operation that can be explained and taken back.

python examples/forget.py
"""

import memorybook

with memorybook.open("forget-book") as memory:
    memory.remember("The staging database listens on port 6543.")
    memory.remember("Correction: the staging database listens on port 7654.")
    hit = memory.search("Which port does the staging database listen on?").hits[0]
    print(hit.snippet)  # the correction comes first

    for change in memory.why(hit.passage.entry).story:  # what created it, strengthened it, changed it
        print(change.operation.kind, "by", change.operation.actor)

    receipt = memory.forget(query="staging database")
    assert not memory.search("staging database").has_relevant
    memory.undo(receipt.operation)  # to the byte
    print(len(memory.entries()), "memory is back")
