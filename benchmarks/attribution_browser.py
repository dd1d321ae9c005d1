"""Opens report pages in headless Chromium at 1280 and 400 px and measures what a reader would trip over.

`python benchmarks/attribution_browser.py [FOLDER]` prints JSON and keeps it in results/; with a folder,
screenshots too. Each page stands in a frame of that width (a headless window has a least width of its own);
a script, added only here, compares the bounding boxes of all texts of each drawing and of all cards,
figures and sections, and counts texts below 9 px and elements wider than the page. Console messages and any
request off the disk are counted as well.
"""

import html
import json
import re
import subprocess  # noqa: TID251  # a benchmark, not the daemon, starts the browser
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from warpwise.attribution import attribute, read_table, simulated_rows, table_from_rows, to_html

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "attribution_browser.json"
WIDTHS = (1280, 400)
CHROMIUM = (
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)
SCRIPT = """<script>addEventListener('load', () => {
  document.querySelectorAll('details').forEach(d => { d.open = true; });
  const over = (a, b) => [Math.min(a.right, b.right) - Math.max(a.left, b.left),
                          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
  const r = {width: innerWidth, scroll_width: document.documentElement.scrollWidth, texts: 0, text_overlaps: 0,
             texts_outside: 0, small_texts: 0, block_overlaps: 0, blocks: 0, examples: []};
  for (const svg of document.querySelectorAll('svg')) {
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
    r.texts += texts.length;
    texts.forEach(([t, a], i) => {
      if (a.left < box.left - 1 || a.right > box.right + 1 || a.top < box.top - 1 || a.bottom > box.bottom + 1) {
        r.texts_outside++; r.examples.push(['outside', t.textContent]); }
      if (parseFloat(getComputedStyle(t).fontSize) * scale < 9) {
        r.small_texts++; r.examples.push(['small', t.textContent]); }
      for (const [u, b] of texts.slice(i + 1)) {
        const [x, y] = over(a, b);
        if (x > 1 && y > 2.5) { r.text_overlaps++; r.examples.push([t.textContent, u.textContent]); } }
    });
  }
  const blocks = [...document.querySelectorAll('article,figure,h1,h2,nav,.alarm,summary')];
  r.blocks = blocks.length;
  blocks.forEach((e, i) => blocks.slice(i + 1).forEach(f => {
    if (e.contains(f) || f.contains(e)) return;
    const [x, y] = over(e.getBoundingClientRect(), f.getBoundingClientRect());
    if (x > 1 && y > 1) { r.block_overlaps++; r.examples.push([e.tagName, f.tagName]); } }));
  r.examples = r.examples.slice(0, 5);
  parent.postMessage(JSON.stringify(r), '*');
});</script>"""
BLAMED = ("text_overlaps", "texts_outside", "small_texts", "block_overlaps")


def pages() -> dict[str, str]:
    """Reports of ordinary and of awkward tables."""
    data = ROOT / "attribution" / "data"
    long_names = [f"component.with.a.long.name.{i:02d}" for i in range(10)]
    half = np.full((1, 8, 3), 0.5)
    many = np.full((6, 1 << 7, 3), 0.4)
    return {
        "feedback": to_html(attribute(read_table(data / "simulated_feedback.csv"), by="workload")),
        "fraction": to_html(attribute(read_table(data / "simulated_fraction.csv"))),
        "one checkpoint": to_html(attribute(table_from_rows(simulated_rows(half, ("a", "b", "c"), 1, 1)))),
        "all equal": to_html(attribute(table_from_rows(simulated_rows(half * 0, ("a", "b", "c"), 2, 1)))),
        "long names": to_html(
            attribute(table_from_rows(simulated_rows(many, long_names[:7], 2, 1), long_names))
        ),
        "one player": to_html(
            attribute(table_from_rows(simulated_rows(np.full((6, 2, 3), 0.5), ("a",), 2, 1)))
        ),
    }


def look(page: str, folder: Path) -> list[dict[str, Any]]:
    """What the script measures at each width."""
    opened = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace(
        "</head>", SCRIPT + "</head>"
    )
    frames = "".join(
        f'<iframe width={w} height=3000 srcdoc="{html.escape(opened)}"></iframe>' for w in WIDTHS
    )
    listen = (
        "<script>addEventListener('message', e => "
        "{ document.getElementById('o').textContent += e.data + '\\n'; })</script>"
    )
    wrapper = folder / "wrapper.html"
    wrapper.write_text(f"<pre id=o></pre>{listen}{frames}")
    arguments = (
        *CHROMIUM,
        "--virtual-time-budget=8000",
        "--window-size=1800,3000",
        "--dump-dom",
        wrapper.as_uri(),
    )
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="o">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found
    return [json.loads(line) for line in html.unescape(found[1]).strip().splitlines()]


def console(page: str, folder: Path, shot: Path) -> list[str]:
    """The console messages of the page as it ships, network refused by an unreachable proxy; keeps a screenshot."""
    file = folder / "page.html"
    file.write_text(page)
    offline = ("--proxy-server=127.0.0.1:9", "--window-size=1280,2400", f"--screenshot={shot}")
    done = subprocess.run(
        (*CHROMIUM, *offline, file.as_uri()), capture_output=True, text=True, timeout=120, check=True
    )
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def main() -> None:
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shots = Path(sys.argv[1]) if len(sys.argv) > 1 else folder
        for name, page in pages().items():
            messages = console(page, folder, shots / f"{name.replace(' ', '-')}.png")
            references = len(re.findall(r"(?:src|href)=[\"'](?!#)|https?:|url\(|@import", page))
            told[name] = {
                "console": messages,
                "references_off_the_page": references,
                "at": look(page, folder),
            }
    faults = [view[key] for page in told.values() for view in page["at"] for key in BLAMED]
    wide = [view["scroll_width"] > view["width"] for page in told.values() for view in page["at"]]
    clean = not any(page["console"] or page["references_off_the_page"] for page in told.values())
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": "2 cores, no GPU",
        "pages": told,
        "met": {"no_overlap_and_readable": not any(faults) and not any(wide), "no_console_no_network": clean},
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
