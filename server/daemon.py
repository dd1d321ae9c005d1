"""Opens the app and serves it over stdio until end of input or a signal. HTTP is in `http_daemon.py`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from warpwise import __version__

from . import stdio
from .answering import script_of
from .app import App
from .call_records import tapped, tapped_send
from .calls import Caller, Calls
from .catalog import Catalog
from .client import Client
from .config import Config
from .process import become_subreaper
from .services import open_services
from .stopping import until_signal
from .wire import json_lines

LOCAL_CLIENT = "local"


async def serve_stdio(config: Config) -> None:
    """Serve the process's stdin and stdout until end of input or SIGTERM, SIGINT, SIGHUP; jobs end with it."""
    reader, writer = stdio.claim()
    local = Caller(local_client(config), jobs_survive=False)
    async with until_signal() as scope, opened(config, local) as app:
        recorder = app.calls.services.conversations.recorder(local.client)
        chunks = tapped(stdio.chunks(reader), recorder)
        send = tapped_send(stdio.Writer(writer).send, recorder)
        async with json_lines(chunks, send) as (incoming, outgoing):
            await app.serve(incoming, outgoing)
        scope.cancel()


def local_client(config: Config) -> Client:
    """The client where the transport names none."""
    return Client(LOCAL_CLIENT, config.roots, config.given, config.record, config.toolsets)


@asynccontextmanager
async def opened(config: Config, local: Caller) -> AsyncGenerator[App]:
    """The app over freshly opened services; `local` is the caller where the transport names none."""
    become_subreaper()
    catalog = Catalog(config.toolsets, config.state_dir)
    async with open_services(config) as services, anyio.create_task_group() as group:
        if config.script is not None:
            await catalog.tools()  # the kinds of answers are theirs
        script = script_of(services.store, config.script, fill=config.fill)
        group.start_soon(catalog.load_when_wanted)
        yield App(Calls(services, catalog, script), local, __version__)
        group.cancel_scope.cancel()
