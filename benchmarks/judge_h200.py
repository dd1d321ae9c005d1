"""The judge's proof on a GPU, in under four minutes: baselines, variants, mutants, exploits, timing. Resumable.

Each part writes what it found to benchmarks/results/judge_h200.json and is skipped when that holds it already; name parts
to run only these (again). Each part prints one line.
"""

import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import anyio  # noqa: E402  # after the path of the mutants
from exploits.catalogue import FOLDER as EXPLOITS  # noqa: E402
from exploits.catalogue import WORKLOAD as EXPLOITED  # noqa: E402
from exploits.catalogue import tried  # noqa: E402
from judge_work import (  # noqa: E402
    Case,
    Job,
    all_mutants,
    all_variants,
    at_once,
    batches,
    compared,
    same_machine_code,
    sanitized,
    statuses,
)

from warpwise.server.client import Client  # noqa: E402
from warpwise.server.config import Config  # noqa: E402
from warpwise.server.errors import WarpwiseError  # noqa: E402
from warpwise.server.evaluation.shipped import shipped, shipped_workload  # noqa: E402
from warpwise.server.reports.evaluation import EvaluationAnswer  # noqa: E402
from warpwise.server.services import open_services  # noqa: E402
from warpwise.server.tools.evaluation import EvaluateArgs, evaluate  # noqa: E402
from warpwise.server.workbench import Workbench  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "judge_h200.json"
MANIFEST = RESULTS.with_name("judge_mutants.json")
PRESETS = ("tiny", "small", "medium", "large", "xl")
LAST_START_S = 200.0
HEAVY = 6
WIDE = 16
SPIN = 100_000
SPINNING = ROOT / "benchmarks" / "judge_spin.cu"


async def ask(bench: Workbench, **arguments: object) -> EvaluationAnswer:
    """One call of `evaluate`."""
    answer = await evaluate.run(bench, EvaluateArgs.model_validate(arguments))
    assert isinstance(answer, EvaluationAnswer)
    return answer


async def baselines(bench: Workbench, preset: str) -> dict[str, Any]:
    """Every shipped baseline at a preset: values only."""
    wrong: dict[str, str] = {}
    slow: dict[str, float] = {}

    def job(name: str) -> Job:
        async def run() -> None:
            began = time.perf_counter()
            try:
                source = shipped_workload(name).baseline()
                answer = await ask(
                    bench, source=source, workload=name, preset=preset, timing=False, timeout_s=100
                )
                if answer.verdict != "PASS":
                    wrong[name] = f"{answer.summary} {answer.findings[:1]}"[:300]
            except WarpwiseError as error:
                wrong[name] = f"{error.code}: {error.what}"[:300]
            if (took := time.perf_counter() - began) > 20:
                slow[name] = round(took, 1)

        return run

    most = HEAVY if preset in ("large", "xl") else WIDE
    await at_once([job(name) for name in shipped()], most)
    return {"passed": len(shipped()) - len(wrong), "wrong": wrong, "longer than 20 s": slow}


async def verdict_times(bench: Workbench) -> dict[str, Any]:
    """Seconds from a source never seen to its verdict, timing included, one after another, workers warm."""
    found: dict[str, Any] = {}
    for name in shipped():
        took: list[float] = []
        answer = None
        for turn in range(3):
            source = f"{shipped_workload(name).baseline()}\n// {time.time_ns()} {turn}\n"
            await anyio.sleep(0.3)  # an agent thinks between calls: workers are replaced meanwhile
            began = time.perf_counter()
            answer = await ask(bench, source=source, workload=name)
            took.append(time.perf_counter() - began)
        assert answer is not None
        found[name] = {
            "s": round(min(took[1:]), 3),
            "verdict": answer.verdict,
            "comparison": answer.speedup.comparison if answer.speedup else None,
            "phases_ms": dict(answer.measured.phases_ms),
        }
    quick = sum(one["s"] < 0.5 for one in found.values())
    return {"workloads": len(found), "below 0.5 s": quick, "median s": _median(found), "each": found}


def _median(found: dict[str, Any]) -> float:
    return round(float(statistics.median(one["s"] for one in found.values())), 3)


async def vector_add(bench: Workbench) -> dict[str, Any]:
    """A vector add of 2^20 elements, from source to verdict, warm."""
    took: list[float] = []
    answer = None
    for turn in range(5):
        source = (ROOT / "benchmarks/workloads/vector-add/baseline.cu").read_text() + f"// {turn}\n"
        await anyio.sleep(0.3)
        began = time.perf_counter()
        answer = await ask(bench, source=source, workload="benchmarks/workloads/vector-add")
        took.append(time.perf_counter() - began)
    assert answer is not None
    phases = dict(answer.measured.phases_ms)
    return {"s": round(statistics.median(took[1:]), 3), "verdict": answer.verdict, "phases_ms": phases}


async def variants(bench: Workbench) -> dict[str, Any]:
    """Honest variants: none may be rejected."""
    found: list[tuple[Case, str]] = []
    cases = all_variants(bench)

    def job(batch: list[Case]) -> Job:
        async def run() -> None:
            found.extend(await _tried(bench, batch))

        return run

    await at_once([job(batch) for batch in batches(cases, 8)], WIDE)
    rejected = {f"{case.workload}: {case.what}": status for case, status in found if status != "correct"}
    least = min(Counter(case.workload for case in cases).values())
    return {"judged": len(found), "least of a workload": least, "rejected": rejected}


async def _tried(bench: Workbench, batch: list[Case]) -> list[tuple[Case, str]]:
    try:
        return await statuses(bench, batch)
    except WarpwiseError as error:
        return [(case, f"{error.code}: {error.what}"[:200]) for case in batch]


async def mutation(bench: Workbench) -> dict[str, Any]:
    """Mutants, frozen before judging: all must be caught but those that compute the same."""
    cases = all_mutants()
    frozen = [[case.workload, case.what, case.digest] for case in cases]
    MANIFEST.write_text(json.dumps(frozen, indent=0) + "\n")
    found: list[tuple[Case, str]] = []

    def job(batch: list[Case]) -> Job:
        async def run() -> None:
            found.extend(await _tried(bench, batch))

        return run

    await at_once([job(batch) for batch in batches(cases, 12)], WIDE)
    alive = [case for case, status in found if status == "correct" and case.reason is None]
    fates: dict[str, str] = {}

    def last_job(case: Case) -> Job:
        async def run() -> None:
            same = await same_machine_code(bench, case)
            fates[f"{case.workload}: {case.what}"] = (
                "identical machine code" if same else await sanitized(bench, case)
            )

        return run

    await at_once([last_job(case) for case in alive], 4)
    reasons = {f"{case.workload}: {case.what}": case.reason for case, _ in found if case.reason}
    errors = {f"{case.workload}: {case.what}": status for case, status in found if ": " in status}
    return {
        "judged": len(found),
        "statuses": Counter(status.partition(":")[0] for _, status in found),
        "excused by a written reason": reasons,
        "identical machine code": [what for what, fate in fates.items() if fate.startswith("identical")],
        "caught by sanitizers": [what for what, fate in fates.items() if fate == "sanitizer_error"],
        "survivors": {what: fate for what, fate in fates.items() if fate == "correct"},
        "errors": errors,
    }


async def exploits(bench: Workbench) -> dict[str, Any]:
    """Every exploit that device code can express, and its honest twin."""
    missed: dict[str, str] = {}
    for entry in tried():
        path = f"{EXPLOITS.relative_to(ROOT)}/kernels/{entry.kernel}.cu"
        for exploit in (0, 1):
            answer = await ask(
                bench, path=path, workload=EXPLOITED, defines={"EXPLOIT": exploit}, timeout_s=8
            )
            right = answer.status in entry.statuses if exploit else answer.verdict in ("PASS", "FAST")
            if not right or (exploit and entry.kernel == "pinned_lines" and answer.verdict == "FAST"):
                missed[f"{entry.kernel} EXPLOIT={exploit}"] = answer.summary
    return {"pairs": len(tried()), "missed": missed}


async def planted(bench: Workbench) -> dict[str, Any]:
    """Slowdowns of 5 % and of 3 %, planted in a kernel of 54 us, 40 times each."""
    workload, source = shipped_workload(EXPLOITED), SPINNING.read_text()
    found: dict[str, Counter[str]] = {}
    for percent in (5, 3):
        told = found.setdefault(f"{percent} %", Counter())
        slow = SPIN + (SPIN + 7000) * percent // 100

        def job(turn: int, slow: int = slow, told: Counter[str] = told) -> Job:
            async def run() -> None:
                pair = [
                    Case(EXPLOITED, name, f"{source}// {name}{turn}\n", {"SPIN": str(cycles)})
                    for name, cycles in (("a", slow), ("b", SPIN))
                ]
                told[await compared(bench, pair, workload)] += 1

            return run

        await at_once([job(turn) for turn in range(40)], 4)
    return {name: dict(told) for name, told in found.items()}


async def with_itself(bench: Workbench) -> dict[str, Any]:
    """A kernel against itself, 200 times: at most 5 may come out FASTER or SLOWER."""
    told: Counter[str] = Counter()
    chosen = [("gemm", "tiny"), ("softmax", "tiny"), ("gemm", "small"), ("transpose", "medium")]

    def job(turn: int) -> Job:
        async def run() -> None:
            name, preset = chosen[turn % len(chosen)]
            source = shipped_workload(name).baseline()
            pair = [Case(name, which, f"{source}\n// {which}{turn}\n") for which in "ab"]
            told[f"{name} {preset} {await compared(bench, pair, shipped_workload(name), preset)}"] += 1

        return run

    await at_once([job(turn) for turn in range(200)], 4)
    wrong = sum(count for what, count in told.items() if what.endswith(("FASTER", "SLOWER")))
    return {"comparisons": sum(told.values()), "told apart": wrong, "each": dict(told)}


PARTS: dict[str, Callable[[Workbench], Awaitable[dict[str, Any]]]] = {
    "verdict_times": verdict_times,
    "vector_add": vector_add,
    "exploits": exploits,
    "variants": variants,
    "planted": planted,
    "with_itself": with_itself,
    "mutation": mutation,
    **{f"baselines_{preset}": partial(baselines, preset=preset) for preset in PRESETS},
}


async def main(chosen: list[str]) -> None:
    """Run what is missing, or what is chosen, and print the table."""
    held: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    started = time.perf_counter()
    for name, part in PARTS.items():
        if name not in chosen if chosen else name in held:
            continue
        if time.perf_counter() - started > LAST_START_S:
            print(f"out of time before {name}: run it again")
            return
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(
            prefix="warpwise-judge-"
        ) as state:  # the xl sets alone take tens of GB
            async with open_services(Config(Path(state), (ROOT,))) as services:
                held["GPU"] = dict(services.gpus.facts())
                held[name] = await part(Workbench(services, Client("proof", (ROOT,))))
        held[name]["took_s"] = round(time.perf_counter() - began, 1)
        RESULTS.write_text(json.dumps(held, indent=1) + "\n")
        print(f"{name}: {_short(held[name])}", flush=True)


def _short(found: dict[str, Any]) -> str:
    """One line: numbers and texts as they are, of the rest the size and the first few."""
    parts: list[str] = []
    for name, value in found.items():
        text = value if isinstance(value, str) else json.dumps(value)
        text = text if len(text) <= 400 else f"{text[:400]}..."
        parts.append(f"{name} {text}")
    return "; ".join(parts)[:1500]


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
