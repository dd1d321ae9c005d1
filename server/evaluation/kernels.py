"""The `__global__` functions of a source and their parameters, by tree-sitter. Names and types only, no bodies."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from .located_toml import Place

_SCALARS: Mapping[str, str] = {
    "bool": "bool", "char": "int8", "signed char": "int8", "int8_t": "int8", "unsigned char": "uint8", "uint8_t": "uint8",
    "short": "int16", "int16_t": "int16", "unsigned short": "uint16", "uint16_t": "uint16",
    "int": "int32", "int32_t": "int32", "unsigned": "uint32", "unsigned int": "uint32", "uint32_t": "uint32",
    "long": "int64", "long long": "int64", "int64_t": "int64", "ptrdiff_t": "int64", "ssize_t": "int64",
    "unsigned long": "uint64", "unsigned long long": "uint64", "uint64_t": "uint64", "size_t": "uint64",
    "float": "float32", "double": "float64",
    "half": "float16", "__half": "float16", "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16",
}  # fmt: skip
_VECTOR = re.compile(r"(char|uchar|short|ushort|int|uint|long|longlong|ulonglong|float|double)([1-4])\Z")
_VECTOR_BASE = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "long": "int64", "longlong": "int64", "ulonglong": "uint64", "float": "float32", "double": "float64",
}  # fmt: skip
_PAIRS = {"half2": "float16", "__half2": "float16", "__nv_bfloat162": "bfloat16", "nv_bfloat162": "bfloat16"}
# Attributes that the grammar does not know; blanked before parsing, their lengths kept.
_ATTRIBUTE = re.compile(
    r"\b__(?:cluster_dims|maxnreg|block_size|nv_pure)__\s*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
)
_NOISE = re.compile(
    r"\b(?:const|volatile|restrict|__restrict__|__restrict|__grid_constant__|std::|struct)\b|std::"
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its written type, whether it is a pointer, and its element type where that is a known one.

    Element types are named as in numpy, `pointer` for a pointer to pointers; `void` and unknown types have None.
    """

    name: str
    written: str
    pointer: bool
    element: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Kernel:
    """A `__global__` function. `bound` is the text of its largest block in `__launch_bounds__`, None without one."""

    name: str
    parameters: tuple[Parameter, ...]
    template: bool
    bound: str | None
    place: Place


def kernels(source: str, defines: Mapping[str, object]) -> dict[str, Kernel]:
    """The kernels defined in a source, by name; a type alias or a define is looked through once."""
    plain = _ATTRIBUTE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)
    root = _parser().parse(plain.encode()).root_node
    aliases = dict(_aliases(source)) | {name: str(value) for name, value in defines.items()}
    found = (_kernel(node, aliases) for node in _walk(root) if node.type == "function_definition")
    return {kernel.name: kernel for kernel in found if kernel}


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def _walk(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if node.type != "compound_statement":
            waiting += reversed(node.children)


def _aliases(source: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"\busing\s+(\w+)\s*=\s*([^;{}]{1,80});", source):
        yield match[1], match[2]
    for match in re.finditer(r"\btypedef\s+([^;{}()]{1,80}?)\s+(\w+)\s*;", source):
        yield match[2], match[1]
    for match in re.finditer(
        r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([\w:][\w: ]{0,60}?)[ \t]*$", source, re.MULTILINE
    ):
        yield match[1], match[2]


def _kernel(node: Node, aliases: Mapping[str, str]) -> Kernel | None:
    if not any(child.type == "__global__" for child in node.children):
        return None
    declarator = next((child for child in node.children if child.type == "function_declarator"), None)
    if declarator is None or not declarator.children:
        return None
    listed = next((child for child in declarator.children if child.type == "parameter_list"), None)
    bounds = next((child for child in node.children if child.type == "launch_bounds"), None)
    return Kernel(
        name=_text(declarator.children[0]),
        parameters=tuple(
            _parameter(child, aliases)
            for child in (listed.children if listed else [])
            if child.type in ("parameter_declaration", "optional_parameter_declaration")
            and _text(child) != "void"
        ),
        template=node.parent is not None and node.parent.type == "template_declaration",
        bound=_text(bounds.children[2]) if bounds and len(bounds.children) > 3 else None,
        place=_place(declarator),
    )


def _parameter(node: Node, aliases: Mapping[str, str]) -> Parameter:
    declarator = node.child_by_field_name("declarator")
    name = (
        next((_text(part) for part in _walk(declarator) if part.type == "identifier"), "")
        if declarator
        else ""
    )
    default = node.child_by_field_name("default_value")
    shown = _text(declarator) if declarator else ""
    pointer = "*" in shown or "[" in shown
    written = " ".join(
        _text(child)
        for child in node.children
        if child.is_named and child not in (declarator, default) and child.type != "comment"
    )
    plain = " ".join(_NOISE.sub(" ", written).split())
    if plain in aliases:
        target = aliases[plain]
        pointer = pointer or "*" in target
        plain = " ".join(_NOISE.sub(" ", target.replace("*", " ")).split())
    stars = "*" * shown.count("*") or ("*" if pointer else "")
    element = _element(plain) if len(stars) < 2 else "pointer"
    return Parameter(name, f"{plain}{stars}", pointer, element, _place(node))


def _element(plain: str) -> str | None:
    words = sorted(plain.split(), key=lambda word: word not in ("unsigned", "signed"))
    if words[-1:] == ["int"] and len(words) > 1:
        words = words[:-1]
    joined = " ".join(word for word in words if word != "signed") or "int"
    if joined in _SCALARS:
        return _SCALARS[joined]
    vector = _VECTOR.match(plain)
    return _VECTOR_BASE[vector[1]] if vector else _PAIRS.get(plain)


def is_scalar(parameter: Parameter) -> bool:
    """Whether it is passed by value with a type that a launcher can pack."""
    vector = _VECTOR.match(parameter.written) or parameter.written in _PAIRS
    return not parameter.pointer and parameter.element is not None and not vector


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _place(node: Node) -> Place:
    return Place(node.start_point.row + 1, node.start_point.column + 1)
