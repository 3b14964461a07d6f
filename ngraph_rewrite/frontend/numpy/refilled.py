# SPDX-License-Identifier: Apache-2.0
"""Elements of one array put in order into the places of another one, from the first again where they end.

NumPy's functions of these names, but for `resize`, change their argument; terms are immutable: these give a new one.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError, LengthError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import asarray, zeros
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_sum
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import not_equal, remainder, subtract, where
from ngraph_rewrite.frontend.numpy.manipulation import ravel, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, positional
from ngraph_rewrite.frontend.numpy.outside import brought_inside, mode_of, refuse_outside
from ngraph_rewrite.frontend.numpy.putting import at
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.frontend.numpy.searching import take
from ngraph_rewrite.ops.checks import extents, flag, listed
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, INT64
from ngraph_rewrite.types.lengths import Extent, product


def resize(x: Array, /, new_shape: Any) -> Op:
    """The elements of `x` in row-major order in another shape: as many as fit, from the first again where they end.

    What has no elements gives zeros.

    Raises:
        LengthError: for a negative length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.resize(ng.placeholder((3,)), (2, 4)).type
    float32[2, 4]
    """
    lengths = checked("resize", extents, listed(new_shape))
    return reshape(_repeated(ravel(x), product(lengths)), lengths)


def putmask(x: Array, /, mask: Array, values: Array) -> Op:
    """`x` with the n-th of `values` in its n-th place, where the mask is true; values are repeated if there are fewer.

    Args:
        mask: Truths, or numbers that are not 0, as many as `x` has elements.
        values: They are cast to the dtype of `x`.

    Raises:
        AxesError: for a mask of another size.
        LengthError: for no values.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 3))
    >>> ng.numpy.putmask(x, x > 1, [10, 20]).type
    float32[2, 3]
    """
    term, chosen, new = _masked("putmask", x, mask, values)
    return reshape(where(chosen, _repeated(new, term.size), ravel(term)), term.shape)


def place(x: Array, /, mask: Array, vals: Array) -> Op:
    """`x` with the n-th of `vals` in the n-th place where the mask is true; they are repeated if there are fewer.

    The arguments and errors are those of `putmask`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 3))
    >>> ng.numpy.place(x, x > 1, [10, 20]).type
    float32[2, 3]
    """
    term, chosen, new = _masked("place", x, mask, vals)
    which = subtract(cumulative_sum(astype(chosen, INT64)), 1)
    found = take(new, _turned(which, new.shape[0]))
    return reshape(where(chosen, found, ravel(term)), term.shape)


def put(x: Array, places: Array, values: Array, /, mode: str = "raise") -> Op:
    """`x` with `values` at places among all of its elements in row-major order; values are repeated if there are fewer.

    Args:
        places: Integers; negative ones count from the end. Where one repeats, the last value is there.
        values: They are cast to the dtype of `x`.
        mode: What a place outside means: ``"wrap"``, what is left when divided by the number of elements; ``"clip"``,
            the nearest place. With ``"raise"`` one that is known is refused, and others are dropped.

    Raises:
        AttributeValueError: for another mode.
        DTypeError: for places that are not integers.
        LengthError: for no values.
        OutOfRangeError: for a place that is known, and outside.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.put(ng.placeholder((2, 3)), [0, -1], 7).type
    float32[2, 3]
    """
    mode_of("put", mode)
    term, index = positional("put", x), ravel(places)
    if index.dtype.kind not in "iu" and index.size != 0:
        raise DTypeError(f"put: expected integers, got {index.type!r}", where=user_line(), do="cast them")
    if mode == "raise" and not isinstance(places, Op) and isinstance(term.size, int):
        refuse_outside("put", places, -term.size, term.size, "elements")
    index = brought_inside(astype(index, INT64), term.size, mode)
    new = _repeated(_some("put", term, values, index.size), index.size)
    return reshape(at(ravel(term))[index].set(new), term.shape)


def fill_diagonal(x: Array, values: Array, /, wrap: bool = False) -> Op:
    """`x` with `values` on its main diagonal, repeated if there are fewer.

    Args:
        x: A matrix, or an array of more axes that have one length.
        values: They are cast to the dtype of `x`.
        wrap: Whether the diagonal begins again, a row further down, in a matrix with more rows than columns.

    Raises:
        AxesError: for fewer than two axes, or more that differ in length.
        LengthError: for lengths that are not known yet, or no values.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fill_diagonal(ng.placeholder((3, 3)), 1).type
    float32[3, 3]
    """
    term = positional("fill_diagonal", x)
    shape = [checked("fill_diagonal", known_length, n, f"axis {k}") for k, n in enumerate(term.shape)]
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        what = f"fill_diagonal: expected a matrix, or axes of one length, got {term.type!r}"
        raise AxesError(what, where=user_line(), do="put values at diag_indices: ng.numpy.at(x)[...].set(values)")
    step = sum(prod(shape[k + 1 :]) for k in range(len(shape)))
    whole = checked("fill_diagonal", flag, wrap, "wrap") or len(shape) > 2
    chosen = np.arange(0, prod(shape) if whole else min(prod(shape), shape[1] * shape[1]), step)
    new = _repeated(_some("fill_diagonal", term, values, len(chosen)), len(chosen))
    return reshape(at(ravel(term))[chosen].set(new), term.shape)


def _masked(call: str, x: Array, mask: Array, values: Array) -> tuple[Op, Op, Op]:
    """The term, the mask along one axis, and the values, of the dtype of the term."""
    term, chosen = positional(call, x), ravel(mask)
    if chosen.size != term.size:
        what = f"{call}: a mask {as_term(mask).type!r} for {term.type!r}"
        raise AxesError(what, where=user_line(), do="give one truth for each element")
    truths = chosen if chosen.dtype == BOOL else not_equal(chosen, 0)
    return term, truths, _some(call, term, values, term.size)


def _some(call: str, x: Op, values: Array, wanted: Extent) -> Op:
    """Values along one axis, of the dtype of `x`."""
    new = astype(ravel(as_term(values, [x])), x.dtype)
    if new.size == 0 and wanted != 0:
        raise LengthError(f"{call}: there are no values", where=user_line(), do="give at least one")
    return new


def _repeated(x: Op, count: Extent) -> Op:
    """So many elements of a vector, from the first again where it ends."""
    if x.size == count:
        return x
    if x.size == 0:
        return zeros((count,), dtype=x.dtype)
    return take(x, _turned(arange(count, dtype=INT64), x.size))


def _turned(places: Op, length: Extent) -> Op:
    return remainder(places, asarray(length))
