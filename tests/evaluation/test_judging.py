"""A verdict follows from what the launcher left: driven through `evaluate`, with the oracle's arithmetic as the GPU."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.errors import BadWorkload
from warpwise.server.evaluation.workload import Workload
from warpwise.server.reports.evaluation import EvaluationAnswer
from warpwise.server.services import open_services
from warpwise.server.tools.evaluation import EvaluateArgs, evaluate
from warpwise.server.workbench import Services, Workbench

from .conftest import SOURCE
from .numpy_launcher import Behaviour, Call, NumpyLauncher

Evaluate = Callable[..., Any]
SHORT_ORACLE = """\
import numpy as np
def inputs(rng, sizes):
    return {"factor": 1.0, "x": np.zeros(3), "count": np.zeros(3, int)}
def reference(given, sizes):
    return {}
"""


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with open_services(Config(tmp_path / "state", (tmp_path,))) as opened:
        yield opened


@pytest.fixture
def launcher(services: Services, workload: Workload) -> NumpyLauncher:
    return NumpyLauncher(services.runner, services.store.blobs, workload)


@pytest.fixture
def judge(services: Services, launcher: NumpyLauncher, tmp_path: Path) -> Evaluate:
    """Judge a source on the `scale` workload of conftest."""

    async def _judge(source: str = SOURCE, **arguments: object) -> EvaluationAnswer:
        bench = Workbench(replace(services, runner=launcher), Client("test", (tmp_path,)))
        args = EvaluateArgs.model_validate({"source": source, "workload": "./scale", **arguments})
        answer = await evaluate.run(bench, args)
        assert isinstance(answer, EvaluationAnswer)
        return answer

    return _judge


def verdict(answer: EvaluationAnswer) -> tuple[str, str]:
    return answer.verdict, answer.status


def changed(name: str, change: Callable[[Call, NDArray[Any]], NDArray[Any]]) -> Behaviour:
    """A kernel that leaves one output changed."""

    def behave(call: Call) -> Mapping[str, Any]:
        return {"outputs": {**call.want, name: change(call, call.want[name].copy())}}

    return behave


def beside(**effects: list[str]) -> Behaviour:
    """A kernel that is right and does something else besides."""

    def behave(call: Call) -> Mapping[str, Any]:
        return {"outputs": call.want, **effects}

    return behave


def failing(error: str, *, sticky: bool = False) -> Behaviour:
    """A kernel at which the driver fails; `sticky` says that the context is lost."""

    def behave(_: Call) -> Mapping[str, Any]:
        return {"status": "failed", "error": error, "call": f"cuStreamSynchronize: {error}", "sticky": sticky}

    return behave


async def test_a_right_kernel_passes_and_tells_its_hidden_sizes(judge: Evaluate) -> None:
    answer = await judge()
    assert verdict(answer) == ("PASS", "correct")
    assert answer.hidden is not None
    assert len(answer.hidden.sizes) == 3
    assert not answer.hidden.repeated
    assert answer.speedup is not None
    assert answer.speedup.comparison == "SAME"
    assert (answer.speedup.of, answer.speedup.over) == ("candidate", "baseline")


async def test_a_repeated_draw_gives_the_same_sizes_and_says_so(judge: Evaluate) -> None:
    first = await judge(timing=False)
    again = await judge(timing=False, hidden_seed=first.hidden.seed)
    assert again.hidden.sizes == first.hidden.sizes
    assert again.hidden.repeated
    assert "a repeated draw" in again.text()
    assert (await judge(timing=False)).hidden.sizes != first.hidden.sizes


async def test_a_faster_kernel_is_fast(judge: Evaluate, launcher: NumpyLauncher) -> None:
    launcher.times_us = {"candidate": [10.0, 10.01, 9.99], "baseline": [20.0, 20.02, 19.97]}
    answer = await judge()
    assert verdict(answer) == ("FAST", "correct")
    assert answer.speedup is not None
    assert answer.speedup.ratio == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(
    ("behaviour", "status", "rule"),
    [
        (changed("y", lambda _, y: np.zeros_like(y)), "wrong_values", "evaluation/wrong-values"),
        (changed("y", lambda _, y: y * np.float32("nan")), "nonfinite", "evaluation/nonfinite"),
        (changed("y", lambda _, y: y * np.float32(1.001)), "wrong_values", "evaluation/wrong-values"),
        (changed("count", lambda _, n: n - 1), "wrong_values", "evaluation/wrong-values"),
        (
            changed("y", lambda call, y: y if call.poison is None else _tail_unwritten(call, y)),
            "unwritten_output",
            "evaluation/unwritten-output",
        ),
        (beside(overrun=["y"]), "overrun", "evaluation/overrun"),
        (beside(changed=["x"]), "input_changed", "evaluation/input-changed"),
        (failing("CUDA_ERROR_ILLEGAL_ADDRESS", sticky=True), "crashed", "evaluation/crashed"),
        (failing("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), "launch_error", "evaluation/launch-error"),
        (failing("CUDA_ERROR_NO_BINARY_FOR_GPU"), "load_error", "evaluation/load-error"),
        (failing("CUDA_ERROR_OUT_OF_MEMORY"), "out_of_memory", "evaluation/out-of-memory"),
    ],
    ids=[
        *("zeros", "nan", "one permille off", "integer off", "unwritten tail", "overrun", "input changed"),
        *("crash", "launch error", "load error", "out of memory"),
    ],
)
async def test_each_fault_has_its_status_and_is_no_pass(
    judge: Evaluate, launcher: NumpyLauncher, behaviour: Behaviour, status: str, rule: str
) -> None:
    launcher.behaviours["candidate"] = behaviour
    answer = await judge()
    assert verdict(answer) == ("COMPILE", status)
    assert answer.findings[0].rule == rule
    assert answer.findings[0].suggestion or status.startswith(("wrong", "nonfinite"))
    assert answer.speedup is None
    launcher.behaviours.clear()
    assert (await judge()).verdict == "PASS"  # the next evaluation is unaffected


def _tail_unwritten(call: Call, y: NDArray[Any]) -> NDArray[Any]:
    assert call.poison is not None
    y[-3:] = np.frombuffer(bytes([call.poison]) * 4, np.float32)[0]
    return y


async def test_right_at_visible_sizes_only_is_a_heldout_failure(
    judge: Evaluate, launcher: NumpyLauncher
) -> None:
    def behave(call: Call) -> Mapping[str, Any]:
        return {
            "outputs": call.want if call.case.sizes["N"] == 100 else {**call.want, "y": call.want["y"] * 0}
        }

    launcher.behaviours["candidate"] = behave
    answer = await judge()
    assert verdict(answer) == ("COMPILE", "heldout_fail")
    assert "(hidden)" in answer.findings[0].message


async def test_wrong_only_when_timed_is_no_pass(judge: Evaluate, launcher: NumpyLauncher) -> None:
    def behave(call: Call) -> Mapping[str, Any]:
        return {"outputs": call.want if call.poison is not None else {**call.want, "y": call.want["y"] * 0}}

    launcher.behaviours["candidate"] = behave
    answer = await judge()
    assert verdict(answer) == ("COMPILE", "wrong_values")
    assert answer.findings[0].rule == "evaluation/wrong-when-timed"


@pytest.mark.parametrize(
    ("timing", "status"),
    [
        ({"changed": {"candidate": ["x"]}}, "input_changed"),
        ({"tampered": True}, "overrun"),
        (
            {"error": "CUDA_ERROR_LAUNCH_FAILED", "call": "cuLaunchKernel: x", "program": "candidate"},
            "crashed",
        ),
    ],
)
async def test_what_timed_calls_do_besides_their_values_counts(
    judge: Evaluate, launcher: NumpyLauncher, timing: dict[str, Any], status: str
) -> None:
    launcher.timing = timing
    assert verdict(await judge()) == ("COMPILE", status)


async def test_a_kernel_that_never_returns_times_out(judge: Evaluate, launcher: NumpyLauncher) -> None:
    launcher.hangs = "candidate"
    answer = await judge(timeout_s=5)
    assert verdict(answer) == ("COMPILE", "timeout")
    assert "deadline" in answer.findings[0].message
    assert answer.hidden is not None


async def test_a_wrong_baseline_is_the_workloads_fault(judge: Evaluate, launcher: NumpyLauncher) -> None:
    launcher.behaviours["baseline"] = changed("y", lambda _, y: y * 0)
    with pytest.raises(BadWorkload, match="the baseline of scale cannot be used"):
        await judge()


async def test_times_that_the_hosts_clock_denies_are_no_fast(
    judge: Evaluate, launcher: NumpyLauncher
) -> None:
    launcher.times_us = {"candidate": [1.0], "baseline": [20.0]}
    warm = {"candidate": [[1.0, 5000.0]], "baseline": [[20.0, 40.0]]}
    launcher.timing = {"warm": warm}
    answer = await judge()
    assert verdict(answer) == ("PASS", "suspect_timing")


async def test_a_source_that_does_not_compile_fails(judge: Evaluate) -> None:
    answer = await judge(SOURCE.replace("y[i] = factor", "y[i] = nothing"))
    assert verdict(answer) == ("FAIL", "compile_error")
    assert answer.findings[0].location is not None


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('kernel = "scale"', 'kernel = "scael"', "scael"),
        ('grid = ["ceildiv(N, BLOCK)"]', "grid = [0]", "at least 1"),
        ('grid = ["ceildiv(N, BLOCK)"]', "grid = [2147483648]", "2,147,483,648"),
        (
            'args = ["x", "y", "count", "factor", "N"]',
            'args = ["x", "factor", "count", "factor", "N"]',
            "factor",
        ),
        (
            "// [define]",
            '// [scratch]\n// s = { dtype = "float32", shape = ["N*1000000000"] }\n// [define]',
            "scratch",
        ),
    ],
    ids=["no such kernel", "grid of zero", "2^31 blocks", "wrong argument type", "scratch beyond the card"],
)
async def test_a_schedule_that_cannot_run_fails_before_anything_is_built(
    judge: Evaluate, launcher: NumpyLauncher, before: str, after: str, told: str
) -> None:
    assert before in SOURCE
    answer = await judge(SOURCE.replace(before, after))
    assert verdict(answer) == ("FAIL", "schedule_error")
    assert told in answer.findings[0].message
    assert answer.findings[0].location is not None
    assert launcher.commands == []


@pytest.mark.parametrize(
    ("oracle", "told"),
    [
        (None, "oracle.py"),
        (
            "def inputs(rng, sizes):\n    raise ValueError('no')\ndef reference(g, s):\n    return {}\n",
            "raised ValueError",
        ),
        (
            SHORT_ORACLE,
            "the shape (3,)",
        ),
    ],
    ids=["missing", "raises", "wrong shape"],
)
async def test_a_broken_oracle_is_the_workloads_fault(
    judge: Evaluate, folder: Path, oracle: str | None, told: str
) -> None:
    if oracle is None:
        (folder / "oracle.py").unlink()
    else:
        (folder / "oracle.py").write_text(oracle)
    with pytest.raises(BadWorkload) as error:
        await judge()
    assert told in error.value.what


async def test_text_and_structured_content_carry_the_verdict_and_its_limits(judge: Evaluate) -> None:
    answer = await judge()
    text, data = answer.text(), answer.structured()
    assert text.startswith("PASS: correct, 1.00x the baseline of scale at tiny")
    assert data["verdict"] == "PASS"
    assert data["assurance"] == "A"
    assert {skipped["check"] for skipped in data["checks_skipped"]} >= {"sanitizers", "memory roofline"}
    for skipped in data["checks_skipped"]:
        assert skipped["check"] in text
    evidence = answer.structured("evidence")
    assert evidence["phases_ms"]["run"] > 0
