# SPDX-License-Identifier: Apache-2.0
"""Numbers of few bits, of which there are no terms: integers of 2 and 4 bits, floats of 4 and 8.

An array has such a dtype while a model is read. As terms they are the same numbers of a wider dtype.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from onnx import helper

from onnx_reader.files import dtype_of
from onnx_reader.table import Value, cast, is_term

INTEGERS: dict[np.dtype[Any], Any] = {
    np.dtype(ml_dtypes.int2): np.int8,
    np.dtype(ml_dtypes.int4): np.int8,
    np.dtype(ml_dtypes.uint2): np.uint8,
    np.dtype(ml_dtypes.uint4): np.uint8,
}
FLOATS = [
    np.dtype(getattr(ml_dtypes, name))
    for name in ("float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
]


def any_dtype_of(number: int) -> Any:
    """The dtype that ONNX has a number for, of few bits, too."""
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(number))
    return dtype if dtype in INTEGERS or dtype in FLOATS else dtype_of(number)


def limits(dtype: Any) -> tuple[int, int]:
    """The least and the greatest integer."""
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def widened(x: Value) -> Value:
    """Integers of few bits in a byte each."""
    return x.astype(INTEGERS[x.dtype]) if isinstance(x, np.ndarray) and x.dtype in INTEGERS else x


def converted(x: Value, dtype: Any, saturate: int = 1) -> Value:
    """Numbers in any dtype. Of integers of few bits those bits are kept; floats of few bits are the nearest."""
    dtype = np.dtype(dtype)
    if dtype in INTEGERS:
        return _as(_wrapped(cast(widened(x), INTEGERS[dtype]), *limits(dtype)), dtype)
    return nearest(x, dtype, saturate) if dtype in FLOATS else cast(x, dtype)


def _wrapped(x: Value, least: int, most: int) -> Value:
    own = np.bitwise_and(x, np.dtype(x.dtype).type(most - least))
    return own if least == 0 else np.bitwise_xor(own, np.int8(most + 1)) - np.int8(most + 1)


def _as(x: Value, dtype: Any) -> Value:
    """An array in a dtype of few bits; a term stays as it is."""
    return x if is_term(x) else np.asarray(x).astype(dtype)


def nearest(x: Value, dtype: Any, saturate: int = 1) -> Value:
    """The nearest floats of few bits, the even one of two. What is too large is the largest, or infinite, or NaN."""
    info, wide = ml_dtypes.finfo(dtype), x.dtype if np.dtype(x.dtype).itemsize >= 4 else np.float32
    most, bounded = float(info.max), saturate or dtype == ml_dtypes.float4_e2m1fn
    wide = np.float32 if np.dtype(wide).kind != "f" else wide
    x = np.clip(cast(x, wide), -most if bounded else -4 * most, most if bounded else 4 * most)
    step = np.ldexp(np.ones((), wide), np.frexp(x)[1] - 1 - info.nmant)
    step = np.maximum(step, np.asarray(float(info.smallest_normal) * 2.0**-info.nmant, wide))
    found = np.round(x / step) * step
    if not bounded:
        beyond = np.inf if dtype == ml_dtypes.float8_e5m2 else np.nan
        found = np.where(np.greater(np.abs(found), most), np.copysign(np.asarray(beyond, wide), found), found)
    unsigned = dtype in (ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz)  # their zero has no sign
    return _as(cast(np.where(np.equal(found, 0), 0, found) if unsigned else found, np.float32), dtype)
