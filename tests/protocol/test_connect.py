"""`warpwise connect`: several hosts, one daemon, and nothing lost when either side is restarted."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from programs import Eventually, IsAlive, Start

from warpwise.server import presence
from warpwise.server.presence import Presence

Find = Callable[[], Presence]


@pytest.fixture
def state(environment: dict[str, str]) -> Path:
    return Path(environment["WARPWISE_STATE"])


@pytest.fixture
def find(state: Path) -> Find:
    """The running daemon."""

    def _find() -> Presence:
        here = presence.find(state)
        assert here is not None
        return here

    return _find


async def test_hosts_that_start_at_once_share_one_daemon(start: Start, find: Find, state: Path) -> None:
    async with start("connect", greet=False) as one, start("connect", greet=False) as two:
        async with anyio.create_task_group() as group:
            group.start_soon(one.greet)
            group.start_soon(two.greet)
        here = find()
        for program in (one, two):
            assert (await program.call("probe_echo", text="hi"))["summary"] == "hi"
        assert find() == here
    assert (state / "daemon.log").read_text().count("serves http") == 1


async def test_it_ends_with_its_input_and_the_daemon_stays(start: Start, find: Find) -> None:
    async with start("connect") as program:
        await program.close_stdin()
        assert await program.end() == 0
    here = find()
    async with start("connect") as program:
        assert (await program.call("probe_echo", text="again"))["summary"] == "again"
    assert find() == here


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_the_bridge_with_exit_0(start: Start, signum: signal.Signals) -> None:
    async with start("connect") as program:
        program.process.send_signal(signum)
        assert await program.end() == 0


async def test_a_job_survives_its_host_and_is_found_by_the_next(start: Start, tmp_path: Path) -> None:
    async with start("connect", "--client", "host") as program:
        started = await program.call("probe_work", seconds=1.0, wait_s=0, ended=str(tmp_path / "ended"))
    async with start("connect", "--client", "host") as program:
        assert (await program.call("job", id=started["job"]))["summary"] == "worked"
    async with start("connect", "--client", "other") as program:
        assert (await program.call("job", id=started["job"]))["error"]["code"] == "not_found"


async def test_a_killed_host_takes_its_call_along_but_not_its_job(
    start: Start, tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    call, job = tmp_path / "call", tmp_path / "job"
    async with start("connect") as program:
        await program.call("probe_work", seconds=300, child=str(job), wait_s=0)
        await program.ask("tools/call", name="probe_work", arguments={"seconds": 300, "child": str(call)})
        await eventually(lambda: all(path.exists() and path.read_text().strip() for path in (call, job)))
        program.process.kill()
        await eventually(lambda: not is_alive(call))
        assert is_alive(job)


async def test_a_killed_daemon_is_replaced_and_the_host_notices_nothing(
    start: Start, find: Find, tmp_path: Path, eventually: Eventually
) -> None:
    pid = tmp_path / "pid"
    async with start("connect") as program:
        before = find()
        asked = await program.ask(
            "tools/call", name="probe_work", arguments={"seconds": 0.5, "child": str(pid)}
        )
        await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
        os.kill(before.pid, signal.SIGKILL)
        assert (await program.answer(asked))["result"]["structuredContent"]["summary"] == "worked"
        assert find() != before
        assert (await program.call("probe_echo", text="on"))["summary"] == "on"


async def test_a_killed_daemon_is_replaced_in_the_2026_era_too(start: Start, find: Find) -> None:
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    async with start("connect", greet=False) as program:
        arguments = {"name": "probe_echo", "arguments": {"text": "a"}, "_meta": envelope}
        for _ in range(2):
            answer = await program.request("tools/call", **arguments)
            assert answer["structuredContent"]["summary"] == "a"
            os.kill(find().pid, signal.SIGKILL)


async def test_a_call_that_kills_the_daemon_twice_is_refused_and_not_tried_for_ever(
    start: Start, find: Find, tmp_path: Path, eventually: Eventually
) -> None:
    pid = tmp_path / "pid"
    async with start("connect") as program:
        asked = await program.ask(
            "tools/call", name="probe_work", arguments={"seconds": 300, "child": str(pid)}
        )
        for _ in range(2):
            await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
            here = find()
            pid.unlink()
            os.kill(here.pid, signal.SIGKILL)
        refused = await program.answer(asked)
        assert "stopped twice" in refused["error"]["message"]
        assert (await program.call("probe_echo", text="on"))["summary"] == "on"


async def test_a_stopped_daemon_starts_again_only_when_something_is_asked(
    start: Start, state: Path, eventually: Eventually
) -> None:
    async with start("connect") as program:
        async with start("stop", greet=False) as stop:
            assert await stop.end() == 0
        await eventually(lambda: presence.find(state) is None)
        await anyio.wait_all_tasks_blocked()
        assert presence.find(state) is None
        assert (await program.call("probe_echo", text="on"))["summary"] == "on"
        assert presence.find(state) is not None


async def test_each_connection_has_its_own_root(start: Start, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.cu").write_text(f"// {name}\n")
    async with (
        start("connect", "--root", str(tmp_path / "one")) as one,
        start("connect", "--root", str(tmp_path / "two")) as two,
    ):
        for program, name in ((one, "one"), (two, "two"), (one, "one")):
            assert await program.call("probe_root") == {"state": "done", "summary": str(tmp_path / name)}


async def test_a_root_with_any_name_is_carried(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20ü"
    folder.mkdir()
    async with start("connect", "--root", str(folder)) as program:
        assert (await program.call("probe_root"))["summary"] == str(folder)


async def test_a_daemon_that_cannot_start_is_told_to_the_host(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    async with start("connect", greet=False, WARPWISE_STATE=str(tmp_path / "file" / "state")) as program:
        asked = await program.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
        assert "daemon" in (await program.answer(asked))["error"]["message"]
        assert await program.end() == 3


async def test_lines_that_are_no_messages_and_too_long_ones_are_answered(start: Start) -> None:
    async with start("connect") as program:
        await program.send(b"garbage\n")
        assert (await program.receive())["error"]["code"] == -32700
        await program.send(
            b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"t":"%b"}}\n' % (b"x" * (50 << 20))
        )
        assert (await program.receive())["id"] == 9
        assert (await program.call("probe_echo", text="on"))["summary"] == "on"


async def test_a_large_answer_and_a_large_argument_pass(start: Start) -> None:
    text = "x" * (2 << 20)
    async with start("connect") as program:
        assert (await program.call("probe_echo", text=text))["summary"] == text


async def test_progress_reaches_the_host(start: Start) -> None:
    async with start("connect") as program:
        arguments = {"seconds": 0.8, "reports": 2}
        await program.ask("tools/call", name="probe_work", arguments=arguments, _meta={"progressToken": 5})
        assert (await program.receive())["params"]["progressToken"] == 5


async def test_a_running_daemon_makes_the_start_of_a_host_quick(start: Start) -> None:
    async with start("connect"):
        started = time.monotonic()
        async with start("connect") as program:
            await program.request("tools/list")
            assert time.monotonic() - started < 2
