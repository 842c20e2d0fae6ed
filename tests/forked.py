"""What happens in another process: a child of this one, which has imported everything already."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import Any

KILLED = -signal.SIGKILL


def ended(action: Callable[[], object]) -> int:
    """Do it in a child, and return how that ended: 0, 1 if it raised, `KILLED` if it was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which here only wait
        child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killing(real: Callable[..., Any], left: list[None]) -> Callable[..., Any]:
    """The function, of which each call takes one of what is left; the last one kills this process."""

    def called(*given: Any, **named: Any) -> Any:
        left.pop()
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)

    return called
