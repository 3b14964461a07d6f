# SPDX-License-Identifier: Apache-2.0
"""What the planner asks of types again and again: shapes as integers, names of dtypes; looked up, not worked out."""

from __future__ import annotations

from functools import lru_cache

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DTYPES
from ngraph_rewrite.types.tensor import TensorType

DTYPE_NAMES = {dtype: dtype.name for dtype in DTYPES}


def known(term: Op) -> tuple[int, ...]:
    """The shape of a term all of whose lengths are bound."""
    return _known(term.type)


@lru_cache(maxsize=1 << 14)
def _known(type_: TensorType) -> tuple[int, ...]:
    return tuple([int(n) for n in type_.shape])  # type: ignore[arg-type]
