"""Types as the rules need them: size, pointer or array, float or double, qualifiers. No type checking is done."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from . import syntax

_SIZES = {
    "char": 1,
    "bool": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "short": 2,
    "half": 2,
    "__half": 2,
    "__nv_bfloat16": 2,
    "nv_bfloat16": 2,
    "int16_t": 2,
    "uint16_t": 2,
    "int": 4,
    "unsigned": 4,
    "float": 4,
    "half2": 4,
    "__half2": 4,
    "__nv_bfloat162": 4,
    "int32_t": 4,
    "uint32_t": 4,
    "uint": 4,
    "double": 8,
    "long": 8,
    "size_t": 8,
    "ptrdiff_t": 8,
    "int64_t": 8,
    "uint64_t": 8,
}
_VECTOR = re.compile(r"^(u?(?:char|short|int|long|longlong)|float|double)([1-4])$")
_VECTOR_BASE = {"char": 1, "short": 2, "int": 4, "long": 8, "longlong": 8, "float": 4, "double": 8}


@dataclass(frozen=True, slots=True)
class Type:
    """A declared type: `name` without qualifiers, how many pointer or array levels, the array's extents as nodes."""

    name: str
    pointers: int = 0
    extents: tuple[Node | None, ...] = ()
    const: bool = False
    volatile: bool = False
    reference: bool = False
    restrict: bool = False

    @property
    def size_bytes(self) -> int | None:
        """The size of one element; None where the type is not known."""
        return size_of(self.name)

    @property
    def is_address(self) -> bool:
        """Whether it is a pointer or an array."""
        return self.pointers > 0 or bool(self.extents)

    @property
    def is_double(self) -> bool:
        """Whether its elements are double precision."""
        return self.name.startswith("double")

    @property
    def is_float(self) -> bool:
        """Whether it is a single-precision scalar or vector, or of half precision."""
        return self.name.startswith(("float", "half", "__half", "nv_bfloat", "__nv_bfloat"))

    @property
    def is_int32(self) -> bool:
        """Whether it is a 32-bit integer scalar."""
        return not self.is_address and self.name in (
            "int",
            "unsigned",
            "unsigned int",
            "int32_t",
            "uint32_t",
            "uint",
        )

    @property
    def is_int64(self) -> bool:
        """Whether it is a 64-bit integer scalar."""
        wide = {"size_t", "ptrdiff_t", "int64_t", "uint64_t"}
        return not self.is_address and (self.name in wide or "long" in self.name.split())


def size_of(name: str) -> int | None:
    """The size in bytes of a type by name; None where unknown."""
    vector = _VECTOR.match(name)
    if vector is not None:
        return _VECTOR_BASE[vector.group(1).removeprefix("u")] * int(vector.group(2))
    if name in _SIZES:
        return _SIZES[name]
    words = set(name.split())
    if words & {"unsigned", "signed", "long", "short", "char", "int"}:
        return 8 if "long" in words else 2 if "short" in words else 1 if "char" in words else 4
    return None


def declared_type(declaration: Node, declarator: Node | None) -> Type:
    """The type of one declarator of a declaration, a parameter or a type descriptor."""
    base = syntax.field(declaration, "type")
    name = re.sub(r"\b(?:const|volatile)\b", "", syntax.text(base)).strip()
    name = " ".join(name.rsplit("::", 1)[-1].split())
    pointers, extents, reference, restrict = _shape(declarator)
    return Type(
        name,
        pointers,
        extents,
        syntax.has_token(declaration, "const", "constexpr"),
        syntax.has_token(declaration, "volatile"),
        reference,
        restrict or syntax.has_token(declaration, "__restrict__", "__restrict"),
    )


def _shape(declarator: Node | None) -> tuple[int, tuple[Node | None, ...], bool, bool]:
    pointers, extents, reference, restrict = 0, list[Node | None](), False, False
    current = declarator
    if current is not None and current.type == "init_declarator":
        current = syntax.field(current, "declarator")
    while current is not None and current.type not in ("identifier", "field_identifier"):
        if "array_declarator" in current.type:
            extents.append(syntax.field(current, "size"))
        pointers += "pointer_declarator" in current.type
        reference |= current.type == "reference_declarator"
        restrict |= "__restrict" in syntax.text(current).split("(")[0] and "pointer" in current.type
        inner = syntax.field(current, "declarator")
        current = inner if inner is not None else _inner(current)
    return pointers, tuple(reversed(extents)), reference, restrict


def _inner(node: Node) -> Node | None:
    kinds = ("identifier", "field_identifier")
    return next(
        (child for child in node.named_children if "declarator" in child.type or child.type in kinds), None
    )
