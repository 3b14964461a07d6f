# SPDX-License-Identifier: Apache-2.0
"""Equations, factors and determinants of matrices in two named axes, for all other axes at once, matched by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from ngraph_rewrite.errors import AxesError, DTypeError, UnmatchedAxesError
from ngraph_rewrite.frontend.arrangement import axes_with_order, broadcast, label, strip
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.choice import cast
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import is_float, promote, wide
from ngraph_rewrite.types.lengths import product


class Matrices(NamedTuple):
    """A term, and which axes its matrices are in.

    Attributes:
        others: All axes but these two.
    """

    term: Op
    rows: Axis
    columns: Axis
    others: Axes


def cholesky(x: Operand, rows: Axis | str, columns: Axis | str) -> Op:
    """The triangles L, in the axes of `x`, with the sum of L times L over `columns` equal to `x`.

    Of each symmetric matrix only what is on the diagonal or below is read: places in `rows` that are not before those
    in `columns`. Where it is not positive definite, columns from some place on are NaN.

    Raises:
        UnmatchedAxesError: if `x` lacks one of the axes.
        AxesError: if they are one, or have two lengths.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> ng.cholesky(ng.placeholder({"N": 7, "H": 3, "G": 3}), "H", "G").type
    float32[N:7, H:3, G:3]
    """
    found = _matrices("cholesky", x, rows, columns)
    factors = apply("semi.cholesky", _flat(found.term, found.others, found.rows, Axes([found.columns])))
    return _labelled(factors, found.term, Axes([*found.others, found.rows, found.columns]), found.term.axes)


def solve(a: Operand, b: Operand, rows: Axis | str, columns: Axis | str) -> Op:
    """What `a` times, summed over `columns`, gives `b`: ``dot(a, solve(a, b, rows, columns), reduction_axes=columns)``.

    `b` has the axis `rows`, in the place of which the result has `columns`. Other axes of `a` are gone along together
    with those of `b`. Where a matrix is singular the result is not finite.

    Raises:
        UnmatchedAxesError: if `a` lacks one of the axes, or `b` lacks the first or has the second.
        AxesError: if they are one, or have two lengths.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> a, b = ng.placeholder({"N": 7, "H": 3, "G": 3}), ng.placeholder({"H": 3, "K": 2})
    >>> ng.solve(a, b, "H", "G").type
    float32[N:7, G:3, K:2]
    """
    return _solved("solve", a, b, rows, columns, transposed=False)


def triangular_solve(
    a: Operand, b: Operand, rows: Axis | str, columns: Axis | str, lower: bool = True, unit: bool = False
) -> Op:
    """As `solve`, of the lower triangles of `a` alone, or the upper ones; with `unit` their diagonals are 1.

    Raises:
        UnmatchedAxesError, AxesError, DTypeError: as `solve` does.
        AttributeValueError: for flags that are no bool.

    >>> import ngraph_rewrite as ng
    >>> a, b = ng.placeholder({"H": 3, "G": 3}), ng.placeholder({"K": 2, "H": 3})
    >>> ng.triangular_solve(ng.cholesky(a, "H", "G"), b, "H", "G").type
    float32[K:2, G:3]
    """
    return _solved("triangular_solve", a, b, rows, columns, lower=lower, unit=unit)


def slogdet(x: Operand, rows: Axis | str, columns: Axis | str) -> tuple[Op, Op]:
    """The signs of the determinants, and the logarithms of their sizes: 0 and -inf of a singular matrix.

    Raises:
        UnmatchedAxesError: if `x` lacks one of the axes.
        AxesError: if they are one, or have two lengths.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> sign, logarithm = ng.slogdet(ng.placeholder({"N": 7, "H": 3, "G": 3}), "H", "G")
    >>> logarithm.type
    float32[N:7]
    """
    found = _matrices("slogdet", x, rows, columns)
    flat = _flat(found.term, found.others, found.rows, Axes([found.columns]))
    each = [apply(f"semi.{short}", flat) for short in ("det_sign", "logdet")]
    sign, logarithm = [_labelled(one, found.term, found.others, found.others) for one in each]
    return sign, logarithm


# -- operands ----------------------------------------------------------------------------------------


def _matrices(call: str, x: Operand, rows: Axis | str, columns: Axis | str) -> Matrices:
    """A term of floats, and its axes."""
    term = _of_floats(call, as_op(x))
    pair = [checked(call, axis_of, term.axes, axis) for axis in (rows, columns)]
    if pair[0] == pair[1] or pair[0].length != pair[1].length:
        what = f"{call}: expected two axes of one length, got {pair[0]!r} and {pair[1]!r} of {term.type!r}"
        raise AxesError(what, where=user_line(), do="name the axes of square matrices")
    return Matrices(term, pair[0], pair[1], term.axes - Axes(pair))


def _of_floats(call: str, term: Op) -> Op:
    if not is_float(term.dtype):
        what = f"{call}: expected a float dtype, got {term.type!r}"
        raise DTypeError(what, where=user_line(), do="cast it to float32 or float64")
    return term


def _solved(call: str, a: Operand, b: Operand, rows: Axis | str, columns: Axis | str, **attributes: Any) -> Op:
    found, right = _matrices(call, a, rows, columns), _of_floats(call, as_op(b))
    checked(call, axis_of, right.axes, found.rows)
    if right.axes.find(str(found.columns.name)) is not None:
        what = f"{call}: the right side {right.type!r} has the axis {found.columns.name}, which the result has"
        raise UnmatchedAxesError(what, where=user_line(), do="rename it: ng.cast_axes(b, axes)")
    dtype = checked(call, promote, found.term.dtype, right.dtype)
    left, right = cast(found.term, dtype), cast(right, dtype)
    own = right.axes - found.others - Axes([found.rows])
    sides = _flat(right, found.others, found.rows, own)
    matrices = _flat(left, found.others, found.rows, Axes([found.columns]))
    solved = apply(f"semi.{call}", matrices, sides, **attributes)
    order = [found.columns if axis == found.rows else axis for axis in right.axes]
    order = [*(found.others - right.axes), *order]
    return _labelled(solved, right, Axes([*found.others, found.columns, *own]), Axes(order))


def _flat(term: Op, before: Axes, rows: Axis, after: Axes) -> Op:
    """A term without names (b, n, m): axes before, which it may lack, the axis of rows, and axes after."""
    plain = strip(axes_with_order(broadcast(term, Axes([*before, rows, *after])), Axes([*before, rows, *after])))
    shape = (product(before.lengths), rows.length, product(after.lengths))
    return apply("semi.cast", apply("semi.reshape", plain, shape=shape), dtype=wide(term.dtype))


def _labelled(found: Op, term: Op, axes: Axes, order: Axes) -> Op:
    """What was found with axes, in an order, in the dtype of a term."""
    named = label(apply("semi.reshape", found, shape=axes.lengths), axes)
    return cast(axes_with_order(named, order), term.dtype)
