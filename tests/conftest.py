"""What all tests share: a state folder of their own, and the daemon's services opened over it."""

import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from warpwise.server.client import Client
from warpwise.server.config import Config, SandboxMode
from warpwise.server.process import become_subreaper
from warpwise.server.services import open_services
from warpwise.server.workbench import Services, Workbench

become_subreaper()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder that a client may name paths below."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture(params=["auto", "off"])
def sandbox_mode(request: pytest.FixtureRequest) -> SandboxMode:
    """Both levels of containment, where bubblewrap is installed."""
    mode: SandboxMode = request.param
    return mode


@pytest.fixture
async def services(tmp_path: Path, root: Path) -> AsyncIterator[Services]:
    """The daemon's services over a fresh state folder."""
    async with open_services(Config(tmp_path / "state", (root,))) as opened:
        yield opened


@pytest.fixture
def bench(services: Services, root: Path) -> Workbench:
    """The workbench of a client whose root is `root`."""
    return Workbench(services, Client("test", (root,)))


@pytest.fixture
def write(root: Path) -> Callable[[str, str], Path]:
    """Write a file below the root."""

    def _write(name: str, text: str) -> Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return _write


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Tests run on asyncio, as the daemon does."""
    return "asyncio"


@pytest.fixture(scope="session")
def count_tokens() -> Callable[[str], int]:
    """How many tokens a text is, in o200k_base."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the package's own loading
        import bpe_openai

        encoding = bpe_openai.get_encoding("o200k_base")
    return lambda text: len(encoding.encode(text))
