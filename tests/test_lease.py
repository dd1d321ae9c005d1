"""A GPU is used by one exclusive or many shared holders, first come, first served, across processes."""

import sys
from pathlib import Path

import anyio
import pytest

from warpwise.server.errors import Busy
from warpwise.server.lease import Leases
from warpwise.server.process import spawn

GPU = "GPU-1"


async def test_shared_leases_run_together_and_an_exclusive_one_alone(tmp_path: Path) -> None:
    leases, inside, seen = Leases(tmp_path), set[str](), list[tuple[str, ...]]()

    async def hold(name: str, mode: str) -> None:
        async with leases.hold(GPU, "exclusive" if mode == "exclusive" else "shared"):
            inside.add(name)
            await anyio.sleep(0.02)
            seen.append(tuple(sorted(inside)))
            inside.discard(name)

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(hold, f"s{number}", "shared")
            group.start_soon(hold, f"x{number}", "exclusive")
    assert all(names == (names[0],) for names in seen if any(name.startswith("x") for name in names))
    assert len(seen) == 8
    assert leases.holders(GPU) == []


async def test_tickets_are_served_in_the_order_they_were_taken(tmp_path: Path) -> None:
    leases, order = Leases(tmp_path), list[int]()

    async def hold(number: int) -> None:
        async with leases.hold(GPU, "exclusive"):
            order.append(number)

    first = leases.hold(GPU, "exclusive")
    await first.__aenter__()
    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(hold, number)
            with anyio.fail_after(10):
                while len(leases.holders(GPU)) < number + 2:
                    await anyio.sleep(0.001)
        await first.__aexit__(None, None, None)
    assert order == list(range(8))


async def test_a_wait_that_is_in_vain_says_who_holds_the_gpu(tmp_path: Path) -> None:
    leases = Leases(tmp_path)
    async with leases.hold(GPU, "exclusive"):
        with pytest.raises(Busy, match=r"held by process \d+ \(exclusive\)"):
            async with leases.hold(GPU, "shared", patience_s=0.05):
                raise AssertionError("two at once")


async def test_a_holder_that_was_killed_does_not_hold_for_ever(tmp_path: Path) -> None:
    program = f"""
import anyio, os
from pathlib import Path
from warpwise.server.lease import Leases
async def main():
    async with Leases(Path({str(tmp_path)!r})).hold({GPU!r}, "exclusive"):
        os.kill(os.getpid(), 9)
anyio.run(main)
"""
    ended = await spawn([sys.executable, "-c", program], cwd=tmp_path, environment={"PATH": "/usr/bin"})
    assert ended.signal == 9
    with anyio.fail_after(10):
        async with Leases(tmp_path).hold(GPU, "exclusive", patience_s=5):
            assert len(Leases(tmp_path).holders(GPU)) == 1
