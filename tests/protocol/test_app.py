"""The MCP face in one process: a real client, both protocol eras, tools plugged in through the public door."""

import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp.types as t
import pytest
from mcp import Client, MCPError

from warpwise.server.app import App
from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client as Caller_
from warpwise.server.tool import load_tools
from warpwise.server.workbench import Services

Connect = Callable[[], Any]
pytestmark = pytest.mark.usefixtures("probes")


@pytest.fixture
def app(services: Services, root: Path, probes: None) -> App:
    """The app with the probe tools beside its own."""
    return App(Calls(services, Catalog.of(load_tools())), Caller(Caller_("local", (root,))), "1.2.3")


@pytest.fixture
async def client(app: App, era: str) -> AsyncIterator[Client]:
    """A client of the app."""
    async with Client(app.server, mode=era) as opened:
        yield opened


def said(result: t.CallToolResult) -> str:
    """The text of an answer."""
    (block,) = result.content
    assert isinstance(block, t.TextContent)
    return block.text


async def refused(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The error of a refused call, which text and structured content must tell alike."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is not None
    error: dict[str, Any] = result.structured_content["error"]
    assert set(error) == {"code", "what", "hint", "retryable"}
    assert said(result).startswith(f"{error['code']}: {error['what']}")
    assert said(result).endswith(error["hint"])
    return error


async def test_an_answer_is_text_and_the_same_as_data(client: Client) -> None:
    result = await client.call_tool("probe_echo", {"text": "hello", "count": 3})
    assert not result.is_error
    assert said(result) == "hello"
    assert result.structured_content == {"state": "done", "summary": "hello", "text": "hello", "count": 3}


async def test_an_unknown_tool_names_the_nearest(client: Client) -> None:
    error = await refused(client, "probe_ecko", {})
    assert error["code"] == "unknown_tool"
    assert error["what"] == "no tool 'probe_ecko': did you mean 'probe_echo'?"
    assert "probe_echo" in error["hint"]


async def test_an_unknown_argument_names_the_nearest(client: Client) -> None:
    error = await refused(client, "probe_echo", {"txet": "a"})
    assert error == {
        "code": "invalid_arguments",
        "what": "probe_echo: unknown argument 'txet': did you mean 'text'?",
        "hint": "probe_echo takes: text, names, defines, count.",
        "retryable": False,
    }


async def test_a_wrong_type_and_a_missing_argument_are_named(client: Client) -> None:
    error = await refused(client, "probe_echo", {"count": "three"})
    assert "count: Input should be a valid integer" in error["what"]
    assert "'three'" in error["what"]
    assert "argument 'how' is missing" in (await refused(client, "probe_fail", {}))["what"]


async def test_many_wrong_arguments_are_told_in_one_short_error(client: Client) -> None:
    error = await refused(client, "probe_echo", {f"wrong_{number}": "x" * 10_000 for number in range(50)})
    assert "45 more" in error["what"]
    assert len(error["what"]) < 600


async def test_a_typed_failure_keeps_its_code_and_whether_to_retry(client: Client) -> None:
    error = await refused(client, "probe_fail", {"how": "typed"})
    assert (error["code"], error["what"], error["retryable"]) == ("busy", "the GPU is busy", True)


async def test_parallel_typed_failures_are_told_as_one(client: Client) -> None:
    error = await refused(client, "probe_fail", {"how": "parallel"})
    assert (error["code"], error["what"]) == ("busy", "one of several")


async def test_a_bug_is_logged_but_not_told_and_the_daemon_goes_on(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        error = await refused(client, "probe_fail", {"how": "bug"})
    assert error["code"] == "internal"
    assert "secret" not in json.dumps(error)
    assert "secret path /home/someone" in caplog.text
    assert said(await client.call_tool("probe_echo", {"text": "still here"})) == "still here"


async def test_long_work_becomes_a_job_whose_answer_is_the_tools_own(client: Client) -> None:
    first = await client.call_tool("probe_work", {"seconds": 0.3, "wait_s": 0.01, "detail": "raw"})
    assert first.structured_content is not None
    assert first.structured_content["state"] == "running"
    job = first.structured_content["job"]
    assert job in said(first)
    assert any(job in step for step in first.structured_content["next"])
    last = await client.call_tool("job", {"id": job})
    assert last.structured_content == {"state": "done", "summary": "worked", "told": "raw"}


async def test_a_job_can_be_cancelled_and_then_says_so(client: Client, tmp_path: Path) -> None:
    arguments = {"seconds": 60, "wait_s": 0, "ended": str(tmp_path / "ended")}
    started = await client.call_tool("probe_work", arguments)
    assert started.structured_content is not None
    job = started.structured_content["job"]
    await client.call_tool("job", {"id": job, "action": "cancel"})
    assert (tmp_path / "ended").read_text() == "cancelled"
    assert (await refused(client, "job", {"id": job}))["code"] == "cancelled"


async def test_a_cancelled_call_takes_its_work_along(client: Client, tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    with anyio.move_on_after(0.2):
        await client.call_tool("probe_work", {"seconds": 60, "ended": str(ended)})
    with anyio.fail_after(5):
        while not ended.exists():
            await anyio.sleep(0.01)
    assert ended.read_text() == "cancelled"


async def test_a_cancelled_wait_leaves_the_job_running(client: Client, app: App) -> None:
    started = await client.call_tool("probe_work", {"seconds": 60, "wait_s": 0})
    with anyio.move_on_after(0.2):
        await client.call_tool("job", {"id": (started.structured_content or {})["job"]})
    assert [job.tool for job in app.calls.services.jobs.running()] == ["probe_work"]


async def test_progress_is_told_in_order_and_at_most_four_times_a_second(client: Client) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    started = time.monotonic()
    await client.call_tool("probe_work", {"seconds": 1.1, "reports": 1000}, progress_callback=note)
    assert 1 <= len(told) <= 4 * (time.monotonic() - started) + 1
    assert told == sorted(told, key=lambda report: report[0])
    assert told[0][2] == "probe_work: step 999"


async def test_text_that_is_no_unicode_and_numbers_that_are_none_still_reach_the_client(
    client: Client,
) -> None:
    answer = await client.call_tool("probe_odd", {})
    assert said(answer) == "odd ?"
    assert answer.structured_content == {
        "state": "done",
        "summary": "odd ?",
        "ratio": None,
        "names": ["?", "ok"],
    }


async def test_fifty_calls_at_once_do_not_wait_for_each_other(client: Client) -> None:
    started = time.monotonic()
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(client.call_tool, "probe_work", {"seconds": 0.5})
    assert time.monotonic() - started < 5


async def test_a_quick_call_is_answered_while_long_ones_run(client: Client) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(client.call_tool, "probe_work", {"seconds": 60})
        with anyio.fail_after(2):
            assert said(await client.call_tool("probe_echo", {"text": "quick"})) == "quick"
        group.cancel_scope.cancel()


async def test_a_three_megabyte_argument_passes(client: Client) -> None:
    text = "x" * (3 << 20)
    assert said(await client.call_tool("probe_echo", {"text": text})) == text


async def test_report_schemas_and_artifacts_are_resources(client: Client, app: App) -> None:
    listed = {resource.uri for resource in (await client.list_resources()).resources}
    assert listed == {f"warpwise://schemas/{name}" for name in await app.calls.catalog.tools()}
    schema = json.loads(await _read(client, "warpwise://schemas/probe_work"))
    assert "findings" in schema["properties"]
    kept = app.calls.services.store.keep_artifact("local", "log", "grün\n".encode(), "compiler")
    assert await _read(client, kept.uri) == "grün\n"


async def test_a_resource_that_is_not_there_is_a_protocol_error_that_says_so(client: Client) -> None:
    for uri in ("warpwise://schemas/nope", "warpwise://artifact/a-nope", "other://x"):
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert caught.value.error.code == t.INVALID_PARAMS


async def test_another_clients_artifact_is_not_found(client: Client, app: App) -> None:
    kept = app.calls.services.store.keep_artifact("somebody else", "log", b"private", "compiler")
    with pytest.raises(MCPError, match="no artifact"):
        await client.read_resource(kept.uri)


async def test_prompts_are_workflows_with_their_arguments_filled_in(client: Client) -> None:
    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["fix-kernel", "tune-kernel"]
    assert all(argument.description for prompt in prompts for argument in prompt.arguments or ())
    answer = await client.get_prompt("fix-kernel", {"path": "a{b}.cu"})
    (message,) = answer.messages
    assert isinstance(message.content, t.TextContent)
    assert message.content.text.startswith("Make a{b}.cu correct.")
    with pytest.raises(MCPError, match="path"):
        await client.get_prompt("fix-kernel", {})
    with pytest.raises(MCPError, match="no prompt"):
        await client.get_prompt("nope", {})


async def test_the_list_of_tools_is_the_same_at_every_asking(client: Client) -> None:
    first, second = [(await client.list_tools()).model_dump_json() for _ in range(2)]
    assert first == second


async def _read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, t.TextResourceContents)
    return content.text
