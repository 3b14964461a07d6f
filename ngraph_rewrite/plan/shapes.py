# SPDX-License-Identifier: Apache-2.0
"""What the planner asks of types again and again: shapes as integers, sizes, names of dtypes; nothing is worked out."""

from __future__ import annotations

from math import prod

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DTYPES

DTYPE_NAMES = {dtype: dtype.name for dtype in DTYPES}
DTYPE_SIZES = {dtype.name: dtype.itemsize for dtype in DTYPES}


def known(term: Op) -> tuple[int, ...]:
    """The shape of a term all of whose lengths are bound."""
    return term.type.axes.lengths  # type: ignore[return-value]


def bytes_of(term: Op) -> int:
    """The bytes of all elements of such a term."""
    return prod(known(term)) * term.type.dtype.itemsize


def around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """The number of elements before an axis, along it and after it."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
