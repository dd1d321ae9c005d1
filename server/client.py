"""Who is told: the process behind stdio, or the token behind HTTP. Data only."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Client:
    """A client's name, the folders it may name paths below (resolved), and what the operator gives it.

    `given` is None when every component is given; `record` is the name under which its calls are recorded, or None.
    """

    name: str
    roots: tuple[Path, ...]
    given: frozenset[str] | None = None
    record: str | None = None
    toolsets: frozenset[str] = field(default_factory=lambda: frozenset({"core"}))
