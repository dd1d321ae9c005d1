"""Hidden sizes follow their rule, repeat with their seed, and differ without it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.errors import BadWorkload
from warpwise.server.evaluation.expressions import parse_constraint
from warpwise.server.evaluation.sizes import SIZE_KINDS, SizeKind, SizeRule, draw, fresh_seed


def prime(number: int) -> bool:
    return number > 1 and all(number % other for other in range(2, number))


@given(
    st.integers(1, 60),
    st.integers(0, 200),
    st.integers(1, 9),
    st.sets(st.sampled_from(SIZE_KINDS), min_size=1),
    st.text(max_size=5),
)
def test_every_size_is_in_its_range_a_multiple_and_of_the_kind_whose_turn_it_is(
    low: int, more: int, multiple: int, kinds: set[SizeKind], seed: str
) -> None:
    rule = SizeRule(low, low + more, tuple(sorted(kinds)), multiple)
    if not all(rule.possible(kind) for kind in kinds):
        with pytest.raises(BadWorkload):
            draw({"N": rule}, (), seed, len(kinds))
        return
    drawn = [sizes["N"] for sizes in draw({"N": rule}, (), seed, 6)]
    for turn, size in enumerate(drawn):
        kind = rule.kinds[turn % len(rule.kinds)]
        assert low <= size <= low + more
        assert size % multiple == 0
        assert {"any": True, "odd": size % 2 == 1, "tail": size % 32 != 0, "prime": prime(size)}[kind]


def test_a_draw_repeats_with_its_seed_and_differs_without_it() -> None:
    rules = {"N": SizeRule(1, 100_000), "M": SizeRule(1, 100_000, ("odd",))}
    assert draw(rules, (), "a", 8) == draw(rules, (), "a", 8)
    assert draw(rules, (), "a", 8) != draw(rules, (), "b", 8)
    assert draw(rules, (), "recorded", 2) == ({"N": 25876, "M": 98025}, {"N": 69677, "M": 3313})
    assert len({fresh_seed() for _ in range(100)}) == 100


def test_sizes_of_one_draw_differ_where_they_can() -> None:
    drawn = draw({"N": SizeRule(1, 1000)}, (), "x", 50)
    assert len({sizes["N"] for sizes in drawn}) == 50
    assert len(draw({"N": SizeRule(5, 5)}, (), "x", 4)) == 4


def test_constraints_between_sizes_hold_in_every_draw() -> None:
    rules = {"K": SizeRule(1, 50), "C": SizeRule(1, 50)}
    drawn = draw(rules, (parse_constraint("K <= C"),), "x", 30)
    assert all(sizes["K"] <= sizes["C"] for sizes in drawn)


def test_a_rule_that_cannot_be_met_is_told() -> None:
    with pytest.raises(BadWorkload, match="gave 0 of 3 sets"):
        draw({"N": SizeRule(1, 50)}, (parse_constraint("N > 50"),), "x", 3)
