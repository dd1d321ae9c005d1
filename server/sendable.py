"""Data as every JSON reader takes it. It knows nothing of what the data says."""

import math
from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from .visible import visible

Sent = TypeVar("Sent")


def sendable(data: Sent) -> Sent:
    """Data as every JSON reader takes it and no terminal obeys it: a number that is none becomes null."""
    return cast("Sent", _cleaned(data))


def _cleaned(data: object) -> object:
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {
            _cleaned(key): _cleaned(value) for key, value in cast("Mapping[object, object]", data).items()
        }
    if isinstance(data, list | tuple):
        return [_cleaned(item) for item in cast("Iterable[object]", data)]
    return data
