from __future__ import annotations

from mcp_hosts import _each_schema_is_checked_once as _each_schema_is_checked_once
from mcp_hosts import host as host
from mcp_hosts import memory as memory
