# SPDX-License-Identifier: Apache-2.0
"""Simple ops that make tensors of nothing but axes: lengths as scalars, and random draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.ops.checks import extent, float_only, identity, literal
from ngraph_rewrite.ops.simple_marks import Key, keys_of, marked, places, simple
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.lengths import Extent, known
from ngraph_rewrite.types.tensor import TensorType


def _size_attributes(*, value: Any, dtype: Any) -> Attributes:
    return {"value": extent(value), "dtype": as_dtype(dtype)}


@op(
    "simple.size",
    "source",
    meaning=lambda term: np.asarray(known(term.attribute("value")), term.dtype),
    normalise=_size_attributes,
)
def size(*, value: Extent, dtype: DType) -> TensorType:
    """A length as a scalar; it may be known only when arguments are."""
    return TensorType(dtype)


def _tensor_size_attributes(x: TensorType, *, axes: Any, dtype: Any) -> Attributes:
    simple(x)
    return {"axes": keys_of(x, axes), "dtype": as_dtype(dtype)}


def _tensor_size(term: Op, x: Any) -> Any:
    chosen = [x.shape[i] for i in places(term.args[0].axes, term.attribute("axes"))]
    return np.asarray(np.prod(chosen, dtype=np.int64), term.dtype)


@op("simple.tensor_size", meaning=_tensor_size, normalise=_tensor_size_attributes)
def tensor_size(x: TensorType, *, axes: tuple[Key, ...], dtype: DType) -> TensorType:
    """The number of elements of `x` along `axes` (features by number, N, R), a scalar."""
    return TensorType(dtype)


def _uniform_attributes(*, axes: Any, dtype: Any, low: Any, high: Any, uid: Any) -> Attributes:
    dtype = as_dtype(dtype)
    limits = {"low": literal(low, dtype), "high": literal(high, dtype)}
    return {"axes": marked(axes), "dtype": dtype, **limits, "uid": identity(uid)}


@op("simple.uniform", "source", "draw", normalise=_uniform_attributes)
def uniform(*, axes: Axes, dtype: DType, low: Literal, high: Literal, uid: Uid) -> TensorType:
    """Independent draws from [low, high), one per element and execution; float dtypes."""
    result = TensorType(dtype, axes)
    float_only(result)
    return result


def _normal_attributes(*, axes: Any, dtype: Any, loc: Any, scale: Any, uid: Any) -> Attributes:
    dtype = as_dtype(dtype)
    moments = {"loc": literal(loc, dtype), "scale": literal(scale, dtype)}
    return {"axes": marked(axes), "dtype": dtype, **moments, "uid": identity(uid)}


@op("simple.normal", "source", "draw", normalise=_normal_attributes)
def normal(*, axes: Axes, dtype: DType, loc: Literal, scale: Literal, uid: Uid) -> TensorType:
    """Independent draws from a normal distribution of mean `loc` and deviation `scale`; float dtypes."""
    result = TensorType(dtype, axes)
    float_only(result)
    return result
