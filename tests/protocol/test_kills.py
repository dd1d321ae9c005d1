"""The daemon killed at random instants, again and again, under a bridge: every call is answered, and none twice."""

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from programs import Program, Start

from warpwise.server import presence

CALLS_A_KILL = 20
KILLS, A_ROUND = 200, 20
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "kills.json"


async def survive(program: Program, state: Path, kills: int, seed: int) -> None:
    """Ask without pause while the daemon is killed; see each request answered exactly once."""
    chance = random.Random(seed)
    for _ in range(kills):
        asked = {
            await program.ask("tools/call", name="probe_echo", arguments={"text": str(number)})
            for number in range(CALLS_A_KILL)
        }
        await anyio.sleep(chance.uniform(0, 0.03))
        if here := presence.find(state):
            os.kill(here.pid, signal.SIGKILL)
        answered: list[int] = []
        while len(answered) < len(asked):
            message = await program.receive()
            assert message["result"]["structuredContent"]["state"] == "done"
            answered.append(message["id"])
        assert set(answered) == asked


async def test_a_few_kills_lose_no_call(start: Start, environment: dict[str, str]) -> None:
    async with start("connect") as program:
        await survive(program, Path(environment["WARPWISE_STATE"]), 3, seed=1)


@pytest.mark.torture
@pytest.mark.timeout(3600)
async def test_many_kills_lose_no_call(start: Start, environment: dict[str, str]) -> None:
    held: Any = {"kills": 0, "calls": 0, "lost": 0}
    if RESULTS.exists() and (before := json.loads(RESULTS.read_text()))["kills"] < KILLS:
        held = before  # go on; a whole result is measured anew
    while held["kills"] < KILLS:
        async with start("connect") as program:
            await survive(program, Path(environment["WARPWISE_STATE"]), A_ROUND, seed=2 + held["kills"])
        held["kills"] += A_ROUND
        held["calls"] += A_ROUND * CALLS_A_KILL
        RESULTS.write_text(json.dumps(held, indent=1) + "\n")
    assert held == {"kills": KILLS, "calls": KILLS * CALLS_A_KILL, "lost": 0}
