"""What a table cannot say: few checkpoints, one repetition, nothing that varies, what never applies or was not run."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from warpwise.attribution.formats import to_json
from warpwise.attribution.game import Floats
from warpwise.attribution.gathering import table_from_rows
from warpwise.attribution.quantities import ALL_EQUAL, NO_SPREAD, ONE_REPETITION, Options
from warpwise.attribution.report import attribute
from warpwise.attribution.simulation import simulated_rows
from warpwise.attribution.uncertainty import LIKE_THESE, THESE

PLAYERS = ("strong", "weak", "left", "right", "placebo")
BITS = (np.arange(32)[:, None] >> np.arange(5) & 1).T
Rows = list[dict[str, object]]


def scripted(seed: int, checkpoints: int = 20, repetitions: int = 2, spread: float = 0.03) -> Rows:
    """An agent whose response is known: one strong, one weak, one pair that only works together, one placebo."""
    strong, weak, left, right, _ = BITS
    rate = 0.1 + 0.4 * strong + 0.14 * weak + 0.3 * left * right
    shift = np.random.default_rng(seed).uniform(-spread, spread, (checkpoints, 1))
    passes = np.clip(rate + shift, 0, 1)
    rates = np.stack([0.5 + passes / 2, passes, passes * 0.6], axis=2)
    return list(simulated_rows(rates, PLAYERS, repetitions, seed, costs={"strong": 0.5, "weak": 0.1}))


def rows_of(
    worths: Floats, players: Sequence[str], checkpoints: int, repetitions: int, seed: int = 1
) -> Rows:
    """Rollouts of an agent that passes at these rates everywhere, and is FAST whenever it passes."""
    rates = np.repeat(np.broadcast_to(worths, (checkpoints, len(worths)))[:, :, None], 3, axis=2)
    return list(simulated_rows(rates, players, repetitions, seed))


def document(
    rows: Rows, players: Sequence[str] | None = None, options: Options | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(attribute(table_from_rows(rows, players), options)))
    return found


@pytest.mark.parametrize("checkpoints", [1, 4])
def test_below_five_checkpoints_intervals_speak_for_these_only_and_need_repetitions(checkpoints: int) -> None:
    once = document(scripted(1, checkpoints, 1), PLAYERS)["levels"]["pass"]
    twice = document(scripted(1, checkpoints, 2), PLAYERS)["levels"]["pass"]
    stated = document(scripted(1, checkpoints, 1), PLAYERS, Options(assumed_variance=0.25))["levels"]["pass"]
    for kind in ("phi", "interaction", "sigma", "worth"):
        for name, number in once[kind].items():
            assert (number["low"], number["high"], number["estimand"]) == (None, None, THESE)
            assert number["reason"] == ONE_REPETITION
            for known in (twice[kind][name], stated[kind][name]):
                assert known["estimand"] == THESE
                assert known["low"] < known["high"]
    half = 1.959963984540054 * np.sqrt(4 * 0.25 / 32 / checkpoints)
    strong = stated["phi"]["strong"]
    assert (strong["value"] - strong["low"], strong["high"] - strong["value"]) == pytest.approx((half, half))


def test_five_checkpoints_are_enough_to_speak_for_others() -> None:
    strong = document(scripted(1, 5, 1), PLAYERS)["levels"]["pass"]["phi"]["strong"]
    assert (strong["estimand"], strong["reason"], strong["n_applicable"]) == (LIKE_THESE, None, 5)


def test_checkpoints_of_few_clusters_speak_for_these_only_however_many_they_are() -> None:
    rows: Rows = [{**row, "cluster": f"run-{str(row['checkpoint'])[-1]}"} for row in scripted(1, 40, 2)]
    for row in rows:
        row["cluster"] = f"run-{int(str(row['checkpoint'])[2:]) % 4}"
    found = document(rows, PLAYERS)
    assert found["table"]["clustered_by"] == "cluster"
    assert found["levels"]["pass"]["phi"]["strong"]["estimand"] == THESE
    assert "independent checkpoints (clusters): 4." in found["warnings"][0]


def test_these_checkpoints_can_be_asked_for_and_are_narrower_where_checkpoints_differ() -> None:
    rates = np.where(np.arange(20)[:, None] % 2, [0.1, 0.9], [0.5, 0.5])
    rows = list(simulated_rows(np.repeat(rates[:, :, None], 3, axis=2), ("a",), 4, 1))
    sample, these = (
        document(rows, options=Options(these_only=asked))["levels"]["pass"]["phi"]["a"]
        for asked in (False, True)
    )
    assert (sample["estimand"], these["estimand"]) == (LIKE_THESE, THESE)
    assert these["value"] == sample["value"]
    assert these["high"] - these["low"] < 0.7 * (sample["high"] - sample["low"])


@pytest.mark.parametrize("worth", [0.0, 1.0])
def test_when_all_outcomes_are_equal_the_zero_is_flagged_and_its_interval_is_not_zero_wide(
    worth: float,
) -> None:
    found = document(rows_of(np.full(4, worth), ("a", "b"), 8, 2))
    level = found["levels"]["pass"]
    assert "every rollout has the same outcome" in " ".join(found["warnings"])
    for kind in ("phi", "interaction", "sigma"):
        for number in level[kind].values():
            assert (number["value"], number["reason"]) == (0.0, ALL_EQUAL)
            assert number["low"] < 0 < number["high"]
    for number in level["worth"].values():
        assert number["value"] == worth
        assert number["low"] < number["high"]


def test_an_agent_without_chance_gets_no_zero_width_either() -> None:
    level = document(rows_of(np.array([0.0, 1.0, 0.0, 1.0]), ("a", "b"), 8, 1))["levels"]["pass"]
    assert level["phi"]["a"]["value"] == 1.0
    assert level["phi"]["a"]["low"] < 1.0 < level["phi"]["a"]["high"]
    assert level["phi"]["b"]["low"] < 0.0 < level["phi"]["b"]["high"]


def test_costs_without_any_spread_have_no_interval_and_say_why() -> None:
    found = document(scripted(1), PLAYERS)
    strong = found["measures"]["cost"]["phi"]["strong"]
    assert strong["value"] == pytest.approx(0.5)
    assert (strong["low"], strong["high"], strong["reason"]) == (None, None, NO_SPREAD)
    ratio = found["cost_per_effect"]["pass"]["strong"]
    assert ratio["value"] == pytest.approx(0.5 / found["levels"]["pass"]["phi"]["strong"]["value"])
    assert ratio["low"] < ratio["value"] < ratio["high"]
    placebo = found["cost_per_effect"]["pass"]["placebo"]
    assert (placebo["value"], placebo["reason"][:18]) == (None, "no effect is shown")


def test_measures_that_the_table_lacks_are_absent_with_the_reason() -> None:
    rows = [{**row, "speedup": None, "cost": None} for row in scripted(1)]
    found = document(rows, PLAYERS)
    assert found["measures"] == {
        "log_speedup": {"reason": "no rollout that passed has a speed-up"},
        "cost": {"reason": "no rollout has a cost"},
    }
    assert found["cost_per_effect"]["pass"]["strong"]["reason"] == "the table records no cost"


def where_a_applies() -> Rows:
    """Eight checkpoints with players a and b, four with b alone; c is declared and never given."""
    both = rows_of(np.array([0.2, 0.8, 0.2, 0.8]), ("a", "b"), 8, 2)
    alone = rows_of(np.array([0.2, 0.2]), ("b",), 4, 2)
    return both + [{**row, "checkpoint": f"x{row['checkpoint']}"} for row in alone]


def test_a_component_is_averaged_where_it_applies_and_null_ones_are_flagged() -> None:
    found = document(where_a_applies(), ("a", "b", "c"))
    phi = found["levels"]["pass"]["phi"]
    assert [phi[name]["n_applicable"] for name in "abc"] == [8, 12, 0]
    assert [phi[name]["n"] for name in "abc"] == [64, 80, 0]
    assert phi["c"] | {"estimand": ""} == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "n_applicable": 0,
        "estimand": "",
        "reason": "structurally null: applies at no checkpoint",
        "se": None,
        "p": None,
        "p_holm": None,
        "low_family": None,
        "high_family": None,
    }
    assert found["structurally_null"] == {"players": ["c"], "pairs": ["a+c", "b+c"]}
    assert found["levels"]["pass"]["sigma"]["a+b"]["n_applicable"] == 8
    assert found["verdicts"]["c"]["verdict"] is None
    worth = found["levels"]["pass"]["worth"]
    assert (worth["a+b"]["n"], worth["a+b"]["n_applicable"]) == (24, 12)
    assert (worth["c"]["value"], worth["c"]["reason"][:17]) == (None, "structurally null")
    assert "player c is structurally null: it is in no coalition" in found["warnings"]
    assert "player a applies at 8 of 12 checkpoints" in found["warnings"]


def test_the_estimand_all_counts_zero_where_a_component_does_not_apply() -> None:
    where, everywhere = (
        document(where_a_applies(), ("a", "b", "c"), Options(count_zero=asked))["levels"]["pass"]
        for asked in (False, True)
    )
    assert everywhere["phi"]["a"]["value"] == pytest.approx(where["phi"]["a"]["value"] * 8 / 12)
    assert everywhere["phi"]["b"]["value"] == pytest.approx(where["phi"]["b"]["value"])
    assert everywhere["sigma"]["a+b"]["value"] == pytest.approx(where["sigma"]["a+b"]["value"] * 8 / 12)
    assert (everywhere["phi"]["c"]["value"], everywhere["phi"]["c"]["low"]) == (0.0, None)
    assert everywhere["phi"]["c"]["reason"] == "structurally null: applies at no checkpoint"


def test_components_that_never_apply_together_are_a_null_pair() -> None:
    first = rows_of(np.array([0.2, 0.8]), ("a",), 6, 2)
    second = [{**r, "checkpoint": f"x{r['checkpoint']}"} for r in rows_of(np.array([0.2, 0.5]), ("b",), 6, 2)]
    found = document(first + second, ("a", "b"))
    assert found["structurally_null"] == {"players": [], "pairs": ["a+b"]}
    pair = found["levels"]["pass"]["interaction"]["a+b"]
    assert (pair["value"], pair["reason"]) == (None, "structurally null: applies at no checkpoint")


def test_missing_coalitions_lead_to_the_regression_and_are_counted() -> None:
    rows = [
        row
        for row in scripted(1)
        if not (row["checkpoint"] == "k-003" and row["coalition"] in (["strong"], ["weak", "left"]))
    ]
    found = document(rows, PLAYERS)
    assert found["levels"]["pass"]["method"] == (
        "regression of order 2 on the coalitions that were run, which assumes no interactions above pairs"
    )
    assert "coalitions not run: 2 of the 640 that the players of the checkpoints form" in found["warnings"]
    strong = found["levels"]["pass"]["phi"]["strong"]
    exact = document(scripted(1), PLAYERS)["levels"]["pass"]["phi"]["strong"]
    assert strong["value"] == pytest.approx(exact["value"], abs=0.02)
    assert strong["low"] < strong["value"] < strong["high"]
    assert found["levels"]["pass"]["worth"]["strong"]["n_applicable"] == 19
    assert found["levels"]["pass"]["permutation"]["strong"] == {
        "p": None,
        "reason": "needs every coalition at every checkpoint",
    }


def test_a_coalition_that_was_run_nowhere_is_unknown_with_the_reason() -> None:
    rows = [row for row in scripted(1) if row["coalition"] != ["strong", "weak"]]
    level = document(rows, PLAYERS)["levels"]["pass"]
    worth, sigma = level["worth"]["strong+weak"], level["sigma"]["strong+weak"]
    assert (worth["value"], worth["reason"]) == (None, "this coalition was run at no checkpoint")
    assert (sigma["value"], sigma["reason"]) == (
        None,
        "no checkpoint holds the four coalitions that it reads",
    )


def test_forty_players_in_a_random_design_get_main_effects_and_unknown_pairs() -> None:
    rng = np.random.default_rng(3)
    names = [f"p{i:02d}" for i in range(40)]
    rows: Rows = []
    for c in range(12):
        for _ in range(30):
            given = [name for name in names if rng.random() < 0.5]
            passed = rng.random() < 0.2 + 0.5 * ("p07" in given)
            rows.append({"checkpoint": f"k{c}", "coalition": given, "verdict": "PASS" if passed else "FAIL"})
    level = document(rows, names)["levels"]["pass"]
    assert level["phi"]["p07"]["low"] < 0.5 < level["phi"]["p07"]["high"]
    assert all(number["value"] is None and number["reason"] for number in level["interaction"].values())
