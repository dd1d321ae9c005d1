"""What the documents promise is what the code has: the tool table, the commands, the tree of errors, the limits.

`WARPWISE_UPDATE_CONTRACT=1 pytest tests/test_docs.py` renews the table of tools.
"""

import ast
import importlib
import os
import pkgutil
import re
from pathlib import Path

import pytest

from warpwise.server import commands, errors
from warpwise.server.prompts import PROMPTS
from warpwise.server.tool import load_tools

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "tools.md"
README = ROOT / "README.md"
START, END = "<!-- tools: made from the code by tests/test_docs.py -->\n", "<!-- end of tools -->\n"
UPDATE = bool(os.environ.get("WARPWISE_UPDATE_CONTRACT"))


def tool_table() -> str:
    """The table of tools."""
    rows = ["| tool | what it does | changes anything |", "| --- | --- | --- |"]
    for tool in load_tools().values():
        changes = "no" if tool.read_only else "yes, and may undo" if tool.destructive else "yes"
        rows.append(f"| `{tool.name}` | {tool.description.replace('|', '/')} | {changes} |")
    return "\n".join(rows) + "\n"


def test_the_readme_has_the_table_of_tools() -> None:
    text = README.read_text()
    before, start, rest = text.partition(START)
    assert start, "the README has no place for the table"
    found, _, after = rest.partition(END)
    if UPDATE:
        README.write_text(before + START + tool_table() + END + after)
        found = tool_table()
    assert found == tool_table()


@pytest.mark.parametrize("name", [found.name for found in pkgutil.iter_modules(commands.__path__)])
def test_the_reference_names_each_command(name: str) -> None:
    assert f"warpwise {name}" in REFERENCE.read_text()


@pytest.mark.parametrize("name", PROMPTS)
def test_the_reference_names_each_prompt(name: str) -> None:
    assert f"`{name}`" in REFERENCE.read_text()


def test_every_error_is_in_the_tree_at_its_place() -> None:
    drawn = _drawn(errors.__doc__ or "")
    found = {
        name: value.__bases__[0].__name__
        for name, value in vars(errors).items()
        if isinstance(value, type)
        and issubclass(value, errors.WarpwiseError)
        and value is not errors.WarpwiseError
    }
    assert drawn == found


def _drawn(tree: str) -> dict[str, str]:
    """{name: parent} of a tree drawn with box characters."""
    parents: dict[int, str] = {}
    drawn: dict[str, str] = {}
    for line in tree.splitlines():
        found = re.match(r"^((?:│   |    )*)(?:├── |└── )?([A-Z]\w+)(?=\s|$)", line)
        if found is None:
            continue
        depth = len(found[1]) // 4 + ("── " in line)
        parents[depth] = found[2]
        if depth:
            drawn[found[2]] = parents[depth - 1]
    return drawn


def test_every_error_has_a_code_of_its_own_and_a_hint() -> None:
    kinds = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.WarpwiseError)
    ]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert all(kind.default_hint.endswith(".") or kind.default_hint[-1] in "')" for kind in kinds)


def test_every_module_says_what_it_is() -> None:
    silent = [
        path.relative_to(ROOT).as_posix()
        for folder in ("server", "attribution", "benchmarks", "client_examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "node_modules" not in path.parts and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_every_command_module_registers_itself() -> None:
    for found in pkgutil.iter_modules(commands.__path__):
        assert callable(importlib.import_module(f"{commands.__name__}.{found.name}").register)
