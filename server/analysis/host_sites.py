"""From a host call stack to the one line of the user's source that made the call. Stacks are read, nothing runs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from .host_lines import Executable, HostFrame
from .kernel_names import is_host_side, is_stub, kernel_of_stub

SourceOf = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Site:
    """A call in the user's code: `address` in the executable, the line where debug information tells it.

    `call` is the runtime function that was called, `kernel` (linker name) what a launch launches.
    """

    address: int | None
    file: str | None = None
    line: int | None = None
    kernel: str | None = None
    call: str | None = None


def source_finder(names: Iterable[str]) -> SourceOf:
    """A function from a path as tools write it (`/w/kernels/x.cu`) to the candidate's own name of that file, or None."""
    known = sorted(names, key=len, reverse=True)

    def find(path: str) -> str | None:
        normal = str(PurePosixPath(path))
        return next((name for name in known if normal == name or normal.endswith(f"/{name}")), None)

    return find


def call_site(
    addresses: Sequence[int],
    functions: Sequence[str | None],
    executable: Executable | None,
    source_of: SourceOf,
) -> Site:
    """The user's line of a stack given innermost first: addresses inside calls, and function names where known."""
    frames: list[tuple[int, HostFrame]] = []
    for index, address in enumerate(addresses):
        found = executable.frames(address) if executable else ()
        name = functions[index] or (executable.function(address) if executable else None)
        frames += [(address, frame) for frame in found] or [(address, HostFrame(name, "", 0))]
    called = [frame.function for _, frame in frames if frame.function and frame.function.startswith("cuda")]
    kernel, frames = _after_launch(frames)
    call = called[-1].partition("<")[0] if called else None
    for address, frame in frames:
        file = source_of(frame.path) if frame.path else None
        if file:
            return Site(address, file, frame.line, kernel, call)
    user = next((address for address, frame in frames if not _is_runtime(frame.function)), None)
    return Site(user, kernel=kernel, call=call)


def _after_launch(frames: list[tuple[int, HostFrame]]) -> tuple[str | None, list[tuple[int, HostFrame]]]:
    """(the kernel that the stack launches, the frames outside its stub): stub and host side are no calls."""
    stubs = [index for index, (_, frame) in enumerate(frames) if frame.function and is_stub(frame.function)]
    if not stubs:
        return None, frames
    named = [kernel_of_stub(frames[index][1].function or "") for index in stubs]
    kernel = next((name for name in named if name), None)
    rest = frames[stubs[-1] + 1 :]
    if rest and kernel and rest[0][1].function and is_host_side(rest[0][1].function, kernel):
        rest = rest[1:]
    return kernel, rest


def _is_runtime(function: str | None) -> bool:
    prefixes = ("cuda", "cu", "libcudart", "__cuda", "__wrap_", "note", "_start", "__libc")
    return function is None or function.startswith(prefixes)
