"""What a PTX text says of its origin: the source place of each line, and the launch bounds of each kernel.

Not an analyser of PTX: it reads the directives .file, .loc, .entry, .maxntid and .minnctapersm and nothing else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:, function_name \S+, inlined_at (\d+) (\d+) (\d+))?")
_FUNCTION = re.compile(
    r"(?:\.(?:visible|weak|extern|common) )*\.(?P<kind>entry|func)\b[^(\n]*?(?:\([^)]*\)\s*)?(?P<name>[\w$.]+)\s*\("
)
_DYNAMIC_SHARED = re.compile(r"\.extern \.shared [^;\n]*?([\w$.]+)\[\];")
_BOUND = re.compile(r"\s*\.(maxntid|reqntid|minnctapersm)\s+(\d+(?:\s*,\s*\d+)*)")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a source file as PTX names it; column 0 is unknown."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class LaunchBounds:
    """What __launch_bounds__ asks: the largest block in threads, and the least blocks per SM; None where unsaid."""

    max_threads: int | None = None
    min_blocks: int | None = None


class PtxPlaces:
    """The origin of the lines of one PTX text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._files = {int(number): name for number, name in _FILE.findall(text)}

    def place(self, line: int) -> Place | None:
        """The source place of a PTX line (counted from 1): that of the last .loc before it in its function."""
        for index in range(min(line, len(self._lines)) - 1, -1, -1):
            text = self._lines[index]
            if loc := _LOC.match(text):
                file, number, column = (int(part) for part in loc.groups()[:3])
                if number and file in self._files:
                    return Place(self._files[file], number, column)
            elif text.startswith("}") or _FUNCTION.match(text):
                return None
        return None

    def use(self, symbol: str) -> Place | None:
        """The source place of the first call of a symbol, or of any other use inside a function."""
        word = re.compile(rf"(?<![\w$]){re.escape(symbol)}(?![\w$])")
        for number, text in enumerate(self._lines, 1):
            if text.startswith(("\t", " ")) and word.search(text) and (found := self.place(number)):
                return found
        return None

    def body(self, symbol: str) -> Place | None:
        """The first source place inside a function."""
        for text in self._body(symbol):
            loc = _LOC.match(text)
            if loc and int(loc[2]) and int(loc[1]) in self._files:
                return Place(self._files[int(loc[1])], int(loc[2]), int(loc[3]))
        return None

    def order(self, function: str) -> int:
        """The place of a function among all: compilers write PTX in the order of the source, ptxas does not."""
        return next((number for number, name in self._functions if name == function), len(self._lines))

    def uses_dynamic_shared(self, function: str) -> bool:
        """Whether a function names shared memory whose size only its launch decides."""
        words = _DYNAMIC_SHARED.findall("\n".join(self._lines))
        if not words:
            return False
        used = re.compile(rf"(?<![\w$])(?:{'|'.join(map(re.escape, words))})(?![\w$])")
        return any(used.search(text) for text in self._body(function))

    def launch_bounds(self, entry: str) -> LaunchBounds:
        """The launch bounds of a kernel."""
        held: dict[str, int] = {}
        start = next((number for number, name in self._functions if name == entry), len(self._lines))
        for text in self._lines[start:]:
            if text.startswith("{"):
                break
            if bound := _BOUND.match(text):
                product = 1
                for part in bound[2].split(","):
                    product *= int(part)
                held[bound[1]] = product
        return LaunchBounds(held.get("reqntid", held.get("maxntid")), held.get("minnctapersm"))

    def _body(self, symbol: str) -> Iterator[str]:
        start = next((number for number, name in self._functions if name == symbol), len(self._lines))
        return takewhile(lambda text: not text.startswith("}"), islice(self._lines, start, None))

    @cached_property
    def _functions(self) -> list[tuple[int, str]]:
        """(1-based line of its head, symbol) of each function with a body or a declaration, in order."""
        found: list[tuple[int, str]] = []
        for number, text in enumerate(self._lines, 1):
            if ".entry" in text or ".func" in text:
                head = " ".join(self._lines[number - 1 : number + 2])
                if match := _FUNCTION.match(head):
                    found.append((number, match["name"]))
        return found
