"""Rows gathered into a table, one by one, in memory that grows with the cells. Reads no files."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np

from ..server.errors import InvalidRequest
from .game import EMPTY
from .rows import Outcome, Row, parse_row
from .table import RolloutTable, Unit, check_players

_BITMAP = 4096


def table_from_rows(
    records: Iterable[Mapping[str, object]], players: Sequence[str] | None = None
) -> RolloutTable:
    """Return the table of `records`, mappings keyed by the columns of `rows.COLUMNS`.

    `players` declares their names and order; without it they are taken from the coalitions. Raises
    InvalidRequest that names the row: an unknown player, a repetition listed twice, a bad value.
    """
    gathering = Gathering(players)
    for number, record in enumerate(records, 1):
        where = f"row {number}"
        gathering.add(parse_row(record, where), where)
    return gathering.finish()


@dataclass(slots=True)
class _Cell:
    outcomes: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    infra: int = 0
    log_speedup: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    cost: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    low: int = 0
    high: set[int] = field(default_factory=set[int])

    def claim(self, repetition: int) -> bool:
        """Mark a repetition as seen; False when it already was. A bit each, so that large tables fit."""
        if repetition >= _BITMAP:
            fresh = repetition not in self.high
            self.high.add(repetition)
            return fresh
        bit = 1 << repetition
        fresh = not self.low & bit
        self.low |= bit
        return fresh


class Gathering:
    """Builds a table row by row, in memory that grows with the cells and not with the rows."""

    def __init__(self, players: Sequence[str] | None) -> None:
        self._players = None if players is None else check_players(players)
        self._written: dict[tuple[str, ...], frozenset[str]] = {}
        self._orders: dict[tuple[str, ...], int] = {}
        self._units: dict[tuple[str, str], Unit] = {}
        self._cells: dict[tuple[tuple[str, str], frozenset[str]], _Cell] = {}
        self._warnings: list[str] = []
        self._rows = 0
        self._invalid = 0
        self._unnumbered = 0

    def warn(self, warnings: Iterable[str]) -> None:
        """Keep what is to be said about the file as a whole."""
        self._warnings.extend(warnings)

    def add(self, row: Row, where: str) -> None:
        """Add one rollout. Raises InvalidRequest that begins with `where`."""
        coalition = self._written.get(row.coalition)
        if coalition is None:
            coalition = self._meet(row.coalition, where)
        self._orders[row.coalition] += 1
        key = (row.checkpoint, row.model)
        self._place(key, row, where)
        cell = self._cells.setdefault((key, coalition), _Cell())
        repetition = row.repetition
        if repetition is None:
            self._unnumbered += 1
        elif not cell.claim(repetition):
            name = "+".join(row.coalition) or EMPTY
            cell_name = f"checkpoint {row.checkpoint}, coalition {name}"
            raise InvalidRequest(f"{where}: {cell_name}: repetition {repetition} is listed twice")
        self._rows += 1
        self._invalid += row.invalid
        self._count(cell, row)

    def _meet(self, written: tuple[str, ...], where: str) -> frozenset[str]:
        if self._players is not None:
            for name in written:
                if name not in self._players:
                    close = get_close_matches(name, self._players, 1)
                    hint = f"Did you mean {close[0]!r}?" if close else f"Players: {', '.join(self._players)}."
                    raise InvalidRequest(f"{where}: unknown player {name!r}", hint=hint)
        coalition = frozenset(written)
        self._written[written] = coalition
        self._orders[written] = 0
        return coalition

    def _place(self, key: tuple[str, str], row: Row, where: str) -> None:
        unit = Unit(row.checkpoint, row.cluster, row.generation, row.workload, row.model)
        known = self._units.setdefault(key, unit)
        if known != unit:
            column = next(name for name in Unit._fields if getattr(known, name) != getattr(unit, name))
            before, now = (getattr(u, column) or "none" for u in (known, unit))
            raise InvalidRequest(
                f"{where}: checkpoint {row.checkpoint} has {column} {now} here and {before} before"
            )

    @staticmethod
    def _count(cell: _Cell, row: Row) -> None:
        if row.outcome is None:
            cell.infra += 1
            return
        cell.outcomes[row.outcome] += 1
        if row.outcome >= Outcome.PASS and row.speedup is not None:
            _accumulate(cell.log_speedup, math.log(row.speedup))
        if row.cost is not None:
            _accumulate(cell.cost, row.cost)

    def finish(self) -> RolloutTable:
        """Return the table. Raises InvalidRequest when there is nothing in it."""
        if not self._rows:
            raise InvalidRequest("the table holds no rollouts")
        players = self._players or self._infer()
        bits = {name: 1 << i for i, name in enumerate(players)}
        self._warn_of_orders(players)
        units = dict(sorted(self._resolve_clusters().items(), key=lambda item: _unit_rank(item[1])))
        index = {key: i for i, key in enumerate(units)}
        keyed = [
            (index[key], sum(bits[name] for name in coalition), cell)
            for (key, coalition), cell in self._cells.items()
        ]
        keyed.sort(key=lambda item: item[:2])
        cells = [cell for _, _, cell in keyed]
        return RolloutTable(
            players=players,
            units=tuple(units.values()),
            unit=np.array([unit for unit, _, _ in keyed], dtype=np.int64),
            mask=np.array([mask for _, mask, _ in keyed], dtype=np.int64),
            outcomes=np.array([cell.outcomes for cell in cells], dtype=np.int64),
            infra=np.array([cell.infra for cell in cells], dtype=np.int64),
            log_speedup=np.array([cell.log_speedup for cell in cells], dtype=np.float64),
            cost=np.array([cell.cost for cell in cells], dtype=np.float64),
            rows=self._rows,
            invalid=self._invalid,
            warnings=tuple(self._warnings),
        )

    def _infer(self) -> tuple[str, ...]:
        """Order the players as all coalitions write them, where they agree; else by name, which is then said."""
        before: dict[str, set[str]] = {name: set() for written in self._written for name in written}
        for written in self._written:
            for earlier, later in pairwise(written):
                before[later].add(earlier)
        order: list[str] = []
        try:
            sorter = TopologicalSorter(before)
            sorter.prepare()
            while sorter.is_active():
                ready = sorted(sorter.get_ready())
                order += ready
                sorter.done(*ready)
        except CycleError:
            return check_players(sorted(before))
        return check_players(order)

    def _warn_of_orders(self, players: tuple[str, ...]) -> None:
        rank = {name: i for i, name in enumerate(players)}
        other = sum(
            count
            for written, count in self._orders.items()
            if list(written) != sorted(written, key=rank.__getitem__)
        )
        if other:
            self._warnings.append(
                f"rows that write their coalition in another order than {'+'.join(players)}, read as sets: {other}"
            )
        if self._unnumbered:
            self._warnings.append(
                f"rows without a repetition number, so that duplicates cannot be detected: {self._unnumbered}"
            )

    def _resolve_clusters(self) -> dict[tuple[str, str], Unit]:
        named = [unit for unit in self._units.values() if unit.cluster]
        if named and len(named) < len(self._units):
            bare = next(unit for unit in self._units.values() if not unit.cluster)
            raise InvalidRequest(f"checkpoint {bare.checkpoint} has no cluster, though others have one")
        if named:
            return self._units
        return {key: unit._replace(cluster=unit.checkpoint) for key, unit in self._units.items()}


def _accumulate(sums: list[float], value: float) -> None:
    sums[0] += 1
    sums[1] += value
    sums[2] += value * value


def _unit_rank(unit: Unit) -> tuple[int, str, str, str]:
    return (-1 if unit.generation is None else unit.generation, unit.workload, unit.checkpoint, unit.model)
