"""Keep a state: a candidate, what it is judged by, what its author knew, and everything that each tool finds in it."""

import time
from dataclasses import dataclass
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ..candidate import Candidate, read_source, resolve
from ..checkpoints import Checkpoint, Checkpoints, Part, subject_of
from ..components import ordered
from ..errors import InvalidRequest
from ..evaluation.shipped import find
from ..measuring import fingerprint, measure
from ..reports.checkpoints import FreezeAnswer, PartState
from ..tool import tool
from ..tools_arguments import KernelArgs
from ..workbench import Workbench

MAX_CONTEXT_FILES = 64


class FreezeArgs(KernelArgs):
    """Keep this state with all its evidence as a checkpoint: every tool that applies is asked once."""

    workload: str | SkipJsonSchema[None] = Field(None, description="What it is judged by.")
    preset: str = Field("tiny", description="The sizes it is judged at.")
    plan: str | SkipJsonSchema[None] = Field(None, max_length=50_000, description="The plan it follows.")
    generation: int | SkipJsonSchema[None] = Field(None, ge=0, description="Its generation.")
    parent: str | SkipJsonSchema[None] = Field(
        None, pattern=r"^k-[0-9a-f]{16}$", description="The checkpoint (k-...) before it."
    )
    notes: str | SkipJsonSchema[None] = Field(None, max_length=2_000, description="For whoever reads it.")
    context: tuple[str, ...] = Field(
        (), max_length=MAX_CONTEXT_FILES, description="Files its author had read."
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """The parts of a checkpoint: measured now, or already frozen (`reused`)."""

    parts: tuple[Part, ...]
    reused: bool
    final: bool = True


@tool(title="Freeze a state", read_only=False)
async def freeze(bench: Workbench, args: FreezeArgs) -> FreezeAnswer:
    """Measure what was not yet measured of this state in this environment, and keep it all."""
    candidate = await args.candidate(bench)
    arch = await args.build_arch(bench, candidate)
    kept = Checkpoints(bench.services.store, bench.client.name)
    if args.parent is not None:
        kept.load(args.parent)
    context = _context(bench, args)
    environment = await fingerprint(bench)
    subject = _subject(bench, args, candidate, arch, environment)
    found = await _parts(bench, args, candidate, arch, kept, subject)
    checkpoint = Checkpoint(
        candidate=candidate.id,
        manifest=candidate.manifest().decode(),
        files=candidate.files,
        workload=args.workload,
        preset=args.preset if args.workload else None,
        arch=arch,
        plan=args.plan,
        notes=args.notes,
        generation=args.generation,
        parent=args.parent,
        context=context,
        environment=environment,
        parts=found.parts,
        made_at=time.time(),
    )
    same = next((one for one, old in kept.of_subject(subject) if old.same_but_time(checkpoint)), None)
    subject = subject if found.final else f"{subject} unfinished"
    identity = same or kept.keep(checkpoint, subject, _verdict(kept, checkpoint))
    return _answer(candidate, identity, found)


def _subject(
    bench: Workbench, args: FreezeArgs, candidate: Candidate, arch: str, environment: dict[str, str]
) -> str:
    facts: dict[str, object] = {
        "candidate": candidate.id,
        "arch": arch,
        "environment": environment,
        "given": None if bench.client.given is None else ordered(bench.client.given),
    }
    if args.workload is not None:
        workload = find(args.workload, bench.client.roots)
        facts |= {"workload": workload.name, "baseline": workload.baseline(), "preset": args.preset}
    return subject_of(facts)


def _context(bench: Workbench, args: FreezeArgs) -> dict[str, str]:
    held: dict[str, str] = {}
    for name in args.context:
        root, path = resolve(bench.client, name)
        held[path.relative_to(root).as_posix()] = bench.blobs.put(read_source(path))
    return held


async def _parts(
    bench: Workbench, args: FreezeArgs, candidate: Candidate, arch: str, kept: Checkpoints, subject: str
) -> _Found:
    for _, old in kept.of_subject(subject, 1):
        return _Found(old.parts, reused=True)
    arguments: dict[str, Any] = {"id": candidate.id, "arch": arch, "detail": "raw", "wait_s": 0}
    if args.timeout_s is not None:
        arguments["timeout_s"] = args.timeout_s
    judging: dict[str, Any] = {}
    if args.workload is not None:
        judging = {"workload": args.workload, "preset": args.preset, "sanitize": True}
    measured = await measure(bench, candidate, arguments, judging)
    if not measured.parts:
        raise InvalidRequest("nothing may be measured for this client")
    return _Found(tuple(measured.parts), reused=False, final=measured.final)


def _verdict(kept: Checkpoints, checkpoint: Checkpoint) -> str | None:
    for answer in kept.answers(checkpoint):
        if answer.component == "evaluation":
            return str(getattr(answer, "verdict", None))
    return None


def _answer(candidate: Candidate, identity: str, found: _Found) -> FreezeAnswer:
    measured = [part.component for part in found.parts if part.state == "measured"]
    missing = [part.component for part in found.parts if part.state == "not measured"]
    told = f"{identity} keeps {candidate.id} with {', '.join(measured) or 'its source only'}"
    return FreezeAnswer(
        candidate=candidate.id,
        summary=told + (f"; not measured: {', '.join(missing)}." if missing else "."),
        next=(f'checkpoints(action="show", id="{identity}")',),
        checkpoint=identity,
        reused=found.reused,
        parts=tuple(
            PartState(component=part.component, state=part.state, reason=part.reason) for part in found.parts
        ),
    )
