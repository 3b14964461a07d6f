# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that read and add at indices."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, index_holes, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, cast, expression
from ngraph_rewrite.codegen.source import Source

_NUMBERS = tuple(name for name in DTYPES if name != "bool")


@cache
def render_scatter_add(dtype: str, index_dtype: str, target: str = "cpu") -> Source:
    """Return the kernel y[o, index[j], :] += x[o, j, :], where y holds already what is added to.

    All operands are contiguous: x is (outer, count, inner), y (outer, length, inner), index (count).

    >>> render_scatter_add("float32", "int64").signature
    ('outer', 'count', 'inner', 'length', 'index', 'x', 'y')
    """
    return _adding("scatter_add", dtype, index_dtype, target)


@cache
def render_add_along(dtype: str, index_dtype: str, target: str = "cpu") -> Source:
    """Return the kernel y[o, index[o, j, i], i] += x[o, j, i], where y holds already what is added to.

    All operands are contiguous: x and index are (outer, count, inner), y (outer, length, inner).

    >>> render_add_along("float32", "int64").signature
    ('outer', 'count', 'inner', 'length', 'index', 'x', 'y')
    """
    return _adding("add_along", dtype, index_dtype, target)


def _adding(kernel: str, dtype: str, index_dtype: str, target: str) -> Source:
    has_dtype(dtype, _NUMBERS, kernel)
    names = ("outer", "count", "inner", "length", "index", "x", "y")
    return rendered(kernel, names, target, sum=_sum(dtype), **index_holes(dtype, index_dtype))


def _sum(dtype: str) -> str:
    return expression("add", dtype, ["total", "addend"], {}, [dtype, dtype])


@cache
def render_places(index_dtype: str, place_dtype: str) -> Source:
    """Return the kernel, for a GPU, that makes places of ``count`` indices: from 0 on, or -1 for one out of range.

    >>> render_places("uint8", "int32").signature
    ('count', 'length', 'index', 'y')
    """
    holes = index_holes(place_dtype, index_dtype)
    value = cast("select(at >= 0 and at < length, at, -1)", "int64", place_dtype)
    return rendered("places", ("count", "length", "index", "y"), "cuda", value=value, **holes)


@cache
def render_segments(dtype: str, place_dtype: str, along: bool) -> Source:
    """Return the kernel, for a GPU, y[o, at, i] += x[o, j, i] over all j whose place is ``at``, in order.

    ``places`` are in ascending order, and ``order`` says of which j each of them is (int32, as many): one row of
    ``count`` for all, or one for every pair (o, i) if they are found `along` the axis. x is (outer, count, inner), y
    (outer, length, inner).

    >>> render_segments("float32", "int32", False).signature
    ('outer', 'count', 'inner', 'length', 'places', 'order', 'x', 'y')
    """
    has_dtype(dtype, _NUMBERS, "segments")
    names = ("outer", "count", "inner", "length", "places", "order", "x", "y")
    line = "(o * inner + i) * count" if along else "0"
    return rendered("segments", names, "cuda", dtype=dtype, place_dtype=place_dtype, line=line, sum=_sum(dtype))


@cache
def render_take_along(dtype: str, index_dtype: str, target: str = "cpu") -> Source:
    """Return the kernel y[o, j, i] = x[o, index[o, j, i], i]; all operands are contiguous.

    >>> render_take_along("bool", "uint8").signature
    ('outer', 'count', 'inner', 'length', 'x', 'index', 'y')
    """
    has_dtype(dtype, DTYPES, "take_along")
    names = ("outer", "count", "inner", "length", "x", "index", "y")
    return rendered("take_along", names, target, **index_holes(dtype, index_dtype))
