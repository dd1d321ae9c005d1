"""The analyser against labelled kernels: every planted defect at its line in every layer that can see it, nothing else.

`// expect: TOPIC LAYER...` labels what must be found on a line; `// beyond: TOPIC (why)` a defect that no layer can see,
kept so that the recall is an honest one. Every line without a label must stay silent, notes included.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from warpwise.server.analysis.joining import topic
from warpwise.server.analysis.source.layer import analyze_source
from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.reports.analysis import Layer
from warpwise.server.reports.answer import Answer
from warpwise.server.services import open_services
from warpwise.server.tools.analyzer import AnalyzeArgs, analyze
from warpwise.server.workbench import Workbench

CORPUS = Path(__file__).parents[1] / "kernels" / "analysis"
FILES = sorted(path.name for path in CORPUS.glob("*.cu"))
CLEAN = [name for name in FILES if name.startswith("clean_")]
LAYERS: tuple[Layer, ...] = get_args(Layer)
# A proof takes seconds for a large kernel: only files that plant something for it are proved here.
PROVED = ["divergence.cu", "idioms.cu", "races.cu", "updates.cu"]
_EXPECT = re.compile(r"// expect: (.+)$")
_BEYOND = re.compile(r"// beyond: (\S+)")


@dataclass(frozen=True)
class Labels:
    """What a file plants: (line, topic) by layer, and what lies beyond every layer."""

    expected: dict[str, set[tuple[int, str]]]
    beyond: set[tuple[int, str]]
    kernels: int

    @property
    def planted(self) -> set[tuple[int, str]]:
        return self.beyond.union(*self.expected.values())


def labels(name: str) -> Labels:
    expected: dict[str, set[tuple[int, str]]] = {layer: set() for layer in LAYERS}
    beyond: set[tuple[int, str]] = set()
    text = (CORPUS / name).read_text()
    for number, line in enumerate(text.splitlines(), 1):
        for part in found[1].split(";") if (found := _EXPECT.search(line)) else ():
            what, *layers = part.split()
            for layer in layers:
                expected[layer].add((number, what))
        beyond |= {(number, found[1])} if (found := _BEYOND.search(line)) else set()
    return Labels(expected, beyond, text.count("__global__"))


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One state folder, so that each file is built once."""
    return tmp_path_factory.mktemp("corpus-state")


@pytest.fixture
async def corpus_bench(state: Path) -> AsyncIterator[Workbench]:
    async with open_services(Config(state, (CORPUS,))) as services:
        yield Workbench(services, Client("test", (CORPUS,)))


def found(answer: Answer) -> set[tuple[int, str]]:
    places = [(finding.location, topic(finding)) for finding in answer.findings]
    return {(place.line or 0, what) for place, what in places if place is not None}


@pytest.mark.parametrize("name", FILES)
def test_the_source_layer_finds_what_is_planted_and_nothing_else(name: str) -> None:
    text = (CORPUS / name).read_text()
    layer = analyze_source(name, {name: text}, {}, is_program="int main(" in text)
    places = {(finding.location.line, topic(finding)) for finding in layer.findings if finding.location}
    assert places == labels(name).expected["source"]
    assert layer.unreadable_lines == ()
    assert all(kernel.flow is not None for kernel in layer.kernels.values())


@pytest.mark.parametrize("name", FILES)
async def test_ptx_and_machine_code_show_what_is_planted_and_nothing_else(
    corpus_bench: Workbench, name: str
) -> None:
    for layer in ("ptx", "sass"):
        answer = await analyze.run(corpus_bench, AnalyzeArgs(path=name, layers=(layer,)))
        assert answer.checks_skipped == ()
        assert (layer, found(answer)) == (layer, labels(name).expected[layer])


@pytest.mark.parametrize("name", PROVED)
async def test_proofs_find_what_is_planted_and_nothing_else(corpus_bench: Workbench, name: str) -> None:
    pytest.importorskip("sentryward")
    answer = await analyze.run(corpus_bench, AnalyzeArgs(path=name, layers=("proof",)))
    assert found(answer) == labels(name).expected["proof"]
    assert all(skipped.check.startswith("proof of ") for skipped in answer.checks_skipped)


async def test_a_race_that_three_layers_see_is_one_finding_with_three_witnesses(
    corpus_bench: Workbench,
) -> None:
    pytest.importorskip("sentryward")
    answer = await analyze.run(corpus_bench, AnalyzeArgs(path="races.cu"))
    races = [finding for finding in answer.findings if finding.rule == "source/missing-barrier"]
    joined = {finding.location.line: finding for finding in races if finding.location}
    for line, _ in labels("races.cu").expected["proof"]:
        finding = joined[line]
        assert set(finding.evidence["witnesses"]) == {"ptx/missing-barrier", "proof/race"}
    assert len(answer.findings) == len(labels("races.cu").planted - labels("races.cu").beyond)


def test_precision_and_recall_over_the_corpus() -> None:
    """The source layer alone, without a toolchain, against everything planted that is visible in the source or not."""
    right = wrong = missed = 0
    for name in FILES:
        text, held = (CORPUS / name).read_text(), labels(name)
        layer = analyze_source(name, {name: text}, {}, is_program="int main(" in text)
        places = {
            (finding.location.line or 0, topic(finding)) for finding in layer.findings if finding.location
        }
        right += len(places & held.planted)
        wrong += len(places - held.planted)
        missed += len(held.planted - places)
    precision, recall = right / (right + wrong), right / (right + missed)
    assert precision == 1.0
    assert recall >= 0.8, f"{right} found, {missed} only in other layers or beyond all"


def test_the_corpus_is_large_and_has_near_misses_for_every_rule() -> None:
    counts = {name: labels(name) for name in FILES}
    planted = {what for held in counts.values() for _, what in held.planted}
    assert planted == {
        "active-mask", "bank-conflict", "divergent-barrier", "divergent-warp-sync", "double-precision",
        "global-race", "index-overflow", "invalid-launch", "local-memory", "misaligned-access", "missing-atomic",
        "missing-barrier", "missing-restrict", "negative-index", "off-by-one", "out-of-bounds", "register-spill",
        "shared-out-of-bounds", "spin-wait", "uncoalesced", "unchecked-call", "unchecked-launch", "unguarded-index",
        "uninitialized-shared", "volatile-shared", "warp-synchronous", "write-conflict",
    }  # fmt: skip
    assert sum(held.kernels for held in counts.values()) >= 110
    assert sum(counts[name].kernels for name in CLEAN) >= 25
    spared = sum(held.kernels for held in counts.values()) - len(
        {(name, line) for name, held in counts.items() for line, _ in held.planted}
    )
    assert spared >= 45  # kernels beyond the defects: near misses and clean ones
