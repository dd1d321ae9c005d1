"""`warpwise serve` over stdio, as a host runs it: what it answers, and how it ends."""

import signal
import time
from pathlib import Path

import anyio
import pytest
from programs import Eventually, IsAlive, Start


async def test_it_serves_and_ends_with_its_input(start: Start) -> None:
    async with start("serve") as program:
        assert (await program.call("probe_echo", text="hi"))["summary"] == "hi"
        await program.close_stdin()
        assert await program.end() == 0


async def test_it_says_that_its_jobs_end_with_it(start: Start) -> None:
    async with start("serve", greet=False) as program:
        assert "end with this connection" in (await program.greet())["instructions"]
        running = await program.call("probe_work", seconds=60, wait_s=0)
        assert any("ends when this connection ends" in step for step in running["next"])


async def test_what_a_tool_prints_does_not_reach_the_wire(start: Start) -> None:
    async with start("serve") as program:
        for number in range(20):
            assert (await program.call("probe_echo", count=number))["state"] == "done"


@pytest.mark.parametrize("how", ["input", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_however_it_ends_no_descendant_is_left_and_it_exits_0(
    how: signal.Signals | str, start: Start, tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    pid, ended = tmp_path / "pid", tmp_path / "ended"
    async with start("serve") as program:
        await program.ask("tools/call", name="probe_work", arguments={"seconds": 300, "child": str(pid)})
        background = {"seconds": 300, "ended": str(ended), "wait_s": 0}
        await program.ask("tools/call", name="probe_work", arguments=background)
        await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
        started = time.monotonic()
        if isinstance(how, signal.Signals):
            program.process.send_signal(how)
        else:
            await program.close_stdin()
        assert await program.end() == 0
        assert time.monotonic() - started < 5
        await eventually(lambda: not is_alive(pid))
        assert ended.read_text() == "cancelled"


async def test_a_second_signal_does_not_cut_the_cleaning_up_short(
    start: Start, tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    pid = tmp_path / "pid"
    async with start("serve") as program:
        await program.ask("tools/call", name="probe_work", arguments={"seconds": 300, "child": str(pid)})
        await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
        for _ in range(3):
            program.process.send_signal(signal.SIGTERM)
        assert await program.end() == 0
        await eventually(lambda: not is_alive(pid))


async def test_killed_outright_it_leaves_no_child(
    start: Start, tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    pid = tmp_path / "pid"
    async with start("serve") as program:
        await program.ask("tools/call", name="probe_work", arguments={"seconds": 300, "child": str(pid)})
        await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
        program.process.kill()
        await eventually(lambda: not is_alive(pid))


async def test_a_signal_ends_it_while_the_host_reads_nothing(start: Start) -> None:
    async with start("serve") as program:
        for _ in range(40):
            await program.ask("tools/call", name="probe_echo", arguments={"text": "x" * 100_000})
        program.process.send_signal(signal.SIGTERM)
        assert await program.end() == 0


async def test_a_cancelled_notification_ends_the_call_and_its_programs(
    start: Start, tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    pid = tmp_path / "pid"
    async with start("serve") as program:
        asked = await program.ask(
            "tools/call", name="probe_work", arguments={"seconds": 300, "child": str(pid)}
        )
        await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
        await program.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked}}
        )
        await eventually(lambda: not is_alive(pid))
        assert (await program.call("probe_echo", text="on"))["summary"] == "on"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json\n", -32700),
        (b"\xff\xfe\x00\n", -32700),
        (b"[]\n", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600),
        (b"5\n", -32600),
        (b'"' + b"[" * 100_000 + b'"\n', -32600),
        (b"[" * 100_000 + b"\n", -32700),
    ],
)
async def test_a_line_that_is_no_message_is_answered_and_the_daemon_goes_on(
    start: Start, line: bytes, code: int
) -> None:
    async with start("serve") as program:
        await program.send(line)
        assert (await program.receive())["error"]["code"] == code
        await program.send(b"\n   \n")
        assert (await program.call("probe_echo", text="on"))["summary"] == "on"


@pytest.mark.parametrize("order", ["id first", "id last"])
async def test_a_fifty_megabyte_line_is_refused_under_its_id_and_the_daemon_goes_on(
    start: Start, order: str
) -> None:
    head = b'{"jsonrpc":"2.0","id":77,' if order == "id first" else b"{"
    tail = b"}\n" if order == "id first" else b',"jsonrpc":"2.0","id":77}\n'
    body = b'"method":"tools/call","params":{"name":"probe_echo","arguments":{"text":"%b"}}' % (
        b"x" * (50 << 20)
    )
    async with start("serve") as program:
        await program.send(head + body + tail)
        refused = await program.receive()
        assert (refused["id"], refused["error"]["code"]) == (77, -32600)
        assert "at most" in refused["error"]["message"]
        assert (await program.call("probe_echo", text="on"))["summary"] == "on"


async def test_a_request_that_cannot_be_read_is_refused_under_its_own_id(start: Start) -> None:
    body = b'"method":"tools/call","params":{"name":"probe_echo","arguments":{"text":"\\ud800"}}'
    async with start("serve") as program:
        await program.send(b'{"jsonrpc":"2.0","id":41,' + body + b"}\n")
        refused = await program.receive()
        assert (refused["id"], refused["error"]["code"]) == (41, -32700)


async def test_answers_are_json_whatever_a_tool_says(start: Start) -> None:
    async with start("serve") as program:
        assert (await program.call("probe_odd"))["names"] == ["?", "ok"]


async def test_an_unfinished_last_line_still_counts(start: Start) -> None:
    async with start("serve", greet=False) as program:
        await program.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        await program.close_stdin()
        assert await program.end() == 0


async def test_progress_is_told_while_a_call_runs(start: Start) -> None:
    async with start("serve") as program:
        arguments = {"seconds": 0.8, "reports": 3}
        asked = await program.ask(
            "tools/call", name="probe_work", arguments=arguments, _meta={"progressToken": "mine"}
        )
        first = await program.receive()
        assert first["method"] == "notifications/progress"
        assert first["params"]["progressToken"] == "mine"
        assert first["params"]["message"] == "probe_work: step 2"
        assert (await program.answer(asked))["result"]["structuredContent"]["summary"] == "worked"


async def test_input_from_a_file_is_served_to_its_end(environment: dict[str, str], root: Path) -> None:
    import sys

    asked = root / "asked"
    asked.write_bytes(b"garbage\n")
    with asked.open("rb") as stdin, (root / "answered").open("wb") as stdout:
        argv = [sys.executable, "-m", "warpwise.server", "serve"]
        process = await anyio.open_process(argv, stdin=stdin, stdout=stdout, env=environment, cwd=root)
        with anyio.fail_after(20):
            assert await process.wait() == 0
        await process.aclose()
    assert b"-32700" in (root / "answered").read_bytes()
