"""Who may read the GPU's hardware counters, as the driver was loaded and as this process stands. It profiles nothing."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
_ADMIN_ONLY = "RmProfilingAdminOnly"
_REMEDY = "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root"


@dataclass(frozen=True, slots=True)
class CounterAccess:
    """Whether counters can be read (None: the driver does not tell), why, and what would change it."""

    allowed: bool | None
    why: str
    mend: str | None = None


def counter_access(
    parameters: str | None, *, is_root: bool, sandbox: Literal["bubblewrap", "none"]
) -> CounterAccess:
    """The access that the driver's parameters give (the text of its `params` file; None where it cannot be read)."""
    values = dict(line.split(":", 1) for line in (parameters or "").splitlines() if ":" in line)
    admin_only = values.get(_ADMIN_ONLY, "").strip()
    if admin_only == "0":
        return CounterAccess(True, "the driver lets every user read them")
    if admin_only != "1":
        return CounterAccess(None, "the driver does not say who may read them; profile tries", None)
    if not is_root:
        return CounterAccess(False, "the driver lets only administrators read them", _REMEDY)
    if sandbox == "bubblewrap":
        why = "root may read them; the sandbox's user namespace may not: if profile is refused, that is why"
        return CounterAccess(
            True, why, "WARPWISE_SANDBOX=off for profiling, or NVreg_RestrictProfilingToAdminUsers=0"
        )
    return CounterAccess(True, "root may read them")


def this_machine(sandbox: Literal["bubblewrap", "none"]) -> CounterAccess:
    """The access of this process."""
    try:
        parameters = DRIVER_PARAMETERS.read_text()
    except OSError:
        parameters = None
    return counter_access(parameters, is_root=os.geteuid() == 0, sandbox=sandbox)
