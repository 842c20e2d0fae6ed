"""Random steps, for comparing with a framework's own store."""

from __future__ import annotations

import os
import random

STEPS = int(os.environ.get("STEPS", "2000"))
"""How many, unless the environment says otherwise."""


def seeded() -> tuple[int, random.Random]:
    """A seed, the environment's `SEED` or a new one, which is printed; and what draws by it."""
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    print(f"SEED={seed}")
    return seed, random.Random(seed)
