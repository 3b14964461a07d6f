# SPDX-License-Identifier: Apache-2.0
"""Programs whose kernels are all there are for a GPU: each form of loop nest, and each kernel file with such a body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import ngraph_rewrite as ng
from ngraph_rewrite.frontend import semi, semi_factors, semi_indices, semi_more, semi_spectra, semi_windows
from ngraph_rewrite.warming import PROGRAMS as TRAINING

Built = tuple[Any, Sequence[ng.Op]]
_FLOATS = ("float32", "float64", "float16", "bfloat16")
_WIDE = ("float32", "float64", "int64")
_UNARY = "exp expm1 log log1p log2 log10 tanh sigmoid erf sqrt reciprocal sin cos tan sinh cosh asin acos atan asinh"
_UNARY += " cbrt erfinv lgamma digamma trigamma acosh atanh floor ceil round trunc absolute sign signbit"
_BINARY = "add subtract multiply divide floor_divide remainder power maximum minimum atan2 hypot copysign less"
_BINARY += " nextafter"
_WHOLE = "add multiply floor_divide remainder maximum bitwise_and bitwise_xor bitwise_left_shift bitwise_right_shift"


def _arrays(*shapes: tuple[int, ...], dtype: str) -> list[ng.Op]:
    return [ng.placeholder(shape, dtype) for shape in shapes]


# -- loop nests --------------------------------------------------------------------------------------------------------


def _functions(names: str, operands: int, dtype: str) -> Built:
    """Functions of a few vectors, each a result of its own."""
    inputs = _arrays(*[(4000,)] * operands, dtype=dtype)
    return [getattr(ng.numpy, name)(*inputs) for name in names.split()], inputs


def _spread(dtype: str) -> Built:
    """A matrix with a row and a column spread over it, and what it is the other way round."""
    x, row, column = inputs = _arrays((300, 400), (400,), (300, 1), dtype=dtype)
    return [x * row + column, ng.numpy.transpose(x) + 1, ng.numpy.transpose(x)], inputs


def _side_by_side(dtype: str) -> Built:
    """Columns, one of which is computed, side by side."""
    x, *others = inputs = _arrays(*[(4000, 1)] * 6, dtype=dtype)
    return ng.numpy.concat([x + 1, *others], axis=1), inputs


def _cast(to: str, dtype: str) -> Built:
    inputs = _arrays((4000,), dtype=dtype)
    return ng.numpy.astype(inputs[0], to), inputs


def _bits(to: Sequence[str], dtype: str) -> Built:
    """The bits of numbers, as other dtypes of their width."""
    inputs = _arrays((4000,), dtype=dtype)
    return [semi.bitcast(inputs[0], dtype=other) for other in to], inputs


def _reduced(names: str, shape: tuple[int, int], axis: int | None, dtype: str) -> Built:
    inputs = _arrays(shape, dtype=dtype)
    return [getattr(ng.numpy, name)(inputs[0], axis=axis) for name in names.split()], inputs


def _softmax(shape: tuple[int, int], axis: int, dtype: str) -> Built:
    (x,) = inputs = _arrays(shape, dtype=dtype)
    e = ng.numpy.exp(x - ng.numpy.max(x, axis=axis, keepdims=True))
    return e / ng.numpy.sum(e, axis=axis, keepdims=True), inputs


def _layer_norm(dtype: str) -> Built:
    n, c = ng.Axis("N", 512), ng.Axis("C", 768)
    x, gamma, beta = inputs = [ng.placeholder(axes, dtype) for axes in ([n, c], [c], [c])]
    y = ng.layer_norm(x, gamma, beta, ["C"], 1e-5)
    return [y, *ng.deriv(ng.sum(ng.square(y), out_axes=[]), inputs)], inputs


def _batch_norm(dtype: str) -> Built:
    axes = [ng.Axis("N", 16), ng.Axis("C", 24), ng.Axis("H", 28), ng.Axis("W", 28)]
    x, gamma, beta = inputs = [ng.placeholder(of, dtype) for of in (axes, axes[1:2], axes[1:2])]
    return [ng.batch_norm(x, gamma, beta), *ng.batch_statistics(x, ["N", "H", "W"])], inputs


# -- calls -------------------------------------------------------------------------------------------------------------


def _taken(dtype: str) -> Built:
    """Rows taken by index."""
    x, at = ng.placeholder((300, 40), dtype), ng.placeholder((50,), "int64")
    return ng.numpy.take(x, at, axis=0), [x, at]


def _taken_along(dtype: str) -> Built:
    """Elements taken by places along an axis."""
    x, at = ng.placeholder((300, 40), dtype), ng.placeholder((7, 40), "int64")
    return ng.numpy.take_along_axis(x, at, axis=0), [x, at]


def _added(count: int, columns: int, dtype: str) -> Built:
    """What adds rows by index, and elements by places of their own, so many to each column; the last, and maxima."""
    table, rows = _arrays((300, columns), (count, columns), dtype=dtype)
    at, places = ng.placeholder((count,), "int64"), ng.placeholder((count, columns), "int64")
    found = [semi_indices.scatter_add(table, at, rows), semi_indices.add_along(table, places, rows, axis=0)]
    found += [semi_indices.scatter(table, at, rows), semi_indices.put_along(table, places, rows, axis=0, how="max")]
    return found, [table, rows, at, places]


def _recurrence(dtype: str) -> Built:
    a, b = inputs = _arrays((50, 300), (50, 300), dtype=dtype)
    return semi_more.recurrence(a, b), inputs


def _factored(dtype: str) -> Built:
    """Factors of matrices, and equations solved by them."""
    a, b = inputs = _arrays((8, 96, 96), (8, 96, 40), dtype=dtype)
    found = [semi_factors.cholesky(a), semi_factors.qr(a), semi_factors.solve(a, b)]
    return [*found, semi_factors.solve(a, b, transposed=True)], inputs


def _spectra(dtype: str) -> Built:
    """Eigenvalues and singular values, with their vectors and without."""
    a, b = inputs = _arrays((8, 48, 48), (8, 64, 32), dtype=dtype)
    found = [semi_spectra.eigh(a), semi_spectra.eigvalsh(a), semi_spectra.svd(b), semi_spectra.svdvals(b)]
    return found, inputs


def _folded(dtype: str) -> Built:
    """Windows that are added up where they were taken."""
    (x,) = inputs = _arrays((8, 30, 3), dtype=dtype)
    return semi_windows.fold(x, [1], 32), inputs


def _along(function: Callable[..., ng.Op], shape: tuple[int, int], dtype: str, axis: int = 1) -> Built:
    """A function along the rows of a matrix, or along its columns."""
    inputs = _arrays(shape, dtype=dtype)
    return function(inputs[0], axis=axis), inputs


def _searched(dtype: str) -> Built:
    line, values = _arrays((4000,), (300,), dtype=dtype)
    return ng.numpy.searchsorted(line, values), [line, values]


def _drawn(dtype: str) -> Built:
    axis = ng.Axis("N", 4000)
    return [ng.uniform([axis], dtype=dtype), ng.normal([axis], dtype=dtype)], []


def _from_parameters(dtype: str) -> Built:
    """Numbers of distributions whose parameters are operands, and how one moves with it."""
    random = ng.numpy.random
    (a,) = inputs = _arrays((4000,), dtype=dtype)
    drawn = random.gamma(a, dtype=dtype)
    slope = ng.deriv(drawn, a, error=ng.numpy.ones((4000,), dtype=dtype))
    counts = [random.poisson(a * 10), random.binomial(100, ng.sigmoid(a)), random.zipf(ng.numpy.square(a) + 1.5)]
    return [drawn, slope, random.vonmises(0.0, ng.numpy.square(a), dtype=dtype), *counts], inputs


def _product(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> Built:
    inputs = _arrays(left, right, dtype=dtype)
    return ng.numpy.matmul(*inputs), inputs


def _convolution(dtype: str) -> Built:
    """A convolution, a pooling, and the derivatives of both."""
    x = ng.placeholder([ng.Axis("N", 4), ng.Axis("C", 8), ng.Axis("H", 16), ng.Axis("W", 16)], dtype)
    w = ng.placeholder([ng.Axis("C", 8), ng.Axis("R", 3), ng.Axis("S", 3), ng.Axis("K", 12)], dtype)
    y = ng.pooling(ng.convolution(x, w, padding=1), "max", size=2)
    return [y, *ng.deriv(ng.sum(ng.square(y), out_axes=[]), [x, w])], [x, w]


def _pooled(kind: str, dtype: str) -> Built:
    """Pooling of padded windows that overlap, and its derivative."""
    x = ng.placeholder((4, 8, 17, 16), dtype)
    y = semi_windows.pooling(x, kind, (2, 3), 3, strides=2, before=1, after=1)
    return [y, ng.deriv(ng.numpy.sum(y * y), x)], [x]


def _attention(rows: int, each: int, hidden: str, dtype: str) -> Built:
    """Of so many rows and numbers of a key, with a mask of truths or of numbers, or without one."""
    n, p, q, e = ng.Axis("N", 4), ng.Axis("P", rows), ng.Axis("Q", 512), ng.Axis("E", each)
    inputs = [ng.placeholder(axes, dtype) for axes in ([n, p, e], [n, q, e], [n, q, e])]
    scores = ng.dot(inputs[0], inputs[1], reduction_axes=["E"]) * each**-0.5
    if hidden:
        inputs.append(mask := ng.placeholder([p, q], "bool" if hidden == "kept" else dtype))
        scores = ng.where(mask, scores, -1e4) if hidden == "kept" else scores + mask
    return ng.dot(ng.softmax(scores, normalization_axes=["Q"]), inputs[2], reduction_axes=["Q"]), inputs


def _mixture(dtype: str) -> Built:
    """Given scores as weights."""
    x, v = inputs = _arrays((4, 128, 512), (4, 512, 64), dtype=dtype)
    e = ng.numpy.exp(x - ng.numpy.max(x, axis=-1, keepdims=True))
    return ng.numpy.matmul(e / ng.numpy.sum(e, axis=-1, keepdims=True), v), inputs


def _recurrent(dtype: str) -> Built:
    n, t, h, f = ng.Axis("N", 4), ng.Axis("T", 10), ng.Axis("H", 8), ng.Axis("F", 5)
    x, state = ng.placeholder([t, f, n], dtype), ng.placeholder([h, n], dtype)
    w, u = ng.placeholder([h, f], dtype), ng.placeholder([h, ng.Axis("J", 8)], dtype)

    def step(before: ng.Op, x: ng.Op) -> tuple[ng.Op, ng.Op]:
        after = ng.tanh(ng.dot(w, x) + ng.dot(u, ng.cast_axes(before, [u.axes[1], n])))
        return after, after

    last, every = ng.scan(step, state, x, axis=t)
    return [last, every], [x, state, w, u]


def _each(name: str, build: Callable[[str], Built], dtypes: Sequence[str]) -> dict[str, Callable[[], Built]]:
    return {f"{name} {dtype}": partial(build, dtype) for dtype in dtypes}


# Rules that leave products to a library where there is one.
LIBRARY = ("cuda.gemm", "cuda.gemm_of_many")
_MORE = "sum prod max min argmax argmin"
PROGRAMS: Mapping[str, Callable[[], Built]] = MappingProxyType(
    {
        **_each("functions", partial(_functions, _UNARY, 1), ("float32", "float64")),
        **_each("functions of two", partial(_functions, _BINARY, 2), ("float32", "float64")),
        **_each("half functions", partial(_functions, "exp tanh square floor", 1), ("float16", "bfloat16")),
        **_each("integers", partial(_functions, _WHOLE, 2), ("int64", "int32", "uint8")),
        **_each("logical", partial(_functions, "logical_and logical_or logical_xor", 2), ("bool",)),
        **_each("spread", _spread, (*_FLOATS, "int32")),
        **_each("side by side", _side_by_side, ("float32", "int64", "uint8")),
        **_each("to float32", partial(_cast, "float32"), ("float64", "float16", "bfloat16", "int64", "bool")),
        **_each("to bfloat16", partial(_cast, "bfloat16"), ("float64", "float32", "int64")),
        **_each("to int32", partial(_cast, "int32"), ("float64", "float32", "float16", "uint64")),
        **_each("bits of 16", partial(_bits, ("uint16", "bfloat16")), ("float16", "int16")),
        **_each("bits of 32", partial(_bits, ("int32", "float32")), ("float32", "uint32")),
        **_each("rows", partial(_reduced, _MORE, (2000, 300), 1), (*_FLOATS, "int32")),
        **_each("long rows", partial(_reduced, _MORE, (20, 30_000), 1), ("float32", "int64")),
        **_each("columns", partial(_reduced, _MORE, (300, 2000), 0), (*_FLOATS, "int32")),
        **_each("all at once", partial(_reduced, "sum max", (1000, 1000), None), _WIDE),
        **_each("any and all", partial(_reduced, "any all", (2000, 300), 1), ("bool",)),
        **_each("softmax", partial(_softmax, (2000, 300), 1), _FLOATS),
        **_each("softmax of long rows", partial(_softmax, (64, 5000), 1), _FLOATS),
        **_each("softmax of columns", partial(_softmax, (300, 2000), 0), ("float32",)),
        **_each("layer norm", _layer_norm, ("float32", "bfloat16")),
        **_each("batch norm", _batch_norm, ("float32",)),
        **_each("taken", _taken, (*_FLOATS, "int32")),
        **_each("taken along", _taken_along, (*_FLOATS, "int32")),
        **_each("added few", partial(_added, 50, 400), (*_FLOATS, "int32")),
        **_each("added many", partial(_added, 5000, 3), (*_FLOATS, "int32")),
        **_each("recurrence", _recurrence, ("float32", "float64")),
        **_each("factored", _factored, ("float32", "float64")),
        **_each("spectra", _spectra, ("float32", "float64")),
        **_each("folded", _folded, ("float32", "float64")),
        **_each("sorted", partial(_along, ng.numpy.sort, (30, 4000)), (*_FLOATS, "int32", "uint8")),
        **_each("order", partial(_along, ng.numpy.argsort, (30, 4000)), (*_FLOATS, "int32", "uint8")),
        **_each("searched", _searched, (*_FLOATS, "int32")),
        **_each("running sums", partial(_along, ng.numpy.cumulative_sum, (2000, 50)), (*_FLOATS, "int64")),
        **_each("running sums of short lines", partial(_along, ng.numpy.cumulative_sum, (2000, 20)), _WIDE),
        **_each("running maxima of short lines", partial(_along, semi_more.cummax, (2000, 20)), _WIDE),
        **_each("running sums of few", partial(_along, ng.numpy.cumulative_sum, (3, 50_000)), _WIDE),
        **_each("running sums of columns", partial(_along, ng.numpy.cumulative_sum, (5000, 300), axis=0), _FLOATS),
        **_each("running maxima of columns", partial(_along, semi_more.cummax, (5000, 300), axis=0), _WIDE),
        **_each("running products", partial(_along, ng.numpy.cumulative_prod, (3, 50_000)), _WIDE),
        **_each("running maxima", partial(_along, semi_more.cummax, (3, 50_000)), _WIDE),
        **_each("running minima", partial(_along, semi_more.cummin, (3, 50_000)), _WIDE),
        **_each("drawn", _drawn, ("float32", "float64")),
        **_each("drawn with parameters", _from_parameters, ("float32", "float64")),
        **_each("product", partial(_product, (512, 256), (256, 384)), (*_FLOATS, "int32", "int64")),
        **_each("large product", partial(_product, (4096, 4096), (4096, 4096)), _FLOATS),
        **_each("products", partial(_product, (8, 96, 64), (8, 64, 80)), (*_FLOATS, "int32")),
        **_each("matrix and vector", partial(_product, (512, 256), (256,)), ("float32", "float64")),
        **_each("convolution", _convolution, ("float32", "float64")),
        **_each("maxima of windows", partial(_pooled, "max"), _FLOATS),
        **_each("sums of windows", partial(_pooled, "sum"), _FLOATS),
        **_each("averages of windows", partial(_pooled, "avg"), _FLOATS),
        **_each("attention", partial(_attention, 512, 32, ""), _FLOATS),
        **_each("attention of many rows", partial(_attention, 4096, 64, ""), _FLOATS),
        **_each("attention of long keys", partial(_attention, 4096, 128, ""), ("float32", "bfloat16")),
        **_each("attention of few rows", partial(_attention, 4, 64, ""), _FLOATS),
        **_each("attention kept", partial(_attention, 4096, 64, "kept"), ("float32", "bfloat16")),
        **_each("attention with a bias", partial(_attention, 4096, 64, "added"), ("float32", "float16")),
        **_each("mixture", _mixture, ("float32", "bfloat16")),
        **_each("recurrent", _recurrent, ("float32",)),
        **TRAINING,
    }
)
