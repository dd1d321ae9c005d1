"""What stands between the network and the app: who may ask, from where, and how much. Pure ASGI, nothing is buffered.

Besides `/mcp` it serves `/health` (no secrets, no token) and `/pipe`, one MCP byte stream over one request, which
`warpwise connect` uses.
"""

import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .app import CALLER, App
from .call_records import Tap, tapped, tapped_send
from .calls import Caller
from .client import Client
from .conversations import Recorder
from .errors import InvalidRequest, WarpwiseError
from .framing import MAX_LINE_BYTES
from .tokens import Grant, Tokens
from .wire import json_lines

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
MCP_PATH, PIPE_PATH, HEALTH_PATH = "/mcp", "/pipe", "/health"
ADMIN_HEADER, ROOT_HEADER = "warpwise-admin", "warpwise-root"
LAST_WORDS_S = 0.3
_TEXT = {
    400: "the request cannot be understood",
    401: "a bearer token is needed: `warpwise token add NAME` makes one",
    403: "this origin or key is not allowed",
    413: f"the body is over {MAX_LINE_BYTES:,} bytes",
    421: "this host name is not allowed: start the daemon with --allow-host",
}


@dataclass(slots=True)
class Door:
    """What the guard goes by: grants, allowed host names, what a client has where its grant is silent, /health."""

    tokens: Tokens
    hosts: frozenset[str]
    default: Client
    health: Mapping[str, str]
    stopping: anyio.Event = field(default_factory=anyio.Event)
    open_requests: int = 0
    last_asked: float = field(default_factory=time.monotonic)

    def idle_s(self) -> float:
        """Seconds since the last request ended; 0 while one is open."""
        return 0.0 if self.open_requests else time.monotonic() - self.last_asked


class Guard:
    """The ASGI app to serve: checks host, origin, token and size, names the caller, and passes on to `mcp`."""

    def __init__(self, app: App, door: Door, mcp: ASGIApp) -> None:
        self._app = app
        self._door = door
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._mcp(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if refused := self._refused(headers):
            await _answer(send, refused, {"error": {"code": refused, "what": _TEXT[refused]}})
        elif scope["path"] == HEALTH_PATH:
            await _answer(send, 200, {"status": "ok", **self._door.health})
        elif (grant := self._door.tokens.find(_bearer(headers))) is None:
            await _answer(send, 401, {"error": {"code": 401, "what": _TEXT[401]}})
        else:
            self._door.open_requests += 1
            try:
                await self._pass_on(grant, headers, scope, receive, send)
            finally:
                self._door.open_requests -= 1
                self._door.last_asked = time.monotonic()

    def _refused(self, headers: Mapping[str, str]) -> int | None:
        """The status that refuses a request by its headers alone, or None."""
        if not _allowed(f"//{headers.get('host', '')}", self._door.hosts):
            return 421
        if (origin := headers.get("origin")) and not _allowed(origin, self._door.hosts):
            return 403
        length = headers.get("content-length", "0")
        if not length.isdigit():
            return 400
        return 413 if int(length) > MAX_LINE_BYTES else None

    async def _pass_on(
        self, grant: Grant, headers: Mapping[str, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            client = self._client(grant, headers)
        except WarpwiseError as error:
            await _answer(send, 403, {"error": error.as_json()})
            return
        gone = anyio.Event()

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        scope[CALLER] = Caller(client, gone)
        # The SDK ties a session to the user that opened it, so that one client cannot ride on another's session.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=client.name, scopes=[]))
        async with anyio.create_task_group() as group:
            group.start_soon(_end, self._door.stopping, group.cancel_scope)
            if scope["path"] == PIPE_PATH and scope["method"] == "POST":
                await self._pipe(scope[CALLER], watched, send)
            else:
                await self._mcp(scope, *self._noted(scope[CALLER], watched, send))
            group.cancel_scope.cancel()

    def _client(self, grant: Grant, headers: Mapping[str, str]) -> Client:
        """The client of a grant, below the root that a bridge names with the operator's key. Raises InvalidRequest."""
        client = grant.client(self._door.default)
        named = headers.get(ROOT_HEADER)
        if named is None:
            return client
        if not self._door.tokens.is_admin(headers.get(ADMIN_HEADER, "")):
            raise InvalidRequest("a root can be named only with the operator's key")
        root = Path(unquote(named))
        if "\0" in str(root) or not root.is_dir():
            raise InvalidRequest(f"the root {str(root)!r} is not a folder")
        root = root.resolve()
        return replace(client, roots=(root,))

    def _recorder(self, caller: Caller) -> Recorder | None:
        return self._app.calls.services.conversations.recorder(caller.client)

    def _noted(self, caller: Caller, receive: Receive, send: Send) -> tuple[Receive, Send]:
        """The same two, every JSON-RPC message noted where the client is recorded."""
        recorder = self._recorder(caller)
        if recorder is None:
            return receive, send
        client, server = Tap(recorder, "client"), Tap(recorder, "server")

        async def heard() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                client.feed(message.get("body", b""))
                if not message.get("more_body", False):
                    client.end()
            return message

        async def said(message: Message) -> None:
            if message["type"] == "http.response.body":
                server.feed(message.get("body", b""))
                if not message.get("more_body", False):
                    server.end()
            await send(message)

        return heard, said

    async def _pipe(self, caller: Caller, receive: Receive, send: Send) -> None:
        """Serve one MCP stream over the request's body and the response's, until either side ends."""

        async def answer(line: bytes) -> None:
            await send({"type": "http.response.body", "body": line, "more_body": True})

        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        recorder = self._recorder(caller)
        chunks, told = tapped(_body(receive), recorder), tapped_send(answer, recorder)
        async with json_lines(chunks, told, caller) as (incoming, outgoing):
            await self._app.serve(incoming, outgoing)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _end(stopping: anyio.Event, scope: anyio.CancelScope) -> None:
    """When the daemon stops, end a request that its cancelled jobs did not end: an open stream, a pipe."""
    await stopping.wait()
    await anyio.sleep(LAST_WORDS_S)
    scope.cancel()


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    """A request's body as it comes, until its end or the connection's."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _bearer(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _allowed(url: str, hosts: frozenset[str]) -> bool:
    """Whether a Host (as `//host:port`) or an Origin names one of these hosts, at any port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("", "http", "https") and parts.hostname in hosts and not parts.username
    except ValueError:
        return False


async def _answer(send: Send, status: int, body: Mapping[str, object]) -> None:
    content = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="warpwise"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
