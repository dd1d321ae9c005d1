"""The command line as a user or a script meets it: what it prints, where, and how it exits."""

import json
import shlex
import signal
import sys
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from warpwise import __version__
from warpwise.server.commands.run import given_arguments
from warpwise.server.errors import InvalidArguments
from warpwise.server.tool import load_tools

Run = Callable[..., Awaitable["Ran"]]


@dataclass
class Ran:
    """What a command printed and how it exited."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever the command printed
        return json.loads(self.out)


@pytest.fixture
def run(environment: dict[str, str], root: Path) -> Run:
    """Run `warpwise ARGUMENTS` in the root."""

    async def _run(line: str, *more: str, **variables: str) -> Ran:
        argv = [sys.executable, "-m", "warpwise.server", *shlex.split(line), *more]
        ended = await anyio.run_process(argv, check=False, cwd=root, env={**environment, **variables})
        return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    return _run


async def test_run_prints_one_json_document_and_exits_0(run: Run) -> None:
    ran = await run("run probe_echo text=hi count=3 names=a,b defines=TILE=32,FAST")
    assert ran.code == 0
    assert ran.json == {
        "state": "done",
        "summary": "hi",
        "text": "hi",
        "count": 3,
        "names": ["a", "b"],
        "defines": {"TILE": "32", "FAST": "1"},
    }


async def test_json_arguments_are_taken_and_single_ones_go_before_them(run: Run) -> None:
    given = json.dumps({"text": "a=b", "count": 2, "names": ["x,y"]})
    ran = await run("run probe_echo count=5 --json", given)
    assert (ran.json["text"], ran.json["count"], ran.json["names"]) == ("a=b", 5, ["x,y"])


async def test_lists_and_maps_can_be_given_as_json(run: Run) -> None:
    ran = await run("run probe_echo", 'names=["a,b"]', 'defines={"N": "1,2"}', "text=x=y")
    assert (ran.json["names"], ran.json["defines"], ran.json["text"]) == (["a,b"], {"N": "1,2"}, "x=y")


async def test_text_prints_what_an_agent_reads(run: Run) -> None:
    assert (await run("run probe_echo text=hello --text")).out == "hello\n"


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("run nope", 2, "unknown_tool"),
        ("run probe_echo txet=a", 2, "invalid_arguments"),
        ("run probe_echo count=three", 2, "invalid_arguments"),
        ("run probe_echo text", 2, "invalid_arguments"),
        ("run probe_echo --json {", 2, "invalid_arguments"),
        ("run probe_fail how=typed", 3, "busy"),
        ("run artifact uri=warpwise://artifact/a-0", 3, "not_found"),
    ],
)
async def test_a_refusal_is_one_json_document_with_its_own_exit(
    run: Run, line: str, code: int, error: str
) -> None:
    ran = await run(line)
    assert (ran.code, ran.json["error"]["code"]) == (code, error)


@pytest.mark.usefixtures("probes")
@pytest.mark.parametrize(
    ("pairs", "given"),
    [
        (["count=1.5"], {"count": 1.5}),
        (["count=three"], {"count": "three"}),
        (["names="], {"names": []}),
        (["names=a, b,,c"], {"names": ["a", "b", "c"]}),
        (["names=[1"], {"names": "[1"}),
        (["defines={"], {"defines": "{"}),
        (["defines=A,B=x=y"], {"defines": {"A": "1", "B": "x=y"}}),
        (["text=5"], {"text": "5"}),
        (["unknown=5"], {"unknown": "5"}),
    ],
)
def test_values_are_read_by_the_type_of_their_argument(pairs: list[str], given: dict[str, object]) -> None:
    assert given_arguments(load_tools()["probe_echo"], pairs, None) == given


@pytest.mark.usefixtures("probes")
@pytest.mark.parametrize("text", ["[1]", "5", "null", "{", ""])
def test_json_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments, match="--json is not"):
        given_arguments(load_tools()["probe_echo"], [], text)


async def test_run_waits_to_the_end_and_tells_progress_on_stderr(run: Run) -> None:
    ran = await run("run probe_work seconds=0.6 reports=4 wait_s=0")
    assert ran.json["summary"] == "worked"
    assert "probe_work: step 3 75%" in ran.err


async def test_an_interrupted_run_says_so_and_ends_its_work(
    environment: dict[str, str],
    tmp_path: Path,
    eventually: Callable[..., Awaitable[None]],
    is_alive: Callable[[Path], bool],
) -> None:
    pid = tmp_path / "pid"
    argv = [sys.executable, "-m", "warpwise.server", "run", "probe_work", "seconds=300", f"child={pid}"]
    async with await anyio.open_process(argv, env=environment) as process:
        await eventually(lambda: pid.exists() and bool(pid.read_text().strip()))
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        answer = json.loads(await process.stdout.receive())
        assert "interrupted" in answer["error"]["what"]
        assert await process.wait() == 3
    assert not is_alive(pid)


async def test_a_root_that_is_no_folder_is_refused(run: Run) -> None:
    for line in ("run probe_echo --root /no/such", "serve --root /no/such", "connect --root /no/such"):
        ran = await run(line)
        assert ran.code == 3
        assert "not a folder" in (ran.out if line.startswith("run") else ran.err)


async def test_the_whole_disk_is_served_only_when_named(environment: dict[str, str]) -> None:
    argv = [sys.executable, "-m", "warpwise.server", "run", "probe_root"]
    for more, roots in (([], ""), (["--root", "/"], "/")):
        ended = await anyio.run_process([*argv, *more], cwd="/", env=environment)
        assert json.loads(ended.stdout)["summary"] == roots


async def test_help_names_every_command_and_a_broken_plug_in_is_reported_not_fatal(run: Run) -> None:
    ran = await run("--help")
    assert ran.code == 0
    for name in ("config", "connect", "doctor", "run", "serve", "stop", "token"):
        assert f" {name} " in ran.out
    assert "warpwise_probe:no_such_function are left out" in ran.err


async def test_the_version_is_the_packages(run: Run) -> None:
    assert (await run("--version")).out.strip() == __version__


async def test_an_unknown_command_exits_2(run: Run) -> None:
    assert (await run("nope")).code == 2


@pytest.mark.parametrize("host", ["claude-code", "claude-desktop", "cursor", "vscode"])
async def test_config_prints_a_block_that_starts(run: Run, host: str, root: Path) -> None:
    ran = await run(f"config {host}", CUDA_HOME="/opt/cuda")
    (servers,) = ran.json.values()
    entry = servers["warpwise"]
    where = ["--root", str(root)] if host == "claude-desktop" else []
    assert entry["args"][-len(["connect", "--client", host, *where]) :] == [
        "connect",
        "--client",
        host,
        *where,
    ]
    assert Path(entry["command"]).is_absolute()
    assert entry["env"]["CUDA_HOME"] == "/opt/cuda"
    assert (await run("--version")).out == (
        await anyio.run_process([entry["command"], "--version"])
    ).stdout.decode()


async def test_config_for_codex_is_toml(run: Run) -> None:
    entry = tomllib.loads((await run("config codex")).out)["mcp_servers"]["warpwise"]
    assert entry["args"] == ["connect", "--client", "codex"]
    assert entry["tool_timeout_sec"] >= 600


async def test_an_unknown_host_exits_2(run: Run) -> None:
    assert (await run("config emacs")).code == 2


async def test_tokens_are_made_listed_shown_and_revoked(run: Run, tmp_path: Path) -> None:
    made = await run(f"token add bob --root {tmp_path}")
    assert made.out.startswith("ww_")
    assert (await run("token list")).out == f"bob\t{tmp_path}\n"
    assert (await run("token show bob")).out == made.out
    again = await run("token add bob")
    assert again.code == 3
    assert "revoke" in again.err
    assert (await run("token revoke bob")).code == 0
    assert (await run("token list")).out == ""
    for line in ("token revoke bob", "token show bob", "token add ../evil", "token add ''"):
        assert (await run(line)).code == 3


async def test_doctor_tells_capabilities_and_facts(run: Run) -> None:
    ran = await run("doctor --json")
    assert set(ran.json) == {"facts", "capabilities"}
    assert ran.json["facts"]["warpwise"] == __version__
    assert ran.json["capabilities"]["state"] == "done"
    assert "shared daemon: none running" in (await run("doctor")).out


async def test_stop_without_a_daemon_says_so(run: Run) -> None:
    assert (await run("stop")).out == "no daemon is running\n"


@pytest.mark.parametrize(
    "command", ["serve <&-", "connect <&-", "serve >&- </dev/null", "run probe_root >&-"]
)
async def test_a_closed_standard_stream_is_no_traceback(
    environment: dict[str, str], root: Path, command: str
) -> None:
    line = f"{shlex.quote(sys.executable)} -m warpwise.server {command}"
    ended = await anyio.run_process(["bash", "-c", line], env=environment, cwd=root, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert b"Traceback" not in ended.stderr


async def test_a_reader_that_goes_away_is_no_traceback(environment: dict[str, str], root: Path) -> None:
    line = f"{shlex.quote(sys.executable)} -m warpwise.server token list | true"
    ended = await anyio.run_process(["bash", "-c", line], env=environment, cwd=root)
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"WARPWISE_STATE": "/proc/nowhere"}, "storage_failure"),
        ({"WARPWISE_SANDBOX": "x"}, "invalid_request"),
    ],
)
async def test_run_tells_also_in_json_why_it_cannot_begin(
    run: Run, variables: dict[str, str], code: str
) -> None:
    ran = await run("run probe_echo text=hi", **variables)
    assert (ran.code, ran.json["error"]["code"]) == (3, code)
    assert set(ran.json["error"]) == {"code", "what", "hint", "retryable"}
