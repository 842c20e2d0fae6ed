from __future__ import annotations

from serving import many as many
from serving import one as one
