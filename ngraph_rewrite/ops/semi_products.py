# SPDX-License-Identifier: Apache-2.0
"""Many matrix products at once: the one contraction that all others are, after reordering their axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops.checks import positional, same_dtype, tensor
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType


def _batch_dot(term: Op, x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.matmul(x, y)


@op("semi.batch_dot", meaning=_batch_dot)
def batch_dot(x: TensorType, y: TensorType) -> TensorType:
    """The matrix products of `x` (b, m, k) and `y` (b, k, n), one for each b.

    Integers wrap; of bool it is "any of all"; floats of 16 bits are summed in float32.
    """
    positional(x, y)
    same_dtype(x, y)
    if x.rank != 3 or y.rank != 3 or x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        what = f"expected shapes (b, m, k) and (b, k, n), got {x!r} and {y!r}"
        raise AxesError(what, do="reshape, transpose or broadcast them")
    return tensor(x.dtype, (x.shape[0], x.shape[1], y.shape[2]))
