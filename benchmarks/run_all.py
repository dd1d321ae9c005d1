"""Every benchmark that this machine can run, one after another; each one's JSON goes to benchmarks/results/.

    python benchmarks/run_all.py [NAME ...]

Those that need a GPU are left out where there is none, and said so; the long studies run only when named.
"""

import json
import os
import subprocess  # noqa: TID251  # a benchmark, not the daemon, starts the others
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pynvml

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
ALWAYS = ("startup", "latency", "answers", "repeated_call")
WITH_GPU = ("sanitizers", "judge_h200")
STUDIES = ("attribution_speed", "attribution_planner", "attribution_coverage", "attribution_browser")
KEEPS_ITS_OWN = {"judge_h200", *STUDIES}
DEADLINE_S = 1800


nvml: Any = pynvml  # its functions carry no types


def machine() -> tuple[str, bool]:
    """This machine in words, and whether it has a GPU."""
    try:
        nvml.nvmlInit()
        name = nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(0))
        driver = nvml.nvmlSystemGetDriverVersion()
    except pynvml.NVMLError:
        return f"{os.cpu_count()} cores, no GPU", False
    return f"{name}, driver {driver}", True


def run(name: str, where: str) -> str | None:
    """Run one and keep its result; returns why it failed, or None."""
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / f"{name}.py")],
            check=False,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {DEADLINE_S} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    if name not in KEEPS_ITS_OWN:
        told: dict[str, Any] = {"date": datetime.now(UTC).date().isoformat(), "machine": where}
        told |= json.loads(done.stdout)
        (RESULTS / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")
    return None


def main(asked: list[str]) -> int:
    where, has_gpu = machine()
    RESULTS.mkdir(exist_ok=True)
    unknown = set(asked) - {*ALWAYS, *WITH_GPU, *STUDIES}
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    failed = False
    for name in asked or (*ALWAYS, *WITH_GPU):
        if name in WITH_GPU and not has_gpu:
            print(f"{name}: left out, needs a GPU")
            continue
        reason = run(name, where)
        failed = failed or reason is not None
        print(f"{name}: {reason or f'results/{name}.json'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
