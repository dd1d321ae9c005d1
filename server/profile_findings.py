"""Findings about a profile as a whole: nothing ran, the counters were denied, the program failed. Not about a kernel."""

import os
import re
from pathlib import Path

from .analysis.cuda_errors import name as error_name
from .command import Finished
from .profiling import Measured
from .reports.finding import Finding
from .toolchain.launch_probe import LaunchTable

_PARAMETERS = Path("/proc/driver/nvidia/params")
_ADMIN_ONLY = re.compile(r"^RmProfilingAdminOnly:\s*([01])$", re.MULTILINE)
_DRIVER_OPTION = (
    "let every user read the counters: put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into "
    "/etc/modprobe.d/nvidia.conf and reload the driver (reboot)"
)


def admin_only(parameters: Path = _PARAMETERS) -> bool | None:
    """Whether the driver lets only administrators read hardware counters; None where it does not say."""
    try:
        found = _ADMIN_ONLY.search(parameters.read_text())
    except OSError:
        return None
    return None if found is None else found[1] == "1"


def denied(run: Finished, restricted: bool | None, *, is_root: bool | None = None) -> Finding:
    """Why counters may not be read here, and what would change it: the driver's option, our sandbox, or a container."""
    root = os.geteuid() == 0 if is_root is None else is_root
    sandboxed = run.sandbox.startswith("bubblewrap")
    if restricted is False:
        cause = "the driver allows it to everyone, so a container or virtual GPU in between forbids it"
        remedy = "start the container with --cap-add=SYS_ADMIN, or ask whoever runs the virtual GPU"
    elif sandboxed and root:
        cause = "the driver allows it to administrators only, and the sandbox's user namespace is none, even for root"
        remedy = f"{_DRIVER_OPTION}; or, for programs you trust, WARPWISE_SANDBOX=off"
    else:
        cause = "the driver allows it to administrators only"
        remedy = f"{_DRIVER_OPTION}; or run the daemon with CAP_SYS_ADMIN (docker: --cap-add=SYS_ADMIN)"
    return Finding(
        rule="profile/counters-denied",
        severity="warning",
        confidence="certain" if restricted is not None else "likely",
        message=f"hardware counters cannot be read (ERR_NVGPUCTRPERM): {cause}",
        evidence={"admin_only": restricted, "sandbox": run.sandbox, "root": root},
        suggestion=f"To profile, {remedy}.",
        confirm="capabilities",
    )


def nothing_ran(measured: Measured) -> Finding:
    """No kernel was profiled: none was launched, or every launch failed."""
    table, run = measured.table, measured.runs[0]
    output = (run.stdout + run.stderr).decode("utf-8", "replace").strip()
    failures = _failures(table) if table else {}
    if table is None:
        message = "no kernel ran: ncu saw no launch, or every launch failed"
    elif failures:
        told = ", ".join(f"{count} with {name}" for name, count in failures.items())
        message = f"no kernel ran: every launch failed ({told})"
    elif table.ran_anything:
        message = "kernels were launched, but ncu saw none of them run"
    else:
        message = "no kernel ran: the program launched none"
    return Finding(
        rule="profile/nothing-ran",
        severity="error",
        message=message,
        excerpt=output[-200:] or None,
        evidence={"failed_launches": failures, "exit_code": measured.log.exit_code if measured.log else None},
        suggestion="Check the error after each launch (cudaGetLastError), and that the program gets the args it needs.",
        confirm="debug (tells the line and the error of every failed launch)",
    )


def _failures(table: LaunchTable) -> dict[str, int]:
    found: dict[str, int] = {}
    for launch in table.launches:
        if launch.error:
            found[error_name(launch.error)] = found.get(error_name(launch.error), 0) + launch.count
    return found


def program_failed(measured: Measured) -> list[Finding]:
    """The program itself ended with an error, or launches failed beside those that ran: the profile may not be all."""
    found: list[Finding] = []
    if measured.log and measured.log.exit_code not in (None, 0):
        found.append(
            Finding(
                rule="profile/program-failed",
                severity="warning",
                message=f"the program ended with exit code {measured.log.exit_code}: the profile may be incomplete",
                suggestion="Make it succeed first.",
                confirm="debug",
            )
        )
    if measured.table and (failures := _failures(measured.table)):
        told = ", ".join(f"{count} with {name}" for name, count in failures.items())
        found.append(
            Finding(
                rule="profile/failed-launches",
                severity="warning",
                message=f"launches failed beside those profiled: {told}",
                evidence={"failed_launches": failures},
                suggestion="Check the error after each launch (cudaGetLastError).",
                confirm="debug",
            )
        )
    return found
