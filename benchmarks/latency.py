"""A tool that does nothing, called over stdio, beside a bare SDK server in the same run. Prints JSON."""

import json
import sys
import tempfile
import time
from pathlib import Path

from wire import BARE_ARGV, WARPWISE, Program, median

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
ROUNDS = 5
SERVE = [WARPWISE, "serve"]
SERVED = {
    "bare_sdk": (BARE_ARGV, "noop"),
    "inline_tool": (SERVE, "probe_root"),
    "job_tool": (SERVE, "probe_work"),
}


def calls_ms(program: Program, tool: str) -> list[float]:
    """Milliseconds of each of one round's calls."""
    took: list[float] = []
    for _ in range(CALLS):
        started = time.perf_counter()
        program.request("tools/call", name=tool, arguments={})
        took.append((time.perf_counter() - started) * 1e3)
    return took


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        running = {name: (Program(argv, Path(folder)), tool) for name, (argv, tool) in SERVED.items()}
        took: dict[str, list[float]] = {name: [] for name in SERVED}
        for program, _ in running.values():
            program.greet()
        for _ in range(ROUNDS):
            for name, (program, tool) in running.items():
                took[name].append(median(calls_ms(program, tool)))
        for program, _ in running.values():
            program.end()
    bare = median(took["bare_sdk"])
    result = {
        "what": "no-op call over stdio, median of the rounds' p50, ms",
        "calls": CALLS * ROUNDS,
        **{name: round(median(values), 3) for name, values in took.items()},
        "inline_ratio": round(median(took["inline_tool"]) / bare, 3),
        "job_ratio": round(median(took["job_tool"]) / bare, 3),
        "goal": "inline_ratio <= 1.5",
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
