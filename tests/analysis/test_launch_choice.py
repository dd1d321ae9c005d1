"""Which launches are profiled, and that ncu, told so, would meet exactly those."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.analysis.launch_choice import (
    MAX_LAUNCHES,
    MAX_PER_KERNEL,
    MAX_RUNS,
    Place,
    Selection,
    choose,
    places,
    selections,
)
from warpwise.server.toolchain.ncu_report import ListedLaunch


def launches(names: Sequence[str], *, wanted: str = "", time_ns: float = 10.0) -> list[ListedLaunch]:
    return [
        ListedLaunch(
            index=index,
            name=name,
            demangled=f"{name}()",
            mangled=name,
            device=None,
            grid=None,
            block=None,
            duration_ns=time_ns,
            wanted=wanted in name,
        )
        for index, name in enumerate(names)
    ]


def met(found: Selection, everything: Sequence[Place]) -> list[Place]:
    """What ncu profiles for a selection: its two expressions, taken for every launch on its own."""
    if found.kernels is None:
        return list(everything)
    return [p for p in everything if p.mangled in found.kernels and p.invocation in found.invocations]


def test_first_middle_and_last_of_each_kernel_are_chosen() -> None:
    names = ["a"] * 5 + ["b"] * 2 + ["c"]
    assert choose(launches(names), 0, None) == [
        *(Place("a", number) for number in (1, 3, 5)),
        *(Place("b", number) for number in (1, 2)),
        Place("c", 1),
    ]


def test_kernels_with_more_time_come_first_when_there_are_too_many() -> None:
    names = [f"k{number:02}" for number in range(20)]
    listed = [
        one.model_copy(update={"duration_ns": float(number)}) for number, one in enumerate(launches(names))
    ]
    assert [place.mangled for place in choose(listed, 0, None)] == names[4:]


def test_a_kernel_of_many_gets_its_middle_launch() -> None:
    names = [f"k{number:02}" for number in range(16) for _ in range(9)]
    chosen = choose(launches(names), 0, None)
    assert {place.invocation for place in chosen} == {5}
    assert len(chosen) == 16


def test_a_range_is_taken_as_it_is_among_the_wanted() -> None:
    names = ["a", "b"] * 6
    assert choose(launches(names, wanted="b"), 2, 3) == [Place("b", number) for number in (3, 4, 5)]


def test_all_launches_chosen_need_no_filter() -> None:
    listed = launches(["a", "b", "a"])
    [only] = selections(listed, choose(listed, 0, None))
    assert only.kernels is None
    assert only.expected == (Place("a", 1), Place("b", 1), Place("a", 2))


def test_kernels_that_fit_together_share_a_run() -> None:
    listed = launches(["a", "b"] * 50 + ["once"])
    found = selections(listed, choose(listed, 0, None))
    assert [(one.kernels, one.invocations) for one in found] == [(("a", "b", "once"), (1, 25, 50))]


def test_kernels_that_do_not_fit_get_runs_of_their_own() -> None:
    listed = launches(["a"] * 10 + ["b"] * 7)
    found = selections(listed, choose(listed, 0, None))
    assert [(one.kernels, one.invocations) for one in found] == [(("a",), (1, 5, 10)), (("b",), (1, 4, 7))]


NAMES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), min_size=1, max_size=120)


@given(NAMES)
def test_the_choice_keeps_its_limits_and_covers_every_kernel(names: list[str]) -> None:
    chosen = choose(launches(names), 0, None)
    by_kernel = {name: [p for p in chosen if p.mangled == name] for name in set(names)}
    assert len(chosen) == len(set(chosen)) <= MAX_LAUNCHES
    assert all(1 <= len(found) <= MAX_PER_KERNEL for found in by_kernel.values())
    assert set(chosen) <= set(places(launches(names)))


@given(NAMES, st.integers(0, 20), st.none() | st.integers(1, 64))
def test_ncu_meets_what_was_expected_and_nothing_that_was_not_chosen(
    names: list[str], skip: int, count: int | None
) -> None:
    listed = launches(names)
    everything = places(listed)
    chosen = choose(listed, skip, count)
    found = selections(listed, chosen) if chosen else []
    assert len(found) <= MAX_RUNS
    kept: list[Place] = []
    for one in found:
        assert met(one, everything) == list(one.expected)
        assert one.kept <= set(one.expected)
        assert one.kept == set(one.expected)
        kept += one.kept
    assert len(kept) == len(set(kept))
    assert set(kept) <= set(chosen)
    if len(found) < MAX_RUNS:
        assert set(kept) == set(chosen)
