# SPDX-License-Identifier: Apache-2.0
"""Products of matrices by BLAS: which copies their operands need is known before anything is grouped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ngraph_rewrite.codegen.library import render_gemm
from ngraph_rewrite.codegen.library_products import render_batch_gemm
from ngraph_rewrite.plan.fusion import Effects, Groups, Kinds
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, in_memory, together
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, known
from ngraph_rewrite.plan.shares import batch_share, product_share
from ngraph_rewrite.terms.op import Op

# A matrix in memory, the stride between its rows, and whether they are columns.
Matrix = tuple[Load, int, bool]
_OF_BLAS = ("float32", "float64")
# The view that most often needs a copy of what it sees, as no strides can say it.
_RESHAPE = "semi.reshape"


def is_product(term: Op) -> bool:
    """Whether BLAS computes it."""
    name = term.definition.name
    return name == "cpu.gemm" or (name == "semi.batch_dot" and DTYPE_NAMES[term.type.dtype] in _OF_BLAS)


class Foreseen(NamedTuple):
    """What is known before anything is grouped: copies that are needed, and layouts of what does not see them."""

    copies: set[Op]
    layouts: dict[Op, Load]


def foreseen(order: Iterable[Op]) -> Foreseen:
    """The copies of reshaped operands that products in a graph need: each that is found here saves an attempt."""
    groups, needs = Groups({}, [], Effects(), Kinds()), set[Op]()
    for term in order:
        if is_product(term) and any(arg.definition.name == _RESHAPE for arg in term.args):
            try:
                _operands(term, groups)
            except CopyFirst as need:
                needs.update(need.terms)
    hidden = set(needs)
    for term in groups.layouts:  # what a view sees stands before it
        if not hidden.isdisjoint(term.args):
            hidden.add(term)
    return Foreseen(needs, {term: load for term, load in groups.layouts.items() if term not in hidden})


def gemm(term: Op, groups: Groups) -> Call:
    """The call that computes a product of two matrices."""
    (a, lda, ta), (b, ldb, tb) = _operands(term, groups)
    (m, n), dtype = known(term), DTYPE_NAMES[term.type.dtype]
    k = known(term.args[0])[0 if term.attrs[0] else 1]
    arguments = (m, n, k, a, lda, b, ldb, OUTPUT, max(n, 1), f"gemm {dtype}")
    return Call(render_gemm(dtype, ta, tb), arguments, product_share(m, n, k, term.dtype.itemsize))


def batch_gemm(term: Op, groups: Groups) -> Call:
    """The call that computes products of as many pairs of matrices."""
    (a, lda, ta), (b, ldb, tb) = _operands(term, groups)
    (count, m, n), k, dtype = known(term), a.layout.shape[2], DTYPE_NAMES[term.type.dtype]
    source, strides = render_batch_gemm(dtype, ta, tb), (a.layout.strides[0], b.layout.strides[0])
    arguments = (count, m, n, k, a, strides[0], lda, b, strides[1], ldb, OUTPUT, f"gemm {dtype}")
    return Call(source, arguments, batch_share(count, m, n, k, term.dtype.itemsize))


def _operands(term: Op, groups: Groups) -> tuple[Matrix, Matrix]:
    """Both operands of a product.

    Raises:
        CopyFirst: if one is no matrix that BLAS takes.
    """
    (x, y), (ta, tb) = term.args, term.attrs or (False, False)
    try:
        return _matrix(x, ta, groups), _matrix(y, tb, groups)
    except CopyFirst:  # both may need one
        first, second = together(lambda: _matrix(x, ta, groups), lambda: _matrix(y, tb, groups))
    return first, second


def _matrix(term: Op, transposed: bool, groups: Groups) -> Matrix:
    """The last two axes as BLAS takes a matrix: rows or columns of unit stride, the stride between them, a flag.

    Raises:
        CopyFirst: if neither its rows nor its columns have unit stride.
    """
    load = in_memory(term, groups)
    (rows, columns), (down, along) = load.layout.shape[-2:], load.layout.strides[-2:]
    if (along == 1 or columns <= 1) and (down >= columns or rows <= 1):
        return load, max(down if rows > 1 else columns, 1), transposed
    if (down == 1 or rows <= 1) and (along >= rows or columns <= 1):
        return load, max(along if columns > 1 else rows, 1), not transposed
    raise CopyFirst(term)
