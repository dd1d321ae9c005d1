"""Bearer tokens: one small 0600 file for each client in a 0700 folder. Who may ask, not what is asked.

A change on disk (`token add`, `token revoke`, a bridge's first use) is seen by a running daemon at its next request.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .client import Client
from .errors import InvalidRequest, NotFound, StorageFailure

OPERATOR = "operator"
log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Grant:
    """What one token stands for: a client's name, its roots (empty: the daemon's), and what it is given (None: all)."""

    name: str
    token: str
    roots: tuple[Path, ...] = ()
    given: frozenset[str] | None = None
    record: str | None = None

    def client(self, default: Client) -> Client:
        """The client that presents this token; where the grant says nothing, as `default`."""
        given = default.given if self.given is None else self.given
        record = default.record if self.record is None else self.record
        return Client(self.name, self.roots or default.roots, given, record, default.toolsets)

    def as_json(self) -> dict[str, Any]:
        """The grant as it lies on disk."""
        given = None if self.given is None else sorted(self.given)
        roots = [str(root) for root in self.roots]
        return {"token": self.token, "roots": roots, "give": given, "record": self.record}


class Tokens:
    """The grants of one state folder, and those given for this process only (`extra`)."""

    def __init__(self, state_dir: Path, extra: tuple[Grant, ...] = ()) -> None:
        self.folder = state_dir / "clients"
        self._admin = state_dir / "admin-token"
        self._extra = extra
        self._seen: tuple[object, ...] = ()
        self._grants: dict[bytes, Grant] = {}

    def find(self, token: str) -> Grant | None:
        """The grant of a presented token, compared in constant time with every known one."""
        presented = _digest(token)
        found: Grant | None = None
        for digest, grant in self._current().items():
            if hmac.compare_digest(digest, presented):
                found = grant
        return found

    def is_admin(self, token: str) -> bool:
        """Whether this is the operator's own key, which only processes of the same user can read."""
        return hmac.compare_digest(_digest(token), _digest(self.admin()))

    def admin(self) -> str:
        """The operator's key, made at first use."""
        return (
            str(_read(self._admin)["token"])
            if self._admin.is_file()
            else _create(self._admin, Grant(OPERATOR, _new()))
        )

    def ensure(self, name: str) -> Grant:
        """The grant of a client, made at first use. Two that start at once get the same one."""
        path = self._path(name)
        if not path.is_file():
            _create(path, Grant(name, _new()))
        return _grant(path)

    def add(
        self,
        name: str,
        roots: tuple[Path, ...] = (),
        given: frozenset[str] | None = None,
        record: str | None = None,
    ) -> Grant:
        """A new client's grant. Raises InvalidRequest where the name is taken."""
        path, grant = self._path(name), Grant(name, _new(), roots, given, record)
        if path.is_file() or _create(path, grant) != grant.token:
            raise InvalidRequest(
                f"client {name} has a token already", f"Revoke it first: warpwise token revoke {name}"
            )
        return grant

    def revoke(self, name: str) -> None:
        """Forget a client's grant; its token is refused from the next request on."""
        try:
            self._path(name).unlink()
        except FileNotFoundError as error:
            raise NotFound(f"no client {name} has a token", "`warpwise token list` shows them.") from error

    def all(self) -> tuple[Grant, ...]:
        """Every kept grant, by name."""
        return tuple(_grant(path) for path in sorted(self._files()))

    def _current(self) -> Mapping[bytes, Grant]:
        files = sorted(self._files())
        seen = tuple((path.name, _stamp(path)) for path in files)
        if not self._grants or seen != self._seen:
            grants = (*self._extra, *_readable(files))
            self._seen, self._grants = seen, {_digest(grant.token): grant for grant in grants}
        return self._grants

    def _files(self) -> Iterator[Path]:
        return self.folder.glob("*.json")

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InvalidRequest(f"not a client name: {name!r}", "Use letters, digits, '.', '_' and '-'.")
        return self.folder / f"{name}.json"


def given_tokens(environ: Mapping[str, str]) -> tuple[Grant, ...]:
    """The operator's token from WARPWISE_TOKEN or from the file that WARPWISE_TOKEN_FILE names. Raises InvalidRequest."""
    token = environ.get("WARPWISE_TOKEN", "").strip()
    if not token and (name := environ.get("WARPWISE_TOKEN_FILE")):
        try:
            token = Path(name).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"cannot read WARPWISE_TOKEN_FILE {name}: {error}") from error
    if not token:
        return ()
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidRequest(
            "the given token is too weak", "Use at least 16 printable ASCII characters without spaces."
        )
    return (Grant(OPERATOR, token),)


def _readable(files: list[Path]) -> Iterator[Grant]:
    """The grants that can be read: one damaged or just revoked file locks out nobody else."""
    for path in files:
        try:
            yield _grant(path)
        except StorageFailure as error:
            log.warning("%s", error.what)


def _new() -> str:
    return f"ww_{secrets.token_urlsafe(32)}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return 0, 0
    return stat.st_ino, stat.st_mtime_ns


def _create(path: Path, grant: Grant) -> str:
    """Write a grant unless there is one; returns the token that the file then holds."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "w") as stream:
                json.dump(grant.as_json(), stream)
            try:
                os.link(name, path)
            except FileExistsError:
                return str(_read(path)["token"])
            return grant.token
        finally:
            Path(name).unlink()
    except OSError as error:
        raise StorageFailure(f"cannot keep a token below {path.parent}: {error.strerror}") from error


def _grant(path: Path) -> Grant:
    held = _read(path)
    give = held.get("give")
    roots = tuple(Path(root) for root in held.get("roots", ()))
    return Grant(
        path.stem, str(held["token"]), roots, None if give is None else frozenset(give), held.get("record")
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        held: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise StorageFailure(f"cannot read the token file {path.name}: {error}") from error
    if not isinstance(held, dict) or not isinstance(held.get("token"), str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StorageFailure(
            f"the token file {path.name} is damaged", "Delete it; the client gets a new token."
        )
    return held
