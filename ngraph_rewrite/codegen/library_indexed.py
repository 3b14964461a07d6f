# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that read at indices and put something there."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, index_holes, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, cast, expression
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.ops.semi_scatter import MADE_BY

_NUMBERS = tuple(name for name in DTYPES if name != "bool")


@cache
def render_scatter(how: str, dtype: str, index_dtype: str, target: str = "cpu") -> Source:
    """Return the kernel that puts x[o, j, :] at y[o, index[j], :], where y holds already what it is put into.

    All operands are contiguous: x is (outer, count, inner), y (outer, length, inner), index (count).

    >>> render_scatter("add", "float32", "int64").signature
    ('outer', 'count', 'inner', 'length', 'index', 'x', 'y')
    """
    return _putting("scatter", how, dtype, index_dtype, target)


@cache
def render_put_along(how: str, dtype: str, index_dtype: str, target: str = "cpu") -> Source:
    """Return the kernel that puts x[o, j, i] at y[o, index[o, j, i], i], where y holds already what it is put into.

    All operands are contiguous: x and index are (outer, count, inner), y (outer, length, inner).

    >>> render_put_along("set", "float32", "int64").signature
    ('outer', 'count', 'inner', 'length', 'index', 'x', 'y')
    """
    return _putting("put_along", how, dtype, index_dtype, target)


def _putting(kernel: str, how: str, dtype: str, index_dtype: str, target: str) -> Source:
    names = ("outer", "count", "inner", "length", "index", "x", "y")
    return rendered(kernel, names, target, value=_made(how, dtype), **index_holes(dtype, index_dtype))


def _made(how: str, dtype: str) -> str:
    """What is at a place where `new` was put and `old` stood."""
    has_dtype(dtype, DTYPES if how == "set" else _NUMBERS, how)
    return "new" if how == "set" else expression(MADE_BY[how], dtype, ["old", "new"], {}, [dtype, dtype])


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
def render_segments(how: str, dtype: str, place_dtype: str, along: bool) -> Source:
    """Return the kernel, for a GPU, that puts x[o, j, i] at y[o, at, i] for all j whose place is ``at``, in order.

    ``places`` are in ascending order, and ``order`` says of which j each of them is (int32, as many): one row of
    ``count`` for all, or one for every pair (o, i) if they are found `along` the axis. x is (outer, count, inner), y
    (outer, length, inner).

    >>> render_segments("add", "float32", "int32", False).signature
    ('outer', 'count', 'inner', 'length', 'places', 'order', 'x', 'y')
    """
    names = ("outer", "count", "inner", "length", "places", "order", "x", "y")
    line = "(o * inner + i) * count" if along else "0"
    return rendered("segments", names, "cuda", dtype=dtype, place_dtype=place_dtype, line=line, value=_made(how, dtype))


@cache
def render_take_along(dtype: str, index_dtype: str, target: str = "cpu") -> Source:
    """Return the kernel y[o, j, i] = x[o, index[o, j, i], i]; all operands are contiguous.

    >>> render_take_along("bool", "uint8").signature
    ('outer', 'count', 'inner', 'length', 'x', 'index', 'y')
    """
    has_dtype(dtype, DTYPES, "take_along")
    names = ("outer", "count", "inner", "length", "x", "index", "y")
    return rendered("take_along", names, target, **index_holes(dtype, index_dtype))
