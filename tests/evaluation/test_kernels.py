"""Kernels and the types of their parameters are read from a source as a compiler would."""

import pytest

from warpwise.server.evaluation.kernels import is_scalar, kernels

SOURCE = """\
#include <cuda_fp16.h>
using Real = float;
typedef unsigned long long Big;
#define INDEX int
// __global__ void commented(int n) {}
extern "C" __global__ void __launch_bounds__(256, 2) first(const float* __restrict__ A, Real *B, INDEX n, Big m) {}
template<int T> __global__ void second(__half a[], const __nv_bfloat16* x) {}
namespace inner {
static __global__ __launch_bounds__(TILE*TILE) void third(size_t n, float4 const* v, long long const k) {}
}
__global__ void declared(int n);
__device__ void helper(int n) {}
__global__ void fourth() {}
"""


def test_every_definition_is_found_and_nothing_else() -> None:
    found = kernels(SOURCE, {})
    assert list(found) == ["first", "second", "third", "fourth"]
    assert [kernel.template for kernel in found.values()] == [False, True, False, False]
    assert [kernel.bound for kernel in found.values()] == ["256", None, "TILE*TILE", None]
    assert found["first"].place.line == 6
    assert found["fourth"].parameters == ()


@pytest.mark.parametrize(
    ("kernel", "types"),
    [
        (
            "first",
            [("A", True, "float32"), ("B", True, "float32"), ("n", False, "int32"), ("m", False, "uint64")],
        ),
        ("second", [("a", True, "float16"), ("x", True, "bfloat16")]),
        ("third", [("n", False, "uint64"), ("v", True, "float32"), ("k", False, "int64")]),
    ],
)
def test_types_are_seen_through_qualifiers_aliases_and_vectors(
    kernel: str, types: list[tuple[str, bool, str]]
) -> None:
    found = kernels(SOURCE, {})[kernel].parameters
    assert [(parameter.name, parameter.pointer, parameter.element) for parameter in found] == types


@pytest.mark.parametrize(
    ("written", "element", "scalar"),
    [
        ("unsigned n", "uint32", True), ("long unsigned int n", "uint64", True), ("short int n", "int16", True),
        ("signed char n", "int8", True), ("bool n", "bool", True), ("double n", "float64", True),
        ("float4 n", "float32", False), ("half2 n", "float16", False), ("struct Point n", None, False),
        ("T n", "float64", True), ("const int n", "int32", True), ("std::int64_t n", "int64", True),
    ],
)  # fmt: skip
def test_a_scalar_is_what_a_launcher_can_pack(written: str, element: str | None, scalar: bool) -> None:
    parameter = kernels(f"__global__ void k({written}) {{}}", {"T": "double"})["k"].parameters[0]
    assert (parameter.element, is_scalar(parameter)) == (element, scalar)


@pytest.mark.parametrize(
    "head",
    [
        "__global__ __cluster_dims__(2, 1, (1)) void",
        "__global__ void __launch_bounds__(256) __cluster_dims__(2)",
        "__global__ void __maxnreg__(64)",
        "void __global__",
        "[[maybe_unused]] static __global__ inline void",
    ],
)
def test_attributes_and_their_order_do_not_hide_a_kernel(head: str) -> None:
    found = kernels(f"{head} k(float* a, const int n = 3, double** deep = nullptr) {{}}", {})["k"]
    told = [(parameter.written, parameter.element) for parameter in found.parameters]
    assert told == [("float*", "float32"), ("int", "int32"), ("double**", "pointer")]


def test_broken_sources_do_not_break_the_reader() -> None:
    for cut in range(0, len(SOURCE), 7):
        kernels(SOURCE[:cut], {})
        kernels(SOURCE[cut:], {})
