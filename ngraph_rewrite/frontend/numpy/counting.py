# SPDX-License-Identifier: Apache-2.0
"""How often numbers stand somewhere, and in which bins elements lie. Numbers of bins are shapes, which are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import zeros
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import subtract, where
from ngraph_rewrite.frontend.numpy.manipulation import flip
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, known_array
from ngraph_rewrite.frontend.numpy.putting import at
from ngraph_rewrite.frontend.numpy.searching import searchsorted
from ngraph_rewrite.ops.checks import as_index, flag
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, INT64, DType, is_float
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
    return counted(astype(term, INT64), weights, length)


def digitize(x: Array, bins: Array, right: bool = False) -> Op:
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
    if not isinstance(bins, Op):
        order_of("digitize", bins)
        bins = as_edges(bins, as_term(x).dtype)
    edges, side = as_term(bins), "left" if checked("digitize", flag, right, "right") else "right"
    if not isinstance(bins, Op) and order_of("digitize", bins) < 0:
        count = checked("digitize", known_length, edges.shape[0], "bins")
        return subtract(count, searchsorted(flip(edges), x, side=side))
    return searchsorted(edges, x, side=side)


def counted(places: Op, weights: Array | None, length: Extent) -> Op:
    """Ones or weights added up at places; those outside, at both ends, are dropped."""
    inside = where(places < 0, length, places)
    if weights is None:
        return at(zeros((length,), dtype=INT64))[inside].add(1)
    return at(zeros((length,), dtype=FLOAT64))[inside].add(astype(as_term(weights), FLOAT64))


def as_edges(bins: Any, dtype: DType) -> Any:
    """Edges that are known: numbers of Python among elements of float64, or of integers, are float64."""
    if hasattr(bins, "dtype") or np.asarray(bins).dtype.kind != "f" or (is_float(dtype) and dtype != FLOAT64):
        return bins
    return np.asarray(bins, FLOAT64)


def order_of(call: str, bins: Any) -> int:
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
