"""An agent's first call, over stdio: a kernel that does not compile, and what warpwise says of it.

Run it with the Python that has warpwise installed: `python client_examples/python_stdio.py`.
"""

import sys

import anyio
from mcp import Client, StdioServerParameters

BROKEN = """
__global__ void scale(float* data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= facter;
}
"""


async def main() -> None:
    """Start a daemon of our own, ask it, and check what it answers."""
    daemon = StdioServerParameters(command=sys.executable, args=["-m", "warpwise.server", "serve"])
    async with Client(daemon) as warpwise:
        answer = await warpwise.call_tool("compile", {"source": BROKEN})
        found = answer.structured_content
        assert found is not None, "every answer carries structured content"
        (error,) = found["findings"]
        print(f"line {error['location']['line']}: {error['message']}")
        assert error["location"]["line"] == 4

        mended = await warpwise.call_tool("compile", {"source": BROKEN.replace("facter", "factor")})
        print(mended.content[0])
        assert mended.structured_content is not None
        assert not mended.structured_content.get("findings")


if __name__ == "__main__":
    anyio.run(main)
