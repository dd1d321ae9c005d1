"""What is published is what stands in git, and it works beside a user's own `server.py`."""

import json
import os
import shutil
import stat
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path
from subprocess import CompletedProcess  # noqa: TID251  # only its type

import anyio
import pytest

pytestmark = pytest.mark.xdist_group("wheel")

PROJECT = Path(__file__).parents[2]
HOSTILE = ("server.py", "server/__init__.py", "attribution.py", "warpwise/__init__.py", "mcp.py", "json.py")
DISGUISE = "import pathlib; pathlib.Path(__file__).with_suffix('.imported').touch(); raise SystemExit(97)\n"


@dataclass(frozen=True)
class Built:
    """The distributions of this checkout, and the paths that git knows."""

    known: frozenset[str]
    wheel: Path
    sdist: Path
    wheel_of_sdist: Path


def output_of(*argv: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    async def run() -> CompletedProcess[bytes]:
        with anyio.fail_after(100):
            return await anyio.run_process([str(part) for part in argv], cwd=cwd, env=env, check=False)

    ended = anyio.run(run)
    assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()
    return ended.stdout.decode()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The wheel, the sdist, and the wheel of that sdist, built without network from a copy of what git knows."""
    folder = tmp_path_factory.mktemp("built")
    listed = output_of("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=PROJECT)
    known: set[str] = set()
    for name in filter(None, listed.split("\0")):
        source, copy = PROJECT / name, folder / "source" / name
        if source.is_symlink() or source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
            known.add(name)
    for junk in ("server/__pycache__/config.cpython-311.pyc", "attribution/table.pyc"):
        (folder / "source" / junk).parent.mkdir(exist_ok=True)
        (folder / "source" / junk).write_bytes(b"junk")
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir")
    output_of(*build, folder / "direct", "--wheel", folder / "source", cwd=folder)
    output_of(*build, folder / "through", folder / "source", cwd=folder)  # the wheel from the sdist
    return Built(
        frozenset(known),
        *(folder / "direct").glob("*.whl"),
        *(folder / "through").glob("*.tar.gz"),
        *(folder / "through").glob("*.whl"),
    )


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built: Built) -> None:
    links = {"src/warpwise/server", "src/warpwise/attribution"}
    package = ("server/", "attribution/", "src/warpwise/")
    expected = {
        f"warpwise/{name.removeprefix('src/warpwise/')}"
        for name in built.known - links
        if name.startswith(package)
    }
    held = {name for name in contents(built.wheel) if ".dist-info/" not in name}
    assert "warpwise/server/cli.py" in expected
    assert held == expected
    assert {name.partition("/")[0] for name in held} == {"warpwise"}


def test_the_wheel_holds_no_link(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as opened:
        links = [entry.filename for entry in opened.infolist() if stat.S_ISLNK(entry.external_attr >> 16)]
    assert links == []


def test_a_wheel_built_from_the_sdist_is_the_same_wheel(built: Built) -> None:
    assert contents(built.wheel_of_sdist) == contents(built.wheel)
    assert built.wheel_of_sdist.name == built.wheel.name


def test_the_sdist_holds_what_git_knows(built: Built) -> None:
    """Except the two links: some unpackers refuse them, and the wheel does not need them."""
    links = {"src/warpwise/server", "src/warpwise/attribution"}
    with tarfile.open(built.sdist) as opened:
        held = {member.name.partition("/")[2] for member in opened.getmembers()}
    assert held == (built.known - links) | {"PKG-INFO"}


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the wheel, which sees this one's dependencies but not its editable install."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    output_of(*pip, built.wheel, cwd=folder)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    for needed in Path(sysconfig.get_path("purelib")).iterdir():
        if needed.suffix != ".pth" and not needed.name.startswith(("warpwise", "_warpwise")):
            (packages / needed.name).symlink_to(needed)
    return folder


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A user's folder full of modules with our names, each of which ends the program that imports it."""
    for name in HOSTILE:
        path = tmp_path / "hostile" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(DISGUISE)
    return tmp_path / "hostile"


def environment(state: Path) -> dict[str, str]:
    """As small as a host gives it. No sandbox: it would hide the dependencies, which lie outside the installation."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "WARPWISE_STATE": str(state), "NO_COLOR": "1", "WARPWISE_SANDBOX": "off"}


def test_the_command_answers_from_a_folder_with_modules_of_our_names(
    installed: Path, hostile: Path, tmp_path: Path
) -> None:
    program, env = installed / "bin" / "warpwise", environment(tmp_path / "state")
    shown = output_of(program, "--help", cwd=hostile, env=env)
    assert {"serve", "connect", "doctor", "run", "attribute"} <= set(shown.split())
    answer = json.loads(output_of(program, "run", "capabilities", cwd=hostile, env=env))
    assert answer["state"] == "done"
    assert answer["capabilities"]["nvcc"].startswith("works")  # the workers and programs were found, too
    (hostile / "twice.cu").write_text("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n")
    answer = json.loads(output_of(program, "run", "compile", "path=twice.cu", cwd=hostile, env=env))
    assert [kernel["name"] for kernel in answer["kernels"]] == ["twice"]
    assert not list(hostile.rglob("*.imported"))


def test_the_installed_code_is_the_wheels_own(installed: Path, hostile: Path, tmp_path: Path) -> None:
    code = "import warpwise.server.cli as cli, warpwise.attribution as a; print(cli.__file__, a.__file__)"
    shown = output_of(installed / "bin" / "python", "-P", "-c", code, cwd=hostile, env=environment(tmp_path))
    assert [Path(name).is_relative_to(installed) for name in shown.split()] == [True, True]


def test_every_door_that_the_wheel_announces_opens(installed: Path, tmp_path: Path) -> None:
    """The tools and commands that plug in by entry point are there, and so is the program."""
    found = next((installed / "lib").glob("python*/site-packages/warpwise-*.dist-info"))
    doors: list[EntryPoint] = list(PathDistribution(found).entry_points)
    assert {door.group for door in doors} == {"console_scripts", "warpwise.tools", "warpwise.commands"}
    lines = [
        f"from importlib.metadata import EntryPoint; EntryPoint({d.name!r}, {d.value!r}, {d.group!r}).load()"
        for d in doors
    ]
    output_of(installed / "bin" / "python", "-I", "-c", "\n".join(lines), cwd=tmp_path)
