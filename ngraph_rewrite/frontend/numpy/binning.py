# SPDX-License-Identifier: Apache-2.0
"""In which bin each element lies: searched for, or, where bins are of one width, computed and compared with one edge.

What is computed is exact all the same. The place of an element among edges is a monotone function of it, which is asked
where the graph is built whether it is near enough at every edge. Integers of 8 bits are looked up in a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.frontend.numpy.creation import zeros
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import (
    equal,
    greater_equal,
    less,
    less_equal,
    logical_and,
    minimum,
    multiply,
    subtract,
    where,
)
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.putting import at
from ngraph_rewrite.frontend.numpy.searching import searchsorted, take
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BFLOAT16, FLOAT32, FLOAT64, INT32, INT64, DType, promote

# What is computed is so near to the number of an edge; added to it, so that it is rounded to this number or the next.
_NEAR, _ABOVE = 0.2, 0.7
# Above this, float32 has no such fractions.
_MOST = 1 << 16
_BYTES = ("int8", "uint8")


def bin_places(x: Op, edges: Array, count: int) -> Op:
    """In which of `count` bins each element lies; below 0, or `count`, outside. The last edge is in the last bin.

    >>> import ngraph_rewrite as ng
    >>> bin_places(ng.placeholder((5,)), [0.0, 0.5, 1.0], 2).type
    int32[5]
    """
    known = _known(edges)
    if known is not None and str(x.dtype) in _BYTES and count > 0:
        return take(_table(x.dtype, known), _number(x))
    if known is not None and _is_even(known, promote(known.dtype, x.dtype)):
        return _computed(x, known)
    term = as_term(edges)
    place = subtract(searchsorted(term, x, side="right"), 1)
    return where(equal(x, term[count]), count - 1, place)


def bytes_in_bins(x: Op, edges: Array, count: int) -> Op | None:
    """How many integers of 8 bits lie in each bin, as int64: those of each value are counted, then values in bins.

    None for other elements, and for edges that are not known.
    """
    known = _known(edges)
    if known is None or str(x.dtype) not in _BYTES or count < 1:
        return None
    each = at(zeros((256,), dtype=INT64))[_number(x)].add(1)
    places = _table(x.dtype, known)
    return at(zeros((count + 1,), dtype=INT64))[np.where(places < 0, count, places)].add(each)[:count]


def _known(edges: Array) -> NDArray[Any] | None:
    """The edges as they are compared, if they are known."""
    if isinstance(edges, Op):
        return None
    dtype = as_term(edges).dtype
    return None if dtype == BFLOAT16 else np.asarray(edges).astype(dtype)


def _number(x: Op) -> Op:
    """The numbers from 0 to 255 of integers of 8 bits in ascending order."""
    return astype(x, INT32) - int(np.iinfo(x.dtype).min)


def _table(dtype: DType, edges: NDArray[Any]) -> NDArray[Any]:
    """In which bin each integer of 8 bits lies; -1 for none."""
    low, common = int(np.iinfo(dtype).min), promote(edges.dtype, dtype)
    values, edges = np.arange(low, low + 256).astype(common), edges.astype(common)
    places = np.searchsorted(edges, values, side="right") - 1
    places = np.where(values == edges[-1], len(edges) - 2, places)
    return np.where(places >= len(edges) - 1, -1, places).astype(INT32)


def _is_even(edges: NDArray[Any], common: DType) -> bool:
    """Whether `_computed` finds the bins of all elements between these edges."""
    count = len(edges) - 1
    if not 1 <= count <= _MOST or common == BFLOAT16 or not np.isfinite(edges).all():
        return False
    low, scale, work = _line(edges, common)
    with np.errstate(all="ignore"):
        places = (edges.astype(common).astype(work) - low) * scale
        return bool((np.abs(places - np.arange(count + 1)) <= _NEAR).all())


def _line(edges: NDArray[Any], common: DType) -> tuple[Any, Any, DType]:
    """Where bins begin, how many there are to a unit, and the dtype in which places are computed."""
    work = FLOAT64 if common.kind in "biu" else promote(common, FLOAT32)
    first, last = edges[[0, -1]].astype(common).astype(work)
    with np.errstate(all="ignore"):
        return first, work.type((len(edges) - 1) / (last - first)), work


def _computed(x: Op, edges: NDArray[Any]) -> Op:
    """The place of one width's bins: the one that is computed, or the one before if the edge between is above."""
    count, common = len(edges) - 1, promote(edges.dtype, x.dtype)
    low, scale, work = _line(edges, common)
    edges, x = edges.astype(common), astype(x, common)
    inside = logical_and(greater_equal(x, edges[0]), less_equal(x, edges[count]))
    place = multiply(subtract(astype(x, work), low), scale) + _ABOVE
    guess = astype(where(inside, place, 0.0), INT32)
    found = subtract(guess, astype(less(x, take(edges, guess)), INT32))
    return where(inside, minimum(found, count - 1), -1)
