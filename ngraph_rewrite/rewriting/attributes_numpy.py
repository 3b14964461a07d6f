# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of the numpy family: what broadcasting, flipping, rolling and tiling mean for shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.ops import stretching
from ngraph_rewrite.rewriting.attributes_slices import Triples
from ngraph_rewrite.rewriting.bounds import counted
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.dtypes import DType, is_float, promote
from ngraph_rewrite.types.lengths import Extent


@attribute_function
def kept_places(have: Sequence[Extent], want: Sequence[Extent]) -> tuple[int, ...]:
    """The axes of `want` along which a shape that broadcasts to it by position is not repeated.

    >>> kept_places((3, 1), (2, 3, 4))
    (1,)
    """
    return stretching.kept_places(have, want)


@attribute_function
def kept_lengths(have: Sequence[Extent], want: Sequence[Extent]) -> tuple[Extent, ...]:
    """The lengths of a shape that broadcasts to `want`, without those of 1 that stretch.

    >>> kept_lengths((3, 1), (2, 3, 4))
    (3,)
    """
    return tuple(want[k] for k in stretching.kept_places(have, want))


@attribute_function
def reversals(shape: Sequence[Extent], places: Sequence[int]) -> Triples:
    """The slices that turn some axes around: starts, stops and steps.

    >>> reversals((2, 3), (1,))
    ((0, 2), (2, -1), (1, -1))
    """
    turned = [k in places for k in range(len(shape))]
    starts = tuple(n - 1 if t else 0 for n, t in zip(shape, turned, strict=True))
    stops = tuple(-1 if t else n for n, t in zip(shape, turned, strict=True))
    return starts, stops, tuple(-1 if t else 1 for t in turned)


@attribute_function
def cut(shape: Sequence[Extent], place: int, start: Extent, stop: Extent) -> Triples:
    """The slices that take the positions from `start` up to `stop` of one axis, and all of the others.

    >>> cut((2, 3), 1, 1, 3)
    ((0, 1), (2, 3), (1, 1))
    """
    starts = tuple(start if k == place else 0 for k in range(len(shape)))
    stops = tuple(stop if k == place else n for k, n in enumerate(shape))
    return starts, stops, (1,) * len(shape)


@attribute_function
def lengthened(shape: Sequence[Extent], rank: int) -> tuple[Extent, ...]:
    """The shape with lengths of 1 in front, as many as make `rank`.

    >>> lengthened((3,), 3)
    (1, 1, 3)
    """
    return (1,) * (counted(rank) - len(shape)) + tuple(shape)


@attribute_function
def interleaved(left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, ...]:
    """Values of the left and of the right by turns.

    >>> interleaved((1, 2), (3, 4))
    (1, 3, 2, 4)
    """
    return tuple(value for pair in zip(left, right, strict=True) for value in pair)


@attribute_function
def every_second(count: int) -> tuple[int, ...]:
    """The odd positions, as many as `count`.

    >>> every_second(3)
    (1, 3, 5)
    """
    return tuple(range(1, 2 * counted(count), 2))


@attribute_function
def inserted(values: Sequence[Any], place: int, value: Any) -> tuple[Any, ...]:
    """The values with one more, which stands at `place`.

    >>> inserted((2, 3), 1, 9)
    (2, 9, 3)
    """
    return (*values[:place], value, *values[place:])


@attribute_function
def is_whole_number(dtype: DType) -> bool:
    """Whether it is an integer dtype.

    >>> is_whole_number(np.dtype("uint8")), is_whole_number(np.dtype("bool"))
    (True, False)
    """
    return dtype.kind in "iu"


@attribute_function
def meet_exactly(left: DType, right: DType) -> bool:
    """Whether the common dtype of two holds every value of both: a signed integer and uint64 meet in float64.

    >>> meet_exactly(np.dtype("int8"), np.dtype("uint8")), meet_exactly(np.dtype("int8"), np.dtype("uint64"))
    (True, False)
    """
    return {left.kind, right.kind} != {"i", "u"} or not is_float(promote(left, right))


@attribute_function
def spacing(start: Literal, stop: Literal, steps: int) -> Literal:
    """How far apart evenly spaced numbers from `start` to `stop` are, as NumPy has it also where there are no steps.

    >>> from ngraph_rewrite.rewriting.attributes_numbers import literal
    >>> spacing(literal(0.0, np.dtype("float64")), literal(1.0, np.dtype("float64")), 4)
    0.25
    """
    with np.errstate(all="ignore"):
        return Literal((stop.scalar - start.scalar) / max(steps, 1), start.dtype)
