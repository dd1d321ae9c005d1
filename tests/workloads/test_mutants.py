"""Mechanical mistakes in the baselines are never taken for right: on the CPU, small sizes, both thread orders."""

from pathlib import Path

import pytest

from warpwise.server.evaluation.comparison import compare
from warpwise.server.evaluation.oracle import Case, Oracle, load_oracle
from warpwise.server.evaluation.plan import Plan
from warpwise.server.evaluation.schedule_check import Checked
from warpwise.server.evaluation.shipped import shipped
from warpwise.server.evaluation.workload import Sizes

from .emulator import Array, Emulator, KernelFault, Unit, build, unit
from .mutants import equivalent, mutants

QUICK = ("gemm", "lu", "rotary", "transpose")


class Judge:
    """Small cases of a workload with their references, smallest first; the last has several blocks of totals."""

    def __init__(self, checked: Checked, emulator: Emulator) -> None:
        self.workload = checked.workload
        self.emulator = emulator
        oracle = load_oracle(self.workload)
        drawn = sorted(self.workload.hidden_sizes("emulated", 9), key=self.workload.memory_bytes)
        chosen = [*drawn[:3], self.workload.presets["tiny"], drawn[-1]]
        self.cases = [self._case(oracle, turn, checked, sizes) for turn, sizes in enumerate(chosen)]

    def _case(
        self, oracle: Oracle, turn: int, checked: Checked, sizes: Sizes
    ) -> tuple[Case, dict[str, Array], Plan]:
        case = oracle.case(turn, sizes)
        return case, oracle.expected(case), checked.plan(sizes)

    def accepts(self, mutant: Unit) -> bool:
        return all(
            self._right(mutant, case, expected, plan, reverse=reverse)
            for case, expected, plan in self.cases
            for reverse in (False, True)
        )

    def _right(
        self, mutant: Unit, case: Case, expected: dict[str, Array], plan: Plan, *, reverse: bool
    ) -> bool:
        try:
            got = self.emulator.run(mutant, self.workload, case, plan, reverse=reverse)
        except KernelFault:
            return False
        return all(
            buffer.tolerance is not None
            and compare(
                got[buffer.name], expected[buffer.name], buffer.tolerance.allowance(buffer.dtype, case.sizes)
            ).ok
            for buffer in self.workload.outputs
        )


def survivors(checked: Checked, folder: Path, headers: Path) -> list[str]:
    name, source = checked.workload.name, checked.workload.baseline()
    found = [mutant for mutant in mutants(source) if not equivalent(name, mutant, source)]
    assert len(found) >= 5
    units = [unit(checked, mutant.source, f"mutant_{number}") for number, mutant in enumerate(found)]
    judge = Judge(checked, build(units, folder, headers))
    return [str(mutant) for mutant, one in zip(found, units, strict=True) if judge.accepts(one)]


@pytest.mark.parametrize("name", QUICK)
def test_no_mutant_of_some_baselines_is_right(
    name: str, checked: dict[str, Checked], tmp_path: Path, cuda_headers: Path
) -> None:
    assert survivors(checked[name], tmp_path, cuda_headers) == []


@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in shipped() if name not in QUICK])
def test_no_mutant_of_the_other_baselines_is_right(
    name: str, checked: dict[str, Checked], tmp_path: Path, cuda_headers: Path
) -> None:
    assert survivors(checked[name], tmp_path, cuda_headers) == []
