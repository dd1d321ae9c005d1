"""Who the HTTP daemon lets in, and what it refuses whatever the token. One daemon serves all of these tests."""

import json
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest
from programs import Daemon

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


async def test_both_eras_are_served_with_a_token(shared: Daemon, era: str) -> None:
    async with shared.client(era) as client:
        assert client.protocol_version == ("2025-11-25" if era == "legacy" else "2026-07-28")
        answer = await client.call_tool("probe_echo", {"text": "hi"})
        assert answer.structured_content == {"state": "done", "summary": "hi", "text": "hi"}


async def test_a_request_without_a_known_token_is_refused(shared: Daemon) -> None:
    async with httpx.AsyncClient(base_url=shared.base) as http:
        for header in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic abc"},
            {"Authorization": "Bearer"},
        ):
            for path in ("/mcp", "/pipe", "/", "/docs"):
                answer = await http.post(path, json=INITIALIZE, headers={**header})
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
    shared: Daemon, headers: dict[str, str], status: int
) -> None:
    async with httpx.AsyncClient(base_url=shared.base) as http:
        answer = await http.post("/mcp", content=b"{}", headers={**shared.headers("operator"), **headers})
        assert answer.status_code == status


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:1"])
async def test_a_loopback_origin_is_let_in(shared: Daemon, origin: str) -> None:
    async with httpx.AsyncClient(base_url=shared.base) as http:
        headers = {**shared.headers("operator"), "Origin": origin}
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200


async def test_a_chunked_body_over_the_bound_is_refused(shared: Daemon) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * (1 << 20)

    async with httpx.AsyncClient(base_url=shared.base) as http:
        headers = {**shared.headers("operator"), "Content-Type": "application/json"}
        assert (await http.post("/mcp", content=body(), headers=headers)).status_code == 413


async def test_a_declared_body_over_the_bound_is_refused_before_it_is_sent(shared: Daemon) -> None:
    name, value = "Authorization", shared.headers()["Authorization"]
    head = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        f"{name}: {value}",
        "Content-Length: 99999999999",
        "",
        "",
    ]
    async with await anyio.connect_tcp("127.0.0.1", shared.port) as stream:
        await stream.send("\r\n".join(head).encode())
        with anyio.fail_after(5):
            assert (await stream.receive()).startswith(b"HTTP/1.1 413")


async def test_health_needs_no_token_and_tells_no_secret(shared: Daemon) -> None:
    async with httpx.AsyncClient(base_url=shared.base) as http:
        answer = await http.get("/health")
        assert set(answer.json()) == {"status", "version", "instance"}
        assert (await http.get("/health", headers={"Host": "evil.example"})).status_code == 421


async def test_token_files_and_their_folder_are_private(shared: Daemon) -> None:
    state = shared.state
    assert (state / "clients").stat().st_mode & 0o777 == 0o700
    for path in [*(state / "clients").iterdir(), state / "admin-token", state / "daemon.json"]:
        assert path.stat().st_mode & 0o777 == 0o600, path


async def test_a_token_is_taken_and_refused_at_once_when_it_is_made_and_revoked(shared: Daemon) -> None:
    headers = {**shared.headers("newcomer")}
    async with httpx.AsyncClient(base_url=shared.base) as http:
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200
        shared.tokens.revoke("newcomer")
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 401


async def test_one_client_cannot_ride_on_anothers_session(shared: Daemon) -> None:
    async with httpx.AsyncClient(base_url=shared.base) as http:
        opened = await http.post("/mcp", json=INITIALIZE, headers={**shared.headers("alice")})
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for name, status in (("alice", 200), ("bob", 404)):
            answer = await http.post("/mcp", json=ping, headers={**shared.headers(name), **session})
            assert answer.status_code == status


async def test_one_clients_job_is_not_anothers(shared: Daemon) -> None:
    async with shared.client("auto", "alice") as alice, shared.client("auto", "bob") as bob:
        started = await alice.call_tool("probe_work", {"seconds": 60, "wait_s": 0})
        assert started.structured_content is not None
        job = str(started.structured_content["job"])
        theirs = await bob.call_tool("job", {"id": job, "action": "cancel"})
        assert (theirs.structured_content or {})["error"]["code"] == "not_found"
        mine = await alice.call_tool("job", {"id": job, "wait_s": 0})
        assert (mine.structured_content or {})["state"] == "running"


async def test_only_the_operators_key_can_name_a_root(shared: Daemon) -> None:
    async with httpx.AsyncClient(base_url=shared.base) as http:
        for key in ("", "wrong", shared.tokens.ensure("operator").token):
            headers = {**shared.headers("operator"), "Warpwise-Root": "/", "Warpwise-Admin": key}
            answer = await http.post("/mcp", json=INITIALIZE, headers=headers)
            assert answer.status_code == 403
            assert "operator's key" in answer.text
        headers |= {"Warpwise-Admin": shared.tokens.admin(), "Warpwise-Root": "/no/such/folder"}
        assert "not a folder" in (await http.post("/mcp", json=INITIALIZE, headers=headers)).text


async def test_garbage_bodies_are_refused_and_the_daemon_goes_on(shared: Daemon) -> None:
    async with httpx.AsyncClient(base_url=shared.base) as http:
        headers = {**shared.headers("operator"), "Content-Type": "application/json"}
        for body in (b"", b"not json", b"[]", b"\xff\xfe", b"[" * 100_000, json.dumps([INITIALIZE]).encode()):
            for version in (
                {},
                {"MCP-Protocol-Version": "2026-07-28"},
                {"MCP-Protocol-Version": "1999-01-01"},
            ):
                answer = await http.post("/mcp", content=body, headers={**headers, **version})
                assert 400 <= answer.status_code < 500, (body[:20], version, answer.status_code)
        assert (await http.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200
