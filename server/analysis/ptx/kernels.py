"""The kernels of a PTX module under the names that the source gives them, with the block shapes of the source."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..evaluation import Block
from ..kernel_names import plain_name
from ..origins import Origins
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


def kernels_of(module: Module, sources: Mapping[str, KernelSource], origins: Origins) -> list[PtxKernel]:
    """The kernels of a module that the candidate defines itself (not those of libraries that it instantiates)."""
    found: list[PtxKernel] = []
    for function in module.kernels:
        name = plain_name(function.name)
        if name in sources or _is_own(function, origins):
            found.append(PtxKernel(function.name, name, _blocks(function, sources.get(name)), function))
    return found


def _is_own(function: Function, origins: Origins) -> bool:
    """Whether its body lies in the candidate's files: the outermost line of its first instruction that has one."""
    place = next((each.place for each in function.instructions if each.place is not None), None)
    while place is not None and place.caller is not None:
        place = place.caller
    return place is not None and origins.name(place.file) is not None


def _blocks(function: Function, source: KernelSource | None) -> tuple[Block, ...]:
    required = function.bounds.get("reqntid")
    if required is not None:
        x, y, z = (*required, 1, 1)[:3]
        return (Block(x, y, z),)
    if source is not None and source.blocks:
        return source.blocks
    bound = function.bounds.get("maxntid", (256,))
    return (Block(min(1024, bound[0]), assumed=True),)
