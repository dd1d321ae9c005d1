"""A daemon's calls without a transport, and a client of any coalition."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpwise.server.calls import Caller, Calls, Reply
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.tool import load_tools
from warpwise.server.workbench import Services

TOOLS = load_tools()
KERNEL = """\
__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}
"""


@pytest.fixture
def calls(services: Services) -> Calls:
    """The door to all tools."""
    return Calls(services, Catalog.of(TOOLS))


@pytest.fixture
def call(calls: Calls, root: Path) -> Callable[..., Any]:
    """Call a tool as a client that is given `given` (None: all); the reply must be an answer."""

    async def _call(
        tool: str, given: frozenset[str] | None = None, client: str = "local", **arguments: object
    ) -> dict[str, Any]:
        reply: Reply = await calls.call(Caller(Client(client, (root,), given)), tool, arguments)
        assert reply.error is None, reply
        return reply.structured

    return _call
