# SPDX-License-Identifier: Apache-2.0
"""Operands of linear algebra: floats without names, square matrices, and many matrices with one axis before them."""

from __future__ import annotations

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.operands import Array, apply, positional
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType, is_float, wide
from ngraph_rewrite.types.lengths import product


def floats(call: str, x: Array) -> Op:
    """`x` as a term without names, if it is of a float dtype."""
    return _of_floats(call, positional(call, x))


def square(call: str, x: Array, of_floats: bool = True) -> Op:
    """`x` as a term without names, if it is square matrices.

    Args:
        of_floats: Whether it has to be of a float dtype.
    """
    term = floats(call, x) if of_floats else positional(call, x)
    if term.rank < 2 or term.shape[-1] != term.shape[-2]:
        what = f"{call}: expected square matrices in the last two axes, got {term.type!r}"
        raise AxesError(what, where=user_line(), do="take a square part of it, or multiply it with its transpose")
    return term


def _of_floats(call: str, term: Op) -> Op:
    if not is_float(term.dtype):
        what = f"{call}: expected a float dtype, got {term.type!r}"
        raise DTypeError(what, where=user_line(), do="cast it to float32 or float64")
    return term


def each_matrix(op: str, term: Op) -> Op:
    """An op of many matrices: what it gives, of matrices or of numbers."""
    found = build_term(op, flattened(term, wide(term.dtype)))
    return astype(apply("reshape", found, shape=(*term.shape[:-2], *found.shape[1:])), term.dtype)


def flattened(term: Op, dtype: DType) -> Op:
    """Matrices with one axis before them, in a dtype."""
    count = product(term.shape[:-2])
    flat = term if term.rank == 3 else apply("reshape", term, shape=(count, *term.shape[-2:]))
    return astype(flat, dtype)
