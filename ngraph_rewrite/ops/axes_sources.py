# SPDX-License-Identifier: Apache-2.0
"""Axes ops that make tensors of nothing but axes: lengths as scalars, and random draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import UnmatchedAxesError
from ngraph_rewrite.ops.alignment import some_of
from ngraph_rewrite.ops.checks import extent, float_only, identity, literal, named
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.lengths import Extent, known
from ngraph_rewrite.types.tensor import TensorType


def _length(number: Any, dtype: Any) -> Any:
    """A length as a cast makes it: one that a dtype does not have wraps around, or is infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(number).astype(dtype)


def _size_attributes(*, value: Any, dtype: Any) -> Attributes:
    return {"value": extent(value), "dtype": as_dtype(dtype)}


@op(
    "axes.size",
    "source",
    meaning=lambda term: _length(known(term.attribute("value")), term.dtype),
    normalise=_size_attributes,
)
def size(*, value: Extent, dtype: DType) -> TensorType:
    """A length as a scalar; it may be known only when arguments are."""
    return TensorType(dtype)


def _tensor_size_attributes(x: TensorType, *, axes: Any, dtype: Any) -> Attributes:
    return {"axes": some_of(x.axes, axes), "dtype": as_dtype(dtype)}


def _tensor_size(term: Op, x: Any) -> Any:
    chosen = [n for a, n in zip(term.args[0].axes, x.shape, strict=True) if a in term.attribute("axes")]
    return _length(np.prod(chosen, dtype=np.int64), term.dtype)


@op("axes.tensor_size", meaning=_tensor_size, normalise=_tensor_size_attributes)
def tensor_size(x: TensorType, *, axes: Axes, dtype: DType) -> TensorType:
    """The number of elements of `x` along `axes`, a scalar."""
    named(x)
    return TensorType(dtype)


def _batch_size_attributes(x: TensorType, *, dtype: Any) -> Attributes:
    return {"dtype": as_dtype(dtype)}


def _batch_size(term: Op, x: Any) -> Any:
    batch = term.args[0].axes.batch_axis()
    assert batch is not None
    return _length(x.shape[term.args[0].axes.index(batch)], term.dtype)


@op("axes.batch_size", meaning=_batch_size, normalise=_batch_size_attributes)
def batch_size(x: TensorType, *, dtype: DType) -> TensorType:
    """The length of the sample axis of `x`, a scalar."""
    named(x)
    if x.axes.batch_axis() is None:
        raise UnmatchedAxesError(f"{x!r} has no sample axis", do='name one axis N, or give it the role "sample"')
    return TensorType(dtype)


def _uniform_attributes(*, axes: Any, dtype: Any, low: Any, high: Any, uid: Any) -> Attributes:
    dtype = as_dtype(dtype)
    return {
        "axes": Axes(axes),
        "dtype": dtype,
        "low": literal(low, dtype),
        "high": literal(high, dtype),
        "uid": identity(uid),
    }


@op("axes.uniform", "source", "draw", normalise=_uniform_attributes)
def uniform(*, axes: Axes, dtype: DType, low: Literal, high: Literal, uid: Uid) -> TensorType:
    """Independent draws from [low, high), one per element and execution; float dtypes."""
    result = TensorType(dtype, axes)
    named(result)
    float_only(result)
    return result


def _normal_attributes(*, axes: Any, dtype: Any, loc: Any, scale: Any, uid: Any) -> Attributes:
    dtype = as_dtype(dtype)
    return {
        "axes": Axes(axes),
        "dtype": dtype,
        "loc": literal(loc, dtype),
        "scale": literal(scale, dtype),
        "uid": identity(uid),
    }


@op("axes.normal", "source", "draw", normalise=_normal_attributes)
def normal(*, axes: Axes, dtype: DType, loc: Literal, scale: Literal, uid: Uid) -> TensorType:
    """Independent draws from a normal distribution of mean `loc` and deviation `scale`; float dtypes."""
    result = TensorType(dtype, axes)
    named(result)
    float_only(result)
    return result
