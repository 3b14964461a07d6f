# SPDX-License-Identifier: Apache-2.0
"""What values choose, in as many places as are asked for: a shape cannot depend on values, and so ``size`` says it.

The first `size` of what is chosen are given, and `fill_value` behind them where there are fewer (as JAX has it). Of
arrays, which are known, all are given if nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AxesError
from ngraph_rewrite.frontend.numpy.creation import full
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_sum
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import less, logical_and, not_equal, subtract, where
from ngraph_rewrite.frontend.numpy.grids import unravel_index
from ngraph_rewrite.frontend.numpy.joining import stack
from ngraph_rewrite.frontend.numpy.manipulation import ravel, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.putting import at
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.frontend.numpy.searching import take
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, INT64


def size_of(call: str, size: Any, known: Callable[[], int], *given: Any) -> Any:
    """How many places are asked for, or how many there are, if all that is given is known.

    Raises:
        ArgumentError: if it would depend on values.
    """
    if size is not None:
        return size
    if any(isinstance(x, Op) for x in given):
        what = f"{call}: how many there are depends on values, and no shape can"
        raise ArgumentError(what, where=user_line(), do="say how many are wanted: size=...")
    return known()


def gathered(chosen: Op, values: Op, size: Any, fill: Array) -> Op:
    """The values of a vector that are chosen, by a vector of truths, one behind the other.

    Args:
        fill: What stands behind them.
    """
    places = places_of(chosen, size)
    behind = full((size,), fill, dtype=values.dtype)
    return where(less(places, chosen.shape[0]), take(values, places), behind)


def places_of(chosen: Op, size: Any) -> Op:
    """The places at which a vector is true, one behind the other, and behind them its length."""
    length = chosen.shape[0]
    places = subtract(cumulative_sum(astype(chosen, INT64)), 1)
    start = full((size,), length, dtype=INT64)
    return at(start)[where(chosen, places, start.shape[0])].set(arange(length, dtype=INT64))  # outside it is dropped


def nonzero(x: Array, /, *, size: Any = None, fill_value: Array = 0) -> tuple[Op, ...]:
    """The places of the first `size` elements that are not zero, in row-major order: for each axis a vector of int64.

    Args:
        size: How many: it may be left out for an array.
        fill_value: What stands behind the places of all there are.

    Raises:
        AxesError: for a number.
        ArgumentError: for a term without `size`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 3))
    >>> rows, columns = ng.numpy.nonzero(x, size=4, fill_value=-1)
    >>> with ng.make_transformer("cpu") as transformer:
    ...     print(*transformer.computation([rows, columns], x)([[0, 5, 6], [7, 0, 0]]))
    [ 0  0  1 -1] [ 1  2  0 -1]
    """
    term = as_term(x)
    if not term.rank:
        raise AxesError("nonzero: expected an axis, got a number", where=user_line(), do="reshape it to (1,)")
    wanted = size_of("nonzero", size, lambda: int(np.count_nonzero(np.asarray(x))), x)
    flat = ravel(_truths(term))
    length = flat.shape[0]
    found = places_of(flat, wanted)
    there = less(found, length)
    places = (found,) if term.rank == 1 else unravel_index(found, term.shape)
    return tuple(where(there, place, fill_value) for place in places)


def flatnonzero(x: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The places of the first `size` elements that are not zero, counted through all: see `nonzero`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.flatnonzero(ng.placeholder((2, 3)), size=4).type
    int64[4]
    """
    wanted = size_of("flatnonzero", size, lambda: int(np.count_nonzero(np.asarray(x))), x)
    return nonzero(ravel(x), size=wanted, fill_value=fill_value)[0]


def argwhere(x: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The places of the first `size` elements that are not zero as rows (size, rank): see `nonzero`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.argwhere(ng.placeholder((2, 3)), size=4).type
    int64[4, 2]
    """
    wanted = size_of("argwhere", size, lambda: int(np.count_nonzero(np.asarray(x))), x)
    return stack(nonzero(x, size=wanted, fill_value=fill_value), axis=-1)


def compress(condition: Array, x: Array, /, axis: int | None = None, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The first `size` slices of `x` along an axis, or elements of all of it, where a vector is true.

    Args:
        condition: Truths, no more than there are slices.
        axis: The axis; None stands for all elements, in row-major order.
        size: How many: it may be left out if the condition is an array.
        fill_value: What stands behind all there are.

    Raises:
        AxesError: if the condition is no vector.
        ArgumentError: for a term as the condition without `size`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((4, 2))
    >>> ng.numpy.compress(x[:, 0] > 0, x, axis=0, size=3).type
    float32[3, 2]
    """
    truths, whole = _truths(as_term(condition)), ravel(x) if axis is None else as_term(x)
    if truths.rank != 1:
        what = f"compress: the condition is {truths.type!r}"
        raise AxesError(what, where=user_line(), do="give a vector; ng.numpy.extract takes truths of the shape of `x`")
    wanted = size_of("compress", size, lambda: int(np.count_nonzero(np.asarray(condition))), condition)
    along = 0 if axis is None else axis
    places = places_of(truths, wanted)
    taken = take(whole, places, axis=along)
    shape = (*(1 for _ in range(along % whole.rank)), -1, *(1 for _ in range(whole.rank - 1 - along % whole.rank)))
    there = less(places, truths.shape[0])
    if truths.shape[0] != whole.shape[along]:
        there = logical_and(there, less(places, whole.shape[along]))
    return where(reshape(there, shape), taken, full((), fill_value, dtype=whole.dtype))


def extract(condition: Array, x: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The first `size` elements of `x` where truths of its shape are true, in row-major order: ``x[condition]``.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((4, 2))
    >>> ng.numpy.extract(x > 0, x, size=3).type
    float32[3]
    """
    wanted = size_of("extract", size, lambda: int(np.count_nonzero(np.asarray(condition))), condition)
    return compress(ravel(condition), ravel(x), size=wanted, fill_value=fill_value)


def _truths(x: Op) -> Op:
    return x if x.dtype == BOOL else not_equal(x, 0)
