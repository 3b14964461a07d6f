# SPDX-License-Identifier: Apache-2.0
"""Ops the CPU target adds to the base set: what its library kernels do in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.ops.semi_convolution import convolution as semi_convolution
from ngraph_rewrite.ops.semi_convolution import convolution_attributes, convolution_of_values
from ngraph_rewrite.ops.sliding import Slide, distinct, slid, steps
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _gemm(term: Op, x: Any, y: Any) -> Any:
    return np.matmul(x.T if term.attribute("ta") else x, y.T if term.attribute("tb") else y)


def _flags(x: TensorType, y: TensorType, *, ta: Any, tb: Any) -> Attributes:
    return {"ta": flag(ta, "ta"), "tb": flag(tb, "tb")}


@op("cpu.gemm", meaning=_gemm, normalise=_flags)
def gemm(x: TensorType, y: TensorType, *, ta: bool, tb: bool) -> TensorType:
    """The matrix product of `x` and `y`, each transposed first if its flag says so; float32 or float64."""
    if x.dtype != y.dtype or x.dtype.name not in ("float32", "float64"):
        raise DTypeError(f"gemm takes two float32 or two float64 matrices, not {x!r} and {y!r}")
    if x.rank != 2 or y.rank != 2:
        raise AxesError(f"gemm takes two matrices, not {x!r} and {y!r}")
    rows, inner = x.shape[::-1] if ta else x.shape
    other, columns = y.shape[::-1] if tb else y.shape
    if inner != other:
        raise AxesError(f"gemm cannot contract {x!r} with {y!r}, ta={ta}, tb={tb}")
    return TensorType(x.dtype, anonymous((rows, columns)))


@op("cpu.convolution", meaning=convolution_of_values, normalise=convolution_attributes)
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


def _windowed(
    x: TensorType, r: TensorType, d: TensorType, *, axes: Any, sizes: Any, strides: Any, dilations: Any
) -> Attributes:
    own = distinct(axes, x.rank)
    named = {"sizes": sizes, "strides": strides, "dilations": dilations}
    return {"axes": own, **{name: steps(values, name, len(own)) for name, values in named.items()}}


def _unpooling(term: Op, x: Any, r: Any, d: Any) -> Any:
    axes, sizes, strides, dilations = term.attrs
    result, places = np.zeros_like(x), list[tuple[Any, ...]]()
    for offset in np.ndindex(*sizes):
        place: list[Any] = [slice(None)] * x.ndim
        for k, first, stride, dilation in zip(axes, offset, strides, dilations, strict=True):
            start = first * dilation
            place[k] = slice(start, start + max(r.shape[k] - 1, 0) * stride + (r.shape[k] > 0), stride)
        places.append(tuple(place))
    ties = [(x[seen] == r).astype(x.dtype) for seen in places]
    with np.errstate(all="ignore"):
        share = d / sum(ties, np.zeros_like(r))
        for seen, tie in zip(places, ties, strict=True):
            result[seen] += share * tie
    return result


@op("cpu.unpooling", meaning=_unpooling, normalise=_windowed)
def unpooling(
    x: TensorType,
    r: TensorType,
    d: TensorType,
    *,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> TensorType:
    """What windows over `x` have, `d`, shared evenly by the elements that are equal to the greatest (least), `r`."""
    if x.dtype.name not in ("float32", "float64") or not x.dtype == r.dtype == d.dtype:
        raise DTypeError(f"expected three tensors of float32 or of float64, got {x!r}, {r!r}, {d!r}")
    every = zip(axes, sizes, strides, dilations, strict=True)
    shape = list(x.shape)
    for axis, size, stride, dilation in every:
        shape[axis] = slid(shape[axis], size, Slide(stride, 0, 0, 0, dilation))
    if r.shape != tuple(shape) or d.shape != r.shape:
        raise AxesError(f"the windows over {x!r} have the shape {tuple(shape)}, got {r!r} and {d!r}")
    return x
