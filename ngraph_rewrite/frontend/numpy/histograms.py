# SPDX-License-Identifier: Apache-2.0
"""How many elements lie in each bin, along one axis or several; the numbers of bins are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.binning import bin_places, bytes_in_bins
from ngraph_rewrite.frontend.numpy.counting import as_edges, counted, order_of
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import add, divide, logical_and, multiply, where
from ngraph_rewrite.frontend.numpy.joining import unstack
from ngraph_rewrite.frontend.numpy.manipulation import ravel, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, known_array
from ngraph_rewrite.frontend.numpy.statistical import diff
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import as_index, flag
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, DType, is_float


def histogram_bin_edges(x: Array, /, bins: Any = 10, range: Any = None, weights: Array | None = None) -> Op:
    """The edges of the bins that `histogram` has, with its arguments and errors; weights make no difference.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.histogram_bin_edges(ng.placeholder((100,)), 4, (0, 1)).type
    float32[5]
    """
    return as_term(bins if isinstance(bins, Op) else _edges("histogram_bin_edges", bins, range, as_term(x).dtype))


def histogram(
    x: Array, /, bins: Any = 10, range: Any = None, density: bool = False, weights: Array | None = None
) -> tuple[Op, Op]:
    """How many elements lie in each bin, and the edges of the bins. The last edge belongs to the last bin.

    Args:
        bins: The edges in ascending order; or how many bins of one width, which fill a `range`.
        range: Where the first bin begins and the last one ends.
        density: Whether the numbers of elements are divided by the width of their bin and by the number of all.
        weights: What each element counts.

    Raises:
        ArgumentError: for a number of bins without a range: the edges would depend on values.
        AttributeValueError: for edges that do not ascend, fewer than one bin, or a range that is not finite.
        AxesError: for edges that are no vector, or weights of another shape.

    >>> import ngraph_rewrite as ng
    >>> counts, edges = ng.numpy.histogram(ng.placeholder((100,)), [0.0, 0.5, 1.0])
    >>> counts.type, edges.type
    (int64[2], float32[3])
    """
    term = ravel(x)
    given = bins if isinstance(bins, Op) else _edges("histogram", bins, range, term.dtype)
    edges = as_term(given)
    count = _bins("histogram", edges)
    share = None if weights is None else _shares("histogram", weights, as_term(x))
    found = bytes_in_bins(term, given, count) if share is None else None
    if found is None:
        found = counted(bin_places(term, given, count), share, count)
    if weights is not None:
        found = astype(found, as_term(weights).dtype)
    if checked("histogram", flag, density, "density"):
        found = divide(divide(found, astype(diff(edges), FLOAT64)), total(found))
    return found, edges


def histogram2d(
    x: Array, y: Array, bins: Any = 10, range: Any = None, density: bool = False, weights: Array | None = None
) -> tuple[Op, Op, Op]:
    """How many pairs of elements lie in each bin of a grid, as float64, and the edges along both axes.

    Args:
        x, y: Two vectors of one length.
        bins: How many along both axes, or one vector of edges for both; or a list of one such for each axis.
        range: Two ranges, as `histogramdd` has them.

    Raises:
        AxesError: for what are not two vectors of one length.

    The other errors are those of `histogramdd`.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.placeholder((100,)), ng.placeholder((100,))
    >>> counts, rows, columns = ng.numpy.histogram2d(x, y, [[0.0, 0.5, 1.0], 4], range=[None, (0, 1)])
    >>> counts.type, rows.type, columns.type
    (float64[2, 4], float64[3], float64[5])
    """
    bins = bins.item() if isinstance(bins, np.ndarray) and bins.ndim == 0 else bins
    each = isinstance(bins, list | tuple | np.ndarray) and len(bins) > 2 and np.ndim(bins[0]) == 0
    both = [bins, bins] if each or (isinstance(bins, Op) and bins.rank == 1) else bins
    found, edges = _gridded("histogram2d", [as_term(x), as_term(y)], both, range, density, weights)
    return found, edges[0], edges[1]


def histogramdd(
    sample: Array | Sequence[Array],
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
    weights: Array | None = None,
) -> tuple[Op, list[Op]]:
    """How many points lie in each bin of a grid, as float64, and the edges of bins along each axis of the grid.

    Args:
        sample: Points as rows (n, d), with a known d; or a list of d vectors, one for each axis.
        bins: How many along each axis, which fill a range; or edges in ascending order; or a list of such, one for
            each axis. The last edge belongs to the last bin.
        range: For each axis where its first bin begins and its last one ends; None beside edges.
        density: Whether what is counted is divided by the size of its bin, and by the number of all that is in bins.
        weights: What each point counts.

    Raises:
        ArgumentError: for numbers of bins without a range: the edges would depend on values.
        AttributeValueError: for edges that do not ascend, or fewer than one bin.
        AxesError: for what are no points, or not as many bins, ranges or weights.

    >>> import ngraph_rewrite as ng
    >>> counts, edges = ng.numpy.histogramdd(ng.placeholder((100, 3)), (2, 3, 4), [(0, 1)] * 3)
    >>> counts.type, [e.type for e in edges]
    (float64[2, 3, 4], [float64[3], float64[4], float64[5]])
    """
    if isinstance(sample, list | tuple):
        vectors = [as_term(s) for s in sample]
    else:
        points = as_term(sample)  # type: ignore[arg-type]
        if points.rank not in (1, 2):
            raise AxesError(f"histogramdd: points are {points.type!r}", where=user_line(), do="give rows (n, d)")
        vectors = list(unstack(points, axis=1)) if points.rank == 2 else [points]
    return _gridded("histogramdd", vectors, bins, range, density, weights)


def _gridded(
    call: str, vectors: list[Op], bins: Any, range: Any, density: bool, weights: Array | None
) -> tuple[Op, list[Op]]:
    if not vectors or any(v.rank != 1 or v.shape != vectors[0].shape for v in vectors):
        what = f"{call}: points are {', '.join(map(repr, (v.type for v in vectors)))}"
        raise AxesError(what, where=user_line(), do="give vectors of one length, one for each axis")
    ranges = _each(call, "ranges", range, len(vectors))
    given = [
        each if isinstance(each, Op) else _edges(call, each, ends, FLOAT64)
        for each, ends in zip(_each(call, "bins", bins, len(vectors)), ranges, strict=True)
    ]
    edges = [as_term(each) for each in given]
    counts = [_bins(call, e) for e in edges]
    share = None if weights is None else _shares(call, weights, vectors[0])
    found = counted(_places(vectors, given, counts), share, math.prod(counts))
    found = reshape(astype(found, FLOAT64), counts)
    return (_dense(found, edges) if checked(call, flag, density, "density") else found), edges


def _bins(call: str, edges: Op) -> int:
    """How many bins there are between edges."""
    if edges.rank != 1 or edges.shape[0] == 0:
        raise AxesError(f"{call}: edges are {edges.type!r}", where=user_line(), do="give a vector of at least one")
    return checked(call, known_length, edges.shape[0], "bins") - 1


def _shares(call: str, weights: Array, x: Op) -> Op:
    """Weights along one axis: one for each element."""
    share = as_term(weights)
    if share.shape != x.shape:
        what = f"{call}: weights {share.type!r} for {x.type!r}"
        raise AxesError(what, where=user_line(), do="give one for each element")
    return ravel(share)


def _each(call: str, name: str, given: Any, count: int) -> list[Any]:
    """Bins, or ranges, for each of so many axes."""
    if not isinstance(given, Op | list | tuple | np.ndarray):
        return [given] * count
    if isinstance(given, Op):
        given = unstack(given)
    if len(given) != count:
        what = f"{call}: {len(given)} {name} for {count} axes"
        raise AxesError(what, where=user_line(), do="give one for each axis, in a list")
    return list(given)


def _places(vectors: list[Op], edges: list[Any], counts: list[int]) -> Op:
    """In which bin of all each point lies; -1 outside."""
    place: Any = 0
    inside: Any = None
    for vector, edge, count in zip(vectors, edges, counts, strict=True):
        along = bin_places(vector, edge, count)
        there = logical_and(along >= 0, along < count)
        place, inside = add(multiply(place, count), along), there if inside is None else logical_and(inside, there)
    return where(inside, place, -1)


def _dense(found: Op, edges: list[Op]) -> Op:
    whole = total(found)
    for axis, edge in enumerate(edges):
        width = astype(diff(edge), FLOAT64)
        found = divide(found, reshape(width, (-1,) + (1,) * (len(edges) - axis - 1)))
    return divide(found, whole)


def _edges(call: str, bins: Any, range: Any, dtype: DType) -> Any:
    """Edges that are given, or those of so many bins of one width; they are floats of the dtype, if it is one."""
    if isinstance(bins, Op) or not hasattr(bins, "__index__") or np.ndim(bins):
        order_of(call, bins)
        return as_edges(bins, dtype)
    count = checked(call, as_index, bins, "bins")
    if range is None:
        what = f"{call}: the edges of {count} bins would depend on values"
        raise ArgumentError(what, where=user_line(), do="give a range, or the edges")
    ends = known_array(call, "range", range)
    if ends.shape != (2,):
        raise ArgumentError(f"{call}: range is {range!r}", where=user_line(), do="give two numbers")
    low, high = ends.tolist()
    if count < 1 or not -math.inf < low <= high < math.inf:
        what = f"{call}: {count} bins from {low} to {high}"
        raise AttributeValueError(what, where=user_line(), do="give at least 1, and a finite range that ascends")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, count + 1, dtype=dtype if is_float(dtype) else FLOAT64)
