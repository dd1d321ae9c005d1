"""The daemon killed at random instants, again and again, under a bridge: every call is answered, and none twice."""

import os
import random
import signal
from pathlib import Path

import anyio
import pytest
from programs import Program, Start

from warpwise.server import presence

CALLS_A_KILL = 20


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
    async with start("connect") as program:
        await survive(program, Path(environment["WARPWISE_STATE"]), 200, seed=2)
