"""Honest variants are never rejected: points of each baseline's own tuning space give what the oracle says."""

import itertools
from pathlib import Path

import pytest

from warpwise.server.evaluation.comparison import compare
from warpwise.server.evaluation.limits import device_limits
from warpwise.server.evaluation.oracle import load_oracle
from warpwise.server.evaluation.schedule_check import Checked, check_schedule
from warpwise.server.evaluation.shipped import shipped

from .emulator import Emulator, Unit, build, unit

Variants = dict[str, list[tuple[Checked, Unit]]]
pytestmark = pytest.mark.xdist_group("variants")  # the library is built once, in one worker


@pytest.fixture(scope="module")
def variants(checked: dict[str, Checked]) -> Variants:
    """Up to four points of every tuning space, spread over it, but for the baseline's own."""
    found: Variants = {}
    for name, one in checked.items():
        assert one.schedule is not None
        source = one.workload.baseline()
        points = [
            point for point in one.schedule.tune.points(one.schedule.defines) if point != one.schedule.defines
        ]
        chosen = itertools.islice(points, 0, None, max(1, len(points) // 4))
        found[name] = []
        for number, point in enumerate(chosen):
            tuned = check_schedule(source, name, one.workload, device_limits("sm_90"), point)
            assert tuned.findings == (), point
            found[name].append((tuned, unit(tuned, source, f"{name}_{number}")))
    return found


@pytest.fixture(scope="module")
def emulator(variants: Variants, cuda_headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulator:
    units = [one for listed in variants.values() for _, one in listed]
    return build(units, tmp_path_factory.mktemp("emulator"), cuda_headers)


@pytest.mark.parametrize("name", shipped())
def test_at_least_two_points_of_the_tuning_space_are_right(
    name: str, variants: Variants, emulator: Emulator
) -> None:
    assert len(variants[name]) >= 2
    for tuned, one in variants[name]:
        workload = tuned.workload
        drawn = sorted(workload.hidden_sizes("tuned", 9), key=workload.memory_bytes)[1]
        oracle = load_oracle(workload)
        case = oracle.case(5, drawn)
        expected = oracle.expected(case)
        got = emulator.run(one, workload, case, tuned.plan(drawn), reverse=False)
        for buffer in workload.outputs:
            assert buffer.tolerance is not None
            allowance = buffer.tolerance.allowance(buffer.dtype, drawn)
            assert compare(got[buffer.name], expected[buffer.name], allowance).ok, (buffer.name, one.defines)
