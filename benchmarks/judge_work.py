"""What the judge's GPU proof is made of: batches of programs of one workload, held as one contest, and their fates."""

import hashlib
import io
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from elftools.elf.elffile import ELFFile
from workloads.careless_mutants import careless_mutants
from workloads.honest_variants import honest_variants
from workloads.mutants import Mutant, equivalent, mutants

from warpwise.server import candidate as candidates
from warpwise.server.errors import WarpwiseError
from warpwise.server.evaluation.judging.contest import Outcome, hold
from warpwise.server.evaluation.judging.entries import Entry, Request, baseline_entry, build_entry, entry
from warpwise.server.evaluation.judging.judge import judge, status_of
from warpwise.server.evaluation.shipped import shipped, shipped_workload
from warpwise.server.evaluation.trial import TimingRequest
from warpwise.server.evaluation.workload import Workload
from warpwise.server.workbench import Workbench

DEADLINE_S = 20.0
Job = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """One program to judge: a mutant or a variant of a workload's baseline."""

    workload: str
    what: str
    source: str
    defines: dict[str, str] = field(default_factory=dict[str, str])
    flags: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def digest(self) -> str:
        """The digest of the source."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]


def request(
    bench: Workbench, workload: Workload, preset: str = "tiny", timing: TimingRequest | None = None
) -> Request:
    """A judgement's request on this machine's GPU."""
    devices = bench.services.gpus.devices
    arch = bench.services.gpus.arch() or "sm_90"
    memory = devices[0].memory_bytes if devices else None
    return Request(workload, arch, preset, timing=timing, timeout_s=DEADLINE_S, memory_bytes=memory)


def entered(bench: Workbench, case: Case, asked: Request) -> Entry:
    """A case as an entry of a contest."""
    held = candidates.build("x.cu", {"x.cu": case.source.encode()}, case.defines, case.flags, bench.blobs)
    return entry(held, asked)


def all_mutants() -> list[Case]:
    """Every mutant of every shipped baseline, with a written reason where it computes the same."""
    found: list[Case] = []
    for name in shipped():
        source = shipped_workload(name).baseline()
        every: list[Mutant] = [*mutants(source), *careless_mutants(source)]
        found += [Case(name, str(one), one.source, reason=equivalent(name, one, source)) for one in every]
    return found


def all_variants(bench: Workbench) -> list[Case]:
    """The honest variants of every shipped baseline."""
    found: list[Case] = []
    for name in shipped():
        workload = shipped_workload(name)
        checked = baseline_entry(bench, request(bench, workload)).checked
        found += [
            Case(name, one.name, one.source, one.defines, one.flags) for one in honest_variants(checked)
        ]
    return found


def batches(cases: Iterable[Case], size: int) -> list[list[Case]]:
    """The cases in batches of one workload each."""
    by_workload: dict[str, list[Case]] = {}
    for case in cases:
        by_workload.setdefault(case.workload, []).append(case)
    return [held[at : at + size] for held in by_workload.values() for at in range(0, len(held), size)]


async def statuses(bench: Workbench, batch: list[Case]) -> list[tuple[Case, str]]:
    """Judge the values of a batch in one contest; (case, status)."""
    asked = request(bench, shipped_workload(batch[0].workload))
    entries = {f"p{number}": entered(bench, case, asked) for number, case in enumerate(batch)}
    sound = {name: one for name, one in entries.items() if one.checked.ok}
    outcome = await hold(bench, sound, asked) if sound else None
    return [
        (case, _status(outcome, f"p{number}", entries[f"p{number}"])) for number, case in enumerate(batch)
    ]


def _status(outcome: Outcome | None, name: str, one: Entry) -> str:
    if not one.checked.ok or outcome is None:
        return "schedule_error"
    if one.program is None:
        return "compile_error"
    if outcome.result is None:
        return "schedule_error"
    return status_of(outcome.faults[name])


async def sanitized(bench: Workbench, case: Case) -> str:
    """The status of one case, judged with the sanitizer step."""
    asked = replace(request(bench, shipped_workload(case.workload)), timeout_s=60.0)
    held = candidates.build("x.cu", {"x.cu": case.source.encode()}, case.defines, case.flags, bench.blobs)
    try:
        return (await judge(bench, held, asked, sanitizer=True)).status
    except WarpwiseError as error:
        return f"{error.code}: {error.what}"[:200]


async def same_machine_code(bench: Workbench, case: Case) -> bool:
    """Whether a mutant compiles to the very instructions of the baseline."""
    workload = shipped_workload(case.workload)
    asked = request(bench, workload)
    texts: list[Mapping[str, bytes]] = []
    for source in (workload.baseline(), case.source):
        one = entered(bench, replace(case, source=source), asked)
        await build_entry(bench, "x", one, asked.arch)
        if one.program is None:
            return False
        texts.append(_instructions(bench.blobs.read(one.program.cubin.digest)))
    return texts[0] == texts[1]


def _instructions(cubin: bytes) -> Mapping[str, bytes]:
    elf: Any = ELFFile(io.BytesIO(cubin))
    return {
        section.name: section.data() for section in elf.iter_sections() if section.name.startswith(".text.")
    }


async def compared(bench: Workbench, pair: list[Case], workload: Workload, preset: str = "tiny") -> str:
    """How the speed of two programs compares: FASTER, SLOWER, SAME, INCONCLUSIVE, or that it was not told."""
    asked = request(bench, workload, preset, TimingRequest())
    entries = {name: entered(bench, case, asked) for name, case in zip("ab", pair, strict=True)}
    outcome = await hold(bench, entries, asked)
    gained = outcome.speedup("a", "b")
    return gained.comparison if gained else "not timed"


async def at_once(jobs: list[Job], most: int) -> None:
    """Do jobs side by side, at most so many at once."""
    limit = anyio.CapacityLimiter(most)

    async def one(job: Job) -> None:
        async with limit:
            await job()

    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(one, job)
