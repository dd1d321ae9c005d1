"""Reading proofs: real verdicts of the real verifier, and answers that it would never give."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.server.analysis.evaluation import Block
from warpwise.server.analysis.origins import Origins
from warpwise.server.analysis.proofs import Attempt, attempt, proof_findings
from warpwise.server.analysis.ptx.kernels import PtxKernel
from warpwise.server.analysis.ptx.module import parse as parse_ptx
from warpwise.server.building import build
from warpwise.server.command import Environment, Finished, source_input
from warpwise.server.errors import ProgramKilled, Unavailable, UnreadableOutput
from warpwise.server.toolchain import sentryward
from warpwise.server.toolchain.sentryward import Proof, Request, parse, parse_answer
from warpwise.server.workbench import Workbench

SOURCE = """__global__ void race(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void ordered(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void stuck(float* __restrict__ x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 40) __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void counts(int* __restrict__ c) {
  __shared__ int n;
  n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  __syncthreads();
  *c = n;
}
__global__ void crosses(int* __restrict__ c) { c[threadIdx.x] = blockIdx.x; }
"""
RACE: dict[str, Any] = {
    "result": "potential_race",
    "checks": {"memory": "failed"},
    "diagnostics": [{"code": "conflicting_accesses_unordered", "message": "no proven required ordering"}],
    "races": [
        {
            "first": {"file": "/w/k.cu", "line": 3, "thread": 0, "mode": "write", "bytes": 4},
            "second": {"file": "/w/k.cu", "line": 4, "thread": 63, "mode": "read", "bytes": 4},
            "space": "shared",
            "allocation": "physical.shared.cta.0",
            "offset_bytes": 0,
            "overlap": "constant byte ranges intersect",
        }
    ],
    "blocked": None,
    "elapsed_s": 0.1,
}


async def proofs_of(bench: Workbench, source: str) -> dict[str, tuple[Attempt, Proof]]:
    candidate = await bench.candidate(path=None, source=source, id=None)
    made = await build(bench, candidate, "sm_90")
    assert made.ptx is not None
    module = parse_ptx(bench.blobs.read(made.ptx.digest).decode())
    found: dict[str, tuple[Attempt, Proof]] = {}
    for function in module.kernels:
        name = function.name.lstrip("_Z0123456789").split("P")[0]
        tried = attempt(PtxKernel(function.name, name, (Block(64),), function), module, ())
        request = source_input(bench.blobs.put(tried.request.content()))
        finished = await bench.run(sentryward.command(made.ptx, request, 10))
        answer = bench.blobs.read(finished.files[sentryward.ANSWER_NAME].digest)
        found[name] = (tried, parse(finished, answer))
    return found


async def test_real_kernels_get_the_verdict_that_they_deserve(bench: Workbench) -> None:
    pytest.importorskip("sentryward")
    found = await proofs_of(bench, SOURCE)
    verdicts = {name: proof.verdict for name, (_, proof) in found.items()}
    assert verdicts == {
        "race": "potential_race",
        "ordered": "race_free",
        "stuck": "not_wellsynced",
        "counts": None,
        "crosses": "potential_race",
    }
    assert found["counts"][1].reason == "unsupported: atomic add memory semantics unsupported"
    assert found["race"][0].assumption == "grid 1, block 64, integers 128"
    assert found["crosses"][0].assumption == "grid 2, block 64"
    [witness] = found["race"][1].races
    assert ({witness.first.line, witness.second.line}, witness.space, witness.is_constant) == (
        {3, 4},
        "shared",
        True,
    )
    origins = Origins(["kernel.cu"])
    [race] = proof_findings(*found["race"], origins)
    assert (race.rule, race.severity, race.confidence) == ("proof/race", "error", "certain")
    assert str(race.location) == "kernel.cu:4"
    assert [str(place) for place in race.related] == ["kernel.cu:3"]
    [deadlock] = proof_findings(*found["stuck"], origins)
    assert (deadlock.rule, str(deadlock.location)) == ("proof/divergent-barrier", "kernel.cu:15")
    [crossing] = proof_findings(*found["crosses"], origins)
    assert (crossing.rule, crossing.severity) == ("proof/global-race", "warning")
    assert proof_findings(*found["ordered"], origins) == proof_findings(*found["counts"], origins) == []


def test_a_request_is_what_the_verifier_reads() -> None:
    request = Request(
        entry="_Z1kPfi",
        grid=(1, 1, 1),
        block=(64, 1, 1),
        arguments=(sentryward.Argument(parameter="_Z1kPfi_param_1", type="u32", value=128),),
    )
    assert json.loads(request.content()) == {
        "schema": "spverify.kernel-input/v1",
        "entry": "_Z1kPfi",
        "launch": {"grid_dim": [1, 1, 1], "block_dim": [64, 1, 1], "dynamic_shared_bytes": 0},
        "arguments": [{"parameter": "_Z1kPfi_param_1", "type": "u32", "value": 128}],
    }


def ended(**changes: object) -> Finished:
    plain: dict[str, object] = {
        "exit_code": 0, "signal": None, "timed_out": False, "stdout": b"", "stderr": b"", "stdout_dropped": 0,
        "stderr_dropped": 0, "files": {}, "wall_s": 12.0, "question": "", "environment": Environment({}),
        "sandbox": "none", "measured_at": time.time(),
    }  # fmt: skip
    return Finished(**(plain | changes))  # type: ignore[arg-type]  # each field by its name


def test_a_deadline_is_no_verdict() -> None:
    proof = parse(ended(timed_out=True, exit_code=None), None)
    assert (proof.verdict, proof.reason) == (None, "no verdict within 12 s")


@pytest.mark.parametrize(
    "result", ["timeout", "unsupported", "tool_failure", "invalid_input", "something new"]
)
def test_whatever_is_not_a_verdict_is_none(result: str) -> None:
    proof = parse_answer(json.dumps({"result": result}).encode())
    assert (proof.verdict, proof.reason) == (None, result.replace("_", " "))


def test_a_child_that_fails_is_a_typed_error() -> None:
    with pytest.raises(Unavailable):
        parse(ended(exit_code=3, stderr=b"sentryward unusable"), None)
    with pytest.raises(UnreadableOutput, match="exit code 1"):
        parse(ended(exit_code=1, stderr=b"Traceback"), None)
    with pytest.raises(UnreadableOutput):
        parse(ended(), None)
    with pytest.raises(ProgramKilled):
        parse(ended(signal=11, exit_code=None), None)


def test_a_race_without_places_is_not_believed() -> None:
    with pytest.raises(UnreadableOutput, match="without its places"):
        parse_answer(json.dumps(RACE | {"races": []}).encode())


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_garbage_is_refused(answer: bytes) -> None:
    with pytest.raises(UnreadableOutput):
        parse_answer(answer)


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_an_answer_with_a_part_exchanged_is_read_or_refused(data: st.DataObject) -> None:
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=4,
    )
    answer = dict(RACE)
    answer[data.draw(st.sampled_from(sorted(RACE)))] = data.draw(anything)
    try:
        proof = parse_answer(json.dumps(answer).encode())
    except UnreadableOutput:
        return
    assert proof.verdict in (None, "potential_race")
    assert proof.verdict is None or proof.races
