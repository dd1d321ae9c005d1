"""Writes files back below a client's root, and nowhere else. What it would overwrite is handed out first."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from .blobs import Blobs
from .errors import InvalidRequest, StorageFailure


def targets(root: Path, names: Mapping[str, str]) -> dict[str, Path]:
    """Where each file would lie. Raises InvalidRequest for a name that leaves the root, also through a link."""
    found: dict[str, Path] = {}
    for name in names:
        pure = PurePosixPath(name)
        if not name or "\0" in name or "\\" in name or pure.is_absolute() or ".." in pure.parts:
            raise InvalidRequest(f"the name {name[:80]!r} leaves the root")
        target = root / pure
        if not target.resolve().is_relative_to(root) or target.is_symlink():
            raise InvalidRequest(f"{name[:80]} would be written through a link")
        if target.is_dir() or any(
            parent.is_file() for parent in target.parents if parent.is_relative_to(root)
        ):
            raise InvalidRequest(f"{name[:80]}: a folder or file stands in its way")
        found[name] = target
    return found


def overwritten(places: Mapping[str, Path], files: Mapping[str, str], blobs: Blobs) -> dict[str, str]:
    """{name: digest} of the files whose other content would be lost; that content is kept among the blobs."""
    lost: dict[str, str] = {}
    try:
        for name, place in places.items():
            if place.exists():
                digest, _ = blobs.put_file(place)
                if digest != files[name]:
                    lost[name] = digest
    except OSError as error:
        raise StorageFailure(f"cannot read what would be overwritten: {error}") from error
    return lost


def write_back(places: Mapping[str, Path], files: Mapping[str, str], blobs: Blobs) -> int:
    """Write each file whole or not at all; returns how many changed. Every content is verified before the first write."""
    contents = {name: blobs.read(files[name]) for name in places}
    changed = 0
    try:
        for name, place in places.items():
            if place.is_file() and place.read_bytes() == contents[name]:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            handle, new = tempfile.mkstemp(dir=place.parent, prefix=".warpwise-")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(contents[name])
                    stream.flush()
                    os.fsync(stream.fileno())
                Path(new).chmod(place.stat().st_mode & 0o777 if place.exists() else 0o644)
                Path(new).replace(place)
            finally:
                Path(new).unlink(missing_ok=True)
            changed += 1
    except OSError as error:
        raise StorageFailure(f"cannot write below the root: {error}") from error
    return changed
