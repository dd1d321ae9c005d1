"""Look at what was frozen: list, show, compare two, or write the sources of one back."""

import json
import time
from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ..checkpoint_diff import difference
from ..checkpoints import Checkpoint, Checkpoints, subject_of
from ..components import BASE, gives, gives_some
from ..errors import InvalidArguments, InvalidRequest
from ..masking import told_parts
from ..reports.answer import Answer, Detail
from ..reports.checkpoints import CheckpointDiff, CheckpointLine, CheckpointList, CheckpointView, PartState
from ..restoring import overwritten, targets, write_back
from ..tool import Args, tool
from ..workbench import Workbench

Action = Literal["list", "show", "diff", "restore"]


class CheckpointsArgs(Args):
    """List, show or compare checkpoints, or write the sources of one back below the root."""

    action: Annotated[Action, Field(description="restore keeps what it overwrites.")] = "list"
    id: Annotated[str | SkipJsonSchema[None], Field(description="The checkpoint (k-...).")] = None
    other: Annotated[str | SkipJsonSchema[None], Field(description="diff: the later one.")] = None
    workload: Annotated[str | SkipJsonSchema[None], Field(description="list: only of this workload.")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="list: how many.")] = 20
    offset: Annotated[int, Field(ge=0, description="list: how many to pass over.")] = 0
    detail: Annotated[Detail, Field(description="evidence adds the report.")] = "summary"


@tool(title="Checkpoints", read_only=False, destructive=True, long=False)
async def checkpoints(bench: Workbench, args: CheckpointsArgs) -> Answer:
    """One of the four actions."""
    kept = Checkpoints(bench.services.store, bench.client.name)
    if args.action == "list":
        return _listed(bench, args, kept)
    if args.id is None:
        raise InvalidArguments(f"checkpoints: {args.action} needs id")
    first = kept.load(args.id)
    if args.action == "show":
        return _shown(bench, args.id, kept, first)
    if args.action == "restore":
        return _restored(bench, args.id, kept, first)
    if args.other is None:
        raise InvalidArguments("checkpoints: diff needs other")
    return _compared(bench, (args.id, first), (args.other, kept.load(args.other)), kept)


def _listed(bench: Workbench, args: CheckpointsArgs, kept: Checkpoints) -> CheckpointList:
    rows, total = kept.listed(args.limit, args.offset, args.workload)
    told = gives(bench.client.given, "evaluation")
    lines = tuple(
        CheckpointLine(
            id=row.id,
            candidate=row.candidate,
            workload=row.workload,
            generation=row.generation,
            parent=row.parent,
            verdict=row.verdict if told else None,
            summary=row.summary,
            age_s=round(time.time() - row.kept_at, 1),
        )
        for row in rows
    )
    more = args.offset + len(lines) < total
    return CheckpointList(
        summary=f"{total:,} checkpoint{'s' if total != 1 else ''}.",
        checkpoints=lines,
        total=total,
        next=(f"offset={args.offset + len(lines)} lists more",) if more else (),
    )


def _shown(bench: Workbench, id: str, kept: Checkpoints, held: Checkpoint) -> CheckpointView:  # noqa: A002
    given = bench.client.given
    facts = held.model_dump(
        include={"workload", "preset", "arch", "notes", "generation", "parent"}, exclude_none=True
    )
    facts |= {"files": sorted(held.files), "context": sorted(held.context)}
    if given is None:
        facts["environment"] = dict(held.environment)
    return CheckpointView(
        candidate=held.candidate,
        summary=f"{id}: {held.candidate or 'files kept before a restore'}",
        checkpoint=id,
        facts={name: value for name, value in facts.items() if value},
        parts=tuple(
            PartState(component=part.component, state=part.state, reason=part.reason)
            for part in held.parts
            if gives_some(given, part.component) and (gives(given, part.component) or part.reason is None)
        ),
        answers=told_parts(kept.answers(held), given),
        plan=held.plan if gives(given, "plan") else None,
    )


def _compared(
    bench: Workbench, before: tuple[str, Checkpoint], after: tuple[str, Checkpoint], kept: Checkpoints
) -> CheckpointDiff:
    given = bench.client.given
    answers = [
        {str(one.component): one for one in told_parts(kept.answers(held), given)}
        for held in (before[1], after[1])
    ]
    found = difference((before[1].files, after[1].files), answers[0], answers[1], bench.blobs)
    changes = len(found.numbers) + sum(
        len(told) for ways in found.findings.values() for told in ways.values()
    )
    return CheckpointDiff(
        summary=f"{before[0]} to {after[0]}: {len(found.source)} lines of diff, {changes} changes in the report.",
        before=before[0],
        after=after[0],
        source=found.source,
        changes={name: found.findings[name] for name in BASE if name in found.findings},
        numbers=found.numbers,
    )


def _restored(bench: Workbench, id: str, kept: Checkpoints, held: Checkpoint) -> Answer:  # noqa: A002
    if not bench.client.roots:
        raise InvalidRequest("this client has no root to write below", "Start the daemon with --root.")
    places = targets(bench.client.roots[0], held.files)
    lost = overwritten(places, held.files, bench.blobs)
    saved = _save(kept, id, lost) if lost else None
    changed = write_back(places, held.files, bench.blobs)
    names = ", ".join(list(places)[:5])
    told = f" What was there is kept as {saved}." if saved else ""
    return Answer(
        candidate=held.candidate,
        summary=f"{changed} of {len(places)} files written ({names}).{told}",
        next=(f'checkpoints(action="restore", id="{saved}") undoes it',) if saved else (),
    )


def _save(kept: Checkpoints, id: str, lost: dict[str, str]) -> str:  # noqa: A002
    saved = Checkpoint(candidate=None, files=lost, notes=f"before restoring {id}", made_at=time.time())
    return kept.keep(saved, subject_of({"saved": json.dumps(lost, sort_keys=True)}))
