"""The report page: complete, self-contained, escaped, and honest about what it cannot draw."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from warpwise.attribution.bridge import shapiq_payload, to_shapiq
from warpwise.attribution.gathering import table_from_rows
from warpwise.attribution.html import to_html
from warpwise.attribution.plots import save_plots
from warpwise.attribution.quantities import Options
from warpwise.attribution.readers import read_table
from warpwise.attribution.report import Attribution, attribute
from warpwise.attribution.simulation import simulated_rows
from warpwise.attribution.svg import Scale, shorten
from warpwise.server.errors import InvalidRequest, ProgramMissing

DATA = Path(__file__).parents[2] / "attribution" / "data"


class Page(HTMLParser):
    """Collects tags, and fails on one that is closed in the wrong order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def small(players: Sequence[str], checkpoints: int = 6, rate: float = 0.5) -> Attribution:
    rates = np.full((checkpoints, 1 << len(players), 3), rate)
    return attribute(table_from_rows(simulated_rows(rates, players, 2, 1), players))


@pytest.fixture(scope="module")
def page() -> str:
    return to_html(attribute(read_table(DATA / "simulated_feedback.csv"), by="generation"))


def test_the_page_is_well_formed_and_needs_no_network_and_no_script(page: str) -> None:
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(parsed.tags)
    links = [value for name, value in parsed.attributes if name in ("href", "src", "xlink:href")]
    assert links
    assert all(value and value.startswith("#") for value in links)
    assert not re.search(r"https?:|@import|url\(", page)
    assert "default-src 'none'; style-src 'unsafe-inline'" in page


def test_the_warnings_come_before_the_verdicts_and_these_before_the_charts(page: str) -> None:
    order = [
        page.index(f'id="{name}"')
        for name in ("warnings", "verdicts", "compile", "pass", "fast", "generations")
    ]
    assert order == sorted(order)
    assert "6 rollouts with infra errors are left out" in page


def test_every_level_has_its_forest_heat_map_and_worths_and_generations_their_curves(page: str) -> None:
    for title in ("Compiles", "Passes", "Fast"):
        for chart in ("phi", "interactions", "worths"):
            assert f'aria-label="{chart}, {title}"' in page
        assert f'aria-label="{title}: effects and worths by generation"' in page
    assert page.count('class="band"') == 3 * 7


def test_every_verdict_stands_in_its_card_with_the_cost(page: str) -> None:
    cards = re.findall(r'<article class="(\w+)"><h3>([\w.]+)</h3>', page)
    assert cards == [
        ("live", "compiler"),
        ("live", "debugger"),
        ("live", "analyzer"),
        ("live", "profiler"),
        ("dead", "placebo"),
    ]
    assert page.count("for each unit of pass") == 4


def test_estimands_are_named_and_explained(page: str) -> None:
    assert page.count("checkpoints like these") > 100
    assert "<dt>these checkpoints</dt>" in page


def test_names_are_escaped_wherever_they_stand() -> None:
    text = to_html(small(('<script>alert("1")</script>', "a&b")))
    Page(text)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "a&amp;b" in text


def test_without_generations_the_page_says_why_there_are_no_curves() -> None:
    assert "No curves: the table has no generations." in to_html(small(("a",)))
    rows = [{**row, "generation": 3} for row in simulated_rows(np.full((6, 2, 3), 0.5), ("a",), 2, 1)]
    assert "No curves: there is one generation only." in to_html(attribute(table_from_rows(rows)))


def test_curves_are_drawn_though_the_table_was_grouped_otherwise_and_groups_are_listed() -> None:
    labels: dict[str, Sequence[str | int]] = {"generation": [0, 0, 0, 1, 1, 1], "model": ["big", "small"] * 3}
    rows = simulated_rows(np.full((6, 2, 3), 0.5), ("a",), 2, 1, labels=labels)
    text = to_html(attribute(table_from_rows(rows), by="model"))
    Page(text)
    assert "<h2>By model</h2>" in text
    assert "effects and worths by generation" in text


@pytest.mark.parametrize("checkpoints", [1, 6])
@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_few_checkpoints_and_equal_outcomes_are_drawn_with_what_is_known(
    checkpoints: int, rate: float
) -> None:
    text = to_html(small(("a", "b"), checkpoints, rate))
    Page(text)
    assert "nan" not in re.sub(r"<style>.*</style>", "", text).replace("unan", "")


def test_unknown_effects_are_called_unknown_in_the_charts() -> None:
    rows = simulated_rows(np.full((6, 2, 3), 0.5), ("a",), 2, 1)
    text = to_html(attribute(table_from_rows(rows, ("a", "ghost"))))
    Page(text)
    assert 'class="axis" text-anchor="end">unknown<title>structurally null' in text
    assert '<article class="unknown"><h3>ghost</h3>' in text


def test_twelve_players_with_long_names_are_shortened_and_named_in_full_on_hover() -> None:
    names = [f"component.with.a.long.name.{i}" for i in range(12)]
    rows = simulated_rows(np.full((1, 64, 3), 0.5), names[:6], 2, 1)
    text = to_html(attribute(table_from_rows(rows, names)))
    Page(text)
    assert f"<title>{names[0]}</title>" in text


def test_axes_have_round_ticks_within_their_range() -> None:
    assert Scale([0.0, 1.0], 0, 100).ticks() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert Scale([-0.3, 0.1], 0, 100).ticks() == [-0.3, -0.2, -0.1, 0.0, 0.1]
    flat = Scale([0.2, 0.2], 0, 100)
    assert flat.at(0.2) == pytest.approx(50)
    assert shorten("abcdefghij", 40) == "a…hij"


def test_the_published_variant_has_a_page_without_verdicts() -> None:
    rows = simulated_rows(np.full((6, 8, 3), 0.5), ("d", "a", "p"), 2, 1)
    text = to_html(attribute(table_from_rows(rows), Options(variant="reference")))
    Page(text)
    assert "None for this variant." in text


def test_the_plots_of_a_level_are_saved_as_png_and_svg(tmp_path: Path) -> None:
    labels: dict[str, Sequence[str | int]] = {"generation": [0, 0, 0, 1, 1, 1]}
    rows = simulated_rows(np.full((6, 4, 3), 0.5), ("a", "b"), 2, 1, labels=labels)
    found = attribute(table_from_rows(rows), by="generation")
    paths = save_plots(replace(found, levels={"pass": found.levels["pass"]}), tmp_path / "plots")
    kinds = ("forest", "interactions", "worths", "generations")
    assert [path.name for path in paths] == [f"pass-{kind}.{end}" for kind in kinds for end in ("png", "svg")]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[::2])
    assert all(b"<svg" in path.read_bytes() for path in paths[1::2])


def test_shapiq_is_given_the_empty_set_the_players_and_the_pairs_in_its_order() -> None:
    level = small(("a", "b")).levels["pass"]
    payload = shapiq_payload(level)
    assert payload.lookup == {(): 0, (0,): 1, (1,): 2, (0, 1): 3}
    known = [level.worth[0].value, level.phi[0].value, level.phi[1].value, level.interaction[0].value]
    assert payload.values.tolist() == known
    assert (payload.n_players, payload.baseline) == (2, known[0])


def test_shapiq_gets_nothing_that_is_unknown() -> None:
    rows = simulated_rows(np.full((6, 2, 3), 0.5), ("a",), 2, 1)
    ghost = attribute(table_from_rows(rows, ("a", "ghost"))).levels["pass"]
    with pytest.raises(InvalidRequest, match="unknown, and shapiq has no word for it"):
        shapiq_payload(ghost)


def test_without_shapiq_the_bridge_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "shapiq", None)
    with pytest.raises(ProgramMissing) as refused:
        to_shapiq(small(("a",)).levels["pass"])
    assert "warpwise[shapiq]" in refused.value.hint
