"""`python -m memorybook` is the command `memorybook`."""

from __future__ import annotations

import sys

from memorybook.cli import main

if __name__ == "__main__":
    sys.exit(main())
