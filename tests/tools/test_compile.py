"""The tool `compile` on real compilers: every kind of broken source at its line, and what a good one costs."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from warpwise.server.client import Client
from warpwise.server.command import Command, Finished
from warpwise.server.config import Config
from warpwise.server.errors import InvalidRequest, ProgramMissing
from warpwise.server.reports.compilation import CompileAnswer
from warpwise.server.runner import Runner
from warpwise.server.services import open_services
from warpwise.server.tools.compiler import CompileArgs, compile_kernel
from warpwise.server.workbench import Workbench

pytestmark = pytest.mark.xdist_group("compile")  # the corpus is compiled once, in one worker
KERNELS = Path(__file__).parents[1] / "kernels"
BROKEN = sorted(path.stem for path in (KERNELS / "broken").glob("*.cu"))
NO_SANDBOX = "none (bubblewrap is not installed (Debian: apt install bubblewrap))"
GOOD = ("gemm", "solve", "spill", "oob", "badapi")


@dataclass(frozen=True)
class Expected:
    """What the comments of a broken source say: `// expect RULE...` at a line, `expect-last`, `expect-anywhere`."""

    builds: bool
    arch: str
    flags: tuple[str, ...]
    at_line: tuple[tuple[str, int], ...]
    anywhere: tuple[str, ...]


def expected(source: str) -> Expected:
    lines = source.splitlines()
    at_line = [
        (rule, number)
        for number, line in enumerate(lines, 1)
        if (found := re.search(r"// expect ([\w -]+)$", line))
        for rule in found[1].split()
    ]
    at_line += [(rule, len(lines)) for rule in re.findall(r"// expect-last ([\w-]+)", source)]
    header: dict[str, str] = dict(re.findall(r"^// (arch|flags) (.*)$", source, re.MULTILINE))
    return Expected(
        builds="// builds\n" in source,
        arch=header.get("arch", "sm_90"),
        flags=tuple(header.get("flags", "").split()),
        at_line=tuple(at_line),
        anywhere=tuple(re.findall(r"// expect-anywhere ([\w-]+)", source)),
    )


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CompileAnswer]:
    """All sources of the corpus, compiled once, two at a time."""
    found: dict[str, CompileAnswer] = {}

    async def compile_all() -> None:
        async with open_services(Config(tmp_path_factory.mktemp("state"), (KERNELS,))) as services:
            bench = Workbench(services, Client("corpus", (KERNELS,)))
            limit = anyio.CapacityLimiter(2)

            async def compile_one(name: str, path: str) -> None:
                wanted = expected((KERNELS / path).read_text())
                async with limit:
                    answer = await compile_kernel.run(
                        bench, CompileArgs(path=path, arch=wanted.arch, flags=wanted.flags)
                    )
                assert isinstance(answer, CompileAnswer)
                found[name] = answer

            async with anyio.create_task_group() as group:
                for name in BROKEN:
                    group.start_soon(compile_one, name, f"broken/{name}.cu")
                for name in GOOD:
                    group.start_soon(compile_one, name, f"{name}.cu")

    anyio.run(compile_all)
    return found


def test_the_corpus_holds_forty_kinds_of_diagnostics() -> None:
    wanted = [expected((KERNELS / "broken" / f"{name}.cu").read_text()) for name in BROKEN]
    kinds = {rule for held in wanted for rule, _ in held.at_line} | {
        rule for held in wanted for rule in held.anywhere
    }
    assert len(kinds) >= 40


@pytest.mark.parametrize("name", BROKEN)
def test_each_diagnostic_is_found_at_its_line(name: str, answers: dict[str, CompileAnswer]) -> None:
    file = f"broken/{name}.cu"
    wanted, answer = expected((KERNELS / file).read_text()), answers[name]
    told = {
        (finding.rule, finding.location.line)
        for finding in answer.findings
        if finding.location and finding.location.file == file
    }
    assert set(wanted.at_line) <= told
    assert set(wanted.anywhere) <= {finding.rule for finding in answer.findings}
    assert answer.builds == wanted.builds
    assert answer.builds == (not any(finding.severity == "error" for finding in answer.findings))


@pytest.mark.parametrize("name", BROKEN)
def test_no_error_is_told_that_is_not_real(name: str, answers: dict[str, CompileAnswer]) -> None:
    wanted = expected((KERNELS / "broken" / f"{name}.cu").read_text())
    rules = {rule for rule, _ in wanted.at_line} | set(wanted.anywhere)
    real = [finding for finding in answers[name].findings if not finding.evidence.get("follow_up")]
    assert {finding.rule for finding in real if finding.severity == "error"} <= rules
    assert real[0].rule in rules


@pytest.mark.parametrize("name", BROKEN)
def test_no_answer_holds_a_path_of_this_machine(name: str, answers: dict[str, CompileAnswer]) -> None:
    told = answers[name].text("raw") + json.dumps(answers[name].structured("raw"))
    assert not re.search(r"/(?:w|tmp|usr|home|root|work)/", told)


def test_an_instantiation_told_twice_is_one_finding(answers: dict[str, CompileAnswer]) -> None:
    answer = answers["template_static_assertion"]
    assert [(finding.rule, finding.evidence["instances"]) for finding in answer.findings] == [
        ("nvcc-static-assertion", 2)
    ]
    assert [location.line for location in answer.findings[0].related] == [7, 9]


def test_what_follows_from_a_syntax_error_is_marked_and_last(answers: dict[str, CompileAnswer]) -> None:
    errors = [finding for finding in answers["cascade"].findings if finding.severity == "error"]
    assert [(finding.rule, finding.confidence) for finding in errors] == [
        ("nvcc-expected-semicolon", "certain"),
        ("nvcc-undefined-identifier", "possible"),
    ]
    assert (
        answers["cascade"].summary == "Does not build for sm_90: 1 error, 1 more that likely follows from it."
    )


def test_a_missing_type_names_its_header(answers: dict[str, CompileAnswer]) -> None:
    first = answers["unknown_type"].findings[0]
    assert (first.message, first.suggestion) == ('identifier "half" is undefined', "#include <cuda_fp16.h>")


def test_the_resources_of_each_kernel_are_told(answers: dict[str, CompileAnswer]) -> None:
    kernels = {kernel.short_name: kernel for kernel in answers["gemm"].kernels}
    assert set(kernels) == {"gemm_naive", "gemm_tiled", "transpose_conflict"}
    tiled = kernels["gemm_tiled"]
    assert (tiled.mangled, tiled.static_shared_bytes, tiled.barriers, tiled.spills) == (
        "_Z10gemm_tiledPKfS0_Pfi",
        8192,
        1,
        False,
    )
    spill = answers["spill"].kernels[0]
    assert (spill.registers, spill.max_threads, spill.spills) == (64, 1024, True)
    assert [held.block_threads for held in spill.occupancy] == [1024]
    assert (spill.occupancy[0].percent, spill.occupancy[0].limited_by) == (50.0, ("registers",))
    assert spill.next_gain is not None
    assert (spill.next_gain.resource, spill.next_gain.value, spill.next_gain.blocks_then) == (
        "registers",
        32,
        2,
    )


@pytest.mark.parametrize("name", [*GOOD, *BROKEN])
def test_a_default_answer_stays_below_its_limit(
    name: str, answers: dict[str, CompileAnswer], count_tokens: Callable[[str], int]
) -> None:
    told = answers[name].provenance
    assert told is not None
    longest = told.model_copy(update={"how": "recorded", "age_s": 123456.7, "sandbox": NO_SANDBOX})
    answer = answers[name].model_copy(update={"provenance": longest})
    structured = json.dumps(answer.structured(), separators=(",", ":"), ensure_ascii=False)
    assert count_tokens(answer.text()) <= 300
    assert count_tokens(structured) <= 300


@pytest.mark.parametrize("name", GOOD)
def test_text_and_structured_content_carry_the_same_numbers(
    name: str, answers: dict[str, CompileAnswer]
) -> None:
    text, structured = answers[name].text(), answers[name].structured()
    for kernel in structured["kernels"]:
        assert kernel["name"] in text
        assert kernel["occupancy"] in text
        for key in ("registers", "static_shared_bytes", "spill_store_bytes", "spill_load_bytes"):
            assert key not in kernel or f"{kernel[key]:,} " in text


class WithoutHostCompiler:
    """A runner whose programs find no g++."""

    def __init__(self, inner: Runner) -> None:
        self.inner = inner

    async def run(self, command: Command) -> Finished:
        return await self.inner.run(
            replace(command, environment={**command.environment, "PATH": "/nonexistent"})
        )


@pytest.fixture
def bare(bench: Workbench) -> Workbench:
    """A workbench without a host compiler."""
    return replace(bench, services=replace(bench.services, runner=WithoutHostCompiler(bench.services.runner)))


async def compiled(bench: Workbench, **arguments: object) -> CompileAnswer:
    answer = await compile_kernel.run(bench, CompileArgs.model_validate(arguments))
    assert isinstance(answer, CompileAnswer)
    return answer


async def test_a_source_without_host_code_needs_no_host_compiler(bare: Workbench) -> None:
    answer = await compiled(bare, source=(KERNELS / "broken/unused_variable.cu").read_text())
    assert (answer.builds, answer.compiler, answer.kernels[0].short_name) == (True, "nvrtc", "scale")


async def test_standard_headers_of_device_code_need_no_host_compiler(bare: Workbench) -> None:
    source = (
        "#include <limits>\n__global__ void scale(float* x) { x[0] = std::numeric_limits<float>::max(); }\n"
    )
    assert (await compiled(bare, source=source)).builds


@pytest.mark.parametrize(
    "source",
    [
        (KERNELS / "oob.cu").read_text(),
        (KERNELS / "solve.cu").read_text(),
        "__global__ void scale(float* x) { x[0] = 1; }\nint host() { return 1; }\n",
    ],
)
async def test_host_code_without_a_host_compiler_is_a_typed_error(bare: Workbench, source: str) -> None:
    with pytest.raises(ProgramMissing, match="host compiler") as raised:
        await compiled(bare, source=source)
    assert "apt install g++" in raised.value.hint


async def test_host_functions_beside_a_kernel_build_by_nvcc(bench: Workbench) -> None:
    answer = await compiled(
        bench, source="__global__ void scale(float* x) { x[0] = 1; }\nint host() { return 1; }\n"
    )
    assert (answer.builds, answer.compiler, answer.kind) == (True, "nvcc", "library")


async def test_a_missing_header_without_a_host_compiler_is_still_a_finding(bare: Workbench) -> None:
    answer = await compiled(
        bare, source='#include "no_such.h"\n__global__ void scale(float* x) { x[0] = 1; }\n'
    )
    assert [(finding.rule, finding.location and finding.location.line) for finding in answer.findings] == [
        ("nvcc-missing-include", 1)
    ]


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
@pytest.mark.parametrize(
    "value", ['"a \\"b\\" $(touch pwned) `touch pwned`; , \'"', "min(1, 2)", "(1 << 3)", "", "07"]
)
async def test_any_single_line_may_be_a_macro(bench: Workbench, compiler: str, value: str) -> None:
    host = "int host() { return 1; }" if compiler == "nvcc" else ""
    source = f"#define TEXT_(x) #x\n#define TEXT(x) TEXT_(x)\n__device__ const char* t = TEXT(T);\n{host}\n"
    source += "__global__ void scale(const char** x) { x[0] = t; }\n"
    answer = await compiled(bench, source=source, defines={"T": value})
    assert (answer.builds, answer.compiler) == (True, compiler)


async def test_numbers_and_truth_values_are_macro_texts(bench: Workbench) -> None:
    source = 'static_assert(TILE == 32 && FAST == 1 && SCALE == 0.5, "");\n__global__ void k(float* x) { x[0] = N; }\n'
    assert (
        await compiled(bench, source=source, defines={"TILE": 32, "FAST": True, "SCALE": 0.5, "N": 7})
    ).builds


async def test_flags_change_the_build_alike_in_both_compilers(bench: Workbench) -> None:
    source = "__global__ void scale(float* x) { x[0] = sinf(x[1]) / x[2]; }\n"
    for host in ("", "int host() { return 1; }\n"):
        plain = (await compiled(bench, source=source + host)).kernels[0]
        fast = (
            await compiled(bench, source=source + host, flags=["--use_fast_math", "-maxrregcount", "32"])
        ).kernels[0]
        assert fast.registers is not None
        assert plain.registers is not None
        assert fast.registers < plain.registers


async def test_the_answer_of_a_repeated_compile_says_so(bench: Workbench) -> None:
    source = "__global__ void scale(float* x) { x[0] = 1; }\n"
    first, second = [await compiled(bench, source=source) for _ in range(2)]
    assert first.provenance is not None
    assert second.provenance is not None
    assert (first.provenance.how, second.provenance.how) == ("measured", "recorded")
    assert second.kernels == first.kernels


async def test_warnings_about_the_toolkits_own_headers_are_not_told(bench: Workbench) -> None:
    source = (
        "#include <cmath>\n#include <cuda/std/cmath>\n__global__ void scale(float* x) { x[0] = INFINITY; }\n"
    )
    answer = await compiled(bench, source=source)
    assert (answer.builds, answer.compiler, answer.findings) == (True, "nvrtc", ())


async def test_a_kernel_with_dynamic_shared_memory_says_that_its_launch_decides(bench: Workbench) -> None:
    source = "extern __shared__ float s[];\n__global__ void scale(float* x) { s[threadIdx.x] = x[0]; __syncthreads(); "
    answer = await compiled(bench, source=source + "x[threadIdx.x] = s[threadIdx.x ^ 1]; }\n")
    assert answer.kernels[0].uses_dynamic_shared
    assert "dynamic shared set at launch" in answer.text()


async def test_a_failing_build_keeps_its_log(bench: Workbench) -> None:
    answer = await compiled(bench, source="__global__ void scale(float* x) { x[0] = y; }\n")
    assert [artifact.name for artifact in answer.artifacts] == ["build.log"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"path": "none.cu"}, "none.cu"),
        ({"path": "../outside.cu"}, "outside"),
        ({}, "one of path, source, id"),
        ({"source": "", "path": "x.cu"}, "one of path, source, id"),
        ({"source": "  "}, "empty"),
        ({"source": "int x;", "arch": "sm_91"}, "sm_91"),
        ({"source": "int x;", "flags": ["-o", "/etc/passwd"]}, "-o"),
        ({"source": "int x;", "defines": {"A B": "1"}}, "A B"),
        ({"source": "int x;", "defines": {"A": "1\n#include </etc/passwd>"}}, "one line"),
    ],
)
async def test_a_wrong_request_is_a_typed_error(
    bench: Workbench, arguments: dict[str, object], told: str
) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(told)):
        await compiled(bench, **arguments)


async def test_a_file_name_that_a_shell_would_read_is_refused(bench: Workbench, root: Path) -> None:
    (root / "$(touch pwned).cu").write_text("int main() { return 0; }\n")
    with pytest.raises(InvalidRequest, match="file name"):
        await compiled(bench, path="$(touch pwned).cu")


async def test_a_launch_that_does_not_fit_what_was_built_is_told(answers: dict[str, CompileAnswer]) -> None:
    assert [
        (finding.rule, finding.location and finding.location.line) for finding in answers["badapi"].findings
    ] == [
        ("launch-threads", 4),
        ("launch-shared-memory", 4),
    ]


async def test_a_block_of_too_many_registers_is_told(bench: Workbench) -> None:
    body = "float r[120];\n#pragma unroll\nfor (int i = 0; i < 120; ++i) r[i] = x[i * 7];\n__syncthreads();\n"
    body += "#pragma unroll\nfor (int i = 0; i < 120; ++i) x[i] = r[119 - i] * r[i];\n"
    source = f"__global__ void scale(float* x) {{ {body} }}\nvoid run(float* x) {{ scale<<<1, dim3(32, 32)>>>(x); }}\n"
    answer = await compiled(bench, source=source)
    assert [finding.rule for finding in answer.findings] == ["launch-registers"]
    assert answer.kernels[0].block_from == "launch"
    assert answer.kernels[0].occupancy[0].blocks_per_sm == 0
    bounded = await compiled(bench, source=source.replace("void scale", "void __launch_bounds__(1024) scale"))
    assert [finding.rule for finding in bounded.findings] == ["ptxas-spills"]
