# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of positions: permutations and dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any

from ngraph_rewrite.rewriting.bounds import counted, times
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.types.lengths import Extent


@attribute_function
def span(start: int, stop: int) -> tuple[int, ...]:
    """The positions from `start` up to `stop`.

    >>> span(1, 4)
    (1, 2, 3)
    """
    counted(stop - start)
    return tuple(range(start, stop))


@attribute_function
def repeated(value: Any, times: int) -> tuple[Any, ...]:
    """A tuple of the same value.

    >>> repeated(0, 3)
    (0, 0, 0)
    """
    return (value,) * counted(times)


@attribute_function
def is_identity(perm: Sequence[int]) -> bool:
    """Whether a permutation moves nothing.

    >>> is_identity((0, 1)), is_identity((1, 0))
    (True, False)
    """
    return tuple(perm) == _identity(len(perm))


@attribute_function
def identity(rank: int) -> tuple[int, ...]:
    """The permutation of so many axes that moves nothing.

    >>> identity(3)
    (0, 1, 2)
    """
    return _identity(counted(rank))


@lru_cache(maxsize=64)
def _identity(rank: int) -> tuple[int, ...]:
    return tuple(range(rank))


@attribute_function
def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `perm`.

    >>> inverse((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


@attribute_function
def compose(outer: Sequence[int], inner: Sequence[int]) -> tuple[int, ...]:
    """The elements of `outer` at the positions `inner`.

    Transposing by p and then by q is transposing by ``compose(p, q)``; broadcasting to dims d and then to
    dims e is broadcasting to ``compose(e, d)``.

    >>> compose((2, 0, 1), (1, 2, 0))
    (0, 1, 2)
    """
    return tuple([outer[i] for i in inner])


@attribute_function
def moves_only_ones(shape: Sequence[Extent], perm: Sequence[int]) -> bool:
    """Whether a permutation leaves the axes longer than 1 in their order: then it moves no element.

    >>> moves_only_ones((2, 1, 3), (1, 0, 2)), moves_only_ones((2, 1, 3), (2, 1, 0))
    (True, False)
    """
    last = -1
    for place in perm:
        if shape[place] != 1:
            if place < last:
                return False
            last = place
    return True


@attribute_function
def product_of(numbers: Iterable[Extent]) -> Extent:
    """The product of lengths.

    >>> product_of((2, 3))
    6
    """
    return reduce(times, numbers, 1)


@attribute_function
def pick(values: Sequence[Any], places: Iterable[int]) -> tuple[Any, ...]:
    """The values at these places.

    >>> pick(("a", "b", "c"), (2, 0))
    ('c', 'a')
    """
    return tuple([values[i] for i in places])


@attribute_function
def others(places: Iterable[int], rank: int) -> tuple[int, ...]:
    """The positions of `rank` axes that are not among `places`.

    >>> others((1,), 3)
    (0, 2)
    """
    taken = set(places)
    return tuple(i for i in range(counted(rank)) if i not in taken)


@attribute_function
def among(places: Sequence[int], wanted: Iterable[int]) -> tuple[int, ...]:
    """Where those of `places` that are wanted stand in it.

    >>> among((0, 2, 3), (3, 0))
    (0, 2)
    """
    chosen = set(wanted)
    return tuple(i for i, p in enumerate(places) if p in chosen)


@attribute_function
def past_ones(shape: Sequence[Extent], dims: Sequence[int], want: Sequence[Extent]) -> tuple[int, ...] | None:
    """Where in `want` the axes `dims` of `shape` stand, if both shapes are the same but for other axes of one element.

    >>> past_ones((2, 1, 3), (0, 2), (2, 3)), past_ones((2, 1), (0, 1), (1, 2, 1, 1)), past_ones((2, 3), (0,), (6,))
    ((0, 1), (1, 2), None)
    """
    found, rest = [], list(enumerate(want))
    for place, length in enumerate(shape):
        if length == 1 and place not in dims:
            continue
        while rest and rest[0][1] == 1 != length:
            del rest[0]
        if not rest or rest[0][1] != length:
            return None
        found += [rest[0][0]] if place in dims else []
        del rest[0]
    return tuple(found) if all(n == 1 for _, n in rest) else None


@attribute_function
def outside(places: Iterable[int], dims: Iterable[int]) -> tuple[int, ...]:
    """Those of `places` that are not among `dims`.

    >>> outside((0, 1, 3), (1, 2))
    (0, 3)
    """
    taken = set(dims)
    return tuple(p for p in places if p not in taken)


@attribute_function
def rank(shape: Sequence[Any]) -> int:
    """How many there are.

    >>> rank((2, 3))
    2
    """
    return len(shape)


@attribute_function
def ranks(places: Sequence[int]) -> tuple[int, ...]:
    """Each place as its position among all of them in increasing order.

    >>> ranks((5, 2, 9))
    (1, 0, 2)
    """
    return tuple(sorted(places).index(p) for p in places)


@attribute_function
def in_order(places: Iterable[int]) -> tuple[int, ...]:
    """The places in increasing order.

    >>> in_order((2, 0))
    (0, 2)
    """
    return tuple(sorted(places))


@attribute_function
def nested(inner: Sequence[int], outer: Sequence[int], rank: int) -> tuple[int, ...]:
    """The axes of `rank` reduced in all, when `inner` are reduced first and `outer` of what is left.

    >>> nested((1,), (1,), 3)
    (1, 2)
    """
    left = others(inner, rank)
    return tuple(sorted({*inner, *(left[i] for i in outer)}))
