# SPDX-License-Identifier: Apache-2.0
"""Functions that take parts of tensors and put them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.arrangement import cast_axes
from ngraph_rewrite.frontend.building import Operand, apply, checked, terms_of
from ngraph_rewrite.frontend.sliding import ByAxis
from ngraph_rewrite.frontend.sliding import paddings as before_and_after
from ngraph_rewrite.frontend.storage import as_op, as_ops
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import AxesLike, Axis


def tensor_slice(x: Operand, slices: Sequence[Any], axes: AxesLike = None) -> Op:
    """A part of `x`: an integer drops its axis, a slice keeps its name with the new length.

    ``x[1, ::-1]`` builds the same, with whole axes for what is not mentioned.

    Args:
        slices: One integer or slice for each axis.
        axes: Other axes for the result, of the lengths that it has.

    Raises:
        AttributeValueError: if there is not one for each axis, or a step is 0.
        OutOfRangeError: if an integer is outside of its axis; negative ones count from its end.

    >>> import ngraph_rewrite as ng
    >>> ng.tensor_slice(ng.variable({"H": 5, "W": 4}), (slice(None, None, 2), -1)).type
    float32[H:3]
    """
    term, items = as_op(x), tuple(slices)
    if len(items) != term.rank:
        raise AttributeValueError(
            f"tensor_slice: {len(items)} slices for {term.type!r}", where=user_line(), do="give one for each axis"
        )
    part = term[items] if items else term
    return part if axes is None else cast_axes(part, axes)


def slice_along_axis(x: Operand, axis: Axis | str, idx: int | slice) -> Op:
    """A part of `x` along one axis: an integer drops it, a slice keeps its name with the new length.

    Raises:
        UnmatchedAxesError: if `x` has no such axis.
        OutOfRangeError: if an integer is outside of it.

    >>> import ngraph_rewrite as ng
    >>> ng.slice_along_axis(ng.variable({"H": 5, "W": 4}), "W", 0).type
    float32[H:5]
    """
    term = as_op(x)
    at = term.axes.index(checked("slice_along_axis", axis_of, term.axes, axis))
    return term[(slice(None),) * at + (idx,)]


def pad(x: Operand, paddings: ByAxis, axes: AxesLike = None) -> Op:
    """`x` with zeros before and after it, per axis.

    Args:
        paddings: A number of zeros on either side, or the pair (before, after): for each axis, or by name.
        axes: Other axes for the result, of the lengths that it has.

    Raises:
        AttributeValueError: if there is not one padding for each axis.
        LengthError: if one is negative.
        UnmatchedAxesError: if one is for an axis that `x` lacks.

    >>> import ngraph_rewrite as ng
    >>> ng.pad(ng.variable({"H": 5, "W": 4}), [1, (0, 2)]).type
    float32[H:7, W:6]
    >>> ng.pad(ng.variable({"H": 5, "W": 4}), {"W": (0, 2)}).type
    float32[H:5, W:6]
    """
    term = as_op(x)
    before, after = before_and_after("pad", paddings, [str(a.name) for a in term.axes])
    padded = apply("axes.pad", term, before=before, after=after)
    return padded if axes is None else cast_axes(padded, axes)


def concat_along_axis(x_list: Iterable[Operand], axis: Axis | str) -> Op:
    """The terms one after the other along an axis that all have; their other axes are equal, in any order.

    Raises:
        ArgumentError: if there are no terms.
        UnmatchedAxesError: if a term lacks the axis, or has other axes than the first.

    >>> import ngraph_rewrite as ng
    >>> ng.concat_along_axis([ng.variable({"H": 2, "W": 4}), ng.variable({"H": 3, "W": 4})], "H").type
    float32[H:5, W:4]
    """
    return apply("axes.concat", *_some("concat_along_axis", x_list), axis=axis)


def stack(x_list: Iterable[Operand], axis: Axis, pos: int = 0) -> Op:
    """The terms side by side along a new axis, which stands at position `pos`.

    Args:
        axis: The new axis; it is as long as there are terms.

    Raises:
        ArgumentError: if there are no terms.
        AxesError: if the axis has another length.
        DuplicateAxisNames: if the terms have an axis of its name.
        UnmatchedAxesError: if a term has other axes than the first.

    >>> import ngraph_rewrite as ng
    >>> ng.stack([ng.variable({"H": 3}), ng.variable({"H": 3})], ng.Axis("K", 2)).type
    float32[K:2, H:3]
    """
    return apply("axes.stack", *_some("stack", x_list), axis=axis, pos=pos)


def one_hot(x: Operand, axis: Axis, dtype: Any = None) -> Op:
    """1 where the class axis, which is put leftmost, is at the integer `x`, and 0 elsewhere.

    Args:
        x: Integers; negative ones count from the end, and one outside of the axis gives zeros.
        axis: The axis of classes.
        dtype: The dtype of the result; None is float32.

    In ngraph-python, floats were taken too; here they are refused.

    Raises:
        DTypeError: if `x` is not of an integer dtype.
        DuplicateAxisNames: if `x` has an axis of this name.

    >>> import ngraph_rewrite as ng
    >>> ng.one_hot(ng.placeholder({"N": None}, "int64"), ng.Axis("K", 10)).type
    float32[K:10, N:N]
    """
    return apply("axes.one_hot", as_op(x), axis=axis, dtype=dtype)


def _some(call: str, x_list: Any) -> list[Op]:
    terms = as_ops(terms_of(call, x_list))
    if not terms:
        raise ArgumentError(f"{call}: there are no terms", where=user_line(), do="give at least one")
    return terms
