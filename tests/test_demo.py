"""The demo is a real client: without a GPU it compiles live, replays the rest and says so, and writes its page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from warpwise.server.demo.steps import STEPS
from warpwise.server.demo.walk import walk
from warpwise.server.gpu import find_devices

pytestmark = pytest.mark.timeout(240)


class _Outside(HTMLParser):
    """Collects everything that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [
            value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")
        ]


async def test_the_demo_walks_a_broken_kernel_to_a_fast_one_and_writes_its_page(tmp_path: Path) -> None:
    console = Console(record=True, width=160, force_terminal=False)
    page = tmp_path / "page.html"
    assert await walk(console, page)
    said = console.export_text()
    for step in STEPS:
        assert step.title in said
    assert 'identifier "column" is undefined' in said
    assert "1 fault: out-of-bounds at gemm.cu:6." in said
    assert "race in shared memory" in said
    assert "Clean: 1 kernel ran" in said
    assert "uncoalesced-access in gemm at gemm.cu:7" in said
    if not find_devices()[0]:
        assert re.search(r"recorded .* ago with GPU NVIDIA H200", said)
    html = page.read_text()
    assert html.count("<svg") == 2
    reader = _Outside()
    reader.feed(html)
    assert reader.found == []
