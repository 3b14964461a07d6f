# SPDX-License-Identifier: Apache-2.0
"""Calls that find eigenvalues and singular values: matrices are shared out."""

from __future__ import annotations

from ngraph_rewrite.codegen.library_singular_values import render_svd, space_of_svd
from ngraph_rewrite.codegen.library_spectra import render_eigh, space_of_eigh
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, in_memory
from ngraph_rewrite.plan.shares import loop_share
from ngraph_rewrite.terms.op import Op

# Nanoseconds of a product and a sum, of a rotation, and what a matrix takes beside them.
_EACH, _ROTATION, _MATRIX = 0.06, 15, 200


def eigh_call(term: Op, groups: Groups) -> Call:
    """The call of eigenvalues of symmetric matrices, which may lie in any order."""
    x = in_memory(term.args[0], groups)
    count, n, _ = x.layout.shape
    vectors, dtype = term.definition.short == "eigh", term.dtype.name
    share = loop_share(count, _MATRIX + n * n * _ROTATION + n**3 * (6 if vectors else 2) * _EACH)
    space = Scratch(space_of_eigh(n, dtype, vectors), share.chunks)
    arguments = (count, n, x, *x.layout.strides, OUTPUT, space, space.bytes)
    return Call(render_eigh(dtype, vectors), arguments, share, (space,))


def svd_call(term: Op, groups: Groups) -> Call:
    """The call of singular values of matrices, which may lie in any order."""
    x = in_memory(term.args[0], groups)
    count, m, n = x.layout.shape
    vectors, dtype = term.definition.short == "svd", term.dtype.name
    share = loop_share(count, _MATRIX + 2 * n * n * _ROTATION + m * n * n * (12 if vectors else 4) * _EACH)
    space = Scratch(space_of_svd(m, n, dtype, vectors), share.chunks)
    arguments = (count, m, n, x, *x.layout.strides, OUTPUT, space, space.bytes)
    return Call(render_svd(dtype, vectors), arguments, share, (space,))
