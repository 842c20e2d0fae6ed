"""The command `memorybook-hook EVENT --host HOST [--book DIR]`, which agent hosts call while they work.

Hosts may start this very file, `python -I -S …/memorybook/hooks/command.py EVENT …`. Without the site packages, which
an event that is only noted does not need, it starts about as fast as a bare interpreter does with them.
"""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Answer one event and end the process; whatever happens, its exit code is 0 and the host goes on."""
    gc.disable()  # a short life: collecting costs it more than the memory is worth
    try:
        from memorybook.hooks.event import answer

        answer(sys.argv[1:])
    except BaseException:  # a host must never be held up, and shows people what a failed hook prints
        if os.environ.get("MEMORYBOOK_DEBUG"):
            from traceback import print_exc

            print_exc()
    os._exit(0)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    main()
