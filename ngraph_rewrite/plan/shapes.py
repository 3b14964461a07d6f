# SPDX-License-Identifier: Apache-2.0
"""What the planner asks of types again and again: shapes as integers, names of dtypes; looked up, not worked out."""

from __future__ import annotations

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DTYPES

DTYPE_NAMES = {dtype: dtype.name for dtype in DTYPES}
DTYPE_SIZES = {dtype.name: dtype.itemsize for dtype in DTYPES}


def known(term: Op) -> tuple[int, ...]:
    """The shape of a term all of whose lengths are bound."""
    return term.type.axes.lengths  # type: ignore[return-value]
