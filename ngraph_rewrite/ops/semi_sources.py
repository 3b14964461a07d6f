# SPDX-License-Identifier: Apache-2.0
"""Semi ops without arguments: counting, lengths known only at run time, and random draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.ops.checks import as_int, extent, extents, float_only, identity, literal, numeric, position, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.lengths import Extent, known
from ngraph_rewrite.types.tensor import TensorType


def _iota_attributes(*, shape: Any, axis: Any, dtype: Any) -> Attributes:
    lengths = extents(shape)
    return {"shape": lengths, "axis": position(axis, len(lengths)), "dtype": as_dtype(dtype)}


def _iota(term: Op) -> Any:
    shape, axis = tuple(known(n) for n in term.shape), term.attribute("axis")
    line = np.arange(shape[axis]).astype(term.dtype).reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return np.broadcast_to(line, shape)


@op("semi.iota", "source", meaning=_iota, normalise=_iota_attributes)
def iota(*, shape: tuple[Extent, ...], axis: int, dtype: DType) -> TensorType:
    """The position along `axis`: 0, 1, 2, ...; any numeric dtype, a tensor of `shape`."""
    result = tensor(dtype, shape)
    numeric(result)
    return result


def _size_attributes(*, value: Any, dtype: Any) -> Attributes:
    return {"value": extent(value), "dtype": as_dtype(dtype)}


def _size(term: Op) -> Any:
    """A length as a cast makes it: one that a dtype does not have wraps around, or is infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(known(term.attribute("value"))).astype(term.dtype)


@op("semi.size", "source", meaning=_size, normalise=_size_attributes)
def size(*, value: Extent, dtype: DType) -> TensorType:
    """A length as a scalar; it may be known only when arguments are."""
    as_int(value if isinstance(value, int) else 0, "value")
    return TensorType(dtype)


def _uniform_attributes(*, shape: Any, dtype: Any, low: Any, high: Any, uid: Any) -> Attributes:
    dtype = as_dtype(dtype)
    return {
        "shape": extents(shape),
        "dtype": dtype,
        "low": literal(low, dtype),
        "high": literal(high, dtype),
        "uid": identity(uid),
    }


@op("semi.uniform", "source", "draw", normalise=_uniform_attributes)
def uniform(*, shape: tuple[Extent, ...], dtype: DType, low: Literal, high: Literal, uid: Uid) -> TensorType:
    """Independent draws from [low, high), one per element and execution; float dtypes."""
    result = tensor(dtype, shape)
    float_only(result)
    return result


def _normal_attributes(*, shape: Any, dtype: Any, loc: Any, scale: Any, uid: Any) -> Attributes:
    dtype = as_dtype(dtype)
    return {
        "shape": extents(shape),
        "dtype": dtype,
        "loc": literal(loc, dtype),
        "scale": literal(scale, dtype),
        "uid": identity(uid),
    }


@op("semi.normal", "source", "draw", normalise=_normal_attributes)
def normal(*, shape: tuple[Extent, ...], dtype: DType, loc: Literal, scale: Literal, uid: Uid) -> TensorType:
    """Independent draws from a normal distribution of mean `loc` and deviation `scale`; float dtypes."""
    result = tensor(dtype, shape)
    float_only(result)
    return result
