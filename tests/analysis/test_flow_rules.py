"""The computed parts against brute force: values, races, bank passes, sectors, masks."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from warpwise.server.analysis.evaluation import ROUND_SAMPLES, Block, Evaluator
from warpwise.server.analysis.expressions import (
    Expr,
    Phi,
    add,
    apply,
    carried,
    compute,
    const,
    constant,
    leaf,
    mul,
    unknown,
)
from warpwise.server.analysis.flow import Access, Flow, Guard, Node
from warpwise.server.analysis.patterns import bank_degree, global_patterns, shared_patterns
from warpwise.server.analysis.races import conflicts
from warpwise.server.reports.finding import Location

HERE = Location(file="k.cu", line=1)
OPERATORS = [
    "add",
    "sub",
    "mul",
    "div",
    "rem",
    "and",
    "or",
    "xor",
    "min",
    "max",
    "lt",
    "ge",
    "eq",
    "land",
    "lor",
]
THREAD = leaf("tid")
numbers = st.integers(-40, 40)


def expressions(depth: int) -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        numbers.map(const), st.sampled_from([THREAD, leaf("tid", "y"), leaf("ntid"), leaf("lane")])
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(apply, st.sampled_from(OPERATORS), inner, inner)
            | st.builds(apply, st.sampled_from(["neg", "not", "lnot"]), inner)
            | st.builds(apply, st.just("select"), inner, inner, inner)
        ),
        max_leaves=depth,
    )


def by_hand(expr: Expr, thread: tuple[int, int], block: Block) -> int | None:
    if expr.op == "const":
        return constant(expr)
    if expr.op == "tid":
        return thread[0] if expr.value == "x" else thread[1]
    if expr.op == "ntid":
        return block.x
    if expr.op == "lane":
        return (thread[0] + thread[1] * block.x) % 32
    operands = [by_hand(arg, thread, block) for arg in expr.args]
    known = [value for value in operands if value is not None]
    return compute(expr.op, known) if len(known) == len(operands) else None


@given(expressions(12))
@settings(max_examples=200, deadline=None)
def test_all_threads_at_once_compute_what_each_computes_alone(expr: Expr) -> None:
    block = Block(8, 3)
    values = Evaluator(block).full(expr)
    assert values is not None
    for thread, (y, x) in enumerate(product(range(3), range(8))):
        alone = by_hand(expr, (x, y), block)
        assume(alone is not None and abs(alone) < 1 << 60)
        assert int(values[0, thread]) == alone


def test_a_loop_variable_follows_its_recurrence() -> None:
    phi = Phi(0, const(128), "d")
    variable = carried(phi, varying=False)
    phi.following = apply("shr", variable, const(1))
    values = Evaluator(Block(32)).values(variable)
    assert values is not None
    assert set(values.ravel().tolist()) == {128, 64, 32}
    ahead = Evaluator(Block(32), ahead={0: 1}).values(variable)
    assert ahead is not None
    assert set(ahead.ravel().tolist()) == {64, 32, 16}


def access(address: Expr, width: int = 4, space: str = "shared") -> Access:
    return Access(space, "s", address, width)  # type: ignore[arg-type]  # one of the spaces


def straight(*nodes: Node, block: Block) -> Flow:
    """A flow of nodes one after another."""
    for before, after in pairwise(nodes):
        before.following.append((after, None))
    return Flow("k", "source", HERE, list(nodes), blocks=(block,))


indices = st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(1, 64), st.integers(0, 3))


def index(shape: tuple[int, int, int, int]) -> Expr:
    factor, offset, modulus, shift = shape
    return add(
        apply("shr", apply("rem", mul(const(factor), THREAD), const(modulus)), const(shift)), const(offset)
    )


@given(indices, indices, st.integers(0, 64), st.integers(0, 64))
@settings(max_examples=150, deadline=None)
def test_a_race_is_found_exactly_when_two_threads_meet(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int], first_bound: int, second_bound: int
) -> None:
    block = Block(64)
    guards = [Guard(apply("lt", THREAD, const(bound)), HERE) for bound in (first_bound, second_bound)]
    write = Node("write", HERE, (guards[0],), access=access(mul(index(one), const(4))))
    read = Node("read", HERE, (guards[1],), access=access(mul(index(other), const(4))))
    found = conflicts(straight(write, read, block=block))

    def at(shape: tuple[int, int, int, int], thread: int) -> int:
        return ((shape[0] * thread) % shape[2] >> shape[3]) + shape[1]

    meetings = [
        (a, b)
        for a in range(min(first_bound, 64))
        for b in range(min(second_bound, 64))
        if a != b and at(one, a) == at(other, b)
    ]
    assert bool(found) == bool(meetings)
    if found:
        assert found[0].threads in meetings
        assert found[0].same_warp == all(a // 32 == b // 32 for a, b in meetings)


def test_a_barrier_between_orders_them_and_a_warp_barrier_only_one_warp() -> None:
    def pair(kind: str) -> list[object]:
        write = Node("write", HERE, access=access(mul(THREAD, const(4))))
        read = Node("read", HERE, access=access(mul(apply("sub", const(63), THREAD), const(4))))
        middle = Node(kind, HERE)  # type: ignore[arg-type]  # one of the kinds
        return list(conflicts(straight(write, middle, read, block=Block(64))))

    assert pair("barrier") == []
    assert len(pair("join")) == 1
    assert len(pair("warp_barrier")) == 1
    write = Node("write", HERE, access=access(mul(THREAD, const(4))))
    read = Node("read", HERE, access=access(mul(apply("sub", const(31), THREAD), const(4))))
    assert conflicts(straight(write, Node("warp_barrier", HERE), read, block=Block(32))) == []


def passes(addresses: list[int], width: int) -> int:
    """Bank passes by counting: groups of 32 * 4 / width lanes, the most distinct words on one bank."""
    group = max(1, 128 // width)
    worst = 1
    for start in range(0, len(addresses), group):
        words = {
            (each + byte) // 4 for each in addresses[start : start + group] for byte in range(0, width, 4)
        }
        worst = max(worst, *(sum(word % 32 == bank for word in words) for bank in range(32)))
    return worst


@given(st.integers(0, 65), st.integers(0, 33), st.sampled_from([4, 8, 16]), st.integers(0, 31))
@settings(max_examples=150, deadline=None)
def test_bank_passes_are_what_counting_gives(factor: int, offset: int, width: int, swizzle: int) -> None:
    element = apply("xor", mul(const(factor), THREAD), const(swizzle))
    address = mul(add(element, const(offset)), const(width))
    [pattern] = shared_patterns(straight(Node("read", HERE, access=access(address, width)), block=Block(32)))
    expected = passes([(((factor * lane) ^ swizzle) + offset) * width for lane in range(32)], width)
    assert bank_degree(pattern) == expected


@given(st.integers(0, 70), st.integers(0, 9), st.sampled_from([4, 8, 16]))
@settings(max_examples=100, deadline=None)
def test_sectors_are_what_counting_gives(factor: int, offset: int, width: int) -> None:
    address = mul(add(mul(const(factor), THREAD), const(offset)), const(width))
    flow = straight(Node("read", HERE, access=access(address, width, "global")), block=Block(32))
    [pattern] = global_patterns(flow)
    starts = {(factor * lane + offset) * width for lane in range(32)}
    assert pattern.usual == len({(start + byte) // 32 for start in starts for byte in range(width)})
    assert pattern.needed == -(-len(starts) * width // 32)
    assert not pattern.misaligned


def test_what_depends_on_data_has_no_pattern_and_no_race() -> None:
    data = unknown("keys[i]", varying=True)
    node = Node("write", HERE, access=access(mul(data, const(4))))
    read = Node("read", HERE, access=access(mul(THREAD, const(4))))
    flow = straight(node, read, block=Block(64))
    assert [pattern.node for pattern in shared_patterns(flow)] == [read]
    assert conflicts(flow) == []


def test_a_meeting_under_guessed_sizes_counts_only_when_every_guess_shows_it() -> None:
    size = unknown("n", varying=False)
    far = Node("read", HERE, access=access(mul(add(THREAD, size), const(4))))
    near = Node("read", HERE, access=access(mul(apply("sub", size, THREAD), const(4))))
    for read, expected in ((far, False), (near, True)):
        written = THREAD if read is far else apply("sub", size, add(THREAD, const(1)))
        write = Node("write", HERE, access=access(mul(written, const(4))))
        assert bool(conflicts(straight(write, read, block=Block(64)))) == expected


@pytest.mark.parametrize("count", [1, 31, 32, 33, 1024])
def test_blocks_of_any_size_are_evaluated(count: int) -> None:
    values = Evaluator(Block(count)).full(THREAD)
    assert values is not None
    assert values.shape[1] == count
    assert np.array_equal(values[ROUND_SAMPLES], np.arange(count))
