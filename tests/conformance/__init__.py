"""One suite per seam of `memorybook.protocols`, run against every implementation."""

import pytest

pytest.register_assert_rewrite(*(f"conformance.{seam}" for seam in ("documents", "embedder", "journal", "transcripts")))
