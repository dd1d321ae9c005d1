"""Reading CUDA source without a compiler: macros, templates, conditions, shapes, and text that is no CUDA."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.server.analysis.joining import topic
from warpwise.server.analysis.source.conditions import holds
from warpwise.server.analysis.source.layer import SourceLayer, analyze_source
from warpwise.server.analysis.source.syntax import integer

KERNELS = Path(__file__).parents[1] / "kernels"
SEEDS = sorted(path.read_text() for path in (KERNELS / "analysis").glob("*.cu"))
REDUCTION = """
__global__ void BOUNDS reduce(const float* __restrict__ x, float* __restrict__ out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    BARRIER
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
"""


def analysed(text: str, defines: dict[str, str] | None = None, **files: str) -> SourceLayer:
    named = {"k.cu": text, **{name.replace("_", "."): content for name, content in files.items()}}
    return analyze_source("k.cu", named, defines or {}, is_program="main(" in text)


def topics(layer: SourceLayer) -> set[str]:
    return {topic(finding) for finding in layer.findings if finding.severity != "note"}


@pytest.mark.parametrize(
    "barrier",
    [
        "__syncthreads();",
        "SYNC",
        "SYNC_ALL();",
        "wait_for_all();",
        "__syncthreads_count(1);",
        'asm volatile("bar.sync 0;");',
        "cooperative_groups::this_thread_block().sync();",
        "cooperative_groups::sync(cooperative_groups::this_thread_block());",
        "if (blockDim.x > 0) __syncthreads();",
        "unknown_function(s);",
    ],
)
def test_a_barrier_counts_in_whatever_form_it_is_written(barrier: str) -> None:
    prelude = (
        "#define SYNC __syncthreads();\n#define SYNC_ALL() do { __syncthreads(); } while (0)\n"
        "__device__ void wait_for_all() { __syncthreads(); }\n"
    )
    text = prelude + REDUCTION.replace("BARRIER", barrier).replace("BOUNDS", "__launch_bounds__(256)")
    assert topics(analysed(text)) == set()


def test_the_same_without_a_barrier_is_a_race() -> None:
    assert topics(analysed(REDUCTION.replace("BARRIER", "").replace("BOUNDS", ""))) == {"missing-barrier"}


@pytest.mark.parametrize(
    ("launch", "block", "assumed"),
    [
        ("k<<<4, 128>>>(x);", "128", False),
        ("k<<<dim3(2, 2), dim3(32, 4)>>>(x);", "32x4", False),
        ("dim3 grid(4), block(16, 16); k<<<grid, block>>>(x);", "16x16", False),
        ("const int T = 64; dim3 block(T, 2); k<<<1, block>>>(x);", "64x2", False),
        ("k<<<1, TILE * TILE>>>(x);", "64", False),
        ("int threads = read_it(); k<<<1, threads>>>(x);", "256", True),
        ("", "256", True),
    ],
)
def test_the_block_shape_comes_from_the_launch_where_it_is_constant(
    launch: str, block: str, assumed: bool
) -> None:
    kernel = "__global__ void k(float* x) { x[threadIdx.x] = 1.0f; }\n"
    text = f"#define TILE 8\n{kernel}void run(float* x) {{ {launch} }}\n"
    [shape] = analysed(text).kernels["k"].blocks
    assert (str(shape), shape.assumed) == (block, assumed)


def test_the_block_shape_comes_from_the_schedule_with_its_defines() -> None:
    text = (
        '// /// schedule\n// [define]\n// TILE = 16\n// [[launch]]\n// kernel = "k"\n'
        '// grid = ["1"]\n// block = ["TILE", "TILE / 2"]\n// args = ["x"]\n// ///\n'
        "__global__ void k(float* x) { x[threadIdx.y * TILE + threadIdx.x] = 1.0f; }\n"
    )
    assert [str(shape) for shape in analysed(text).kernels["k"].blocks] == ["16x8"]
    assert [str(shape) for shape in analysed(text, {"TILE": "8"}).kernels["k"].blocks] == ["8x4"]


def test_template_arguments_of_the_launch_decide() -> None:
    text = (
        "template <int N> __global__ void k(float* x) { __shared__ float s[N]; s[threadIdx.x] = x[threadIdx.x];"
        " __syncthreads(); x[threadIdx.x] = s[N - 1 - threadIdx.x]; }\n"
        "void run(float* x) { k<SIZE><<<1, 128>>>(x); if (cudaGetLastError()) return; }\n"
    )
    assert topics(analysed(text, {"SIZE": "128"})) == set()
    assert topics(analysed(text, {"SIZE": "64"})) == {"shared-out-of-bounds"}


def test_a_branch_that_the_preprocessor_leaves_out_is_not_looked_at() -> None:
    text = (
        "__global__ void k(float* x) {\n#if defined(OLD) || __CUDA_ARCH__ < 700\n"
        "  if (threadIdx.x < 3) __syncthreads();\n#else\n  __syncthreads();\n#endif\n  x[0] = 1.0f;\n}\n"
    )
    assert "divergent-barrier" not in topics(analysed(text))
    assert "divergent-barrier" in topics(analysed(text, {"OLD": "1"}))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("1", True), ("0", False), ("defined(A) && B > 3", True), ("!defined(A)", False), ("B == 4 || X", True),
        ("defined C", False), ("(B * 2) < 8", False), ("UNKNOWN >= 0", True), ("__has_include(<x>)", True),
        ("B != 4", False), ("7ULL > 6L", True), ("-B < 0", True),
    ],
)  # fmt: skip
def test_conditions_of_the_preprocessor(condition: str, expected: bool) -> None:
    assert holds(condition, {"A": "", "B": "4"}) is expected


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("0x1F", 31),
        ("017", 15),
        ("0b101", 5),
        ("1'000", 1000),
        ("42ull", 42),
        ("1.5f", None),
        ("08", None),
        ("1e3", None),
    ],
)
def test_integer_literals(literal: str, value: int | None) -> None:
    assert integer(literal) == value


def test_numbers_beyond_64_bits_are_survived() -> None:
    text = (
        "#define BIG (1ULL << 62)\n__global__ void k(long* x) {\n  long v = BIG * BIG * 0xFFFFFFFFFFFFFFFFFFFFF;\n"
        + "  v = (v << 60) * v;\n" * 40
        + "  x[v + threadIdx.x] = 99999999999999999999999999 % v;\n}\n"
    )
    assert analysed(text).kernels["k"].flow is not None


def test_a_kernel_with_goto_is_left_out_and_named() -> None:
    layer = analysed("__global__ void k(int* x) { again: if (x[0]) goto again; __syncthreads(); }")
    assert layer.kernels["k"].flow is None


def test_endless_recursion_and_endless_macros_end() -> None:
    text = (
        "#define A B\n#define B A\n#define F(x) F(F(x))\n"
        "__device__ int down(int n) { return n ? down(n - 1) + up(n) : A; }\n"
        "__device__ int up(int n) { return down(n) + F(n); }\n"
        "__global__ void k(int* x) { x[threadIdx.x] = down(B) + F(3); }\n"
    )
    assert analysed(text).kernels["k"].flow is not None


@pytest.mark.parametrize("depth", [80, 5000])
def test_deep_nesting_is_survived(depth: int) -> None:
    deep = "(" * depth + "threadIdx.x" + ")" * depth
    blocks = "if (x[0]) {" * depth + "x[1] = 2;" + "}" * depth
    layer = analysed(f"__global__ void k(int* x) {{ x[{deep}] = 1; {blocks} }}")
    assert "k" in layer.kernels


@pytest.mark.parametrize("name", ["gemm.cu", "race.cu", "spill.cu"])
def test_a_typical_file_takes_less_than_50_ms(name: str) -> None:
    text = (KERNELS / name).read_text()
    spent: list[float] = []
    for _ in range(5):
        started = time.process_time()
        analysed(text)
        spent.append(time.process_time() - started)
    assert min(spent) < 0.05


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_damaged_source_never_breaks_the_reader(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))[:3000]
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 200))
    put = data.draw(st.text(alphabet="(){}[];<>*&,#\\\"'/ \nif0x", max_size=12))
    layer = analysed(text[:start] + put + text[start + length :])
    assert all(finding.location for finding in layer.findings)


@given(st.text(max_size=120))
@settings(max_examples=80, deadline=None)
def test_any_text_is_read(text: str) -> None:
    assert isinstance(analysed(text), SourceLayer)
