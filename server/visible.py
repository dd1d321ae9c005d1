"""Text that steers nothing: what would move a terminal's cursor or turn the reading order is written out as an escape.

Tools print names and messages of hostile sources. A client's text shows them, and never obeys them.
"""

import re

_STEERING = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"  # C0 but tab and line ends, DEL, C1
    "|[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"  # bidirectional and invisible marks
    "|[\U000e0000-\U000e007f]"  # tags: letters that only a machine reads
)


def visible(text: str) -> str:
    r"""The text with each steering character written as \x1b, \u202e or \U000e0041; lone surrogates become ?."""
    plain = _STEERING.sub(_written, text)
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode()


def _written(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
