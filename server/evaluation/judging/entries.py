"""The programs of a contest before it begins: a candidate or a baseline, its schedule checked, then built."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from ... import candidate as candidates
from ...building import Build, build
from ...candidate import Candidate
from ...errors import BadWorkload
from ...workbench import Workbench
from ..limits import device_limits
from ..schedule_check import Checked, check_schedule, define_value
from ..sizes import fresh_seed
from ..trial import Program, TimingRequest
from ..workload import Sizes, Workload
from ..workload_file import FILE, load

BASELINE = "baseline"
MAX_TIMED_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Request:
    """What is tried and how: `preset` sizes are visible and timed; without `timing` only values are checked.

    `hidden_seed` repeats a draw of hidden sizes; None draws anew. `timeout_s` is the deadline of each run.
    """

    workload: Workload
    arch: str
    preset: str = "tiny"
    hidden_count: int = 3
    hidden_seed: str | None = None
    timed_sets: int = 8
    timing: TimingRequest | None = field(default_factory=TimingRequest)
    timeout_s: float = 60.0
    memory_bytes: int | None = None

    @property
    def sizes(self) -> Sizes:
        """The visible sizes."""
        return self.workload.presets[self.preset]

    @property
    def visible_sets(self) -> int:
        """How many input sets of visible sizes: one; for timing as many as asked and as fit into 1 GiB (at least 2)."""
        if self.timing is None:
            return 1
        return max(2, min(self.timed_sets, MAX_TIMED_BYTES // max(self.workload.memory_bytes(self.sizes), 1)))

    def seed(self) -> str:
        """The seed of the hidden sizes: the one to repeat, or one from the system's entropy."""
        return self.hidden_seed or fresh_seed()


@dataclass(slots=True)
class Entry:
    """One program of a contest: its source, its checked schedule, its build and, where that is ok, the program."""

    candidate: Candidate
    checked: Checked
    build: Build | None = None
    program: Program | None = None


def entry(candidate: Candidate, request: Request) -> Entry:
    """A candidate with its schedule checked for the workload and the device."""
    defines = {name: define_value(value) for name, value in candidate.defines.items()}
    limits = device_limits(request.arch, request.memory_bytes)
    return Entry(
        candidate, check_schedule(candidate.source, candidate.main, request.workload, limits, defines)
    )


def baseline_entry(bench: Workbench, request: Request) -> Entry:
    """The workload's own baseline. Raises BadWorkload where its schedule is wrong."""
    folder, source = request.workload.folder, request.workload.baseline()
    described = (folder / FILE).read_text(encoding="utf-8")
    checked = _checked_baseline(folder, described, source, request.arch, request.memory_bytes)
    if not checked.ok:
        raise bad_baseline(request.workload, f"its schedule has errors: {checked.findings[0].message}")
    held = candidates.build("baseline.cu", {"baseline.cu": source.encode()}, {}, (), bench.blobs)
    return Entry(held, checked)


@lru_cache(maxsize=256)
def _checked_baseline(
    folder: Path, described: str, source: str, arch: str, memory_bytes: int | None
) -> Checked:
    """A baseline's schedule, checked once for each text of it and of its workload's file (`described`)."""
    return check_schedule(source, "baseline.cu", load(folder), device_limits(arch, memory_bytes))


def bad_baseline(workload: Workload, why: str) -> BadWorkload:
    """The error that a workload's baseline cannot be used."""
    return BadWorkload(f"the baseline of {workload.name} cannot be used: {why}")


async def build_entry(bench: Workbench, name: str, one: Entry, arch: str) -> None:
    """Build an entry with the defines of its schedule; its program stays None where it does not build."""
    assert one.checked.schedule is not None
    defines = {define: str(value) for define, value in one.checked.schedule.defines.items()}
    scheduled = replace(one.candidate, defines={**defines, **one.candidate.defines})
    one.build = await build(bench, scheduled, arch)
    if one.build.ok and one.build.cubin is not None:
        one.program = Program(name, one.build.cubin, one.checked, _mangled(one.build, one.checked))


def _mangled(made: Build, checked: Checked) -> dict[str, str]:
    found: dict[str, str] = {}
    for built in made.kernels:
        plain = built.name.partition("(")[0].partition("<")[0].rpartition("::")[2].rpartition(" ")[2]
        found |= {kernel: built.mangled for kernel in checked.kernels if kernel in (plain, built.mangled)}
    return found
