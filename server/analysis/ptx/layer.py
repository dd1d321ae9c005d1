"""The PTX layer as a whole: a PTX text in, findings out, with what the source says of block shapes and names."""

from collections.abc import Iterable, Mapping

from ...reports.finding import Finding
from ..evaluation import Evaluator
from ..flow import Flow, SharedArray
from ..origins import Origins
from ..rules.divergence import divergence_findings
from ..rules.patterns import pattern_findings
from ..rules.races import race_findings
from ..source.layer import KernelSource
from .double_precision import double_precision_findings
from .follow import Names, follow, source_name
from .kernels import PtxKernel
from .module import Function, Module
from .places import LIBRARY, NOWHERE, where


def analyze_ptx(
    module: Module, kernels: Iterable[PtxKernel], sources: Mapping[str, KernelSource], origins: Origins
) -> list[Finding]:
    """The findings of every kernel; races and divergence only where the block shape is known or fits its arrays."""
    found: list[Finding] = []
    for kernel in kernels:
        source = sources.get(kernel.name)
        parameters = () if source is None else tuple(each.name for each in source.function.parameters)
        names = Names(kernel.name, parameters, lambda place: where(origins, place))
        flow = follow(kernel.function, module.variables, names, kernel.block)
        if flow is not None:
            flow.arrays = {**flow.arrays, **_declared(source, flow)}
            flow.blocks = kernel.blocks
            fits = (
                source is not None
                and source.flow is not None
                and source.flow.fits
                and _fits(flow, kernel.function)
            )
            found += _judged(flow, ordered=fits or not flow.block.assumed)
        found += double_precision_findings(kernel, source, origins)
    return [finding for finding in found if finding.location not in (NOWHERE, LIBRARY)]


def _judged(flow: Flow, *, ordered: bool) -> list[Finding]:
    return (race_findings(flow) + divergence_findings(flow) if ordered else []) + pattern_findings(flow)


def _fits(flow: Flow, function: Function) -> bool:
    """Whether every access to a shared array of known size stays inside it under the assumed block shape."""
    sizes = {
        source_name(name): each.size_bytes for name, each in function.variables.items() if each.size_bytes
    }
    evaluator = Evaluator(flow.block)
    for node, access in flow.accesses("shared"):
        size, addresses = sizes.get(access.base), evaluator.full(access.address)
        active, _ = evaluator.active(node.conditions)
        if size is not None and addresses is not None and bool((active & (addresses >= size)).any()):
            return False
    return True


def _declared(source: KernelSource | None, flow: Flow) -> dict[str, SharedArray]:
    """The extents of shared arrays as the source declares them: PTX knows only their bytes."""
    if source is None or source.flow is None:
        return {}
    return {name: array for name, array in source.flow.arrays.items() if name in flow.arrays}
