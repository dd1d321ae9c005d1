"""Whatever a program does, its run ends in time and leaves nothing alive."""

import sys
from pathlib import Path

import anyio
import pytest

from warpwise.server.errors import ProgramMissing
from warpwise.server.process import Ended, spawn

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


async def run(
    *argv: str, cwd: Path, timeout_s: float = 20, stdin: bytes = b"", bound: int = 1 << 20
) -> Ended:
    with anyio.fail_after(60):
        return await spawn(
            argv, cwd=cwd, environment=ENVIRONMENT, timeout_s=timeout_s, stdin=stdin, max_output_bytes=bound
        )


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_exit_code_and_both_streams_are_data(tmp_path: Path) -> None:
    ended = await run("sh", "-c", "echo out; echo err >&2; exit 3", cwd=tmp_path)
    assert (ended.exit_code, ended.signal, ended.timed_out) == (3, None, False)
    assert (ended.stdout, ended.stderr) == (b"out\n", b"err\n")


async def test_a_signal_is_told_apart_from_an_exit_code(tmp_path: Path) -> None:
    ended = await run("sh", "-c", "kill -SEGV $$", cwd=tmp_path)
    assert (ended.exit_code, ended.signal, ended.timed_out) == (None, 11, False)


async def test_a_missing_program_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match="cannot start /nonexistent/program"):
        await run("/nonexistent/program", cwd=tmp_path)


async def test_stdin_is_empty_unless_given(tmp_path: Path) -> None:
    assert (await run("cat", cwd=tmp_path)).stdout == b""
    assert (await run("cat", cwd=tmp_path, stdin=b"x" * 300_000)).stdout == b"x" * 300_000


async def test_the_deadline_ends_a_program_that_ignores_sigterm(tmp_path: Path) -> None:
    ended = await run(
        "sh", "-c", "trap '' TERM INT; echo started; while :; do :; done", cwd=tmp_path, timeout_s=0.5
    )
    assert (ended.exit_code, ended.timed_out, ended.stdout) == (None, True, b"started\n")


async def test_a_gigabyte_of_output_keeps_head_and_tail_and_counts_the_rest(tmp_path: Path) -> None:
    ended = await run(
        "sh", "-c", "echo first; head -c 1000000000 /dev/zero; echo last", cwd=tmp_path, bound=10_000
    )
    assert ended.stdout.startswith(b"first\n")
    assert ended.stdout.endswith(b"last\n")
    assert ended.stdout_dropped == 1_000_000_000 + len("first\nlast\n") - 10_000
    assert len(ended.stdout) < 10_100


DETACH = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {wipe}
        with open("pid.tmp", "w") as out:
            out.write(str(os.getpid()))
        os.rename("pid.tmp", "pid")
        time.sleep(600)
    os._exit(0)
while not os.path.exists("pid"):
    time.sleep(0.001)
{end}
"""
WIPE = 'os.execve(sys.executable, [sys.executable, "-c", {!r}], {{}})'.format(
    'import os, time; open("pid.tmp", "w").write(str(os.getpid())); os.rename("pid.tmp", "pid"); time.sleep(600)'
)


@pytest.mark.parametrize("wipe", ["pass", WIPE], ids=["keeps its environment", "wipes its environment"])
@pytest.mark.parametrize(
    ("end", "timeout_s"),
    [("sys.exit(0)", 20.0), ("time.sleep(600)", 1.5)],
    ids=["program ends", "deadline comes"],
)
async def test_a_detached_descendant_does_not_outlive_the_run(
    tmp_path: Path, wipe: str, end: str, timeout_s: float
) -> None:
    ended = await run(
        sys.executable, "-c", DETACH.format(wipe=wipe, end=end), cwd=tmp_path, timeout_s=timeout_s
    )
    assert ended.timed_out == (timeout_s == 1.5)
    assert not is_alive(int((tmp_path / "pid").read_text()))


async def test_cancelling_a_run_ends_its_whole_tree(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(
            lambda: run(sys.executable, "-c", DETACH.format(wipe="pass", end="time.sleep(600)"), cwd=tmp_path)
        )
        with anyio.fail_after(20):
            while not (tmp_path / "pid").exists():
                await anyio.sleep(0.005)
        group.cancel_scope.cancel()
    assert not is_alive(int((tmp_path / "pid").read_text()))


async def test_runs_side_by_side_do_not_end_each_other(tmp_path: Path) -> None:
    results: dict[int, Ended] = {}

    async def one(number: int) -> None:
        results[number] = await run("sh", "-c", f"sleep 0.{number}; echo {number}", cwd=tmp_path)

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(one, number)
    assert {number: ended.stdout for number, ended in results.items()} == {
        number: f"{number}\n".encode() for number in range(10)
    }
