"""Host lines of executables that are built here, against addr2line's and against the source itself."""

import re
import shutil
import subprocess  # noqa: TID251  # g++, nvcc and addr2line are run here, beside the daemon
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cuda.pathfinder import find_nvidia_binary_utility

from warpwise.server.analysis.host_lines import Executable
from warpwise.server.analysis.host_sites import call_site, source_finder
from warpwise.server.analysis.launches import read_launches
from warpwise.server.errors import UnreadableOutput
from warpwise.server.toolchain import launch_probe

KERNELS = Path(__file__).parents[1] / "kernels"
HOST = """#include <algorithm>
#include <cstdio>
#include <vector>
struct Buffer {
  char* p;
  explicit Buffer(int n) { p = (char*)fopen("/dev/null", "r"); (void)n; }
};
static inline void twice(std::vector<int>& v) {
  std::sort(v.begin(), v.end());
  puts("a");
}
int main(int argc, char**) {
  std::vector<int> v(argc + 5);
  Buffer b(argc);
  twice(v);
  if (argc > 3)
    puts("b");
  return b.p == nullptr;
}
"""
LAUNCHES = """#include <cuda_runtime.h>
namespace ns { template <typename T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; } }
static __global__ void hidden(int* x) { *x = 1; }
namespace { __global__ void unnamed(int* x) { *x = 2; } }
template <typename T> void run(T* p, T v) {
  ns::fill<T><<<1, 32>>>(p, v);
}
int main() {
  float* p;
  int* q;
  cudaMalloc(&p, 128);
  cudaMalloc(&q, 4);
  run(p, 1.0f);
  hidden<<<1, 1>>>(q);
  unnamed<<<1, 1>>>(q);
  void* args[] = {&q};
  cudaLaunchCooperativeKernel((void*)hidden, dim3(1), dim3(1), args, 0, 0);
  return 0;
}
"""


def run(*argv: str, cwd: Path) -> str:
    return subprocess.run(argv, cwd=cwd, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


@pytest.mark.parametrize(
    "flags", ["-O0 -g", "-O3 -g", "-O3 -g -no-pie -fno-pie", "-O2 -gdwarf-4", "-O3 -g -fPIE -static-pie"]
)
def test_every_address_has_the_lines_that_addr2line_gives(folder: Path, flags: str) -> None:
    (folder / "host.cpp").write_text(HOST)
    run("g++", *flags.split(), "host.cpp", "-o", "host", cwd=folder)
    executable = Executable((folder / "host").read_bytes())
    listing = run("objdump", "-d", "--no-show-raw-insn", "host", cwd=folder)
    addresses = [
        int(found[1], 16) for found in re.finditer(r"^\s+([0-9a-f]+):\s+call\b", listing, re.MULTILINE)
    ]
    addresses = [at for at in addresses if executable.frames(at)][:60]
    assert len(addresses) > 5
    told = run("addr2line", "-i", "-a", "-e", "host", *map(hex, addresses), cwd=folder).split("0x")[1:]
    for address, expected in zip(addresses, told, strict=True):
        lines = [re.sub(r" \(discriminator \d+\)", "", line) for line in expected.splitlines()[1:]]
        found = [f"{Path(frame.path).name}:{frame.line}" for frame in executable.frames(address)]
        assert found == [line.rpartition("/")[2] for line in lines]


def test_an_executable_without_debug_information_has_functions_and_no_lines(folder: Path) -> None:
    (folder / "host.cpp").write_text(HOST)
    run("g++", "-O1", "host.cpp", "-o", "bare", cwd=folder)
    executable = Executable((folder / "bare").read_bytes())
    assert executable.frames(executable.start + 0x1100) == ()
    assert "main" in executable.function_names
    run("strip", "bare", cwd=folder)
    assert Executable((folder / "bare").read_bytes()).function(0x1100) is None


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF" + b"\xff" * 200])
def test_what_is_no_executable_is_a_typed_error(content: bytes) -> None:
    with pytest.raises(UnreadableOutput):
        Executable(content)


def test_a_damaged_executable_gives_no_lines_or_a_typed_error(folder: Path) -> None:
    (folder / "host.cpp").write_text(HOST)
    run("g++", "-O1", "-g", "host.cpp", "-o", "whole", cwd=folder)
    content = (folder / "whole").read_bytes()
    for step in range(0, len(content), 997):
        damaged = content[:step] + b"\xff" * 16 + content[step + 16 :]
        for candidate in (damaged, content[:step]):
            try:
                executable = Executable(candidate)
                executable.frames(executable.start + 0x1180)
                executable.function(executable.start + 0x1180)
                _ = executable.needed
            except UnreadableOutput:
                continue


@pytest.fixture(scope="module")
def built(folder: Path) -> Callable[..., Path]:
    """A CUDA program with the launch probe, built with these flags, once."""
    nvcc = find_nvidia_binary_utility("nvcc") or shutil.which("nvcc")
    assert nvcc is not None
    library = f"-L{Path(nvcc).resolve().parent.parent / 'lib'}"

    @cache
    def build(*flags: str) -> Path:
        place = folder / "".join(flags)
        place.mkdir()
        (place / "launches.cu").write_text(LAUNCHES)
        (place / launch_probe.SOURCE_NAME).write_bytes(launch_probe.source())
        run("gcc", "-c", "-O2", "-fPIC", launch_probe.SOURCE_NAME, cwd=place)
        options = [*flags, library, "-arch=sm_90", "-Xcompiler=-g"]
        run(nvcc, *options, "launches.cu", *launch_probe.LINK_ARGUMENTS, "-o", "program", cwd=place)
        return place

    return build


@pytest.mark.parametrize("flags", [("-O3",), ("-O0", "-rdc=true", "-default-stream=per-thread")])
def test_what_a_cuda_program_launches_is_found_at_its_line(
    built: Callable[..., Path], flags: tuple[str, ...]
) -> None:
    folder = built(*flags)
    subprocess.run(["./program"], cwd=folder, check=False, timeout=60)
    executable = Executable((folder / "program").read_bytes())
    table = launch_probe.parse((folder / launch_probe.TABLE_NAME).read_bytes())
    found = read_launches(table, executable, (), source_finder(["launches.cu"]))
    assert [(named.name, named.site.file, named.site.line) for named in found.named] == [
        ("ns::fill<float>", "launches.cu", 6),
        ("hidden", "launches.cu", 14),
        ("unnamed", "launches.cu", 15),
        ("hidden", "launches.cu", 17),
    ]
    assert found.unseen is None


def test_an_allocation_in_a_runtime_header_template_is_found_where_it_is_called(
    built: Callable[..., Path],
) -> None:
    folder = built("-O3")
    executable = Executable((folder / "program").read_bytes())
    listing = run("objdump", "-d", "--no-show-raw-insn", "program", cwd=folder)
    calls = re.findall(r"^\s+([0-9a-f]+):\s+call\s+\S+ <cudaMalloc>", listing, re.MULTILINE)
    sites = [
        call_site([int(at, 16)], ["cudaMalloc"], executable, source_finder(["launches.cu"])) for at in calls
    ]
    assert [(site.file, site.line, site.call) for site in sites if site.file] == [
        ("launches.cu", 11, "cudaMalloc"),
        ("launches.cu", 12, "cudaMalloc"),
    ]


def test_paths_of_tools_become_names_of_the_candidate() -> None:
    find = source_finder(["kernels/tile.cuh", "tile.cuh", "oob.cu"])
    assert [
        find(path)
        for path in ("/w/kernels/tile.cuh", "/w/tile.cuh", "oob.cu", "/w/boob.cu", "/usr/include/x.h")
    ] == [
        "kernels/tile.cuh",
        "tile.cuh",
        "oob.cu",
        None,
        None,
    ]
