# SPDX-License-Identifier: Apache-2.0
"""Products of numbers of 8 and 16 bits on the CPU: those that are added up together are one number of 32 bits.

What rows of the left operand are made of lies so as it is. The right one has its columns packed, or is given by rows as
well: those of the transposed matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import BFLOAT16, FLOAT32, INT32, DType
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

# Of which numbers rows may be made, and columns beside them.
_BYTES: dict[DType, DType] = {np.dtype("uint8"): np.dtype("int8"), np.dtype("int8"): np.dtype("uint8")}
_SHORTS: dict[DType, DType] = {np.dtype("int16"): np.dtype("int16")}
_BFLOATS: dict[DType, DType] = {BFLOAT16: BFLOAT16}


def _multiplied(result: Any) -> Callable[..., Any]:
    """The meaning of such a product, which is summed in a dtype."""

    def meaning(term: Op, x: Any, y: Any) -> Any:
        columns = np.swapaxes(y, -1, -2) if y.dtype.itemsize < 4 else _unpacked(y, _beside(term.args[0].type))
        return np.matmul(x.astype(result), columns.astype(result))

    return meaning


def _beside(x: TensorType) -> DType:
    return (_BYTES | _SHORTS | _BFLOATS)[x.dtype]


def _unpacked(y: Any, dtype: DType) -> Any:
    """The columns of which those of numbers of 32 bits are made, the lowest part the first."""
    parts = 4 // dtype.itemsize
    *batch, k, n = y.shape
    apart = np.ascontiguousarray(np.swapaxes(y, -1, -2)).view(dtype).reshape((*batch, n, k * parts))
    return np.swapaxes(apart, -1, -2)


def _type(x: TensorType, y: TensorType, name: str, kinds: dict[DType, DType], result: DType) -> TensorType:
    """The type of such a product.

    Raises:
        DTypeError: for other numbers.
        AxesError: if they are no matrices, or as many batches of them, that fit.
    """
    if x.dtype not in kinds or y.dtype not in (INT32, kinds[x.dtype]):
        wanted = ", or ".join(f"{left} by int32 or {right}" for left, right in kinds.items())
        raise DTypeError(f"{name} takes {wanted}, not {x!r} and {y!r}")
    if x.rank not in (2, 3) or y.rank != x.rank or x.shape[:-2] != y.shape[:-2]:
        raise AxesError(f"{name} takes two matrices, or two batches of as many, not {x!r} and {y!r}")
    parts = 4 // x.dtype.itemsize
    is_packed = y.dtype == INT32
    inner, columns = y.shape[-2:] if is_packed else y.shape[:-3:-1]
    if x.shape[-1] != (parts * inner if is_packed else inner) or not _is_whole(x.shape[-1], parts):
        raise AxesError(f"{name} cannot contract {x!r} with {y!r}", do=f"let rows have a multiple of {parts} numbers")
    return TensorType(result, anonymous((*x.shape[:-1], columns)))


def _is_whole(k: Extent, parts: int) -> bool:
    return isinstance(k, int) and k % parts == 0


@op("cpu.gemm_of_pairs", meaning=_multiplied(np.int32), below="semi.dot")
def gemm_of_pairs(x: TensorType, y: TensorType) -> TensorType:
    """The product of int16 by int32 that are two int16 each, or by the int16 of the transposed matrix, in int32."""
    return _type(x, y, "gemm_of_pairs", _SHORTS, INT32)


@op("cpu.gemm_of_float_pairs", meaning=_multiplied(np.float32), below="semi.dot")
def gemm_of_float_pairs(x: TensorType, y: TensorType) -> TensorType:
    """The product of bfloat16 by int32 that are two each, or by the bfloat16 of the transposed matrix, in float32.

    Numbers below 2**-126 may count as 0, among operands and among sums.
    """
    return _type(x, y, "gemm_of_float_pairs", _BFLOATS, FLOAT32)


@op("cpu.gemm_of_quads", meaning=_multiplied(np.int32), below="semi.dot")
def gemm_of_quads(x: TensorType, y: TensorType) -> TensorType:
    """The product of bytes by int32 that are four each, or by those of the transposed matrix, in int32.

    One side has bytes with a sign, the other without.
    """
    return _type(x, y, "gemm_of_quads", _BYTES, INT32)
