# SPDX-License-Identifier: Apache-2.0
"""An adjoint is brought to the type of what it belongs to, in whatever family that lives, and adjoints add up.

Named axes are matched by name. Anonymous ones are matched as NumPy matches them, from the right, but for the
sample and the recurrent axis, which are matched by their roles wherever they stand. What an adjoint has more is
summed away, along what it lacks it is repeated, and its dtype becomes that of what it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngraph_rewrite.errors import DerivativeError
from ngraph_rewrite.ops.simple_marks import Marker, features, keys
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.families import family
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType, tensors

# The adjoint of a term; of a term that is a tuple the adjoints of its parts, by number, those that have one.
Adjoint = Op | Mapping[int, "Adjoint"]
# What an anonymous axis is matched by: its role, or its place among the others counted from the right.
Key = str | int


def has_slope(type_: TensorType) -> bool:
    """Whether a derivative can pass through a value of this type: floats, and tuples that hold one."""
    if type(type_) is TensorType:  # as nearly all are
        return is_float(type_.dtype)
    return any(is_float(t.dtype) for t in tensors(type_))


def fitted(adjoint: Op, to: TensorType) -> Op:
    """The adjoint with the type `to`.

    Raises:
        DerivativeError: if an anonymous axis of the adjoint has neither the length of its counterpart nor 1,
            or only one of the two has names.
        AxesError: if a name has two lengths.
    """
    if adjoint.type == to:
        return adjoint
    if adjoint.rank and to.rank and adjoint.axes.named != to.axes.named:
        raise DerivativeError(f"an adjoint of type {adjoint.type!r} came to a term of type {to!r}", do="label or strip")
    if "simple" in (family(adjoint.axes), family(to.axes)) and _features_fit(adjoint.axes, to.axes):
        return _fitted_by_mark(adjoint, to)
    named = to.axes.named if to.rank else adjoint.axes.named
    return _fitted_by_name(adjoint, to) if named else _fitted_by_place(adjoint, to)


def accumulated(before: Adjoint | None, more: Adjoint, type_: TensorType) -> Adjoint:
    """What a term of this type has got already, and `more`; tuples add up part by part."""
    if isinstance(more, Op):
        own = fitted(more, type_)
        return added(before, own) if isinstance(before, Op) else own
    assert isinstance(type_, TupleType)
    parts = dict(before) if isinstance(before, Mapping) else {}
    for index, part in more.items():
        parts[index] = accumulated(parts.get(index), part, type_.elements[index])
    return parts


def added(left: Op, right: Op) -> Op:
    """The sum of two adjoints of one type."""
    if left.axes.named:
        return _op("axes.add", left, right)
    if family(left.axes) == "simple":
        return _op("simple.add", left, right)
    total = _op("semi.add", _stripped(left), _stripped(right))
    return labelled(total, left.axes)


def zero(type_: TensorType) -> Op:
    """The adjoint of what nothing connects."""
    return build(lookup("core.constant"), (), value=Literal(0, type_.dtype), axes=type_.axes)


def labelled(x: Op, axes: Axes) -> Op:
    """`x` with these axes, position by position."""
    return x if x.axes == axes else _op("core.label", x, axes=axes)


def _op(name: str, *args: Op, **attributes: Any) -> Op:
    return build(lookup(name), args, **attributes)


def _fitted_by_name(adjoint: Op, to: TensorType) -> Op:
    extra = Axes(a for a in adjoint.axes if a not in to.axes)
    if extra:
        adjoint = _op("axes.sum", adjoint, axes=extra)
    if adjoint.dtype != to.dtype:
        adjoint = _op("axes.cast", adjoint, dtype=to.dtype)
    if not adjoint.axes.is_super_set(to.axes):
        adjoint = _op("axes.broadcast", adjoint, axes=to.axes)
    if adjoint.axes != to.axes:
        adjoint = _op("axes.axes_with_order", adjoint, axes=to.axes)
    return adjoint


def _features_fit(left: Axes, right: Axes) -> bool:
    """Whether the simple family can bring the one to the other: equal features, or none on one side."""
    return not features(left) or not features(right) or features(left) == features(right)


def _fitted_by_mark(adjoint: Op, to: TensorType) -> Op:
    """By ops of the simple family, so that a target can keep its order of the sample and the recurrent axis."""
    gone: tuple[Marker | int, ...] = tuple(
        k for k in keys(adjoint.axes) if isinstance(k, Marker) and k not in keys(to.axes)
    )
    if not features(to.axes):
        gone += tuple(range(len(features(adjoint.axes))))
    if gone:
        adjoint = _op("simple.sum", adjoint, axes=gone)
    if adjoint.dtype != to.dtype:
        adjoint = _op("simple.cast", adjoint, dtype=to.dtype)
    if adjoint.axes == to.axes:
        return adjoint
    new = () if features(adjoint.axes) else tuple(range(len(features(to.axes))))
    return _op("simple.broadcast", adjoint, axes=to.axes, new=new)


# -- anonymous axes -----------------------------------------------------------------------------------


def _fitted_by_place(adjoint: Op, to: TensorType) -> Op:
    """Summed, cast, put in order and repeated by semi ops, between a strip and a label where there are roles."""
    have, want = _keys(adjoint.axes), _keys(to.axes)
    _check_lengths(adjoint, have, to, want)
    kept = [key for key, n in have.items() if want.get(key) == n]
    x = _stripped(adjoint)
    if len(kept) < len(have):
        x = _op("semi.sum", x, axes=tuple(i for i, key in enumerate(have) if key not in kept))
    if x.dtype != to.dtype:
        x = _op("semi.cast", x, dtype=to.dtype)
    return labelled(_repeated(x, kept, list(want), to), to.axes)


def _repeated(x: Op, kept: list[Key], want: list[Key], to: TensorType) -> Op:
    """`x`, whose axes are `kept`, in the order of `want` and repeated along what it lacks."""
    order = tuple(kept.index(key) for key in want if key in kept)
    if order != tuple(range(len(order))):
        x = _op("semi.transpose", x, perm=order)
    if x.shape != to.shape:
        dims = tuple(i for i, key in enumerate(want) if key in kept)
        x = _op("semi.broadcast", x, shape=to.shape, dims=dims)
    return x


def _keys(axes: Axes) -> dict[Key, Extent]:
    """What each anonymous axis is matched by, in order, with its length."""
    roles = {i: role for i, a in enumerate(axes) for role in ("sample", "recurrent") if role in a.roles}
    others = [i for i in range(len(axes)) if i not in roles]
    return {roles[i] if i in roles else others.index(i) - len(others): a.length for i, a in enumerate(axes)}


def _check_lengths(adjoint: Op, have: Mapping[Key, Extent], to: TensorType, want: Mapping[Key, Extent]) -> None:
    if any(key in want and 1 not in (n, want[key]) and n != want[key] for key, n in have.items()):
        raise DerivativeError(
            f"an adjoint of type {adjoint.type!r} came to a term of type {to!r}",
            do="give it the shape of what it belongs to in the derive rule",
        )


def _stripped(x: Op) -> Op:
    return x if x.type == x.type.stripped() else _op("core.strip", x)
