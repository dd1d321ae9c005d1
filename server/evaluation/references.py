"""Input sets with their references: what the oracle's process is asked, and its answer as arrays. It runs nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blobs import Blobs
from ..command import Command, Finished, Input, source_input
from ..errors import BadWorkload, UnreadableOutput
from .dtypes import numpy_dtype
from .workload import Sizes, Workload

FILES = ("workload.toml", "oracle.py", "baseline.cu")


@dataclass(frozen=True, slots=True)
class SetRequest:
    """One set of inputs: at which sizes, from which seed (a non-negative integer of at most 63 bits)."""

    sizes: Sizes
    seed: int


@dataclass(frozen=True, slots=True)
class InputSet:
    """One set as the launcher gets it: (offset, bytes) in `inputs.bin`, scalars as the hex of their bytes."""

    sizes: Sizes
    inputs: Mapping[str, tuple[int, int]]
    scalars: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class InputSets:
    """All sets of an evaluation: `inputs` is the file that the launcher reads; references stay on this side.

    The sets from number `visible` on are of hidden sizes.
    """

    sets: tuple[InputSet, ...]
    visible: int
    inputs: Input
    _references: bytes
    _index: Sequence[Mapping[str, tuple[int, int, str]]]
    _workload: Workload

    @property
    def hidden_numbers(self) -> range:
        """The numbers of the sets of hidden sizes."""
        return range(self.visible, len(self.sets))

    def is_hidden(self, number: int) -> bool:
        """Whether a set is of hidden sizes."""
        return number >= self.visible

    def at(self, number: int) -> str:
        """`at N = 5, M = 7 (hidden)`."""
        listed = ", ".join(f"{name} = {value}" for name, value in self.sets[number].sizes.items())
        return f"at {listed}" + (" (hidden)" if self.is_hidden(number) else "")

    def reference(self, number: int, name: str) -> NDArray[Any]:
        """The reference of an output of a set: float64, or int64 for an integer output."""
        offset, size, dtype = self._index[number][name]
        shape = self._workload.buffers[name].shape(self.sets[number].sizes)
        return np.frombuffer(self._references[offset : offset + size], np.dtype(dtype)).reshape(shape)

    def given(self, number: int, name: str, content: bytes) -> NDArray[Any]:
        """Bytes as an array of a buffer's own type and shape at a set's sizes."""
        buffer = self._workload.buffers[name]
        return np.frombuffer(content, numpy_dtype(buffer.dtype)).reshape(
            buffer.shape(self.sets[number].sizes)
        )


def command(workload: Workload, requests: Sequence[SetRequest], blobs: Blobs, timeout_s: float) -> Command:
    """Ask the oracle for these sets."""
    sets = [{"sizes": dict(request.sizes), "seed": request.seed} for request in requests]
    spec = {"workload": workload.name, "sets": sets}
    inputs = {
        f"{workload.name}/{name}": source_input(blobs.put((workload.folder / name).read_bytes()))
        for name in FILES
    }
    inputs["spec.json"] = source_input(blobs.put(json.dumps(spec, sort_keys=True).encode()))
    outputs = ("index.json", "inputs.bin", "references.bin", "refused.json")
    return Command("oracle", (), inputs, outputs, kind="analyze", timeout_s=timeout_s)


def parse(
    finished: Finished, workload: Workload, requests: Sequence[SetRequest], visible: int, blobs: Blobs
) -> InputSets:
    """The sets of a finished oracle, the first `visible` of which are of visible sizes.

    Raises BadWorkload as the oracle said, UnreadableOutput where it said nothing.
    """
    if "refused.json" in finished.files:
        refused = json.loads(blobs.read(finished.files["refused.json"].digest))
        raise BadWorkload(str(refused["what"]), str(refused["hint"]))
    finished.require_end("the oracle")
    if "index.json" not in finished.files:
        raise UnreadableOutput("the oracle ended without an answer", finished.stderr)
    index = json.loads(blobs.read(finished.files["index.json"].digest))
    sets = tuple(
        InputSet(
            request.sizes,
            {name: (pair[0], pair[1]) for name, pair in held["inputs"].items()},
            held["scalars"],
        )
        for request, held in zip(requests, index, strict=True)
    )
    references = [{name: tuple(entry) for name, entry in held["references"].items()} for held in index]
    content = blobs.read(finished.files["references.bin"].digest)
    return InputSets(sets, visible, finished.built("inputs.bin"), content, references, workload)
