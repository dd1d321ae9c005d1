"""Why launches are refused: each limit by the configuration that breaks it."""

import pytest

from warpwise.server.analysis.launch_limits import explain
from warpwise.server.reports.compilation import KernelResources
from warpwise.server.toolchain.launch_probe import Configuration, Dim3

HEAVY = KernelResources(name="k", mangled="k", registers=128, static_shared_bytes=4096, max_threads=512)


@pytest.mark.parametrize(
    ("grid", "block", "shared", "error", "kernel", "what"),
    [
        ((1, 1, 1), (2048, 1, 1), 0, 1, None, "2,048 threads per block, and at most 1,024 are possible"),
        ((1, 1, 1), (32, 33, 1), 0, 9, None, "1,056 threads per block, and at most 1,024 are possible"),
        ((1, 1, 1), (1, 1, 128), 0, 9, None, "a block 128 deep in z, and at most 64 is possible"),
        ((1, 1, 1), (0, 1, 1), 0, 9, None, "a block of 0 threads"),
        ((0, 1, 1), (32, 1, 1), 0, 9, None, "a grid of 0 blocks"),
        ((1, 70_000, 1), (32, 1, 1), 0, 9, None, "70,000 blocks in y or z, and at most 65,535 are possible"),
        (
            (1, 1, 1),
            (32, 1, 1),
            300_000,
            1,
            None,
            "300,000 bytes of dynamic shared memory; a block of sm_90 has at most 232,448",
        ),
        (
            (1, 1, 1),
            (32, 1, 1),
            65_536,
            1,
            None,
            "65,536 bytes of dynamic shared memory; over 49,152 must be asked for",
        ),
        ((1, 1, 1), (768, 1, 1), 0, 701, HEAVY, "768 threads per block, and __launch_bounds__ allows 512"),
        (
            (1, 1, 1),
            (768, 1, 1),
            0,
            701,
            HEAVY.model_copy(update={"max_threads": None}),
            "768 threads of 128 registers, and an SM has 65,536 registers",
        ),
        (
            (1, 1, 1),
            (32, 1, 1),
            0,
            701,
            None,
            "the block needs more registers or shared memory than an SM has",
        ),
        ((1, 1, 1), (32, 1, 1), 0, 700, None, "an earlier kernel failed, so this one never ran"),
        ((1, 1, 1), (2048, 1, 1), 0, 100, None, "no usable GPU or driver in this run"),
        ((1, 1, 1), (32, 1, 1), 0, 209, None, "the GPU cannot run code built for sm_90"),
        ((1, 1, 1), (32, 1, 1), 0, 720, None, "a cooperative grid larger than the GPU holds at once"),
        ((1, 1, 1), (32, 1, 1), 0, 400, None, "the runtime says cudaErrorInvalidResourceHandle"),
        ((1, 1, 1), (32, 1, 1), 0, 12345, None, "the runtime says cudaError 12345"),
    ],
)
def test_a_refused_launch_is_explained(
    grid: Dim3, block: Dim3, shared: int, error: int, kernel: KernelResources | None, what: str
) -> None:
    reason = explain(Configuration(grid, block, shared), error, "sm_90", kernel)
    assert reason.what == what
    assert reason.suggestion


def test_an_unknown_architecture_has_no_shared_limit_to_name() -> None:
    assert "runtime says" in explain(Configuration((1, 1, 1), (32, 1, 1), 300_000), 1, "sm_42", None).what
