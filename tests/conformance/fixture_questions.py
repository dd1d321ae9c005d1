"""Fixtures of the conformance suite that ask the client something, by request or by another round. Test-only."""

import json
from typing import Annotated, Any, cast

import mcp.types as t
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from pydantic import BaseModel, Field

Ctx = Context[Any]


class OneAnswer(BaseModel):
    response: str = Field(description="User's response")


class Defaults(BaseModel):
    name: str = Field(default="John Doe")
    age: int = Field(default=30)
    score: float = Field(default=95.5)
    status: str = Field(default="active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = Field(default=True)


def _titled(kind: str, **titles: str) -> dict[str, Any]:
    return {kind: [{"const": value, "title": title} for value, title in titles.items()]}


class Enums(BaseModel):
    untitledSingle: str = Field(json_schema_extra={"enum": ["option1", "option2", "option3"]})  # noqa: N815
    titledSingle: str = Field(json_schema_extra=_titled("oneOf", value1="First", value2="Second"))  # noqa: N815
    legacyEnum: str = Field(  # noqa: N815
        json_schema_extra={"enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]}
    )
    untitledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={"items": {"type": "string", "enum": ["option1", "option2"]}}
    )
    titledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={"items": _titled("anyOf", value1="First", value2="Second")}
    )


def _form(message: str, **fields: str) -> t.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}}
    return t.ElicitRequest(
        params=t.ElicitRequestFormParams(
            message=message, requested_schema={**schema, "required": list(fields)}
        )
    )


def _sample(text: str) -> t.CreateMessageRequest:
    said = t.SamplingMessage(role="user", content=t.TextContent(type="text", text=text))
    return t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=[said], max_tokens=50))


def _field(ctx: Ctx, question: str, name: str) -> str | None:
    answer = (ctx.input_responses or {}).get(question)
    content = answer.content if isinstance(answer, t.ElicitResult) else None
    return cast("str | None", content.get(name)) if content else None


def _needs(**requests: Any) -> t.InputRequiredResult:  # noqa: ANN401
    state = requests.pop("state", None)
    return t.InputRequiredResult(input_requests=requests, request_state=state)


async def _elicited(ctx: Ctx, message: str, schema: type[BaseModel]) -> str:
    answer = await ctx.elicit(message, schema)
    content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
    return f"action={answer.action}, content={content}"


def add_questions(server: MCPServer[Any]) -> None:
    """Tools that ask the client while they run, as 2025-11-25 does."""

    @server.tool(description="Fixture.")
    async def test_sampling(prompt: str, ctx: Ctx) -> str:
        said = t.SamplingMessage(role="user", content=t.TextContent(type="text", text=prompt))
        answer = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
            messages=[said], max_tokens=100, related_request_id=ctx.request_id
        )
        return f"LLM response: {cast('t.TextContent', answer.content).text}"

    @server.tool(description="Fixture.")
    async def test_elicitation(message: str, ctx: Ctx) -> str:
        return "User response: " + await _elicited(ctx, message, OneAnswer)

    @server.tool(description="Fixture.")
    async def test_elicitation_sep1034_defaults(ctx: Ctx) -> str:
        return "Elicitation completed: " + await _elicited(ctx, "Please provide user information", Defaults)

    @server.tool(description="Fixture.")
    async def test_elicitation_sep1330_enums(ctx: Ctx) -> str:
        return "Elicitation completed: " + await _elicited(ctx, "Please select", Enums)

    _ = (test_sampling, test_elicitation, test_elicitation_sep1034_defaults, test_elicitation_sep1330_enums)


def add_modern(server: MCPServer[Any]) -> None:
    """What 2026-07-28 added: capabilities by request, change events, headers."""

    @server.tool(description="Fixture.")
    async def test_missing_capability(ctx: Ctx) -> str:
        capabilities = ctx.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            missing: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(t.MISSING_REQUIRED_CLIENT_CAPABILITY, "needs sampling", missing)
        return "ok"

    @server.tool(description="Fixture.")
    async def test_trigger_tool_change(ctx: Ctx) -> str:
        await ctx.notify_tools_changed()
        return "ok"

    @server.tool(description="Fixture.")
    async def test_trigger_prompt_change(ctx: Ctx) -> str:
        await ctx.notify_prompts_changed()
        return "ok"

    @server.tool(description="Fixture.")
    async def test_x_mcp_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "<none>",
    ) -> str:
        return region

    @server.tool(description="Fixture.")
    async def test_streaming_elicitation(ctx: Ctx) -> str | t.InputRequiredResult:
        await ctx.report_progress(1, 2, "about to ask")
        return "ok" if ctx.input_responses else _needs(q=_form("Name?", name="string"))

    _ = (test_missing_capability, test_trigger_tool_change, test_trigger_prompt_change)
    _ = (test_x_mcp_header, test_streaming_elicitation)


def add_rounds(server: MCPServer[Any]) -> None:  # noqa: C901  # a list of fixtures
    """Tools and a prompt that answer with a question and are called again."""

    @server.tool(description="Fixture.")
    async def test_input_required_result_elicitation(ctx: Ctx) -> str | t.InputRequiredResult:
        name = _field(ctx, "user_name", "name")
        return f"Hello, {name}!" if name else _needs(user_name=_form("What is your name?", name="string"))

    @server.tool(description="Fixture.")
    async def test_input_required_result_sampling(ctx: Ctx) -> str | t.InputRequiredResult:
        answer = (ctx.input_responses or {}).get("capital_question")
        if isinstance(answer, t.CreateMessageResult):
            return f"Model said: {cast('t.TextContent', answer.content).text}"
        return _needs(capital_question=_sample("What is the capital of France?"))

    @server.tool(description="Fixture.")
    async def test_input_required_result_list_roots(ctx: Ctx) -> str | t.InputRequiredResult:
        answer = (ctx.input_responses or {}).get("client_roots")
        if isinstance(answer, t.ListRootsResult):
            return f"Client exposed {len(answer.roots)} root(s)."
        return _needs(client_roots=t.ListRootsRequest())

    @server.tool(description="Fixture.")
    async def test_input_required_result_request_state(ctx: Ctx) -> str | t.InputRequiredResult:
        if ctx.request_state == "nonce" and "confirm" in (ctx.input_responses or {}):
            return "state-ok: confirmed"
        return _needs(confirm=_form("Please confirm", ok="boolean"), state="nonce")

    @server.tool(description="Fixture.")
    async def test_input_required_result_multiple_inputs(ctx: Ctx) -> str | t.InputRequiredResult:
        if {"user_name", "greeting", "client_roots"} <= (ctx.input_responses or {}).keys():
            return "All inputs received."
        name = _form("What is your name?", name="string")
        return _needs(
            user_name=name, greeting=_sample("Greet"), client_roots=t.ListRootsRequest(), state="multi"
        )

    @server.tool(description="Fixture.")
    async def test_input_required_result_multi_round(ctx: Ctx) -> str | t.InputRequiredResult:
        state = json.loads(ctx.request_state or '{"round": 0}')
        if state["round"] == 1 and (name := _field(ctx, "step1", "name")):
            colour = _form("Step 2: favourite colour?", color="string")
            return _needs(step2=colour, state=json.dumps({"round": 2, "name": name}))
        if state["round"] == 2 and (liked := _field(ctx, "step2", "color")):
            return f"{state['name']} likes {liked}."
        return _needs(step1=_form("Step 1: name?", name="string"), state=json.dumps({"round": 1}))

    @server.tool(description="Fixture.")
    async def test_input_required_result_tampered_state(ctx: Ctx) -> str | t.InputRequiredResult:
        return "state-ok" if ctx.request_state else _needs(confirm=_form("Confirm", ok="boolean"), state="r1")

    @server.tool(description="Fixture.")
    async def test_input_required_result_capabilities(ctx: Ctx) -> t.InputRequiredResult:
        capabilities = ctx.client_capabilities
        asked: dict[str, Any] = {}
        if capabilities is None or capabilities.sampling is not None:
            asked["sample"] = _sample("Say hello")
        if capabilities is None or capabilities.elicitation is not None:
            asked["ask"] = _form("What is your name?", name="string")
        return _needs(**asked, state="caps")

    @server.prompt(description="Fixture.")
    async def test_input_required_result_prompt(ctx: Ctx) -> list[UserMessage] | t.InputRequiredResult:
        text = _field(ctx, "user_context", "context")
        if text:
            return [UserMessage(content=f"Use the following context: {text}")]
        return _needs(user_context=_form("What context?", context="string"))

    _ = test_input_required_result_prompt
