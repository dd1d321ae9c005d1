"""A small memory for results that follow from their key alone: the same question need not be worked out again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """Keeps the results of the latest `size` keys."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of a key, made now where it is not held."""
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key]
        made = make()
        self._held[key] = made
        while len(self._held) > self._size:
            self._held.popitem(last=False)
        return made
