"""The same over HTTP, against a daemon that runs already and with a token of our own.

warpwise serve --http 127.0.0.1:8931 &
export WARPWISE_URL=http://127.0.0.1:8931/mcp WARPWISE_TOKEN=$(warpwise token add me)
python client_examples/python_http.py
"""

import os

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

KERNEL = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }"


async def main() -> None:
    """Connect, see which tools there are, and let one compile a kernel."""
    token = {"Authorization": f"Bearer {os.environ['WARPWISE_TOKEN']}"}
    async with (
        httpx2.AsyncClient(headers=token, timeout=120) as http,
        Client(streamable_http_client(os.environ["WARPWISE_URL"], http_client=http)) as warpwise,
    ):
        names = [tool.name for tool in (await warpwise.list_tools()).tools]
        print("tools:", ", ".join(names))
        assert {"capabilities", "compile", "debug", "profile", "job"} <= set(names)

        answer = await warpwise.call_tool("compile", {"source": KERNEL, "arch": "sm_90"})
        assert answer.structured_content is not None
        (kernel,) = answer.structured_content["kernels"]
        print(f"{kernel['name']}: {kernel['registers']} registers")
        assert kernel["registers"] > 0


if __name__ == "__main__":
    anyio.run(main)
