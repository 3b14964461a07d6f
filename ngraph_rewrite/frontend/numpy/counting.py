# SPDX-License-Identifier: Apache-2.0
"""How many elements fall into bins. Numbers of bins are shapes, and so have to be known where the graph is built."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import zeros
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import divide, equal, subtract, where
from ngraph_rewrite.frontend.numpy.manipulation import flip, ravel
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, known_array
from ngraph_rewrite.frontend.numpy.putting import at
from ngraph_rewrite.frontend.numpy.searching import searchsorted
from ngraph_rewrite.frontend.numpy.statistical import diff
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import as_index, flag
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, INT64, is_float
from ngraph_rewrite.types.lengths import Extent, Length


def bincount(x: Array, /, weights: Array | None = None, minlength: Extent = 0) -> Op:
    """How often each of the numbers 0, 1, 2, ... stands in a vector, as int64; or the sums of weights, as float64.

    Args:
        x: Integers. If they are a term, numbers from `minlength` on, and negative ones, are not counted.
        minlength: How many numbers are counted; if `x` is known, more if there are greater ones. Of a term it may be a
            length that is not known yet.

    Raises:
        ArgumentError: for a term without `minlength`.
        AxesError: for what is no vector.
        DTypeError: for what are no integers.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.bincount([0, 3, 3, 1], minlength=5))()
    array([1, 1, 0, 2, 0])
    """
    term, later = as_term(x), isinstance(x, Op) and isinstance(minlength, Length)
    length: Any = minlength if later else checked("bincount", as_index, minlength, "minlength")
    if term.rank != 1:
        raise AxesError(f"bincount: expected a vector, got {term.type!r}", where=user_line(), do="ravel it")
    if term.dtype.kind not in "iu" and term.size != 0:
        raise DTypeError(f"bincount: expected integers, got {term.type!r}", where=user_line(), do="cast them")
    if not isinstance(x, Op):
        length = max(length, *(int(n) + 1 for n in np.asarray(x).tolist()), 0)
    elif not later and length < 1:
        what = "bincount: how many numbers are counted would depend on values"
        raise ArgumentError(what, where=user_line(), do="give minlength")
    return _counted(astype(term, INT64), weights, length)


def digitize(x: Array, bins: Array, /, right: bool = False) -> Op:
    """In which bin each element lies, as int64: 0 below the first edge, as many as there are edges above the last.

    Args:
        bins: The edges, in ascending order; known ones may be in descending order.
        right: Whether an edge belongs to the bin below it.

    Raises:
        AttributeValueError: for known edges that are in no order.
        AxesError: if they are no vector.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.digitize(ng.placeholder((2, 3)), [0.0, 0.5, 1.0]).type
    int64[2, 3]
    """
    edges, side = as_term(bins), "left" if checked("digitize", flag, right, "right") else "right"
    if not isinstance(bins, Op) and _order("digitize", bins) < 0:
        count = checked("digitize", known_length, edges.shape[0], "bins")
        return subtract(count, searchsorted(flip(edges), x, side=side))
    return searchsorted(edges, x, side=side)


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
        AttributeValueError: for edges that do not ascend, or fewer than one bin.

    >>> import ngraph_rewrite as ng
    >>> counts, edges = ng.numpy.histogram(ng.placeholder((100,)), [0.0, 0.5, 1.0])
    >>> counts.type, edges.type
    (int64[2], float32[3])
    """
    term = ravel(x)
    edges = as_term(bins if isinstance(bins, Op) else _edges(bins, range, term))
    count = checked("histogram", known_length, edges.shape[0], "bins") - 1
    place = subtract(searchsorted(edges, term, side="right"), 1)
    last = equal(term, edges[count])
    share = None if weights is None else ravel(weights)
    found = _counted(where(last, count - 1, place), share, count)
    if weights is not None:
        found = astype(found, as_term(weights).dtype)
    if checked("histogram", flag, density, "density"):
        found = divide(divide(found, astype(diff(edges), FLOAT64)), total(found))
    return found, edges


def _counted(places: Op, weights: Array | None, length: Extent) -> Op:
    """Ones or weights added up at places; those outside, at both ends, are dropped."""
    inside = where(places < 0, length, places)
    if weights is None:
        return at(zeros((length,), dtype=INT64))[inside].add(1)
    return at(zeros((length,), dtype=FLOAT64))[inside].add(astype(as_term(weights), FLOAT64))


def _order(call: str, bins: Any) -> int:
    """1 for ascending edges, -1 for descending ones."""
    array = known_array(call, "bins", bins)
    if array.ndim != 1:
        raise AxesError(f"{call}: bins is {bins!r}", where=user_line(), do="give a vector of edges")
    steps = np.diff(array)
    if (steps >= 0).all():
        return 1
    if call == "digitize" and (steps <= 0).all():
        return -1
    raise AttributeValueError(f"{call}: bins is {bins!r}", where=user_line(), do="put the edges in order")


def _edges(bins: Any, range: Any, x: Op) -> Any:
    if not hasattr(bins, "__index__") or np.ndim(bins):
        _order("histogram", bins)
        return bins
    count = checked("histogram", as_index, bins, "bins")
    if range is None:
        what = f"histogram: the edges of {count} bins would depend on values"
        raise ArgumentError(what, where=user_line(), do="give a range, or the edges")
    ends = known_array("histogram", "range", range)
    if ends.shape != (2,):
        raise ArgumentError(f"histogram: range is {range!r}", where=user_line(), do="give two numbers")
    low, high = ends.tolist()
    if count < 1 or not low <= high:
        what = f"histogram: {count} bins from {low} to {high}"
        raise AttributeValueError(what, where=user_line(), do="give at least 1, and a range that ascends")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, count + 1, dtype=x.dtype if is_float(x.dtype) else FLOAT64)
