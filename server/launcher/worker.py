"""The launcher's process: make a context, wait for the word, do the job, leave the result."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from .device import Device, DriverError
from .job import Job
from .timing import time_programs
from .trials import Outputs, run_trial


def main(arguments: list[str]) -> int:
    """Do the job in the work folder. `--wait` says `loaded`, after a line makes the context, says `ready`, awaits a line.

    Exits 0 with `result.json` written, whatever the candidate did; 3 where there is no usable GPU.
    """
    waits = arguments == ["--wait"]
    if waits and not _told("loaded"):
        return 0
    try:
        began = time.perf_counter()
        device = Device()
        ready_s = time.perf_counter() - began
    except DriverError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    if waits and not _told("ready"):
        return 0
    if not _work(device, Path(), ready_s):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # everything is written: what Python would still tidy up goes with the process
    return 0


def _told(word: str) -> bool:
    """Say a word and wait for a line; whether one came."""
    print(word, flush=True)
    return bool(sys.stdin.readline())


def _work(device: Device, folder: Path, ready_s: float) -> bool:
    """Do the job; whether a sanitizer watches, which wants a process to end in the common way."""
    began = time.perf_counter()
    job = Job(folder / "job.json")
    outputs = Outputs(folder / "outputs.bin")
    result: dict[str, Any] = {"context_s": ready_s, "timing": None}
    result["trials"], lost = _trials(device, job, outputs)
    result["trials_s"] = time.perf_counter() - began
    if job.timing is not None and not lost:
        job.mark("timing")
        trusted = (folder / "trusted.cubin").read_bytes()
        try:
            result["timing"] = time_programs(device, job, trusted, outputs)
        except DriverError as error:
            result["timing"] = {"error": error.name, "call": str(error), "program": None}
    outputs.close()
    (folder / "result.json").write_text(json.dumps(result))
    return job.debug


def _trials(device: Device, job: Job, outputs: Outputs) -> tuple[list[dict[str, Any]], bool]:
    """All trials in order, and whether one of them failed: then nothing is timed."""
    done: list[dict[str, Any]] = []
    failed: set[str] = set()
    lost = False
    for trial in job.trials:
        program = trial["program"]
        if lost or program in failed:
            done.append({"status": "not_run"})
            continue
        job.mark(program)
        result, sticky = run_trial(device, job, trial, outputs)
        lost = lost or sticky
        if result["status"] == "failed":
            failed.add(program)
        done.append(result)
    return done, bool(failed)
