# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of slices, and of what puts a slice back: paddings, and parts along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from ngraph_rewrite.ops.indexing import Index, Triple, count
from ngraph_rewrite.ops.sliding import reach
from ngraph_rewrite.rewriting.bounds import counted
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.lengths import Extent, known, natural

Triples = tuple[tuple[Extent, ...], tuple[Extent, ...], tuple[int, ...]]

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


@attribute_function
def in_part(terms: Sequence[Op], axis: int, slices: Triples) -> tuple[int, Triples] | None:
    """Which of the terms that were joined along `axis` has all that a slice takes, and the slice that takes it there.

    None if none is known to have it: nothing is taken, several have a part, or lengths before it are unknown.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.constant([1, 2], ng.anonymous([2])), ng.constant([3, 4, 5], ng.anonymous([3]))
    >>> in_part((x, y), 0, ((4,), (1,), (-2,))), in_part((x, y), 0, ((1,), (3,), (1,)))
    ((1, ((2,), (-1,), (-2,))), None)
    """
    start, _, step = taken = slices[0][axis], slices[1][axis], slices[2][axis]
    number = count(taken)
    if not isinstance(start, int) or not isinstance(number, int) or number == 0:
        return None
    last, first = start + (number - 1) * step, 0
    for place, term in enumerate(terms):
        length = term.shape[axis]
        if not isinstance(length, int):
            return None
        if first <= min(start, last) and max(start, last) < first + length:
            moved = start - first, last - first + (1 if step > 0 else -1)
            starts, stops = ((*s[:axis], m, *s[axis + 1 :]) for s, m in zip(slices, moved, strict=False))
            return place, (starts, stops, slices[2])
        first += length
    return None


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
    start, _, step = item
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
