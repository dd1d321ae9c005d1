"""A workload's folder is read, and whatever is wrong with it is told at its line and column."""

# ruff: noqa: E501  # one case a line is read best

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from warpwise.server.errors import BadWorkload, NotFound
from warpwise.server.evaluation.oracle import load_oracle
from warpwise.server.evaluation.tolerance import Allowance
from warpwise.server.evaluation.workload_check import check_workload
from warpwise.server.evaluation.workload_file import examine, load

from .conftest import ORACLE, SOURCE, WORKLOAD


def test_a_sound_workload_is_read_whole(folder: Path) -> None:
    found = load(folder)
    sizes = found.presets["small"]
    assert [str(buffer) for buffer in found.buffers.values()] == [
        "in float32 x[N]",
        "out float32 y[N]",
        "inout int32 count[N]",
    ]
    assert [buffer.name for buffer in found.inputs] == ["x", "count"]
    assert [buffer.name for buffer in found.outputs] == ["y", "count"]
    assert (found.flops(sizes), found.traffic_bytes(sizes), found.memory_bytes(sizes)) == (2000, 16000, 12000)
    assert found.buffers["y"].shape(sizes) == (1000,)
    assert str(found.hidden["N"]) == "3..99, odd/tail/prime"
    tolerance = found.buffers["y"].tolerance
    assert tolerance is not None
    assert tolerance.allowance("float32", sizes) == Allowance(66 * 2.0**-24, 16 * 2.0**-24, "tensor")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("flops =", "flop =", "scale/workload.toml:5:1: unknown key `flop`"),
        ("flops =", "flop =", "scale/workload.toml:1:1: `flops` is missing: an expression over the sizes"),
        ('name = "scale"', 'name = "scales"', "scale/workload.toml:1:8: `name` is 'scales', but the folder is called 'scale'"),
        ('"hpc"', '"hcp"', "scale/workload.toml:3:9: 'hcp' is none of the known values"),
        ('"N*T"', '"N*M"', "scale/workload.toml:5:12: unknown name `M`"),
        ('"N*T"', '"N*(T-9)"', "scale/workload.toml:5:1: flops or bytes are negative with N=100, T=1"),
        ('"elementwise"', '"elementary"', "scale/workload.toml:6:22: 'elementary' is none of the known values"),
        ('"elementwise"', '"reduction"', "scale/workload.toml:6:1: `length` is missing: an expression over the sizes"),
        ('x = { dtype = "float32"', 'x = { dtype = "float23"', "scale/workload.toml:16:15: 'float23' is none of the known values"),
        ('x = { dtype = "float32", shape = ["N"]', 'x = { dtype = "float32", shape = ["N", "K"]', "scale/workload.toml:16:41: unknown name `K`"),
        ('x = { dtype = "float32", shape = ["N"]', 'x = { dtype = "float32", shape = ["N - 100"]', "scale/workload.toml:16:1: `x` has the shape (0,) with N=100, T=1"),
        ('x = { dtype = "float32", shape = ["N"]', 'x = { dtype = "float32", shape = ["N*N*N"]', "scale/workload.toml:25:1: the value does not fit into 64 bits, with N=3000000000, T=5"),
        ('x = { dtype = "float32", shape = ["N"]', 'x = { dtype = "float32", shape = ["N*N"]', "scale/workload.toml:16:1: `x` has the shape (9000000000000000000,) with N=3000000000, T=5"),
        ('x = { dtype = "float32", shape = ["N"]', 'x = { dtype = "float32", shape = []', "scale/workload.toml:16:34: a buffer has 1 to 8 dimensions"),
        ('role = "inout"', 'role = "both"', "scale/workload.toml:18:50: 'both' is none of the known values"),
        ("tiny = { N = 100, T = 1 }", "tiny = { N = 100 }", "scale/workload.toml:21:1: `T` is missing: a whole number"),
        ("tiny = { N = 100, T = 1 }", "tiny = { N = 0, T = 1 }", "scale/workload.toml:21:14: `N` must be at least 1"),
        ("tiny = { N = 100, T = 1 }", "tiny = { N = 1.5, T = 1 }", "scale/workload.toml:21:14: `N` must be a whole number"),
        ("tiny =", "mini =", "scale/workload.toml:21:1: unknown key `mini`"),
        ("range = [3, 99]", "range = [99, 3]", "scale/workload.toml:28:5: a range is [low, high] with 1 <= low <= high <= 4,194,304, and `multiple` at least 1"),
        ('range = [3, 99], kinds = ["odd"', 'range = [3, 99], multiple = 2, kinds = ["odd"', "scale/workload.toml:28:5: no size from 3 to 99 is a odd multiple of 2"),
        ('"tail"', '"tails"', "scale/workload.toml:28:40: 'tails' is none of the known values"),
        ("tolerance =", 'require = ["N < 50"]\ntolerance =', "scale/workload.toml:22:1: `N < 50` does not hold with N=100, T=1"),
        ("[sizes]\nN", "[sizes]\nx", "scale/workload.toml:16:1: `x` is declared twice"),
        ("factor =", "2factor =", "scale/workload.toml:13:1: `2factor` is no usable name"),
        ("[presets]", "[presets", "scale/workload.toml:20:9: expected ']' at the end of a table declaration"),
    ],
)  # fmt: skip
def test_a_fault_is_told_at_its_place(folder: Path, old: str, new: str, told: str) -> None:
    assert old in WORKLOAD
    (folder / "workload.toml").write_text(WORKLOAD.replace(old, new, 1))
    workload, problems = examine(folder)
    assert workload is None
    assert told in [f"{finding.location}: {finding.message}" for finding in problems.findings()]
    with pytest.raises(BadWorkload, match=r"workload\.toml:"):
        load(folder)


@pytest.mark.parametrize("name", ["oracle.py", "baseline.cu"])
def test_a_missing_file_is_told(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(BadWorkload, match=f"{name} is missing beside workload.toml"):
        load(folder)


def test_a_folder_that_is_no_workload_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no workload\.toml"):
        load(tmp_path)
    (tmp_path / "workload.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadWorkload, match="cannot read"):
        load(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(st.data())
def test_a_mutilated_file_gives_problems_never_an_exception(folder: Path, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(WORKLOAD)))
    end = data.draw(st.integers(start, min(len(WORKLOAD), start + 30)))
    put = data.draw(
        st.one_of(st.text(max_size=6), st.sampled_from(['"', "[", "]", "{}", "= 5", "\n", "-7", "true"]))
    )
    (folder / "workload.toml").write_text(
        WORKLOAD[:start] + put + WORKLOAD[end:], encoding="utf-8", newline=""
    )
    workload, problems = examine(folder)
    assert (workload is None) is bool(problems.findings())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("import numpy as np", "import nonsense", "scale/oracle.py:1: ModuleNotFoundError: No module named 'nonsense'"),
        ("def reference", "def  reference(: ", "scale/oracle.py:7: SyntaxError"),
        ("import numpy as np", "raise SystemExit(3)", "scale/oracle.py:1: SystemExit: 3"),
        ("def reference", "def referring", "scale/oracle.py has no function reference()"),
        ('"x": rng.random(n)', '"x": 1 / 0', "scale/oracle.py:5: inputs() raised ZeroDivisionError: division by zero"),
        ('"x": rng.random(n)', '"x": rng.random(n + 1)', "inputs() gives `x` the shape (101,), not (100,)"),
        ('"x": rng.random(n)', '"x": rng.random(n) / 0', "inputs() leaves the range of float32 in `x`"),
        ('"x": rng.random(n)', '"x": rng.random(n) > 1', "inputs() gives `x` the type bool for a float32 buffer"),
        ('"x": rng.random(n)', '"z": rng.random(n)', "what inputs() returns lacks x and has unknown z"),
        ("rng.integers(0, 9, n)", "rng.integers(0, 2**40, n)", "inputs() leaves the range of int32 in `count`"),
        ("rng.integers(0, 9, n)", "rng.random(n)", "inputs() gives `count` the type float64 for a int32 buffer"),
        ('"factor": 2 + rng.random()', '"factor": rng.random(2)', "inputs() must give `factor` as one finite number"),
        ('return {"y": given["factor"]', 'return [given["factor"]]; {"y": 1', "reference() must return a dict of arrays by name"),
        ('given["count"] + 1', '(given["count"] + 1)[1:]', "reference() gives `count` the shape (99,), not (100,)"),
        ('given["count"] + 1', 'given["count"] + 1.5', "reference() gives `count` the type float64 for a int32 buffer"),
        ('given["factor"] * given["x"]', "np.full(100, np.nan)", "reference() gives `y` values that are not finite"),
        ('given["factor"] * given["x"]', '1e-9 * given["x"] + 1', "ones would pass as `y`: the workload or its tolerance is degenerate"),
        ('given["factor"] * given["x"]', 'given["x"]', "a copy of x would pass as `y`: the workload or its tolerance is degenerate"),
        ('given["count"] + 1', 'given["count"] * 0', "`count` does not depend on the inputs"),
        ("rng.random(n)", "np.random.rand(n)", "inputs() gives other values (x) for the same generator: draw only from `rng`"),
        ("    return {\"y\"", "    import time; time.sleep(0.06)\n    return {\"y\"", "reference() takes 60 ms at tiny; it may take 50"),
        ('given["factor"] * given["x"]', 'given["factor"] * given["x"] if sizes["N"] > 50 else np.zeros(1)', "reference() gives `y` the shape (1,), not (97,)"),
    ],
)  # fmt: skip
def test_a_wrong_oracle_is_told(folder: Path, old: str, new: str, told: str) -> None:
    assert old in ORACLE
    (folder / "oracle.py").write_text(ORACLE.replace(old, new, 1))
    found = check_workload(folder)
    wrong = [check.detail for check in found.checks if not check.ok]
    shown = "reference() takes" if "takes" in told else "the shape (1,), not" if "(97,)" in told else told
    assert any(shown in detail for detail in wrong), wrong
    assert not found.ok


def test_a_sound_workload_passes_every_check(folder: Path) -> None:
    found = check_workload(folder)
    assert found.ok, [check for check in found.checks if not check.ok]
    assert [check.name for check in found.checks] == [
        "workload.toml", "baseline schedule", "plans", "oracle at tiny", "oracle time", "repeatable", "inputs vary",
        "cheap outputs fail", "oracle at hidden sizes",
    ]  # fmt: skip


def test_a_baseline_that_cannot_be_planned_is_told(folder: Path) -> None:
    (folder / "baseline.cu").write_text(SOURCE.replace("BLOCK = 256", "BLOCK = 4096"))
    found = check_workload(folder)
    assert [check.name for check in found.checks if not check.ok] == ["baseline schedule"]


def test_a_reference_can_be_computed_with_another_array_module(folder: Path) -> None:
    calls: list[str] = []

    class Elsewhere(ModuleType):
        """numpy under another name, which tells where arrays go, as cupy would take them."""

        def asarray(self, array: NDArray[Any]) -> NDArray[Any]:
            calls.append("there")
            return np.asarray(array)

        def asnumpy(self, array: NDArray[Any]) -> NDArray[Any]:
            calls.append("back")
            return array

        def multiply(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
            calls.append("multiply")
            return np.asarray(np.multiply(a, b))

    source = ORACLE.replace('given["factor"] * given["x"]', 'np.multiply(given["factor"], given["x"])')
    (folder / "oracle.py").write_text(source)
    workload, sizes = load(folder), {"N": 50, "T": 1}
    plain, elsewhere = load_oracle(workload), load_oracle(workload, Elsewhere("elsewhere"))
    case = elsewhere.case(1, sizes)
    assert calls == []
    assert case.arrays["x"].tobytes() == plain.case(1, sizes).arrays["x"].tobytes()
    expected = elsewhere.expected(case)
    assert calls == ["there"] * 3 + ["multiply"] + ["back"] * 2
    assert expected["y"].tobytes() == plain.expected(case)["y"].tobytes()


def test_inputs_are_rounded_to_their_types_before_the_reference_is_computed(folder: Path) -> None:
    oracle = load_oracle(load(folder))
    case = oracle.case(1, {"N": 50, "T": 1})
    assert case.arrays["x"].dtype == np.float32
    assert case.scalars["factor"] == float(np.float32(case.scalars["factor"]))
    expected = oracle.expected(case)["y"]
    assert np.array_equal(expected, np.float64(case.scalars["factor"]) * case.arrays["x"].astype(np.float64))
