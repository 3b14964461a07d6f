# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of matrix products: by tiles for float32 and float64, in plain loops for other numbers."""

from functools import cache

from ngraph_rewrite.codegen.library import LANES, has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression, held, literal
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.types.dtypes import TILED, as_dtype

GEMM = (
    "count terms m n k total size a a_sb a_sm a_sk b b_sb b_sk b_sn c c_sb ldc space room pitch a_at b_at c_at "
    "groups down across rows columns deep block packs ahead high wide apart crowded tile pack "
    "wary most least epilogue a_map a_told a_turned a_pitch b_map b_told b_turned"
)


@cache
def render_gemm() -> Source:
    """Return the kernel of ``count`` sums of ``terms`` products of m, n and k, of numbers of ``size`` bytes.

    C[b] is the sum of A[t] B[t] for t from b terms to (b + 1) terms; of one term, the product A[b] B[b]. ``total`` is
    the sum of all k; if it is less than count terms k, that of the last sum is shorter.

    ``a_sb``, ``a_sm``, ``a_sk`` are the strides of A from matrix to matrix, of rows and of columns, in bytes; so on for
    B. C has unit stride in its rows. ``space`` is workspace, ``room`` the bytes of it for one thread: packed B,
    ``pitch`` for a column, at ``a_at`` packed A, at ``c_at`` a part of C. What ``groups`` and the following say is in
    `ngraph_rewrite.plan.blocks`; ``high``, ``wide`` and ``apart`` are the rows, columns and stride of the tile of
    `ngraph_rewrite.runtime.tiles` whose functions are at ``tile`` and ``pack``; ``crowded`` is 1 if A is
    packed where the first cache is crowded, since it is, else 0. If ``apart`` is 0, the tile takes rows of A whose
    numbers are side by side. ``least`` is 0, or the function of `ngraph_rewrite.runtime.least_exponents` that tells
    when that at ``wary``, for ``most`` rows, is to be called instead; it needs 64 bytes at the end of ``room``.

    C is stored if ``epilogue`` is 0. Else it is workspace if ``ldc``, the stride of its rows in bytes, is 0, or where
    the epilogue stores. That is called for each block of it with the address of what follows these arguments, and that
    of seven int64: the number of the matrix, the first row, the number of rows, the first column, the number of
    columns, the address of that part of C, the stride of its rows in elements.

    ``a_map`` is 0, or A is computed by the map there, which is called in the same way and stores a block of A. Its own
    arguments are ``a_told`` bytes after the first of these; its rows are columns of A if ``a_turned``, and ``a_pitch``
    is their stride in elements. So on for B, of which ``ahead`` rows are packed at a time.

    >>> render_gemm().signature[:4]
    ('count', 'terms', 'm', 'n')
    """
    names = tuple(GEMM.split())
    return rendered("gemm", names, length=str(8 * len(names)))


@cache
def render_sums(dtype: str) -> Source:
    """Return the kernel that adds up ``parts`` matrices of m and n, which lie one after the other at ``sums``.

    The result is at ``c``, or, for an ``epilogue``, as `render_gemm` calls it, ``block`` rows at a time, in workspace
    there: each thread has its own.

    >>> render_sums("float32").signature
    ('parts', 'm', 'n', 'block', 'sums', 'c', 'epilogue')
    """
    has_dtype(dtype, TILED, "product_sums")
    names = ("parts", "m", "n", "block", "sums", "c", "epilogue")
    return rendered("product_sums", names, dtype=dtype, size=str(as_dtype(dtype).itemsize), length=str(8 * len(names)))


@cache
def render_batch_dot(dtype: str) -> Source:
    """Return the kernel C[b, m, n] = A[b, m, k] B[b, k, n] for any dtype, with run-time strides; C is contiguous.

    >>> render_batch_dot("bool").signature
    ('count', 'm', 'n', 'k', 'a', 'a_sb', 'a_sm', 'a_sk', 'b', 'b_sb', 'b_sk', 'b_sn', 'c')
    """
    has_dtype(dtype, DTYPES, "batch_dot")
    own = held(dtype)
    product = expression("multiply", own, ["x", "y"], {}, [own, own])
    total = expression("add", own, ["total", "product"], {}, [own, own])
    names = ("count", "m", "n", "k", "a", "a_sb", "a_sm", "a_sk", "b", "b_sb", "b_sk", "b_sn", "c")
    holes = {"dtype": dtype, "held": own, "product": product, "sum": total, "zero": literal(0, own)}
    return rendered("batch_dot", names, lanes=LANES, **holes)
