# SPDX-License-Identifier: Apache-2.0
"""Functions that arrange elements anew: in another shape, or in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.building import checked, dimensions
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_term, places, several
from ngraph_rewrite.ops.checks import listed, one_of, position
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

# -- shapes -------------------------------------------------------------------------------------------


def reshape(x: Array, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Op:
    """The elements of `x` in row-major order, in another shape; one length may be -1: what is left.

    Args:
        order: ``"C"`` for row-major order, ``"F"`` for the one in which the first index goes fastest.

    Raises:
        AxesError: if the sizes differ.
        AttributeValueError: for a second -1, or another order.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.reshape(ng.placeholder((None, 4)), (-1, 2)).type
    float32[2*n0, 2]
    """
    if checked("reshape", one_of, order, ("C", "F"), "order") == "F":
        return transpose(apply("reshape", transpose(x), shape=listed(shape)[::-1]))
    return apply("reshape", as_term(x), shape=shape)


def ravel(x: Array, /, order: str = "C") -> Op:
    """The elements of `x` in row-major order along one axis.

    Args:
        order: ``"C"`` for row-major order, ``"F"`` for the one in which the first index goes fastest; ``"K"`` and
            ``"A"`` are row-major too, as terms have no memory.

    Raises:
        AttributeValueError: for another order.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ravel(ng.placeholder((2, 3))).type
    float32[6]
    """
    turned = checked("ravel", one_of, order, ("C", "F", "K", "A"), "order") == "F"
    term = transpose(x) if turned else as_term(x)
    return apply("reshape", term, shape=(term.size,))


def expand_dims(x: Array, /, axis: int | tuple[int, ...] = 0) -> Op:
    """`x` with new axes of length 1, at these positions of the result.

    Raises:
        OutOfRangeError: for a position outside of the result.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.expand_dims(ng.placeholder((2, 3)), axis=-1).type
    float32[2, 3, 1]
    """
    return apply("expand_dims", as_term(x), axis=axis)


def squeeze(x: Array, /, axis: Axis = None) -> Op:
    """`x` without these axes, or without all whose length is 1.

    Raises:
        AxesError: for an axis of another length.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.squeeze(ng.placeholder((1, 3, 1)), axis=0).type
    float32[3, 1]
    """
    term = as_term(x)
    ones = tuple(k for k, n in enumerate(term.shape) if n == 1)
    return apply("squeeze", term, axis=ones if axis is None else places("squeeze", axis, term.rank))


def broadcast_to(x: Array, /, shape: Any) -> Op:
    """`x` repeated to a shape: matched from the last axis on, lengths of 1 stretch.

    Raises:
        IncompatibleAxesError: if it does not fit.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.broadcast_to(ng.placeholder((3, 1)), (2, 3, 4)).type
    float32[2, 3, 4]
    """
    return apply("broadcast_to", as_term(x), shape=shape)


def broadcast_arrays(*arrays: Array) -> tuple[Op, ...]:
    """All arrays repeated to the one shape in which they meet.

    Raises:
        IncompatibleAxesError: if there is none.

    >>> import ngraph_rewrite as ng
    >>> [x.shape for x in ng.numpy.broadcast_arrays([[1], [2]], [3, 4, 5])]
    [(2, 3), (2, 3)]
    """
    terms = several("broadcast_arrays", arrays)
    shape = checked("broadcast_arrays", stretched, *(x.shape for x in terms))
    return tuple(apply("broadcast_to", x, shape=shape) for x in terms)


# -- orders -------------------------------------------------------------------------------------------


def permute_dims(x: Array, /, axes: Sequence[int]) -> Op:
    """`x` with axis ``axes[i]`` moved to place i.

    Raises:
        AttributeValueError: if not each axis is named once.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.permute_dims(ng.placeholder((2, 3, 4)), (2, 0, 1)).type
    float32[4, 2, 3]
    """
    return apply("transpose", as_term(x), perm=axes)


def transpose(x: Array, /, axes: Sequence[int] | None = None) -> Op:
    """`permute_dims` under NumPy's name; without `axes` the order is reversed.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.transpose(ng.placeholder((2, 3, 4))).type
    float32[4, 3, 2]
    """
    term = as_term(x)
    return permute_dims(term, range(term.rank)[::-1] if axes is None else axes)


def swapaxes(x: Array, /, axis1: int, axis2: int) -> Op:
    """`x` with two axes exchanged.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.swapaxes(ng.placeholder((2, 3, 4)), 0, -1).type
    float32[4, 3, 2]
    """
    term = as_term(x)
    first, second = (checked("swapaxes", position, a, term.rank) for a in (axis1, axis2))
    order = list(range(term.rank))
    order[first], order[second] = second, first
    return permute_dims(term, order)


def moveaxis(x: Array, /, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Op:
    """`x` with some axes moved to other places; the others stay in their order.

    Raises:
        AttributeValueError: if not as many places as axes are named, or one is named twice.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.moveaxis(ng.placeholder((2, 3, 4)), 0, -1).type
    float32[3, 4, 2]
    """
    term = as_term(x)
    moved, to = (
        [checked("moveaxis", position, a, term.rank) for a in listed(given)] for given in (source, destination)
    )
    if len(moved) != len(to) or len(set(moved)) != len(moved) or len(set(to)) != len(to):
        raise AttributeValueError(
            f"moveaxis: from {source} to {destination}", where=user_line(), do="give one place for each axis"
        )
    order = [k for k in range(term.rank) if k not in moved]
    for place, axis in sorted(zip(to, moved, strict=True)):
        order.insert(place, axis)
    return permute_dims(term, order)


def flip(x: Array, /, axis: Axis = None) -> Op:
    """`x` with the order along these axes, or along all of them, reversed.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.flip(ng.placeholder((2, 3), name="x"), axis=-1)
    numpy.flip(x, axis=(1,))
    """
    term = as_term(x)
    return apply("flip", term, axis=places("flip", axis, term.rank))


def roll(x: Array, /, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Op:
    """`x` with its elements moved up along axes; what leaves at one end enters at the other.

    Without an axis the elements are moved in row-major order, by each shift if there are several.

    Raises:
        AttributeValueError: if there are more shifts than axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.roll(ng.placeholder((2, 3), name="x"), 1, axis=1)
    numpy.roll(x, shift=1, axis=1)
    """
    term = as_term(x)
    if axis is None:
        row = ravel(term)
        for amount in listed(shift) if dimensions("roll", shift) else (shift,):
            row = apply("roll", row, shift=amount, axis=0)
        return reshape(row, term.shape)
    axes, shifts = listed(axis), listed(shift)
    if not dimensions("roll", shift):
        shifts *= len(axes)
    if len(shifts) != len(axes) and len(axes) == 1:
        axes *= len(shifts)
    if len(shifts) != len(axes):
        raise AttributeValueError(f"roll: shifts {shift} along the axes {axis}", where=user_line(), do="give one each")
    for amount, along in zip(shifts, axes, strict=True):
        term = apply("roll", term, shift=amount, axis=along)
    return term
