# SPDX-License-Identifier: Apache-2.0
"""Equations, factors and determinants of matrices in two named axes, for all other axes at once, matched by name."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import UnmatchedAxesError
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.choice import cast
from ngraph_rewrite.frontend.named_matrices import flat, labelled, matrices, of_floats
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import promote


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
    found = matrices("cholesky", x, rows, columns)
    factors = apply("semi.cholesky", flat(found.term, found.others, found.rows, Axes([found.columns])))
    return labelled(factors, found.term, Axes([*found.others, found.rows, found.columns]), found.term.axes)


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
    found = matrices("slogdet", x, rows, columns)
    given = flat(found.term, found.others, found.rows, Axes([found.columns]))
    each = [apply(f"semi.{short}", given) for short in ("det_sign", "logdet")]
    sign, logarithm = [labelled(one, found.term, found.others, found.others) for one in each]
    return sign, logarithm


def _solved(call: str, a: Operand, b: Operand, rows: Axis | str, columns: Axis | str, **attributes: Any) -> Op:
    found, right = matrices(call, a, rows, columns), of_floats(call, as_op(b))
    checked(call, axis_of, right.axes, found.rows)
    if right.axes.find(str(found.columns.name)) is not None:
        what = f"{call}: the right side {right.type!r} has the axis {found.columns.name}, which the result has"
        raise UnmatchedAxesError(what, where=user_line(), do="rename it: ng.cast_axes(b, axes)")
    dtype = checked(call, promote, found.term.dtype, right.dtype)
    left, right = cast(found.term, dtype), cast(right, dtype)
    own = right.axes - found.others - Axes([found.rows])
    sides = flat(right, found.others, found.rows, own)
    solved = apply(f"semi.{call}", flat(left, found.others, found.rows, Axes([found.columns])), sides, **attributes)
    order = [found.columns if axis == found.rows else axis for axis in right.axes]
    order = [*(found.others - right.axes), *order]
    return labelled(solved, right, Axes([*found.others, found.columns, *own]), Axes(order))
