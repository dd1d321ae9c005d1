"""Mistakes in launches, tails and tiles are never taken for right; on the CPU, small sizes, both thread orders."""

from pathlib import Path

import pytest

from warpwise.server.evaluation.limits import device_limits
from warpwise.server.evaluation.schedule_check import Checked, check_schedule
from warpwise.server.evaluation.shipped import shipped

from .careless_mutants import careless_mutants
from .emulator import build, unit
from .mutants import equivalent
from .test_mutants import QUICK, Judge


def survivors(checked: Checked, folder: Path, headers: Path) -> list[str]:
    workload, source = checked.workload, checked.workload.baseline()
    found = [one for one in careless_mutants(source) if not equivalent(workload.name, one, source)]
    assert found
    plans = [check_schedule(one.source, "x.cu", workload, device_limits("sm_90"), {}) for one in found]
    held = [
        (one, plan, unit(plan, one.source, f"careless_{number}"))
        for number, (one, plan) in enumerate(zip(found, plans, strict=True))
        if plan.ok
    ]
    emulator = build([made for _, _, made in held], folder, headers)
    return [str(one) for one, plan, made in held if Judge(plan, emulator).accepts(made)]


@pytest.mark.parametrize("name", QUICK)
def test_no_careless_mutant_of_some_baselines_is_right(
    name: str, checked: dict[str, Checked], tmp_path: Path, cuda_headers: Path
) -> None:
    assert survivors(checked[name], tmp_path, cuda_headers) == []


@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in shipped() if name not in QUICK])
def test_no_careless_mutant_of_the_other_baselines_is_right(
    name: str, checked: dict[str, Checked], tmp_path: Path, cuda_headers: Path
) -> None:
    assert survivors(checked[name], tmp_path, cuda_headers) == []
