"""The container image, built by a real builder and driven as its users drive it. Run by `make image-test`.

Without a docker daemon the Dockerfile is built by podman on a freshly bootstrapped Debian, without NVIDIA's packages
(they come from NVIDIA's repository only). `WARPWISE_IMAGE=NAME` tests an image that docker has already built instead.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess  # noqa: TID251  # only its type
from typing import Any

import anyio
import pytest

pytestmark = [pytest.mark.image, pytest.mark.xdist_group("image"), pytest.mark.timeout(900)]

PROJECT = Path(__file__).parents[2]
TOKEN = "a-token-of-the-image-test"
KERNEL = "__global__ void twice(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n"
GET = """
import sys, httpx
answer = httpx.get("http://127.0.0.1:8931" + sys.argv[1])
print(answer.status_code, answer.text)
"""
CALL = """
import asyncio, json, sys, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(token, tool, arguments):
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=120)
    async with http, Client(streamable_http_client("http://127.0.0.1:8931/mcp", http_client=http)) as client:
        print(json.dumps((await client.call_tool(tool, json.loads(arguments))).structured_content))

asyncio.run(main(*sys.argv[1:]))
"""


def run(*argv: str | Path, timeout_s: float = 120) -> CompletedProcess[bytes]:
    async def ended() -> CompletedProcess[bytes]:
        with anyio.fail_after(timeout_s):
            return await anyio.run_process([str(part) for part in argv], check=False)

    return anyio.run(ended)


def must(*argv: str | Path, timeout_s: float = 120) -> str:
    ended = run(*argv, timeout_s=timeout_s)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-4000:].decode("utf-8", "replace")
    return ended.stdout.decode()


@dataclass(frozen=True)
class Image:
    """An image, the engine that runs it, the flags it runs with always, and those that let a sandbox work in it."""

    name: str
    engine: tuple[str, ...]
    always: tuple[str, ...]
    for_sandbox: tuple[str, ...]
    has_ncu: bool
    started: list[str] = field(default_factory=list[str])

    def run(self, *flags: str, arguments: tuple[str, ...] = ()) -> CompletedProcess[bytes]:
        return run(*self.engine, "run", "--rm", *self.always, *flags, self.name, *arguments)

    def start(self, *flags: str) -> str:
        container = must(*self.engine, "run", "--detach", *self.always, *flags, self.name).strip()
        self.started.append(container)
        return container

    def inside(self, container: str, *argv: str) -> str:
        return must(*self.engine, "exec", container, *argv)

    def state(self, container: str, what: str) -> str:
        return must(*self.engine, "inspect", f"--format={{{{.State.{what}}}}}", container).strip()


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image under test; whatever was made for it is removed afterwards."""
    if name := os.environ.get("WARPWISE_IMAGE"):
        options = ("seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined")
        flags = tuple(f"--security-opt={option}" for option in options)
        given = Image(name, ("docker",), ("--network=none",), flags, has_ncu="ncu" in _programs(name))
        yield given
        for container in given.started:
            run("docker", "rm", "--force", container)
        return
    missing = [program for program in ("podman", "runc", "debootstrap") if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        pytest.fail(f"needs root and {', '.join(missing) or 'nothing more'}; or set WARPWISE_IMAGE")
    with tempfile.TemporaryDirectory(prefix="warpwise-image-") as folder:
        built = _build(Path(folder))
        yield built
        run(*built.engine, "rm", "--all", "--force", "--time=1")
        run(*built.engine, "rmi", "--all", "--force")


def _programs(image: str) -> str:
    found = run(
        "docker", "run", "--rm", "--entrypoint=sh", image, "-c", "ls /usr/local/cuda*/bin /opt/nvidia/*/*"
    )
    return found.stdout.decode()


def _build(folder: Path) -> Image:
    """Build the Dockerfile on a bare Debian; this machine's package settings are seen by the build, not by the image."""
    engine = ("podman", "--root", f"{folder}/store", "--runroot", f"{folder}/run", "--runtime=runc")
    must("debootstrap", "--variant=minbase", "bookworm", folder / "base", timeout_s=400)
    must("tar", "-C", folder / "base", "-cf", folder / "base.tar", ".")
    must(*engine, "import", folder / "base.tar", "localhost/base")
    must(
        *engine,
        "build",
        "--network=host",
        *_package_settings(folder),
        "--build-arg=BASE=localhost/base",
        "--build-arg=NVIDIA_PACKAGES=",
        "--tag=localhost/warpwise",
        PROJECT,
        timeout_s=700,
    )
    limits = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")  # no more than this machine may give
    flags = ("--security-opt=seccomp=unconfined", "--security-opt=unmask=ALL")
    return Image("localhost/warpwise", engine, ("--network=none", *limits), flags, has_ncu=False)


def _package_settings(folder: Path) -> list[str]:
    """Mounts that let pip in a build step reach the index as pip does here."""
    lines = ["[global]"]
    mounts: list[str] = []
    for line in must("python3", "-m", "pip", "config", "list").splitlines():
        name, _, value = line.partition("=")
        key, setting = name.rpartition(".")[2].replace("_", "-"), value.strip("'\"")
        if key == "cert" and Path(setting).is_file() and not mounts:
            mounts.append(f"--volume={setting}:/run/build-ca.crt:ro")
            lines.append("cert = /run/build-ca.crt")
        elif key in ("index-url", "trusted-host", "timeout"):
            lines.append(f"{key} = {setting}")
    (folder / "pip.conf").write_text("\n".join(lines) + "\n")
    return [*mounts, f"--volume={folder}/pip.conf:/etc/pip.conf:ro"]


@pytest.fixture(scope="module")
def daemon(image: Image, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A container started as docs/install.md says, with its token in a file and one kernel in /kernels."""
    folder = tmp_path_factory.mktemp("mounted")
    folder.chmod(0o755)
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "twice.cu").write_text(KERNEL)
    container = image.start(
        *image.for_sandbox,
        f"--volume={folder}/kernels:/kernels:ro",
        f"--volume={folder}/token:/run/secrets/token:ro",
        "--env=WARPWISE_TOKEN_FILE=/run/secrets/token",
    )
    wait_until_healthy(image, container)
    return container


def wait_until_healthy(image: Image, container: str) -> None:
    deadline = time.monotonic() + 30
    while run(*image.engine, "exec", container, "python", "-c", GET, "/health").returncode:
        logs = run(*image.engine, "logs", container)
        told = (logs.stdout + logs.stderr).decode()
        assert image.state(container, "Running") == "true", told
        assert time.monotonic() < deadline, told


def call(image: Image, container: str, tool: str, **arguments: object) -> dict[str, Any]:
    answer = image.inside(container, "python", "-c", CALL, TOKEN, tool, json.dumps(arguments))
    loaded: dict[str, Any] = json.loads(answer)
    return loaded


def test_health_needs_no_token(image: Image, daemon: str) -> None:
    status, _, body = image.inside(daemon, "python", "-c", GET, "/health").partition(" ")
    assert (status, json.loads(body)["status"]) == ("200", "ok")


def test_a_call_without_a_token_is_refused(image: Image, daemon: str) -> None:
    status, _, body = image.inside(daemon, "python", "-c", GET, "/mcp").partition(" ")
    assert (status, json.loads(body)["error"]["code"]) == ("401", 401)


def test_capabilities_name_the_missing_gpu_and_nsight(image: Image, daemon: str) -> None:
    found = call(image, daemon, "capabilities")["capabilities"]
    assert found["GPU"].startswith("missing: ")
    assert found["profiler"].startswith(
        "limited: ncu" if image.has_ncu else "missing: ncu is not on this machine"
    )
    assert [found[name].partition(":")[0] for name in ("nvcc", "host compiler", "nvrtc", "proofs")] == [
        "works"
    ] * 4
    assert found["sandbox"] == "works: bubblewrap"


def test_without_the_sandbox_flags_capabilities_say_what_is_off_and_what_mends_it(image: Image) -> None:
    answer = json.loads(image.run(arguments=("run", "capabilities")).stdout)
    assert answer["capabilities"]["sandbox"].startswith(
        "limited: process limits only: bubblewrap does not work here"
    )
    assert "user namespaces" in answer["capabilities"]["sandbox"]


def test_a_mounted_kernel_compiles_in_the_sandbox(image: Image, daemon: str) -> None:
    answer = call(image, daemon, "compile", path="twice.cu")
    assert answer["state"] == "done"
    assert [kernel["name"] for kernel in answer["kernels"]] == ["twice"]


def test_the_daemon_may_write_its_state_and_nothing_else(image: Image, daemon: str) -> None:
    show = "id -u; for f in /state /kernels /opt/warpwise /usr /etc; do [ -w $f ] && echo $f; done; true"
    assert image.inside(daemon, "sh", "-c", show).split() == ["10001", "/state"]


def test_the_image_keeps_nothing_of_the_machine_that_built_it(image: Image) -> None:
    ended = image.run("--entrypoint=sh", arguments=("-c", "cat /etc/pip.conf /run/build-ca.crt; ls -A /tmp"))
    assert ended.stdout == b""


def test_without_a_token_the_daemon_refuses_to_listen(image: Image) -> None:
    ended = image.run()
    assert ended.returncode == 3
    assert b"WARPWISE_TOKEN" in ended.stderr


def test_without_an_allowed_host_the_daemon_refuses_to_listen(image: Image) -> None:
    ended = image.run(f"--env=WARPWISE_TOKEN={TOKEN}", arguments=("serve", "--http", "0.0.0.0:8931"))
    assert ended.returncode == 3
    assert b"--allow-host" in ended.stderr


def test_stopping_the_container_ends_the_daemon_at_once_and_cleanly(image: Image) -> None:
    container = image.start(f"--env=WARPWISE_TOKEN={TOKEN}")
    wait_until_healthy(image, container)
    before = time.monotonic()
    must(*image.engine, "stop", "--time=20", container)
    assert time.monotonic() - before < 10
    assert image.state(container, "ExitCode") == "0"
