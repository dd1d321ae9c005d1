"""A schedule is read, checked and unrolled; whatever is wrong with it is told at its line and column."""

# ruff: noqa: E501  # one case a line is read best

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpwise.server.evaluation.limits import device_limits
from warpwise.server.evaluation.plan import Argument, Launch, PlanError
from warpwise.server.evaluation.schedule import Repeat
from warpwise.server.evaluation.schedule_check import Checked, check_schedule, define_value
from warpwise.server.evaluation.workload import Workload
from warpwise.server.evaluation.workload_file import load

from .conftest import SOURCE

Check = Callable[..., Checked]
KERNEL = SOURCE[SOURCE.index("__global__") :]
LOOPS = """\
// /// schedule
// require = ["N <= 3000000000"]
// [scratch]
// temporary = { dtype = "float32", shape = ["N", 2] }
// [[launch]]
// kernel = "start"
// grid = [1]
// block = [1]
// args = ["temporary"]
// [[repeat]]
// var = "t"
// count = "T"
// [[repeat.launch]]
// kernel = "step"
// grid = ["t + 1"]
// block = [32]
// args = ["t"]
// [[repeat.repeat]]
// var = "k"
// first = "2*T"
// last = 1
// step = "-T"
// [[repeat.repeat.launch]]
// kernel = "step"
// grid = [1, "k"]
// block = [32, 2]
// shared = "16*k"
// args = ["k*10 + t"]
// [[launch]]
// kernel = "start"
// grid = [2]
// block = [1]
// args = ["temporary"]
// ///
__global__ void start(float* temporary) {}
__global__ void step(int t) {}
"""


def messages(checked: Checked) -> list[str]:
    return [f"{finding.location}: {finding.message} -> {finding.suggestion}" for finding in checked.findings]


def test_a_sound_schedule_becomes_launches_in_numbers(check: Check) -> None:
    checked = check(SOURCE)
    assert checked.findings == ()
    pointers = tuple(Argument("pointer", name) for name in ("x", "y", "count"))
    arguments = (*pointers, Argument("float32", "factor"), Argument("int64", 1000))
    launch = Launch("scale", (4, 1, 1), (256, 1, 1), arguments, 0, None, 5)
    assert checked.plan({"N": 1000, "T": 1}).launches == (launch,)


def test_the_documented_schedule_is_read(folder: Path) -> None:
    for old, new in (("x = {", "A = {"), ("factor", "alpha"), ("3000000000", "300000")):
        (folder / "workload.toml").write_text((folder / "workload.toml").read_text().replace(old, new))
    block = (Path(__file__).parents[2] / "docs" / "workloads.md").read_text().split("```\n")[2]
    kernels = """
__global__ void first(const float* A, float* partial, float alpha, int n) {}
__global__ void step(float* partial, int t) {}
"""
    checked = check_schedule(block + kernels, "mine.cu", load(folder), device_limits("sm_90"))
    assert messages(checked) == []
    assert len(checked.plan({"N": 100, "T": 3}).launches) == 4


def test_a_kernel_may_stand_in_an_included_file(workload: Workload) -> None:
    head, kernel = SOURCE[: SOURCE.index("__global__")] + '#include "scale.cuh"\n', KERNEL
    limits = device_limits("sm_90")
    assert check_schedule(head, "mine.cu", workload, limits, included=[kernel]).ok
    assert not check_schedule(head, "mine.cu", workload, limits).ok


def test_line_ends_and_indents_of_any_kind_are_read(check: Check) -> None:
    assert check(SOURCE.replace("\n", "\r\n")).findings == ()
    assert check(SOURCE.replace("\n// ", "\n  //\t")).findings == ()
    assert check(SOURCE.replace("\n// [[launch]]", "\n//\n// # launches\n//[[launch]]")).findings == ()
    (finding,) = check(
        SOURCE.replace("BLOCK]", "BLOK]").replace('"BLOCK"', '"BLOK"').replace("\n", "\r\n")
    ).findings
    assert str(finding.location) == "mine.cu:8:14"
    assert finding.excerpt == '// block = ["BLOK"]'


def test_a_define_given_with_the_call_replaces_the_one_in_the_block(check: Check) -> None:
    plan = check(SOURCE, BLOCK=define_value("0x40")).plan({"N": 1000, "T": 1})
    assert (plan.launches[0].grid, plan.launches[0].block) == ((16, 1, 1), (64, 1, 1))


def test_launches_and_loops_run_in_the_order_in_which_they_are_written(check: Check) -> None:
    checked = check(LOOPS)
    assert messages(checked) == []
    plan = checked.plan({"N": 7, "T": 2})
    ran = [(launch.kernel, launch.grid, launch.arguments[0].value) for launch in plan.launches]
    assert ran == [
        ("start", (1, 1, 1), "temporary"),
        ("step", (1, 1, 1), 0), ("step", (1, 4, 1), 40), ("step", (1, 2, 1), 20),
        ("step", (2, 1, 1), 1), ("step", (1, 4, 1), 41), ("step", (1, 2, 1), 21),
        ("start", (2, 1, 1), "temporary"),
    ]  # fmt: skip
    assert plan.scratch == {"temporary": ("float32", (7, 2))}
    assert [launch.shared_bytes for launch in plan.launches[:3]] == [0, 0, 64]
    assert [launch.line for launch in plan.launches[:3]] == [5, 13, 23]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"scale"', '"scal"', "mine.cu:6:13: the source has no kernel `scal` -> Did you mean `scale`?"),
        ("grid = [", "gird = [", "mine.cu:5:4: `grid` is missing: a list of 1 to 3 expressions -> None"),
        ("ceildiv(N,", "ceildiv(M,", "mine.cu:7:21: unknown name `M` -> Known here: BLOCK, N, T."),
        ("ceildiv(N,", "ceil(N,", "mine.cu:7:13: there is no function `ceil` -> Did you mean `ceildiv`?"),
        ("BLOCK = 256", "BLOCK = 2048", "mine.cu:8:13: block.x is 2,048; sm_90 allows 1,024 (preset tiny: N = 100, T = 1) -> Give each thread more work."),
        ("BLOCK = 256", "BLOCK = 0", "mine.cu:7:12: `ceildiv(N, BLOCK)`: `ceildiv` by zero (preset tiny: N = 100, T = 1) -> None"),
        ('["BLOCK"]', '["BLOCK", 8]', "mine.cu:8:12: a block of 2,048 threads; sm_90 allows 1,024 (preset tiny: N = 100, T = 1) -> Make the block smaller."),
        ('["ceildiv(N, BLOCK)"]', '["N // 1000"]', "mine.cu:7:12: grid.x is 0; it must be at least 1 (preset tiny: N = 100, T = 1) -> Use max(1, ...), or end the loop one iteration earlier."),
        ('["ceildiv(N, BLOCK)"]', '[2147483648]', "mine.cu:7:12: grid.x is 2,147,483,648; sm_90 allows 2,147,483,647 (preset tiny: N = 100, T = 1) -> Give each thread more work."),
        ('["ceildiv(N, BLOCK)"]', '[1, 65536]', "mine.cu:7:15: grid.y is 65,536; sm_90 allows 65,535 (preset tiny: N = 100, T = 1) -> Move work to grid.x or into a loop inside the kernel."),
        ('"x", "y"', '"y"', "mine.cu:9:11: 4 arguments for `scale`, which takes 5 -> It is declared `scale(float* x, float* y, int* count, float factor, long long n)`."),
        ('"x", "y"', '"x", "count"', "mine.cu:9:17: `count` holds int32, parameter `float* y` points to float32 -> Declare it `int*`, or cast inside the kernel."),
        ('"x", "y"', '"N", "y"', "mine.cu:9:12: parameter `float* x` is a pointer, `N` a number -> Known here: count, x, y."),
        ('"factor", "N"', '"factor", "x"', "mine.cu:9:41: `x` is a buffer, parameter `long long n` is no pointer -> Declare it with `*`."),
        ('"factor", "N"', '"N", "N"', "mine.cu:9:31: parameter `float factor` is floating-point, `N` a whole number -> Declare the parameter `int` and convert inside the kernel."),
        ('"factor", "N"', '"factor", "factor"', "mine.cu:9:41: scalar `factor` is floating-point, parameter `long long n` is not -> Declare it `float n`."),
        ('"factor", "N"', '"factor*2", "N"', "mine.cu:9:31: `factor` cannot be part of an expression -> Pass the name alone and compute inside the kernel."),
        ("long long n)", "int n)", "mine.cu:9:41: 3,000,000,000 does not fit into parameter `int n` of `scale` (preset xl: N = 3000000000, T = 5) -> Declare the parameter `long long`."),
        ("long long n)", "Size n)", "mine.cu:9:41: parameter `Size n` has a type that a launcher cannot pack -> Use int, long long or another built-in type."),
        ("__global__ void scale", "template <int W> __global__ void scale", "mine.cu:6:13: `scale` is a template and cannot be launched by name -> Launch a plain `__global__` function; turn template parameters into defines."),
        ("void scale", "void __launch_bounds__(BLOCK / 2) scale", ""),
        ("void scale", "void __launch_bounds__(128) scale", "mine.cu:8:12: a block of 256 threads, but `scale` is bound to 128 by __launch_bounds__ (preset tiny: N = 100, T = 1) -> Use at most 128 threads or raise the bound."),
        ('block = ["BLOCK"]', 'block = ["BLOCK"]\n// shared = 232449', "mine.cu:9:13: 232,449 bytes of shared memory; sm_90 allows 232,448 per block (preset tiny: N = 100, T = 1) -> Use smaller tiles or fewer stages."),
        ('block = ["BLOCK"]', 'block = ["BLOCK"]\n// cluster = [3]', "mine.cu:9:14: the grid (1, 1, 1) is no multiple of the cluster (3, 1, 1) (preset tiny: N = 100, T = 1) -> Round the grid up to whole clusters and guard inside the kernel."),
        ('block = ["BLOCK"]', 'block = ["BLOCK"]\n// cluster = [4, 4]', "mine.cu:9:14: a cluster of 16 blocks; sm_90 allows 8 (preset tiny: N = 100, T = 1) -> Use at most 8 blocks in a cluster."),
        ("[define]\n", 'require = ["N % 4 == 0"]\n// [define]\n', "mine.cu:3:15: `N % 4 == 0` does not hold for N = 85 (hidden sizes such as these: N = 85, T = 5) -> Hidden sizes follow the workload's rule: handle every remainder inside the kernel."),
        ("BLOCK = 256", "N = 256", "mine.cu:4:4: the define `N` is a name of the workload -> None"),
        ("BLOCK = 256", "BLOCK = 1.5", 'mine.cu:4:12: `BLOCK` must be a whole number of 32 bits or a short string such as "float4" -> None'),
        ("BLOCK = 256", "BLOCK = 256\n// [tune]\n// BLOK = [1]", "mine.cu:6:4: `BLOK` is no define -> Did you mean `BLOCK`?"),
        ("BLOCK = 256", "BLOCK = 256\n// [tune]\n// BLOCK = [\"a\"]", "mine.cu:6:13: `BLOCK` takes whole numbers -> None"),
        ("BLOCK = 256", "BLOCK = 256\n// [tune]\n// BLOCK = [1, 2]\n// require = [\"BLOCK > 5\"]", "mine.cu:5:4: no point of [tune] meets its `require` -> None"),
        ("BLOCK = 256", "BLOCK = 256 256", "mine.cu:4:16: expected newline or end of document after a statement -> None"),
        ("// ///\n__", "// //\n__", "mine.cu:10:1: the schedule block has no end -> Close it with a line `// ///`."),
        ("// ///\n__", "// ///\n// /// schedule\n__", "mine.cu:11:1: a second schedule block -> Merge the two into one."),
        ("[[launch]]", "[[lunch]]", "mine.cu:5:4: unknown key `lunch` -> Did you mean `launch`?"),
        ("[[launch]]", "[launch]", "mine.cu:5:4: `launch` must be written as [[launch]] -> None"),
    ],
)  # fmt: skip
def test_a_fault_is_told_at_its_place_with_what_would_mend_it(
    check: Check, old: str, new: str, told: str
) -> None:
    assert old in SOURCE
    checked = check(SOURCE.replace(old, new, 1))
    assert (messages(checked) or [""])[0] == told
    assert checked.ok is (told == "")


def test_an_unknown_key_is_told_with_the_nearest_one(check: Check) -> None:
    told = messages(check(SOURCE.replace("grid = [", "gird = [")))
    assert "mine.cu:7:4: unknown key `gird` -> Did you mean `grid`?" in told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('count = "T"', 'count = "T"\n// last = 3', "a loop has either `count`, or `first` and `last` (and `step`)"),
        ('var = "t"', 'var = "N"', "`N` is taken or no identifier"),
        ('var = "k"', 'var = "t"', "`t` is taken or no identifier"),
        ('step = "-T"', "step = 0", "`step` is 0: the loop would not end (preset tiny: N = 100, T = 1)"),
        ('count = "T"', "count = 200000", "more than 100,000 launches (preset tiny: N = 100, T = 1)"),
        ('args = ["t"]', 'args = ["k"]', "unknown name `k`"),
        ('"repeat.repeat.launch"', "", ""),
        ("[[repeat.repeat.launch]]", "[[repeat.repeat.repeat]]\n// [[repeat.repeat.repeat.launch]]", "loops nest at most 2 deep"),
        ('shape = ["N", 2]', 'shape = ["N - N"]', "scratch `temporary` has the shape (0,) (preset tiny: N = 100, T = 1)"),
        ('dtype = "float32", shape', 'dtype = "floaty", shape', "'floaty' is none of the known values"),
        ("temporary = {", "x = {", "scratch `x` needs a name of its own"),
    ],
)  # fmt: skip
def test_a_fault_in_a_loop_or_scratch_array_is_told(check: Check, old: str, new: str, told: str) -> None:
    found = [finding.message for finding in check(LOOPS.replace(old, new, 1)).findings]
    assert told in found if told else found == []


def test_a_loop_without_an_iteration_is_no_fault_unless_nothing_is_launched(check: Check) -> None:
    assert check(LOOPS.replace('count = "T"', "count = 0")).findings == ()
    alone = SOURCE.replace("[[launch]]", '[[repeat]]\n// var = "t"\n// count = "T - 1"\n// [[repeat.launch]]')
    told = [finding.message for finding in check(alone).findings]
    assert told == [
        "no loop of the schedule has an iteration: nothing is launched (preset tiny: N = 100, T = 1)"
    ]


def test_scratch_must_fit_beside_the_buffers(check: Check) -> None:
    (finding,) = check(LOOPS, memory=40_000_000_000).findings
    assert finding.message == (
        "scratch needs 24,000,000,000 bytes; 4,000,000,000 are left beside the workload's buffers"
        " (preset xl: N = 3000000000, T = 5)"
    )


def test_a_source_without_a_block_is_told_how_to_write_one(check: Check) -> None:
    (finding,) = check(KERNEL).findings
    assert finding.rule == "schedule-missing"
    assert finding.suggestion is not None
    assert "// [[launch]]" in finding.suggestion
    (almost,) = check("/// Schedule\n" + KERNEL).findings
    assert almost.location is not None
    assert almost.location.line == 1


def test_the_space_to_tune_over_holds_the_allowed_points_only(check: Check) -> None:
    source = SOURCE.replace(
        "BLOCK = 256",
        'BLOCK = 256\n// W = 1\n// KIND = "float2"\n// [tune]\n// BLOCK = [64, 512]\n// W = [1, 4]\n// require = ["BLOCK * W <= 1024"]',
    )
    schedule = check(source).schedule
    assert schedule is not None
    points = [(point["BLOCK"], point["W"], point["KIND"]) for point in schedule.tune.points(schedule.defines)]
    assert points == [(64, 1, "float2"), (64, 4, "float2"), (512, 1, "float2")]


def test_a_long_loop_is_planned_quickly(check: Check) -> None:
    checked = check(LOOPS.replace('count = "T"', "count = 10000"))
    start = time.perf_counter()
    assert len(checked.plan({"N": 7, "T": 1}).launches) == 2 + 10000 * 3
    assert time.perf_counter() - start < 5


def test_clusters_need_a_device_that_has_them(check: Check) -> None:
    source = SOURCE.replace('block = ["BLOCK"]', 'block = ["BLOCK"]\n// cluster = [1]')
    assert check(source).findings == ()
    assert check(source.replace("cluster = [1]", "cluster = [2]"), arch="sm_80").findings[0].suggestion == (
        "Clusters need sm_90 or later."
    )


def test_loops_are_data(check: Check) -> None:
    schedule = check(LOOPS).schedule
    assert schedule is not None
    assert [type(step) is Repeat for step in schedule.steps] == [False, True, False]
    assert [loop.variable for loop in schedule.repeats()] == ["t", "k"]


def test_a_plan_of_a_faulty_schedule_is_refused(check: Check) -> None:
    with pytest.raises(PlanError, match="the schedule has errors"):
        check(KERNEL).plan({"N": 1, "T": 1})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.data())
def test_a_mutilated_source_gives_findings_never_an_exception(
    workload: Workload, data: st.DataObject
) -> None:
    source = data.draw(st.sampled_from([SOURCE, LOOPS]))
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, min(len(source), start + 40)))
    put = data.draw(
        st.one_of(st.text(max_size=8), st.sampled_from(["[[", '"', "\n// ", "N", "-1", "[]", "{}", "= 5"]))
    )
    mutated = source[:start] + put + source[end:]
    checked = check_schedule(mutated, "mine.cu", workload, device_limits("sm_90"))
    assert checked.ok is (checked.findings == ())
    for finding in checked.findings:
        assert finding.location is not None
        assert finding.message
