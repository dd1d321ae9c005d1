"""Reading PTX: every statement of real modules, flow with loops and conditions, and text that is no PTX."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.server.analysis.evaluation import Block, Evaluator
from warpwise.server.analysis.expressions import leaves
from warpwise.server.analysis.flow import Flow
from warpwise.server.analysis.origins import Origins
from warpwise.server.analysis.ptx.blocks import control_of
from warpwise.server.analysis.ptx.follow import Names, follow, source_name
from warpwise.server.analysis.ptx.module import Module, parse
from warpwise.server.analysis.ptx.places import LIBRARY, NOWHERE, where
from warpwise.server.building import build
from warpwise.server.errors import UnreadableOutput
from warpwise.server.workbench import Workbench

KERNELS = Path(__file__).parents[1] / "kernels"
HEAVY = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <mma.h>
namespace cg = cooperative_groups;
struct Parameters { float* data; int n; double scale[3]; };
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ __noinline__ float outside(float x, int* y) { *y = 3; return x * 2; }
__global__ void calls(float* x) { int y; float r = outside(x[0], &y); x[y] = r; }
__global__ void structs(Parameters p, float4* q) {
  extern __shared__ float dynamic[];
  dynamic[threadIdx.x] = p.data[threadIdx.x] * table[threadIdx.x & 3];
  __syncwarp();
  q[threadIdx.x] = make_float4(dynamic[0], (float)p.scale[threadIdx.x % 3], __half2float(__float2half(dynamic[1])), 0);
  switch (p.n) {
    case 0: q[0].x = 1; break;
    case 1: q[1].x = 2; break;
    case 2: q[2].y = 3; break;
    case 3: q[5].x = 4; break;
    case 4: q[9].w = 1; break;
    case 9: q[7].x = 2; break;
  }
}
__global__ void groups(float* x) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  float v = cg::reduce(warp, x[threadIdx.x], cg::plus<float>());
  if (warp.thread_rank() == 0) atomicAdd(x, v);
  if (threadIdx.x == 0) atomicAdd(&counter, 1);
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p membar.gl; }" ::"r"(threadIdx.x));
}
__global__ void tensor(half* a, half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}
"""
SMALL = """.version 9.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<5>;
	.shared .align 4 .b8 s[1024];
	.loc	1 2 3
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u32 %r1, [k_param_1];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, 0;
$L__BB0_1:
	.loc	1 3 5
	mad.lo.s32 %r4, %r3, 256, %r2;
	mul.wide.s32 %rd3, %r4, 4;
	add.s64 %rd4, %rd2, %rd3;
	ld.global.v2.f32 {%f1, %f2}, [%rd4+16];
	bar.sync 0;
	add.s32 %r3, %r3, 1;
	setp.lt.s32 %p1, %r3, %r1;
	@%p1 bra $L__BB0_1;
	ret;
}
	.file	1 "/w/k.cu"
"""


async def ptx_of(bench: Workbench, source: str, arch: str = "sm_90") -> str:
    candidate = await bench.candidate(path=None, source=source, id=None)
    made = await build(bench, candidate, arch)
    assert made.ptx is not None, made.log
    return bench.blobs.read(made.ptx.digest).decode()


def flow_of(module: Module, threads: int = 256) -> Flow:
    def place(at: object) -> object:
        return where(Origins(["k.cu"]), at)  # type: ignore[arg-type]  # a PTX place

    names = Names("k", ("x", "n"), place)  # type: ignore[arg-type]  # as above
    flow = follow(module.kernels[0], module.variables, names, Block(threads))
    assert flow is not None
    return flow


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100"])
async def test_no_statement_of_real_modules_is_unread(bench: Workbench, arch: str) -> None:
    module = parse(await ptx_of(bench, HEAVY, arch))
    assert {source_name(kernel.name) for kernel in module.kernels} == {
        "calls",
        "structs",
        "groups",
        "tensor",
    } or (len(module.kernels) == 4)
    assert module.target.startswith(arch.removesuffix("a"))
    assert {"table", "counter", "dynamic"} <= {source_name(name) for name in module.variables}
    for function in module.functions:
        assert all(target < len(function.instructions) for target in function.labels.values())
        assert len(control_of(function).order) >= 1


@pytest.mark.parametrize("name", ["races.cu", "clean_shared.cu", "access.cu"])
async def test_every_kernel_of_the_corpus_can_be_followed(bench: Workbench, name: str) -> None:
    module = parse(await ptx_of(bench, (KERNELS / "analysis" / name).read_text()))
    for kernel in module.kernels:
        flow = follow(kernel, module.variables, Names("k", (), lambda _: NOWHERE), Block(256))
        assert flow is not None
        memory = {
            "ld.global",
            "st.global",
            "ld.shared",
            "st.shared",
            "ld.volatile.shared",
            "st.volatile.shared",
        }
        accesses = sum(1 for each in kernel.instructions if each.opcode.startswith(tuple(memory)))
        assert sum(1 for node in flow.nodes if node.access is not None and node.kind != "atomic") == accesses


def test_places_bounds_and_operands_are_read() -> None:
    module = parse(SMALL)
    [kernel] = module.kernels
    assert kernel.parameters == [("k_param_0", "u64", 8), ("k_param_1", "u32", 4)]
    assert kernel.variables["s"].size_bytes == 1024
    load = next(each for each in kernel.instructions if each.opcode == "ld.global.v2.f32")
    assert load.operands == ("{%f1, %f2}", "[%rd4+16]")
    assert load.place is not None
    assert (load.place.file, load.place.line, load.place.column) == ("/w/k.cu", 3, 5)
    assert kernel.labels == {"$L__BB0_1": 5}


def test_a_loop_carries_its_variable_and_ends_by_its_condition() -> None:
    flow = flow_of(parse(SMALL))
    read = next(node for node in flow.nodes if node.kind == "read")
    assert read.access is not None
    assert (read.access.base, read.access.width_bytes, read.loops) == ("x", 8, (0,))
    addresses = Evaluator(Block(256)).full(read.access.address)
    assert addresses is not None
    per_iteration = {int(row[1] - row[0]) for row in addresses}
    assert per_iteration == {4}
    assert {int(row[0]) for row in addresses} == {16, 16 + 1024, 16 + 2048}
    barrier = next(node for node in flow.nodes if node.kind == "barrier")
    assert not any(condition.varying for condition in barrier.conditions)
    assert {
        name for condition in barrier.conditions for op, name in leaves(condition) if op == "uniform"
    } == {"n"}


async def test_code_of_a_library_is_not_the_candidates(bench: Workbench) -> None:
    source = (
        "#include <cub/block/block_scan.cuh>\n"
        "__global__ void scan(int* k) {\n  using S = cub::BlockScan<int, 256>;\n"
        "  __shared__ typename S::TempStorage t;\n  int v = k[threadIdx.x];\n  S(t).ExclusiveSum(v, v);\n"
        "  k[threadIdx.x] = v;\n}\n"
    )
    module = parse(await ptx_of(bench, source))
    origins = Origins(["kernel.cu"])
    places = {str(where(origins, each.place)) for each in module.kernels[0].instructions if each.place}
    assert str(LIBRARY) in places
    assert {place.split(":")[0] for place in places} <= {"(library)", "kernel.cu", ""}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello world",
        ".target sm_90\n}",
        ".target sm_90\n.visible .entry k() { ret;",
        ".target sm_90\nadd.s32 %r1, %r2, %r3;",
        SMALL.replace("bar.sync 0;", "??? what;"),
        SMALL.replace(".reg .pred", ".strange .pred"),
        SMALL.replace(".loc\t1 2 3", ".loc one two"),
    ],
)
def test_what_is_not_ptx_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(UnreadableOutput) as error:
        parse(text)
    assert error.value.excerpt in text.replace("\n", " ").replace("\t", "\t") or error.value.excerpt in (
        text,
        "k",
        "}",
    )


@given(st.integers(0, len(SMALL)), st.integers(0, 60), st.text(alphabet="{}[];:.,%@$ \nabr01", max_size=6))
@settings(max_examples=150, deadline=None)
def test_damaged_ptx_is_followed_or_refused(start: int, length: int, put: str) -> None:
    try:
        module = parse(SMALL[:start] + put + SMALL[start + length :])
    except UnreadableOutput:
        return
    for kernel in module.kernels:
        follow(kernel, module.variables, Names("k", ("x", "n"), lambda _: NOWHERE), Block(64))


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZZ6reducePKfPfE1s", "s"),
        ("_ZZ10gemm_tiledPKfS0_PfiE1a", "a"),
        ("_ZN5outer5tableE", "table"),
        ("plain", "plain"),
        ("_ZZN3lib4workIiLi3EEEvPT_E6shared", "shared"),
    ],
)
def test_a_variable_is_called_as_in_the_source(mangled: str, name: str) -> None:
    assert source_name(mangled) == name
