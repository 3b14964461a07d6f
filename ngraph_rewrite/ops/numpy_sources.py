# SPDX-License-Identifier: Apache-2.0
"""Numpy ops without arguments: evenly spaced numbers, and the identity matrix. Their lengths may be unknown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.ops.checks import as_int, extent, flag, literal, numeric, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, DType, as_dtype, is_float
from ngraph_rewrite.types.dtypes import wide as wide_dtype
from ngraph_rewrite.types.lengths import Extent, known
from ngraph_rewrite.types.tensor import TensorType


def _arange_attributes(*, start: Any, step: Any, length: Any, dtype: Any) -> Attributes:
    dtype = as_dtype(dtype)
    numeric(TensorType(dtype))
    return {
        "start": literal(start, dtype),
        "step": literal(step, dtype),
        "length": extent(length),
        "dtype": dtype,
    }


def _arange(term: Op) -> Any:
    """Computed in single precision for half, as NumPy does, and as an index times the step."""
    start, step, length, dtype = term.attrs
    wide = wide_dtype(dtype)
    with np.errstate(all="ignore"):
        places = np.arange(known(length)).astype(wide)
        return (places * step.array(()).astype(wide) + start.array(()).astype(wide)).astype(dtype)


@op("numpy.arange", "source", meaning=_arange, normalise=_arange_attributes)
def arange(*, start: Literal, step: Literal, length: Extent, dtype: DType) -> TensorType:
    """The numbers `start`, `start` + `step`, `start` + 2 `step`, ..., as many as `length` says."""
    return tensor(dtype, (length,))


def _linspace_attributes(*, start: Any, stop: Any, length: Any, endpoint: Any, dtype: Any) -> Attributes:
    dtype = as_dtype(dtype)
    numeric(TensorType(dtype))
    first, last = literal(start, FLOAT64), literal(stop, FLOAT64)
    count, whole = extent(as_int(length, "the number of elements")), flag(endpoint, "endpoint")
    if not is_float(dtype):
        _demand_integers(first.scalar, last.scalar, known(count), whole, dtype)
    return {"start": first, "stop": last, "length": count, "endpoint": whole, "dtype": dtype}


def _demand_integers(start: float, stop: float, length: int, endpoint: bool, dtype: DType) -> None:
    """Refuse what would be cast to integers that it does not fit: NumPy leaves the result open."""
    limits = np.iinfo(dtype)
    last = stop if endpoint else start + (stop - start) * (length - 1) / max(length, 1)
    if not all(math.isfinite(n) and limits.min <= math.floor(n) <= limits.max for n in (start, last)):
        raise DTypeError(f"the numbers from {start} to {stop} do not fit {dtype}", do="choose a wider dtype")


def _linspace(term: Op) -> Any:
    start, stop, length, endpoint, dtype = term.attrs
    with np.errstate(all="ignore"):
        found = np.linspace(start.scalar, stop.scalar, length, endpoint=endpoint)
        return (found if is_float(dtype) else np.floor(found)).astype(dtype)


@op("numpy.linspace", "source", meaning=_linspace, normalise=_linspace_attributes)
def linspace(*, start: Literal, stop: Literal, length: int, endpoint: bool, dtype: DType) -> TensorType:
    """Numbers evenly spaced from `start` to `stop`, which is the last one if `endpoint`; integers are rounded down."""
    return tensor(dtype, (length,))


def _eye_attributes(*, rows: Any, columns: Any, offset: Any, dtype: Any) -> Attributes:
    return {
        "rows": extent(rows),
        "columns": extent(columns),
        "offset": as_int(offset, "the offset of the diagonal"),
        "dtype": as_dtype(dtype),
    }


def _eye(term: Op) -> Any:
    rows, columns, offset, dtype = term.attrs
    return np.eye(known(rows), known(columns), offset, dtype)


@op("numpy.eye", "source", meaning=_eye, normalise=_eye_attributes)
def eye(*, rows: Extent, columns: Extent, offset: int, dtype: DType) -> TensorType:
    """1 on the diagonal that lies `offset` above the main one, 0 elsewhere."""
    return tensor(dtype, (rows, columns))
