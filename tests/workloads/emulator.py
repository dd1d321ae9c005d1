"""Builds kernels with g++ over `cuda_on_cpu.h` and runs planned launches on the CPU, on buffers between guard pages."""

import ctypes
import mmap
import re
import subprocess  # noqa: TID251  # the test's own compiler, not a program of the product
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpwise.server.evaluation.dtypes import numpy_dtype
from warpwise.server.evaluation.kernels import Kernel
from warpwise.server.evaluation.oracle import Case
from warpwise.server.evaluation.plan import Launch, Plan
from warpwise.server.evaluation.schedule import DefineValue
from warpwise.server.evaluation.schedule_check import Checked
from warpwise.server.evaluation.workload import Workload

Array = NDArray[Any]
HEADER = Path(__file__).with_name("cuda_on_cpu.h")
_PAGE = mmap.PAGESIZE
_FAILURES = {
    1: "accesses memory beyond a buffer",
    2: "has a barrier that not all threads reach",
    3: "returns before a barrier",
}
_PACKED: Mapping[str, Any] = {
    "bool": ctypes.c_bool, "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class KernelFault(Exception):
    """A kernel that did what a GPU would not forgive."""


class Guarded:
    """An array that ends at an unreadable page, its bytes poisoned with 0xFF (NaN, or -1) at first."""

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.size_bytes = dtype.itemsize * int(np.prod(shape))
        data = -(-max(self.size_bytes, 1) // _PAGE) * _PAGE
        self._length = data + 2 * _PAGE
        self._base = int(_libc.mmap(None, self._length, 3, 0x22, -1, 0))
        _libc.mprotect(self._base, _PAGE, 0)
        _libc.mprotect(self._base + _PAGE + data, _PAGE, 0)
        self._slack = data - self.size_bytes
        ctypes.memset(self._base + _PAGE, 0xFF, data)
        self.address = self._base + _PAGE + self._slack
        raw = (ctypes.c_char * self.size_bytes).from_address(self.address)
        self.array: Array = np.frombuffer(memoryview(raw).cast("B"), dtype=dtype).reshape(shape)

    def written_before(self) -> bool:
        """Whether the bytes just before the array were touched."""
        return ctypes.string_at(self._base + _PAGE, self._slack) != b"\xff" * self._slack

    def free(self) -> None:
        self.array = np.empty(0)
        _libc.munmap(self._base, self._length)


@dataclass(frozen=True)
class Unit:
    """One source to build: its name, text, defines and kernels."""

    name: str
    source: str
    defines: Mapping[str, DefineValue]
    kernels: Mapping[str, Kernel]

    @property
    def namespace(self) -> str:
        return "w_" + re.sub(r"\W", "_", self.name)


def unit(checked: Checked, source: str, name: str | None = None) -> Unit:
    """A source with the defines and kernels of a checked schedule."""
    assert checked.schedule is not None
    return Unit(name or checked.workload.name, source, checked.schedule.defines, checked.kernels)


def build(units: Sequence[Unit], folder: Path, include: Path) -> "Emulator":
    """Compile the sources, each in a namespace of its own, into one library."""
    parts = [f'#include "{HEADER}"\n']
    for unit in units:
        parts += [f"#define {name} {value}\n" for name, value in unit.defines.items()]
        text = f'#line 1 "{unit.name}/baseline.cu"\n{_for_host(unit.source)}'
        parts.append(f"namespace {unit.namespace} {{\n{text}\n}}\n")
        parts += [f"#undef {name}\n" for name in unit.defines]
    for unit in units:
        for kernel in unit.kernels:
            target = f"&::emulator::Call<&{unit.namespace}::{kernel}>::run"
            call = f"::emulator::launch({target}, grid, block, given, reverse, where)"
            parts.append(
                f'extern "C" int launch_{unit.namespace}_{kernel}(const unsigned* grid, const unsigned* block,'
                f" void** given, int reverse, uint64_t* where) {{ return {call}; }}\n"
            )
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text("".join(parts), encoding="utf-8")
    arguments = [
        "g++",
        "-O1",
        "-std=c++17",
        "-w",
        "-fPIC",
        "-shared",
        f"-I{include}",
        str(source),
        "-o",
        str(library),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return Emulator(ctypes.CDLL(str(library)))


def _for_host(source: str) -> str:
    text = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", source, flags=re.MULTILINE)
    return re.sub(
        r"extern\s+__shared__\s+(\w+)\s+(\w+)\[\];",
        r"\1* \2 = reinterpret_cast<\1*>(::emulator::dynamic_shared);",
        text,
    )


class Emulator:
    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def run(
        self, unit: Unit, workload: Workload, case: Case, plan: Plan, *, reverse: bool
    ) -> dict[str, Array]:
        """Every output after all launches, in the buffers' own types."""
        held = {
            buffer.name: Guarded(numpy_dtype(buffer.dtype), buffer.shape(case.sizes))
            for buffer in workload.buffers.values()
        }
        held |= {name: Guarded(numpy_dtype(dtype), shape) for name, (dtype, shape) in plan.scratch.items()}
        try:
            for name, array in case.arrays.items():
                held[name].array[...] = array
            for launch in plan.launches:
                self._launch(unit, launch, held, case, reverse)
            for buffer in workload.buffers.values():
                if held[buffer.name].written_before():
                    raise KernelFault(f"{unit.name}: wrote before {buffer.name}")
                same = (
                    buffer.role != "in"
                    or held[buffer.name].array.tobytes() == case.arrays[buffer.name].tobytes()
                )
                if not same:
                    raise KernelFault(f"{unit.name}: changed its input {buffer.name}")
            return {buffer.name: held[buffer.name].array.copy() for buffer in workload.outputs}
        finally:
            for guarded in held.values():
                guarded.free()

    def _launch(
        self, unit: Unit, launch: Launch, held: Mapping[str, Guarded], case: Case, reverse: bool
    ) -> None:
        packed: list[Any] = []
        for argument in launch.arguments:
            if argument.type == "pointer":
                packed.append(ctypes.c_void_p(held[str(argument.value)].address))
            else:
                value = case.scalars[argument.value] if isinstance(argument.value, str) else argument.value
                packed.append(_PACKED[argument.type](value))
        pointers = (ctypes.c_void_p * max(len(packed), 1))(*[ctypes.addressof(value) for value in packed])
        where = (ctypes.c_uint64 * 7)()
        function = getattr(self.library, f"launch_{unit.namespace}_{launch.kernel}")
        three = ctypes.c_uint32 * 3
        status = function(three(*launch.grid), three(*launch.block), pointers, int(reverse), where)
        if status:
            near = [
                f"{name}{'[+' if where[6] >= guarded.address else '[-'}{abs(where[6] - guarded.address)} bytes]"
                for name, guarded in held.items()
                if abs(where[6] - guarded.address) < guarded.size_bytes + 2 * _PAGE
            ]
            place = f"block {tuple(where[0:3])}, thread {tuple(where[3:6])}"
            shown = ", ".join(near) if status == 1 else ""
            raise KernelFault(
                f"{unit.name}: `{launch.kernel}` {_FAILURES[status]} at {place} {shown} {dict(case.sizes)}"
            )
