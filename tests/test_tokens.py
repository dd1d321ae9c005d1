"""Bearer tokens: who is known, kept how, and what a damaged file does to the others."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from warpwise.server.client import Client
from warpwise.server.errors import InvalidRequest, NotFound, StorageFailure
from warpwise.server.tokens import OPERATOR, Grant, Tokens, given_tokens


def test_a_token_is_found_until_it_is_revoked_also_by_another_process(tmp_path: Path) -> None:
    daemon, command = Tokens(tmp_path), Tokens(tmp_path)
    made = command.add("bob", (tmp_path,), frozenset({"debugger"}))
    assert daemon.find(made.token) == made
    assert daemon.find(made.token + "x") is None
    assert daemon.find("") is None
    command.revoke("bob")
    assert daemon.find(made.token) is None


def test_two_that_start_at_once_get_the_same_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = [pool.submit(Tokens(tmp_path).ensure, "host") for _ in range(64)]
        keys = [pool.submit(Tokens(tmp_path).admin) for _ in range(64)]
    assert len({grant.result() for grant in made}) == 1
    assert len({key.result() for key in keys}) == 1


def test_files_are_private_and_no_half_written_one_is_left(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "state")
    tokens.ensure("host")
    tokens.admin()
    assert tokens.folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in tokens.folder.iterdir()] == ["host.json"]
    assert {path.stat().st_mode & 0o777 for path in tokens.folder.iterdir()} == {0o600}
    assert (tmp_path / "state" / "admin-token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"token": 5}', b"\xff\xfe"])
def test_a_damaged_file_locks_out_nobody_else(tmp_path: Path, damage: bytes) -> None:
    tokens = Tokens(tmp_path)
    good = tokens.ensure("good")
    (tokens.folder / "bad.json").write_bytes(damage)
    assert tokens.find(good.token) == good
    with pytest.raises(StorageFailure, match=r"bad\.json"):
        tokens.ensure("bad")


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a b", "-x", "x" * 65, "ü"])
def test_a_name_that_could_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match="not a client name"):
        Tokens(tmp_path).ensure(name)


def test_a_taken_name_and_an_unknown_one_are_typed_errors(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.add("bob")
    with pytest.raises(InvalidRequest, match="has a token already"):
        tokens.add("bob")
    with pytest.raises(NotFound):
        tokens.revoke("alice")


def test_the_given_token_is_the_operators_and_never_written(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a-token-from-a-file\n")
    from_file = given_tokens({"WARPWISE_TOKEN_FILE": str(tmp_path / "secret")})
    assert from_file == (Grant(OPERATOR, "a-token-from-a-file"),)
    assert (
        given_tokens({"WARPWISE_TOKEN": "a-token-from-the-environment"})[0].token
        == "a-token-from-the-environment"
    )
    assert given_tokens({}) == ()
    tokens = Tokens(tmp_path / "state", from_file)
    assert tokens.find("a-token-from-a-file") == from_file[0]
    assert not (tmp_path / "state").exists()
    with pytest.raises(InvalidRequest, match="cannot read"):
        given_tokens({"WARPWISE_TOKEN_FILE": str(tmp_path / "none")})


def test_a_clients_roots_are_its_own_or_the_daemons(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    default = Client("local", (Path("/daemon"),))
    assert tokens.add("own", (Path("/own"),)).client(default).roots == (Path("/own"),)
    assert tokens.add("none").client(default).roots == (Path("/daemon"),)


@pytest.mark.parametrize("weak", ["short", "has spaces in it, many", "ünicode-ünicode-ünicode"])
def test_a_weak_given_token_is_refused(weak: str) -> None:
    with pytest.raises(InvalidRequest, match="too weak"):
        given_tokens({"WARPWISE_TOKEN": weak})
