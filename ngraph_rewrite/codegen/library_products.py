# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of many matrix products at once: by a BLAS, and in plain loops for what a BLAS does not have."""

from functools import cache

from ngraph_rewrite.codegen.library import LANES, has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression, literal
from ngraph_rewrite.codegen.source import Source


@cache
def render_batch_gemm(dtype: str, ta: bool, tb: bool) -> Source:
    """Return the kernel C[b] = op(A[b]) op(B[b]) for float32 or float64, where op transposes if its flag says so.

    ``a_sb`` and ``b_sb`` are the strides from matrix to matrix (0 repeats one), ``lda`` and ``ldb`` those of the rows,
    as in `render_gemm`; C is contiguous, and ``gemm`` is `blas.gemm_address(dtype)`.

    >>> render_batch_gemm("float32", False, True).signature
    ('count', 'm', 'n', 'k', 'a', 'a_sb', 'lda', 'b', 'b_sb', 'ldb', 'c', 'gemm')
    """
    has_dtype(dtype, ("float32", "float64"), "batch_gemm")
    holes = {"ta": str(ta), "tb": str(tb), "a_step": "1" if ta else "lda"}
    holes["itemsize"] = str(int(dtype.removeprefix("float")) // 8)
    names = ("count", "m", "n", "k", "a", "a_sb", "lda", "b", "b_sb", "ldb", "c", "gemm")
    return rendered("batch_gemm", names, one=literal(1, dtype), zero=literal(0, dtype), **holes)


@cache
def render_batch_dot(dtype: str) -> Source:
    """Return the kernel C[b, m, n] = A[b, m, k] B[b, k, n] for any dtype, with run-time strides; C is contiguous.

    >>> render_batch_dot("bool").signature
    ('count', 'm', 'n', 'k', 'a', 'a_sb', 'a_sm', 'a_sk', 'b', 'b_sb', 'b_sk', 'b_sn', 'c')
    """
    has_dtype(dtype, DTYPES, "batch_dot")
    held = "float32" if dtype == "float16" else dtype
    product = expression("multiply", held, ["x", "y"], {}, [held, held])
    total = expression("add", held, ["total", "product"], {}, [held, held])
    names = ("count", "m", "n", "k", "a", "a_sb", "a_sm", "a_sk", "b", "b_sb", "b_sk", "b_sn", "c")
    holes = {"dtype": dtype, "held": held, "product": product, "sum": total, "zero": literal(0, held)}
    return rendered("batch_dot", names, lanes=LANES, **holes)
