"""PTX text cut into statements: the lexical half of reading it."""

import re
from collections.abc import Iterator

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PIECE = re.compile(r'"(?:\\.|[^"\\\n])*"|[;{}\n]|[^;{}\n"]+|"')
_LINE = re.compile(r"\s*(?:\.(?:loc|file|version|target|address_size)\b|[\w$%]+\s*:\s*$)")
HEADER = re.compile(
    r"^(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<kind>entry|func)\b\s*"
    r"(?:\.attribute\s*\([^)]*\)\s*)?(?:\((?P<results>[^)]*)\)\s*)?(?P<name>[\w$.@]+)\s*"
    r"(?:\((?P<parameters>[^)]*)\))?(?P<rest>.*)$",
    re.DOTALL,
)
LABEL = re.compile(r"^([\w$%]+)\s*:(?!:)\s*")


def statements(text: str) -> Iterator[str]:
    """Statements with their semicolon; labels and line directives without; single braces that open or close a block."""
    cutter = _Cutter()
    for match in _PIECE.finditer(_COMMENT.sub(" ", text)):
        yield from cutter.take(match.group())
    yield from cutter.end("")


class _Cutter:
    """Collects pieces until a statement is whole. `inner` counts the braces open inside a statement."""

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._inner = 0

    def end(self, terminator: str) -> Iterator[str]:
        """The pending statement, if any."""
        text = "".join(self._pending).strip()
        self._pending = []
        if text or terminator:
            yield text + terminator

    def take(self, piece: str) -> Iterator[str]:
        """One piece: text, a newline, a brace or a semicolon."""
        if piece == "\n":
            if self._inner == 0 and len(self._pending) <= 4 and _LINE.match("".join(self._pending)):
                yield from self.end("")
            elif self._pending:
                self._pending.append(" ")
        elif piece == ";" and self._inner == 0:
            yield from self.end(";")
        elif piece in ("{", "}"):
            yield from self._brace(piece)
        elif self._pending or piece.strip():
            self._pending.append(piece)

    def _brace(self, piece: str) -> Iterator[str]:
        if self._inner or (piece == "{" and _continues("".join(self._pending))):
            self._inner += 1 if piece == "{" else -1
            self._pending.append(piece)
        else:
            yield from self.end("")
            yield piece


def _continues(pending: str) -> bool:
    """Whether a brace goes on with a statement (a vector, an initialiser) instead of opening a block."""
    begun = LABEL.sub("", pending.strip())
    return bool(begun) and not HEADER.match(begun) and not begun.startswith(".section")
