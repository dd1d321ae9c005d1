"""Bytes by their digest: immutable, zstd-compressed files below one folder. It knows nothing of what they mean."""

import fcntl
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard

from .errors import NotFound, StorageFailure

_CHUNK = 1 << 20


class Blobs:
    """A content-addressed folder: `put` returns the sha256, `open` streams the bytes back, digest verified on `read`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._durable: set[tuple[Path, int]] = set()

    def path(self, digest: str) -> Path:
        """Where the compressed blob of a digest lies (or would lie)."""
        return self.folder / digest[:2] / f"{digest[2:]}.zst"

    def holds(self, digest: str) -> bool:
        """Whether the bytes of this digest are kept."""
        return self.path(digest).is_file()

    def put(self, content: bytes) -> str:
        """Keep the bytes and return their sha256 in hex."""
        return self.put_stream(io.BytesIO(content))[0]

    def put_file(self, path: Path) -> tuple[str, int]:
        """Keep a file's bytes; returns (sha256, size in bytes)."""
        with path.open("rb") as stream:
            return self.put_stream(stream)

    def put_stream(self, stream: BinaryIO) -> tuple[str, int]:
        """Keep all of a stream; returns (sha256, size in bytes). Raises StorageFailure on a full disk.

        The bytes outlive this process at once; to outlive a power failure too, `make_durable` them.
        """
        try:
            return self._put_stream(stream)
        except OSError as error:
            raise StorageFailure(f"cannot write below {self.folder}: {error.strerror or error}") from error

    def _put_stream(self, stream: BinaryIO) -> tuple[str, int]:
        self.folder.mkdir(parents=True, exist_ok=True)
        hasher, size = hashlib.sha256(), 0
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as raw:
                with zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as packed:
                    while chunk := stream.read(_CHUNK):
                        hasher.update(chunk)
                        size += len(chunk)
                        packed.write(chunk)
                raw.flush()
            digest = hasher.hexdigest()
            target = self.path(digest)
            with self._guarded(fcntl.LOCK_SH):
                if target.is_file():
                    os.utime(target)  # it is wanted again: a collection leaves young blobs alone
                    return digest, size
                target.parent.mkdir(exist_ok=True)
                Path(name).replace(target)
            return digest, size
        finally:
            Path(name).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """Every digest that is kept, in no order."""
        for path in self.folder.glob("??/*.zst"):
            yield path.parent.name + path.name.removesuffix(".zst")

    def unfinished(self) -> Iterator[Path]:
        """The files of writes that did not end: under way, or cut off by a kill."""
        yield from self.folder.glob(".new-*")

    def discard(self, path: Path, before: float) -> int:
        """Remove a file of ours that nobody touched since `before` (Unix time); returns its bytes, else 0."""
        with self._guarded(fcntl.LOCK_EX):
            try:
                stat = path.stat()
                if stat.st_mtime >= before:
                    return 0
                path.unlink()
                return stat.st_size
            except FileNotFoundError:
                return 0

    @contextmanager
    def _guarded(self, how: int) -> Generator[None, None, None]:
        """Keep a collection and a writer that finds its blob already kept apart, also across processes."""
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)

    def make_durable(self, digests: Iterable[str]) -> None:
        """Let these blobs outlive a power failure. Raises StorageFailure where one is missing or cannot be synced."""
        try:
            new = [(path, path.stat().st_ino) for path in map(self.path, sorted(set(digests)))]
            new = [one for one in new if one not in self._durable]
            paths = [path for path, _ in new]
            for synced in (*paths, *sorted({path.parent for path in paths})):
                handle = os.open(synced, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
            self._durable.update(new)
        except OSError as error:
            raise StorageFailure(f"cannot sync below {self.folder}: {error.strerror or error}") from error

    @contextmanager
    def open(self, digest: str) -> Generator[BinaryIO, None, None]:
        """Stream a blob's bytes without holding them all. Raises NotFound for an unknown digest."""
        path = self.path(digest)
        if not path.is_file():
            raise NotFound(
                f"no stored bytes with digest {digest[:12]}", "It may have been collected: make it anew."
            )
        try:
            with path.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
                yield stream  # pyright: ignore[reportReturnType]  # a BinaryIO in all but its declared base
        except zstandard.ZstdError as error:
            raise StorageFailure(
                f"blob {digest[:12]} is damaged: {error}", "Run `warpwise store check`."
            ) from error

    def read(self, digest: str) -> bytes:
        """All bytes of a blob, their digest verified. Raises StorageFailure where they were tampered with."""
        with self.open(digest) as stream:
            content = stream.read()
        if hashlib.sha256(content).hexdigest() != digest:
            raise StorageFailure(
                f"blob {digest[:12]} does not match its digest", "Run `warpwise store check`."
            )
        return content

    def extract(self, digest: str, target: Path) -> None:
        """Write a blob's bytes to a file."""
        with self.open(digest) as stream, target.open("wb") as out:
            shutil.copyfileobj(stream, out, _CHUNK)
