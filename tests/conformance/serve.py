"""The product's HTTP face with the conformance fixtures beside its tools, on the loopback port given as argument.

The suite can send no token, so a shim in front of the product's guard adds one; nothing else is between them.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import fixtures
import uvicorn
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from warpwise.server.calls import Caller
from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.daemon import opened
from warpwise.server.http import LOOPBACK_HOSTS, Door, Guard
from warpwise.server.tokens import Tokens


class Events(EventStore):
    """Resumability, which only a fixture of 2025-11-25 needs."""

    def __init__(self) -> None:
        self._events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:  # noqa: ANN401
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id)
        stream = self._events[last - 1][0]
        for number, (of, message) in enumerate(self._events[last:], last + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def main(port: int, without: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        tokens = Tokens(state)
        bearer = (b"authorization", f"Bearer {tokens.ensure('suite').token}".encode())
        client = Client("suite", (state,))
        async with opened(Config(state, (state,)), Caller(client)) as app:
            await fixtures.join(
                app.server, fixtures.build(), frozenset(await app.calls.catalog.tools()), without
            )
            door = Door(tokens, LOOPBACK_HOSTS, client, {})
            unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
            mcp = app.server.streamable_http_app(
                event_store=Events(), retry_interval=100, transport_security=unguarded
            )
            guard = Guard(app, door, mcp)

            async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
                if scope["type"] == "http":
                    scope = {**scope, "headers": [*scope["headers"], bearer]}
                await guard(scope, receive, send)

            config = uvicorn.Config(with_token, port=port, log_level="warning", ws="none", lifespan="on")
            await uvicorn.Server(config).serve()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
