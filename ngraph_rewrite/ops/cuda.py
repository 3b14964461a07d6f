# SPDX-License-Identifier: Apache-2.0
"""Ops the GPU target adds to the base set: what kernels of tiles do, and a library of its maker, where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.ops.semi_convolution import convolution as semi_convolution
from ngraph_rewrite.ops.semi_convolution import (
    convolution_attributes,
    convolution_of_values,
    pooling_attributes,
    pooling_of_values,
)
from ngraph_rewrite.ops.semi_convolution import pooling as semi_pooling
from ngraph_rewrite.ops.semi_products import batch_dot
from ngraph_rewrite.ops.semi_reduce import dot
from ngraph_rewrite.ops.sliding import slides
from ngraph_rewrite.ops.unpooling import unpooled, unpooling_attributes, unpooling_of_values
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
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


@op("cuda.convolution", meaning=convolution_of_values, normalise=convolution_attributes)
def convolution(
    x: TensorType,
    w: TensorType,
    *,
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    interior: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
) -> TensorType:
    """As `semi.convolution`, along one to three axes of known lengths; float32 or float64."""
    if x.dtype.name not in ("float32", "float64") or not 3 <= x.rank <= 5:
        raise DTypeError(f"expected float32 or float64 images with one to three axes, got {x!r}")
    how: dict[str, Any] = {"strides": strides, "before": before, "after": after, "interior": interior}
    return semi_convolution(x, w, **how, dilations=dilations, groups=groups)


def _windowed(x: TensorType, **how: Any) -> Attributes:
    found = pooling_attributes(x, **how)
    return {**found, "counted": found["counted"] and found["kind"] == "avg"}


@op("cuda.pooling", meaning=pooling_of_values, normalise=_windowed)
def pooling(
    x: TensorType,
    *,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    dilations: tuple[int, ...],
    kind: str,
    counted: bool,
) -> TensorType:
    """As `semi.pooling`, of float16, bfloat16, float32 or float64; `counted` is False where it makes no difference."""
    _real(x)
    how: dict[str, Any] = {"axes": axes, "sizes": sizes, "strides": strides, "before": before, "after": after}
    return semi_pooling(x, **how, dilations=dilations, kind=kind, counted=counted)


@op("cuda.unpooling", meaning=unpooling_of_values, normalise=unpooling_attributes)
def unpooling(
    x: TensorType,
    d: TensorType,
    *,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    dilations: tuple[int, ...],
    kind: str,
) -> TensorType:
    """The derivative of such pooling: `d` of a window, shared evenly by its greatest (least) elements."""
    _real(x)
    return unpooled(x, d, axes, sizes, slides(strides, before, after, (0,) * len(axes), dilations))


def _real(x: TensorType) -> None:
    if x.dtype.name not in REALS:
        raise DTypeError(f"expected real numbers, got {x!r}", do=f"one of {', '.join(REALS)}")
