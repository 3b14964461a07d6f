# SPDX-License-Identifier: Apache-2.0
"""Ops the GPU target adds to the base set: what kernels of tiles do, and a library of its maker, where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops.checks import extents, numeric, positional, several, tensor
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
from ngraph_rewrite.ops.semi_windows import folded
from ngraph_rewrite.ops.sliding import distinct, each, slides, steps
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


def _crop(x: TensorType, *, axes: Any, starts: Any, shape: Any, strides: Any, dilations: Any) -> Attributes:
    own = several(axes, "axes")
    rank = x.rank - len(own)
    return {
        "axes": distinct(own, rank),
        "starts": extents(each(starts, "starts", rank)),
        "shape": extents(each(shape, "shape", rank)),
        "strides": steps(strides, "strides", len(own)),
        "dilations": steps(dilations, "dilations", len(own)),
    }


def _fold(term: Op, x: Any) -> Any:
    axes, starts, shape, strides, dilations = term.attrs
    whole = list(x.shape[: x.ndim - len(axes)])
    for number, k in enumerate(axes):
        last = (x.shape[k] - 1) * strides[number] + (x.shape[len(whole) + number] - 1) * dilations[number]
        whole[k] = max(last + 1, starts[k] + shape[k])
    found = folded(x, tuple(whole), axes, strides, dilations)
    return found[tuple(slice(first, first + n) for first, n in zip(starts, shape, strict=True))]


@op("cuda.fold", meaning=_fold, normalise=_crop)
def fold(
    x: TensorType,
    *,
    axes: tuple[int, ...],
    starts: tuple[Extent, ...],
    shape: tuple[Extent, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> TensorType:
    """A part of what `semi.fold` gives: of this `shape`, from `starts` on."""
    positional(x)
    numeric(x)
    for k, (start, length) in enumerate(zip(starts, shape, strict=True)):
        end, n = start + length, x.shape[k]
        if k not in axes and isinstance(end, int) and isinstance(n, int) and end > n:
            raise AxesError(f"axis {k} of {x!r} has no {length!r} elements from {start!r} on")
    return tensor(x.dtype, shape)


def _real(x: TensorType) -> None:
    if x.dtype.name not in REALS:
        raise DTypeError(f"expected real numbers, got {x!r}", do=f"one of {', '.join(REALS)}")
