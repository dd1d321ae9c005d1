"""Two kernels of one workload: who is right, who is faster, where they differ; driven through `compare`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.errors import InvalidRequest
from warpwise.server.evaluation.workload import Workload
from warpwise.server.reports.comparison import ComparisonAnswer
from warpwise.server.services import open_services
from warpwise.server.tools.comparison import CompareArgs, compare
from warpwise.server.workbench import Workbench

from .conftest import SOURCE
from .numpy_launcher import Call, NumpyLauncher

Compare = Callable[..., Awaitable[ComparisonAnswer]]


@pytest.fixture
async def launcher(tmp_path: Path, workload: Workload) -> AsyncIterator[NumpyLauncher]:
    async with open_services(Config(tmp_path / "state", (tmp_path,))) as services:
        made = NumpyLauncher(services.runner, services.store.blobs, workload)
        made.bench = Workbench(replace(services, runner=made), Client("test", (tmp_path,)))
        yield made


@pytest.fixture
def ask(launcher: NumpyLauncher, tmp_path: Path) -> Compare:
    """Compare two sources on the `scale` workload of conftest."""

    async def _ask(a: str = SOURCE, b: str = f"{SOURCE}// b\n") -> ComparisonAnswer:
        (tmp_path / "a.cu").write_text(a)
        (tmp_path / "b.cu").write_text(b)
        assert launcher.bench is not None
        args = CompareArgs.model_validate({"workload": "./scale", "a": "a.cu", "b": "b.cu", "timeout_s": 5})
        answer = await compare.run(launcher.bench, args)
        assert isinstance(answer, ComparisonAnswer)
        return answer

    return _ask


def statuses(answer: ComparisonAnswer) -> tuple[str, str]:
    return answer.a_status, answer.b_status


async def test_the_faster_of_two_right_kernels_is_named(ask: Compare, launcher: NumpyLauncher) -> None:
    launcher.times_us = {"a": [10.0, 10.02], "b": [16.0, 16.04]}
    answer = await ask()
    assert statuses(answer) == ("correct", "correct")
    assert answer.summary == "Both right; A is faster at tiny: 1.600x."
    assert answer.difference is None
    assert answer.speedup is not None
    assert str(answer.speedup) in answer.text()


async def test_where_two_kernels_differ_is_told_on_the_smallest_set(
    ask: Compare, launcher: NumpyLauncher
) -> None:
    def behave(call: Call) -> Mapping[str, Any]:
        return {"outputs": {**call.want, "count": call.want["count"] + (call.program == "b")}}

    launcher.behaviours["b"] = behave
    answer = await ask()
    assert statuses(answer) == ("correct", "wrong values")
    assert answer.summary == "Only A is right: A correct, B wrong values."
    assert answer.difference is not None
    assert answer.difference.startswith("count[0] at N = ")
    assert answer.speedup is None


@pytest.mark.parametrize("first", ["a", "b"])
async def test_a_crash_of_one_does_not_hide_the_other(
    ask: Compare, launcher: NumpyLauncher, first: str
) -> None:
    def crash(_: Call) -> Mapping[str, Any]:
        return {"status": "failed", "error": "CUDA_ERROR_ILLEGAL_ADDRESS", "call": "x", "sticky": True}

    launcher.behaviours[first] = crash
    answer = await ask()
    expected = {"a": "correct", "b": "correct"} | {first: "crashed"}
    assert statuses(answer) == (expected["a"], expected["b"])


async def test_a_kernel_that_never_ends_does_not_hide_the_other(
    ask: Compare, launcher: NumpyLauncher
) -> None:
    launcher.hangs = "a"
    assert statuses(await ask()) == ("timeout", "correct")


async def test_one_that_does_not_build_leaves_the_other_judged(ask: Compare) -> None:
    answer = await ask(b=SOURCE.replace("y[i] = factor", "y[i] = nothing"))
    assert statuses(answer) == ("correct", "compile error")
    assert answer.findings[0].severity == "error"


async def test_a_wrong_schedule_is_told_before_anything_runs(ask: Compare, launcher: NumpyLauncher) -> None:
    answer = await ask(a=SOURCE.replace("grid = [", "grdi = ["))
    assert answer.summary == "Not compared: A has a schedule error."
    assert launcher.commands == []


async def test_a_candidate_is_not_compared_with_itself(launcher: NumpyLauncher, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(SOURCE)
    assert launcher.bench is not None
    args = CompareArgs.model_validate({"workload": "./scale", "a": "a.cu", "b": "a.cu"})
    with pytest.raises(InvalidRequest, match="the same candidate"):
        await compare.run(launcher.bench, args)
