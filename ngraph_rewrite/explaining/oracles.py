# SPDX-License-Identifier: Apache-2.0
"""What says of a result whether it is right: the expected arrays, but for rounding, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.computation import Computation
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, is_float

# What says whether a result is right: arrays in the structure of the graph, or a function of the result.
Oracle = Any
# Relative differences that are taken for rounding, by the size of a float.
TOLERANCE = {FLOAT16: 1e-2, BFLOAT16: 8e-2, FLOAT32: 1e-4, FLOAT64: 1e-9}


def result_of(computation: Computation, inputs: Mapping[Op, Any] | Sequence[Any]) -> Any:
    """The result of a computation for inputs by placeholder, or in order."""
    return computation(feed_dict=inputs) if isinstance(inputs, Mapping) else computation(*inputs)


def judge_of(oracle: Oracle) -> Callable[[Any], bool]:
    """What says of a result whether it is right."""
    if callable(oracle):
        return lambda result: bool(oracle(result))
    return lambda result: is_close(result, oracle)


def is_close(result: Any, expected: Any) -> bool:
    """Whether two structures of arrays are equal but for rounding."""
    if isinstance(expected, Mapping):
        return isinstance(result, Mapping) and all(is_close(result[k], v) for k, v in expected.items())
    if isinstance(expected, list | tuple) and isinstance(result, list | tuple):
        if len(result) != len(expected):
            what = f"the oracle has {len(expected)} arrays, the graph {len(result)}"
            raise ArgumentError(what, where=user_line(), do="give one for each op")
        return all(map(is_close, result, expected))
    if expected is None:
        return True
    one, other = np.asarray(result), np.asarray(expected)
    if one.shape != other.shape:
        what = f"the oracle has shape {other.shape}, the result {one.shape}"
        raise ArgumentError(what, where=user_line(), do="give an array of the shape of the op")
    if not is_float(one.dtype):
        return bool(np.array_equal(one, other))
    tolerance = TOLERANCE[one.dtype]
    scale = np.max(np.abs(other[np.isfinite(other)]), initial=0.0) if is_float(other.dtype) else 1.0
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance * float(scale), equal_nan=True))
