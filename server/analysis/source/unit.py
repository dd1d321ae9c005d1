"""What a candidate's files declare: functions, constants, macros and launches. It is read here; `walk` follows it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tree_sitter import Node

from ...reports.finding import Location
from . import conditions, schedule, syntax
from .types import Type, declared_type

Role = Literal["kernel", "device", "host"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    type: Type


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A function with a body. `templates` are its non-type template parameters, in order, with None for type ones."""

    name: str
    role: Role
    parameters: tuple[Parameter, ...]
    templates: tuple[str | None, ...]
    node: Node
    body: Node
    file: str
    _by_type: dict[str, list[Node]] = field(default_factory=dict[str, list[Node]], repr=False)

    def nodes(self, *types: str) -> list[Node]:
        """The nodes of these types in its body, in source order."""
        if not self._by_type:
            for node in syntax.walk(self.body):
                self._by_type.setdefault(node.type, []).append(node)
        if len(types) == 1:
            return self._by_type.get(types[0], [])
        found = [node for name in types for node in self._by_type.get(name, [])]
        return sorted(found, key=lambda node: (node.start_byte, -node.end_byte))

    @property
    def place(self) -> Location:
        """Where its name stands."""
        return location(self.file, syntax.field(self.node, "declarator") or self.node)


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: `parameters` is None for one that takes none."""

    parameters: tuple[str, ...] | None
    body: str


@dataclass(frozen=True, eq=False, slots=True)
class Launch:
    """A `kernel<<<grid, block, ...>>>(...)` in host code."""

    kernel: str
    grid: Node
    block: Node
    arguments: tuple[Node, ...]
    templates: tuple[Node, ...]
    node: Node
    host: Function
    shared: Node | None = None


@dataclass(slots=True)
class Unit:
    """All files of a candidate."""

    main: str
    predefined: Mapping[str, str]
    functions: dict[str, list[Function]] = field(default_factory=dict[str, list[Function]])
    macros: dict[str, Macro] = field(default_factory=dict[str, Macro])
    constants: dict[str, Node] = field(default_factory=dict[str, Node])
    launches: list[Launch] = field(default_factory=list[Launch])
    shared: dict[str, Node] = field(default_factory=dict[str, Node])
    errors: list[Location] = field(default_factory=list[Location])

    def of_role(self, *roles: Role) -> Iterator[Function]:
        """The functions of these roles, in source order."""
        for overloads in self.functions.values():
            yield from (function for function in overloads if function.role in roles)

    def function(self, name: str, count: int) -> Function | None:
        """The device function of this name that takes this many arguments."""
        known = [function for function in self.functions.get(name, []) if function.role != "kernel"]
        fitting = [function for function in known if len(function.parameters) >= count]
        return fitting[0] if len(fitting) == 1 or (fitting and len(known) == 1) else None


def location(file: str, node: Node) -> Location:
    """Where a node starts."""
    return Location(file=file, line=node.start_point[0] + 1, column=node.start_point[1] + 1)


def read(main: str, files: Mapping[str, str], defines: Mapping[str, str], arch: str) -> Unit:
    """Read the main file and the others as device code for `arch`; `defines` stand above the files' own macros."""
    fixed = {**schedule.defines(files.get(main, "")), **defines}
    unit = Unit(
        main, conditions.predefined(arch), macros={name: Macro(None, value) for name, value in fixed.items()}
    )
    for name in sorted(files, key=lambda name: (name == main, name)):
        text, shortened = syntax.terminated(files[name])
        _collect(unit, syntax.parse(text.encode()), name, (), frozenset(fixed))
        for short, full in shortened.items():
            if full in unit.macros:
                unit.macros.setdefault(short, unit.macros[full])
    for function in list(unit.of_role("host")):
        unit.launches += _launches(function)
    return unit


_NOT_CODE = ("comment", "preproc_call", "preproc_include", "preproc_elif", "preproc_else")


def taken(unit: Unit, node: Node) -> list[Node]:
    """The children of a node that the preprocessor leaves: of each conditional the branch that holds."""
    found: list[Node] = []
    for child in node.children:
        if child.type in ("preproc_ifdef", "preproc_if"):
            found += _branch(unit, child)
        elif child.type not in _NOT_CODE:
            found.append(child)
    return found


def _branch(unit: Unit, node: Node) -> list[Node]:
    alternative = syntax.field(node, "alternative")
    if node.type != "preproc_else" and not _holds(unit, node):
        return [] if alternative is None else _branch(unit, alternative)
    skipped = {
        id_of(part) for part in (alternative, syntax.field(node, "name"), syntax.field(node, "condition"))
    }
    return [child for child in taken(unit, node) if id_of(child) not in skipped and child.is_named]


def id_of(node: Node | None) -> int:
    """What identifies a node within its tree."""
    return -1 if node is None else node.id


def _holds(unit: Unit, node: Node) -> bool:
    if node.type == "preproc_ifdef":
        name = syntax.text(syntax.field(node, "name"))
        return (name in unit.macros or name in unit.predefined) != (node.children[0].type == "#ifndef")
    plain = {name: macro.body for name, macro in unit.macros.items() if macro.parameters is None}
    return conditions.holds(syntax.text(syntax.field(node, "condition")), {**unit.predefined, **plain})


_CONTAINERS = ("namespace_definition", "linkage_specification", "declaration_list", "template_declaration")


def _collect(
    unit: Unit, node: Node, file: str, templates: tuple[str | None, ...], fixed: frozenset[str]
) -> None:
    for child in taken(unit, node):
        if child.type == "ERROR":
            unit.errors.append(location(file, child))
        if child.type in _CONTAINERS:
            given = _template_names(child) if child.type == "template_declaration" else templates
            _collect(unit, child, file, given, fixed)
        elif child.type == "function_definition":
            _add_function(unit, child, file, templates)
        elif child.type in ("preproc_def", "preproc_function_def"):
            _add_macro(unit, child, fixed)
        elif child.type == "declaration":
            _add_constants(unit, child)
        elif child.type == "enum_specifier":
            _add_enumerators(unit, child)


def _template_names(node: Node) -> tuple[str | None, ...]:
    parameters = syntax.field(node, "parameters")
    found: list[str | None] = []
    for child in () if parameters is None else parameters.named_children:
        plain = child.type in ("parameter_declaration", "optional_parameter_declaration")
        found.append(syntax.declared(syntax.field(child, "declarator")) if plain else None)
    return tuple(found)


def _add_function(unit: Unit, node: Node, file: str, templates: tuple[str | None, ...]) -> None:
    body, declarator = syntax.field(node, "body"), syntax.field(node, "declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = syntax.field(declarator, "declarator")
    if body is None or declarator is None or body.type != "compound_statement":
        return
    kernel, device = syntax.has_token(node, "__global__"), syntax.has_token(node, "__device__")
    role: Role = "kernel" if kernel else "device" if device else "host"
    name = syntax.declared(syntax.field(declarator, "declarator"))
    given = syntax.field(declarator, "parameters")
    parameters = tuple(
        Parameter(
            syntax.declared(syntax.field(child, "declarator")),
            declared_type(child, syntax.field(child, "declarator")),
        )
        for child in (() if given is None else given.named_children)
        if child.type in ("parameter_declaration", "optional_parameter_declaration")
    )
    unit.functions.setdefault(name, []).append(Function(name, role, parameters, templates, node, body, file))


def _add_macro(unit: Unit, node: Node, fixed: frozenset[str]) -> None:
    name = syntax.text(syntax.field(node, "name"))
    given = syntax.field(node, "parameters")
    parameters = None if given is None else tuple(syntax.text(child) for child in given.named_children)
    body = re.sub(r"\\\r?\n", "\n", syntax.text(syntax.field(node, "value")))
    if name not in fixed:
        unit.macros[name] = Macro(parameters, re.sub(r"//.*", "", body).strip())


def _add_constants(unit: Unit, node: Node) -> None:
    if syntax.has_token(node, "__shared__"):
        for declarator in syntax.fields(node, "declarator"):
            unit.shared[syntax.declared(declarator)] = node
        return
    if not syntax.has_token(node, "const", "constexpr"):
        return
    for declarator in syntax.fields(node, "declarator"):
        value = syntax.field(declarator, "value") if declarator.type == "init_declarator" else None
        if value is not None:
            unit.constants[syntax.declared(declarator)] = value


def _add_enumerators(unit: Unit, node: Node) -> None:
    for child in syntax.walk(node):
        value = syntax.field(child, "value") if child.type == "enumerator" else None
        if value is not None:
            unit.constants[syntax.text(syntax.field(child, "name"))] = value


def _launches(host: Function) -> Iterator[Launch]:
    for shape in host.nodes("kernel_call_syntax"):
        node = shape.parent
        if node is None or node.type != "call_expression" or len(shape.named_children) < 2:
            continue
        function = syntax.field(node, "function")
        templates = None if function is None else syntax.field(function, "arguments")
        yield Launch(
            syntax.called(node),
            shape.named_children[0],
            shape.named_children[1],
            tuple(syntax.arguments(node)),
            tuple(() if templates is None else templates.named_children),
            node,
            host,
            shape.named_children[2] if len(shape.named_children) > 2 else None,
        )
