"""Calls in device code: barriers, warp operations, atomics, cooperative groups; device functions are followed inside."""

from abc import abstractmethod

from tree_sitter import Node

from ..expressions import Expr, add, apply, const, leaf, mul, unknown
from . import syntax
from .environment import Group, GroupKind, Pointer, Value
from .reading import Reader
from .unit import Function

FULL_MASK = 0xFFFFFFFF
BLOCK_BARRIERS = {
    "__syncthreads",
    "__syncthreads_count",
    "__syncthreads_and",
    "__syncthreads_or",
    "__barrier_sync",
}
_WARP_OPERATIONS = ("__shfl", "__ballot_sync", "__any_sync", "__all_sync", "__match_", "__reduce_")
_LOADS = {"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"}
_STORES = {"__stcs", "__stcg", "__stwb", "__stwt"}
_CASTS = {"static_cast", "reinterpret_cast", "const_cast"}
_GROUPS: dict[str, GroupKind] = {
    "this_thread_block": "block",
    "this_grid": "grid",
    "this_cluster": "block",
    "tiled_partition": "tile",
    "coalesced_threads": "tile",
    "this_warp": "tile",
}
_BARRIER_METHODS = {".arrive_and_wait", ".wait", ".consumer_wait", ".arrive_and_drop", ".barrier_wait"}
_ARITHMETIC = {"min": "min", "max": "max", "umin": "min", "umax": "max", "imin": "min", "imax": "max"}
_PRODUCTS = {"__mul24": "mul", "__umul24": "mul"}
# Functions that neither synchronise nor touch the caller's memory.
_PURE = {
    "printf",
    "assert",
    "clock",
    "clock64",
    "make_float2",
    "make_float4",
    "make_int2",
    "make_int4",
    "dim3",
    "trap",
}
_PURE_PREFIXES = ("__", "make_", "tex", "std::", "curand", "cuda::std")


class Calls(Reader):
    """Reads calls; `follow` walks into a device function's body."""

    @abstractmethod
    def follow(self, function: Function, given: list[Value], node: Node) -> Value:
        """Walk a device function with these arguments."""

    @abstractmethod
    def may_follow(self, function: Function) -> bool:
        """Whether it is neither being followed already nor one too many."""

    def call(self, node: Node) -> Value:
        """What a call returns; its effects become nodes of the flow."""
        name = syntax.called(node)
        given = syntax.arguments(node)
        if name in _CASTS:
            return self._cast_call(node, given)
        text = self.expand(name, [syntax.text(argument) for argument in given])
        if text is not None:
            found = self.expanded(node, text)
            return self._unknown_call(node, name, []) if found is None else found
        if name.startswith("."):
            return self._method(node, name, given)
        if name in BLOCK_BARRIERS or name.startswith("__syncwarp"):
            return self._barrier(node, name, given)
        if name.startswith(_WARP_OPERATIONS):
            return self._warp_operation(node, name, given)
        if name in _GROUPS:
            return self._group(node, name)
        return self._plain(node, name, given)

    def _plain(self, node: Node, name: str, given: list[Node]) -> Value:
        function = self.unit.function(name, len(given))
        if function is not None and self.may_follow(function):
            return self.follow(function, self._bound(function, given), node)
        values = [self.value(argument) for argument in given]
        first = values[0] if values else None
        if name.startswith("atomic") and isinstance(first, Pointer):
            self._atomic(node, first, name)
            return unknown(f"{name}@{node.start_byte}", varying=True)
        if name in _LOADS and isinstance(first, Pointer):
            return self.load(first.at(const(0)), node)
        if name in _STORES and isinstance(first, Pointer):
            self.store(first.at(const(0)), node, None)
            return const(0)
        if name == "sync" and isinstance(first, Group):
            return self._sync(node, first)
        if name == "thread_rank" and isinstance(first, Group):
            return _rank(first)
        known = self._arithmetic(name, values)
        if known is not None:
            return known
        return self._unknown_call(node, name, values)

    def _bound(self, function: Function, given: list[Node]) -> list[Value]:
        """The arguments' values; of a reference parameter the place that it names."""
        values: list[Value] = []
        for index, argument in enumerate(given):
            reference = index < len(function.parameters) and function.parameters[index].type.reference
            place = self.place_of(argument) if reference else None
            values.append(self.value(argument) if place is None else place)
        return values

    def _arithmetic(self, name: str, values: list[Value]) -> Value | None:
        numbers = [value for value in values if isinstance(value, Expr)]
        if len(numbers) != len(values):
            return None
        if len(numbers) == 2 and name in _ARITHMETIC | _PRODUCTS:
            return apply((_ARITHMETIC | _PRODUCTS)[name], *numbers)
        if len(numbers) == 1 and name in (
            "abs",
            "int",
            "unsigned",
            "size_t",
            "uint32_t",
            "int64_t",
            "long",
            "uint",
        ):
            return apply("abs", *numbers) if name == "abs" else numbers[0]
        return None

    def _atomic(self, node: Node, pointer: Pointer, name: str) -> None:
        if pointer.space != "local":
            self.graph.emit("atomic", self.place(node), pointer.at(const(0)).access(), name)

    def _barrier(self, node: Node, name: str, given: list[Node]) -> Value:
        if name in BLOCK_BARRIERS:
            values = [self.number(argument) for argument in given]
            # A named barrier with a thread count is for some of the warps only: not judged for divergence.
            partial = name == "__barrier_sync" and values != []
            self.graph.emit("unknown_call" if partial else "barrier", self.place(node), name=name)
            return unknown(f"{name}@{node.start_byte}", varying=False)
        mask = self.number(given[0]) if given else const(FULL_MASK)
        self.graph.emit("warp_barrier", self.place(node), name=name, mask=mask)
        return const(0)

    def _warp_operation(self, node: Node, name: str, given: list[Node]) -> Value:
        values = [self.number(argument) for argument in given]
        legacy = not name.endswith("_sync")
        mask = None if legacy or not values else values[0]
        self.graph.emit("warp_operation", self.place(node), name=name, mask=mask)
        return unknown(f"{name}@{node.start_byte}", varying=True)

    def _group(self, node: Node, name: str) -> Value:
        size = None
        function = syntax.field(node, "function")
        for child in () if function is None else syntax.walk(function):
            if child.type == "number_literal":
                size = syntax.integer(syntax.text(child))
        return Group(_GROUPS[name], 32 if name == "this_warp" else size)

    def _sync(self, node: Node, group: Group) -> Value:
        if group.kind == "tile":
            self.graph.emit("warp_barrier", self.place(node), name="sync")
        else:
            self.graph.emit("barrier", self.place(node), name=f"{group.kind}.sync")
        return const(0)

    def _method(self, node: Node, name: str, given: list[Node]) -> Value:
        function = syntax.field(node, "function")
        owner_node = None if function is None else syntax.field(function, "argument")
        owner = self.value(owner_node)
        values = [self.value(argument) for argument in given]
        if isinstance(owner, Group):
            return self._group_method(node, name, owner)
        if name in (".sync", *_BARRIER_METHODS):
            self.graph.emit("unknown_call", self.place(node), name=name)
            return const(0)
        return self._unknown_call(node, name, values)

    def _group_method(self, node: Node, name: str, owner: Group) -> Value:
        if name == ".sync":
            return self._sync(node, owner)
        if name == ".thread_rank":
            return _rank(owner)
        if name in (".size", ".num_threads", ".group_dim", ".meta_group_size"):
            return _extent(owner, name)
        if name.startswith((".shfl", ".ballot", ".any", ".all", ".match")):
            self.graph.emit("warp_operation", self.place(node), name=name)
        return unknown(f"{name}@{node.start_byte}", varying=True)

    def _cast_call(self, node: Node, given: list[Node]) -> Value:
        function = syntax.field(node, "function")
        types = None if function is None else syntax.field(function, "arguments")
        value = self.value(given[0]) if given else const(0)
        descriptor = None if types is None else next(iter(types.named_children), None)
        return self.cast(descriptor, value)

    def _unknown_call(self, node: Node, name: str, values: list[Value]) -> Value:
        touches = any(isinstance(value, Pointer) and value.space == "shared" for value in values)
        pure = (
            name in _PURE
            or name.startswith(_PURE_PREFIXES)
            or (name.lower().startswith("warp") and not touches)
        )
        if touches or not (pure or _is_mathematical(name, values)):
            self.graph.emit("unknown_call", self.place(node), name=name)
        varying = any(isinstance(value, Expr) and value.varying for value in values)
        return unknown(f"{name}@{node.start_byte}", varying=varying or self._mentions_varying(node))


def _rank(group: Group) -> Expr:
    row = mul(add(mul(leaf("tid", "z"), leaf("ntid", "y")), leaf("tid", "y")), leaf("ntid", "x"))
    linear = add(row, leaf("tid", "x"))
    if group.kind == "block":
        return linear
    if group.kind == "grid":
        block = mul(mul(leaf("ntid", "x"), leaf("ntid", "y")), leaf("ntid", "z"))
        return add(mul(leaf("ctaid", "x"), block), linear)
    if group.kind == "tile" and group.size is not None:
        return apply("rem", linear, const(group.size))
    return unknown("rank", varying=True)


def _extent(group: Group, name: str) -> Expr:
    if group.size is not None and "meta" not in name:
        return const(group.size)
    if group.kind == "block":
        return mul(mul(leaf("ntid", "x"), leaf("ntid", "y")), leaf("ntid", "z"))
    return unknown(f"group{name}", varying=False)


def _is_mathematical(name: str, values: list[Value]) -> bool:
    return bool(values) and name.islower() and all(isinstance(value, Expr) for value in values)
