# SPDX-License-Identifier: Apache-2.0
"""Linear algebra beyond products: triangular factors of many matrices, equations solved by them, determinants.

What each computes step by step is in `factors`. Numbers are float32 or float64: frontends compute shorter ones in
float32. Nothing is raised for values: what cannot be computed is NaN or infinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops import factors
from ngraph_rewrite.ops.checks import flag, positional, same_dtype, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.types.dtypes import FLOAT32, FLOAT64
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def square(x: TensorType) -> None:
    """Demand square matrices (b, n, n) of float32 or float64."""
    positional(x)
    _float32_or_64(x)
    if x.rank != 3 or x.shape[1] != x.shape[2]:
        raise AxesError(f"expected square matrices (b, n, n), got {x!r}", do="reshape it, or take a square part of it")


def tall(x: TensorType) -> None:
    """Demand matrices (b, m, n) of float32 or float64 with as many rows as columns or more."""
    matrices(x)
    if _fewer(x.shape[1], x.shape[2]):
        what = f"expected matrices (b, m, n) with as many rows as columns or more, got {x!r}"
        raise AxesError(what, do="take fewer columns, or its transpose")


def matrices(x: TensorType) -> None:
    """Demand matrices (b, m, n) of float32 or float64."""
    positional(x)
    _float32_or_64(x)
    if x.rank != 3:
        raise AxesError(f"expected matrices (b, m, n), got {x!r}", do="reshape it")


def _float32_or_64(x: TensorType) -> None:
    if x.dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(f"expected float32 or float64, got {x!r}", do="cast it to one of them")


def _sides(a: TensorType, b: TensorType) -> None:
    """Demand right sides (b, n, m) for square matrices."""
    square(a)
    positional(b)
    same_dtype(a, b)
    if b.rank != 3 or b.shape[:2] != a.shape[:2]:
        what = f"expected shapes (b, n, n) and (b, n, m), got {a!r} and {b!r}"
        raise AxesError(what, do="reshape, transpose or broadcast them")


@op("semi.cholesky", meaning=lambda term, x: factors.cholesky(x))
def cholesky(x: TensorType) -> TensorType:
    """The lower triangles L of matrices `x` (b, n, n) with L times its transpose equal to `x`, zeros above.

    Only the lower triangles of `x` are read. Where `x` is not positive definite columns from some place on are NaN.
    """
    square(x)
    return x


@op("semi.lu", meaning=lambda term, x: factors.lu(x))
def lu(x: TensorType) -> TensorType:
    """The factors of matrices `x` (b, n, n) with exchanged rows (b, n + 1, n): in the last row, which row each was.

    Below the diagonal is a lower triangle whose diagonal is 1, on it and above an upper one.
    """
    square(x)
    return tensor(x.dtype, (x.shape[0], x.shape[1] + 1, x.shape[2]))


@op("semi.qr", meaning=lambda term, x: factors.qr(x))
def qr(x: TensorType) -> TensorType:
    """Orthogonal columns Q of matrices `x` (b, m, n), m not below n, over upper triangles R: Q R is `x` (b, m + n, n).

    By reflections, with the signs that LAPACK gives. On a CPU those of matrices with many rows are used some at a time:
    results are the same but for rounding.
    """
    tall(x)
    return tensor(x.dtype, (x.shape[0], x.shape[1] + x.shape[2], x.shape[2]))


def _fewer(rows: Extent, columns: Extent) -> bool:
    """Whether rows are known to be fewer than columns."""
    return isinstance(rows, int) and isinstance(columns, int) and rows < columns


def _triangle(a: TensorType, b: TensorType, *, lower: Any, unit: Any) -> Attributes:
    return {"lower": flag(lower, "lower"), "unit": flag(unit, "unit")}


@op(
    "semi.triangular_solve",
    meaning=lambda term, a, b: factors.triangular_solve(a, b, term.attribute("lower"), term.attribute("unit")),
    normalise=_triangle,
)
def triangular_solve(a: TensorType, b: TensorType, *, lower: bool, unit: bool) -> TensorType:
    """The solutions (b, n, m) of `a` x = `b`, of the lower or upper triangles of matrices `a` (b, n, n).

    Nothing else of `a` is read; with `unit` not the diagonal either, which is 1.
    """
    _sides(a, b)
    return b


def _transposed(a: TensorType, b: TensorType, *, transposed: Any) -> Attributes:
    return {"transposed": flag(transposed, "transposed")}


@op(
    "semi.solve",
    meaning=lambda term, a, b: factors.solve(a, b, term.attribute("transposed")),
    normalise=_transposed,
)
def solve(a: TensorType, b: TensorType, *, transposed: bool) -> TensorType:
    """The solutions (b, n, m) of `a` x = `b`, of matrices `a` (b, n, n), or of their transposes.

    By `lu`. Of singular matrices they are not finite.
    """
    _sides(a, b)
    return b


def _of_each(x: TensorType) -> TensorType:
    square(x)
    return tensor(x.dtype, x.shape[:1])


@op("semi.logdet", meaning=lambda term, x: np.asarray(factors.logdet(x)))
def logdet(x: TensorType) -> TensorType:
    """The logarithms (b) of the sizes of the determinants of matrices `x` (b, n, n).

    By `lu`; -inf of a singular matrix, 0 of one without elements.
    """
    return _of_each(x)


@op("semi.det_sign", meaning=lambda term, x: np.asarray(factors.det_sign(x)))
def det_sign(x: TensorType) -> TensorType:
    """The signs (b) of the determinants of matrices `x` (b, n, n): -1, 0 or 1."""
    return _of_each(x)
