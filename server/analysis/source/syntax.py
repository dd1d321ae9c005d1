"""CUDA source as a syntax tree (tree-sitter). Nothing is preprocessed: macros are expanded where they are used."""

import re
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

_LANGUAGE = Language(tree_sitter_cuda.language())
# What the grammar does not know and the analysis does not need; blanked with spaces, so that places stay right.
_UNKNOWN = re.compile(
    rb"\b(?:__align__|__cluster_dims__|__block_size__|__maxnreg__|__nv_pure__)\s*\((?:[^()]|\([^()]*\))*\)"
    rb"|\b__grid_constant__\b|\bCUDART_CB\b|\b__noinline__\b"
    rb"|(?<=\])[ \t]*(?:__host__[ \t]*|__device__[ \t]*)+(?=[({])"
)


def parse(source: bytes) -> Node:
    """The root of the syntax tree; what does not parse becomes ERROR nodes inside it."""
    return Parser(_LANGUAGE).parse(_UNKNOWN.sub(lambda match: b" " * len(match.group()), source)).root_node


_STATEMENT_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w{2,})[ \t]+(.*[;}])[ \t]*$", re.MULTILINE)


def terminated(source: str) -> tuple[str, dict[str, str]]:
    """The source with uses of macros that bring their own semicolon (`SYNC` for `__syncthreads();`) made statements.

    Their last letter becomes the semicolon, so that places stay right; the other value maps each shortened name to its
    full one.
    """
    names = {name: name[:-1] for name, _ in _STATEMENT_MACRO.findall(source)}
    if not names:
        return source, {}
    use = re.compile(
        rf"^(?![ \t]*#)(.*?)\b({'|'.join(map(re.escape, names))})\b(?=[ \t]*(?:$|\}}|//))", re.MULTILINE
    )
    return use.sub(lambda match: f"{match[1]}{names[match[2]]};", source), {
        short: name for name, short in names.items()
    }


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Node | None:
    """The tree of one expression, as a macro or a schedule holds it; None where it is none."""
    root = parse(f"void f() {{ x = {text}\n; }}".encode())
    found = next((node for node in walk(root) if node.type == "assignment_expression"), None)
    right = found.child_by_field_name("right") if found is not None else None
    return None if right is None or root.has_error else right


@lru_cache(maxsize=1024)
def parse_statements(text: str) -> Node | None:
    """The block of statements that a macro stands for; None where it is none."""
    root = parse(f"void f() {{ {text}\n; }}".encode())
    return (
        None
        if root.has_error
        else next((node for node in walk(root) if node.type == "compound_statement"), None)
    )


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in source order."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.children)


def text(node: Node | None) -> str:
    """The source of a node."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def field(node: Node, name: str) -> Node | None:
    """A named part of a node."""
    return node.child_by_field_name(name)


def fields(node: Node, name: str) -> list[Node]:
    """All parts of a node that carry this name."""
    return node.children_by_field_name(name)


def has_token(node: Node, *tokens: str) -> bool:
    """Whether one of the tokens is a direct part of the node, or of its qualifiers."""
    for child in node.children:
        if child.type in tokens:
            return True
        if child.type in ("type_qualifier", "storage_class_specifier") and any(
            part.type in tokens for part in child.children
        ):
            return True
    return False


def arguments(node: Node) -> list[Node]:
    """The arguments of a call."""
    found = field(node, "arguments")
    return [] if found is None else [child for child in found.named_children if child.type != "comment"]


def called(node: Node) -> str:
    """The name a call calls, without template arguments or namespaces; of a method, `.name`."""
    function = field(node, "function")
    if function is None:
        return ""
    if function.type == "field_expression":
        return "." + text(field(function, "field"))
    while function.type in ("qualified_identifier", "template_function"):
        inner = field(function, "name")
        if inner is None:
            break
        function = inner
    return text(function)


def declared(declarator: Node | None) -> str:
    """The name that a declarator declares."""
    while declarator is not None and declarator.type not in (
        "identifier",
        "type_identifier",
        "field_identifier",
    ):
        inner = field(declarator, "declarator")
        declarator = inner if inner is not None else next(iter(declarator.named_children), None)
    return text(declarator)


_NUMBER = re.compile(r"^(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)[uUlLzZ]*$")


def integer(literal: str) -> int | None:
    """The value of an integer literal; None of a floating one."""
    match = _NUMBER.match(literal)
    if match is None:
        return None
    digits = match.group(1).replace("'", "")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        return int(digits, 8 if octal else 0)
    except ValueError:
        return None


def is_real(node: Node | None) -> bool:
    """Whether a node is a floating-point literal."""
    return node is not None and node.type == "number_literal" and integer(text(node)) is None
