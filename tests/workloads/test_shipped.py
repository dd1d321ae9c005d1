"""The shipped workloads keep their own rules, and their baselines compile."""

from collections import Counter
from pathlib import Path

import pytest

from warpwise.server.errors import InvalidRequest, NotFound
from warpwise.server.evaluation.shipped import FOLDER, find, shipped, shipped_workload
from warpwise.server.evaluation.workload_check import check_workload

POLYBENCH = """
    2mm 3mm adi atax bicg convolution-2d convolution-3d correlation covariance doitgen fdtd-2d gemm gemver gesummv
    gramschmidt jacobi-1d jacobi-2d lu mvt syr2k syrk
"""


def test_all_of_polybench_and_the_practice_of_the_field_are_shipped() -> None:
    suites = Counter(shipped_workload(name).suite for name in shipped())
    assert suites == {"polybench": 21, "ml": 11, "hpc": 6}
    assert [name for name in shipped() if shipped_workload(name).suite == "polybench"] == POLYBENCH.split()
    dtypes = {buffer.dtype for name in shipped() for buffer in shipped_workload(name).buffers.values()}
    assert dtypes == {"float32", "float16", "bfloat16", "int32", "int64"}


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_workload_passes_every_check(name: str) -> None:
    found = check_workload(FOLDER / name)
    # The time of an oracle is checked too, but a busy machine may be slow: it must be so twice.
    wrong = [check for check in found.checks if not check.ok]
    if [check.name for check in wrong] == ["oracle time"]:
        wrong = [check for check in check_workload(FOLDER / name).checks if not check.ok]
    assert wrong == []


@pytest.mark.parametrize("name", shipped())
def test_a_preset_has_more_work_the_larger_its_name(name: str) -> None:
    workload = shipped_workload(name)
    sizes = [
        workload.memory_bytes(workload.presets[preset])
        for preset in ("tiny", "small", "medium", "large", "xl")
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < 1 << 20
    assert 1 << 19 < sizes[-1] < 4 << 30


def test_a_workload_of_ones_own_is_found_below_a_root_only(tmp_path: Path) -> None:
    mine = tmp_path / "problems" / "gemm"
    mine.mkdir(parents=True)
    for file in (FOLDER / "gemm").iterdir():
        if file.is_file():
            (mine / file.name).write_bytes(file.read_bytes())
    assert find("problems/gemm", [tmp_path]).folder == mine
    assert find("gemm", [tmp_path]).folder == FOLDER / "gemm"
    with pytest.raises(NotFound, match="there is no workload `gem`"):
        find("gem", [tmp_path])
    with pytest.raises(NotFound, match=r"no workload\.toml in \./problems"):
        find("./problems", [tmp_path])
    for outside in ("../gemm", "/etc", str(FOLDER / "lu")):
        with pytest.raises(InvalidRequest, match="lies outside the root"):
            find(outside, [tmp_path])
