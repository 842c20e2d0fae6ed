"""Whether numpy is worth its import: all parts of a search ask here, and do without it where the answer is no."""

from __future__ import annotations

import sys

from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

IMPORT = 120.0
"""Milliseconds that importing numpy takes in a fresh process."""

_lost = 0.0


def arrays(lost: float) -> ModuleType | None:
    """The module numpy, or None if this time it should be done without.

    It comes if something imported it already, or as soon as all that this process has lost for want of
    it exceeds what the import takes. So a command that searches once does not pay for it, a server pays
    once, and one search that is huge pays at once; at worst it takes twice the time of the best choice.

    Args:
        lost: Milliseconds by which this call would be faster with numpy, estimated.
    """
    global _lost
    found = sys.modules.get("numpy")
    if found is not None and not getattr(found.__spec__, "_initializing", False):  # by another thread
        return found
    _lost += lost
    if _lost <= IMPORT:
        return None
    import numpy

    return numpy
