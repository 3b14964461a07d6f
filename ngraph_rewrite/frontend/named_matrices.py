# SPDX-License-Identifier: Apache-2.0
"""Matrices in two named axes: which these are, and the same without names, with one axis before them."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.frontend.arrangement import axes_with_order, broadcast, label, strip
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.choice import cast
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import is_float, wide
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


def matrices(call: str, x: Operand, rows: Axis | str, columns: Axis | str, are_square: bool = True) -> Matrices:
    """A term of floats, and its axes.

    Args:
        are_square: Whether these have to be of one length.
    """
    term = of_floats(call, as_op(x))
    pair = [checked(call, axis_of, term.axes, axis) for axis in (rows, columns)]
    if pair[0] == pair[1] or (are_square and pair[0].length != pair[1].length):
        expected, do = "two axes of one length", "name the axes of square matrices"
        if not are_square:
            expected, do = "two axes", "name the axes of matrices"
        what = f"{call}: expected {expected}, got {pair[0]!r} and {pair[1]!r} of {term.type!r}"
        raise AxesError(what, where=user_line(), do=do)
    return Matrices(term, pair[0], pair[1], term.axes - Axes(pair))


def of_floats(call: str, term: Op) -> Op:
    """A term, if it is of a float dtype."""
    if not is_float(term.dtype):
        what = f"{call}: expected a float dtype, got {term.type!r}"
        raise DTypeError(what, where=user_line(), do="cast it to float32 or float64")
    return term


def flat(term: Op, before: Axes, rows: Axis, after: Axes) -> Op:
    """A term without names (b, n, m): axes before, which it may lack, the axis of rows, and axes after."""
    plain = strip(axes_with_order(broadcast(term, Axes([*before, rows, *after])), Axes([*before, rows, *after])))
    shape = (product(before.lengths), rows.length, product(after.lengths))
    return apply("semi.cast", apply("semi.reshape", plain, shape=shape), dtype=wide(term.dtype))


def labelled(found: Op, term: Op, axes: Axes, order: Axes) -> Op:
    """What was found with axes, in an order, in the dtype of a term."""
    named = label(apply("semi.reshape", found, shape=axes.lengths), axes)
    return cast(axes_with_order(named, order), term.dtype)
