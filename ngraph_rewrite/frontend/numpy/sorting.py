# SPDX-License-Identifier: Apache-2.0
"""Sorts along an axis. They are stable, put NaN last in either direction, and take -0.0 and 0.0 as equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AxesError, OutOfRangeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.joining import unstack
from ngraph_rewrite.frontend.numpy.manipulation import ravel
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, each, several
from ngraph_rewrite.ops.checks import as_index, flag, one_of, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

_KINDS = ("quicksort", "mergesort", "heapsort", "stable")


def argsort(
    x: Array,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Op:
    """The int64 places along an axis that put `x` in order; equal elements keep theirs.

    Args:
        axis: The axis; None for all elements in row-major order.
        kind: NumPy's name of an algorithm, which makes no difference.
        descending: Whether the greatest comes first; NaN still comes last.
        stable: Sorts are stable either way.

    Raises:
        OutOfRangeError: for an axis that is not there.
        AttributeValueError: for a flag that is not True or False, or a kind that NumPy has not.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.argsort(ng.placeholder((2, 3))).type
    int64[2, 3]
    """
    _checked_kind("argsort", stable, kind)
    row, place = _in_a_row(x, axis)
    return apply("argsort", row, axis=place, descending=descending)


def sort(
    x: Array,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Op:
    """`x` in order along an axis. The arguments and errors are those of `argsort`.

    The gradient of each element goes to where it came from.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.sort(ng.placeholder((2, 3)), axis=0, descending=True).type
    float32[2, 3]
    """
    _checked_kind("sort", stable, kind)
    row, place = _in_a_row(x, axis)
    return apply("sort", row, axis=place, descending=descending)


def _checked_kind(call: str, stable: bool, kind: str | None) -> None:
    checked(call, flag, stable, "stable")
    if kind is not None:
        checked(call, one_of, kind, _KINDS, "kind")


def _in_a_row(x: Array, axis: int | None) -> tuple[Op, int]:
    return (ravel(x), 0) if axis is None else (as_term(x), axis)


def argpartition(x: Array, /, kth: Any, axis: int | None = -1) -> Op:
    """The int64 places along an axis that put `x` in order: a whole order has each of the `kth` elements in its place.

    NumPy orders no more than it has to, so that other places may differ from its own.

    Args:
        kth: Which element has to be where it is in order, or several of them; negative ones count from the end.
        axis: The axis; None for all elements in row-major order.

    Raises:
        OutOfRangeError: for an element, or an axis, that is not there.
        AttributeValueError: for what is no integer.
        ArgumentError: for a term as `kth`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.argpartition(ng.placeholder((2, 3)), 1).type
    int64[2, 3]
    """
    term, place = _line("argpartition", x, kth, axis)
    return argsort(term, axis=place)


def partition(x: Array, /, kth: Any, axis: int | None = -1) -> Op:
    """`x` in order along an axis: see `argpartition`. Where only the first few are needed, `top_k` says so.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.partition(ng.placeholder((2, 3)), (0, -1), axis=None).type
    float32[6]
    """
    term, place = _line("partition", x, kth, axis)
    return sort(term, axis=place)


def lexsort(keys: Array | Sequence[Array], /, axis: int = -1) -> Op:
    """The int64 places along an axis that put several keys in order: by the last one; where that is equal, by that
    before it, and so on. Where all are equal, elements keep their order.

    Args:
        keys: Arrays of one shape, or one array of them along its first axis.

    Raises:
        AxesError: for keys of different shapes, or without axes.
        ArgumentError: for no keys.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> seconds, minutes = ng.placeholder((None,)), ng.placeholder((None,))
    >>> ng.numpy.lexsort((seconds, minutes)).type
    int64[n0]
    """
    whole = isinstance(keys, Op) or getattr(keys, "ndim", 0) > 0
    terms = several("lexsort", unstack(keys) if whole else keys)  # type: ignore[arg-type]
    shapes = {t.shape for t in terms}
    if len(shapes) != 1 or () in shapes:
        what = f"lexsort: the keys are {', '.join(map(repr, (t.type for t in terms)))}"
        raise AxesError(what, where=user_line(), do="give arrays of one shape, in a list")
    place = checked("lexsort", position, axis, terms[0].rank)
    order = argsort(terms[0], axis=place)
    for key in terms[1:]:
        then = argsort(apply("take_along_axis", key, order, axis=place), axis=place)
        order = apply("take_along_axis", order, then, axis=place)
    return order


def _line(call: str, x: Array, kth: Any, axis: int | None) -> tuple[Op, int]:
    """What is put in order, and along which axis, once it is sure that the elements asked for are there."""
    term, along = (ravel(x), 0) if axis is None else (as_term(x), axis)
    if isinstance(kth, Op):
        what = f"{call}: kth is a term"
        raise ArgumentError(what, where=user_line(), do="give any number that is inside: all elements are put in order")
    place = checked(call, position, along, term.rank)
    length = term.shape[place]
    for k in each(kth):
        number = checked(call, as_index, k, "kth")
        if isinstance(length, int) and length and not -length <= number < length:
            do = f"use {-length} to {length - 1}"
            raise OutOfRangeError(f"{call}: kth is {number}, of {length} elements", where=user_line(), do=do)
    return term, place
