# SPDX-License-Identifier: Apache-2.0
"""Products of vectors, matrices and tensors. All are contractions, and each is lowered by way of `einsum`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, as_terms
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops import subscripts as letters
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def matmul(x1: Array, x2: Array, /) -> Op:
    """The products of the matrices in the last two axes; the axes before them are broadcast. ``x1 @ x2`` is this.

    A vector is taken as a row on the left and as a column on the right, and that axis is dropped again.

    Raises:
        AxesError: if an operand has no axes, or the axes that are summed over have two lengths.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.matmul(ng.placeholder((7, 2, 3)), ng.placeholder((3, 4))).type
    float32[7, 2, 4]
    """
    return apply("matmul", x1, x2)


def matrix_transpose(x: Array, /) -> Op:
    """`x` with its last two axes exchanged.

    Raises:
        AxesError: if it has fewer than two.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.matrix_transpose(ng.placeholder((7, 2, 3))).type
    float32[7, 3, 2]
    """
    term = as_term(x)
    if term.rank < 2:
        raise AxesError(f"matrix_transpose: expected matrices, got {term.type!r}", where=user_line())
    return apply("transpose", term, perm=(*range(term.rank - 2), term.rank - 1, term.rank - 2))


def tensordot(x1: Array, x2: Array, /, axes: int | Sequence[Any] = 2) -> Op:
    """The sums of products over pairs of axes, then the other axes of `x1`, then those of `x2`.

    Args:
        axes: How many, the last of `x1` with the first of `x2`; or the axes of each, in pairs.

    Raises:
        AxesError: if the axes of a pair have two lengths.
        AttributeValueError: for axes that are no pairs.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.tensordot(ng.placeholder((2, 3)), ng.placeholder((4, 2, 3)), axes=((0, 1), (1, 2))).type
    float32[4]
    """
    return apply("tensordot", x1, x2, axes=axes)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Op:
    """The sums of products along one axis; the others are broadcast.

    Args:
        axis: Counted from the end.

    Raises:
        AxesError: if an operand has no axes, or they have two lengths along the axis.
        AttributeValueError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.vecdot(ng.placeholder((7, 3)), ng.placeholder((3,))).type
    float32[7]
    """
    return apply("vecdot", x1, x2, axis=axis)


def matvec(x1: Array, x2: Array, /) -> Op:
    """The products of matrices and vectors, which are columns: (..., m) of (..., m, n) and (..., n).

    Raises:
        AxesError: if an operand has too few axes, or they have two lengths where they are summed over.
        IncompatibleAxesError: if the axes before them do not broadcast.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.matvec(ng.placeholder((2, 3)), ng.placeholder((7, 3))).type
    float32[7, 2]
    """
    matrices, vectors = _ranked("matvec", x1, x2, (2, 1))
    columns = apply("expand_dims", vectors, axis=(vectors.rank,))
    found = apply("matmul", matrices, columns)
    return apply("squeeze", found, axis=(found.rank - 1,))


def vecmat(x1: Array, x2: Array, /) -> Op:
    """The products of vectors, which are rows, and matrices: (..., m) of (..., n) and (..., n, m). As `matvec` else.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.vecmat(ng.placeholder((7, 2)), ng.placeholder((2, 3))).type
    float32[7, 3]
    """
    vectors, matrices = _ranked("vecmat", x1, x2, (1, 2))
    found = apply("matmul", apply("expand_dims", vectors, axis=(vectors.rank - 1,)), matrices)
    return apply("squeeze", found, axis=(found.rank - 2,))


def outer(x1: Array, x2: Array, /) -> Op:
    """Every element of one vector times every element of another; what is no vector is flattened first.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.outer(ng.placeholder((2,)), ng.placeholder((3,))).type
    float32[2, 3]
    """
    flat = [t if t.rank == 1 else apply("reshape", t, shape=(t.size,)) for t in map(as_term, (x1, x2))]
    return apply("outer", *flat)


def inner(x1: Array, x2: Array, /) -> Op:
    """The sums of products over the last axes; then the other axes of `x1`, then those of `x2`.

    Raises:
        AxesError: if the last axes have two lengths.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.inner(ng.placeholder((2, 3)), ng.placeholder((4, 3))).type
    float32[2, 4]
    """
    return apply("inner", x1, x2)


def dot(x1: Array, x2: Array, /) -> Op:
    """NumPy's: the sums of products over the last axis of `x1` and the last but one of `x2`; of a number, the product.

    For more than two axes this is not `matmul`: the other axes are not matched, but all stand in the result.

    Raises:
        AxesError: if these axes have two lengths.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.dot(ng.placeholder((5, 2, 3)), ng.placeholder((7, 3, 4))).type
    float32[5, 2, 7, 4]
    """
    return apply("dot", x1, x2)


def diagonal(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Op:
    """The diagonals of the matrices in two axes, as the last axis of the result.

    Args:
        offset: How far above the main diagonal.

    Raises:
        AttributeValueError: if both axes are one.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.diagonal(ng.placeholder((3, 4, 5)), 1).type
    float32[5, 3]
    """
    return apply("diagonal", x, offset=offset, axis1=axis1, axis2=axis2)


def trace(x: Array, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Op:
    """The sum along `diagonal`, with its arguments and errors.

    Args:
        dtype: What to sum in; by default integers narrower than 64 bits, and bool, are widened.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.trace(ng.placeholder((3, 3), "int8")).type
    int64[]
    """
    return total(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)


def einsum(*operands: Any, optimize: Any = True) -> Op:
    """The sum of products that subscripts describe, as ``numpy.einsum`` reads them.

    Args:
        operands: Subscripts such as ``"ij,jk->ik"`` and the operands; or each operand followed by the list of
            numbers of its axes, with a list for the result last. An ellipsis stands for axes that are broadcast;
            without ``->`` the result has the letters that stand once, in alphabetical order.
        optimize: Makes no difference: the operands are contracted two at a time, in an order that keeps what is between
            small.

    Raises:
        AttributeValueError: for what is no subscript, or does not fit the operands.
        AxesError: for a letter of two lengths.
        ArgumentError: without operands.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.placeholder((2, 3)), ng.placeholder((3, 4))
    >>> ng.numpy.einsum("ij,jk->ik", x, y).type, ng.numpy.einsum("ii", ng.placeholder((3, 3))).type
    (float32[2, 4], float32[])
    """
    numbered = bool(operands) and not isinstance(operands[0], str)
    text, *arrays = _written(operands) if numbered else operands or ("",)
    if not arrays:
        raise ArgumentError("einsum: there are no operands", where=user_line(), do="give subscripts, then operands")
    terms = [as_term(x) for x in arrays]
    full = checked("einsum", letters.canonical, text, [t.rank for t in terms])
    order = checked("einsum", letters.contraction_order, full, [t.shape for t in terms])
    inputs, result = letters.parts(full)
    sorted_text = letters.joined([inputs[k] for k in order], result)
    return apply("einsum", *(terms[k] for k in order), subscripts=sorted_text)


def _ranked(call: str, x1: Array, x2: Array, least: tuple[int, int]) -> list[Op]:
    """Both operands, which have so many axes at least, and lengths that fit."""
    terms = as_terms(call, x1, x2)
    if any(t.rank < rank for t, rank in zip(terms, least, strict=True)):
        what = f"{call}: expected at least {least[0]} and {least[1]} axes, got {terms[0].type!r} and {terms[1].type!r}"
        raise AxesError(what, where=user_line(), do="put the vectors in the last axis, matrices in the last two")
    summed = terms[0].shape[-1], terms[1].shape[-least[1]]
    if summed[0] != summed[1]:
        what = f"{call}: {terms[0].type!r} and {terms[1].type!r} have the lengths {summed[0]} and {summed[1]}"
        raise AxesError(f"{what} where they are summed over", where=user_line(), do="give them one length")
    checked(call, stretched, *(term.shape[:-rank] for term, rank in zip(terms, least, strict=True)))
    return terms


def _written(operands: Sequence[Any]) -> list[Any]:
    """Operands with lists of the numbers of their axes as subscripts, followed by the operands."""
    pairs = len(operands) // 2
    runs = [checked("einsum", _run, operands[2 * k + 1]) for k in range(pairs)]
    result = f"->{checked('einsum', _run, operands[-1])}" if len(operands) % 2 else ""
    return [",".join(runs) + result, *operands[: 2 * pairs : 2]]


def _run(axes: Any) -> str:
    """A list of numbers, in which there may be an ellipsis, as letters."""
    if not isinstance(axes, Sequence) or any(a is not ... and not _is_number(a) for a in axes):
        do = f"give subscripts, or after each operand a list of numbers below {len(_LETTERS)}"
        raise ArgumentError(f"{axes!r} is no list of axes", do=do)
    return "".join("..." if a is ... else _LETTERS[a] for a in axes)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < len(_LETTERS)
