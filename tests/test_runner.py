"""A run happens in a fresh, contained folder, and what it leaves is data that names no path of this machine."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from warpwise.server.command import Command, Finished, source_input
from warpwise.server.config import Config, SandboxMode
from warpwise.server.errors import (
    InvalidRequest,
    ProgramMissing,
    ProgramTimedOut,
    StorageFailure,
    Unavailable,
)
from warpwise.server.services import open_services
from warpwise.server.workbench import Services


@pytest.fixture
async def contained(tmp_path: Path, root: Path, sandbox_mode: SandboxMode) -> AsyncIterator[Services]:
    async with open_services(Config(tmp_path / "state", (root,), sandbox=sandbox_mode)) as opened:
        yield opened


def script(services: Services, text: str, *outputs: str, timeout_s: float = 20, **inputs: str) -> Command:
    given = {
        name: source_input(services.store.blobs.put(content.encode())) for name, content in inputs.items()
    }
    program = services.store.blobs.put(f"#!/bin/sh\n{text}\n".encode())
    given["program"] = source_input(program)
    given["program"] = type(given["program"])(program, given["program"].origin, executable=True)
    return Command("./program", inputs=given, outputs=outputs, timeout_s=timeout_s)


async def test_inputs_are_laid_out_and_declared_outputs_come_back(contained: Services) -> None:
    finished = await contained.runner.run(
        script(contained, "cat data > out/copy; echo x > left", "out/copy", data="hello")
    )
    assert finished.exit_code == 0
    assert {name: contained.store.blobs.read(file.digest) for name, file in finished.files.items()} == {
        "out/copy": b"hello"
    }


async def test_a_missing_output_is_simply_absent(contained: Services) -> None:
    assert (await contained.runner.run(script(contained, "true", "never"))).files == {}


async def test_the_work_folder_is_told_as_w(contained: Services) -> None:
    finished = await contained.runner.run(script(contained, "pwd; pwd >&2; pwd > log", "log"))
    assert (finished.stdout, finished.stderr) == (b"/w\n", b"/w\n")
    assert contained.store.blobs.read(finished.files["log"].digest) == b"/w\n"


async def test_nothing_of_a_run_stays_on_disk(contained: Services) -> None:
    await contained.runner.run(script(contained, "mkdir d; touch d/f; chmod 000 d"))
    assert [path for path in contained.config.work_dir.iterdir() if path.name != "probe"] == []


async def test_an_output_that_is_a_link_out_of_the_folder_is_not_taken(contained: Services) -> None:
    finished = await contained.runner.run(script(contained, "ln -s /etc/passwd out", "out"))
    assert finished.files == {}


async def test_the_environment_is_a_short_list(contained: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "canary-1234")
    finished = await contained.runner.run(script(contained, "env"))
    names = {line.partition(b"=")[0].decode() for line in finished.stdout.splitlines()}
    assert b"canary" not in finished.stdout
    assert names <= {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "PWD",
        "WARPWISE_RUN",
        "LD_LIBRARY_PATH",
        "SHLVL",
        "_",
        "OLDPWD",
    }


async def test_a_repeated_question_is_answered_from_the_store(contained: Services) -> None:
    command = script(contained, "date +%N")
    first, second = await contained.runner.run(command), await contained.runner.run(command)
    assert (first.recorded, second.recorded) == (False, True)
    assert (first.stdout, first.measured_at) == (second.stdout, second.measured_at)


async def test_one_question_asked_by_ten_at_once_runs_once(contained: Services) -> None:
    command = script(contained, "sleep 0.1; date +%N")
    answers: list[Finished] = []

    async def ask() -> None:
        answers.append(await contained.runner.run(command))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)
    assert len({answer.stdout for answer in answers}) == 1
    assert sorted(answer.recorded for answer in answers) == [False] + [True] * 9


async def test_a_run_that_reached_its_deadline_is_data_and_is_not_reused(contained: Services) -> None:
    command = script(contained, "sleep 60", timeout_s=0.3)
    first, second = await contained.runner.run(command), await contained.runner.run(command)
    assert (first.timed_out, first.exit_code, second.recorded) == (True, None, False)
    with pytest.raises(ProgramTimedOut, match="still running at its deadline"):
        first.require_end("script")


async def test_without_a_gpu_a_gpu_command_is_a_typed_error(services: Services) -> None:
    if services.gpus.devices:
        pytest.skip("this machine has a GPU")
    with pytest.raises(Unavailable, match="no NVIDIA GPU"):
        await services.runner.run(Command("./program", gpu="shared"))


async def test_an_unknown_program_is_a_typed_error(services: Services) -> None:
    with pytest.raises(ProgramMissing, match="nvfrobnicate is not on this machine"):
        await services.runner.run(Command("nvfrobnicate"))


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x"])
def test_a_command_cannot_name_a_file_outside_its_folder(name: str) -> None:
    with pytest.raises(InvalidRequest, match="must lie in its work folder"):
        Command("nvcc", outputs=(name,))


async def test_a_state_folder_that_cannot_be_written_is_a_typed_error(tmp_path: Path, root: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailure, match="cannot open the state folder"):
        async with open_services(Config(tmp_path / "file", (root,))):
            raise AssertionError("opened")


async def test_inside_bubblewrap_what_only_root_may_read_is_empty(services: Services) -> None:
    if (await services.sandbox.find()).level == "none":
        pytest.skip("bubblewrap is not installed")
    finished = await services.runner.run(
        script(services, "cat /etc/shadow /etc/gshadow | wc -c; wc -l < /etc/passwd")
    )
    secret, public = finished.stdout.split()
    assert (secret, int(public) > 0) == (b"0", True)


async def test_inside_bubblewrap_home_network_and_other_processes_are_out_of_sight(
    services: Services,
) -> None:
    if (await services.sandbox.find()).level == "none":
        pytest.skip("bubblewrap is not installed")
    state = services.config.state_dir
    look = f"ls -A {state} /home; ls /proc | grep -c '^[0-9]'; grep -c : /proc/net/dev; touch /usr/x || echo read-only"
    finished = await services.runner.run(script(services, look))
    *seen, processes, interfaces, system = finished.stdout.decode().split()
    assert (seen, interfaces, system) == ([], "1", "read-only")
    assert int(processes) < 10
