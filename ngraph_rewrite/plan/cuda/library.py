# SPDX-License-Identifier: Apache-2.0
"""Products of matrices by a library: those that are large, and whose operands lie as it wants them.

A BLAS has matrices column by column, so it is asked for the product of what it takes for transposed: B first, then A.
"""

from __future__ import annotations

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.matrices import Matrix
from ngraph_rewrite.plan.operands import OUTPUT, Call
from ngraph_rewrite.plan.products import Product
from ngraph_rewrite.plan.shares import Grid

SIGNATURE = (
    "count",
    "m",
    "n",
    "k",
    "a",
    "a_between",
    "a_turned",
    "a_apart",
    "b",
    "b_between",
    "b_turned",
    "b_apart",
    "c",
)
# How much is multiplied, and how long sums are, where a library is worth maps that no kernel does on the way. Floats of
# 16 bits are multiplied by units that no other kernel uses.
_WORTH = 1 << 24
_SUMMED, _SUMMED_OF_HALVES = 256, 64
_HALVES = ("float16", "bfloat16")
_LONGEST = (1 << 31) - 1


def library_call(given: Product) -> Call | None:
    """The call of a library that computes products; None if another kernel should."""
    count, m, n, k = given.sizes
    if k < (_SUMMED_OF_HALVES if given.dtype in _HALVES else _SUMMED) or count * m * n * k < _WORTH:
        return None
    arguments = library_arguments(given) if max(given.sizes) <= _LONGEST else None
    return Call(_source(given.dtype), arguments, Grid()) if arguments else None


def library_arguments(given: Product) -> tuple[object, ...] | None:
    """The arguments of a library's product; None if operands do not lie as it wants them."""
    (count, m, n, k), a, b, *_ = given
    if count > 1 and min(a.strides[0], b.strides[0]) < 0:
        return None
    first, second = _laid_out(b, k, n), _laid_out(a, m, k)
    if first is None or second is None:
        return None
    return (count, n, m, k, b.load, b.strides[0], *first, a.load, a.strides[0], *second, OUTPUT)


def _laid_out(matrix: Matrix, rows: int, columns: int) -> tuple[int, int] | None:
    """Whether a matrix is turned where it lies by columns, and how far apart these are; None if it does not lie so."""
    _, down, along = matrix.strides
    if (along == 1 or columns == 1) and _is_apart(down, columns, rows):
        return 0, down if rows > 1 else columns
    if (down == 1 or rows == 1) and _is_apart(along, rows, columns):
        return 1, along if columns > 1 else rows
    return None


def _is_apart(stride: int, length: int, count: int) -> bool:
    """Whether lines of a length do not meet: a library takes no others."""
    return count == 1 or length <= stride <= _LONGEST


def _source(dtype: str) -> Source:
    text = (
        f'"""Products of matrices of {dtype} by cuBLAS: C[b] = A[b] B[b], all column by column.\n\n'
        "A is m times k, or that transposed if it is turned; its columns are so far apart, and its matrices so far\n"
        "between. So on for B; C has no gaps. Sums are float32 for numbers of fewer bits, else of the same dtype.\n\n"
        f'Arguments (int64): {", ".join(SIGNATURE)}\n"""\n'
    )
    return Source(f"cublas_{dtype}", text, SIGNATURE, library=f"gemm_{dtype}")
