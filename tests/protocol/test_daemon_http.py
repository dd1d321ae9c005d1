"""`warpwise serve --http`: who is let in, that both eras work, and that what is lost or stopped ends its work."""

import signal
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from mcp import Client
from programs import Daemon, Eventually, IsAlive, Start

from warpwise.server import presence

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def test_a_lost_connection_ends_a_call_and_never_a_job(
    daemon: Daemon, era: str, tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    call, job = tmp_path / "call", tmp_path / "job"

    async with anyio.create_task_group() as group:
        group.start_soon(_in_another_process, daemon, era, [job, call])
        await eventually(lambda: all(path.exists() and path.read_text().strip() for path in (call, job)))
        group.cancel_scope.cancel()
    await eventually(lambda: not is_alive(call))
    assert is_alive(job)


async def _in_another_process(daemon: Daemon, era: str, children: list[Path]) -> None:
    """A client that is killed outright while its second call runs."""
    import sys

    script = f"""
import anyio, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
async def main():
    async with httpx2.AsyncClient(headers={daemon.headers("operator")!r}, timeout=60) as http:
        async with Client(streamable_http_client({daemon.base + "/mcp"!r}, http_client=http), mode={era!r}) as client:
            await client.call_tool("probe_work", {{"seconds": 300, "child": {str(children[0])!r}, "wait_s": 0}})
            await client.call_tool("probe_work", {{"seconds": 300, "child": {str(children[1])!r}}})
anyio.run(main)
"""
    process = await anyio.open_process([sys.executable, "-c", script])
    try:
        await process.wait()
    finally:
        process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()
            await process.aclose()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_answers_whoever_waits_ends_the_programs_and_exits_0(
    daemon: Daemon,
    era: str,
    signum: signal.Signals,
    tmp_path: Path,
    eventually: Eventually,
    is_alive: IsAlive,
) -> None:
    pid = tmp_path / "pid"
    answers: list[Any] = []

    async def call(client: Client) -> None:
        answers.append(
            (await client.call_tool("probe_work", {"seconds": 300, "child": str(pid)})).structured_content
        )

    async with daemon.client(era) as client, anyio.create_task_group() as group:
        group.start_soon(call, client)
        await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
        started = time.monotonic()
        daemon.program.process.send_signal(signum)
        assert await daemon.program.end() == 0
        assert time.monotonic() - started < 5
    assert answers[0]["error"]["code"] == "cancelled"
    assert not is_alive(pid)


async def test_a_bind_that_others_can_reach_needs_a_given_token_and_named_hosts(
    start: Start,
) -> None:
    token = {"WARPWISE_TOKEN": "a-token-that-was-given"}
    lacking: list[tuple[str, dict[str, str], tuple[str, ...]]] = [
        ("0.0.0.0:0", {}, ()),
        ("[::]:0", token, ()),
        ("0.0.0.0:0", {}, ("--allow-host", "box")),
    ]
    for address, more, allowed in lacking:
        async with start("serve", "--http", address, *allowed, greet=False, **more) as program:
            assert await program.end() == 3


async def test_with_a_given_token_and_a_named_host_it_serves_others(
    start: Start, environment: dict[str, str], eventually: Eventually
) -> None:
    token = "given-token-of-the-operator"
    state = Path(environment["WARPWISE_STATE"])
    arguments = ("serve", "--http", "0.0.0.0:0", "--allow-host", "box")
    async with start(*arguments, greet=False, WARPWISE_TOKEN=token):
        await eventually(lambda: presence.find(state) is not None)
        here = presence.find(state)
        assert here is not None
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{here.port}") as http:
            headers = {**ACCEPT, "Authorization": f"Bearer {token}", "Host": "box:8931"}
            assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200
        assert not list((state / "clients").glob("*"))


async def test_a_taken_port_and_a_wrong_address_are_typed_errors(daemon: Daemon, start: Start) -> None:
    for address in (f"127.0.0.1:{daemon.port}", "nonsense", "127.0.0.1:99999", "1.2.3.4:0"):
        async with start("serve", "--http", address, greet=False) as program:
            assert await program.end() == 3


async def test_a_second_daemon_leaves_the_first_the_shared_one(
    daemon: Daemon, start: Start, environment: dict[str, str], eventually: Eventually
) -> None:
    state = Path(environment["WARPWISE_STATE"])
    async with start("serve", "--http", "127.0.0.1:0", greet=False, WARPWISE_NOTE="second") as program:
        await anyio.lowlevel.checkpoint()
        with anyio.fail_after(20):
            while program.process.returncode is None and not _listens(program.process.pid):
                await anyio.sleep(0.02)
        here = presence.find(state)
        assert here is not None
        assert here.port == daemon.port


def _listens(pid: int) -> bool:
    """Whether a process has a listening TCP socket."""
    inodes = set[str]()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    rows = [row.split() for row in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return any(row[3] == "0A" and row[9] in inodes for row in rows)
