"""`warpwise workload`: for authors of workloads: check a folder, and say what it computes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..evaluation.schedule_check import Checked
    from ..evaluation.workload_check import Check

EXIT_WRONG = 1


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Check workloads of your own.", no_args_is_help=True)
    group.callback()(_group)
    group.command("check")(check)
    app.add_typer(group, name="workload")


def _group() -> None:
    """Check workloads of your own."""


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds workload.toml.")],
    arch: Annotated[str, typer.Option(help="The architecture to compile the baseline for.")] = "sm_90",
    build: Annotated[bool, typer.Option(help="Compile the baseline, where a compiler is installed.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a workload without a GPU: its file, schedule, oracle, tolerance, and that its baseline compiles.

    Exit: 0 every check holds, 1 one does not, 3 it could not be checked.
    """
    from ..evaluation.workload_check import check_workload

    found = check_workload(folder.resolve())
    checks = list(found.checks)
    if build and found.baseline is not None and found.baseline.ok:
        checks.append(_compiled(found.baseline, arch))
    if as_json:
        print(json.dumps([_data(one) for one in checks], ensure_ascii=False))
    else:
        print("\n".join(line for one in checks for line in _lines(one)))
    raise typer.Exit(0 if all(one.ok for one in checks) else EXIT_WRONG)


def _compiled(baseline: "Checked", arch: str) -> "Check":
    import anyio

    return anyio.run(_compile, baseline, arch)


async def _compile(baseline: "Checked", arch: str) -> "Check":
    from .. import candidate as candidates
    from ..building import build
    from ..client import Client
    from ..config import from_environment
    from ..daemon import LOCAL_CLIENT
    from ..errors import Unavailable, typed_cause
    from ..evaluation.workload_check import Check
    from ..services import open_services
    from ..workbench import Workbench

    config = from_environment()
    schedule = baseline.schedule
    defines = {name: str(value) for name, value in schedule.defines.items()} if schedule else {}
    try:
        async with open_services(config) as services:
            bench = Workbench(services, Client(LOCAL_CLIENT, config.roots))
            files = {"baseline.cu": baseline.workload.baseline_file.read_bytes()}
            candidate = candidates.build("baseline.cu", files, defines, (), bench.blobs)
            made = await build(bench, candidate, arch)
    except (Unavailable, ExceptionGroup) as error:
        cause = typed_cause(error)
        if not isinstance(cause, Unavailable):
            raise
        return Check("baseline compiles", True, f"not tried: {cause.what}")
    problems = made.findings if not made.ok else ()
    return Check("baseline compiles", made.ok, f"for {made.arch}, {len(made.kernels)} kernels", problems)


def _lines(one: "Check") -> list[str]:
    found = [f"{'ok' if one.ok else 'WRONG':5} {one.name}: {one.detail}"]
    for finding in one.findings:
        found.append(f"      {finding.location or ''}: {finding.message}")
        if finding.suggestion:
            found += [f"          {line}" for line in finding.suggestion.splitlines()]
    return found


def _data(one: "Check") -> dict[str, Any]:
    findings = [finding.model_dump(exclude_defaults=True) for finding in one.findings]
    return {"check": one.name, "ok": one.ok, "detail": one.detail, "findings": findings}
