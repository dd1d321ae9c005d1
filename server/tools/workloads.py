"""Which workloads exist, and one of them in full: what a candidate must compute, on which sizes, and how exactly."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ..evaluation.problems import Problems
from ..evaluation.schedule_block import HELP, find_block
from ..evaluation.shipped import find, shipped, shipped_workload
from ..evaluation.workload import SUITES, Workload
from ..reports.answer import Detail
from ..reports.workloads import OutputRule, WorkloadsAnswer, WorkloadView
from ..tool import Args, tool
from ..workbench import Workbench

_RULE_AT = "medium"


class WorkloadsArgs(Args):
    """List the workloads a kernel can be judged on; with a name, one in full: data, sizes, tolerance, schedule."""

    name: Annotated[
        str | None, Field(description="A workload's name, or a folder of your own that holds workload.toml.")
    ] = None
    detail: Annotated[Detail, Field(description="evidence and raw add the baseline's source.")] = "summary"


@tool(title="List workloads", read_only=True, long=False)
async def workloads(bench: Workbench, args: WorkloadsArgs) -> WorkloadsAnswer:
    """The list, or one workload."""
    if args.name is None:
        return _listed()
    workload = find(args.name, bench.client.roots)
    return WorkloadsAnswer(
        summary=f"{workload.name}: {workload.title}",
        workload=_view(workload),
        next=(f'evaluate(workload="{args.name}", path="mine.cu")',),
    )


def _listed() -> WorkloadsAnswer:
    by_suite: dict[str, Mapping[str, str]] = {}
    for suite in SUITES:
        found = [workload for workload in map(shipped_workload, shipped()) if workload.suite == suite]
        by_suite[suite] = {workload.name: workload.title for workload in found}
    return WorkloadsAnswer(
        summary=f"{len(shipped())} workloads.",
        workloads=by_suite,
        next=('workloads(name="gemm"): one in full',),
    )


def _view(workload: Workload) -> WorkloadView:
    sizes = workload.presets[_RULE_AT]
    rules: dict[str, OutputRule] = {}
    for buffer in workload.outputs:
        if buffer.tolerance is not None:
            given = buffer.tolerance.allowance(buffer.dtype, sizes)
            rules[buffer.name] = OutputRule(
                rule=str(buffer.tolerance),
                relative=given.relative,
                absolute=given.absolute,
                scale=given.scale,
            )
    source = workload.baseline()
    block = find_block(source, Problems("baseline.cu", source, "schedule"))
    return WorkloadView(
        name=workload.name,
        suite=workload.suite,
        about=workload.about,
        sizes=workload.sizes,
        buffers=tuple(str(buffer) for buffer in workload.buffers.values()),
        scalars=workload.scalars,
        require=tuple(str(constraint) for constraint in workload.require),
        presets={preset: dict(found) for preset, found in workload.presets.items()},
        hidden={name: str(rule) for name, rule in workload.hidden.items()},
        tolerance=rules,
        tolerance_at=_RULE_AT,
        flops={preset: workload.flops(found) for preset, found in workload.presets.items()},
        bytes={preset: workload.traffic_bytes(found) for preset, found in workload.presets.items()},
        schedule=f"// /// schedule\n{_commented(block.text)}\n// ///" if block else "",
        schedule_help=HELP,
        source=source,
    )


def _commented(text: str) -> str:
    return "\n".join(f"// {line}".rstrip() for line in text.split("\n"))
