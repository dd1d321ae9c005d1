"""The arguments of `debug` and of the program that it runs."""

from typing import Any, TypeAlias

import pytest
from pydantic import ValidationError

from warpwise.server.tools.debugger import DebugArgs, debug
from warpwise.server.workbench import Workbench

Shelf: TypeAlias = Any  # the class stands in conftest.py, which cannot be imported


@pytest.mark.parametrize("argument", ["a\0b", "\ud800", "x" * 20_000])
def test_arguments_that_no_program_can_get_are_refused(argument: str) -> None:
    with pytest.raises(ValidationError):
        DebugArgs.model_validate({"path": "gemm.cu", "args": [argument]})


def test_an_unknown_check_is_refused() -> None:
    with pytest.raises(ValidationError):
        DebugArgs.model_validate({"path": "gemm.cu", "checks": ["helgrind"]})


async def test_arguments_reach_the_program_under_every_tool(debug_bench: Workbench, shelf: Shelf) -> None:
    given = {"path": "gemm.cu", "args": ["--size", "7; rm -rf /"], "timeout_s": 5}
    await debug.run(debug_bench, DebugArgs.model_validate(given))
    runs = [command for command in shelf.asked if command.gpu == "shared"]
    assert len(runs) == 5
    assert all(command.arguments[-2:] == ("--size", "7; rm -rf /") for command in runs)
    assert {command.timeout_s for command in runs} == {5.0}
    assert {command.stdin for command in runs} == {b""}
