# SPDX-License-Identifier: Apache-2.0
"""The library of a simulated device: products of matrices as cuBLAS has them, column by column, by NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

_KINDS = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
_KINDS |= {name: np.dtype(name) for name in ("float16", "float32", "float64")}


def _matrices(address: int, kind: Any, count: int, between: int, lines: tuple[int, int, int]) -> NDArray[Any]:
    """Matrices that lie column by column: how many columns, how long they are, and how far apart."""
    columns, rows, apart = lines
    last = max(count - 1, 0) * between + max(columns - 1, 0) * apart + rows
    flat = np.frombuffer((ctypes.c_char * (last * kind.itemsize)).from_address(address), kind)
    strides = [step * kind.itemsize for step in (between, 1, apart)]
    return np.lib.stride_tricks.as_strided(flat, (count, rows, columns), strides)


def _product(dtype: str, given: tuple[int, ...]) -> None:
    count, m, n, k, a, a_between, a_turned, a_apart, b, b_between, b_turned, b_apart, c = map(int, given)
    kind, held = _KINDS[dtype], np.float64 if dtype == "float64" else np.float32
    x: Any = _matrices(a, kind, count, a_between, (m, k, a_apart) if a_turned else (k, m, a_apart)).astype(held)
    y: Any = _matrices(b, kind, count, b_between, (k, n, b_apart) if b_turned else (n, k, b_apart)).astype(held)
    x, y = x.transpose(0, 2, 1) if a_turned else x, y.transpose(0, 2, 1) if b_turned else y
    _matrices(c, kind, count, m * n, (n, m, m))[...] = (x @ y).astype(kind)


def _function(dtype: str) -> Callable[..., None]:
    def gemm(*given: int) -> None:
        _product(dtype, given)

    return gemm


FUNCTIONS = {f"gemm_{dtype}": _function(dtype) for dtype in _KINDS}
