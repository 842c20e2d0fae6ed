"""The HTTP door: `memorybook serve`, one ASGI application with the REST API and MCP in it."""
