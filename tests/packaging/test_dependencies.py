"""Everything that the code imports is declared: what an environment happens to hold is not what users get."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
FOLDERS = ("server", "attribution", "src")
# Run in processes of their own, started only where the extra is there.
CHILDREN = ("server/launcher/", "_worker.py")
PROVIDERS = packages_distributions()
NAMESPACES = {"cuda.pathfinder": "cuda-pathfinder", "cuda.bindings": "cuda-bindings"}


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def closure(requirements: list[str]) -> set[str]:
    """The distributions that these requirements bring, whatever the platform; extras of theirs are left out."""
    found: set[str] = set()
    waiting = [name_of(requirement) for requirement in requirements]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            waiting += [name_of(needed) for needed in requires(name) or () if "extra ==" not in needed]
        except PackageNotFoundError:
            continue  # for another platform or Python
    return found


def imports(tree: ast.AST, *, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """(module, whether it is imported only when a function runs or for types) of every absolute import."""
    for node in ast.iter_child_nodes(tree):
        later = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        later = later or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        if isinstance(node, ast.Import):
            yield from ((alias.name, later) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module, later
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (
                (a.value, later)
                for a in node.args
                if isinstance(a, ast.Constant) and isinstance(a.value, str)
            )
        yield from imports(node, inside=later)


def distributions(module: str) -> set[str]:
    """The distributions that may give this module: empty for the standard library and our own."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == "warpwise":
        return set()
    for prefix, distribution in NAMESPACES.items():
        if module.startswith(prefix):
            return {distribution}
    return {name_of(name) for name in PROVIDERS.get(top, [top])}


def files() -> list[Path]:
    return [
        path
        for folder in FOLDERS
        for path in sorted((PROJECT / folder).rglob("*.py"))
        if not path.is_symlink()
    ]


@pytest.mark.parametrize("extra", [False, True], ids=["core", "core or an extra"])
def test_every_import_is_declared(extra: bool) -> None:
    """At import time only the core is there; a worker script and a function may need an extra."""
    given = list(DECLARED["dependencies"])
    if extra:
        given += [
            need
            for name, needs in DECLARED["optional-dependencies"].items()
            if name != "dev"
            for need in needs
        ]
    known = closure(given)
    undeclared = {
        f"{path.relative_to(PROJECT)}: {module}"
        for path in files()
        for module, later in imports(ast.parse(path.read_text()))
        if (later or any(part in path.as_posix() for part in CHILDREN)) == extra
        if (given_by := distributions(module)) and not given_by & known
    }
    assert undeclared == set()
