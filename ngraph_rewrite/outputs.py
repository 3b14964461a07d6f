# SPDX-License-Identifier: Apache-2.0
"""Arrays that a caller gives for results, and what arguments need of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.arguments import check_output, refuse_overlaps
from ngraph_rewrite.returns import beside, has_value
from ngraph_rewrite.runtime.aligned import result_array
from ngraph_rewrite.terms.op import Op

Array = NDArray[Any]


def outputs(shapes: Sequence[tuple[int, ...]], handles: Sequence[Op], returns: Any, out: Any) -> list[Array]:
    """An array for each result: that in `out`, which has the structure of `returns`, or a new one where there is none.

    Args:
        handles: What has a value: those in `returns`, then others.

    Raises:
        ComputationError: if an array does not fit, or two share memory.
    """
    given = [array for handle, array in beside(returns, out) if has_value(handle)]
    given += [None] * (len(handles) - len(given))
    results = [
        result_array(shape, handle.dtype) if array is None else check_output(array, handle, shape)
        for handle, shape, array in zip(handles, shapes, given, strict=True)
    ]
    if len(results) > 1:
        refuse_overlaps(results)
    return results


def apart(array: Any, results: Sequence[Array]) -> Any:
    """An argument, or a copy of it if a result would overwrite it."""
    shared = isinstance(array, np.ndarray) and any(np.may_share_memory(array, result) for result in results)
    return array.copy() if shared else array
