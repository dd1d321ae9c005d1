"""`warpwise serve --http`: who is let in, that both eras work, and that what is lost or stopped ends its work."""

import json
import signal
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from warpwise.server import presence
from warpwise.server.tokens import Tokens

Start = Callable[..., AbstractAsyncContextManager[Any]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
IsAlive = Callable[[Path], bool]
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


@dataclass
class Daemon:
    """A running HTTP daemon and its tokens."""

    program: Any
    port: int
    tokens: Tokens

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def headers(self, name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens.ensure(name).token}"}

    @asynccontextmanager
    async def client(self, mode: str, name: str = "operator") -> AsyncGenerator[Client]:
        """A connected MCP client with that client's token."""
        async with (
            httpx2.AsyncClient(headers=self.headers(name), timeout=60) as http,
            Client(streamable_http_client(f"{self.base}/mcp", http_client=http), mode=mode) as opened,
        ):
            yield opened


@pytest.fixture
async def daemon(start: Start, environment: dict[str, str], eventually: Eventually) -> AsyncIterator[Daemon]:
    """A daemon on a free port of loopback."""
    state = Path(environment["WARPWISE_STATE"])
    async with start("serve", "--http", "127.0.0.1:0", greet=False) as program:
        await eventually(lambda: presence.find(state) is not None)
        here = presence.find(state)
        assert here is not None
        yield Daemon(program, here.port, Tokens(state))


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> str:
    """2025-11-25 by handshake, and 2026-07-28."""
    return str(request.param)


async def test_both_eras_are_served_with_a_token(daemon: Daemon, era: str) -> None:
    async with daemon.client(era) as client:
        assert client.protocol_version == ("2025-11-25" if era == "legacy" else "2026-07-28")
        answer = await client.call_tool("probe_echo", {"text": "hi"})
        assert answer.structured_content == {"state": "done", "summary": "hi", "text": "hi"}


async def test_a_request_without_a_known_token_is_refused(daemon: Daemon) -> None:
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        for header in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic abc"},
            {"Authorization": "Bearer"},
        ):
            for path in ("/mcp", "/pipe", "/", "/docs"):
                answer = await http.post(path, json=INITIALIZE, headers={**ACCEPT, **header})
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert "ww_" not in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "user@127.0.0.1"}, 421),
        ({"Host": "[::1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Content-Length": "2", "Host": "", "Origin": "x"}, 421),
    ],
)
async def test_a_foreign_host_or_origin_is_refused_whatever_the_token(
    daemon: Daemon, headers: dict[str, str], status: int
) -> None:
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        answer = await http.post(
            "/mcp", content=b"{}", headers={**ACCEPT, **daemon.headers("operator"), **headers}
        )
        assert answer.status_code == status


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:1"])
async def test_a_loopback_origin_is_let_in(daemon: Daemon, origin: str) -> None:
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        headers = {**ACCEPT, **daemon.headers("operator"), "Origin": origin}
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200


async def test_a_chunked_body_over_the_bound_is_refused(daemon: Daemon) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * (1 << 20)

    async with httpx.AsyncClient(base_url=daemon.base) as http:
        headers = {**ACCEPT, **daemon.headers("operator"), "Content-Type": "application/json"}
        assert (await http.post("/mcp", content=body(), headers=headers)).status_code == 413


async def test_a_declared_body_over_the_bound_is_refused_before_it_is_sent(daemon: Daemon) -> None:
    ((name, value),) = daemon.headers("operator").items()
    head = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        f"{name}: {value}",
        "Content-Length: 99999999999",
        "",
        "",
    ]
    async with await anyio.connect_tcp("127.0.0.1", daemon.port) as stream:
        await stream.send("\r\n".join(head).encode())
        with anyio.fail_after(5):
            assert (await stream.receive()).startswith(b"HTTP/1.1 413")


async def test_health_needs_no_token_and_tells_no_secret(daemon: Daemon) -> None:
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        answer = await http.get("/health")
        assert set(answer.json()) == {"status", "version", "instance"}
        assert (await http.get("/health", headers={"Host": "evil.example"})).status_code == 421


async def test_token_files_and_their_folder_are_private(daemon: Daemon, environment: dict[str, str]) -> None:
    state = Path(environment["WARPWISE_STATE"])
    assert (state / "clients").stat().st_mode & 0o777 == 0o700
    for path in [*(state / "clients").iterdir(), state / "admin-token", state / "daemon.json"]:
        assert path.stat().st_mode & 0o777 == 0o600, path


async def test_a_token_is_taken_and_refused_at_once_when_it_is_made_and_revoked(daemon: Daemon) -> None:
    headers = {**ACCEPT, **daemon.headers("newcomer")}
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200
        daemon.tokens.revoke("newcomer")
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 401


async def test_one_client_cannot_ride_on_anothers_session(daemon: Daemon) -> None:
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        opened = await http.post("/mcp", json=INITIALIZE, headers={**ACCEPT, **daemon.headers("alice")})
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for name, status in (("alice", 200), ("bob", 404)):
            answer = await http.post("/mcp", json=ping, headers={**ACCEPT, **daemon.headers(name), **session})
            assert answer.status_code == status


async def test_one_clients_job_is_not_anothers(daemon: Daemon) -> None:
    async with daemon.client("auto", "alice") as alice, daemon.client("auto", "bob") as bob:
        started = await alice.call_tool("probe_work", {"seconds": 60, "wait_s": 0})
        assert started.structured_content is not None
        job = str(started.structured_content["job"])
        theirs = await bob.call_tool("job", {"id": job, "action": "cancel"})
        assert (theirs.structured_content or {})["error"]["code"] == "not_found"
        mine = await alice.call_tool("job", {"id": job, "wait_s": 0})
        assert (mine.structured_content or {})["state"] == "running"


async def test_only_the_operators_key_can_name_a_root(daemon: Daemon) -> None:
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        for key in ("", "wrong", daemon.tokens.ensure("operator").token):
            headers = {**ACCEPT, **daemon.headers("operator"), "Warpwise-Root": "/", "Warpwise-Admin": key}
            answer = await http.post("/mcp", json=INITIALIZE, headers=headers)
            assert answer.status_code == 403
            assert "operator's key" in answer.text
        headers |= {"Warpwise-Admin": daemon.tokens.admin(), "Warpwise-Root": "/no/such/folder"}
        assert "not a folder" in (await http.post("/mcp", json=INITIALIZE, headers=headers)).text


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


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
async def test_a_bind_that_others_can_reach_needs_a_given_token_and_named_hosts(
    start: Start, address: str
) -> None:
    token = "a token that was given"
    for more, allowed in (
        ({}, ()),
        ({"WARPWISE_TOKEN": token.replace(" ", "-")}, ()),
        ({}, ("--allow-host", "box")),
    ):
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


@pytest.mark.parametrize("weak", ["short", "has spaces in it, many", "ünicode-ünicode-ünicode"])
async def test_a_weak_given_token_is_refused(start: Start, weak: str) -> None:
    async with start("serve", "--http", "127.0.0.1:0", greet=False, WARPWISE_TOKEN=weak) as program:
        assert await program.end() == 3


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


async def test_garbage_bodies_are_refused_and_the_daemon_goes_on(daemon: Daemon) -> None:
    async with httpx.AsyncClient(base_url=daemon.base) as http:
        headers = {**ACCEPT, **daemon.headers("operator"), "Content-Type": "application/json"}
        for body in (b"", b"not json", b"[]", b"\xff\xfe", b"[" * 100_000, json.dumps([INITIALIZE]).encode()):
            for version in (
                {},
                {"MCP-Protocol-Version": "2026-07-28"},
                {"MCP-Protocol-Version": "1999-01-01"},
            ):
                answer = await http.post("/mcp", content=body, headers={**headers, **version})
                assert 400 <= answer.status_code < 500, (body[:20], version, answer.status_code)
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200
