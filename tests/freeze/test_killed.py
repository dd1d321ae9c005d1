"""kill -9 at any instant of freezing, recording, restoring: what was acknowledged is there, what is served is whole."""

import random
import select
import subprocess  # noqa: TID251  # a process of ours is started to be killed
import sys
import time
from pathlib import Path

import pytest

from warpwise.server.checkpoints import Checkpoints
from warpwise.server.conversations import Conversations
from warpwise.server.store import Store
from warpwise.server.store_check import problems

WORKER = Path(__file__).parent / "killed_worker.py"


def killed_after(state: Path, root: Path, seed: str, delay_s: float) -> list[str]:
    """What a worker acknowledged until it was killed, `delay_s` after its first word."""
    argv = [sys.executable, str(WORKER), str(state), str(root), seed]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert select.select([worker.stdout], [], [], 60)[0], "the worker never began"
        deadline = time.monotonic() + delay_s
        while time.monotonic() < deadline:
            pass
        worker.kill()
        lines = worker.stdout.read().splitlines(keepends=True)
    return [line.strip() for line in lines if line.endswith("\n")]


def verify(state: Path, root: Path, acknowledged: list[str]) -> None:
    store = Store(state)
    try:
        for line in acknowledged:
            word, identity, *rest = line.split()
            if word == "kept":
                held = Checkpoints(store, None).load(identity)
                assert all(store.blobs.read(digest) for digest in held.files.values())
            else:
                calls = list(Conversations(store).calls(identity))
                assert len(calls) >= int(rest[0])
        for path in root.rglob("*.cu"):
            lines = path.read_text().splitlines()
            assert len(lines) == 500, f"{path} is half written"
        assert list(problems(store, read_all=False)) == []
    finally:
        store.close()


def kill_many(tmp_path: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    state, root = tmp_path / "state", tmp_path / "root"
    root.mkdir()
    acknowledged: list[str] = []
    for number in range(times):
        acknowledged = killed_after(state, root.resolve(), f"s{number}", chance.uniform(0, 0.25))
        assert acknowledged
        verify(state, root, acknowledged)
    store = Store(state)
    assert list(problems(store)) == []
    store.close()


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    kill_many(tmp_path, 6, seed=20261201)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_by_500_kills(tmp_path: Path) -> None:
    kill_many(tmp_path, 500, seed=7)
