"""`python -m benchmarks.truth`, see `truth.py`."""

import sys

from benchmarks.truth.truth import main

if __name__ == "__main__":
    sys.exit(main())
