# SPDX-License-Identifier: Apache-2.0
"""Functions that repeat, order, group, cut and join tensors: features by position, N and R by their markers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.simple.operands import Array, Shape, apply, as_term, several
from ngraph_rewrite.frontend.simple.windows import paddings_by_feature
from ngraph_rewrite.frontend.sliding import ByAxis
from ngraph_rewrite.ops.checks import several as as_tuple
from ngraph_rewrite.ops.simple_marks import Key, N, R, features, keys, marked
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import product

__all__ = [
    "arrange", "broadcast", "concat", "flatten", "one_hot", "pad", "reshape", "slice_axis", "stack", "take", "transpose"
]  # fmt: skip


def broadcast(x: Array, shape: Shape, new: Iterable[int] | None = None) -> Op:
    """`x` repeated to `shape`, along N, R and features that it lacks.

    Args:
        shape: What the result shall be; it has all axes of `x`, in any order.
        new: The numbers of the features of `shape` that `x` lacks; by default all if `x` has none, else none.

    Raises:
        UnmatchedAxesError: if `x` has N or R and `shape` has not.
        AxesError: if the features of `x` are not those of `shape` that are not new.

    >>> import ngraph_rewrite as ng
    >>> b = ng.simple.variable((10,))
    >>> ng.simple.broadcast(b, (ng.simple.N, 10)).type
    float32[sample:N, 10]
    >>> ng.simple.broadcast(b, (10, 4), new=[1]).type
    float32[10, 4]
    """
    term, axes = as_term(x), checked("broadcast", marked, shape)
    given = () if features(term.axes) else tuple(range(len(features(axes))))
    return apply("broadcast", term, axes=axes, new=given if new is None else tuple(new))


def transpose(x: Array, perm: Sequence[int] | None = None) -> Op:
    """`x` with its features in another order, by default reversed; N and R stay where they stand.

    Raises:
        AttributeValueError: if `perm` does not name each feature once.
        OutOfRangeError: for a number beyond the features.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.transpose(ng.simple.placeholder((3, 4, ng.simple.N))).type
    float32[4, 3, sample:N]
    """
    term = as_term(x)
    numbers = range(len(features(term.axes)))[::-1] if perm is None else checked("transpose", as_tuple, perm, "perm")
    follow = iter(numbers)
    if len(numbers) != len(features(term.axes)):
        raise AttributeValueError(
            f"transpose: perm is {tuple(numbers)}",
            where=user_line(),
            do=f"name each of {len(features(term.axes))} features",
        )
    return apply("transpose", term, order=tuple(next(follow) if isinstance(k, int) else k for k in keys(term.axes)))


def arrange(x: Array, sample: str | None = None, recurrent: str | None = None) -> Op:
    """`x` with N or R first or last: what a result looks like, whatever the transformer prefers inside.

    Args:
        sample: ``"first"`` or ``"last"``; None leaves N where it stands.
        recurrent: The same for R. Where both go to one side, R is the outer one.

    Raises:
        AttributeValueError: for any other place.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.arrange(ng.simple.placeholder((3, ng.simple.N)), sample="first").type
    float32[sample:N, 3]
    """
    term = as_term(x)
    order: list[Key] = list(keys(term.axes))
    for marker, place in ((N, sample), (R, recurrent)):
        if place not in ("first", "last", None):
            raise AttributeValueError(
                f"arrange: {marker} cannot stand {place!r}", where=user_line(), do="first or last"
            )
        if marker in order and place is not None:
            order.remove(marker)
            at = 0 if place == "first" else len(order) - (marker is R and sample == "last" and N in order)
            order.insert(at, marker)
    return term if order == list(keys(term.axes)) else apply("transpose", term, order=tuple(order))


def reshape(x: Array, shape: Iterable[int] | int) -> Op:
    """`x` with features of another shape and the same size, row-major; N and R stay before or behind them.

    Raises:
        AxesError: if the number of elements differs.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.reshape(ng.simple.placeholder((3, 4, ng.simple.N)), (2, 6)).type
    float32[2, 6, sample:N]
    """
    return apply("reshape", as_term(x), shape=shape if isinstance(shape, int) else tuple(shape))


def flatten(x: Array) -> Op:
    """`x` with all its features as one, row-major.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.flatten(ng.simple.placeholder((3, 4, ng.simple.N))).type
    float32[12, sample:N]
    """
    term = as_term(x)
    return apply("reshape", term, shape=(product(features(term.axes)),))


def slice_axis(x: Array, axis: Key, item: int | slice) -> Op:
    """`x` at a position of one axis, a feature's number or N or R, which it drops; or a slice of it.

    ``x[1, ::2]`` indexes the features, and takes N and R whole.

    Raises:
        UnmatchedAxesError: if `x` has no such axis.
        OutOfRangeError: if an integer is outside of it.

    >>> import ngraph_rewrite as ng
    >>> x = ng.simple.placeholder((3, ng.simple.R(5), ng.simple.N))
    >>> ng.simple.slice_axis(x, ng.simple.R, -1).type, x[1:].type
    (float32[3, sample:N], float32[2, recurrent:5, sample:N])
    """
    if isinstance(item, tuple):  # to the op the triple of a range
        raise AttributeValueError(f"slice_axis: the index {item!r}", where=user_line(), do="give an integer or a slice")
    return apply("slice_axis", as_term(x), axis=axis, item=item)


def pad(x: Array, paddings: ByAxis, value: float = 0) -> Op:
    """`x` with `value` before and after it, per feature axis.

    Args:
        paddings: A number of elements on either side, or the pair (before, after): for each feature, or by feature.

    Raises:
        AttributeValueError: if there is not one padding for each feature.
        LengthError: if one is negative.
        OutOfRangeError: for a feature that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.pad(ng.simple.placeholder((5, 4, ng.simple.N)), [1, (0, 2)]).type
    float32[7, 6, sample:N]
    >>> ng.simple.pad(ng.simple.placeholder((5, 4, ng.simple.N)), {1: (0, 2)}).type
    float32[5, 6, sample:N]
    """
    term = as_term(x)
    before, after = paddings_by_feature("pad", term, paddings, range(len(features(term.axes))))
    return apply("pad", term, before=before, after=after, value=value)


def concat(xs: Iterable[Array], axis: Key = 0) -> Op:
    """The tensors one after the other along an axis that all have, a feature's number or N or R.

    Raises:
        ArgumentError: if there are none.
        UnmatchedAxesError: if one has no such axis.
        AxesError: if their other features differ.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.simple.placeholder((3, ng.simple.N)), ng.simple.placeholder((ng.simple.N, 2))
    >>> ng.simple.concat([x, y]).type
    float32[5, sample:N]
    """
    return apply("concat", *several("concat", xs), axis=axis)


def stack(xs: Iterable[Array], pos: int = 0) -> Op:
    """The tensors, of equal features, side by side along a new feature, which becomes number `pos`.

    Raises:
        ArgumentError: if there are none.
        AxesError: if their features differ.
        OutOfRangeError: if `pos` is beyond the features.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.stack([ng.simple.placeholder((3, ng.simple.N)), ng.simple.variable((3,))], 1).type
    float32[3, 2, sample:N]
    """
    return apply("stack", *several("stack", xs), pos=pos)


def one_hot(x: Array, length: int, dtype: Any = None) -> Op:
    """1 where the new first feature, of this length, is at the integer `x`, and 0 elsewhere.

    Args:
        x: Integers; negative ones count from the end, and one outside gives zeros.
        dtype: The dtype of the result; None is float32.

    Raises:
        DTypeError: if `x` is not of an integer dtype.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.one_hot(ng.simple.placeholder((ng.simple.N,), "int64"), 10).type
    float32[10, sample:N]
    """
    return apply("one_hot", as_term(x), length=length, dtype=dtype)


def take(table: Array, indices: Array) -> Op:
    """The entries of `table` along its first axis at the integers `indices`: an embedding.

    The features of the result are those of the indices, then those of an entry; N and R are those of the indices.

    Raises:
        DTypeError: if the indices are not integers.
        FamilyError: if the table has N or R.

    >>> import ngraph_rewrite as ng
    >>> words = ng.simple.placeholder((ng.simple.R(7), ng.simple.N), "int64")
    >>> ng.simple.take(ng.simple.variable((1000, 16)), words).type
    float32[16, recurrent:7, sample:N]
    """
    return apply("take", as_term(table), as_term(indices))
