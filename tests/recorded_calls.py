"""The calls whose runs are recorded on an H200 and replayed everywhere else. Data only: `record.py` makes them anew."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
PACK = HERE / "recordings" / "h200"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One tool call on a kernel of `tests/kernels`."""

    tool: str
    kernel: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """A name for test ids."""
        extra = ",".join(f"{key}={value}" for key, value in self.arguments.items())
        return f"{self.tool} {self.kernel}" + (f" {extra}" if extra else "")

    def all_arguments(self) -> dict[str, Any]:
        """The arguments as a client gives them."""
        return {"path": f"{self.kernel}.cu", **self.arguments}


FAULTY = ("badapi", "gemm", "misaligned", "oob", "race", "spill", "sync", "uninit")
CALLS: tuple[RecordedCall, ...] = (
    *(RecordedCall("debug", kernel) for kernel in FAULTY),
    RecordedCall("debug", "hang", {"timeout_s": 8}),
    RecordedCall("debug", "race", {"detail": "evidence"}),
    *(RecordedCall("profile", kernel) for kernel in ("gemm", "spill", "badapi", "oob")),
    RecordedCall("profile", "gemm", {"set": "quick"}),
    RecordedCall("profile", "gemm", {"set": "source"}),
    RecordedCall("profile", "spill", {"set": "full"}),
    RecordedCall("profile", "gemm", {"detail": "raw"}),
    RecordedCall("profile", "hang", {"timeout_s": 12}),
)
