"""The daemon: tools over MCP, and everything below them."""
