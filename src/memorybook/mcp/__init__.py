"""The door for hosts of the Model Context Protocol: `build` makes the server, `server.serve` runs it on a pipe."""

from __future__ import annotations

from memorybook.mcp.server import Opening, build

__all__ = ["Opening", "build"]
