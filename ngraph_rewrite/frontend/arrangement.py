# SPDX-License-Identifier: Apache-2.0
"""Functions that repeat, order, rename and group axes; the elements stay."""

from __future__ import annotations

from collections.abc import Mapping

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, UnmatchedAxesError
from ngraph_rewrite.frontend.building import AxesOf, Operand, apply, checked
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.families import marked
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.types.axes import Axes, AxesLike, Axis


def broadcast(x: Operand, axes: AxesLike) -> Op:
    """`x` repeated to `axes`, which have its own, in any order; `x` itself if they are the same.

    Raises:
        UnmatchedAxesError: if an axis of `x` is not among them.
        IncompatibleAxesError: if one has another length.

    >>> import ngraph_rewrite as ng
    >>> ng.broadcast(ng.variable({"H": 3}), {"N": 4, "H": 3}).type
    float32[N:4, H:3]
    """
    term = as_op(x)
    return _unless_same(term, apply("axes.broadcast", term, axes=checked("broadcast", Axes, axes)))


def axes_with_order(x: Operand, axes: AxesOf) -> Op:
    """`x` with its axes in another order; `x` itself if they are in it.

    Raises:
        UnmatchedAxesError: if `axes` are not those of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.axes_with_order(ng.variable({"H": 3, "W": 4}), ["W", "H"]).type
    float32[W:4, H:3]
    """
    term = as_op(x)
    listed = [axes] if isinstance(axes, str | Axis) else axes
    return _unless_same(term, apply("axes.axes_with_order", term, axes=listed))


def cast_axes(x: Operand, axes: AxesLike) -> Op:
    """`x` with other axes of the same lengths, position by position; `x` itself if they are the same.

    Raises:
        AxesError: if the lengths differ.

    >>> import ngraph_rewrite as ng
    >>> ng.cast_axes(ng.variable({"H": 3}), {"K": 3}).type
    float32[K:3]
    """
    term = as_op(x)
    return _unless_same(term, apply("axes.cast_axes", term, axes=checked("cast_axes", Axes, axes)))


def cast_role(x: Operand, axes: AxesLike) -> Op:
    """`x` with the names and roles of `axes`, position by position, and its own lengths.

    Raises:
        UnmatchedAxesError: if there are more or fewer axes.

    >>> import ngraph_rewrite as ng
    >>> ng.cast_role(ng.variable({"H": 3}), {"K": 1}).type
    float32[K:3]
    """
    term, given = as_op(x), checked("cast_role", Axes, axes)
    if len(given) != term.rank:
        raise UnmatchedAxesError(
            f"cast_role: {len(given)} axes {given!r} for {term.type!r}", where=user_line(), do="give one for each axis"
        )
    return cast_axes(term, [a.with_length(n) for a, n in zip(given, term.shape, strict=True)])


def map_roles(x: Operand, axes_map: Mapping[str, str]) -> Op:
    """`x` with some axes renamed, from old to new; lengths and roles stay.

    Raises:
        ArgumentError: if `axes_map` is no mapping.
        UnmatchedAxesError: if an old name is not there.
        DuplicateAxisNames: if a name would stand twice.

    >>> import ngraph_rewrite as ng
    >>> ng.map_roles(ng.variable({"H": 3, "W": 4}), {"H": "K"}).type
    float32[K:3, W:4]
    """
    if not isinstance(axes_map, Mapping):
        raise ArgumentError(f"map_roles: {axes_map!r} is no mapping", where=user_line(), do='give {"old": "new"}')
    return apply("axes.map_roles", as_op(x), names=axes_map)


def flatten(x: Operand, axes: AxesOf | None = None) -> Op:
    """`x` with neighbouring axes (by default all) as one, row-major; a single axis stays as it is.

    Raises:
        AxesError: if the axes do not stand side by side.
        UnmatchedAxesError: if one is not an axis of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.flatten(ng.variable({"H": 3, "W": 4, "N": 5}), ["H", "W"]).type
    float32[(H,W):12, N:5]
    """
    term = as_op(x)
    chosen = term.axes if axes is None else axes
    flat = apply("axes.flatten", term, axes=chosen)
    return term if len(flat.attribute("axes")) == 1 else flat


def flatten_at(x: Operand, idx: int) -> Op:
    """`x` as a matrix: the axes before position `idx` as one, and those from it on as the other.

    Raises:
        AttributeValueError: if `idx` is not a position from 0 to the number of axes.

    >>> import ngraph_rewrite as ng
    >>> ng.flatten_at(ng.variable({"H": 3, "W": 4, "N": 5}), 2).type
    float32[(H,W):12, N:5]
    """
    term = as_op(x)
    if isinstance(idx, bool) or not isinstance(idx, int) or not 0 <= idx <= term.rank:
        raise AttributeValueError(
            f"flatten_at: position {idx!r} in {term.type!r}", where=user_line(), do=f"give 0 to {term.rank}"
        )
    for part in (term.axes[:idx], term.axes[idx:]):
        term = flatten(term, part) if len(part) > 1 else term
    return term


def unflatten(x: Operand, axes: AxesLike = None) -> Op:
    """`x` with every flattened axis as the axes it was made of; `x` itself if it has none.

    Args:
        axes: What the result must have, if given; a flattened axis that stands there stays.

    Raises:
        UnmatchedAxesError: if the result has other axes than `axes`.

    >>> import ngraph_rewrite as ng
    >>> ng.unflatten(ng.flatten(ng.variable({"H": 3, "W": 4}))).type
    float32[H:3, W:4]
    """
    term = as_op(x)
    wanted = None if axes is None else checked("unflatten", Axes, axes)
    for axis in term.axes:
        if axis.components is not None and (wanted is None or axis not in wanted):
            term = build(lookup("axes.unflatten"), (term,), axis=axis)
    if wanted is not None and term.axes != wanted:
        raise UnmatchedAxesError(
            f"unflatten: the result has the axes {term.axes!r}, not {wanted!r}",
            where=user_line(),
            do="only what flatten has made can be unflattened",
        )
    return term


def expand_dims(x: Operand, axis: Axis, dim: int = 0) -> Op:
    """`x` repeated along a new axis, which stands at position `dim`; `x` itself if it has the axis.

    Raises:
        OutOfRangeError: if `dim` is no position.
        ArgumentError: if `axis` is no axis.

    >>> import ngraph_rewrite as ng
    >>> ng.expand_dims(ng.variable({"H": 3}), ng.Axis("K", 2), 1).type
    float32[H:3, K:2]
    """
    term = as_op(x)
    if isinstance(axis, Axis) and axis in tuple(term.axes):
        return term
    return apply("axes.expand_dims", term, axis=axis, dim=dim)


def stop_gradient(x: Operand) -> Op:
    """`x`, through which no derivative passes.

    >>> import ngraph_rewrite as ng
    >>> w = ng.variable([], name="w")
    >>> ng.deriv(w * ng.stop_gradient(w), w)
    axes.multiply(1.0, stop_gradient(w))
    """
    return apply("core.stop_gradient", as_op(x))


def strip(x: Operand) -> Op:
    """`x` without the names and roles of its axes: for the `semi` family, which matches by position.

    >>> import ngraph_rewrite as ng
    >>> ng.strip(ng.variable({"H": 3})).type
    float32[3]
    """
    return apply("core.strip", as_op(x))


def as_simple(x: Operand) -> Op:
    """`x` without names, its sample and recurrent axes still marked; `x` itself if it has no names.

    >>> import ngraph_rewrite as ng
    >>> ng.as_simple(ng.variable({"H": 3, "N": 2})).axes[1].is_sample
    True
    """
    term = as_op(x)
    return label(term, marked(term.axes)) if term.axes.named else term


def label(x: Operand, axes: AxesLike) -> Op:
    """`x` with its axes, position by position, named: for the functions that match by name.

    Raises:
        UnmatchedAxesError: if the lengths differ.

    >>> import ngraph_rewrite as ng
    >>> ng.label(ng.constant([1.0, 2.0, 3.0]), {"H": 3}).type
    float32[H:3]
    """
    return apply("core.label", as_op(x), axes=checked("label", Axes, axes))


def _unless_same(before: Op, after: Op) -> Op:
    return before if after.axes == before.axes else after
