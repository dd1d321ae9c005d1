"""Freezes, records and restores without end, and says on stdout what it has acknowledged. Killed by test_killed.py."""

import itertools
import sys
import time
from pathlib import Path

from warpwise.server.answering import Asked
from warpwise.server.call_records import Heard, record
from warpwise.server.checkpoints import Checkpoint, Checkpoints
from warpwise.server.client import Client
from warpwise.server.conversations import Conversations, Told
from warpwise.server.restoring import overwritten, targets, write_back
from warpwise.server.store import Store


def work(state: Path, root: Path, seed: str) -> None:
    store = Store(state)
    conversations = Conversations(store)
    kept = Checkpoints(store, "local")
    client = Client("local", (root,), None, seed)
    for number in itertools.count():
        text = f"{seed} {number}\n" * 500
        files = {name: store.blobs.put(f"{name} {text}".encode()) for name in ("a.cu", "b/c.cu")}
        identity = kept.keep(
            Checkpoint(candidate=None, files=files, notes=text[:40], made_at=time.time()), seed
        )
        print("kept", identity, flush=True)
        heard = Heard(question=Asked("compile", {"n": number}, None))
        told = Told({"n": number}, text)
        record(store, conversations, client, ("compile", {"n": number}), heard, told)
        print("told", conversations.find(seed).id, number + 1, flush=True)
        places = targets(root, files)
        overwritten(places, files, store.blobs)
        write_back(places, files, store.blobs)


if __name__ == "__main__":
    work(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
