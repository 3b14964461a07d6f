# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that read and add at indices."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, index_holes, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression
from ngraph_rewrite.codegen.source import Source

_NUMBERS = tuple(name for name in DTYPES if name != "bool")


@cache
def render_scatter_add(dtype: str, index_dtype: str) -> Source:
    """Return the kernel y[o, index[j], :] += x[o, j, :], where y holds already what is added to.

    All operands are contiguous: x is (outer, count, inner), y (outer, length, inner), index (count).

    >>> render_scatter_add("float32", "int64").signature
    ('outer', 'count', 'inner', 'length', 'index', 'x', 'y')
    """
    return _adding("scatter_add", dtype, index_dtype)


@cache
def render_add_along(dtype: str, index_dtype: str) -> Source:
    """Return the kernel y[o, index[o, j, i], i] += x[o, j, i], where y holds already what is added to.

    All operands are contiguous: x and index are (outer, count, inner), y (outer, length, inner).

    >>> render_add_along("float32", "int64").signature
    ('outer', 'count', 'inner', 'length', 'index', 'x', 'y')
    """
    return _adding("add_along", dtype, index_dtype)


def _adding(kernel: str, dtype: str, index_dtype: str) -> Source:
    has_dtype(dtype, _NUMBERS, kernel)
    total = expression("add", dtype, ["total", "addend"], {}, [dtype, dtype])
    names = ("outer", "count", "inner", "length", "index", "x", "y")
    return rendered(kernel, names, sum=total, **index_holes(dtype, index_dtype))


@cache
def render_take_along(dtype: str, index_dtype: str) -> Source:
    """Return the kernel y[o, j, i] = x[o, index[o, j, i], i]; all operands are contiguous.

    >>> render_take_along("bool", "uint8").signature
    ('outer', 'count', 'inner', 'length', 'x', 'index', 'y')
    """
    has_dtype(dtype, DTYPES, "take_along")
    names = ("outer", "count", "inner", "length", "x", "index", "y")
    return rendered("take_along", names, **index_holes(dtype, index_dtype))
