"""The Runner protocol, and LocalRunner, which runs a command on this machine in a fresh, contained work folder."""

import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from .blobs import Blobs
from .command import DELEGATE, WORK_FOLDER, Command, Environment, File, Finished
from .errors import StorageFailure
from .process import Ended, spawn, start
from .ready import WAIT_ARGUMENT, Key, ReadyWorkers, Worker
from .sandbox import LazySandbox, Sandbox
from .toolchain.discovery import Program, Toolchain

_PASSED_ON = ("LANG", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
_TEXT_PROBE_BYTES = 4096


class Runner(Protocol):
    """The one seam where programs run: a command in, how it finished out. A non-zero exit is data, never an error."""

    async def run(self, command: Command) -> Finished:
        """Run it. Raises ProgramMissing, Unavailable, Busy or NotRecorded where it cannot run at all."""
        ...


class LocalRunner:
    """Runs commands here. Paths of the work folder never leave it: in text they are written as below `/w`."""

    def __init__(
        self,
        toolchain: Toolchain,
        sandbox: LazySandbox,
        blobs: Blobs,
        work_dir: Path,
        gpu_facts: Callable[[], Mapping[str, str]],
        ready: ReadyWorkers | None = None,
    ) -> None:
        self._toolchain = toolchain
        self._sandbox = sandbox
        self._blobs = blobs
        self._work_dir = work_dir
        self._gpu_facts = gpu_facts
        self._ready = ready
        self._own_path = re.compile(re.escape(os.fsencode(work_dir)) + rb"/[0-9a-f]{32}")

    async def environment(self, command: Command) -> Environment:
        """What the answer of a command depends on here, beside its question."""
        return await self._toolchain.environment(command, self._gpu_facts())

    async def run(self, command: Command, device: str | None = None) -> Finished:
        """Run a command, on the GPU with the uuid `device` where it uses one, and keep its outputs in the blobs."""
        programs = {name: await self._toolchain.program(name) for name in command.programs}
        environment = await self.environment(command)
        sandbox = await self._sandbox.find()
        worker = await self._waiting(command, device)
        folder = worker.folder if worker else self._work_dir / uuid.uuid4().hex
        try:
            await anyio.to_thread.run_sync(self._lay_out, folder, command)
            measured_at = time.time()
            if worker:
                line = json.dumps(command.arguments).encode() + b"\n"
                ended = await worker.child.attend(line, command.timeout_s, command.max_output_bytes)
            else:
                ended = await self._run_in(sandbox, folder, command, programs, device)
            files = await anyio.to_thread.run_sync(self._collect, sandbox, folder, command)
        except OSError as error:
            raise StorageFailure(f"cannot use the work folder: {error.strerror or error}") from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_remove, folder)
                self._prepare_next(command, device)
        return Finished(
            exit_code=ended.exit_code,
            signal=ended.signal,
            timed_out=ended.timed_out,
            stdout=self._neutral(ended.stdout),
            stderr=self._neutral(ended.stderr),
            stdout_dropped=ended.stdout_dropped,
            stderr_dropped=ended.stderr_dropped,
            files=files,
            wall_s=ended.wall_s,
            question=command.question,
            environment=environment,
            sandbox=str(sandbox),
            measured_at=measured_at,
            inputs={name: given.digest for name, given in command.inputs.items()},
        )

    async def _run_in(
        self,
        sandbox: Sandbox,
        folder: Path,
        command: Command,
        programs: Mapping[str, Program],
        device: str | None,
    ) -> Ended:
        program = programs.get(command.program)
        start = program.argv if program else (command.program,)
        argv = sandbox.wrap(
            [*start, *_expanded(command, programs)],
            folder,
            command.kind,
            gpu=command.gpu != "none",
            readable=[path for used in programs.values() for path in used.readable],
        )
        return await spawn(
            argv,
            cwd=folder,
            environment=_process_environment(sandbox, folder, command, program, device),
            stdin=command.stdin,
            timeout_s=command.timeout_s,
            max_output_bytes=command.max_output_bytes,
        )

    async def _waiting(self, command: Command, device: str | None) -> Worker | None:
        if self._ready is None or not self._ready.fits(command):
            return None
        return await self._ready.take(Key(command.program, device))

    def _prepare_next(self, command: Command, device: str | None) -> None:
        if self._ready and self._ready.fits(command):
            self._ready.replace(Key(command.program, device), self._start_waiting)

    async def _start_waiting(self, key: Key) -> Worker:
        """Start a worker that waits for its arguments, contained as its commands are."""
        program = await self._toolchain.program(key.program)
        sandbox = await self._sandbox.find()
        folder = self._work_dir / uuid.uuid4().hex
        await anyio.to_thread.run_sync(lambda: folder.mkdir(parents=True, mode=0o700))
        gpu = key.device is not None
        argv = sandbox.wrap(
            [*program.argv, WAIT_ARGUMENT],
            folder,
            "run" if gpu else "compile",
            gpu=gpu,
            readable=program.readable,
        )
        plain = Command(key.program)
        environment = _process_environment(sandbox, folder, plain, program, key.device)
        return Worker(await start(argv, cwd=folder, environment=environment, piped_stdin=True), folder)

    def _lay_out(self, folder: Path, command: Command) -> None:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        for name, given in command.inputs.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            self._blobs.extract(given.digest, target)
            if given.executable:
                target.chmod(0o755)
        for name in command.outputs:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)

    def _collect(self, sandbox: Sandbox, folder: Path, command: Command) -> dict[str, File]:
        files: dict[str, File] = {}
        for name in command.outputs:
            path = folder / name
            if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
                continue
            if sandbox.level == "none":
                self._neutralize(path)
            files[name] = File(*self._blobs.put_file(path))
        return files

    def _neutral(self, text: bytes) -> bytes:
        return self._own_path.sub(WORK_FOLDER.encode(), text)

    def _neutralize(self, path: Path) -> None:
        """Write the work folder's own path as `/w` in a text output, line by line."""
        with path.open("rb") as stream:
            if b"\0" in stream.read(_TEXT_PROBE_BYTES):
                return
            stream.seek(0)
            neutral = path.with_name(f"{path.name}.neutral")
            with neutral.open("wb") as out:
                for line in stream:
                    out.write(self._neutral(line))
        neutral.replace(path)


def _expanded(command: Command, programs: Mapping[str, Program]) -> Iterator[str]:
    for argument in command.arguments:
        named = command.delegate if argument == DELEGATE else None
        yield from programs[named].argv if named else (argument,)


def _process_environment(
    sandbox: Sandbox, folder: Path, command: Command, program: Program | None, device: str | None
) -> dict[str, str]:
    scratch = "/tmp" if sandbox.level == "bubblewrap" else str(folder)  # noqa: S108  # the sandbox's own
    path = "/usr/local/bin:/usr/bin:/bin"
    if program:
        path = f"{Path(program.argv[0]).parent}:{path}"
    environment = {"PATH": path, "HOME": scratch, "TMPDIR": scratch, "LANG": "C.UTF-8"}
    environment |= {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {**(program.environment if program else {}), **command.environment}
    if device:
        environment["CUDA_VISIBLE_DEVICES"] = device
    return environment


def _remove(folder: Path) -> None:
    def allow(function: Callable[[str], object], path: str, _: object) -> None:
        Path(path).parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)

    if folder.exists():
        shutil.rmtree(folder, onerror=allow)
