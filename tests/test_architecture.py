"""The shape of the code: dependencies point down, tools stand alone, one spawner, and nothing grows too long.

Each rule is also tried on a seeded violation, so that a rule which finds nothing is known to look.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_FILE_LINES, MAX_FUNCTION_LINES = 300, 50

# Lowest first. A name stands for its module or package; the longest one that fits a module counts.
LAYERS = (
    "errors framing stopping stdio visible",
    "command config client components policy blobs reports prompts visible toolchain.demangle",
    "process process_tree ready sandbox toolchain runner tokens presence launcher",
    "store migrations lease gpu gpu_state counters jobs analysis guidance",
    "recording masking checkpoints conversations store_check exchange replaying candidate evaluation workloads",
    (
        "workbench measuring checkpoint_diff restoring services tool tools_arguments building build_findings "
        "analyzing profiling profile_findings profile_files"
    ),
    "evaluation.judging",
    "tools",
    "sendable answering call_records schemas catalog calls wire app",
    "daemon http http_daemon bridge",
    "cli commands demo __main__ __init__",
)
SPAWNERS = {
    "subprocess": None,
    "multiprocessing": None,
    "pty": None,
    "asyncio.subprocess": None,
    "os": {
        "fork",
        "forkpty",
        "system",
        "popen",
        "posix_spawn",
        "posix_spawnp",
        "execv",
        "execve",
        "execvp",
        "execl",
    },
    "anyio": {"open_process", "run_process"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
}
SPAWNING_CALLS = {f"{module}.{name}" for module, names in SPAWNERS.items() for name in names or ()}
WORKERS = "server/toolchain/*_worker.py"
THE_SPAWNER = "server/process.py"


@dataclass(frozen=True)
class Source:
    """A file as it stands in the repository: its path from the root, and its text."""

    path: str
    text: str

    @property
    def module(self) -> str:
        """Its name below `server` or `attribution`."""
        return ".".join(Path(self.path).with_suffix("").parts[1:])

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)


def sources(*folders: str) -> list[Source]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    kept = [path for path in found if not {"node_modules", "__pycache__"} & set(path.parts)]
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text()) for path in kept]


def imports(source: Source) -> Iterator[str]:
    """Every module of ours that a source imports as `server.x.y` or `attribution.x`, but for type checking only."""
    package = [*Path(source.path).parts[:-1]]
    for node in _at_run_time(source.tree):
        if isinstance(node, ast.Import):
            yield from (
                name.name.removeprefix("warpwise.")
                for name in node.names
                if name.name.startswith("warpwise.")
            )
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module and node.module.startswith("warpwise."):
                yield node.module.removeprefix("warpwise.")
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            yield from _named(base, [name.name for name in node.names])


def _named(base: list[str], names: list[str]) -> Iterator[str]:
    """`from base import name` is an import of base.name where that is a module, else of base."""
    for name in names:
        inner = ROOT.joinpath(*base, name)
        yield ".".join([*base, name] if inner.is_dir() or inner.with_suffix(".py").is_file() else base)


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _at_run_time(child)


def layer(module: str) -> int:
    """The number of a module's layer. Raises LookupError for one that has none."""
    fits = [
        (len(name), number)
        for number, names in enumerate(LAYERS)
        for name in names.split()
        if module == name or module.startswith(f"{name}.")
    ]
    if not fits:
        raise LookupError(f"server/{module} has no layer: give it one in tests/test_architecture.py")
    return max(fits)[1]


def upward(found: list[Source]) -> list[str]:
    """The imports inside the server that point up, or out to attribution."""
    wrong: list[str] = []
    for source in found:
        own = layer(source.module)
        for target in imports(source):
            top, _, module = target.partition(".")
            if top == "attribution" or (module and layer(module) > own):
                wrong.append(f"{source.path} imports {target}")
    return wrong


def between_tools(found: list[Source]) -> list[str]:
    """The tools that import a tool."""
    return [
        f"{source.path} imports {target}"
        for source in found
        if source.path.startswith("server/tools/")
        for target in imports(source)
        if target == "server.tools" or target.startswith("server.tools.")
    ]


def into_tools(found: list[Source]) -> list[str]:
    """What attribution imports from the server's tools or anything above them."""
    tools = layer("tools")
    return [
        f"{source.path} imports {target}"
        for source in found
        for target in imports(source)
        if target.startswith("server.") and layer(target.partition(".")[2]) >= tools
    ]


def spawns(found: list[Source]) -> list[str]:
    """The places that could start a process."""
    wrong: list[str] = []
    for source in found:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Import):
                wrong += [
                    f"{source.path}: {name.name}" for name in node.names if SPAWNERS.get(name.name, 0) is None
                ]
            elif isinstance(node, ast.ImportFrom) and node.module in SPAWNERS and node.level == 0:
                banned = SPAWNERS[node.module]
                wrong += [
                    f"{source.path}: {name.name}"
                    for name in node.names
                    if banned is None or name.name in banned
                ]
            elif isinstance(node, ast.Attribute) and ast.unparse(node) in SPAWNING_CALLS:
                wrong.append(f"{source.path}: {ast.unparse(node)}")
    return wrong


def not_alone(found: list[Source]) -> list[str]:
    """The toolchain's worker scripts that import something of warpwise: they run in an isolated interpreter."""
    return [
        f"{source.path}: {ast.unparse(node)}"
        for source in found
        if Path(source.path).match(WORKERS)
        for node in ast.walk(source.tree)
        if (isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("warpwise")))
        or (isinstance(node, ast.Import) and any(name.name.startswith("warpwise") for name in node.names))
    ]


def too_long(found: list[Source]) -> list[str]:
    """Files and functions over the house limits."""
    wrong = [
        f"{source.path} has {lines} lines"
        for source in found
        if (lines := len(source.text.splitlines())) > MAX_FILE_LINES
    ]
    for source in found:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    wrong.append(f"{source.path}: {node.name} has {lines} lines")
    return wrong


def test_dependencies_point_down() -> None:
    assert upward(sources("server")) == []
    assert into_tools(sources("attribution")) == []


def test_no_tool_imports_a_tool() -> None:
    assert between_tools(sources("server")) == []


def test_no_module_is_in_a_cycle() -> None:
    found = sources("server", "attribution")
    modules = {
        source.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for source in found
    }
    graph = {
        source.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): {
            target for target in imports(source) if target in modules
        }
        for source in found
    }
    try:
        TopologicalSorter({module: targets - {module} for module, targets in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_only_one_module_starts_processes() -> None:
    found = [source for source in sources("server", "attribution") if source.path != THE_SPAWNER]
    assert spawns(found) == []


def test_workers_stand_alone() -> None:
    found = sources("server")
    assert any(Path(source.path).match(WORKERS) for source in found)
    assert not_alone(found) == []


def test_nothing_is_too_long() -> None:
    assert too_long(sources("server", "attribution", "client_examples", "benchmarks")) == []


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (upward, "server/errors.py", "from .tools import compiler"),
        (upward, "server/toolchain/nvcc.py", "from ..store import Store"),
        (upward, "server/store.py", "def f():\n    from warpwise.server.app import App"),
        (upward, "server/calls.py", "import warpwise.server.daemon"),
        (upward, "server/tools/compiler.py", "from ...attribution import banzhaf"),
        (upward, "server/tools/compiler.py", "from warpwise.attribution.banzhaf import phi"),
        (into_tools, "attribution/engine.py", "from warpwise.server.tools.compiler import compile_kernel"),
        (into_tools, "attribution/engine.py", "from ..server.app import App"),
        (between_tools, "server/tools/debugger.py", "from .compiler import compile_kernel"),
        (between_tools, "server/tools/debugger.py", "from . import compiler"),
        (spawns, "server/gpu.py", "import subprocess"),
        (spawns, "server/gpu.py", "from subprocess import run"),
        (spawns, "server/gpu.py", "import os\nos.fork()"),
        (spawns, "server/gpu.py", "from os import execv"),
        (spawns, "server/gpu.py", "import asyncio\nasyncio.create_subprocess_exec('x')"),
        (spawns, "server/gpu.py", "def f():\n    import anyio\n    anyio.open_process('x')"),
        (not_alone, "server/toolchain/nvrtc_worker.py", "from ..errors import WarpwiseError"),
        (not_alone, "server/toolchain/nvrtc_worker.py", "import warpwise"),
        (too_long, "server/x.py", "\n" * 301),
        (too_long, "server/x.py", "def f():\n" + "    pass\n" * 50),
    ],
)
def test_a_seeded_violation_is_caught(
    rule: Callable[[list[Source]], list[str]], path: str, text: str
) -> None:
    assert len(rule([Source(path, text)])) == 1


def test_what_is_only_for_type_checking_is_no_dependency() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .tools import compiler"
    assert upward([Source("server/errors.py", text)]) == []


def test_a_module_without_a_layer_is_named() -> None:
    with pytest.raises(LookupError, match="novelty has no layer"):
        upward([Source("server/novelty.py", "")])
