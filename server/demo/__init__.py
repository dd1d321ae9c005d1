"""The demo: a real MCP client that walks a broken kernel to a correct and faster one, and a page of what it saw."""
