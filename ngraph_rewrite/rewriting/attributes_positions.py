# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of positions: permutations, dimensions, slices and paddings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from itertools import accumulate, pairwise
from typing import Any

from ngraph_rewrite.ops.indexing import Index, Triple, count
from ngraph_rewrite.ops.sliding import reach
from ngraph_rewrite.rewriting.bounds import counted, times
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.lengths import Extent, known, natural

Triples = tuple[tuple[Extent, ...], tuple[Extent, ...], tuple[int, ...]]

# -- permutations and dimensions --------------------------------------------------------------------


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


# -- slices -----------------------------------------------------------------------------------------


@attribute_function
def triples(items: Index) -> Triples:
    """An index as starts, stops and steps; an integer is the slice of length 1 there.

    >>> triples(((0, 4, 2), 3))
    ((0, 3), (4, 4), (2, 1))
    """
    each: list[Any] = [i if isinstance(i, tuple) else (i, i + 1, 1) for i in items]
    return tuple(a for a, _, _ in each), tuple(b for _, b, _ in each), tuple(c for _, _, c in each)


@attribute_function
def is_whole(starts: Sequence[Extent], steps: Sequence[int]) -> bool:
    """Whether slices begin at 0 and step by 1.

    >>> is_whole((0, 0), (1, 1)), is_whole((1,), (1,))
    (True, False)
    """
    return all(s == 0 for s in starts) and all(s == 1 for s in steps)


@attribute_function
def compose_slices(inner: Triples, outer: Triples) -> Triples:
    """The slices that take `outer` of what `inner` takes.

    >>> compose_slices(((1,), (9,), (2,)), ((3,), (-1,), (-1,)))
    ((7,), (0,), (-2,))
    """
    each = [_composed(a, b) for a, b in zip(zip(*inner, strict=True), zip(*outer, strict=True), strict=True)]
    return tuple(a for a, _, _ in each), tuple(b for _, b, _ in each), tuple(c for _, _, c in each)


def _composed(inner: Triple, outer: Triple) -> Triple:
    start = inner[0] + outer[0] * inner[2]
    step = inner[2] * outer[2]
    number = count(outer)
    if number == 0:
        return 0, 0, 1
    return start, start + (number - 1) * step + (1 if step > 0 else -1), step


# -- putting a slice back ---------------------------------------------------------------------------


@attribute_function
def kept_shape(items: Index) -> tuple[Extent, ...]:
    """The lengths of what an index takes, with 1 where an integer drops an axis.

    >>> kept_shape(((0, 4, 2), 3))
    (2, 1)
    """
    return tuple(count(i) if isinstance(i, tuple) else 1 for i in items)


@attribute_function
def flips(items: Index) -> Triples:
    """The slices that turn what an index takes around where its step is negative.

    >>> flips(((3, -1, -1), (0, 4, 2)))
    ((3, 0), (-1, 2), (-1, 1))
    """
    shape = kept_shape(items)
    backward = [isinstance(i, tuple) and i[2] < 0 for i in items]
    starts = tuple(n - 1 if b else 0 for n, b in zip(shape, backward, strict=True))
    stops = tuple(-1 if b else n for n, b in zip(shape, backward, strict=True))
    return starts, stops, tuple(-1 if b else 1 for b in backward)


@attribute_function
def paddings(items: Index, shape: Sequence[Extent]) -> tuple[tuple[Extent, ...], tuple[Extent, ...], tuple[int, ...]]:
    """How far from its ends, and how far apart, an index takes elements of `shape`: before, after, between.

    >>> paddings(((3, -1, -2), 3), (6, 5))
    ((1, 3), (2, 1), (1, 0))
    """
    each = [_padding(i, n) for i, n in zip(items, shape, strict=True)]
    return tuple(a for a, _, _ in each), tuple(b for _, b, _ in each), tuple(c for _, _, c in each)


@attribute_function
def padded_axis(before: Sequence[Extent], after: Sequence[Extent]) -> int | None:
    """The axis along which something is padded, if that is one.

    >>> padded_axis((0, 1), (0, 0)), padded_axis((0, 1), (1, 0))
    (1, None)
    """
    found = [k for k, (b, a) in enumerate(zip(before, after, strict=True)) if b != 0 or a != 0]
    return found[0] if len(found) == 1 else None


def _padding(item: Any, length: Extent) -> tuple[Extent, Extent, int]:
    if not isinstance(item, tuple):
        return item, length - 1 - item, 0
    start, stop, step = item
    number = count(item)
    if number == 0:
        return 0, length, 0
    near = start if step > 0 else length - 1 - start
    if abs(step) > 1 and isinstance(near, int) and near > 0:
        near = length - natural(length - near)  # where nothing is taken, the axis may be shorter
    far = length - near - reach(number, abs(step))
    return (near, far, step - 1) if step > 0 else (far, near, -step - 1)


@attribute_function
def inside(before: Sequence[Extent], shape: Sequence[Extent]) -> Index:
    """The index that takes back what was padded: as many as `shape`, from `before` on.

    >>> inside((1, 0), (2, 3))
    ((1, 3, 1), (0, 3, 1))
    """
    return tuple((b, b + n, 1) for b, n in zip(before, shape, strict=True))


@attribute_function
def layers(shape: Sequence[Extent], place: int) -> tuple[Index, ...]:
    """The indices that take a tensor apart along one axis, which they drop.

    >>> layers((2, 3), 0)
    ((0, (0, 3, 1)), (1, (0, 3, 1)))
    """
    whole: list[Any] = [(0, n, 1) for n in shape]
    counted(len(whole) * known(shape[place]))
    return tuple((*whole[:place], i, *whole[place + 1 :]) for i in range(known(shape[place])))


@attribute_function
def parts(terms: Sequence[Op], axis: str, axes: Axes) -> tuple[Index, ...]:
    """The indices that take a tensor of `axes` apart into what was joined along `axis`.

    >>> from ngraph_rewrite.frontend.axes import constant
    >>> parts((constant([1, 2], {"H": 2}), constant([3], {"H": 1})), "H", Axes({"H": 3}))
    (((0, 2, 1),), ((2, 3, 1),))
    """
    place = axes.index(axis)
    stops = list(accumulate((t.axes[t.axes.index(axis)].length for t in terms), initial=0))
    whole: list[Any] = [(0, n, 1) for n in axes.lengths]
    return tuple((*whole[:place], (a, b, 1), *whole[place + 1 :]) for a, b in pairwise(stops))
