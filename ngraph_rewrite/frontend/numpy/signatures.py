# SPDX-License-Identifier: Apache-2.0
"""NumPy's signatures for functions that have the standard's here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.operands import Array, Axis
from ngraph_rewrite.terms.op import Op


def averaged(reduction: Callable[..., Op]) -> Callable[..., Op]:
    """Computed in the dtype that is asked for."""

    def function(a: Array, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Array = True) -> Op:
        if dtype is None:
            return reduction(a, axis=axis, keepdims=keepdims, where=where)
        return astype(reduction(astype(a, dtype), axis=axis, keepdims=keepdims, where=where), dtype)

    function.__qualname__ = reduction.__name__
    return function


def spread(reduction: Callable[..., Op]) -> Callable[..., Op]:
    """NumPy says `ddof` for `correction`."""

    def function(
        a: Array,
        axis: Axis = None,
        *,
        ddof: float = 0.0,
        keepdims: bool = False,
        correction: float | None = None,
        where: Array = True,
    ) -> Op:
        correction = ddof if correction is None else correction
        return reduction(a, axis=axis, keepdims=keepdims, correction=correction, where=where)

    function.__qualname__ = reduction.__name__
    return function
