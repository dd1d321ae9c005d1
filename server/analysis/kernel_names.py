"""Names of kernels as host code carries them: launch stubs, and which function is the host side of which kernel."""

import re

from ..toolchain.demangle import demangle, short_name

_STUB = re.compile(r"__device_stub_(?P<kernel>_Z.*)")
_STATIC = re.compile(r"__nv_static_(\d+)__")
_ANONYMOUS = re.compile(r"_GLOBAL__N__\w+?::|\(anonymous namespace\)::")


def kernel_of_stub(function: str) -> str | None:
    """The linker name of the kernel that nvcc's launch stub (by linker or by plain name) launches; None for any other."""
    found = re.match(r"_ZL?(\d+)(?=__device_stub_)", function)
    plain = function[found.end() : found.end() + int(found[1])] if found else function
    stub = _STUB.match(plain)
    return stub["kernel"] if stub else None


def plain_linker_name(name: str) -> str:
    """A kernel's linker name without what -rdc puts before that of a `static` one: `__nv_static_<length>__<unit>`."""
    found = _STATIC.match(name)
    return name[found.end() + int(found[1]) :] if found else name


def is_stub(function: str) -> bool:
    """Whether a host function only passes a launch on: nvcc's stub, or the wrapper that it makes for templates."""
    return "__device_stub_" in function


def display_name(name: str) -> str:
    """How answers name a kernel: demangled, without parameters and without the mark of an unnamed namespace."""
    return _ANONYMOUS.sub("", short_name(demangle(plain_linker_name(name))))


def is_host_side(function: str, kernel: str) -> bool:
    """Whether a host function (linker or plain name) is the one that stands for a kernel in the source."""
    return _last(function) == _last(kernel)


def _last(name: str) -> str:
    return re.sub(r"<.*", "", display_name(name).replace("operator()", "")).rpartition("::")[2].strip()


def plain_name(name: str) -> str:
    """A kernel's name as its definition has it: without namespaces and template arguments."""
    return re.sub(r"<.*", "", display_name(name)).rpartition("::")[2].strip()
