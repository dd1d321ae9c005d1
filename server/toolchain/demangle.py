"""C++ names of mangled symbols, by the C++ runtime of this machine where it has one, else by a pure Python parser."""

import ctypes
import importlib
import re
from collections.abc import Callable
from functools import cache, lru_cache

from ..reports.names import ANONYMOUS, short_name

__all__ = ["demangle", "in_text", "short_name"]

MAX_LENGTH = 4096
_parse: Callable[[str], object] = importlib.import_module("itanium_demangler").parse
_MANGLED = re.compile(r"_Z[A-Za-z0-9_.$]+")
_SUFFIXES = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "bool": ""}
_LITERAL = re.compile(r"\((int|unsigned int|long|unsigned long|bool)\)([n-]?\d+)")


@lru_cache(maxsize=4096)
def demangle(symbol: str) -> str:
    """The C++ name of a symbol, without the return type of a template; the symbol itself where it has no other name.

    Symbols come from candidates: what is not a plain identifier, or very long, is never given to native code.
    """
    if len(symbol) > MAX_LENGTH or not _MANGLED.fullmatch(symbol):
        return symbol
    native = _native()
    name = native(symbol) if native else _python(symbol)
    return name.removeprefix("void ") if name else symbol


def in_text(text: str) -> str:
    """A message with each mangled symbol in it replaced by its short C++ name."""
    return _MANGLED.sub(lambda match: short_name(demangle(match.group())), text)


@cache
def _native() -> Callable[[str], str | None] | None:
    try:
        runtime, libc = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
        demangler, free = runtime["__cxa_demangle"], libc["free"]
    except (OSError, AttributeError):
        return None
    demangler.restype, demangler.argtypes = ctypes.c_void_p, [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    free.restype, free.argtypes = None, [ctypes.c_void_p]

    def native(symbol: str) -> str | None:
        status = ctypes.c_int()
        held = demangler(symbol.encode(), None, None, ctypes.byref(status))
        if not held:
            return None
        try:
            return ctypes.string_at(held).decode("utf-8", "replace")
        finally:
            free(held)

    return native


def _python(symbol: str) -> str | None:
    try:
        parsed = _parse(symbol)
    except (NotImplementedError, RecursionError, ValueError, IndexError, AttributeError, TypeError, KeyError):
        return None
    return (
        None
        if parsed is None
        else _LITERAL.sub(_as_runtime_writes, str(parsed)).replace("_GLOBAL__N_1", ANONYMOUS)
    )


def _as_runtime_writes(literal: re.Match[str]) -> str:
    """`(unsigned int)4` as the C++ runtime writes it: `4u`."""
    kind, value = literal.groups()
    return ("false", "true")[value != "0"] if kind == "bool" else value.replace("n", "-") + _SUFFIXES[kind]
