"""What each component was worth: Banzhaf effects with intervals, on any table of rollouts. Knows no MCP."""
