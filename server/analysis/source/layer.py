"""The source layer as a whole: a candidate's files in, findings and the kernels' shapes out. It needs no toolchain."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...reports.finding import Finding
from ..evaluation import Block
from ..flow import Flow
from ..rules.bounds import bounds_findings, overflow_findings
from ..rules.divergence import divergence_findings
from ..rules.host import host_findings, launch_findings
from ..rules.idioms import idiom_findings, restrict_finding
from ..rules.numeric import numeric_findings
from ..rules.patterns import pattern_findings
from ..rules.races import race_findings
from ..rules.updates import update_findings
from . import syntax
from .kernels import flow_of
from .launches import LaunchFacts, launch_facts
from .shapes import Constants
from .unit import Function, Unit, read


@dataclass(frozen=True, slots=True)
class KernelSource:
    """What the source says of one kernel; `flow` is None where its control flow is not followed."""

    name: str
    function: Function
    flow: Flow | None
    launches: tuple[LaunchFacts, ...]

    @property
    def uses_double(self) -> bool:
        """Whether its text names a double."""
        named = self.function.nodes("primitive_type", "type_identifier")
        parameters = any(parameter.type.is_double for parameter in self.function.parameters)
        return parameters or any(names_double(syntax.text(node)) for node in named)

    @property
    def uses_64_bits(self) -> bool:
        """Whether its text names a 64-bit integer type."""
        return bool(re.search(r"\b(?:size_t|ptrdiff_t|u?int64_t|long)\b", syntax.text(self.function.node)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The block shapes it is looked at with."""
        return self.flow.blocks if self.flow is not None else ()


@dataclass(frozen=True, slots=True)
class SourceLayer:
    """The findings of the source, and per kernel what the other layers need. `unreadable_lines` did not parse."""

    findings: tuple[Finding, ...]
    kernels: Mapping[str, KernelSource] = field(default_factory=dict[str, KernelSource])
    unreadable_lines: tuple[str, ...] = ()


def names_double(text: str) -> bool:
    """Whether a text uses a double type, scalar or vector."""
    return bool(re.search(r"\bdouble[1-4]?\b", text))


def analyze_source(
    main: str, files: Mapping[str, str], defines: Mapping[str, str], *, is_program: bool, arch: str = "sm_90"
) -> SourceLayer:
    """Analyse the source as device code for `arch`: `files` are names to texts, `main` one of them."""
    unit = read(main, files, defines, arch)
    constants = Constants(unit)
    kernels = [_kernel(unit, each, files[main], constants) for each in unit.of_role("kernel")]
    found: list[Finding] = []
    for kernel in kernels:
        found += launch_findings(kernel.name, kernel.launches)
        if kernel.flow is not None:
            found += _flow_findings(unit, kernel, kernel.flow)
    found += numeric_findings(unit) + idiom_findings(unit) + host_findings(unit, is_program=is_program)
    by_name: dict[str, KernelSource] = {}
    for kernel in kernels:  # of overloads the first: the name is all that the other layers can go by
        by_name.setdefault(kernel.name, kernel)
    return SourceLayer(tuple(found), by_name, tuple(str(place) for place in unit.errors))


def _kernel(unit: Unit, function: Function, source: str, constants: Constants) -> KernelSource:
    try:
        launches = launch_facts(unit, function, constants)
        flow = flow_of(unit, function, source, launches, constants)
    except RecursionError:  # expressions nested by the hundred
        return KernelSource(function.name, function, None, ())
    return KernelSource(function.name, function, flow, tuple(launches))


def _flow_findings(unit: Unit, kernel: KernelSource, flow: Flow) -> list[Finding]:
    kinds = {parameter.name: parameter.type for parameter in kernel.function.parameters}
    sizes = [name for name, kind in kinds.items() if kind.is_int32 or kind.is_int64]
    single = bool(kernel.launches) and all(launch.grid == (1, 1, 1) for launch in kernel.launches)
    found = divergence_findings(flow) + bounds_findings(flow, kernel.launches, sizes)
    if not kernel.uses_64_bits:
        found += overflow_findings(flow, kernel.launches)
    if flow.fits:
        found = (
            race_findings(flow) + found + update_findings(flow, single_block=single) + pattern_findings(flow)
        )
    restrict = restrict_finding(kernel.function, flow)
    return found + ([restrict] if restrict is not None else [])
