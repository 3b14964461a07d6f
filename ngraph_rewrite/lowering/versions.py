# SPDX-License-Identifier: Apache-2.0
"""A mapping that is never changed, only continued: each version takes the memory of what it has more than another.

The version that was asked last holds all items; another one holds what is different in it, and which version that is
said of. To ask an older one turns the versions on the way around, so it is quick to ask one again and again, or the
newest of a chain, and slow to ask now this, now that one far away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Versions(Mapping[K, V]):
    """A version of a mapping; at first it is empty.

    >>> first = Versions().after({"a": 1, "b": 2})
    >>> second = first.after({"a": 3})
    >>> first["a"], second["a"], second["b"], "c" in second
    (1, 3, 2, False)
    """

    __slots__ = ("_different", "_every", "_of")

    def __init__(self) -> None:
        self._every: dict[K, V] | None = {}
        self._different: dict[K, V | None] = {}  # None where there is none
        self._of: Versions[K, V] = self

    def __getitem__(self, key: K) -> V:
        return self._items()[key]

    def get(self, key: K, default: Any = None) -> Any:
        """What a key has; the default if nothing."""
        return self._items().get(key, default)

    def __iter__(self) -> Iterator[K]:
        return iter(self._items())

    def __len__(self) -> int:
        return len(self._items())

    def after(self, more: Mapping[K, V]) -> Versions[K, V]:
        """The version with some more items, or others of the same keys."""
        every = self._items()
        new: Versions[K, V] = Versions()
        if not every:  # what many begin with is not turned around
            new._every = dict(more)
            return new
        self._gives(new, {key: every.get(key) for key in more})
        every.update(more)
        new._every = every
        return new

    def _gives(self, other: Versions[K, V], different: dict[K, V | None]) -> None:
        """Have another version hold the items."""
        self._every, self._of, self._different = None, other, different

    def _items(self) -> dict[K, V]:
        if self._every is None:
            way = [self]
            while way[-1]._every is None:
                way.append(way[-1]._of)
            while len(way) > 1:
                way.pop()._hand_to(way[-1])
        assert self._every is not None
        return self._every

    def _hand_to(self, other: Versions[K, V]) -> None:
        """Give the items to a version that says what is different of this one."""
        every = self._every
        assert every is not None
        different = {key: every.get(key) for key in other._different}
        for key, value in other._different.items():
            if value is None:
                del every[key]
            else:
                every[key] = value
        other._every, other._different = every, {}
        self._gives(other, different)
