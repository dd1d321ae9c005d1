"""Reads one Nsight Compute report in a process of its own. Run as a file; it imports nothing of warpwise.

stdin: {"mode": "list" | "read", "report": FILE, "kernel": NAME or REGEX or null, "launches": [INDEX] or null,
"metrics": [PATTERN]}. It writes `profile.json`: the answer, or {"error": {"kind", "what"}}. Nothing is judged here:
counters of single instructions are only added up by source line. The library answers garbage with an empty report or
with a launch without a name, and can crash on it: so the file's records are walked first, and the caller expects a death.
"""

import dataclasses
import fnmatch
import json
import math
import os
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

MAGIC = b"NVR\0"
KNOWN_HEADER = b"\x08\x07"  # file version 7: a chain of length-prefixed records up to the end
MAX_LAUNCHES = 20_000
MAX_LINES, MAX_ACCESSES = 200, 400
MAX_TEXT = 400
MEMORY_LIMIT_BYTES = 24 << 30
STALL = "smsp__pcsamp_warps_issue_stalled_"
Native: TypeAlias = Any  # an object of the library, which carries no types
SCOPES = {1: "local", 2: "global"}  # the library's SpeedupType
SPACES = (
    ("global", "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"),
    ("local", "memory_l2_theoretical_sectors_local", None),
    ("shared", "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"),
)


class Refused(Exception):
    """What makes an answer impossible: (kind, what), the kind one of report, filter, launch, library."""


def check_file(path: Path) -> None:
    """Refuse what is no report, or one that was cut off."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        if stream.read(4) != MAGIC:
            raise Refused("report", "it does not begin like an Nsight Compute report")
        prefix = stream.read(4)
        header = stream.read(int.from_bytes(prefix, "little")) if prefix == b"\x02\0\0\0" else b""
        if header != KNOWN_HEADER:
            return
        while stream.tell() < size:
            prefix = stream.read(4)
            if len(prefix) < 4 or stream.tell() + int.from_bytes(prefix, "little") > size:
                raise Refused("report", f"it is cut off or damaged at byte {stream.tell():,} of {size:,}")
            stream.seek(int.from_bytes(prefix, "little"), os.SEEK_CUR)


def load(path: Path) -> list[Native]:
    """Every launch in order. The module beside this machine's ncu wins over the installed package."""
    if home := os.environ.get("WARPWISE_NCU_PYTHON"):
        sys.path.insert(0, home)
    try:
        import ncu_report  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise Refused("library", f"ncu_report cannot be imported: {error}") from error
    library: Native = ncu_report
    context = library.load_report(str(path))
    groups = [context.range_by_idx(i) for i in range(context.num_ranges())]
    actions = [group.action_by_idx(i) for group in groups for i in range(group.num_actions())]
    if not actions:
        raise Refused("report", "it holds no profiled launch")
    for number, action in enumerate(actions, 1):
        if not action.name() or not action.name(action.NameBase_MANGLED):
            raise Refused("report", f"launch {number} of {len(actions)} is damaged, or of a newer ncu")
    return actions


def metric(action: Native, name: str) -> float | int | str | None:
    """A metric's value as JSON can hold it, or None."""
    found = action.metric_by_name(name)
    if found is None or not found.has_value():
        return None
    value: float | int | str = found.value()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value[:MAX_TEXT] if isinstance(value, str) else value


def instances(action: Native, name: str) -> dict[int, int]:
    """{instruction address: value} of a metric that was collected for each instruction."""
    found = action.metric_by_name(name)
    if found is None or not found.has_correlation_ids():
        return {}
    addresses = found.correlation_ids()
    return {addresses.as_uint64(i): found.as_uint64(i) for i in range(found.num_instances())}


def shape(action: Native, what: str) -> list[int] | None:
    """The three sides of the grid or block."""
    sides = [metric(action, f"launch__{what}_dim_{axis}") for axis in "xyz"]
    numbers = [int(side) for side in sides if isinstance(side, int | float)]
    return numbers if len(numbers) == len(sides) else None


def head(index: int, action: Native) -> dict[str, Any]:
    """What identifies a launch, and how long it took."""
    return {
        "index": index,
        "name": action.name()[:MAX_TEXT],
        "demangled": (action.name(action.NameBase_DEMANGLED) or action.name())[:MAX_TEXT],
        "mangled": action.name(action.NameBase_MANGLED)[:2000],
        "device": metric(action, "device__attribute_display_name"),
        "grid": shape(action, "grid"),
        "block": shape(action, "block"),
        "duration_ns": metric(action, "gpu__time_duration.sum"),
    }


def matcher(wanted: str | None, heads: list[dict[str, Any]]) -> Callable[[dict[str, Any]], bool]:
    """Whether a launch is wanted: by exact name if any launch bears it, else by a regular expression in its signature."""
    if wanted is None:
        return lambda launch: True
    pattern = wanted.removeprefix("regex:")

    def is_named(launch: dict[str, Any]) -> bool:
        return wanted in (launch["name"], launch["demangled"], launch["mangled"])

    if pattern == wanted and any(is_named(launch) for launch in heads):
        return is_named
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        what = f"{pattern[:60]!r} is neither a name nor a regular expression: {error}"
        raise Refused("filter", what) from error
    return lambda launch: bool(compiled.search(launch["demangled"]))


def operation(sass: str) -> str:
    """load, store, atomic or copy, by the instruction's name."""
    opcode = re.sub(r"^@\S+ ", "", sass)
    if opcode.startswith(("ATOM", "RED")):
        return "atomic"
    if opcode.startswith("LDGSTS"):
        return "copy"
    return "store" if opcode.startswith(("ST", "UST")) else "load"


@dataclasses.dataclass
class Line:
    """What the instructions of one source line did; `top` is the most sampled one's count, `sass` its text."""

    file: str
    line: int
    text: str | None
    samples: int = 0
    instructions: int = 0
    top: int = 0
    sass: str | None = None
    stalls: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    rows: dict[tuple[object, ...], dict[str, Any]] = dataclasses.field(
        default_factory=dict[tuple[object, ...], dict[str, Any]]
    )


class Lines:
    """Counters of single instructions, added up by source line; memory instructions of one line and ratio together."""

    def __init__(self, action: Native) -> None:
        self._action = action
        self._sources = {path: text.splitlines() for path, text in dict(action.source_files()).items()}
        self._found: dict[tuple[str, int], Line] = {}

    def at(self, address: int) -> Line:
        """The line that an instruction belongs to."""
        info = self._action.source_info(address)
        file, number = (info.file_name() or "", info.line()) if info else ("", 0)
        if (file, number) not in self._found:
            source = self._sources.get(file, [])
            text = source[number - 1].strip()[:MAX_TEXT] if 0 < number <= len(source) else None
            self._found[file, number] = Line(file.removeprefix("/w/")[:MAX_TEXT], number, text)
        return self._found[file, number]

    def sass(self, address: int) -> str:
        """One instruction's text."""
        return " ".join((self._action.sass_by_pc(address) or "").split())[:MAX_TEXT]

    def collect(self) -> None:
        """Add up what was counted: instructions, samples and their reasons, memory accesses."""
        executed = instances(self._action, "inst_executed")
        for address, count in executed.items():
            self.at(address).instructions += count
        for address, count in instances(self._action, "smsp__pcsamp_sample_count").items():
            line = self.at(address)
            line.samples += count
            if count > line.top:
                line.top, line.sass = count, self.sass(address)
        for name in self._action.metric_names():
            if name.startswith(STALL) and not name.endswith("_not_issued"):
                self._add_stalls(name)
        for space, actual, ideal in SPACES:
            ideals = instances(self._action, ideal) if ideal else {}
            for address, units in instances(self._action, actual).items():
                if requests := executed.get(address, 0):
                    self._add_access(space, address, (requests, units, ideals.get(address)))

    def _add_stalls(self, name: str) -> None:
        reason = name.removeprefix(STALL)
        for address, count in instances(self._action, name).items():
            if count:
                stalls = self.at(address).stalls
                stalls[reason] = stalls.get(reason, 0) + count

    def _add_access(self, space: str, address: int, counted: tuple[int, int, int | None]) -> None:
        sass = self.sass(address)
        requests, units, ideal = counted
        per_request = None if ideal is None else round(ideal / requests, 1)
        key = (space, operation(sass), round(units / requests, 1), per_request)
        start = {"instructions": 0, "requests": 0, "units": 0, "ideal": None if ideal is None else 0}
        row = self.at(address).rows.setdefault(key, {"space": space, "op": key[1], "sass": sass, **start})
        for name, count in (("instructions", 1), ("requests", requests), ("units", units), ("ideal", ideal)):
            if count is not None:
                row[name] += count

    def answer(self) -> tuple[list[dict[str, Any]], int]:
        """The lines that matter, hottest first, the worst accesses of each first, and how many lines were left out."""
        lines = sorted(self._found.values(), key=lambda line: (-line.samples, -line.instructions, line.line))
        kept: list[dict[str, Any]] = []
        room = MAX_ACCESSES
        for number, line in enumerate(lines):
            rows = sorted(line.rows.values(), key=lambda row: (row["ideal"] or 0) - row["units"])[:room]
            if number < MAX_LINES or rows:
                kept.append({**vars(line), "accesses": rows})
                del kept[-1]["rows"], kept[-1]["top"]
                room -= len(rows)
        return kept, len(lines) - len(kept)


def rules(action: Native) -> list[dict[str, Any]]:
    """What the vendor's own rules say, their markup taken away."""
    found: list[dict[str, Any]] = []
    for rule in action.rule_results_as_dicts():
        message: dict[str, str] = rule.get("rule_message") or {}
        estimate: dict[str, Any] = rule.get("speedup_estimation") or {}
        text = re.sub(r"@(?:section|url):(?:[^:@]*:)?([^@]*)@", r"\1", message.get("message") or "")[:2000]
        if text:
            known = {"rule": rule["rule_identifier"], "title": message.get("title") or "", "message": text}
            scope = SCOPES.get(estimate.get("type", 0))
            found.append({**known, "estimate_pct": estimate.get("speedup"), "scope": scope})
    return found


def read_launch(index: int, action: Native, pattern: re.Pattern[str]) -> dict[str, Any]:
    """All that is asked of one launch."""
    names = sorted(name for name in action.metric_names() if pattern.match(name))
    values = {name: value for name in names if (value := metric(action, name)) is not None}
    lines = Lines(action)
    lines.collect()
    kept, left_out = lines.answer()
    return {
        **head(index, action),
        "metrics": values,
        "units": {name: unit for name in values if (unit := action.metric_by_name(name).unit())},
        "rules": rules(action),
        "lines": kept,
        "lines_left_out": left_out,
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What was asked. Raises Refused."""
    path = Path(request["report"])
    check_file(path)
    actions = load(path)
    if request["mode"] == "list":
        heads = [head(index, action) for index, action in enumerate(actions[:MAX_LAUNCHES])]
        is_wanted = matcher(request.get("kernel"), heads)
        launches = [{**launch, "wanted": is_wanted(launch)} for launch in heads]
        return {"launches": launches, "left_out": len(actions) - len(heads)}
    wanted = request.get("launches")
    chosen = range(len(actions)) if wanted is None else wanted
    if any(not 0 <= index < len(actions) for index in chosen):
        raise Refused("launch", f"it holds {len(actions)} launches, not the ones asked for")
    pattern = re.compile("|".join(fnmatch.translate(name) for name in request["metrics"]))
    return {"readings": [read_launch(index, actions[index], pattern) for index in chosen]}


def main() -> None:
    """One request, one answer."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, resource.RLIM_INFINITY))
    try:
        found = answer(json.load(sys.stdin))
    except Refused as refused:
        found = {"error": dict(zip(("kind", "what"), refused.args, strict=True))}
    except (MemoryError, TypeError, ValueError, RuntimeError, SystemError) as error:
        found = {"error": {"kind": "report", "what": f"damaged: {type(error).__name__}: {error}"[:MAX_TEXT]}}
    Path("profile.json").write_text(json.dumps(found, allow_nan=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
