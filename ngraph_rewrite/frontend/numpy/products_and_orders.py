# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions that search, sort, accumulate and multiply, with NumPy's signatures, by what stands for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.numpy import cumulative, divisors, linear_algebra, searching, sorting
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.terms.op import Op


def _searchsorted(a: Array, v: Array, side: str = "left", sorter: Array | None = None) -> Op:
    return searching.searchsorted(a, v, side=side, sorter=sorter)


def _take(a: Array, indices: Array, axis: int | None = None, out: None = None, mode: str = "raise") -> Op:
    return searching.take(a, indices, axis=axis, mode=mode)


def _take_along_axis(arr: Array, indices: Array, axis: int = -1) -> Op:
    return searching.take_along_axis(arr, indices, axis=axis)


def _ordered(name: str, function: Callable[..., Op]) -> Callable[..., Op]:
    """NumPy takes None for all elements in one row, and a `kind` of algorithm: a stable order is one of any kind."""

    def ordered(a: Array, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = True) -> Op:
        return function(a, axis=axis, stable=True if stable is None else stable, kind=kind)

    ordered.__qualname__ = name
    return ordered


def _tensordot(a: Array, b: Array, axes: Any = 2) -> Op:
    return linear_algebra.tensordot(a, b, axes=axes)


def _extremum(name: str) -> Callable[..., Op]:
    def function(x: Array, axis: int = 0) -> Op:
        return build_term(name, as_term(x), axis=axis, reverse=False)

    return function


FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    np.argmax: searching.argmax,
    np.argmin: searching.argmin,
    np.searchsorted: _searchsorted,
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.sort: _ordered("sort", sorting.sort),
    np.argsort: _ordered("argsort", sorting.argsort),
    np.cumsum: cumulative.cumsum,
    np.cumprod: cumulative.cumprod,
    np.cumulative_sum: cumulative.cumulative_sum,
    np.cumulative_prod: cumulative.cumulative_prod,
    np.tensordot: _tensordot,
    np.matrix_transpose: linear_algebra.matrix_transpose,
    np.outer: linear_algebra.outer,
    np.inner: linear_algebra.inner,
    np.dot: linear_algebra.dot,
    np.diagonal: linear_algebra.diagonal,
    np.trace: linear_algebra.trace,
    np.einsum: linear_algebra.einsum,
}
# Ufuncs of NumPy that work on whole vectors and matrices.
PRODUCTS: Mapping[str, Callable[..., Op]] = {
    "matmul": linear_algebra.matmul, "vecdot": linear_algebra.vecdot, "matvec": linear_algebra.matvec,
    "vecmat": linear_algebra.vecmat,
}  # fmt: skip
# Ufuncs that loop over all elements at once, by position.
LOOPS: Mapping[str, Callable[..., Op]] = {"gcd": divisors.gcd, "lcm": divisors.lcm}
# What ufunc.accumulate is called as a function.
ACCUMULATIONS: Mapping[str, Callable[..., Op]] = {
    "add": cumulative.cumsum,
    "multiply": cumulative.cumprod,
    "maximum": _extremum("semi.cummax"),
    "minimum": _extremum("semi.cummin"),
}
