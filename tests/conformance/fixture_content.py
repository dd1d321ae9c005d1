"""Fixtures of the conformance suite that give content: tools, resources and prompts. Test-only."""

import base64
import json
from typing import Any

import anyio
import mcp.types as t
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.exceptions import ToolError

Ctx = Context[Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = t.ImageContent(type="image", data=PNG, mime_type="image/png")
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _embedded(uri: str, kind: str, text: str) -> t.EmbeddedResource:
    return t.EmbeddedResource(
        type="resource", resource=t.TextResourceContents(uri=uri, mime_type=kind, text=text)
    )


def add_content(server: MCPServer[Any]) -> None:  # noqa: C901  # a list of fixtures
    """Tools that return each kind of content, and tools that report."""

    @server.tool(description="Fixture.")
    async def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @server.tool(description="Fixture.")
    async def test_image_content() -> list[t.ImageContent]:
        return [IMAGE]

    @server.tool(description="Fixture.")
    async def test_audio_content() -> list[t.AudioContent]:
        return [t.AudioContent(type="audio", data=WAV, mime_type="audio/wav")]

    @server.tool(description="Fixture.")
    async def test_embedded_resource() -> list[t.EmbeddedResource]:
        return [_embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]

    @server.tool(description="Fixture.")
    async def test_multiple_content_types() -> list[t.TextContent | t.ImageContent | t.EmbeddedResource]:
        text = t.TextContent(type="text", text="Multiple content types test:")
        mixed = _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
        return [text, IMAGE, mixed]

    @server.tool(description="Fixture.")
    async def test_error_handling() -> str:
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool(description="Fixture.")
    async def test_tool_with_progress(ctx: Ctx) -> str:
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100, f"Completed step {done} of 100")
            await anyio.sleep(0.05)
        return "done"

    @server.tool(description="Fixture.")
    async def test_tool_with_logging(ctx: Ctx) -> str:
        for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(message)  # pyright: ignore[reportDeprecated]
            await anyio.sleep(0.05)
        return "ok"

    @server.tool(description="Fixture.")
    async def test_logging_tool(ctx: Ctx) -> str:
        await ctx.info("only with an opt-in")  # pyright: ignore[reportDeprecated]
        return "ok"

    @server.tool(description="Fixture.")
    async def test_reconnection(ctx: Ctx) -> str:
        await ctx.close_sse_stream()
        await anyio.sleep(0.2)
        return "Reconnection test completed"

    @server.tool(description="Fixture.")
    async def json_schema_2020_12_tool() -> str:
        return "ok"

    for tool in server._tool_manager.list_tools():  # pyright: ignore[reportPrivateUsage]
        if tool.name == "json_schema_2020_12_tool":  # the SDK has no public way to give a schema
            tool.parameters = SCHEMA_2020_12


def add_resources(server: MCPServer[Any]) -> None:
    """The suite's resources."""

    @server.resource("test://static-text")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:  # noqa: A002  # the template's name for it
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource")
    def watched() -> str:
        return "Watched"

    _ = (static_text, static_binary, template, watched)


def add_prompts(server: MCPServer[Any]) -> None:
    """The suite's prompts."""

    @server.prompt(description="Fixture.")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="Fixture.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="Fixture.")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  # the suite's name
        content = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [
            UserMessage(content=content),
            UserMessage(content="Please process the embedded resource above."),
        ]

    @server.prompt(description="Fixture.")
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(content=IMAGE), UserMessage(content="Please analyze the image above.")]

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(ref: object, argument: t.CompletionArgument, context: object) -> t.Completion:
        return t.Completion(values=[f"{argument.value}-completed"], total=1, has_more=False)

    _ = (
        complete,
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
    )
