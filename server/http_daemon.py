"""Serves the app over streamable HTTP: the address, the tokens, the shared daemon's presence, and a prompt stop."""

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass

import anyio
import uvicorn

from warpwise import __version__

from . import presence
from .app import App
from .calls import Caller
from .config import Config
from .daemon import local_client, opened
from .errors import InvalidRequest
from .framing import MAX_LINE_BYTES
from .http import LOOPBACK_HOSTS, MCP_PATH, Door, Guard
from .stopping import STOP_SIGNALS
from .tokens import OPERATOR, Tokens, given_tokens

KEEP_ALIVE_S = 300
GRACE_S = 3
LAST_WORDS_S = 10.0
IDLE_S = 12 * 3600.0
IDLE_CHECK_S = 60.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; another bind than loopback needs the host names that clients use.

    With `idle_exit` the daemon ends after half a day in which nobody asked and no job ran.
    """

    host: str
    port: int
    allow_hosts: frozenset[str] = frozenset()
    idle_exit: bool = False


async def serve_http(config: Config, address: Address, environ: Mapping[str, str] = os.environ) -> None:
    """Serve streamable HTTP until a signal; the first on a state folder is the one that `warpwise connect` finds.

    Raises InvalidRequest for an unsafe or impossible address.
    """
    given = given_tokens(environ)
    if address.host not in LOOPBACK_HOSTS and not (given and address.allow_hosts):
        raise InvalidRequest(
            f"refusing to listen on {address.host}: others can reach it",
            "Give a token (WARPWISE_TOKEN or WARPWISE_TOKEN_FILE) and name the hosts (--allow-host), or use 127.0.0.1.",
        )
    tokens = Tokens(config.state_dir, given)
    if not given:
        tokens.ensure(OPERATOR)
    tokens.admin()
    local = Caller(local_client(config))
    with _listening(address) as listener:
        port = listener.getsockname()[1]
        with presence.announced(config.state_dir, port, __version__) as here:
            health = {"version": __version__, "instance": here.instance if here else ""}
            door = Door(tokens, LOOPBACK_HOSTS | address.allow_hosts, local.client, health)
            async with opened(config, local) as app:
                print(f"warpwise {__version__} serves http://{address.host}:{port}/mcp", file=sys.stderr)
                await _serve_until_signal(
                    Guard(app, door, app.http_app(MCP_PATH, MAX_LINE_BYTES)),
                    door,
                    app,
                    listener,
                    address.idle_exit,
                )


async def _serve_until_signal(
    guard: Guard, door: Door, app: App, listener: socket.socket, idle_exit: bool
) -> None:
    config = uvicorn.Config(
        guard,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    server = _Uvicorn(config)

    async def stop() -> None:
        # uvicorn counts the streams that we end as faults
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        with anyio.move_on_after(LAST_WORDS_S):
            await app.calls.stop()
        door.stopping.set()
        server.should_exit = True

    async def stop_at_signal() -> None:
        with anyio.open_signal_receiver(*STOP_SIGNALS) as signals:
            async for _ in signals:
                await stop()

    async def stop_when_idle() -> None:
        while door.idle_s() < IDLE_S or app.calls.services.jobs.running():
            await anyio.sleep(IDLE_CHECK_S)
        await stop()

    async with anyio.create_task_group() as group:
        group.start_soon(stop_at_signal)
        if idle_exit:
            group.start_soon(stop_when_idle)
        await server.serve(sockets=[listener])
        group.cancel_scope.cancel()


class _Uvicorn(uvicorn.Server):
    """Uvicorn without its own signal handling, which would end the process before anything is cleaned up."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the daemon."""
        yield


@contextlib.contextmanager
def _listening(address: Address) -> Generator[socket.socket]:
    """A bound socket. Raises InvalidRequest where the address is taken or not ours."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address.host, address.port))
            listener.listen(128)
        except OSError as error:
            raise InvalidRequest(
                f"cannot listen on {address.host}:{address.port}: {error.strerror or error}",
                "Choose another port (0 takes a free one).",
            ) from error
        yield listener
