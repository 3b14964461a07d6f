# SPDX-License-Identifier: Apache-2.0
"""Axes ops that repeat, order, rename and group axes; the elements stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, AxesError, DuplicateAxisNames, UnmatchedAxesError
from ngraph_rewrite.ops.alignment import axis_of, contained, not_flattened, replace_axis, same_set, some_of, spread
from ngraph_rewrite.ops.checks import known_shape, named, position, several
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.tensor import TensorType


def _spread(term: Op, x: Any) -> Any:
    return spread(x, term.args[0].axes, term.axes)


def _reshaped(term: Op, x: Any) -> Any:
    return np.reshape(x, term.shape)


def _unchanged(term: Op, x: Any) -> Any:
    return x


def _all_axes(x: TensorType, *, axes: Any) -> Attributes:
    return {"axes": Axes(axes)}


@op("axes.broadcast", "view", meaning=_spread, normalise=_all_axes)
def broadcast(x: TensorType, *, axes: Axes) -> TensorType:
    """`x` repeated to `axes`, which hold its own in any order."""
    named(x, x.with_axes(axes))
    contained(x.axes, axes)
    return x.with_axes(axes)


def _order(x: TensorType, *, axes: Any) -> Attributes:
    given = isinstance(axes, Axes | Axis | Mapping)
    wanted = Axes(axes if given else [axis_of(x.axes, a) for a in several(axes, "axes")])
    same_set(x.axes, wanted)
    return {"axes": Axes(axis_of(x.axes, a) for a in wanted)}


@op("axes.axes_with_order", "view", meaning=_spread, normalise=_order)
def axes_with_order(x: TensorType, *, axes: Axes) -> TensorType:
    """`x` with the same axes in another order."""
    named(x)
    return x.with_axes(axes)


@op("axes.cast_axes", "view", meaning=_unchanged, normalise=_all_axes)
def cast_axes(x: TensorType, *, axes: Axes) -> TensorType:
    """`x` with other axes of the same lengths, position by position."""
    named(x, x.with_axes(axes))
    if x.shape != axes.lengths:
        raise AxesError(f"cannot cast {x!r} to {axes!r}", do="give axes of the same lengths in the same order")
    return x.with_axes(axes)


def _names(x: TensorType, *, names: Any) -> Attributes:
    try:
        pairs = dict(names)
    except (TypeError, ValueError):
        raise AttributeValueError(f"names is {names!r}", do="give pairs of an old and a new name") from None
    missing = [old for old in pairs if x.axes.find(old) is None]
    if missing:
        raise UnmatchedAxesError(f"{x!r} has no axis {', '.join(map(str, missing))}")
    return {"names": tuple((a.name, pairs[a.name]) for a in x.axes if a.name in pairs)}


@op("axes.map_roles", "view", meaning=_unchanged, normalise=_names)
def map_roles(x: TensorType, *, names: Mapping[str, str]) -> TensorType:
    """`x` with axes renamed by pairs (old, new); lengths and roles stay."""
    named(x)
    new = dict(names)
    return x.with_axes(a.renamed(new[a.name]) if a.name in new else a for a in x.axes)


def _flatten_axes(x: TensorType, *, axes: Any) -> Attributes:
    chosen = some_of(x.axes, axes)
    start = x.axes.index(chosen[0]) if chosen else 0
    if chosen != x.axes[start : start + len(chosen)] or (x.rank and not chosen):
        raise AxesError(
            f"{chosen!r} do not stand side by side in {x.axes!r}", do="order them with axes_with_order first"
        )
    return {"axes": chosen}


@op("axes.flatten", "view", meaning=_reshaped, normalise=_flatten_axes)
def flatten(x: TensorType, *, axes: Axes) -> TensorType:
    """`x` with neighbouring axes as one, row-major; the new axis remembers them."""
    named(x)
    start = x.axes.index(axes[0]) if axes else 0
    return x.with_axes((*x.axes[:start], Axis.flattened(axes), *x.axes[start + len(axes) :]))


def _one_axis(x: TensorType, *, axis: Any) -> Attributes:
    return {"axis": axis_of(x.axes, axis)}


@op("axes.unflatten", "view", meaning=_reshaped, normalise=_one_axis)
def unflatten(x: TensorType, *, axis: Axis) -> TensorType:
    """`x` with a flattened axis as the axes it was made of."""
    named(x)
    return x.with_axes(replace_axis(x, x.axes.index(axis), *not_flattened(axis)))


def _new_axis(x: TensorType, *, axis: Any, dim: Any) -> Attributes:
    if not isinstance(axis, Axis):
        raise ArgumentError(f"axis is {axis!r}", do='give an Axis, such as Axis("H", 3)')
    return {"axis": axis, "dim": position(dim, x.rank + 1)}


def _expanded(term: Op, x: Any) -> Any:
    return np.broadcast_to(np.expand_dims(x, term.attribute("dim")), known_shape(term.axes))


@op("axes.expand_dims", "view", meaning=_expanded, normalise=_new_axis)
def expand_dims(x: TensorType, *, axis: Axis, dim: int) -> TensorType:
    """`x` repeated along a new axis, which stands at position `dim`."""
    named(x)
    new_name(x.axes, axis)
    return x.with_axes((*x.axes[:dim], axis, *x.axes[dim:]))


def new_name(axes: Axes, axis: Axis) -> None:
    """Demand that no axis has this name yet."""
    if axis.name is None or axes.find(axis.name) is not None:
        raise DuplicateAxisNames(f"{axes!r} cannot get another axis {axis!r}", do="give it a name that is not used")
