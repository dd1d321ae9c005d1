"""What an operator gives a client, as written: a list of components, or a TOML file. It applies nothing."""

import tomllib
from pathlib import Path
from typing import cast

from .components import BASE, DERIVED, OTHER, normal
from .errors import InvalidRequest

_KEYS = {"give", "withhold"}


def parse_give(text: str) -> frozenset[str]:
    """`compiler,debugger.memcheck`, `none`, `all,-profiler`, or the name of a .toml policy. Raises InvalidRequest."""
    if text.endswith(".toml"):
        return read_policy(Path(text))
    words = [word.strip() for word in text.split(",") if word.strip()]
    give = [word for word in words if not word.startswith("-")]
    return _normal(give, [word[1:] for word in words if word.startswith("-")])


def read_policy(path: Path) -> frozenset[str]:
    """A policy file: `give = [...]` and, or, `withhold = [...]`. Raises InvalidRequest."""
    try:
        held = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"cannot read the policy {path}: {error}") from error
    if wrong := sorted(set(held) - _KEYS):
        raise InvalidRequest(f"{path.name}: unknown key {wrong[0]!r}", "A policy has `give` and `withhold`.")
    lists: dict[str, list[str]] = {}
    for key, value in held.items():
        names = cast("list[object]", value if isinstance(value, list) else [None])
        if not all(isinstance(name, str) for name in names):
            raise InvalidRequest(f"{path.name}: {key} is not a list of component names")
        lists[key] = cast("list[str]", names)
    return _normal(lists.get("give", ["all"]), lists.get("withhold", []))


def _normal(give: list[str], withhold: list[str]) -> frozenset[str]:
    every = [*BASE, *DERIVED, *OTHER]
    asked = [name for name in give if name not in ("all", "none")]
    return normal([*asked, *(every if "all" in give else [])], withhold)
