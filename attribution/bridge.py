"""Hands effects to shapiq for its plots (extra `shapiq`, Python 3.12 or later). Computes nothing."""

from importlib import import_module
from typing import NamedTuple, cast

import numpy as np

from ..server.errors import InvalidRequest, ProgramMissing
from .findings import Findings
from .game import EMPTY, Floats, pair_indices


class Payload(NamedTuple):
    """What shapiq.InteractionValues is made of: `values` (K,), and the place of each tuple of players in it."""

    values: Floats
    lookup: dict[tuple[int, ...], int]
    n_players: int
    baseline: float


def shapiq_payload(level: Findings) -> Payload:
    """Return phi and the pair interactions of a level as shapiq orders them: the empty set, players, pairs.

    Raises InvalidRequest when one of them, or the worth of the empty coalition, is unknown.
    """
    n = len(level.phi)
    baseline = next((q.value for q in level.worth if q.name == EMPTY), None)
    known = [q.value for q in (*level.phi, *level.interaction)]
    if baseline is None or any(value is None for value in known):
        raise InvalidRequest(
            "an effect or the worth of the empty coalition is unknown, and shapiq has no word for it"
        )
    keys: list[tuple[int, ...]] = [(), *((i,) for i in range(n)), *pair_indices(n)]
    values = np.array([baseline, *known], dtype=np.float64)
    return Payload(values, {key: place for place, key in enumerate(keys)}, n, baseline)


def to_shapiq(level: Findings) -> object:
    """Return a `shapiq.InteractionValues` with index "BII": `plot_network`, `plot_upset` and the others work on it.

    Raises ProgramMissing without shapiq and InvalidRequest as `shapiq_payload` does.
    """
    payload = shapiq_payload(level)
    try:
        module = import_module("shapiq")
    except ImportError:
        raise ProgramMissing(
            "shapiq is not installed", hint="It needs Python 3.12 or later: pip install 'warpwise[shapiq]'."
        ) from None
    return cast(
        "object",
        module.InteractionValues(
            values=payload.values,
            index="BII",
            max_order=2,
            min_order=0,
            n_players=payload.n_players,
            interaction_lookup=payload.lookup,
            estimated=False,
            baseline_value=payload.baseline,
        ),
    )
