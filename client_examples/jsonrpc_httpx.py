"""The same without any MCP library: one JSON-RPC request over HTTP is a whole call (protocol 2026-07-28).

It needs WARPWISE_URL and WARPWISE_TOKEN, as python_http.py does.
"""

import json
import os
from typing import Any

import httpx

VERSION = "2026-07-28"
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
KERNEL = "__global__ void broken(float* x) { x[threadIdx.x] = y; }"


def call(tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool and return its structured answer."""
    request: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": ENVELOPE},
    }
    headers = {
        "Authorization": f"Bearer {os.environ['WARPWISE_TOKEN']}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    response = httpx.post(os.environ["WARPWISE_URL"], json=request, headers=headers, timeout=120)
    response.raise_for_status()
    # A call that takes a while is answered as an event stream, whose last event is the result.
    events = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    answer: dict[str, Any] = json.loads(events[-1] if events else response.text)["result"][
        "structuredContent"
    ]
    return answer


if __name__ == "__main__":
    (finding,) = call("compile", source=KERNEL)["findings"]
    print(f"{finding['rule']}: {finding['message']}")
    assert "y" in finding["message"]

    refused = call("compile", sauce=KERNEL)["error"]
    print(refused["what"])
    assert "did you mean 'source'?" in refused["what"]
