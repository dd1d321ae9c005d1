"""`analyze` as a client sees it: real kernels, the wheels' own tools, no GPU."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from warpwise.server.client import Client
from warpwise.server.command import Command, Finished
from warpwise.server.config import Config
from warpwise.server.errors import InvalidRequest, ProgramMissing
from warpwise.server.reports.analysis import AnalysisAnswer
from warpwise.server.reports.finding import Finding
from warpwise.server.services import open_services
from warpwise.server.tools.analyzer import AnalyzeArgs, analyze
from warpwise.server.workbench import Services, Workbench

KERNELS = Path(__file__).parents[1] / "kernels"
LIMIT = 600
QUICK = ("source", "ptx", "sass")
ALL = (*QUICK, "proof")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One state folder, so that each program is built once."""
    return tmp_path_factory.mktemp("analyze-state")


@pytest.fixture
async def opened(state: Path) -> AsyncIterator[Services]:
    async with open_services(Config(state, (KERNELS,))) as services:
        yield services


@pytest.fixture
def kernels(opened: Services) -> Workbench:
    """The workbench of a client whose root is tests/kernels."""
    return Workbench(opened, Client("test", (KERNELS,)))


class Without:
    """A runner on a machine that lacks some programs."""

    def __init__(self, services: Services, *missing: str) -> None:
        self._inner, self._missing = services.runner, missing

    async def run(self, command: Command) -> Finished:
        if command.program in self._missing:
            raise ProgramMissing(f"{command.program} is not on this machine")
        return await self._inner.run(command)


async def answered(bench: Workbench, path: str, **arguments: Any) -> AnalysisAnswer:  # noqa: ANN401  # any of the tool's own
    """The answer about a file below the root; without proofs, which take their time, unless they are asked for."""
    answer = await analyze.run(
        bench, AnalyzeArgs.model_validate({"path": path, "layers": QUICK, **arguments})
    )
    assert isinstance(answer, AnalysisAnswer)
    return answer


def at(answer: AnalysisAnswer, rule: str) -> list[int | None]:
    return [each.location.line for each in answer.findings if each.rule == rule and each.location]


def serious(answer: AnalysisAnswer) -> list[Finding]:
    return [finding for finding in answer.findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("name", "rule", "lines"),
    [
        ("oob.cu", "unguarded-index", [7]),
        ("race.cu", "missing-barrier", [7]),
        ("sync.cu", "divergent-barrier", [5]),
        ("sync.cu", "divergent-warp-sync", [6]),
        ("misaligned.cu", "misaligned-access", [3]),
        ("badapi.cu", "invalid-launch", [4, 4]),
        ("hang.cu", "spin-wait", [3]),
        ("gemm.cu", "uncoalesced", [12]),
        ("gemm.cu", "bank-conflict", [24]),
    ],
)
async def test_the_source_alone_shows_the_planted_fault_at_its_line(
    kernels: Workbench, name: str, rule: str, lines: list[int]
) -> None:
    assert at(await answered(kernels, name, layers=("source",)), f"source/{rule}") == lines


async def test_ptx_and_machine_code_agree_on_gemm_and_spill(kernels: Workbench) -> None:
    gemm = await answered(kernels, "gemm.cu")
    witnesses = {each.rule: set(each.evidence.get("witnesses", ())) for each in gemm.findings}
    assert witnesses["source/uncoalesced"] == {"ptx/uncoalesced"}
    assert witnesses["source/bank-conflict"] == {"ptx/bank-conflict"}
    spill = await answered(kernels, "spill.cu")
    assert at(spill, "sass/register-spill") == [9]
    [kernel] = spill.kernels
    assert kernel.registers == 64
    assert (kernel.spill_bytes or 0) > 1000


async def test_the_overrun_is_proved_with_the_thread_that_makes_it(kernels: Workbench) -> None:
    [finding] = serious(await answered(kernels, "oob.cu", layers=("source",)))
    assert finding.confidence == "certain"
    assert dict(finding.evidence) == {
        "arrays": ["x", "y"],
        "byte": 4000,
        "size_bytes": 4000,
        "block_index": [3, 0, 0],
        "thread": 232,
        "launch_line": 12,
        "grid": [4, 1, 1],
        "block": "256",
    }


async def test_programs_without_a_kernel_fault_have_no_error(kernels: Workbench) -> None:
    for name in ("gemm.cu", "spill.cu"):
        assert serious(await answered(kernels, name)) == []
    for name in ("solve.cu", "uninit.cu"):
        assert serious(await answered(kernels, name, layers=("source",))) == []


REVERSE = """__global__ void __launch_bounds__(64) {name}(const float* __restrict__ x, float* __restrict__ y, int n) {{
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  {barrier}
  y[threadIdx.x] = s[63 - threadIdx.x];
}}
"""
COUNTED = """__global__ void counted(int* c) {
  __shared__ int n;
  n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  __syncthreads();
  *c = n;
}
"""


async def test_a_proof_names_the_launch_it_holds_for(
    bench: Workbench, write: Callable[[str, str], Path]
) -> None:
    pytest.importorskip("sentryward")
    write("right.cu", REVERSE.format(name="right", barrier="__syncthreads();") + COUNTED)
    answer = await answered(bench, "right.cu", layers=ALL)
    assert "proof: right race-free (grid 1, block 64, integers 128)" in answer.checks_run
    unproved = {skipped.check: skipped.reason for skipped in answer.checks_skipped}
    assert unproved == {"proof of counted": "unsupported: atomic add memory semantics unsupported"}
    assert {kernel.name: kernel.proof for kernel in answer.kernels} == {
        "right": "proved race-free",
        "counted": None,
    }


async def test_a_proved_race_witnesses_what_the_source_suspects(
    bench: Workbench, write: Callable[[str, str], Path]
) -> None:
    pytest.importorskip("sentryward")
    write("wrong.cu", REVERSE.format(name="wrong", barrier=""))
    [race] = serious(await answered(bench, "wrong.cu", layers=ALL))
    assert race.rule == "source/missing-barrier"
    assert race.location is not None
    assert race.location.line == 5
    assert set(race.evidence["witnesses"]) == {"ptx/missing-barrier", "proof/race"}
    assert "line 3" in race.message


@pytest.mark.parametrize(
    "name", ["gemm.cu", "race.cu", "spill.cu", "analysis/races.cu", "analysis/clean_shared.cu"]
)
async def test_the_default_answer_keeps_its_token_limit(
    kernels: Workbench, count_tokens: Callable[[str], int], name: str
) -> None:
    answer = await answered(kernels, name)
    compact = json.dumps(answer.structured(), separators=(",", ":"), ensure_ascii=False)
    assert count_tokens(answer.text()) < LIMIT
    assert count_tokens(compact) < LIMIT


async def test_text_and_data_tell_the_same_findings_and_kernels(kernels: Workbench) -> None:
    answer = await answered(kernels, "gemm.cu")
    text, data = answer.text(), answer.structured()
    for finding in data["findings"]:
        assert finding["rule"] in text
        assert finding["message"] in text
    for kernel in data["kernels"]:
        assert f"{kernel['name']}: " in text
        assert kernel["mix"] in text
    assert {kernel["name"] for kernel in data["kernels"]} == {
        "gemm_naive",
        "gemm_tiled",
        "transpose_conflict",
    }


async def test_a_source_that_does_not_build_still_has_its_source_layer(
    bench: Workbench, write: Callable[[str, str], Path]
) -> None:
    write(
        "broken.cu",
        "__global__ void k(int* x) {\n  if (threadIdx.x < 7) __syncthreads();\n  x[0] = missing;\n}\n",
    )
    answer = await answered(bench, "broken.cu", layers=ALL)
    assert answer.builds is False
    assert answer.checks_run == ("source",)
    assert at(answer, "source/divergent-barrier") == [2]
    assert [skipped.check for skipped in answer.checks_skipped] == ["ptx", "sass", "proof"]
    assert all("broken.cu:3" in skipped.reason for skipped in answer.checks_skipped)


async def test_without_a_compiler_the_source_layer_answers(kernels: Workbench) -> None:
    bare = replace(
        kernels, services=replace(kernels.services, runner=Without(kernels.services, "nvcc", "nvrtc"))
    )
    answer = await answered(bare, "race.cu", layers=ALL)
    assert at(answer, "source/missing-barrier") == [7]
    assert {skipped.check: skipped.reason for skipped in answer.checks_skipped} == dict.fromkeys(
        ("ptx", "sass", "proof"), "nvcc is not on this machine"
    )
    assert answer.provenance is not None
    assert answer.provenance.how == "derived"


async def test_without_the_disassembler_and_the_verifier_the_other_layers_answer(kernels: Workbench) -> None:
    runner = Without(kernels.services, "nvdisasm", "sentryward")
    bare = replace(kernels, services=replace(kernels.services, runner=runner))
    answer = await answered(bare, "race.cu", layers=ALL)
    assert answer.checks_run == ("source", "ptx")
    assert {skipped.check: skipped.reason for skipped in answer.checks_skipped} == {
        "sass": "nvdisasm is not on this machine",
        "proof": "sentryward is not on this machine",
    }


async def test_only_the_layers_asked_for_are_looked_at(kernels: Workbench) -> None:
    source = await answered(kernels, "spill.cu", layers=("source",))
    assert (source.checks_run, source.builds) == (("source",), None)
    assert [kernel.registers for kernel in source.kernels] == [None]
    machine = await answered(kernels, "spill.cu", layers=("sass",))
    assert {finding.rule.split("/")[0] for finding in machine.findings} == {"sass"}
    with pytest.raises(ValueError, match="layers"):
        AnalyzeArgs(path="spill.cu", layers=cast("Any", ("binary",)))


async def test_a_second_look_is_the_same_and_quick(kernels: Workbench) -> None:
    first = await answered(kernels, "spill.cu", layers=("source", "ptx", "sass"))
    second = await answered(kernels, "spill.cu", layers=("source", "ptx", "sass"))
    assert second.findings == first.findings
    assert second.kernels == first.kernels
    assert second.provenance is not None
    assert second.provenance.how == "recorded"


async def test_the_sarif_artifact_holds_every_finding_in_the_form_of_version_2_1_0(
    kernels: Workbench,
) -> None:
    answer = await answered(kernels, "analysis/idioms.cu", layers=("source", "ptx"))
    [artifact] = answer.artifacts
    assert artifact.name == "analysis.sarif"
    _, digest, component = kernels.services.store.artifact("test", artifact.uri.rsplit("/", 1)[-1])
    assert component == "analyzer"
    log = json.loads(kernels.blobs.read(digest))
    assert (log["version"], log["$schema"].rsplit("/")[-1]) == ("2.1.0", "sarif-2.1.0.json")
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert len(run["results"]) == len(answer.findings)
    for result, finding in zip(run["results"], answer.findings, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == finding.rule
        assert result["level"] == finding.severity
        assert result["message"]["text"] == finding.message
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "analysis/idioms.cu", "uriBaseId": "ROOT"}
        assert place["region"]["startLine"] == finding.location.line if finding.location else False


async def test_included_files_are_followed_and_named(
    bench: Workbench, write: Callable[[str, str], Path]
) -> None:
    write("part/reduce.cuh", "__device__ void add(float* s, int t) {\n  if (t < 32) s[t] += s[t + 32];\n}\n")
    write(
        "main.cu",
        '#include "part/reduce.cuh"\n'
        "__global__ void __launch_bounds__(64) k(float* x) {\n"
        "  __shared__ float s[64];\n"
        "  s[threadIdx.x] = x[threadIdx.x];\n"
        "  add(s, threadIdx.x);\n"
        "  x[threadIdx.x] = s[0];\n"
        "}\n",
    )
    answer = await answered(bench, "main.cu", layers=("source", "ptx"))
    [race] = [finding for finding in answer.findings if finding.rule == "source/missing-barrier"]
    places = {str(place).rsplit(":", 1)[0] for place in (race.location, *race.related) if place}
    assert {"part/reduce.cuh:2", "main.cu:4", "main.cu:5"} <= places
    assert "ptx/missing-barrier" in race.evidence["witnesses"]


async def test_defines_decide_what_is_analysed(bench: Workbench, write: Callable[[str, str], Path]) -> None:
    write(
        "tile.cu",
        "#ifndef PAD\n#define PAD 0\n#endif\n"
        "__global__ void __launch_bounds__(1024) k(const float* __restrict__ a, float* __restrict__ b) {\n"
        "  __shared__ float s[32][32 + PAD];\n"
        "  s[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + threadIdx.x];\n"
        "  __syncthreads();\n"
        "  b[threadIdx.y * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y];\n"
        "}\n",
    )
    plain = await answered(bench, "tile.cu", layers=("source", "ptx"))
    padded = await answered(bench, "tile.cu", layers=("source", "ptx"), defines={"PAD": "1"})
    assert at(plain, "source/bank-conflict") == [8]
    assert padded.findings == ()


async def test_a_flag_that_is_not_allowed_is_refused(kernels: Workbench) -> None:
    with pytest.raises(InvalidRequest):
        await answered(kernels, "race.cu", flags=("-o", "/etc/passwd"))
