# SPDX-License-Identifier: Apache-2.0
"""The functions of the semi family that sort, search, run along an axis or multiply many matrices."""

from __future__ import annotations

from collections.abc import Iterable

from ngraph_rewrite.frontend.building import Operand, apply
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.op import Op


def batch_dot(x: Operand, y: Operand) -> Op:
    """The matrix products of `x` (b, m, k) and `y` (b, k, n), one for each b, of one dtype.

    Integers wrap; of bool it is "any of all"; floats of 16 bits are summed in float32.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.batch_dot(ng.placeholder((5, 2, 3)), ng.placeholder((5, 3, 4))).type
    float32[5, 2, 4]
    """
    return apply("semi.batch_dot", x, y)


def diagonal(x: Operand, places: Iterable[int]) -> Op:
    """`x` where axes of one place have one position: axis i of `x` becomes, or joins, axis ``places[i]``. A view.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.diagonal(ng.placeholder((3, 2, 3)), places=(0, 1, 0)).type
    float32[3, 2]
    """
    return apply("semi.diagonal", x, places=places)


def on_diagonal(x: Operand, places: Iterable[int]) -> Op:
    """Zeros but for a diagonal, which is `x`: what ``diagonal(places)`` takes back.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.on_diagonal(ng.placeholder((3, 2)), places=(0, 1, 0)).type
    float32[3, 2, 3]
    """
    return apply("semi.on_diagonal", x, places=places)


# -- order --------------------------------------------------------------------------------------------


def argsort(x: Operand, axis: int = -1, descending: bool = False) -> Op:
    """The int64 positions along `axis` that put `x` in order; stable, NaN last both ways.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.argsort(ng.placeholder((2, 5))).type
    int64[2, 5]
    """
    return apply("semi.argsort", as_op(x), axis=axis, descending=descending)


def sort(x: Operand, axis: int = -1, descending: bool = False) -> Op:
    """`x` in order along `axis`; stable, NaN last both ways.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.sort(ng.placeholder((2, 5)), axis=0, descending=True).type
    float32[2, 5]
    """
    return apply("semi.sort", as_op(x), axis=axis, descending=descending)


def searchsorted(x: Operand, v: Operand, right: bool = False) -> Op:
    """For each element of `v` the int64 place in the ascending vector `x`: before its equals, or after if `right`.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.searchsorted(ng.placeholder((9,)), ng.placeholder((2, 3))).type
    int64[2, 3]
    """
    return apply("semi.searchsorted", as_op(x), as_op(v), right=right)


# -- running operations -------------------------------------------------------------------------------


def recurrence(a: Operand, b: Operand, axis: int = 0, reverse: bool = False) -> Op:
    """``y[t] = a[t] * y[t - 1] + b[t]`` along `axis`, from the end if `reverse`; ``y`` begins with ``b``.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.recurrence(ng.placeholder((9, 3)), ng.placeholder((9, 3))).type
    float32[9, 3]
    """
    return apply("semi.recurrence", a, b, axis=axis, reverse=reverse)


def cumsum(x: Operand, axis: int = 0, reverse: bool = False) -> Op:
    """The sum of the elements up to each place along `axis`, from it on if `reverse`.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.cumsum(ng.placeholder((9, 3)), reverse=True).type
    float32[9, 3]
    """
    return apply("semi.cumsum", as_op(x), axis=axis, reverse=reverse)


def cumprod(x: Operand, axis: int = 0, reverse: bool = False) -> Op:
    """The product of the elements up to each place along `axis`, from it on if `reverse`.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.cumprod(ng.placeholder((9, 3)), axis=1).type
    float32[9, 3]
    """
    return apply("semi.cumprod", as_op(x), axis=axis, reverse=reverse)


def cummax(x: Operand, axis: int = 0, reverse: bool = False) -> Op:
    """The greatest element up to each place along `axis`, from it on if `reverse`; equal ones share the gradient.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.cummax(ng.placeholder((9,))).type
    float32[9]
    """
    return apply("semi.cummax", as_op(x), axis=axis, reverse=reverse)


def cummin(x: Operand, axis: int = 0, reverse: bool = False) -> Op:
    """The least element up to each place along `axis`, from it on if `reverse`; equal ones share the gradient.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.cummin(ng.placeholder((9,))).type
    float32[9]
    """
    return apply("semi.cummin", as_op(x), axis=axis, reverse=reverse)
