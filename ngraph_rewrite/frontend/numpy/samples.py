# SPDX-License-Identifier: Apache-2.0
"""Functions given by samples along a line: values between, differences, integrals, and angles without jumps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, DTypeError, LengthError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_sum
from ngraph_rewrite.frontend.numpy.data_types import astype, result_type
from ngraph_rewrite.frontend.numpy.elementwise import abs as absolute
from ngraph_rewrite.frontend.numpy.elementwise import (
    add,
    clip,
    divide,
    equal,
    greater,
    less,
    logical_and,
    multiply,
    remainder,
    subtract,
    where,
)
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import ravel
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, part_along
from ngraph_rewrite.frontend.numpy.searching import searchsorted, take
from ngraph_rewrite.frontend.numpy.sorting import argsort
from ngraph_rewrite.frontend.numpy.statistical import diff
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.alignment import totalling
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, is_float


def interp(
    x: Array,
    xp: Array,
    fp: Array,
    left: Array | None = None,
    right: Array | None = None,
    period: float | None = None,
) -> Op:
    """The function that is `fp` at `xp` and straight between, at `x`; computed in float64, as NumPy does.

    Args:
        xp: Places in ascending order; with a period, in any.
        left, right: What the function is below and above all of these; as at the nearest, if not given.
        period: After which distance the function repeats.

    Raises:
        AxesError: if `xp` and `fp` are not two vectors of one length.
        AttributeValueError: for a period of 0.
        LengthError: for no places.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.interp(ng.placeholder((2, 3)), [0.0, 1.0], [5.0, 7.0]).type
    float64[2, 3]
    """
    at, places, values = (astype(as_term(t), FLOAT64) for t in (x, xp, fp))
    if places.rank != 1 or places.shape != values.shape:
        what = f"interp: places {places.type!r} and values {values.type!r}"
        raise AxesError(what, where=user_line(), do="give two vectors of one length")
    if places.shape[0] == 0:
        raise LengthError("interp: there are no places", where=user_line(), do="give at least one")
    if period is not None:
        at, places, values = _repeated(at, places, values, period)
    count = asarray(places.shape[0])
    below = clip(subtract(searchsorted(places, at, side="right"), 1), 0, clip(subtract(count, 2), 0))
    above = clip(add(below, 1), 0, subtract(count, 1))
    start, width = take(places, below), subtract(take(places, above), take(places, below))
    first, rise = take(values, below), subtract(take(values, above), take(values, below))
    same = width <= 0
    slope = where(same, 0.0, divide(rise, where(same, 1.0, width)))
    found = add(first, multiply(slope, subtract(at, start)))
    before, after = (values[0], values[-1]) if period is not None else (left, right)
    found = where(at < places[0], values[0] if before is None else before, found)
    return where(at > places[-1], values[-1] if after is None else after, found)


def _repeated(x: Op, places: Op, values: Op, period: float) -> tuple[Op, Op, Op]:
    """All within one period, and one more place on either side."""
    if isinstance(period, Op) or not period:
        raise AttributeValueError(f"interp: the period is {period!r}", where=user_line(), do="give a number but 0")
    size = abs(period)
    inside = remainder(places, size)
    order = argsort(inside)
    places, values = take(inside, order), take(values, order)
    wider = concat([places[-1:] - size, places, places[:1] + size])
    return remainder(x, size), wider, concat([values[-1:], values, values[:1]])


def trapezoid(y: Array, /, x: Array | None = None, dx: float = 1.0, axis: int = -1) -> Op:
    """The integral along an axis of the function that is `y` at places and straight between.

    Args:
        x: The places: a vector, or what broadcasts to `y`.
        dx: Their distance, if `x` is not given.

    Raises:
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.trapezoid(ng.placeholder((2, 5)), dx=0.1).type
    float32[2]
    """
    term = as_term(y)
    place = checked("trapezoid", position, axis, term.rank)
    width: Array = dx
    if x is not None:
        given = as_term(x)
        if given.rank == 1:
            width = apply("reshape", diff(given), shape=(-1,) + (1,) * (term.rank - place - 1))
        else:
            width = diff(given, axis=axis)
    both = add(part_along(term, place, 1, None), part_along(term, place, None, -1))
    return total(divide(multiply(width, both), 2.0), axis=place)


def ediff1d(x: Array, /, to_end: Array | None = None, to_begin: Array | None = None) -> Op:
    """The differences of neighbours among all elements in row-major order, between a beginning and an end.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ediff1d(ng.placeholder((2, 3)), to_end=[0, 0]).type
    float32[7]
    """
    term = ravel(x)
    if term.dtype == BOOL:
        term = subtract(term, term)  # which is refused
    parts = [to_begin, diff(term), to_end]
    terms = [astype(ravel(part), term.dtype) for part in parts if part is not None]
    return concat(terms) if len(terms) > 1 else terms[0]


def unwrap(p: Array, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Op:
    """`p` without jumps along an axis: where neighbours are apart by more than `discont`, periods are taken off, or put
    on, so that they are apart by half a period at most.

    Args:
        discont: How far; by default, and at least, half a period.
        period: After which distance numbers mean the same; an integer keeps integers what they are.

    Raises:
        AttributeValueError: for a period, or a distance, that is no number.
        DTypeError: for unsigned integers with an integer period.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.unwrap(ng.placeholder((2, 5))).type, ng.numpy.unwrap(ng.placeholder((5,), "int32"), period=360).type
    (float32[2, 5], int32[5])
    """
    _number("period", period)
    far: Any = period / 2 if discont is None else _number("discont", discont)
    term = as_term(p)
    place = checked("unwrap", position, axis, term.rank)
    dtype = result_type(term.dtype, period)
    if term.shape[place] == 0:
        return astype(term, dtype)
    if dtype.kind == "u":
        raise DTypeError(f"unwrap: {term.type!r} has no differences below 0", where=user_line(), do="cast it to int64")
    steps = diff(term, axis=place)
    half, odd = (period / 2, 0) if is_float(dtype) else divmod(period, 2)
    inside = add(remainder(subtract(steps, -half), period), -half)
    if not odd:
        inside = where(logical_and(equal(inside, -half), greater(steps, 0)), half, inside)
    turns = where(less(absolute(steps), far), 0, subtract(inside, steps))
    wide = totalling(dtype)
    moved = add(astype(term, wide), cumulative_sum(turns, axis=place, dtype=wide, include_initial=True))
    return astype(moved, dtype)


def _number(name: str, given: Any) -> Any:
    if isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool):
        return given
    raise AttributeValueError(f"unwrap: {name} is {given!r}", where=user_line(), do="give a number")
