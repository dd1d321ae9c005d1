"""The oracle's process: draw the inputs of a workload and compute their references. It never meets a candidate.

It reads `spec.json` (`workload`: its folder; `sets`: sizes and seed of each) beside the workload's own files, and
leaves `inputs.bin`, `references.bin` and `index.json`, or `refused.json` where the workload is wrong.
"""

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import BadWorkload
from .dtypes import numpy_dtype
from .oracle import Oracle, load_oracle
from .workload_file import load


def main(arguments: list[str]) -> int:
    """Do what `spec.json` asks; `--wait` first says `ready` and waits for a line. Exits 0, even refusing."""
    if arguments == ["--wait"]:
        print("ready", flush=True)
        if not sys.stdin.readline():
            return 0
    spec = json.loads(Path("spec.json").read_bytes())
    try:
        oracle = load_oracle(load(Path(spec["workload"])))
        with Path("inputs.bin").open("wb") as inputs, Path("references.bin").open("wb") as references:
            index = [_set(oracle, wanted, inputs, references) for wanted in spec["sets"]]
    except BadWorkload as error:
        Path("refused.json").write_text(json.dumps({"what": error.what, "hint": error.hint}))
        return 0
    Path("index.json").write_text(json.dumps(index))
    return 0


def _set(oracle: Oracle, wanted: dict[str, Any], inputs: BinaryIO, references: BinaryIO) -> dict[str, Any]:
    case = oracle.case(int(wanted["seed"]), wanted["sizes"])
    expected = oracle.expected(case)
    workload = oracle.workload
    return {
        "inputs": {name: _write(inputs, array) for name, array in case.arrays.items()},
        "references": {
            name: [*_write(references, array), array.dtype.name] for name, array in expected.items()
        },
        "scalars": {
            name: np.asarray(value, numpy_dtype(workload.scalars[name])).tobytes().hex()
            for name, value in case.scalars.items()
        },
    }


def _write(file: BinaryIO, array: NDArray[Any]) -> list[int]:
    offset = file.tell()
    file.write(np.ascontiguousarray(array).tobytes())
    return [offset, array.nbytes]
