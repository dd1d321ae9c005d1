"""Rollouts by cell, one for each checkpoint and coalition: counts and sums. Neither rows nor files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np

from ..server.errors import InvalidRequest
from .game import EMPTY, MAX_PLAYERS, Bools, Floats, Ints

Grouping: TypeAlias = Literal["generation", "workload", "model"]


class Unit(NamedTuple):
    """A checkpoint as one model met it, one row of every matrix of effects; intervals resample clusters."""

    checkpoint: str
    cluster: str
    generation: int | None
    workload: str
    model: str


@dataclass(frozen=True, slots=True)
class RolloutTable:
    """The rollouts of an experiment by cell, sorted by unit and coalition.

    Per cell: `unit` (index into `units`), `mask` (bit i: player i given), `outcomes` (cells, 4) counts of
    FAIL, COMPILE, PASS, FAST, `infra` errors left out, and (count, sum, sum of squares) of `log_speedup` over
    rollouts that passed and of `cost`.
    """

    players: tuple[str, ...]
    units: tuple[Unit, ...]
    unit: Ints
    mask: Ints
    outcomes: Ints
    infra: Ints
    log_speedup: Floats
    cost: Floats
    rows: int
    invalid: int
    warnings: tuple[str, ...]

    @property
    def clusters(self) -> Ints:
        """The cluster label of each unit, shape (units,)."""
        labels = {name: i for i, name in enumerate(dict.fromkeys(unit.cluster for unit in self.units))}
        return np.array([labels[unit.cluster] for unit in self.units], dtype=np.int64)

    @property
    def applies(self) -> Bools:
        """Whether each player applies at each unit, (units, players): it is in some coalition run there."""
        present = np.zeros(len(self.units), dtype=np.int64)
        np.bitwise_or.at(present, self.unit, self.mask)
        return (present[:, None] >> np.arange(len(self.players)) & 1).astype(np.bool_)

    def groups(self, by: Grouping) -> list[int | str]:
        """Return the distinct values of a column of the units. Raises InvalidRequest when one is unknown."""
        values = {getattr(unit, by) for unit in self.units}
        if None in values or "" in values:
            raise InvalidRequest(f"--by {by}: some checkpoints have no {by}")
        return sorted(values)

    def select(self, by: Grouping, value: int | str) -> Self:
        """Return the table of the units whose column `by` has this value; the players are kept."""
        kept = [i for i, unit in enumerate(self.units) if getattr(unit, by) == value]
        index = np.full(len(self.units), -1, dtype=np.int64)
        index[kept] = np.arange(len(kept))
        cells = index[self.unit] >= 0
        return replace(
            self,
            units=tuple(self.units[i] for i in kept),
            unit=index[self.unit[cells]],
            mask=self.mask[cells],
            outcomes=self.outcomes[cells],
            infra=self.infra[cells],
            log_speedup=self.log_speedup[cells],
            cost=self.cost[cells],
            rows=int(self.outcomes[cells].sum() + self.infra[cells].sum()),
        )


def check_players(players: Sequence[str]) -> tuple[str, ...]:
    """Return the players. Raises InvalidRequest for none, a repeated or unusable name, or more than 62."""
    names = tuple(players)
    if not names:
        raise InvalidRequest("no players: no coalition names a component", hint="Give --players a,b,c.")
    if len(set(names)) != len(names):
        raise InvalidRequest("a player is declared twice")
    for name in names:
        if not name or "+" in name or "," in name or name == EMPTY or name != name.strip():
            raise InvalidRequest(f"{name!r} cannot be the name of a player")
    if len(names) > MAX_PLAYERS:
        raise InvalidRequest(f"{len(names)} players: at most {MAX_PLAYERS}")
    return names
