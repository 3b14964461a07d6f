# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions by what stands for them here, with NumPy's signatures where those differ from the standard's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.frontend.numpy import (
    creation,
    data_types,
    elementwise,
    joining,
    manipulation,
    nan_reductions,
    order_statistics,
    padding,
    products_and_orders,
    special_values,
    statistical,
)
from ngraph_rewrite.frontend.numpy.formulas import in_their_family
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, as_term
from ngraph_rewrite.terms.op import Op, combine, family_of
from ngraph_rewrite.types.lengths import Extent

# -- signatures of NumPy's own ------------------------------------------------------------------------


def _average(reduction: Callable[..., Op]) -> Callable[..., Op]:
    """Computed in the dtype that is asked for."""

    def function(a: Array, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Op:
        if dtype is None:
            return reduction(a, axis=axis, keepdims=keepdims)
        return data_types.astype(reduction(data_types.astype(a, dtype), axis=axis, keepdims=keepdims), dtype)

    function.__qualname__ = reduction.__name__
    return function


def _by_keyword(search: Callable[..., Op]) -> Callable[..., Op]:
    def function(a: Array, axis: int | None = None, *, keepdims: bool = False) -> Op:
        return search(a, axis=axis, keepdims=keepdims)

    function.__qualname__ = search.__name__
    return function


def _spread(reduction: Callable[..., Op]) -> Callable[..., Op]:
    """NumPy says `ddof` for `correction`."""

    def function(
        a: Array, axis: Axis = None, *, ddof: float = 0.0, keepdims: bool = False, correction: float | None = None
    ) -> Op:
        return reduction(a, axis=axis, keepdims=keepdims, correction=ddof if correction is None else correction)

    function.__qualname__ = reduction.__name__
    return function


def _where(condition: Any, x: Any, y: Any) -> Op:
    """In the family of the terms."""
    terms = [t for t in (condition, x, y) if isinstance(t, Op)]
    if family_of(terms) != "axes" or not any(t.rank for t in terms):
        return elementwise.where(condition, x, y)
    return combine("select", condition, x, y)


def _clip(a: Array, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Op:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    below = as_term(a) if low is None else combine("maximum", as_term(a), low)
    return below if high is None else combine("minimum", below, high)


def _full_like(a: Array, fill_value: Any, dtype: Any = None) -> Op:
    return creation.full_like(a, fill_value, dtype=dtype)


def _filled_like(value: int) -> Callable[..., Op]:
    def function(a: Array, dtype: Any = None) -> Op:
        return creation.full_like(a, value, dtype=dtype)

    return function


def _triangle(function: Callable[..., Op]) -> Callable[..., Op]:
    def triangle(m: Array, k: int = 0) -> Op:
        return function(m, k=k)

    return triangle


def _stack(arrays: Any, axis: int = 0) -> Op:
    return joining.stack(arrays, axis=axis)


def _repeat(a: Array, repeats: Any, axis: int | None = None) -> Op:
    return joining.repeat(a, repeats, axis=axis)


def _unstack(x: Array, /, *, axis: int = 0) -> tuple[Op, ...]:
    return joining.unstack(x, axis=axis)


def _diff(a: Array, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Op:
    return statistical.diff(a, axis, n, prepend=prepend, append=append)


def _in_its_family(name: str) -> Callable[..., Op]:
    def function(x: Array) -> Op:
        found: Op = in_their_family(name, x)
        return found

    function.__qualname__ = name
    return function


def _nan_to_num(x: Array, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Op:
    return special_values.replaced(in_their_family, x, nan, posinf, neginf)


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Op:
    found: Op = in_their_family("isclose", a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return found


def _shape(a: Array) -> tuple[Extent, ...]:
    return as_term(a).shape


def _ndim(a: Array) -> int:
    return as_term(a).rank


def _size(a: Array) -> Extent:
    return as_term(a).size


# -- the table ----------------------------------------------------------------------------------------

# Functions that work on each element by itself: terms with names keep them.
EACH_ELEMENT = frozenset({
    np.where, np.clip, np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.fix, np.sinc, np.isposinf,
    np.isneginf, np.nan_to_num, np.isclose,
})  # fmt: skip

FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.round: elementwise.round,
    np.around: elementwise.round,
    np.astype: data_types.astype,
    np.fix: _in_its_family("fix"),
    np.sinc: _in_its_family("sinc"),
    np.isposinf: _in_its_family("isposinf"),
    np.isneginf: _in_its_family("isneginf"),
    np.nan_to_num: _nan_to_num,
    np.isclose: _isclose,
    np.allclose: special_values.allclose,
    np.array_equal: special_values.array_equal,
    np.result_type: data_types.result_type,
    np.can_cast: data_types.can_cast,
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
    np.reshape: manipulation.reshape,
    np.ravel: manipulation.ravel,
    np.expand_dims: manipulation.expand_dims,
    np.squeeze: manipulation.squeeze,
    np.broadcast_to: manipulation.broadcast_to,
    np.broadcast_arrays: manipulation.broadcast_arrays,
    np.transpose: manipulation.transpose,
    np.swapaxes: manipulation.swapaxes,
    np.moveaxis: manipulation.moveaxis,
    np.flip: manipulation.flip,
    np.roll: manipulation.roll,
    np.pad: padding.pad,
    np.concatenate: joining.concatenate,
    np.stack: _stack,
    np.unstack: _unstack,
    np.tile: joining.tile,
    np.repeat: _repeat,
    np.diff: _diff,
    np.sum: statistical.sum,
    np.prod: statistical.prod,
    np.max: statistical.max,
    np.amax: statistical.max,
    np.min: statistical.min,
    np.amin: statistical.min,
    np.any: statistical.any,
    np.all: statistical.all,
    np.mean: _average(statistical.mean),
    np.var: _spread(statistical.var),
    np.std: _spread(statistical.std),
    np.count_nonzero: statistical.count_nonzero,
    np.nansum: nan_reductions.nansum,
    np.nanprod: nan_reductions.nanprod,
    np.nancumsum: nan_reductions.nancumsum,
    np.nancumprod: nan_reductions.nancumprod,
    np.nanmax: nan_reductions.nanmax,
    np.nanmin: nan_reductions.nanmin,
    np.nanargmax: _by_keyword(nan_reductions.nanargmax),
    np.nanargmin: _by_keyword(nan_reductions.nanargmin),
    np.nanmean: _average(nan_reductions.nanmean),
    np.nanvar: _spread(nan_reductions.nanvar),
    np.nanstd: _spread(nan_reductions.nanstd),
    np.ptp: order_statistics.ptp,
    np.median: order_statistics.median,
    np.nanmedian: order_statistics.nanmedian,
    np.quantile: order_statistics.quantile,
    np.percentile: order_statistics.percentile,
    np.nanquantile: order_statistics.nanquantile,
    np.nanpercentile: order_statistics.nanpercentile,
    np.tril: _triangle(creation.tril),
    np.triu: _triangle(creation.triu),
    np.full_like: _full_like,
    np.zeros_like: _filled_like(0),
    np.ones_like: _filled_like(1),
    np.empty_like: _filled_like(0),
    np.meshgrid: creation.meshgrid,
    **products_and_orders.FUNCTIONS,
}

# What ufunc.accumulate is called as a function.
ACCUMULATIONS: Mapping[str, Callable[..., Op]] = products_and_orders.ACCUMULATIONS
