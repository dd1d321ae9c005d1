"""A candidate: one version of the source offered by a client, with the files it includes. It is read here, never run."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .blobs import Blobs
from .client import Client
from .command import Input, source_input
from .errors import InvalidRequest, NotFound

MAX_SOURCE_BYTES = 4 << 20
MAX_INCLUDED_FILES = 500
MAX_PATH_CHARACTERS = 4096
INLINE_NAME = "kernel.cu"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_SYSTEM_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>", re.MULTILINE)
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_MAIN = re.compile(r"\b(?:int|auto)\s+main\s*\(")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A main source file and its include closure. `id` is `c-` and 16 hex of names, bytes, defines and flags.

    `files` maps a name, relative to the main file's root, to the sha256 of its bytes; all are kept in the blobs.
    `source` is the main file's text, `included` that of all others.
    """

    id: str
    main: str
    files: Mapping[str, str]
    defines: Mapping[str, str]
    flags: tuple[str, ...]
    source: str
    included: str = ""

    @property
    def is_program(self) -> bool:
        """Whether it has a `main` of its own; otherwise it is kernel-only or a library."""
        return bool(_MAIN.search(code_only(self.source)) or _MAIN.search(code_only(self.included)))

    @property
    def launches(self) -> bool:
        """Whether it holds a `<<<...>>>` launch, so host code that NVRTC cannot take."""
        return "<<<" in code_only(self.source) or "<<<" in code_only(self.included)

    def inputs(self) -> dict[str, Input]:
        """All of its files as the inputs of a command."""
        return {name: source_input(digest) for name, digest in self.files.items()}

    def line(self, number: int) -> str | None:
        """One line of the main source, counted from 1, without trailing space."""
        lines = self.source.splitlines()
        return lines[number - 1].rstrip() if 0 < number <= len(lines) else None

    def manifest(self) -> bytes:
        """Everything that identifies it, as canonical JSON."""
        return _manifest(self.main, self.files, self.defines, self.flags)


def code_only(source: str) -> str:
    """The source with comments and string literals blanked, lengths and line breaks kept."""
    return _NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)


def from_path(
    client: Client, path: str, defines: Mapping[str, str], flags: tuple[str, ...], blobs: Blobs
) -> Candidate:
    """Read a file below one of the client's roots, with every `#include "..."` it reaches below the same root."""
    root, main = resolve(client, path)
    files: dict[str, bytes] = {}
    named = [root / folder for folder in _include_folders(flags)]
    waiting = [main]
    while waiting:
        current = waiting.pop()
        name = current.relative_to(root).as_posix()
        if name in files:
            continue
        if len(files) >= MAX_INCLUDED_FILES:
            raise InvalidRequest(
                f"{path} includes more than {MAX_INCLUDED_FILES} files", "Offer a smaller unit."
            )
        files[name] = read_source(current)
        text = files[name].decode()
        waiting += _found(_INCLUDE.findall(text), (current.parent, root, *named), root)
        waiting += _found(_SYSTEM_INCLUDE.findall(text), named, root)
    return build(main.relative_to(root).as_posix(), files, defines, flags, blobs)


def from_source(source: str, defines: Mapping[str, str], flags: tuple[str, ...], blobs: Blobs) -> Candidate:
    """A candidate of inline text; it can include nothing but the toolkit's own headers."""
    content = source.encode()
    _require_source(content, "source")
    return build(INLINE_NAME, {INLINE_NAME: content}, defines, flags, blobs)


def build(
    main: str, files: Mapping[str, bytes], defines: Mapping[str, str], flags: tuple[str, ...], blobs: Blobs
) -> Candidate:
    """A candidate of files already read; their bytes are kept."""
    kept = {name: blobs.put(content) for name, content in sorted(files.items())}
    included = "\n".join(content.decode() for name, content in sorted(files.items()) if name != main)
    return _candidate(main, kept, defines, flags, (files[main].decode(), included))


def from_manifest(manifest: bytes, blobs: Blobs) -> Candidate:
    """The candidate of a kept manifest."""
    held = json.loads(manifest)
    texts = {name: blobs.read(digest).decode() for name, digest in held["files"].items()}
    included = "\n".join(text for name, text in sorted(texts.items()) if name != held["main"])
    both = (texts[held["main"]], included)
    return _candidate(held["main"], held["files"], held["defines"], tuple(held["flags"]), both)


def resolve(client: Client, path: str) -> tuple[Path, Path]:
    """(root, file) of a path that the client named. Raises where it is missing, no file, or outside every root."""
    if "\0" in path or not path.strip() or len(path) > MAX_PATH_CHARACTERS:
        raise InvalidRequest(f"not a path: {path[:80]!r}")
    try:
        return _resolved(client, path)
    except (OSError, RuntimeError) as error:
        raise InvalidRequest(f"cannot look at {path[:80]}: {error}") from error


def _resolved(client: Client, path: str) -> tuple[Path, Path]:
    for root in client.roots:
        found = (root / path).resolve()
        if not found.is_relative_to(root):
            continue
        if found.is_dir():
            raise InvalidRequest(f"{path} is a folder, not a file", "Name one .cu file.")
        if found.is_file():
            return root, found
        if found.exists():
            raise InvalidRequest(f"{path} is not a regular file")
    inside = any((root / path).resolve().is_relative_to(root) for root in client.roots)
    shown = ", ".join(str(root) for root in client.roots) or "(none)"
    if inside:
        raise NotFound(
            f"no file {path} below {shown}", "Paths are relative to the root; pass `source` for inline text."
        )
    raise InvalidRequest(
        f"{path} lies outside the root {shown}", "Start the daemon with --root for that folder."
    )


def read_source(path: Path) -> bytes:
    """The bytes of a source file: not empty, not binary, not huge."""
    size = path.stat().st_size
    if size > MAX_SOURCE_BYTES:
        raise InvalidRequest(f"{path.name} has {size:,} bytes; a source may have {MAX_SOURCE_BYTES:,}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"cannot read {path.name}: {error.strerror}") from error
    _require_source(content, path.name)
    return content


def _require_source(content: bytes, name: str) -> None:
    if len(content) > MAX_SOURCE_BYTES:
        raise InvalidRequest(f"{name} has {len(content):,} bytes; a source may have {MAX_SOURCE_BYTES:,}")
    if not content.strip():
        raise InvalidRequest(f"{name} is empty", "Offer a CUDA source.")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"{name} is not UTF-8 text (byte {error.start})", "Offer a CUDA source file."
        ) from error
    if "\0" in text:
        raise InvalidRequest(f"{name} is a binary file", "Offer a CUDA source file.")


def _include_folders(flags: Sequence[str]) -> list[str]:
    """The folders that checked -I flags name, relative to the root, which is the folder that compilers run in."""
    return [flag[2:].lstrip("=") for flag in flags if flag.startswith("-I")]


def _found(names: Iterable[str], folders: Sequence[Path], root: Path) -> list[Path]:
    found: list[Path] = []
    for name in names:
        for start in folders:
            path = (start / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                found.append(path)
                break
    return found


def _candidate(
    main: str,
    files: Mapping[str, str],
    defines: Mapping[str, str],
    flags: tuple[str, ...],
    texts: tuple[str, str],
) -> Candidate:
    digest = hashlib.sha256(_manifest(main, files, defines, flags)).hexdigest()
    return Candidate(f"c-{digest[:16]}", main, dict(files), dict(defines), flags, *texts)


def _manifest(
    main: str, files: Mapping[str, str], defines: Mapping[str, str], flags: tuple[str, ...]
) -> bytes:
    held = {"main": main, "files": dict(files), "defines": dict(defines), "flags": list(flags)}
    return json.dumps(held, sort_keys=True, separators=(",", ":")).encode()
