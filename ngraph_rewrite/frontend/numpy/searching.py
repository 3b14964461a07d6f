# SPDX-License-Identifier: Apache-2.0
"""Places of the greatest and the least, places in an order, and elements taken at places."""

from __future__ import annotations

from ngraph_rewrite.errors import ArgumentError, OutOfRangeError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import maximum, minimum, remainder
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_number, as_term, places
from ngraph_rewrite.frontend.numpy.picking import refuse_outside
from ngraph_rewrite.ops.checks import integer_only, one_of, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, Length

_MODES = ("raise", "clip", "wrap")


def argmax(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Op:
    """The int64 place of the greatest element, the first of several, or of the first NaN.

    Args:
        axis: The axis to search along; None for all, as if flattened.
        keepdims: Whether the searched axes stay, with length 1.

    Raises:
        OutOfRangeError: for an axis that is not there.
        AxesError: for an axis of length 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.argmax(ng.placeholder((2, 3)), axis=1).type
    int64[2]
    """
    return apply("argmax", x, axis=places("argmax", axis, as_term(x).rank), keepdims=keepdims)


def argmin(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Op:
    """The int64 place of the least element. The arguments and errors are those of `argmax`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.argmin(ng.placeholder((2, 3))).type
    int64[]
    """
    return apply("argmin", x, axis=places("argmin", axis, as_term(x).rank), keepdims=keepdims)


def searchsorted(x1: Array, x2: Array, /, side: str = "left", sorter: Array | None = None) -> Op:
    """Where each element of `x2` belongs in the vector `x1`, as int64, so that it stays in ascending order.

    Args:
        x1: A vector in ascending order, NaN last.
        side: ``"left"`` for the place before the elements that are equal, ``"right"`` for that after them.
        sorter: The places that put `x1` in order, if it is not: ``argsort(x1)``.

    Raises:
        AxesError: if `x1` is no vector.
        AttributeValueError: for another side.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.searchsorted(ng.placeholder((5,)), ng.placeholder((2, 3))).type
    int64[2, 3]
    """
    checked("searchsorted", one_of, side, ("left", "right"), "side")
    vector = x1 if sorter is None else take(x1, sorter, axis=0)
    return apply("searchsorted", vector, x2, right=side == "right")


def take(x: Array, /, indices: Array, axis: int | None = None, *, mode: str = "raise") -> Op:
    """The elements of `x` at places along an axis, which the axes of `indices` replace.

    Args:
        indices: Integers; a negative one counts from the end. Where a term is outside of the axis, there are zeros.
        axis: The axis; by default that of a vector. Anything else is flattened first, as NumPy does.
        mode: What is meant by an index that is outside: ``"clip"`` the first or last element, ``"wrap"`` the one as
            many places on, as if the axis were a ring.

    Raises:
        DTypeError: for indices that are not integers.
        AttributeValueError: for another mode.
        OutOfRangeError: for an axis that is not there, or indices that are known and outside of it.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.take(ng.placeholder((4, 3)), [3, 0], axis=0).type
    float32[2, 3]
    """
    term = as_term(x)
    if axis is None:
        term, axis = apply("reshape", term, shape=(term.size,)), 0
    index, place = as_term(indices), checked("take", position, axis, term.rank)
    if checked("take", one_of, mode, _MODES, "mode") != "raise":
        checked("take", integer_only, index.type)
        index = index if term.shape[place] == 0 else _inside(index, term.shape[place], mode)
    refuse_outside(index, term.shape[place], place)
    return apply("gather", term, index, axis=place)


def _inside(index: Op, length: Extent, mode: str) -> Op:
    """Indices of int64 in the place of those outside of an axis."""
    count = as_number(length) if isinstance(length, Length) else length
    wide = astype(index, "int64")
    return remainder(wide, count) if mode == "wrap" else maximum(minimum(wide, count - 1), 0)


def take_along_axis(x: Array, /, indices: Array, axis: int = -1) -> Op:
    """For each line of `x` along an axis, its elements at the indices of that line; other axes are broadcast.

    Args:
        indices: Integers, of the rank of `x`; a negative one counts from the end, a term outside gives zero.

    Raises:
        AxesError: for indices of another rank, or lengths that do not go together.
        OutOfRangeError: for an axis that is not there, or indices that are known and outside of it.
        DTypeError: for indices that are not integers.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 5))
    >>> ng.numpy.take_along_axis(x, ng.numpy.argsort(x)[:, :2]).type
    float32[2, 2]
    """
    term, index = as_term(x), as_term(indices)
    place = checked("take_along_axis", position, axis, term.rank)
    refuse_outside(index, term.shape[place], place)
    return apply("take_along_axis", term, index, axis=place)


def top_k(x: Array, k: int, /, *, axis: int = -1, mode: str = "largest") -> tuple[Op, Op]:
    """The `k` greatest (or least) elements along an axis in order, and their int64 places.

    Of equal elements the first come first. NaN counts as after all numbers, in either mode.

    Args:
        mode: ``"largest"`` or ``"smallest"``.

    Raises:
        OutOfRangeError: for a `k` that is more than the axis has, or an axis that is not there. Where the length is not
            known yet, a call with fewer elements is refused.
        AttributeValueError: for another mode.

    >>> import ngraph_rewrite as ng
    >>> values, places = ng.numpy.top_k(ng.placeholder((2, 5)), 3)
    >>> values.type, places.type
    (float32[2, 3], int64[2, 3])
    """
    term = as_term(x)
    place = checked("top_k", position, axis, term.rank)
    length = term.shape[place]
    checked("top_k", one_of, mode, ("largest", "smallest"), "mode")
    if isinstance(k, bool | Op) or not hasattr(k, "__index__"):
        raise ArgumentError(f"top_k: k is {k!r}", where=user_line(), do="give an integer")
    if k < 0 or (isinstance(length, int) and k > length):
        raise OutOfRangeError(f"top_k: k is {k}, of {length!r} elements", where=user_line())
    order = apply("argsort", term, axis=place, descending=mode == "largest")
    first = order if k == length else _first(order, place, int(k))
    return apply("take_along_axis", term, first, axis=place), first


def _first(x: Op, axis: int, count: int) -> Op:
    """As many elements along an axis, which has them or is refused by a call."""
    stops = tuple(count if k == axis else n for k, n in enumerate(x.shape))
    return build_term("semi.slice", x, starts=(0,) * x.rank, stops=stops, steps=(1,) * x.rank)
