# SPDX-License-Identifier: Apache-2.0
"""Random integers of a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import floor
from ngraph_rewrite.frontend.numpy.operands import Array, as_number, as_term
from ngraph_rewrite.frontend.numpy.random_parameters import Size, wanted
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import FLOAT64, INT64, DType, as_dtype
from ngraph_rewrite.types.lengths import Length

_SPAN = 2**52  # so many integers a float64 from [0, 1) tells apart


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
