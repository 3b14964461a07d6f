# SPDX-License-Identifier: Apache-2.0
"""Ops the CPU target adds to the base set: what its library kernels do in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, DTypeError, OutOfRangeError
from ngraph_rewrite.ops.checks import as_int, flag, positional
from ngraph_rewrite.ops.fourier_lengths import suits
from ngraph_rewrite.ops.semi_convolution import convolution as semi_convolution
from ngraph_rewrite.ops.semi_convolution import convolution_attributes, convolution_of_values
from ngraph_rewrite.ops.semi_fourier import fourier as semi_fourier
from ngraph_rewrite.ops.semi_fourier import fourier_attributes, fourier_of_values
from ngraph_rewrite.ops.semi_products import batch_dot
from ngraph_rewrite.ops.semi_sort import order_attributes, order_of, stable_order
from ngraph_rewrite.ops.sliding import slides
from ngraph_rewrite.ops.unpooling import unpooled, unpooling_attributes, unpooling_of_values
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import BOOL, INT32, INT64, TILED
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

# Of a line so many elements may be kept in order while the others are compared with them.
MOST_PLACES = 64
# What is parted at pivots.
PARTED = ("int32", "uint32", "float32", "int64", "uint64", "float64")


def _gemm(term: Op, x: Any, y: Any) -> Any:
    return np.matmul(x.T if term.attribute("ta") else x, y.T if term.attribute("tb") else y)


def _flags(x: TensorType, y: TensorType, *, ta: Any, tb: Any) -> Attributes:
    return {"ta": flag(ta, "ta"), "tb": flag(tb, "tb")}


@op("cpu.gemm", meaning=_gemm, normalise=_flags, below="semi.dot")
def gemm(x: TensorType, y: TensorType, *, ta: bool, tb: bool) -> TensorType:
    """The matrix product of `x` and `y`, each transposed first if its flag says so; numbers of 32 or 64 bits."""
    if x.dtype != y.dtype or x.dtype.name not in TILED:
        raise DTypeError(f"gemm takes two matrices of one dtype of 32 or 64 bits, not {x!r} and {y!r}")
    if x.rank != 2 or y.rank != 2:
        raise AxesError(f"gemm takes two matrices, not {x!r} and {y!r}")
    rows, inner = x.shape[::-1] if ta else x.shape
    other, columns = y.shape[::-1] if tb else y.shape
    if inner != other:
        raise AxesError(f"gemm cannot contract {x!r} with {y!r}, ta={ta}, tb={tb}")
    return TensorType(x.dtype, anonymous((rows, columns)))


def _quads(x: Any, dtype: type) -> list[Any]:
    """The four bytes of each number, as int32."""
    return [(x >> at).astype(dtype).astype(np.int32) for at in (0, 8, 16, 24)]


@op("cpu.batch_gemm", meaning=lambda term, x, y: np.matmul(x, y), below="semi.batch_dot")
def batch_gemm(x: TensorType, y: TensorType) -> TensorType:
    """The products of as many matrices of `x` and `y`; numbers of 32 or 64 bits."""
    if x.dtype != y.dtype or x.dtype.name not in TILED:
        raise DTypeError(f"batch_gemm takes matrices of one dtype of 32 or 64 bits, not {x!r} and {y!r}")
    return batch_dot(x, y)


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
    """As `semi.convolution`, along one to three axes of known lengths; numbers of 32 or 64 bits."""
    if x.dtype.name not in TILED or not 3 <= x.rank <= 5:
        raise DTypeError(f"expected images of 32 or 64 bits with one to three axes, got {x!r}")
    how: dict[str, Any] = {"strides": strides, "before": before, "after": after, "interior": interior}
    return semi_convolution(x, w, **how, dilations=dilations, groups=groups)


def _convolution_of_quads(term: Op, x: Any, w: Any) -> Any:
    """The sum of four convolutions, of each byte of both."""
    every = zip(_quads(x, np.uint8), _quads(w, np.int8), strict=True)
    return np.sum([convolution_of_values(term, *both) for both in every], axis=0, dtype=np.int32)


@op("cpu.convolution_of_quads", meaning=_convolution_of_quads, normalise=convolution_attributes)
def convolution_of_quads(
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
    """As `cpu.convolution`, of int32 that are four bytes each, of neighbouring channels: uint8 in `x`, int8 in `w`."""
    if x.dtype != INT32:
        raise DTypeError(f"convolution_of_quads takes int32, not {x!r}")
    how: dict[str, Any] = {"strides": strides, "before": before, "after": after, "interior": interior}
    return convolution(x, w, **how, dilations=dilations, groups=groups)


def _places_attributes(x: TensorType, *, axis: Any, count: Any, descending: Any, last: Any) -> Attributes:
    order = order_attributes(x, axis=axis, descending=descending)
    return {**order, "count": as_int(count, "count"), "last": flag(last, "last")}


def _first_places(term: Op, x: Any) -> Any:
    axis, order = term.attribute("axis"), order_of(term, x)
    return np.take(np.flip(order, axis) if term.attribute("last") else order, range(term.attribute("count")), axis=axis)


@op("cpu.first_places", meaning=_first_places, normalise=_places_attributes)
def first_places(x: TensorType, *, axis: int, count: int, descending: bool, last: bool) -> TensorType:
    """The first `count` int64 positions, 1 to 64, of `semi.argsort` along an axis that is no shorter; if `last`, from
    the end of that order.
    """
    positional(x)
    length = x.shape[axis]
    if not 1 <= count <= MOST_PLACES or not isinstance(length, int) or count > length:
        raise OutOfRangeError(f"expected 1 to {MOST_PLACES} of the {length!r} elements along axis {axis}, got {count}")
    return TensorType(INT64, anonymous((*x.shape[:axis], count, *x.shape[axis + 1 :])))


def _middle_attributes(x: TensorType, *, begin: Any, end: Any, descending: Any) -> Attributes:
    return {"begin": as_int(begin, "begin"), "end": as_int(end, "end"), "descending": flag(descending, "descending")}


def _middle_elements(term: Op, x: Any) -> Any:
    ordered = np.take_along_axis(x, stable_order(x, -1, term.attribute("descending")), -1)
    return ordered[..., term.attribute("begin") : term.attribute("end")]


@op("cpu.middle_elements", meaning=_middle_elements, normalise=_middle_attributes)
def middle_elements(x: TensorType, *, begin: int, end: int, descending: bool) -> TensorType:
    """The elements `begin` to `end` of `semi.sort` along the last axis, at least one; of 32 or 64 bits."""
    positional(x)
    if x.dtype.name not in PARTED:
        raise DTypeError(f"expected numbers of 32 or 64 bits, got {x!r}")
    if not x.rank:
        raise AxesError(f"expected lines, got {x!r}")
    length = x.shape[-1]
    if not isinstance(length, int) or not 0 <= begin < end <= length:
        raise OutOfRangeError(f"expected some of the {length!r} elements along the last axis, got {begin} to {end}")
    return TensorType(x.dtype, anonymous((*x.shape[:-1], end - begin)))


def _chosen_places(term: Op, y: Any, x: Any) -> Any:
    places = np.argsort(~x, axis=-1, kind="stable")[..., : y.shape[-1]]
    result = y.copy()
    first = np.arange(places.shape[-1]) < np.count_nonzero(x, axis=-1, keepdims=True)
    result[..., : places.shape[-1]] = np.where(first, places, y[..., : places.shape[-1]])
    return result


@op("cpu.chosen_places", meaning=_chosen_places)
def chosen_places(y: TensorType, x: TensorType) -> TensorType:
    """Rows of int64 that begin with the places at which rows of truths are true, as many as there is room for."""
    for given, wanted in ((y, INT64), (x, BOOL)):
        positional(given)
        if given.dtype != wanted:
            raise DTypeError(f"expected rows of {wanted}, got {given!r}")
    if not x.rank or x.shape[:-1] != y.shape[:-1]:
        raise AxesError(f"expected as many rows of truths as of places, got {x!r} and {y!r}")
    return y


@op("cpu.fourier", meaning=fourier_of_values, normalise=fourier_attributes, below="semi.fourier")
def fourier(x: TensorType, *y: TensorType, n: int, sign: int, wanted: int, real: bool) -> TensorType:
    """As `semi.fourier`, of an `n` from 16 to 131072 that has no prime factor above 13."""
    if not suits(n):
        raise AttributeValueError(f"no steps for {n} elements", do="give 16 to 131072, with no prime factor above 13")
    return semi_fourier(x, *y, n=n, sign=sign, wanted=wanted, real=real)


@op("cpu.unpooling", meaning=unpooling_of_values, normalise=unpooling_attributes)
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
    """What windows over the padded `x` have, `d`, shared evenly by the greatest (least) elements; padding gets some.

    Padding is the least (greatest) number there is; float32 or float64.
    """
    if x.dtype.name not in ("float32", "float64"):
        raise DTypeError(f"expected two tensors of float32 or of float64, got {x!r}, {d!r}")
    return unpooled(x, d, axes, sizes, slides(strides, before, after, (0,) * len(axes), dilations))
