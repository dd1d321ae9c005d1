"""One module per MCP tool: dropping a file in makes its tool listed. No tool imports a tool."""
