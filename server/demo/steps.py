"""The five steps of the demo: which kernel, which tools are asked, and why. Data only."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
KERNELS = FOLDER / "kernels"
RECORDING = FOLDER / "recording"
SOURCE_NAME = "gemm.cu"
HEADER_NAME = "main.cuh"
PROFILED_SIZE = {"N": "1000"}


@dataclass(frozen=True, slots=True)
class Question:
    """One tool call of a step, without the path of the kernel, and why it is asked."""

    tool: str
    why: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Step:
    """One version of the kernel and what is asked about it."""

    title: str
    kernel: str
    story: str
    questions: tuple[Question, ...]

    def source(self) -> str:
        """The kernel's text."""
        return (KERNELS / self.kernel).read_text(encoding="utf-8")


_BUILDS = Question("compile", "does it build, and what does each kernel use?")
_CLEAN = Question("debug", "does it read or write wrongly, race, or leak?")

STEPS: tuple[Step, ...] = (
    Step("does not compile", "1_does_not_compile.cu", "A first draft of C = A B.", (_BUILDS,)),
    Step(
        "out of bounds",
        "2_out_of_bounds.cu",
        "The name is mended. The matrix is 500 x 500, the blocks are 32 x 32.",
        (_BUILDS, _CLEAN),
    ),
    Step(
        "race",
        "3_race.cu",
        "Guarded now, and tiled through shared memory to be faster.",
        (Question("analyze", "what does reading the code alone tell?"), _CLEAN),
    ),
    Step(
        "right, but slow",
        "4_slow.cu",
        "Back to the simple kernel with a guard: right. Is it fast?",
        (_CLEAN, Question("profile", "what bounds it?", {"defines": PROFILED_SIZE, "set": "full"})),
    ),
    Step(
        "right and fast",
        "5_fast.cu",
        "Tiles with both barriers, coalesced reads, a 4 x 4 block of C in each thread's registers.",
        (_BUILDS, _CLEAN, Question("profile", "how much faster?", {"defines": PROFILED_SIZE, "set": "full"})),
    ),
)


def lay_out(folder: Path, step: Step) -> None:
    """Write a step's kernel and the header it includes where the client's root is."""
    (folder / SOURCE_NAME).write_text(step.source(), encoding="utf-8")
    (folder / HEADER_NAME).write_text((KERNELS / HEADER_NAME).read_text(encoding="utf-8"), encoding="utf-8")
