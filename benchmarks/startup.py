"""From spawn to the answer of tools/list over stdio, beside a bare SDK server in the same run. Prints JSON."""

import json
import subprocess  # noqa: TID251  # ends the daemon that `connect` started
import sys
import tempfile
import time
from pathlib import Path

from wire import BARE_ARGV, WARPWISE, Program, median

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
SERVERS = {
    "bare_sdk": BARE_ARGV,
    "serve": [WARPWISE, "serve"],
    "connect": [WARPWISE, "connect"],
}


def spawn_to_list_s(argv: list[str], state: Path) -> float:
    """Seconds from the start of the process to the answer."""
    program = Program(argv, state)
    program.greet()
    program.request("tools/list")
    took = time.perf_counter() - program.started
    program.end()
    return took


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        cold = spawn_to_list_s(SERVERS["connect"], state)  # it starts the daemon that the others find
        took: dict[str, list[float]] = {name: [] for name in SERVERS}
        for _ in range(ROUNDS):
            for name, argv in SERVERS.items():
                took[name].append(spawn_to_list_s(argv, state))
        subprocess.run(
            [WARPWISE, "stop"], env={"WARPWISE_STATE": folder, "PATH": "/usr/bin"}, check=True, stdout=2
        )
    bare = median(took["bare_sdk"])
    result = {
        "what": "spawn to tools/list over stdio, median, s",
        "rounds": ROUNDS,
        **{name: round(median(values), 3) for name, values in took.items()},
        "connect_cold": round(cold, 3),
        "serve_ratio": round(median(took["serve"]) / bare, 3),
        "connect_ratio": round(median(took["connect"]) / bare, 3),
        "goal": "serve_ratio <= 1.25",
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
