"""The kernels of a PTX module under the names that the source gives them, with the block shapes of the source."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..evaluation import Block
from ..kernel_names import display_name
from ..source.layer import KernelSource
from .module import Function, Module


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """One kernel of the PTX: its linker name, the name the source gives it, and the block shape it is looked at with."""

    mangled: str
    name: str
    blocks: tuple[Block, ...]
    function: Function

    @property
    def block(self) -> Block:
        """The shape that is most likely."""
        return self.blocks[0]


def plain_name(mangled: str) -> str:
    """A kernel's name as its definition has it: without namespaces and template arguments."""
    return display_name(mangled).split("<")[0].rsplit("::", 1)[-1]


def kernels_of(module: Module, sources: Mapping[str, KernelSource]) -> list[PtxKernel]:
    """The kernels of a module that the candidate defines itself (not those of libraries that it instantiates)."""
    found: list[PtxKernel] = []
    for function in module.kernels:
        name = plain_name(function.name)
        if not sources or name in sources:
            found.append(PtxKernel(function.name, name, _blocks(function, sources.get(name)), function))
    return found


def _blocks(function: Function, source: KernelSource | None) -> tuple[Block, ...]:
    required = function.bounds.get("reqntid")
    if required is not None:
        x, y, z = (*required, 1, 1)[:3]
        return (Block(x, y, z),)
    if source is not None and source.blocks:
        return source.blocks
    bound = function.bounds.get("maxntid", (256,))
    return (Block(min(1024, bound[0]), assumed=True),)
