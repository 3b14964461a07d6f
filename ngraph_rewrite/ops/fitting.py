# SPDX-License-Identifier: Apache-2.0
"""A value is brought to the type of the storage it is kept in: cast, repeated along the axes it lacks, in order."""

from __future__ import annotations

from ngraph_rewrite.errors import DTypeError, FamilyError, UnmatchedAxesError
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.families import unmixed
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.dtypes import DType, can_cast
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def fitted(value: Op, to: TensorType, name: str) -> Op:
    """`value` with exactly the type `to`.

    Args:
        name: What the storage is called in messages.

    Raises:
        DTypeError: if the value would have to become another kind of number, such as float to int.
        FamilyError: if only one of the two has names; inside ``coercion("error")``, if they are of two families.
        UnmatchedAxesError: if the value has an axis that the storage lacks, or does not broadcast to its shape.
    """
    unmixed(value.type, to)
    castable(value.dtype, to.dtype, name)
    if value.axes == to.axes:
        return _cast(value, to.dtype)
    return _named(value, to, name) if to.axes.named else _positional(value, to, name)


def castable(dtype: DType, to: DType, name: str) -> None:
    """Demand that values of a dtype can be kept in another: numbers of the same kind, or of a lesser one.

    Raises:
        DTypeError: if not.
    """
    if not can_cast(dtype, to, "same_kind"):
        raise DTypeError(
            f"the value is {dtype}, {name} is {to}", do=f"write ng.cast(value, {str(to)!r}) if that is meant"
        )


def _named(value: Op, to: TensorType, name: str) -> Op:
    if value.rank and not value.axes.named:
        raise FamilyError(
            f"the value has no names, {name} has the axes {to.axes!r}",
            do="write ng.label(value, axes) to name its axes",
        )
    if not value.axes.is_sub_set(to.axes):
        raise UnmatchedAxesError(
            f"the value's axes {value.axes!r} are not among those of {name}, {to.axes!r}",
            do="reduce the value over the others",
        )
    return build(lookup("axes.broadcast"), (_cast(value, to.dtype),), axes=to.axes)


def _positional(value: Op, to: TensorType, name: str) -> Op:
    """By place from the right, as NumPy broadcasts; roles have to be the same where they are told."""
    places = list(range(to.rank - value.rank, to.rank))
    fits = value.rank <= to.rank and not value.axes.named and _stretches(value.axes, to.axes[to.rank - value.rank :])
    if value.rank and not fits:
        raise UnmatchedAxesError(
            f"the value's axes {value.axes!r} are not those of {name}, {to.axes!r}",
            do="reshape it, or write ng.strip(value) to forget its names",
        )
    plain = _cast(_stripped(value), to.dtype)
    kept = [p for p, n in zip(places, value.shape, strict=True) if n == to.shape[p]]
    if len(kept) < value.rank:
        plain = build(lookup("semi.reshape"), (plain,), shape=tuple(to.shape[p] for p in kept))
    if plain.shape != to.shape:
        plain = build(lookup("semi.broadcast"), (plain,), shape=to.shape, dims=tuple(kept))
    return plain if plain.axes == to.axes else build(lookup("core.label"), (plain,), axes=to.axes)


def _stretches(axes: Axes, to: Axes) -> bool:
    pairs = list(zip(axes, to, strict=True))
    return all(_reaches(a.length, b.length) and (not a.roles or a.roles == b.roles) for a, b in pairs)


def _reaches(n: Extent, to: Extent) -> bool:
    return n in (1, to)


def _stripped(x: Op) -> Op:
    return x if x.axes == anonymous(x.shape) else build(lookup("core.strip"), (x,))


def _cast(x: Op, dtype: DType) -> Op:
    if x.dtype == dtype:
        return x
    if x.axes.named or not x.rank:
        return build(lookup("axes.cast"), (x,), dtype=dtype)
    plain = build(lookup("semi.cast"), (_stripped(x),), dtype=dtype)
    return plain if plain.axes == x.axes else build(lookup("core.label"), (plain,), axes=x.axes)
