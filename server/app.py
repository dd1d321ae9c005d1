"""The MCP face: lists the tools, resources and prompts, and turns calls into answers. The only file that knows handlers.

What a call does is in `calls.py`; how bytes come and go is in `daemon.py`, `http.py` and `wire.py`.
"""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from mcp import MCPError, types
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from starlette.types import ASGIApp

from . import schemas
from .calls import Caller, Calls, typed_error
from .errors import InternalError, NotFound
from .jobs import Job
from .masking import artifact_of
from .prompts import PROMPTS, find_prompt
from .wire import Incoming

Context = ServerRequestContext[Any, Any]
Params = TypeVar("Params")
Result = TypeVar("Result")
CALLER = "warpwise.caller"
SCHEMAS = "warpwise://schemas/"
ARTIFACTS = "warpwise://artifact/"
_DAY_MS = 24 * 3600 * 1000
MAX_RESOURCE_BYTES = 256 << 10
MAX_SESSIONS = 256

INSTRUCTIONS = """\
Feedback on CUDA kernels. Start with compile, then debug (sanitizers), analyze (static), profile (hardware).
Findings are data, most important first, each with its line and the next step; an error means that no answer was
possible. A candidate id (c-...) of an answer can be named instead of sending the source again. An answer with
state=running names a job: call job to wait for it. Longer output is paged with artifact."""
STDIO_NOTE = "\nJobs of this server end with this connection; `warpwise connect` keeps them."


class App:
    """An MCP server over the calls of one daemon. `local` is the caller where the transport names none (stdio)."""

    def __init__(self, calls: Calls, local: Caller, version: str) -> None:
        self.calls = calls
        self._local = local
        self.server: Server[Any] = Server(
            "warpwise",
            title="warpwise: CUDA kernel feedback",
            version=version,
            instructions=INSTRUCTIONS + ("" if local.jobs_survive else STDIO_NOTE),
            cache_hints={"tools/list": CacheHint(ttl_ms=_DAY_MS, scope="public")},
            get_tool_input_schema=lambda name: None,  # none of our arguments travels as a header
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=_typed(self._read_resource),
            on_list_prompts=self._list_prompts,
            on_get_prompt=_typed(self._get_prompt),
        )

    async def serve(self, incoming: ReadStream[Incoming], outgoing: WriteStream[SessionMessage]) -> None:
        """Serve one connection until its incoming stream ends; the client's first message decides the protocol era."""
        await self.server.run(incoming, outgoing, self.server.create_initialization_options())

    def http_app(self, path: str, max_body_bytes: int) -> ASGIApp:
        """The streamable HTTP app of both eras. Who may ask is checked before it."""
        return self.server.streamable_http_app(
            streamable_http_path=path,
            max_request_body_size=max_body_bytes,
            max_sessions=MAX_SESSIONS,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    async def _list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(entry) for entry in await self.calls.catalog.listing()]
        )

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        reply = await self.calls.call(self._caller(ctx), params.name, params.arguments or {}, _listener(ctx))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=reply.text)],
            structured_content=reply.structured,
            is_error=reply.error is not None,
        )

    def _caller(self, ctx: Context) -> Caller:
        """Who sent this request: the pipe says so itself, HTTP through the guard, stdio has one client only."""
        if isinstance(ctx.request, Caller):
            return ctx.request
        return self._local if ctx.request is None else ctx.request.scope[CALLER]

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = [
            types.Resource(
                uri=f"{SCHEMAS}{name}",
                name=f"schema-{name}",
                description=f"JSON schema of everything that an answer of {name} may hold.",
                mime_type="application/schema+json",
            )
            for name in [entry["name"] for entry in await self.calls.catalog.listing()]
        ]
        return types.ListResourcesResult(resources=found)

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{ARTIFACTS}{{id}}",
            name="artifact",
            description="A log, disassembly or full report that an answer refers to; the artifact tool pages through it.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri.startswith(SCHEMAS):
            tool = await self.calls.find(uri.removeprefix(SCHEMAS))
            text, kind = json.dumps(schemas.report_schema(tool), indent=1), "application/schema+json"
        elif uri.startswith(ARTIFACTS):
            text, kind = self._artifact(self._caller(ctx), uri.removeprefix(ARTIFACTS)), "text/plain"
        else:
            raise NotFound(f"no resource {uri[:200]}", f"Resources start with {SCHEMAS} or {ARTIFACTS}.")
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)]
        )

    def _artifact(self, caller: Caller, name: str) -> str:
        store = self.calls.services.store
        artifact, digest = artifact_of(store, caller.client, name)
        with store.blobs.open(digest) as stream:
            text = stream.read(MAX_RESOURCE_BYTES).decode("utf-8", "replace")
        if artifact.size_bytes > MAX_RESOURCE_BYTES:
            text += (
                f"\n[{artifact.size_bytes - MAX_RESOURCE_BYTES:,} more bytes: page with the artifact tool]"
            )
        return text

    async def _list_prompts(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        found = [
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(name=name, description=text, required=True)
                    for name, text in prompt.arguments.items()
                ],
            )
            for prompt in PROMPTS.values()
        ]
        return types.ListPromptsResult(prompts=found)

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = find_prompt(params.name)
        content = types.TextContent(type="text", text=prompt.filled(params.arguments or {}))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
        )


def _listener(ctx: Context) -> Callable[[Job], Awaitable[None]]:
    """Tells the client how far its call is: elapsed seconds, of how many where the work knows its share.

    The session drops it where the client gave no progress token.
    """

    async def tell(job: Job) -> None:
        elapsed_s = round(time.time() - job.started_at, 2)
        total_s = round(elapsed_s / job.fraction, 2) if job.fraction else None
        try:
            await ctx.session.report_progress(elapsed_s, total_s, f"{job.tool}: {job.message}")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return

    return tell


def _typed(
    handler: Callable[[Context, Params], Awaitable[Result]],
) -> Callable[[Context, Params], Awaitable[Result]]:
    """The handler, whose errors become JSON-RPC errors that say what and why, and of an unforeseen one only that."""

    async def handle(ctx: Context, params: Params) -> Result:
        try:
            return await handler(ctx, params)
        except Exception as caught:  # noqa: BLE001  # the same door for what is not a tool
            error = typed_error(caught, ctx.method)
            code = types.INTERNAL_ERROR if isinstance(error, InternalError) else types.INVALID_PARAMS
            raise MCPError(code, f"{error.what} {error.hint}", error.as_json()) from None

    return handle
