# SPDX-License-Identifier: Apache-2.0
"""Slopes of a function that is given at places along axes: differences of neighbours over their distances."""

from __future__ import annotations

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, LengthError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import divide, multiply, subtract
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import expand_dims
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_term, part_along, places
from ngraph_rewrite.frontend.numpy.statistical import diff
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.checks import as_index, listed, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64
from ngraph_rewrite.types.lengths import Extent


def gradient(f: Array, /, *spacing: Array, axis: Axis = None, edge_order: int = 1) -> Op | tuple[Op, ...]:
    """The slopes of a function that is given at places along each axis; one term for one axis, else a tuple.

    They are of the second order inside, and of the first or second order at the edges; float64 for integers.

    Args:
        spacing: The distance of neighbours: 1, one for all axes, or one for each; a vector gives the places themselves.
        edge_order: 1 or 2.

    Raises:
        ArgumentError: for a spacing that is neither, or not as many as axes.
        AttributeValueError: for another order.
        LengthError: for an axis with fewer than ``edge_order + 1`` elements; a call that gives fewer is refused.

    >>> import ngraph_rewrite as ng
    >>> [slope.type for slope in ng.numpy.gradient(ng.placeholder((4, 5)), 0.5)]
    [float32[4, 5], float32[4, 5]]
    """
    term = as_term(f)
    if checked("gradient", as_index, edge_order, "edge_order") not in (1, 2):
        raise AttributeValueError(f"gradient: edge_order is {edge_order!r}", where=user_line(), do="give 1 or 2")
    places("gradient", axis, term.rank)
    axes = range(term.rank) if axis is None else [checked("gradient", position, a, term.rank) for a in listed(axis)]
    steps = spacing or (1.0,)
    if len(steps) not in (1, len(axes)):
        what = f"gradient: {len(steps)} spacings for {len(axes)} axes"
        raise ArgumentError(what, where=user_line(), do="give one, or one for each")
    steps = steps if len(steps) == len(axes) else steps * len(axes)
    term = astype(term, averaging(term.dtype))
    found = [astype(_slope(term, a, step, edge_order), term.dtype) for a, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slope(f: Op, axis: int, step: Array, order: int) -> Op:
    length = f.shape[axis]
    if isinstance(length, int) and length < order + 1:
        what = f"gradient: {length} elements along axis {axis}"
        raise LengthError(what, where=user_line(), do=f"give at least {order + 1}")
    gaps = _gaps(f, axis, step, length)
    between = divide(diff(f, axis=axis), gaps)
    first, last = _end(between, axis, 0), _end(between, axis, -1)
    if length == 2:
        return concat([first, last], axis=axis)
    before, after = part_along(between, axis, None, -1), part_along(between, axis, 1, None)
    bend = subtract(after, before)
    left, right = _shares(gaps)
    if isinstance(left, Op):
        inner = before + multiply(bend, left)
    else:  # of equal gaps the place itself has no part in its slope, so that a NaN there does not either
        across = subtract(part_along(f, axis, 2, None), part_along(f, axis, None, -2))
        inner = divide(divide(across, 2.0), gaps)
    if order == 2:
        first = first - multiply(_end(bend, axis, 0), _end(left, 0, 0))
        last = last + multiply(_end(bend, axis, -1), _end(right, 0, -1))
    return concat([first, inner, last], axis=axis)


def _shares(gaps: Array) -> tuple[Array, Array]:
    """Of the gaps on both sides of each place, which part is the one before it, and which the one after."""
    if not isinstance(gaps, Op) or not gaps.rank:
        return 0.5, 0.5
    before, after = part_along(gaps, 0, None, -1), part_along(gaps, 0, 1, None)
    return divide(before, before + after), divide(after, before + after)


def _end(x: Array, axis: int, place: int) -> Array:
    """The first part along an axis, or the last one; of a share that is the same everywhere, the share."""
    if not isinstance(x, Op):
        return x
    return expand_dims(apply("tensor_slice", x, items=(slice(None),) * axis + (place,)), axis=axis)


def _gaps(f: Op, axis: int, step: Array, length: Extent) -> Array:
    """The distances of neighbours, as a number, or along the first axis of what is broadcast to those of `f`.

    Of places that are known and equally far from each other, as of those of `f`, it is a number.
    """
    if isinstance(step, int | float) or not as_term(step).rank:
        return step
    given = as_term(step)
    if given.dtype.kind in "iu":  # the differences of which may be out of range
        given = astype(given, FLOAT64)
    if given.shape != (length,):
        what = f"gradient: a spacing {given.type!r} along an axis of {length!r} elements"
        raise ArgumentError(what, where=user_line(), do="give a number, or the place of each element")
    known = np.diff(np.asarray(step, given.dtype)) if not isinstance(step, Op) else np.zeros(0)
    if known.size and (known == known[0]).all():
        return known[0]  # type: ignore[no-any-return]
    return apply("reshape", diff(given), shape=(length - 1,) + (1,) * (f.rank - axis - 1))
