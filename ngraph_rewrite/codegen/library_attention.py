# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel of attention: rows weighted with a softmax of products, block by block."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.source import Source

ATTENTION = (
    "inner m n e d scale fill kind q q_so q_si q_sm q_sk k k_so k_si k_sk k_sn v v_so v_si v_sk v_sn "
    "mask mask_so mask_si mask_sm out space room scores_at state_at pieces down rows keys packs high wide tile pack"
)


@cache
def render_attention(dtype: str) -> Source:
    """Return the kernel OUT[o, i] = softmax(scale Q[o, i] K[o, i]) V[o, i] of ``inner`` products for each o.

    Q is of m and e, K of e and n, V of n and d; if e is -1, Q has the products, of m and n. Of kind 1 a mask of truths
    keeps scores, and where it is false they are ``fill``; of kind 2 it is added to them. Its rows are contiguous.
    Strides are in bytes, ``so`` and ``si`` those from o to o and from i to i; OUT is contiguous, and numbers are the
    bits of a float64. ``space`` is workspace, ``room`` the bytes of it for one thread: a panel, at ``scores_at`` the
    products of ``rows`` with some ``keys``, at ``state_at`` what is known of each row. There are ``pieces``, ``down``
    for each product. ``packs`` is 1 if K is packed, plus 2 if V is; the rest is as for `render_gemm`.

    >>> render_attention("float64").signature[:5]
    ('inner', 'm', 'n', 'e', 'd')
    """
    has_dtype(dtype, ("float32", "float64"), "attention")
    return rendered("attention", tuple(ATTENTION.split()), dtype=dtype, size="4" if dtype == "float32" else "8")
