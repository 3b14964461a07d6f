# SPDX-License-Identifier: Apache-2.0
"""Random integers: of a range, and how often something happens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import ceil, clip, floor, log, log1p
from ngraph_rewrite.frontend.numpy.operands import Array, as_number, as_term
from ngraph_rewrite.frontend.numpy.random_parameters import Size, check_probability, drawn, wanted
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import as_int
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import FLOAT64, INT64, DType, as_dtype
from ngraph_rewrite.types.lengths import Length, product

_SPAN = 2**52  # so many integers a float64 from [0, 1) tells apart
_MOST_DRAWN = 2**28  # so many numbers are drawn for attempts, all at once


def integers(
    low: Array, high: Array | None = None, size: Size = None, dtype: Any = "int64", endpoint: bool = False
) -> Op:
    """Integers from [low, high), or from [0, low) if `high` is None.

    Args:
        low, high: Integers, lengths that are not known yet, or terms, which are broadcast.
        size: A length, several, or None for as many as parameters have.
        dtype: Of the result.
        endpoint: Whether `high` itself may be drawn.

    Raises:
        AttributeValueError: if there are none, more than 2**52, or some that the dtype does not have.
        DTypeError: if an end is no integer, or the dtype is none of integers.
        AxesError: if the parameters do not broadcast to the size.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.integers(1, 6, (2, 3), endpoint=True).type
    int64[2, 3]
    """
    low, high = (0, low) if high is None else (low, high)
    kind = checked("integers", as_dtype, dtype)
    if kind.kind not in "biu":
        raise DTypeError(f"integers: expected an integer dtype, got {kind}", where=user_line(), do="cast the integers")
    least, most = _whole(low), _whole(high)
    asked = wanted("integers", size, FLOAT64, least, most)
    _check_range(low, high, 0 if endpoint else 1, None if 0 in asked.shape else kind)
    span = astype(most - least, FLOAT64) + int(endpoint)
    return astype(astype(floor(asked.uniform() * span), INT64) + least, kind)


def _whole(given: Array) -> Op:
    """An end of a range as int64. An unsigned one wraps around, and differences are right all the same.

    Raises:
        DTypeError: if it is no integer.
    """
    if isinstance(given, int | np.integer):
        return as_number((int(given) + 2**63) % 2**64 - 2**63, INT64)
    term = as_number(given) if isinstance(given, Length) else as_term(given)
    if term.dtype.kind not in "biu":
        what = f"integers: an end of the range is {describe(term, 1)} of {term.type!r}"
        raise DTypeError(what, where=user_line(), do="round it, and cast it to int64")
    return astype(term, INT64)


def _check_range(low: Array, high: Array, more: int, kind: DType | None) -> None:
    """Refuse a range that is known and has no integers, too many, or some that the dtype has not; none is of none."""
    if kind is None or isinstance(low, Op | Length) or isinstance(high, Op | Length):
        return
    least, most = np.asarray(low).astype(object), np.asarray(high).astype(object) - more
    first, last = (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    fits = np.all(first <= least) and np.all(most <= last)
    if not (fits and np.all(0 <= most - least) and np.all(most - least < _SPAN)):
        do = "give a range of 1 to 2**52 integers that the dtype has"
        raise AttributeValueError(f"integers: {least} to {most} as {kind}", where=user_line(), do=do)


def binomial(n: int, p: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How many of `n` attempts succeed, each with probability `p`: n numbers are drawn for each.

    Args:
        p: A number, or a term, which is broadcast.
        size: A length, several, or None for as many as `p` has.

    Raises:
        ArgumentError: if `n` is negative.
        AttributeValueError: if it is no integer that the dtype has, `p` is a number that is no probability, or more
            than 2**28 numbers would be drawn, which take 2 GiB.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.binomial(1, 0.9, (2, 3)).type
    int64[2, 3]
    """
    count = checked("binomial", as_int, n, "n")
    if count < 0:
        raise ArgumentError(f"binomial: n is {n!r}", where=user_line(), do="give 0 or more")
    kind = checked("binomial", as_dtype, dtype)
    if kind.kind in "iu" and count > np.iinfo(kind).max:
        what = f"binomial: n is {count}, and {kind} ends at {np.iinfo(kind).max}"
        raise AttributeValueError(what, where=user_line(), do="choose a wider dtype")
    check_probability("binomial", p)
    asked = wanted("binomial", size, FLOAT64, p)
    drawings = product((count, *asked.shape))
    if isinstance(drawings, int) and drawings > _MOST_DRAWN:
        what = f"binomial: {count} attempts for each of shape {asked.shape} are {drawings} numbers to draw at once"
        do = "give fewer, or round normal numbers, which so many come near to: normal(n * p, sqrt(n * p * (1 - p)))"
        raise AttributeValueError(what, where=user_line(), do=do)
    won = drawn((count, *asked.shape), FLOAT64) < asked.parameters[0]
    return total(won, axis=0, dtype=kind)


def geometric(p: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How many attempts it takes until one succeeds, each with probability `p`. All else is as of `binomial`.

    What the dtype has no room for is near the largest integer that it has.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.geometric(0.5, 3).type
    int64[3]
    """
    check_probability("geometric", p, zero=False)
    kind = checked("geometric", as_dtype, dtype)
    asked = wanted("geometric", size, FLOAT64, p)
    chance = asked.parameters[0]
    missed = log1p(-chance) if isinstance(chance, Op) else math.log1p(-chance) if chance < 1 else -math.inf
    return astype(clip(ceil(log(asked.positive()) / missed), 1, _largest(kind)), kind)


def _largest(kind: DType) -> float | None:
    """The largest float64 that an integer dtype has."""
    if kind.kind not in "iu":
        return None
    most = float(np.iinfo(kind).max)
    return most if int(most) <= np.iinfo(kind).max else float(np.nextafter(most, 0))
