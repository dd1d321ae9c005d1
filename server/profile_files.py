"""The files of a profile: an existing report taken in from a client's folder, and the vendor's text kept for paging."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio.to_thread

from .blobs import Blobs
from .candidate import Candidate, resolve
from .command import Input, source_input
from .errors import InvalidRequest, Unavailable
from .profiling import read_report
from .reports.answer import Artifact
from .toolchain import ncu
from .toolchain.ncu_report import Reading
from .workbench import Workbench

MAX_REPORT_BYTES = 512 << 20


async def kept_report(bench: Workbench, path: str) -> Input:
    """A report below the client's root as an input. Raises InvalidRequest, NotFound; too large is said before reading."""
    _, found = resolve(bench.client, path)
    size = found.stat().st_size
    if size > MAX_REPORT_BYTES:
        raise InvalidRequest(f"{path} has {size:,} bytes; a report may have {MAX_REPORT_BYTES:,}")
    return source_input(await anyio.to_thread.run_sync(_keep, bench.blobs, found))


def _keep(blobs: Blobs, path: Path) -> str:
    """Its digest; packed only when it is not kept already."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return digest if blobs.holds(digest) else blobs.put_file(path)[0]
    except PermissionError as error:
        raise InvalidRequest(f"cannot read {path.name}: {error.strerror}") from error


async def vendor_text(bench: Workbench, reports: Sequence[Input]) -> tuple[Artifact, ...]:
    """What ncu itself prints for each report; without ncu, every metric as a table."""
    found: list[Artifact] = []
    for number, report in enumerate(reports, 1):
        name = "ncu-details.txt" if len(reports) == 1 else f"ncu-details-{number}.txt"
        found.append(bench.keep_artifact(name, await _details(bench, report), "profiler"))
    return tuple(found)


async def _details(bench: Workbench, report: Input) -> bytes:
    try:
        printed = await bench.run(ncu.details_command(report))
        if printed.exit_code == 0 and printed.stdout:
            return printed.stdout
    except Unavailable:
        pass
    readings = await read_report(bench, report, None, ("*",))
    return "\n".join(line for reading in readings for line in _table(reading)).encode()


def _table(reading: Reading) -> list[str]:
    rows = [f"# {reading.demangled}"]
    rows += [
        f"{name}\t{value}\t{reading.units.get(name, '')}".rstrip() for name, value in reading.metrics.items()
    ]
    rows += [f"## {rule.rule} {rule.title}\t{rule.message}" for rule in reading.rules]
    return rows


def lines_of(bench: Workbench, candidate: Candidate) -> Callable[[str, int], str | None]:
    """The stripped lines of the candidate's files, each file read at most once."""
    texts: dict[str, list[str]] = {}

    def line(file: str, number: int) -> str | None:
        if file not in texts:
            texts[file] = bench.blobs.read(candidate.files[file]).decode("utf-8", "replace").splitlines()
        return texts[file][number - 1].strip() if 0 < number <= len(texts[file]) else None

    return line
