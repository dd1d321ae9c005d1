"""`debug` on a real GPU: every planted fault of the nine programs at its line, and nothing left behind by a hang."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pynvml
import pytest

from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.reports.debugging import DebugAnswer
from warpwise.server.reports.finding import Finding
from warpwise.server.services import open_services
from warpwise.server.tools.debugger import DebugArgs, debug
from warpwise.server.workbench import Workbench

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]
KERNELS = Path(__file__).parents[1] / "kernels"
NVML: Any = pynvml
MIB = 1 << 20


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Workbench]:
    """The workbench of a client whose root is tests/kernels, on this machine's GPU."""
    async with open_services(Config(tmp_path / "state", (KERNELS,))) as services:
        yield Workbench(services, Client("test", (KERNELS,)))


async def ask(bench: Workbench, path: str, **arguments: object) -> DebugAnswer:
    answer = await debug.run(bench, DebugArgs.model_validate({"path": path, **arguments}))
    assert isinstance(answer, DebugAnswer)
    return answer


def places(answer: DebugAnswer) -> list[tuple[str, str]]:
    return [
        (finding.rule, str(finding.location)) for finding in answer.findings if finding.severity != "note"
    ]


async def test_an_overrun_is_one_finding_with_its_launch_line(live: Workbench) -> None:
    answer = await ask(live, "oob.cu")
    assert places(answer) == [("memcheck.out-of-bounds", "oob.cu:7")]
    assert "1 to 93 bytes past the end of a 4,000-byte allocation" in answer.findings[0].message
    assert "block 3, threads 232-255" in answer.findings[0].message
    assert answer.findings[0].message.endswith("launched at line 12")


async def test_a_race_is_one_finding(live: Workbench) -> None:
    answer = await ask(live, "race.cu")
    assert places(answer) == [("racecheck.race", "race.cu:7")]
    evidence = await ask(live, "race.cu", detail="evidence")
    assert places(evidence) == [("racecheck.race", "race.cu:7")]
    assert evidence.findings[0].evidence["samples"]


async def test_an_unwritten_buffer_and_its_leaks_are_found(live: Workbench) -> None:
    answer = await ask(live, "uninit.cu")
    assert places(answer) == [
        ("initcheck.uninitialized", "uninit.cu:3"),
        *[("leakcheck.leak", "uninit.cu:5")] * 3,
    ]
    assert {"(a)", "(b)", "(c)"} <= set(" ".join(finding.message for finding in answer.findings).split())


async def test_a_divergent_barrier_is_found_at_line_5(live: Workbench) -> None:
    answer = await ask(live, "sync.cu")
    assert ("synccheck.divergent-barrier", "sync.cu:5") in places(answer)
    assert answer.verdict == "faults"


async def test_a_misaligned_access_is_found_by_memcheck_and_by_the_core_dump(live: Workbench) -> None:
    answer = await ask(live, "misaligned.cu")
    assert places(answer)[0] == ("memcheck.misaligned", "misaligned.cu:3")
    finding: Finding = answer.findings[0]
    if any(skipped.check == "place of the GPU crash" for skipped in answer.checks_skipped):
        pytest.skip("no cuda-gdb here")
    assert finding.evidence["crash"] == "Warp Misaligned Address"
    assert "LDG" in finding.evidence["instruction"]


async def test_refused_launches_and_a_failed_copy_are_at_their_line(live: Workbench) -> None:
    answer = await ask(live, "badapi.cu")
    assert answer.verdict == "not run"
    assert places(answer)[:3] == [
        ("launch.failed", "badapi.cu:4"),
        ("launch.failed", "badapi.cu:4"),
        ("memcheck.api-error", "badapi.cu:4"),
    ]
    assert "2,048 threads" in answer.findings[0].message
    assert "300,000 bytes" in answer.findings[1].message


async def test_gemm_is_clean_but_for_exactly_three_leaks(live: Workbench) -> None:
    answer = await ask(live, "gemm.cu")
    assert places(answer) == [("leakcheck.leak", "gemm.cu:28")] * 3
    assert answer.summary == "Clean but for 3 leaks (gemm.cu:28)."
    assert [run.launches for run in answer.kernels] == [1, 1, 1]
    assert [finding.message.split()[2] for finding in answer.findings] == ["(A)", "(B)", "(C)"]


async def test_a_spilling_kernel_has_no_fault_but_its_leak(live: Workbench) -> None:
    answer = await ask(live, "spill.cu")
    assert places(answer) == [("leakcheck.leak", "spill.cu:13")]


def gpu_state() -> tuple[set[int], int]:
    """(processes on the first GPU, its used memory in bytes)."""
    NVML.nvmlInit()
    try:
        device = NVML.nvmlDeviceGetHandleByIndex(0)
        running = NVML.nvmlDeviceGetComputeRunningProcesses(device)
        return {int(process.pid) for process in running}, int(NVML.nvmlDeviceGetMemoryInfo(device).used)
    finally:
        NVML.nvmlShutdown()


async def test_a_hang_ends_at_the_deadline_and_leaves_nothing_behind(live: Workbench) -> None:
    before, used = gpu_state()
    started = anyio.current_time()
    answer = await ask(live, "hang.cu", timeout_s=10)
    assert anyio.current_time() - started < 60
    assert (answer.verdict, places(answer)) == ("unfinished", [("run.hang", "hang.cu:3")])
    for name in ("plain run", "memcheck", "racecheck", "initcheck", "synccheck"):
        assert name in answer.findings[0].message
    with anyio.fail_after(5):
        while True:
            processes, now = gpu_state()
            if processes <= before and now <= used + 64 * MIB:
                break
            await anyio.sleep(0.1)


async def test_a_repeated_question_is_answered_from_the_record(live: Workbench) -> None:
    first = await ask(live, "oob.cu")
    started = anyio.current_time()
    second = await ask(live, "oob.cu")
    assert anyio.current_time() - started < 0.2
    assert second.findings == first.findings
    assert second.provenance is not None
    assert second.provenance.how == "recorded"
