"""The launch probe: counted inside real programs, through crashes and kills, without changing what they do.

Where a launch must succeed and there is no GPU, a small C program stands in for the CUDA runtime: it returns what it is
told, and the probe under test is the one that is linked into every program.
"""

import os
import signal
import struct
import subprocess  # noqa: TID251  # the probe's own programs are compiled and run here, beside the daemon
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.server.analysis.host_lines import Executable
from warpwise.server.errors import UnreadableOutput
from warpwise.server.toolchain import launch_probe
from warpwise.server.toolchain.launch_probe import Configuration, LaunchTable

Start = Callable[..., "subprocess.CompletedProcess[bytes]"]
RUNTIME = """
#include <stddef.h>
typedef struct { unsigned x, y, z; } dim3;
int answer;
int cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t s, void *t) { return answer; }
int __cudaGetKernel(const void **handle, const void *f) { *handle = (const char *)f + 1; return answer == 35 ? 35 : 0; }
int __cudaLaunchKernel(const void *k, dim3 g, dim3 b, void **a, size_t s, void *t) { return answer; }
int cudaGraphLaunch(void *g, void *s) { return answer; }
int cudaStreamBeginCapture(void *s, int mode) { return 0; }
int cudaStreamEndCapture(void *s, void **g) { return answer; }
"""
HEADER = """
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
typedef struct { unsigned x, y, z; } dim3;
extern int answer;
int cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t s, void *t);
int __cudaGetKernel(const void **handle, const void *f);
int __cudaLaunchKernel(const void *k, dim3 g, dim3 b, void **a, size_t s, void *t);
int cudaGraphLaunch(void *g, void *s);
int cudaStreamBeginCapture(void *s, int mode);
int cudaStreamEndCapture(void *s, void **g);
void one(void) {} void two(void) {}
static int launch(void (*kernel)(void), unsigned blocks) {
  return cudaLaunchKernel((void *)kernel, (dim3){blocks, 1, 1}, (dim3){32, 2, 1}, 0, 48, 0);
}
"""


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probe")
    (folder / "runtime.c").write_text(RUNTIME)
    (folder / launch_probe.SOURCE_NAME).write_bytes(launch_probe.source())
    compile_c = ["gcc", "-c", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
    for name in ("runtime.c", launch_probe.SOURCE_NAME):
        subprocess.run([*compile_c, name], cwd=folder, check=True)
    return folder


@pytest.fixture
def start(objects: Path, tmp_path: Path) -> Start:
    """Build a C `main` with the probe and run it in an empty folder."""

    def _start(main: str, *flags: str) -> subprocess.CompletedProcess[bytes]:
        (tmp_path / "main.c").write_text(HEADER + main)
        (given,) = launch_probe.LINK_ARGUMENTS
        wraps = given.replace(f"-Xlinker={launch_probe.OBJECT_NAME}", "-Wl")
        built = [objects / "runtime.o", objects / launch_probe.OBJECT_NAME]
        subprocess.run(
            ["gcc", "-O1", "-g", *flags, "main.c", *built, wraps, "-o", "program"], cwd=tmp_path, check=True
        )
        return subprocess.run(["./program"], cwd=tmp_path, capture_output=True, timeout=30, check=False)

    return _start


def table(folder: Path) -> LaunchTable:
    return launch_probe.parse((folder / launch_probe.TABLE_NAME).read_bytes())


def names(folder: Path) -> dict[str | None, int]:
    executable = Executable((folder / "program").read_bytes())
    return {
        executable.function(executable.start + launch.function)
        if launch.function is not None
        else None: launch.count
        for launch in table(folder).launches
    }


@pytest.mark.parametrize("flags", [(), ("-no-pie", "-fno-pie"), ("-static",)])
def test_launches_are_counted_by_kernel_with_their_configuration(
    start: Start, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    start("int main(void) { for (int i = 1; i < 4; ++i) launch(one, i); launch(two, 9); return 7; }", *flags)
    found = table(tmp_path)
    assert names(tmp_path) == {"one": 3, "two": 1}
    assert (found.launched, found.failed, found.lost, found.ran_anything) == (4, 0, 0, True)
    assert found.launches[0].first == Configuration((1, 1, 1), (32, 2, 1), 48)
    assert found.launches[0].latest == Configuration((3, 1, 1), (32, 2, 1), 48)


def test_a_launch_by_handle_is_counted_for_its_kernel(start: Start, tmp_path: Path) -> None:
    start("""int main(void) { const void *handle = 0; __cudaGetKernel(&handle, (void *)two);
             return __cudaLaunchKernel(handle, (dim3){1, 1, 1}, (dim3){1, 1, 1}, 0, 0, 0); }""")
    assert names(tmp_path) == {"two": 1}


def test_a_program_that_launches_nothing_leaves_an_empty_table(start: Start, tmp_path: Path) -> None:
    start("int main(void) { return 0; }")
    assert table(tmp_path) == LaunchTable((), 0, 0, 0, 0, 0, 0, 0)
    assert not table(tmp_path).ran_anything


def test_refused_launches_are_kept_apart_with_their_error_and_call(start: Start, tmp_path: Path) -> None:
    start("""int main(void) { answer = 9; launch(one, 1);
             launch(one, 2); answer = 0; launch(one, 3); return 0; }""")
    found = table(tmp_path)
    assert [(launch.error, launch.count) for launch in found.launches] == [(9, 1), (9, 1), (0, 1)]
    assert len({launch.sites for launch in found.launches[:2]}) == 2
    executable = Executable((tmp_path / "program").read_bytes())
    lines = [
        max(frame.line for site in launch.sites for frame in executable.frames(executable.start + site - 1))
        for launch in found.launches[:2]
    ]
    assert lines[1] == lines[0] + 1


def test_a_captured_launch_runs_only_with_its_graph(start: Start, tmp_path: Path) -> None:
    capture = "cudaStreamBeginCapture(0, 0); launch(one, 1); void *graph; cudaStreamEndCapture(0, &graph);"
    start(f"int main(void) {{ {capture} return 0; }}")
    assert [launch.captured for launch in table(tmp_path).launches] == [True]
    assert not table(tmp_path).ran_anything
    (tmp_path / launch_probe.TABLE_NAME).unlink()
    start(f"int main(void) {{ {capture} cudaGraphLaunch(graph, 0); launch(two, 1); return 0; }}")
    assert (table(tmp_path).graph_launches, table(tmp_path).ran_anything) == (1, True)
    assert [launch.captured for launch in table(tmp_path).launches] == [True, False]


@pytest.mark.parametrize(
    ("end", "number"), [("raise(SIGKILL);", signal.SIGKILL), ("*(volatile int *)8 = 1;", signal.SIGSEGV)]
)
def test_the_table_outlives_a_kill_and_a_crash(start: Start, tmp_path: Path, end: str, number: int) -> None:
    ended = start(f"int main(void) {{ launch(one, 1); {end} return 0; }}")
    assert ended.returncode == -number
    assert names(tmp_path) == {"one": 1}


def test_threads_and_forked_children_are_counted_together(start: Start, tmp_path: Path) -> None:
    start(
        """static void *many(void *x) { for (int i = 0; i < 1000; ++i) launch(i % 2 ? one : two, 1); return x; }
           int main(void) { pthread_t all[4]; if (!fork()) { many(0); return 0; }
             for (int i = 0; i < 4; ++i) pthread_create(&all[i], 0, many, 0);
             for (int i = 0; i < 4; ++i) pthread_join(all[i], 0);
             return wait(0) < 0; }""",
        "-pthread",
    )
    assert names(tmp_path) == {"one": 2500, "two": 2500}


def test_more_kinds_of_launches_than_slots_are_counted_as_lost(start: Start, tmp_path: Path) -> None:
    start("int main(void) { for (answer = 1; answer <= 2000; ++answer) launch(one, 1); return 0; }")
    found = table(tmp_path)
    assert found.failed == 1999  # cudaErrorNotReady is no failed launch
    assert found.lost + sum(launch.count for launch in found.launches) == 1999


def test_a_program_sees_its_own_results_and_errno(start: Start) -> None:
    ended = start("""int main(void) { if (errno) return 1; errno = 5; answer = 9; int got = launch(one, 1);
                     printf("%d %d", got, errno); return 3; }""")
    assert (ended.returncode, ended.stdout) == (3, b"9 5")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_an_unwritable_folder_is_no_harm(start: Start, tmp_path: Path) -> None:
    start("int main(void) { return 0; }")
    (tmp_path / launch_probe.TABLE_NAME).unlink()
    tmp_path.chmod(0o500)
    ended = subprocess.run([tmp_path / "program"], cwd=tmp_path, check=False)
    tmp_path.chmod(0o700)
    assert ended.returncode == 0


def test_where_its_table_cannot_be_made_the_program_runs_on(start: Start, tmp_path: Path) -> None:
    (tmp_path / launch_probe.TABLE_NAME).mkdir()
    assert start("int main(void) { return launch(one, 1) + 4; }").returncode == 4


GOOD = struct.pack("<8sII7QQ", b"WWLAUNCH", launch_probe.SLOT_BYTES, launch_probe.SLOTS, 1, *[0] * 7).ljust(
    launch_probe.HEADER_BYTES + launch_probe.SLOTS * launch_probe.SLOT_BYTES, b"\0"
)


@pytest.mark.parametrize(
    "content", [b"", b"WWLAUNCH", b"x" * 200_000, GOOD[:-1], GOOD[:8] + b"\xff" * 8 + GOOD[16:]]
)
def test_what_the_probe_did_not_write_is_a_typed_error(content: bytes) -> None:
    with pytest.raises(UnreadableOutput):
        launch_probe.parse(content)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=40),
    st.integers(0, len(GOOD)),
)
def test_a_damaged_table_is_read_or_refused(changes: list[tuple[int, int]], length: int) -> None:
    content = bytearray(GOOD)
    for position, value in changes:
        content[position] = value
    for candidate in (bytes(content), bytes(content[:length])):
        try:
            launch_probe.parse(candidate)
        except UnreadableOutput:
            continue
