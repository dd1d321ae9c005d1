"""What the official suite expects a server to have, answered beside the product's own tools. Test-only.

The suite calls fixtures by name (`test_*` tools, `test://` resources). They live on an SDK server of their own, and the
product's server passes on what is not its own; transport, guard, era handling and the product's tools are the real ones.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import mcp.types as t
from fixture_content import add_content, add_prompts, add_resources
from fixture_questions import add_modern, add_questions, add_rounds
from mcp.server import MCPServer, Server
from mcp.server.request_state import RequestStateBoundary

MISSING = "missing fixture: "
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resource_templates",
}
Handler = Callable[[Any, Any], Awaitable[Any]]


def build() -> MCPServer[Any]:
    """A server with every fixture of the frozen requirement sets 2025-11-25 and 2026-07-28."""
    server: MCPServer[Any] = MCPServer("conformance-fixtures")
    for install in (add_content, add_questions, add_modern, add_rounds, add_resources, add_prompts):
        install(server)
    return server


async def join(
    product: Server[Any], fixtures: MCPServer[Any], tools: frozenset[str], without: str | None = None
) -> None:
    """Let the product's server, which has `tools`, pass on what only the fixtures know, but for the tool `without`.

    A call of a tool that neither has is written to stderr: the suite would take the refusal for an answer.
    """
    behind = fixtures._lowlevel_server  # pyright: ignore[reportPrivateUsage]
    if without is not None:
        fixtures.remove_tool(without)
    theirs = {tool.name: tool.input_schema for tool in await fixtures.list_tools()}

    def is_our_tool(name: str) -> bool:
        if name not in tools and name not in theirs:
            print(f"{MISSING}{name}", file=sys.stderr, flush=True)
        return name not in theirs

    def is_our_prompt(name: str) -> bool:
        return not name.startswith("test_")

    def is_our_resource(uri: str) -> bool:
        return uri.startswith("warpwise:")

    for method, names in _LISTS.items():
        product.add_request_handler(method, t.PaginatedRequestParams, _merged(product, behind, method, names))
    call, get, read = (
        _routed(product, behind, method) for method in ("tools/call", "prompts/get", "resources/read")
    )
    product.add_request_handler("tools/call", t.CallToolRequestParams, call(is_our_tool))
    product.add_request_handler("prompts/get", t.GetPromptRequestParams, get(is_our_prompt))
    product.add_request_handler("resources/read", t.ReadResourceRequestParams, read(is_our_resource))
    product.add_request_handler("logging/setLevel", t.SetLevelRequestParams, _empty)
    product.add_request_handler("resources/subscribe", t.SubscribeRequestParams, _empty)
    product.add_request_handler("resources/unsubscribe", t.UnsubscribeRequestParams, _empty)
    for method in ("subscriptions/listen", "completion/complete"):
        if entry := behind.get_request_handler(method):
            product.add_request_handler(method, entry.params_type, entry.handler)
    product.middleware.extend(layer for layer in behind.middleware if isinstance(layer, RequestStateBoundary))
    product.get_tool_input_schema = theirs.get


def _handler(server: Server[Any], method: str) -> Handler:
    entry = server.get_request_handler(method)
    assert entry is not None, method
    return entry.handler


def _merged(product: Server[Any], behind: Server[Any], method: str, names: str) -> Handler:
    ours, theirs = _handler(product, method), _handler(behind, method)

    async def handle(ctx: Any, params: Any) -> Any:  # noqa: ANN401
        first, second = await ours(ctx, params), await theirs(ctx, params)
        return first.model_copy(update={names: [*getattr(first, names), *getattr(second, names)]})

    return handle


def _routed(
    product: Server[Any], behind: Server[Any], method: str
) -> Callable[[Callable[[str], bool]], Handler]:
    ours, theirs = _handler(product, method), _handler(behind, method)

    def by(is_ours: Callable[[str], bool]) -> Handler:
        async def handle(ctx: Any, params: Any) -> Any:  # noqa: ANN401
            named = str(getattr(params, "uri", None) or params.name)
            return await (ours if is_ours(named) else theirs)(ctx, params)

        return handle

    return by


async def _empty(ctx: object, params: object) -> t.EmptyResult:
    return t.EmptyResult()
