"""The launcher's process: make a context, wait for the word, do the job, leave the result."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from .device import Device, DriverError
from .job import Job
from .timing import time_programs
from .trials import Outputs, run_trial


def main(arguments: list[str]) -> int:
    """Do the job in the work folder; `--wait` makes the context first and then waits for a line.

    Exits 0 with `result.json` written, whatever the candidate did; 3 where there is no usable GPU.
    """
    try:
        began = time.perf_counter()
        device = Device()
        ready_s = time.perf_counter() - began
    except DriverError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    if arguments == ["--wait"] and not sys.stdin.readline():
        return 0
    _work(device, Path(), ready_s)
    return 0


def _work(device: Device, folder: Path, ready_s: float) -> None:
    outputs = Outputs(folder / "outputs.bin")
    result: dict[str, Any] = {"context_s": ready_s, "trials": [], "timing": None, "l2_bytes": device.l2_bytes}
    try:
        job = Job(folder / "job.json")
        began = time.perf_counter()
        lost = False
        for trial in job.trials:
            done = {"status": "not_run"} if lost else run_trial(device, job, trial, outputs)
            lost = lost or bool(done.get("sticky"))
            result["trials"].append(done)
            if done["status"] == "failed":
                lost = True
        result["trials_s"] = time.perf_counter() - began
        if job.timing is not None and not lost:
            try:
                result["timing"] = time_programs(
                    device, job, (folder / "trusted.cubin").read_bytes(), outputs
                )
            except DriverError as error:
                result["timing"] = {"error": error.name, "call": str(error)}
    finally:
        outputs.close()
        (folder / "result.json").write_text(json.dumps(result))
