# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of sliding windows: paddings that may crop, and the slides of a convolution's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from ngraph_rewrite.ops import axes_convolution, axes_lookup, sliding, window_functions
from ngraph_rewrite.rewriting.bounds import counted
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.axes import Axes, AxesLike
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.lengths import Extent, Length, natural

Extents = tuple[Extent, ...]
# Strides, before, after, interior, dilations: one of each for every axis.
Slides = tuple[tuple[Any, ...], ...]


@attribute_function
def outward(paddings: Sequence[Extent]) -> Extents:
    """The paddings that add something; 0 for those that crop.

    >>> outward((2, -1))
    (2, 0)
    """
    return tuple(map(natural, paddings))


@attribute_function
def cropped(
    shape: Sequence[Extent], before: Sequence[Extent], after: Sequence[Extent], interior: Sequence[int]
) -> tuple[Extents, Extents]:
    """The starts and stops that crop `shape`, padded by what is not negative, by what is.

    >>> cropped((5, 3), (-1, 2), (0, -2), (0, 1))
    ((1, 0), (5, 5))
    """
    starts, stops = [], []
    for n, b, a, i in zip(shape, before, after, interior, strict=True):
        starts.append(natural(b) - b)
        stops.append(natural(b) + sliding.spaced(n, i) + a)
    return tuple(starts), tuple(n if isinstance(n, Length) else max(n, 0) for n in stops)


@attribute_function
def are_apart(sizes: Sequence[Extent], strides: Sequence[int]) -> bool:
    """Whether windows of these sizes, so far from each other, are known to have nothing in common.

    >>> are_apart((2, 3), (2, 4)), are_apart((3, 2), (2, 2))
    (True, False)
    """
    return all(isinstance(n, int) and n <= s for n, s in zip(sizes, strides, strict=True))


@attribute_function
def reached(sizes: Sequence[Extent], dilations: Sequence[int]) -> Extents:
    """How many elements there are from the first one of a window to its last one, along each axis.

    >>> reached((3, 1), (2, 1))
    (5, 1)
    """
    return tuple([(n - 1) * d + 1 for n, d in zip(sizes, dilations, strict=True)])


@attribute_function
def lasts(shape: Sequence[Extent]) -> Extents:
    """The last position along each axis.

    >>> lasts((3, 1))
    (2, 0)
    """
    return tuple(n - 1 for n in shape)


def _slides(
    one: Callable[[Extent, Extent, sliding.Slide], sliding.Slide],
    x: Sequence[Extent],
    w: Sequence[Extent],
    strides: Sequence[int],
    before: Sequence[Extent],
    after: Sequence[Extent],
    interior: Sequence[int],
    dilations: Sequence[int],
) -> Slides:
    every = sliding.slides(strides, before, after, interior, dilations)
    found = [one(n, size, slide) for n, size, slide in zip(x, w, every, strict=True)]
    return tuple(zip(*found, strict=True)) if found else ((),) * 5


@attribute_function
def slides_back(
    x: Sequence[Extent],
    w: Sequence[Extent],
    strides: Sequence[int],
    before: Sequence[Extent],
    after: Sequence[Extent],
    interior: Sequence[int],
    dilations: Sequence[int],
) -> Slides:
    """How the turned window slides over the adjoint of a convolution to give that of `x`.

    Args:
        x: The lengths over which the window slid.
        w: The lengths of the window.

    Returns:
        Strides, before, after, interior and dilations.

    >>> slides_back((5,), (3,), (2,), (1,), (1,), (0,), (1,))
    ((1,), (1,), (1,), (1,), (1,))
    """
    return _slides(sliding.back, x, w, strides, before, after, interior, dilations)


@attribute_function
def slides_across(
    x: Sequence[Extent],
    w: Sequence[Extent],
    strides: Sequence[int],
    before: Sequence[Extent],
    after: Sequence[Extent],
    interior: Sequence[int],
    dilations: Sequence[int],
) -> Slides:
    """How the adjoint of a convolution, as a window, slides over `x` to give that of the window.

    >>> slides_across((5,), (3,), (2,), (1,), (1,), (0,), (1,))
    ((1,), (1,), (1,), (0,), (2,))
    """
    return _slides(sliding.across, x, w, strides, before, after, interior, dilations)


@attribute_function
def extreme(dtype: DType, sign: int) -> Literal:
    """The greatest number of a dtype (`sign` 1) or the least one (-1), infinities included.

    >>> import numpy as np
    >>> extreme(np.dtype("uint8"), 1), extreme(np.dtype("float32"), -1)
    (255, -inf)
    """
    return Literal(window_functions.edge(dtype, sign), dtype)


@attribute_function
def chosen(values: Sequence[Any], places: Sequence[int], rank: int, other: Any) -> tuple[Any, ...]:
    """One value for each of `rank` axes: those of `places` in their order, and `other` for the rest.

    >>> chosen((5, 6), (2, 0), 3, 0)
    (6, 0, 5)
    """
    found = dict(zip(places, values, strict=True))
    return tuple(found.get(k, other) for k in range(counted(rank)))


@attribute_function
def image_order(have: AxesLike, channel: str, spatial: Sequence[str]) -> tuple[int, ...]:
    """Where in `have` the other axes stand, then the channel axis, then the spatial ones.

    >>> image_order({"C": 3, "H": 5, "N": 2}, "C", ("H",))
    (2, 0, 1)
    """
    return axes_convolution.image_order(Axes(have), channel, spatial)


@attribute_function
def found_axes(table: AxesLike, axis: str, index: AxesLike) -> Axes:
    """The axes of a table, with those of an index in the place of the axis that it looks up.

    >>> found_axes({"V": 9, "F": 4}, "V", {"N": 2})
    Axes(N:2, F:4)
    """
    return axes_lookup.found_axes(Axes(table), axis, Axes(index))


@attribute_function
def places_by_name(names: Sequence[str], have: AxesLike) -> tuple[int, ...]:
    """Where the axes of these names stand.

    >>> places_by_name(("W", "H"), {"H": 2, "W": 3})
    (1, 0)
    """
    return tuple(Axes(have).index(name) for name in names)


@attribute_function
def phases(
    x: Sequence[Extent], w: Sequence[Extent], before: Sequence[Extent], places: Sequence[Extent]
) -> tuple[Slides, ...]:
    """How every second element of a window slides over images that have a zero between any two elements.

    The places of the result fall into classes, odd and even along each axis, the last axis first to change. Those of
    a class, rounded up to as many as any has, see the elements of an image alone, through a window that has every
    second element of the whole one.

    Args:
        x: The lengths of images, without zeros.
        w: The lengths of windows, 2 or more.
        before: How many zeros there are before an image.
        places: The lengths of the result; these and all others are numbers.

    Returns:
        For each class the first elements of its window, how many zeros there are before an image, and how many after.

    >>> phases((4,), (3,), (1,), (8,))
    (((1,), (0,), (0,)), ((0,), (0,), (1,)))
    """
    every = (
        [_phase(*axis, odd) for axis, odd in zip(zip(x, w, before, places, strict=True), odds, strict=True)]
        for odds in product((0, 1), repeat=len(x))
    )
    return tuple(tuple(zip(*axes, strict=True)) for axes in every)


def _phase(x: Any, w: Any, before: Any, places: Any, odd: int) -> tuple[Any, Any, Any]:
    """Along one axis: the first element of the window, the zeros before and after."""
    first = (before - odd) % 2
    padding = (before - odd - first) // 2
    return first, padding, (places + 1) // 2 + (w - first + 1) // 2 - 1 - x - padding


@attribute_function
def interleaving(
    x: Sequence[Extent],
    w: Sequence[Extent],
    before: Sequence[Extent],
    interior: Sequence[Extent],
    places: Sequence[Extent],
) -> tuple[Extents, ...]:
    """How parts of windows slide over images that have zeros between their elements, if windows are whole steps.

    A step is from one element of an image to the next one. Each place in a step sees the elements alone, through a part
    of the window of its own; all parts slide alike over the image, from so far before the first place of the result on
    that the first step is whole.

    Args:
        x: The lengths of images, without zeros.
        w: The lengths of windows.
        before: How many zeros there are before an image.
        interior: How many there are between two elements.
        places: The lengths of the result.

    Returns:
        The lengths of a part, how many zeros there are before an image, how many after, the number of steps, how many
        places they have together, and at which of them the result begins; nothing if windows are no whole steps.

    >>> interleaving((5,), (4,), (2,), (1,), (10,))
    ((2,), (1,), (1,), (6,), (12,), (1,))
    >>> interleaving((5,), (3,), (1,), (1,), (9,))
    ()
    """
    every: list[tuple[Any, ...]] = list(zip(x, w, before, interior, places, strict=True))
    known = all(isinstance(n, int) for _, *numbers, _ in every for n in numbers)
    if not known or any(size % (between + 1) for _, size, _, between, _ in every):
        return ()
    return tuple(zip(*(_interleaved(*axis) for axis in every), strict=True))


def _interleaved(x: Any, w: int, before: int, interior: int, places: Any) -> tuple[Any, ...]:
    """Along one axis: length of a part, zeros before and after, steps, their places, and where the result begins."""
    step = interior + 1
    start = interior - before % step
    part, zeros, steps = w // step, (before + start) // step, (places + start + interior) // step
    return part, zeros, steps - x - zeros + part - 1, steps, steps * step, start
