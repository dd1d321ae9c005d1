"""That the conformance run means something: it passes with the fixtures, and fails as soon as one is missing.

The whole suite is `make conformance`.
"""

import os
import sys
from pathlib import Path

import anyio
import pytest

HERE = Path(__file__).parent
SCENARIO = ("--scenario", "tools-call-simple-text")


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Skip where the suite is not installed, but never on CI."""
    if not (HERE / "node_modules").is_dir() and not os.environ.get("WARPWISE_TEST_STRICT"):
        pytest.skip("the suite is not installed: npm ci --prefix tests/conformance")


async def run(*arguments: str) -> tuple[int, str]:
    ended = await anyio.run_process([sys.executable, str(HERE / "run.py"), *arguments], check=False)
    return ended.returncode, ended.stdout.decode()


async def test_a_scenario_passes_with_its_fixture() -> None:
    code, said = await run(*SCENARIO)
    assert code == 0, said
    assert "2 checks passed, 0 failed" in said


async def test_a_removed_fixture_fails_the_run() -> None:
    code, said = await run(*SCENARIO, "--without", "test_simple_text")
    assert code == 1, said
    assert "the suite called test_simple_text, which is not there" in said
