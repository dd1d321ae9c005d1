"""What an answer says of each kernel beside its findings: resources, instruction mix, block shape, proof."""

from collections.abc import Iterable, Mapping, Sequence

from ..reports.analysis import KernelAnalysis
from ..reports.compilation import KernelResources
from ..toolchain.nvdisasm import SassFunction, code
from .instruction_mix import access_widths, mix
from .kernel_names import display_name, plain_name
from .source.layer import KernelSource

MAX_KERNELS = 200
MAX_NAME = 60


def summaries(
    resources: Sequence[KernelResources],
    functions: Iterable[SassFunction],
    sources: Mapping[str, KernelSource],
    proofs: Mapping[str, str],
) -> tuple[KernelAnalysis, ...]:
    """One per built kernel, the candidate's own before those of libraries; unbuilt, one per kernel of the source.

    `proofs` are by linker name.
    """
    code_of = {function.name: function for function in functions if function.is_kernel}
    built = {resource.mangled: resource for resource in resources}
    names = sorted(dict.fromkeys([*built, *code_of]), key=lambda name: plain_name(name) not in sources)
    if not names:
        return tuple(_of_source(source) for source in list(sources.values())[:MAX_KERNELS])
    return tuple(
        _of_build(name, built.get(name), code_of.get(name), _source(name, sources), proofs.get(name))
        for name in names[:MAX_KERNELS]
    )


def _source(mangled: str, sources: Mapping[str, KernelSource]) -> KernelSource | None:
    return sources.get(plain_name(mangled))


def _of_source(source: KernelSource) -> KernelAnalysis:
    block = source.blocks[0] if source.blocks else None
    return KernelAnalysis(
        name=source.name,
        block=str(block) if block is not None else None,
        assumed_block=block is not None and block.assumed,
    )


def _short(mangled: str) -> str:
    name = display_name(mangled)
    return name if len(name) <= MAX_NAME else f"{plain_name(mangled)[:MAX_NAME]}<...>"


def _of_build(
    mangled: str,
    resources: KernelResources | None,
    function: SassFunction | None,
    source: KernelSource | None,
    proof: str | None,
) -> KernelAnalysis:
    block = source.blocks[0] if source is not None and source.blocks else None
    instructions = list(code(function)) if function is not None else []
    widths = access_widths(instructions)
    spilled = None
    if resources is not None and resources.spill_store_bytes is not None:
        spilled = resources.spill_store_bytes + (resources.spill_load_bytes or 0)
    return KernelAnalysis(
        name=_short(mangled),
        registers=resources.registers if resources is not None else None,
        spill_bytes=spilled,
        static_shared_bytes=resources.static_shared_bytes if resources is not None else None,
        instructions=len(instructions) if function is not None else None,
        mix={str(kind): count for kind, count in mix(instructions).most_common()},
        access_bits={str(bits): widths[bits] for bits in sorted(widths)},
        block=str(block) if block is not None else None,
        assumed_block=block is not None and block.assumed,
        proof=proof,
    )
