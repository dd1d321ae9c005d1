"""Which programs of a CUDA toolchain this machine has, in which version, and whether they belong together.

Wheels come first (cuda-pathfinder), then CUDA_HOME, PATH and /usr/local/cuda*. nvcc, ptxas and the runtime headers
must be of one release: mixed ones fail in ways that look like errors of the kernel, so they are refused by name.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..command import Command, Environment
from ..errors import ProgramMissing, Unavailable
from ..process import spawn


def _import_root() -> Path:
    """The folder from which this very warpwise is imported."""
    package = importlib.util.find_spec(__package__.partition(".")[0] if __package__ else "warpwise")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent.parent


_WORKERS = {"nvrtc": "cuda.bindings.nvrtc", "ncu-report": "ncu_report", "sentryward": "sentryward"}
_SERVER = Path(__file__).resolve().parent.parent
_PACKAGES = {
    "launcher": (_SERVER, "launcher.worker", "cuda.bindings.driver"),
    "oracle": (_import_root(), "warpwise.server.evaluation.oracle_worker", "numpy"),
}
_IN_WHEELS = ("nvcc", "ptxas", "nvdisasm", "cuobjdump", "compute-sanitizer", "ncu", "cuda-gdb")
_VERSION = re.compile(r"(?:release [\d.]+, V|Version |version |v)(\d+(?:\.\d+)+)")
_GDB_VERSION = re.compile(r"cuda-gdb\)? (\d+\.\d+)")
_HINTS = {
    "ncu": "Install NVIDIA Nsight Compute (it is not on PyPI) and put ncu on PATH.",
    "cuda-gdb": "Install cuda-gdb (part of the CUDA toolkit) and put it on PATH.",
    "ncu-report": "pip install 'warpwise[ncu]'",
    "sentryward": "pip install 'warpwise[verify]'",
    "nvrtc": "pip install 'warpwise[toolchain]'",
}
_HOST_COMPILER_HINT = (
    "Install g++ (Debian: apt install g++); kernel-only sources compile without it, through NVRTC."
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program found: the argv that starts it, its version, what its process needs to see."""

    name: str
    argv: tuple[str, ...]
    version: str
    readable: tuple[Path, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


class Toolchain:
    """The programs of this machine, found once when first asked for."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._found: dict[str, Program] = {}
        self._compilers: dict[tuple[str, int], str] = {}

    async def program(self, name: str) -> Program:
        """The program of that name. Raises ProgramMissing with what would install it, Unavailable for a mixed toolkit."""
        if name not in self._found:
            self._found[name] = await self._find(name)
        return self._found[name]

    async def environment(self, command: Command, gpu: Mapping[str, str]) -> Environment:
        """What the answer of a command depends on: the versions it uses, and GPU and driver where it uses one."""
        facts: dict[str, str] = {}
        for name in command.programs:
            program = await self.program(name)
            facts[program.name] = program.version
        if command.program == "nvcc" and (compiler := shutil.which("g++", path=self._environ.get("PATH"))):
            facts["g++"] = await self._compiler_version(compiler)
        if command.gpu != "none":
            facts |= gpu
        return Environment(facts)

    async def _compiler_version(self, path: str) -> str:
        """The host compiler's version, asked again only when another file lies there."""
        key = (os.path.realpath(path), Path(path).stat().st_mtime_ns)
        if key not in self._compilers:
            self._compilers[key] = await _version([path, "-dumpfullversion"], re.compile(r"(\d+(?:\.\d+)*)"))
        return self._compilers[key]

    def toolkit_root(self, program: Program) -> Path:
        """The folder that holds bin/ and include/ of the toolkit a program belongs to."""
        return Path(program.argv[0]).resolve().parent.parent

    async def _find(self, name: str) -> Program:
        if name in _WORKERS or name in _PACKAGES:
            return self._worker(name)
        path = self._locate(name)
        if path is None:
            raise ProgramMissing(f"{name} is not on this machine", _HINTS.get(name))
        version = await _version([str(path), "--version"], _GDB_VERSION if name == "cuda-gdb" else _VERSION)
        real = Path(path).resolve()
        readable = [real.parent.parent, Path(path).parent.parent]
        if name == "ncu":
            readable.append(_ncu_home(real))
        if name == "nvcc":
            await self._require_one_release(real, version)
        return Program(name, (str(path), *_extra_arguments(name, real)), version, tuple(readable))

    def _locate(self, name: str) -> Path | None:
        from cuda.pathfinder import find_nvidia_binary_utility  # slow to import, and not needed to start

        found = find_nvidia_binary_utility(name) if name in _IN_WHEELS else None
        if found:
            return Path(found)
        homes = [self._environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
        folders = [Path(home, "bin") for home in homes if home]
        folders += [Path(part) for part in self._environ.get("PATH", "").split(os.pathsep) if part]
        folders += [Path("/usr/local/cuda/bin"), *sorted(Path("/usr/local").glob("cuda-*/bin"), reverse=True)]
        folders += sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
        for folder in folders:
            if (folder / name).is_file() and os.access(folder / name, os.X_OK):
                return folder / name
        return None

    def _worker(self, name: str) -> Program:
        """A Python child of ours: isolated, its own script, the module it needs checked before it starts."""
        if name in _PACKAGES:
            return _package_worker(name)
        module, extra = _WORKERS[name], {}
        if name == "ncu-report" and (home := self._ncu_python()):
            extra = {"WARPWISE_NCU_PYTHON": str(home)}
        elif not _importable(module):
            raise ProgramMissing(
                f"the Python package {module.partition('.')[0]} is not installed", _HINTS[name]
            )
        script = Path(__file__).with_name(f"{name.replace('-', '_')}_worker.py")
        digest = hashlib.sha256(script.read_bytes()).hexdigest()[:8]
        readable = (script.parent, *((Path(extra["WARPWISE_NCU_PYTHON"]).parent.parent,) if extra else ()))
        version = f"{_distribution_version(name)}+{digest}"
        return Program(name, (sys.executable, "-I", str(script)), version, readable, extra)

    def _ncu_python(self) -> Path | None:
        """The folder of the ncu_report module that came with this machine's ncu: it always reads that ncu's reports."""
        found = self._locate("ncu")
        homes = [_ncu_home(found.resolve())] if found else []
        homes += sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True) if found else []
        folders = [home / "extras" / "python" for home in homes]
        return next((folder for folder in folders if (folder / "ncu_report.py").is_file()), None)

    async def _require_one_release(self, nvcc: Path, version: str) -> None:
        release = _release(version)
        others: dict[str, str] = {}
        if (ptxas := nvcc.parent / "ptxas").is_file():
            others["ptxas"] = _release(await _version([str(ptxas), "--version"], _VERSION))
        for folder in ("include", "targets/x86_64-linux/include"):
            header = nvcc.parent.parent / folder / "cuda_runtime_api.h"
            if header.is_file() and (
                found := re.search(r"#define\s+CUDART_VERSION\s+(\d+)", header.read_text("utf-8", "replace"))
            ):
                others["cuda_runtime_api.h"] = f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}"
                break
        wrong = {name: other for name, other in others.items() if other != release}
        if wrong:
            listed = ", ".join(f"{name} is {other}" for name, other in wrong.items())
            raise Unavailable(
                f"mixed CUDA toolkit: nvcc is {release} but {listed}",
                "Install one release: pip install 'warpwise[toolchain]' into a venv of its own, or set CUDA_HOME.",
            )


def _package_worker(name: str) -> Program:
    """A worker of several files: a package beside this one, started by its `main`, isolated from the environment."""
    home, module, needs = _PACKAGES[name]
    if not _importable(needs):
        raise ProgramMissing(
            f"the Python package {needs.partition('.')[0]} is not installed", _HINTS["nvrtc"]
        )
    start = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; sys.exit(main(sys.argv[1:]))"
    package = home.joinpath(*module.split(".")[:-1])
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(package.glob("*.py")))).hexdigest()[
        :8
    ]
    top = home / module.partition(".")[0]
    readable = (top, *(path.resolve() for path in (top, *top.iterdir()) if path.is_symlink()))
    return Program(name, (sys.executable, "-I", "-c", start, str(home)), digest, readable)


def require_host_compiler(environ: Mapping[str, str] = os.environ) -> None:
    """Raises ProgramMissing where nvcc would find no g++ to preprocess with."""
    if shutil.which("g++", path=environ.get("PATH")) is None:
        raise ProgramMissing("nvcc needs a host compiler and there is no g++ on PATH", _HOST_COMPILER_HINT)


def _extra_arguments(name: str, real: Path) -> tuple[str, ...]:
    """What a wheel's nvcc needs and a system's does not mind; machine paths, so not part of a command."""
    library = real.parent.parent / "lib"
    return (f"-L{library}",) if name == "nvcc" and library.is_dir() else ()


def _ncu_home(real: Path) -> Path:
    for parent in real.parents:
        if (parent / "extras" / "python").is_dir() or (parent / "sections").is_dir():
            return parent
    return real.parent


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _distribution_version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    for distribution in {"nvrtc": ("nvidia-cuda-nvrtc", "cuda-bindings"), "ncu-report": ("ncu-report",)}.get(
        name, (name,)
    ):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "unknown"


def _release(version: str) -> str:
    return ".".join(version.split(".")[:2])


async def _version(argv: list[str], pattern: re.Pattern[str]) -> str:
    ended = await spawn(
        argv,
        cwd=Path("/"),
        environment={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent"},
        timeout_s=20,
    )
    found = pattern.findall((ended.stdout + ended.stderr).decode("utf-8", "replace"))
    if not found:
        said = (ended.stderr or ended.stdout)[:120].decode("utf-8", "replace").strip()
        raise Unavailable(
            f"{Path(argv[0]).name} does not say its version: {said!r}", "Reinstall the toolkit it belongs to."
        )
    return str(found[-1])
