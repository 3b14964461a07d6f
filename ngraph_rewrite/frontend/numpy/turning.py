# SPDX-License-Identifier: Apache-2.0
"""Axes turned or moved, and elements put between others or left out, at places that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError, OutOfRangeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to, flip, moveaxis, ravel, swapaxes
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, known_array, part_along, places
from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.ops.checks import as_int, position
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

_MOST_SLICES = 16  # of which a rearranged axis is joined; more are gathered


def rot90(x: Array, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Op:
    """`x` turned `k` times by a right angle, from the first of two axes towards the second.

    Raises:
        AttributeValueError: if not two axes are named.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.rot90(ng.placeholder((2, 3))).type
    float32[3, 2]
    """
    term, turns = as_term(x), checked("rot90", as_int, k, "k") % 4
    if axes is None or len(places("rot90", axes, term.rank)) != 2:
        raise AttributeValueError(f"rot90: axes is {axes!r}", where=user_line(), do="name two")
    first, second = axes
    if turns == 2:
        return flip(term, axis=(first, second))
    if turns == 1:
        return swapaxes(flip(term, axis=second), first, second)
    return flip(swapaxes(term, first, second), axis=second) if turns else term


def fliplr(x: Array, /) -> Op:
    """`x` with the order along its second axis reversed.

    Raises:
        OutOfRangeError: for fewer than two axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fliplr(ng.placeholder((2, 3), name="x"))
    numpy.flip(x, axis=(1,))
    """
    return flip(x, axis=1)


def flipud(x: Array, /) -> Op:
    """`x` with the order along its first axis reversed.

    Raises:
        OutOfRangeError: for a term without axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.flipud(ng.placeholder((2, 3), name="x"))
    numpy.flip(x, axis=(0,))
    """
    return flip(x, axis=0)


def rollaxis(x: Array, /, axis: int, start: int = 0) -> Op:
    """`x` with an axis moved to stand before the one at `start`; `moveaxis` says better what is meant.

    Raises:
        OutOfRangeError: for an axis or a start that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.rollaxis(ng.placeholder((2, 3, 4)), 2).type
    float32[4, 2, 3]
    """
    term = as_term(x)
    place = checked("rollaxis", position, axis, term.rank)
    to = term.rank if start == term.rank else checked("rollaxis", position, start, term.rank, "start")
    return moveaxis(term, place, to - 1 if to > place else to)


# -- elements more or less ---------------------------------------------------------------------------


def insert(x: Array, /, obj: Any, values: Array, axis: int | None = None) -> Op:
    """`x` with values put before elements along an axis; without one, of all elements in row-major order.

    Args:
        obj: Before which elements: an integer, integers, a slice, or a bool for each element; they must be known.
        values: What broadcasts to that place, and is cast to the dtype of `x`.

    Raises:
        ArgumentError: if the places are a term.
        DTypeError: for places that are not integers.
        OutOfRangeError: for a place outside of the axis.
        IncompatibleAxesError: for values that do not fit.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.insert(ng.placeholder((2, 3)), [0, 2], 7, axis=1).type
    float32[2, 5]
    """
    term, place, length = _line("insert", x, axis)
    at = _known("insert", obj)
    new = astype(as_term(values, [term]), term.dtype)
    if new.rank < term.rank:
        new = apply("expand_dims", new, axis=tuple(range(term.rank - new.rank)))
    if not isinstance(at, slice) and not at.ndim:
        new = moveaxis(new, 0, place)
    single = not isinstance(at, slice) and at.size == 1 and at.dtype != bool
    count = new.shape[place] if single else len(_edited("insert", np.insert, length, at, -1)) - length
    new = broadcast_to(new, (*term.shape[:place], count, *term.shape[place + 1 :]))
    marks = np.arange(length, length + checked("insert", known_length, count, "the values"))
    order = _edited("insert", np.insert, length, at, marks)
    return _rearranged([term, new], order, place)


def delete(x: Array, /, obj: Any, axis: int | None = None) -> Op:
    """`x` without elements along an axis; without one, of all elements in row-major order.

    Args:
        obj: Which: an integer, integers, a slice, or a bool for each element; they must be known.

    Raises:
        ArgumentError: if the places are a term.
        DTypeError: for places that are not integers.
        OutOfRangeError: for a place outside of the axis.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.delete(ng.placeholder((2, 3)), 1, axis=1).type
    float32[2, 2]
    """
    term, place, length = _line("delete", x, axis)
    order = _edited("delete", np.delete, length, _known("delete", obj))
    return _rearranged([term], order, place)


def _rearranged(parts: list[Op], order: NDArray[np.int64], axis: int) -> Op:
    """Elements of parts that are joined, by their numbers: slices of them side by side, unless these are many."""
    ends = np.cumsum([part.shape[axis] for part in parts])
    breaks = np.flatnonzero((np.diff(order) != 1) | np.isin(order[1:], ends)) + 1
    if not 0 < order.size or len(breaks) >= _MOST_SLICES:
        whole = apply("concat", *parts, axis=axis) if len(parts) > 1 else parts[0]
        return apply("gather", whole, constant(order), axis=axis)
    slices = []
    for first, last in zip(order[[0, *breaks]], order[[*(breaks - 1), -1]], strict=True):
        number = int(np.searchsorted(ends, first, side="right"))
        before = int(ends[number - 1]) if number else 0
        slices.append(part_along(parts[number], axis, int(first) - before, int(last) - before + 1))
    return apply("concat", *slices, axis=axis) if len(slices) > 1 else slices[0]


def _line(call: str, x: Array, axis: int | None) -> tuple[Op, int, int]:
    """The term, the place of the axis, and its length."""
    term, axis = (ravel(x), 0) if axis is None else (as_term(x), axis)
    place = checked(call, position, axis, term.rank)
    return term, place, checked(call, known_length, term.shape[place], f"axis {place}")


def _known(call: str, obj: Any) -> Any:
    if isinstance(obj, Op):
        do = "give integers: shapes cannot depend on values"
        raise ArgumentError(f"{call}: the places are a term", where=user_line(), do=do)
    if isinstance(obj, slice):
        return obj
    at = known_array(call, "the place", obj)
    if at.dtype.kind == "f" and at.size:
        raise DTypeError(f"{call}: the places are {obj!r}", where=user_line(), do="give integers, a slice, or bools")
    return at if at.size else at.astype(np.int64)


def _edited(call: str, edit: Any, length: int, obj: Any, *values: Any) -> NDArray[np.int64]:
    """What an edit of NumPy's makes of the places along an axis."""
    try:
        found: NDArray[np.int64] = edit(np.arange(length), obj, *values)
    except IndexError as error:
        raise OutOfRangeError(f"{call}: {error}", where=user_line()) from None
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{call}: {error}", where=user_line(), do="give integers, or a slice") from None
    return found
