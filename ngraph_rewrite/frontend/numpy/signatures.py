# SPDX-License-Identifier: Apache-2.0
"""NumPy's signatures for functions that have the standard's here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.frontend.numpy.operands import Array, Axis
from ngraph_rewrite.terms.op import Op


def averaged(reduction: Callable[..., Op]) -> Callable[..., Op]:
    """NumPy says `a` for the array."""

    def function(a: Array, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Array = True) -> Op:
        return reduction(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)

    function.__qualname__ = reduction.__name__
    return function


def spread(reduction: Callable[..., Op]) -> Callable[..., Op]:
    """NumPy says `a` for the array."""

    def function(
        a: Array,
        axis: Axis = None,
        dtype: Any = None,
        *,
        ddof: float = 0.0,
        keepdims: bool = False,
        correction: float = 0.0,
        where: Array = True,
        mean: Array | None = None,
    ) -> Op:
        options = {"correction": correction, "ddof": ddof, "where": where, "mean": mean}
        return reduction(a, axis=axis, dtype=dtype, keepdims=keepdims, **options)

    function.__qualname__ = reduction.__name__
    return function
