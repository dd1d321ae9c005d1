"""A run that failed for want of memory or disk is asked again; one that failed by its own fault is remembered."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from warpwise.server.command import Command, Environment, File, Finished
from warpwise.server.errors import ProgramKilled
from warpwise.server.recording import RecordingRunner
from warpwise.server.store import Store

COMMAND = Command("nvcc", ("x.cu",), kind="compile")
NOWHERE = Environment({"nvcc": "13.5"})
NO_FILES: Mapping[str, File] = {}


def ended(exit_code: int | None, stderr: bytes = b"", signal: int | None = None) -> Finished:
    return Finished(
        *(exit_code, signal, False, b"", stderr, 0, 0, NO_FILES, 0.1, COMMAND.question, NOWHERE, "none", 1.0)
    )


class Counted:
    def __init__(self, answer: Finished) -> None:
        self.answer, self.runs = answer, 0

    async def run(self, command: Command) -> Finished:
        self.runs += 1
        return self.answer


@pytest.mark.parametrize(
    ("finished", "runs"),
    [
        (ended(0), 1),
        (ended(1, b"x.cu(1): error: expected a ;"), 1),
        (ended(None, signal=11), 1),
        (ended(None, signal=9), 2),
        (ended(137), 2),
        (ended(1, b"g++: fatal error: Killed signal terminated program cc1plus"), 2),
        (ended(1, b"fatal error: error writing to /tmp/x.s: No space left on device"), 2),
        (ended(1, b"cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes"), 2),
        (ended(1, b"CUDA error: out of memory"), 2),
        (ended(0, b"this program prints out of memory and goes on"), 1),
    ],
)
async def test_a_shortage_is_not_remembered(tmp_path: Path, finished: Finished, runs: int) -> None:
    inner = Counted(finished)

    async def environment(command: Command) -> Environment:
        return NOWHERE

    runner = RecordingRunner(inner, Store(tmp_path), environment)
    assert (await runner.run(COMMAND)).exit_code == finished.exit_code
    await runner.run(COMMAND)
    assert inner.runs == runs


@pytest.mark.parametrize("finished", [ended(None, signal=9), ended(137)])
def test_a_tool_killed_inside_the_sandbox_is_a_killed_tool(finished: Finished) -> None:
    with pytest.raises(ProgramKilled):
        finished.require_end("nvcc")
