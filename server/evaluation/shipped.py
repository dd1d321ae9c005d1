"""The workloads that come with warpwise, and those in a user's folders, by name."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..errors import InvalidRequest, NotFound
from .names import did_you_mean
from .workload import Workload
from .workload_file import FILE, load

FOLDER = Path(__file__).resolve().parent.parent / "workloads"


@cache
def shipped() -> tuple[str, ...]:
    """The names of all shipped workloads, sorted."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}")))


@cache
def shipped_workload(name: str) -> Workload:
    """One shipped workload. Raises NotFound, with the nearest name."""
    if name not in shipped():
        raise NotFound(f"there is no workload `{name[:80]}`", did_you_mean(name, shipped()))
    return load(FOLDER / name)


def find(name: str, roots: Iterable[Path] = ()) -> Workload:
    """A workload by its shipped name, or by a folder (`./mine`, `problems/mine`) below one of the roots.

    Raises NotFound, InvalidRequest for a path outside every root, BadWorkload.
    """
    if name in shipped() or ("/" not in name and not name.startswith(".")):
        return shipped_workload(name)
    if "\0" in name:
        raise InvalidRequest(f"not a folder: {name[:200]!r}")
    inside = False
    for root in roots:
        folder = (root / name).resolve()
        if folder.is_relative_to(root.resolve()):
            inside = True
            if _has_file(folder):
                return load(folder)
    if not inside:
        raise InvalidRequest(f"{name[:200]} lies outside the root", "Name a folder below the root.")
    raise NotFound(
        f"no {FILE} in {name[:200]}", "A workload is a folder with workload.toml, oracle.py and baseline.cu."
    )


def _has_file(folder: Path) -> bool:
    try:
        return (folder / FILE).is_file()
    except OSError:  # a name too long for the file system
        return False
