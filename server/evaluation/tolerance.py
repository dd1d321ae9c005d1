"""How far a right output may lie from the float64 oracle: a rule by kind of computation, never a guessed constant.

With u the unit roundoff of the output's type, u_acc that of the accumulator (float32 for float16 and bfloat16), L the
number of terms that meet in one output, and S the root mean square of the reference (of its row, or of the tensor):

    allowed = (2 u + 64 u_acc) |want| + (16 g(L) u_acc + stored u) S

g is 1 for `elementwise`, sqrt(L) for `reduction` (rounding errors of a sum walk randomly) and L for `iterative`
(later steps amplify earlier errors). The first term covers the last rounding and fast device functions (about 30 ulp);
`stored` counts intermediate results that an honest kernel may keep in the buffers' own type. `exact` allows nothing.
Because S is taken from the reference, zeros never pass where the output is not zero. (Background: N. Higham, "Accuracy
and Stability of Numerical Algorithms", sections 3.1 and 4.2.)
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from .dtypes import DType, accumulator_roundoff, is_float, unit_roundoff
from .expressions import Expression

Kind = Literal["exact", "elementwise", "reduction", "iterative"]
Scale = Literal["tensor", "row"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SCALES: tuple[Scale, ...] = get_args(Scale)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Numbers of one output at one size: allowed error = relative * |want| + absolute * S, S over `scale`."""

    relative: float
    absolute: float
    scale: Scale


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The rule as a workload declares it. `length` is None for exact and elementwise."""

    kind: Kind
    length: Expression | None = None
    scale: Scale = "tensor"
    stored: int = 0

    def allowance(self, dtype: DType, sizes: Mapping[str, int]) -> Allowance:
        """The rule in numbers for an output of this type at these sizes."""
        if self.kind == "exact" or not is_float(dtype):
            return Allowance(0.0, 0.0, self.scale)
        terms = max(1, self.length.evaluate(sizes)) if self.length else 1
        growth = {"elementwise": 1.0, "reduction": math.sqrt(terms), "iterative": float(terms)}[self.kind]
        last, accumulator = unit_roundoff(dtype), accumulator_roundoff(dtype)
        return Allowance(
            2 * last + 64 * accumulator, 16 * growth * accumulator + self.stored * last, self.scale
        )

    def __str__(self) -> str:
        if self.kind == "exact":
            return "exact"
        parts = [f"over {self.length}" if self.length else "", "by row" if self.scale == "row" else ""]
        return " ".join([self.kind, *filter(None, parts)])
