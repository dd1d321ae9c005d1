"""Scores of judgements: fast_p as KernelBench counts it, pass@k, and intervals that hold them."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.errors import InvalidRequest
from warpwise.server.evaluation.score import Sample, fast, geometric_mean, pass_at, read

samples = st.lists(
    st.builds(
        Sample,
        st.sampled_from(["a", "b", "c", "d"]),
        st.booleans(),
        st.none() | st.floats(0.01, 100),
        st.none() | st.floats(0.01, 100),
    ),
    min_size=1,
    max_size=40,
)
ANSWERS = [
    {"workload": "a", "verdict": "FAST", "speedup": {"ratio": 2.0, "low": 1.9}},
    {"workload": "b", "verdict": "PASS", "speedup": {"ratio": 1.0, "low": 0.99}},
    {"workload": "c", "verdict": "COMPILE"},
    {"workload": "d", "verdict": "FAST", "speedup": {"ratio": 1.6, "low": 1.4}},
]


def test_fast_p_counts_right_and_strictly_faster() -> None:
    held = read(json.dumps(ANSWERS))
    assert [fast(held, p).value for p in (0, 1, 1.5, 2)] == [0.75, 0.5, 0.5, 0.0]
    assert fast(held, 1.5, certain=True).value == 0.25


def test_one_object_a_line_reads_as_a_list_does() -> None:
    lines = "\n".join(json.dumps(answer) for answer in ANSWERS)
    assert read(lines) == read(json.dumps(ANSWERS))


def test_geometric_means_are_of_right_samples() -> None:
    held = read(json.dumps(ANSWERS))
    every, faster = geometric_mean(held), geometric_mean(held, faster_only=True)
    assert every is not None
    assert faster is not None
    assert every.value == pytest.approx(3.2 ** (1 / 3))
    assert faster.value == pytest.approx(math.sqrt(3.2))
    assert geometric_mean([Sample("a", False)]) is None


def test_pass_at_k_is_the_unbiased_estimate() -> None:
    held = [Sample("a", number < 3) for number in range(10)]
    found = pass_at(held, 2)
    assert found is not None
    assert found.value == pytest.approx(1 - (7 * 6) / (10 * 9))
    assert pass_at(held, 11) is None


@given(samples, st.floats(0, 5))
def test_an_interval_holds_its_value_and_fast_p_falls_with_p(held: list[Sample], p: float) -> None:
    found = fast(held, p)
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value <= found.high + 1e-12 <= 1 + 1e-9
    assert fast(held, p + 1).value <= found.value


@pytest.mark.parametrize(
    "text", ["[1]", '{"verdict": "PASS"}', "not json", '[{"workload": "a", "verdict": "PASS", "speedup": 3}]']
)
def test_what_is_no_answer_is_named_by_its_number(text: str) -> None:
    with pytest.raises(InvalidRequest, match="1"):
        read(text)
