"""warpwise: a language server for CUDA kernels, spoken over MCP."""

__version__ = "0.1.0"
