# SPDX-License-Identifier: Apache-2.0
"""Norms of vectors and matrices, and powers of matrices: formulas of other functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import eye
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import abs as size_of
from ngraph_rewrite.frontend.numpy.elementwise import equal, not_equal, pow, sqrt, square, where
from ngraph_rewrite.frontend.numpy.equations import inv
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.many_matrices import floats
from ngraph_rewrite.frontend.numpy.many_matrices import square as square_matrices
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, places
from ngraph_rewrite.frontend.numpy.spectra import svdvals
from ngraph_rewrite.frontend.numpy.statistical import max as greatest
from ngraph_rewrite.frontend.numpy.statistical import min as least
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import as_int, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import wide

Order = int | float | str | None
_SINGULAR = (2, -2, "nuc")


def vector_norm(x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Op:
    """The norm of the vectors in some axes: the root of the sum of squares unless told otherwise.

    Where a vector is zero that has a slope of zero.

    Args:
        axis: One axis, or several that are one vector together; by default all.
        ord: The power p in ``sum(abs(x) ** p) ** (1 / p)``; inf or -inf for the greatest or least of the sizes, 0 for
            how many elements are not zero.

    Raises:
        DTypeError: for what is not a float.
        AttributeValueError: for an `ord` that is no number.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.vector_norm(ng.placeholder((7, 2, 3)), axis=(1, 2)).type
    float32[7]
    """
    term = floats("vector_norm", x)
    axes = places("vector_norm", axis, term.rank)
    return _narrowed(term, _vector_norm(_wide(term), axes, _number("vector_norm", ord), keepdims))


def _vector_norm(x: Op, axes: tuple[int, ...], order: float, keepdims: bool) -> Op:
    if math.isinf(order):
        return _extreme(size_of(x), order, axes, keepdims)
    if order == 0:
        return total(astype(not_equal(x, 0), x.dtype), axis=axes, keepdims=keepdims)
    if order == 1:
        return total(size_of(x), axis=axes, keepdims=keepdims)
    if order == 2:
        return _flat_at_zero(total(square(x), axis=axes, keepdims=keepdims), sqrt)
    sizes = size_of(x)
    powers = _flat_at_zero(sizes, lambda n: pow(n, order)) if 0 < order < 1 else pow(sizes, order)
    summed = total(powers, axis=axes, keepdims=keepdims)
    return _flat_at_zero(summed, lambda n: pow(n, 1 / order)) if order > 1 else pow(summed, 1 / order)


def _flat_at_zero(x: Op, function: Callable[[Op], Op]) -> Op:
    """What a function makes of numbers, of which 0 stays 0 and has a slope of 0."""
    nothing = equal(x, 0)
    return where(nothing, 0.0, function(where(nothing, 1.0, x)))


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Order = "fro") -> Op:
    """The norm of the matrices in the last two axes.

    Args:
        ord: ``"fro"``, the root of the sum of squares; 1 or -1, the greatest or least sum of the sizes in a column; inf
            or -inf, the same of rows; 2 or -2, the greatest or least singular value; ``"nuc"``, the sum of them.

    Raises:
        AxesError: for fewer than two axes, or lengths that are not known where there are singular values.
        DTypeError: for what is not a float.
        AttributeValueError: for another `ord`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.matrix_norm(ng.placeholder((7, 2, 3)), ord=1).type
    float32[7]
    """
    term = floats("matrix_norm", x)
    if term.rank < 2:
        raise AxesError(f"matrix_norm: expected matrices, got {term.type!r}", where=user_line(), do="use vector_norm")
    axes = (term.rank - 2, term.rank - 1)
    return _narrowed(term, _matrix_norm("matrix_norm", _wide(term), axes, ord, keepdims))


def _matrix_norm(call: str, x: Op, axes: tuple[int, int], order: Order, keepdims: bool) -> Op:
    if order is None or order == "fro":
        return _vector_norm(x, tuple(sorted(axes)), 2, keepdims)
    if order in _SINGULAR:
        return _of_singular_values(x, axes, order, keepdims)
    if order not in (1, -1, math.inf, -math.inf):
        do = "give 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        raise AttributeValueError(f"{call}: ord {order!r} is no norm of matrices", where=user_line(), do=do)
    summed, compared = axes if abs(float(order)) == 1 else axes[::-1]
    sums = total(size_of(x), axis=summed, keepdims=True)
    found = _extreme(sums, float(order), (compared,), True)
    return found if keepdims else apply("squeeze", found, axis=axes)


def _extreme(sizes: Op, order: float, axes: tuple[int, ...], keepdims: bool) -> Op:
    """The greatest of sizes, which is 0 if there are none, or, for a negative order, the least."""
    if order < 0:
        return least(sizes, axis=axes, keepdims=keepdims)
    nothing = any(sizes.shape[k] == 0 for k in axes)
    return greatest(sizes, axis=axes, keepdims=keepdims, initial=0.0 if nothing else None)


def _of_singular_values(x: Op, axes: tuple[int, int], order: Order, keepdims: bool) -> Op:
    others = tuple([k for k in range(x.rank) if k not in axes])
    s = svdvals(apply("transpose", x, perm=(*others, *axes)))
    if order == "nuc" or s.shape[-1] == 0:
        found = total(s, axis=-1)
    else:
        found = apply("tensor_slice", s, items=(*[slice(None)] * len(others), 0 if order == 2 else -1))
    return apply("expand_dims", found, axis=tuple(sorted(axes))) if keepdims else found


def norm(x: Array, /, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Op:
    """NumPy's: of all elements; of vectors along an axis; of matrices in two axes; with an `ord` of what `x` is.

    Args:
        ord: As `vector_norm` and `matrix_norm` have it; by default the root of the sum of squares.
        axis: An axis of vectors, or two of matrices: of rows, then of columns.

    Raises:
        AxesError: for an `ord` of more than two axes without an `axis`, or another number of axes.
        DTypeError, AttributeValueError, OutOfRangeError: as `vector_norm` and `matrix_norm` do.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((7, 2, 3))
    >>> ng.numpy.linalg.norm(x).type, ng.numpy.linalg.norm(x, axis=1).type, ng.numpy.linalg.norm(x, 1, (1, 2)).type
    (float32[], float32[7, 3], float32[7])
    """
    term = floats("norm", x)
    if axis is None and ord is None:
        return vector_norm(term, keepdims=keepdims)
    given = range(term.rank) if axis is None else axis if isinstance(axis, Iterable) else (axis,)
    axes = tuple([checked("norm", position, a, term.rank) for a in given])
    if len(axes) == 1:
        return vector_norm(term, axis=axes, keepdims=keepdims, ord=2 if ord is None else _number("norm", ord))
    if len(axes) != 2 or axes[0] == axes[1]:
        what = f"norm: expected vectors or matrices, got {term.type!r} and the axes {axes}"
        raise AxesError(what, where=user_line(), do="give an axis, or two")
    return _narrowed(term, _matrix_norm("norm", _wide(term), (axes[0], axes[1]), ord, keepdims))


def matrix_power(x: Array, /, n: int) -> Op:
    """Square matrices times themselves, `n` factors in all; of a negative `n` the inverses.

    Raises:
        AxesError: for what are no square matrices.
        AttributeValueError: for an `n` that is no integer.
        DTypeError: for a negative `n` and what is not a float.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.matrix_power(ng.placeholder((7, 3, 3)), 5).type
    float32[7, 3, 3]
    """
    count = checked("matrix_power", as_int, n, "n")
    term = square_matrices("matrix_power", x, of_floats=count < 0)
    base, found = inv(term) if count < 0 else term, None
    for place in range(abs(count).bit_length()):
        base = base if place == 0 else matmul(base, base)
        if abs(count) >> place & 1:
            found = base if found is None else matmul(found, base)
    return broadcast_to(eye(term.shape[-1], dtype=term.dtype), term.shape) if found is None else found


# -- operands ----------------------------------------------------------------------------------------


def _number(call: str, order: Any) -> float:
    if isinstance(order, int | float) and not isinstance(order, bool):
        return float(order)
    raise AttributeValueError(f"{call}: ord {order!r} is no norm of vectors", where=user_line(), do="give a number")


def _wide(term: Op) -> Op:
    return astype(term, wide(term.dtype))


def _narrowed(term: Op, found: Op) -> Op:
    return astype(found, term.dtype)
