# SPDX-License-Identifier: Apache-2.0
"""Ops the GPU target adds to the base set: what a library of its maker does in one call, where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.ops.semi_products import batch_dot
from ngraph_rewrite.ops.semi_reduce import dot
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType

REALS = ("float16", "bfloat16", "float32", "float64")


def _gemm(term: Op, x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.matmul(x, y)


@op("cuda.gemm", meaning=_gemm, below="semi.dot")
def gemm(x: TensorType, y: TensorType) -> TensorType:
    """As `semi.dot` of two matrices, or `semi.batch_dot` of many; of float16, bfloat16, float32 or float64."""
    if x.dtype.name not in REALS:
        raise DTypeError(f"gemm takes real numbers, not {x!r}", do=f"one of {', '.join(REALS)}")
    return batch_dot(x, y) if x.rank == 3 else dot(x, y)
