"""Which kernels a program really launched: the probe's table with names and source lines, beside the kernels it holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..reports.compilation import KernelResources
from ..reports.debugging import KernelRun
from ..toolchain.demangle import demangle
from ..toolchain.launch_probe import Configuration, Dim3, Launch, LaunchTable
from .host_lines import Executable
from .host_sites import Site, SourceOf, call_site
from .kernel_names import display_name, plain_linker_name

_SYSTEM_LIBRARIES = (
    "libc.",
    "libm.",
    "libstdc++.",
    "libgcc_s.",
    "libpthread.",
    "librt.",
    "libdl.",
    "ld-linux",
    "libcudart.",
)


@dataclass(frozen=True, slots=True)
class NamedLaunch:
    """Launches with one outcome, with the kernel's linker name and the first one's line where these are known."""

    launch: Launch
    kernel: str | None
    site: Site

    @property
    def name(self) -> str:
        """How answers name the kernel."""
        return display_name(self.kernel) if self.kernel else "a kernel of unknown name"


@dataclass(frozen=True, slots=True)
class Launches:
    """All launches of one run. `unseen` says how kernels may have been launched past the probe, or is None."""

    table: LaunchTable
    named: tuple[NamedLaunch, ...]
    runs: tuple[KernelRun, ...]
    unseen: str | None

    @property
    def failed(self) -> tuple[NamedLaunch, ...]:
        """The launches that were refused."""
        return tuple(named for named in self.named if named.launch.error)

    @property
    def latest(self) -> NamedLaunch | None:
        """The last launch that was accepted."""
        accepted = [named for named in self.named if not named.launch.error]
        return max(accepted, key=lambda named: named.launch.last, default=None)

    @property
    def never(self) -> tuple[str, ...]:
        """Kernels that the program holds and never launched; empty where a launch is known without its kernel."""
        if any(named.kernel is None for named in self.named) or self.table.lost or self.table.driver_launches:
            return ()
        return tuple(run.name for run in self.runs if not (run.launches or run.failed or run.captured))


def read_launches(
    table: LaunchTable, executable: Executable, kernels: Sequence[KernelResources], source_of: SourceOf
) -> Launches:
    """Name the launches of a table that this very executable left."""
    named = tuple(_named(launch, executable, source_of) for launch in table.launches)
    return Launches(table, named, tuple(_runs(named, kernels)), _unseen(executable))


def configuration(given: Configuration) -> tuple[str, str]:
    """(grid, block) as a launch writes them."""
    return dim3(given.grid), dim3(given.block)


def dim3(value: Dim3) -> str:
    """A size as a launch writes it: `256`, `(32,32)`."""
    x, y, z = value
    return f"({x},{y},{z})" if z != 1 else f"({x},{y})" if y != 1 else str(x)


def _named(launch: Launch, executable: Executable, source_of: SourceOf) -> NamedLaunch:
    addresses = [executable.start + site - 1 for site in launch.sites]
    site = call_site(addresses, [None] * len(addresses), executable, source_of)
    function = None if launch.function is None else executable.function(executable.start + launch.function)
    return NamedLaunch(launch, function or site.kernel, site)


def _runs(named: Iterable[NamedLaunch], kernels: Iterable[KernelResources]) -> Iterable[KernelRun]:
    """One entry per kernel: launched ones in the order of their latest launch, then those never launched."""
    found: dict[str, KernelRun] = {}
    for launched in named:
        key = _key(launched.kernel) if launched.kernel else ""
        found[key] = _added(found.get(key) or KernelRun(name=launched.name), launched)
    for kernel in kernels:
        found.setdefault(_key(kernel.mangled), KernelRun(name=display_name(kernel.mangled)))
    return found.values()


def _key(kernel: str) -> str:
    """What the host's and the device's linker names of one kernel have in common."""
    return demangle(plain_linker_name(kernel))


def _added(run: KernelRun, launched: NamedLaunch) -> KernelRun:
    launch = launched.launch
    counted = "failed" if launch.error else "captured" if launch.captured else "launches"
    grid, block = configuration(launch.latest)
    site = launched.site
    return run.model_copy(
        update={
            counted: getattr(run, counted) + launch.count,
            "grid": grid,
            "block": block,
            "shared_bytes": launch.latest.shared_bytes,
            "launched_at": f"{site.file}:{site.line}" if site.file else run.launched_at,
        }
    )


def _unseen(executable: Executable) -> str | None:
    foreign = [name for name in executable.needed if not name.startswith(_SYSTEM_LIBRARIES)]
    return f"kernels that {', '.join(foreign)} launches are not counted" if foreign else None
