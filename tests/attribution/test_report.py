"""The document of a table: known effects recovered, estimands named, the unknown null with its reason."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from warpwise.attribution.formats import to_csv, to_json, to_markdown
from warpwise.attribution.game import Floats
from warpwise.attribution.gathering import table_from_rows
from warpwise.attribution.quantities import Options
from warpwise.attribution.report import Attribution, attribute
from warpwise.attribution.simulation import simulated_rows
from warpwise.attribution.uncertainty import LIKE_THESE
from warpwise.server.errors import InvalidRequest

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


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_scripted_agents_effects_are_recovered_and_its_components_judged_rightly(seed: int) -> None:
    found = document(scripted(seed), PLAYERS)
    truth = {"strong": 0.4, "weak": 0.14, "left": 0.15, "right": 0.15, "placebo": 0.0}
    for name, value in truth.items():
        phi = found["levels"]["pass"]["phi"][name]
        assert phi["low_family"] <= value <= phi["high_family"]
        assert abs(phi["value"] - value) < 0.08
    pair = found["levels"]["pass"]["interaction"]["left+right"]
    assert pair["low_family"] <= 0.3 <= pair["high_family"]
    assert pair["p_holm"] < 0.05
    words = {name: verdict["verdict"] for name, verdict in found["verdicts"].items()}
    assert words == {"strong": "live", "weak": "live", "left": "live", "right": "live", "placebo": "dead"}
    assert found["placebo"]["passed"] is True


def test_a_component_that_another_replaces_is_redundant() -> None:
    either = np.array([0.1, 0.6, 0.6, 0.6, 0.1, 0.6, 0.6, 0.6])
    verdicts = document(rows_of(either, ("first", "second", "idle"), 24, 3))["verdicts"]
    assert {name: verdict["verdict"] for name, verdict in verdicts.items()} == {
        "first": "redundant",
        "second": "redundant",
        "idle": "dead",
    }
    assert "second replaces it" in verdicts["first"]["reason"]


def test_a_pair_whose_effects_cancel_is_live_by_its_interaction_and_harm_is_said() -> None:
    cross = np.array([0.8, 0.2, 0.2, 0.8])
    verdicts = document(rows_of(cross, ("a", "b"), 20, 3))["verdicts"]
    assert [(verdicts[n]["verdict"], verdicts[n]["direction"]) for n in "ab"] == [
        ("live", "depends on others")
    ] * 2
    harmful = document(rows_of(np.array([0.8, 0.2]), ("a",), 20, 3))["verdicts"]["a"]
    assert (harmful["verdict"], harmful["direction"]) == ("live", "hurts")


def test_a_dead_component_is_shown_to_be_so_only_within_the_margin() -> None:
    rows = rows_of(np.array([0.5, 0.5]), ("a",), 60, 12)
    tight, loose = (document(rows, options=Options(margin=m))["verdicts"]["a"] for m in (0.01, 0.2))
    assert (tight["verdict"], tight["shown"]) == ("dead", False)
    assert (loose["verdict"], loose["shown"]) == ("dead", True)


def test_the_document_has_the_paths_of_the_contract_and_counts_what_it_read() -> None:
    found = document(scripted(1), PLAYERS)
    for level in ("compile", "pass", "fast"):
        for kind, count in (("phi", 5), ("interaction", 10), ("sigma", 10), ("worth", 32)):
            numbers = found["levels"][level][kind]
            assert len(numbers) == count
            for number in numbers.values():
                assert {"value", "low", "high", "n", "n_applicable", "estimand", "reason"} <= set(number)
                assert number["estimand"] == LIKE_THESE
    names = list(found["levels"]["pass"]["worth"])
    assert (names[:4], names[-1]) == (["none", "strong", "weak", "strong+weak"], "+".join(PLAYERS))
    assert list(found["levels"]["pass"]["interaction"])[:2] == ["strong+weak", "strong+left"]
    assert found["table"] == {
        "rows": 1280,
        "used": 1280,
        "infra_errors": 0,
        "invalid_outputs": 0,
        "checkpoints": 20,
        "clusters": 20,
        "clustered_by": "checkpoint",
        "cells": 640,
        "cells_of_a_full_table": 640.0,
    }
    assert found["levels"]["pass"]["phi"]["strong"]["n"] == 1280
    assert found["levels"]["pass"]["worth"]["none"]["n"] == 40


def test_phi_interaction_and_sigma_are_their_equations_on_the_worths() -> None:
    found = document(scripted(2), PLAYERS)["levels"]["fast"]
    v = {name: number["value"] for name, number in found["worth"].items()}
    sigma = v["strong+weak"] - v["strong"] - v["weak"] + v["none"]
    assert found["sigma"]["strong+weak"]["value"] == pytest.approx(sigma, abs=1e-12)
    phi = sum((1 if "strong" in name.split("+") else -1) * worth for name, worth in v.items()) / 16
    assert found["phi"]["strong"]["value"] == pytest.approx(phi, abs=1e-12)
    indices = found["indices"]
    assert sum(indices["shapley"].values()) == pytest.approx(v["+".join(PLAYERS)] - v["none"], abs=1e-12)
    assert indices["banzhaf_interaction"]["strong+weak"] == pytest.approx(
        found["interaction"]["strong+weak"]["value"]
    )


def test_the_reference_variant_reproduces_the_published_code_on_exclusive_levels() -> None:
    players = ("d", "a", "p")
    rng = np.random.default_rng(6)
    falling = np.sort(rng.uniform(0, 1, (6, 8, 3)), axis=2)[:, :, ::-1]
    found = document(list(simulated_rows(falling, players, 4, 1)), players, Options(variant="reference"))
    level = found["levels"]["pass"]
    v = {name: number["value"] for name, number in level["worth"].items()}
    triple = v["d+a+p"] - v["d+a"] - v["d+p"] - v["a+p"] + v["d"] + v["a"] + v["p"] - v["none"]
    shapley = (
        2 * (v["d"] - v["none"]) + (v["d+a"] - v["a"]) + (v["d+p"] - v["p"]) + 2 * (v["d+a+p"] - v["a+p"])
    ) / 6
    assert level["phi"]["d"]["value"] == pytest.approx(shapley, abs=1e-12)
    assert level["interaction"]["d+a"]["value"] == pytest.approx(
        level["sigma"]["d+a"]["value"] - triple / 3, abs=1e-12
    )
    assert (found["levels_are"], found["variant"], found["verdicts"]) == ("exclusive", "reference", {})
    assert found["warnings"][0].startswith("variant 'reference': Shapley values")
    assert level["phi"]["d"]["low"] < level["phi"]["d"]["value"] < level["phi"]["d"]["high"]


def test_the_reference_variant_keeps_its_own_noise_for_these_checkpoints() -> None:
    rows = rows_of(np.linspace(0.2, 0.8, 8), ("d", "a", "p"), 3, 2)
    options = Options(variant="reference", assumed_variance=0.25)
    phi = document(rows, ("d", "a", "p"), options)["levels"]["pass"]["phi"]["d"]
    squares = 4 * (1 / 9 + 1 / 36 + 1 / 36 + 1 / 9) / 2
    half = 1.959963984540054 * np.sqrt(0.25 / 2 / 3 * squares)
    assert phi["high"] - phi["value"] == pytest.approx(half)


def test_the_reference_variant_is_refused_where_the_code_is_not_defined() -> None:
    with pytest.raises(InvalidRequest, match="all 8 coalitions of exactly 3 players"):
        document(scripted(1), PLAYERS, Options(variant="reference"))


def test_a_placebo_that_has_an_effect_is_the_first_warning() -> None:
    rows = rows_of(np.array([0.2, 0.3, 0.6, 0.7]), ("tool", "placebo"), 20, 3)
    found = document(rows, ("tool", "placebo"))
    assert found["placebo"]["passed"] is False
    assert found["warnings"][0].startswith("placebo placebo has an effect on compile, pass, fast")
    assert document(rows, ("tool", "placebo"), Options(placebo="tool"))["placebo"]["player"] == "tool"
    with pytest.raises(InvalidRequest, match="placebo 'x' is no player"):
        document(rows, ("tool", "placebo"), Options(placebo="x"))


def test_without_a_placebo_the_check_says_that_there_is_none() -> None:
    found = document(rows_of(np.array([0.2, 0.5]), ("a",), 6, 2))
    assert found["placebo"] == {
        "player": None,
        "passed": None,
        "reason": "no placebo player: name one with --placebo",
    }


def test_groups_repeat_every_number_for_each_value() -> None:
    rows = [{**row, "generation": int(str(row["checkpoint"])[2:]) // 7} for row in scripted(1)]
    table = table_from_rows(rows, PLAYERS)
    found = attribute(table, by="generation").as_json()
    by: Any = found["by"]
    assert (by["column"], list(by["groups"])) == ("generation", ["0", "1", "2"])
    alone = attribute(table.select("generation", 1)).as_json()
    assert by["groups"]["1"]["levels"] == alone["levels"]
    assert [group["table"]["checkpoints"] for group in by["groups"].values()] == [7, 7, 6]


def test_csv_and_markdown_carry_every_number_of_the_document() -> None:
    rows = [{**row, "generation": int(str(row["checkpoint"])[2:]) // 10} for row in scripted(1)]
    found: Attribution = attribute(table_from_rows(rows, PLAYERS), by="generation")
    lines = to_csv(found).splitlines()
    assert lines[0].startswith("group,measure,kind,name,value,low,high")
    assert len(lines) == 1 + 3 * (5 * (5 + 10 + 10 + 32) + 3 * 5)
    page = to_markdown(found)
    strong = found.levels["pass"].phi[0]
    assert f"| strong | {strong.value:+.3f} [{strong.low:+.3f}, {strong.high:+.3f}] |" in page
    flagged = to_markdown(attribute(table_from_rows(rows[3:], PLAYERS)))
    assert flagged.index("**Warning:**") < flagged.index("| component | verdict |")


@pytest.mark.parametrize(
    ("change", "message"), [({"confidence": 1.0}, "confidence"), ({"margin": 0.0}, "margin")]
)
def test_options_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        replace(Options(), **change)
