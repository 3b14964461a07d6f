# SPDX-License-Identifier: Apache-2.0
"""Sums and products so far. Their gradients are sums and products too: exact where factors are zero."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term
from ngraph_rewrite.ops.alignment import totalling
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


def cumulative_sum(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Op:
    """The sums of the elements up to each place along an axis.

    Args:
        axis: The axis; needed unless there is just one.
        dtype: What to sum in; by default integers narrower than 64 bits, and bool, are widened.
        include_initial: Whether the sum of no elements, 0, stands in front.

    Raises:
        AttributeValueError: without an axis, if there is not just one.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.cumulative_sum(ng.placeholder((2, 3), "int8"), axis=1, include_initial=True).type
    int64[2, 4]
    """
    return _running("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Op:
    """The products of the elements up to each place. The arguments and errors are those of `cumulative_sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.cumulative_prod(ng.placeholder((3,))).type
    float32[3]
    """
    return _running("cumulative_prod", x, axis, dtype, include_initial)


def cumsum(x: Array, /, axis: int | None = None, dtype: Any = None) -> Op:
    """As `cumulative_sum`; without an axis `x` is flattened first, as NumPy does.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.cumsum(ng.placeholder((2, 3))).type
    float32[6]
    """
    return _running("cumulative_sum", *_flattened(x, axis), dtype, False)


def cumprod(x: Array, /, axis: int | None = None, dtype: Any = None) -> Op:
    """As `cumulative_prod`; without an axis `x` is flattened first, as NumPy does.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.cumprod(ng.placeholder((2, 3)), axis=0).type
    float32[2, 3]
    """
    return _running("cumulative_prod", *_flattened(x, axis), dtype, False)


def _flattened(x: Array, axis: int | None) -> tuple[Op, int]:
    term = as_term(x)
    return (apply("reshape", term, shape=(term.size,)), 0) if axis is None else (term, axis)


def _running(short: str, x: Array, axis: int | None, dtype: Any, include_initial: bool) -> Op:
    term = as_term(x)
    if axis is None:
        if term.rank != 1:
            what = f"{short}: there are {term.rank} axes and none is named"
            do = "give axis=" if term.rank else "give an operand with axes"
            raise AttributeValueError(what, where=user_line(), do=do)
        axis = 0
    wide = totalling(term.dtype) if dtype is None else dtype
    return apply(short, term, axis=axis, dtype=wide, include_initial=include_initial)
