# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions by what stands for them here, with NumPy's signatures where those differ from the standard's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.frontend.numpy import (
    beyond_standard,
    creation,
    data_types,
    elementwise,
    fft,
    joining,
    linalg,
    manipulation,
    padding,
    products_and_orders,
    ranges,
    sets,
    statistical,
)
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.signatures import averaged, spread
from ngraph_rewrite.terms.op import Op, family_of
from ngraph_rewrite.terms.operands import combine

# -- signatures of NumPy's own ------------------------------------------------------------------------


def _where(condition: Any, x: Any = None, y: Any = None) -> Op:
    """In the family of the terms."""
    if x is None or y is None:
        return elementwise.where(condition, x, y)
    terms = [t for t in (condition, x, y) if isinstance(t, Op)]
    if family_of(terms) != "axes" or not any(t.rank for t in terms):
        return elementwise.where(condition, x, y)
    return combine("select", condition, x, y)


def _clip(a: Array, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Op:
    term = as_term(a)
    low, high = elementwise.bounds_of(term, a_min if min is None else min, a_max if max is None else max)
    below = term if low is None else combine("maximum", term, low)
    return below if high is None else combine("minimum", below, high)


def _filled_like(value: int) -> Callable[..., Op]:
    def function(a: Array, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Op:
        return creation.full_like(a, value, dtype=dtype, shape=shape, device=device)

    return function


def _linspace(
    start: Array, stop: Array, num: int = 50, endpoint: bool = True, *, dtype: Any = None, axis: int = 0
) -> Op:
    return ranges.linspace(start, stop, num, endpoint, dtype=dtype, axis=axis)


def _repeat(a: Array, repeats: Any, axis: int | None = None) -> Op:
    return joining.repeat(a, repeats, axis=axis)


def _unstack(x: Array, /, *, axis: int = 0) -> tuple[Op, ...]:
    return joining.unstack(x, axis=axis)


# -- the table ----------------------------------------------------------------------------------------

# Functions that work on each element by itself: terms with names keep them.
EACH_ELEMENT = frozenset(
    {np.where, np.real, np.clip, np.shape, np.ndim, np.size, np.result_type, np.can_cast, *beyond_standard.EACH_ELEMENT}
)

# Functions whose results are as long as values say: here they are told a size, which NumPy's do not take.
SIZED = frozenset(
    {
        np.argwhere, np.compress, np.extract, np.flatnonzero, np.intersect1d, np.nonzero, np.setdiff1d, np.setxor1d,
        np.union1d, np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values,
    }
)  # fmt: skip

FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.round: elementwise.round,
    np.around: elementwise.round,
    np.real: elementwise.real,
    np.astype: data_types.astype,
    np.result_type: data_types.result_type,
    np.can_cast: data_types.can_cast,
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
    np.linspace: _linspace,
    np.concatenate: joining.concatenate,
    np.stack: joining.stack,
    np.unstack: _unstack,
    np.tile: joining.tile,
    np.repeat: _repeat,
    np.diff: statistical.diff,
    np.sum: statistical.sum,
    np.prod: statistical.prod,
    np.max: statistical.max,
    np.amax: statistical.max,
    np.min: statistical.min,
    np.amin: statistical.min,
    np.any: statistical.any,
    np.all: statistical.all,
    np.mean: averaged(statistical.mean),
    np.var: spread(statistical.var),
    np.std: spread(statistical.std),
    np.count_nonzero: statistical.count_nonzero,
    np.isin: sets.isin,
    np.tril: creation.tril,
    np.triu: creation.triu,
    np.full_like: creation.full_like,
    np.zeros_like: _filled_like(0),
    np.ones_like: _filled_like(1),
    np.empty_like: _filled_like(0),
    np.meshgrid: creation.meshgrid,
    **{getattr(np.linalg, name): getattr(linalg, name) for name in linalg.__all__ if hasattr(np.linalg, name)},
    **{getattr(np.fft, name): getattr(fft, name) for name in fft.__all__ if hasattr(np.fft, name)},
    **products_and_orders.FUNCTIONS,
    **beyond_standard.FUNCTIONS,
}

# What ufunc.accumulate is called as a function.
ACCUMULATIONS: Mapping[str, Callable[..., Op]] = products_and_orders.ACCUMULATIONS
