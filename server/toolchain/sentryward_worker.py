"""Prove one kernel race-free, or find a race, with sentryward: a process of its own, because it may run long or crash.

Run as `python -I sentryward_worker.py PTX REQUEST SECONDS` in a work folder. It leaves proof.json (what of the verifier's
report is used, shortened) and exits 0; 3 where sentryward cannot be used, with the reason on stderr. It imports nothing
of warpwise.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

ANSWER = "proof.json"
MEMORY_MIB = 3072
MAX_RACES = 16
MAX_DIAGNOSTICS = 8


def shortened(report: dict[str, Any]) -> dict[str, Any]:
    """The verdict, its diagnostics, the races with their two places, and where a deadlock stands."""
    diagnostics: list[dict[str, Any]] = report.get("diagnostics") or []
    races: list[dict[str, Any]] = report.get("races") or []
    return {
        "result": report.get("result"),
        "checks": report.get("checks"),
        "diagnostics": [
            {"code": each.get("code"), "message": each.get("message")}
            for each in diagnostics[:MAX_DIAGNOSTICS]
        ],
        "races": [
            {
                "first": _access(_part(each, "first")),
                "second": _access(_part(each, "second")),
                "space": _part(each, "region").get("address_space"),
                "allocation": _part(each, "region").get("allocation"),
                "offset_bytes": _part(each, "region").get("offset"),
                "overlap": each.get("overlap"),
            }
            for each in races[:MAX_RACES]
        ],
        "blocked": _blocked(report),
        "elapsed_s": report.get("elapsed_seconds"),
    }


def _part(held: dict[str, Any], name: str) -> dict[str, Any]:
    part: dict[str, Any] = held.get(name) or {}
    return part


def _access(access: dict[str, Any]) -> dict[str, Any]:
    place = _part(access, "location")
    return {
        "file": place.get("file"),
        "line": place.get("line"),
        "thread": access.get("actor"),
        "mode": access.get("mode"),
        "bytes": access.get("bytes"),
    }


def _blocked(report: dict[str, Any]) -> dict[str, Any] | None:
    """The place of the first event that cannot happen: where the threads wait for each other."""
    events: list[int] = _part(_part(report, "rejection"), "blocked").get("events") or []
    sources: list[dict[str, Any]] = report.get("source_events") or []
    places = {each.get("event"): each for each in sources}
    known = [places[event] for event in sorted(events) if event in places]
    return {"file": known[0].get("file"), "line": known[0].get("line")} if known else None


def main(ptx: str, request: str, seconds: str) -> int:
    """Verify and write the answer."""
    try:
        verify: Any = importlib.import_module("sentryward").verify
    except ImportError as error:
        print(f"sentryward unusable: {error}", file=sys.stderr)
        return 3
    report = verify(ptx, input=request, timeout_seconds=float(seconds), memory_limit_mib=MEMORY_MIB)
    Path(ANSWER).write_text(json.dumps(shortened(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
