# SPDX-License-Identifier: Apache-2.0
"""Lookup tables: rows by number, with gradients only where they are wanted."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AxesError, OutOfRangeError
from ngraph_rewrite.frontend.arrangement import stop_gradient
from ngraph_rewrite.frontend.binary import equal
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.choice import select
from ngraph_rewrite.frontend.norms import tensor_size
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.checks import as_int
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, AxesLike, Axis


def lookuptable(
    lut: Operand, idx: Operand, axes: AxesLike = None, update: bool = True, pad_idx: int | None = None
) -> Op:
    """The table `lut` at the integers `idx`.

    Args:
        lut: A table, such as (V, F).
        idx: Integers along the axis V that is looked up; negative ones count from its end, outside are zeros.
        axes: The axes of the result, those of `idx` and the others of `lut`, in any order. They tell which axis is
            looked up: the one that is not among them. By default it is the first, and the axes of `idx` take its place.
        update: Whether a derivative reaches the table.
        pad_idx: A row that is read, but that no derivative reaches.

    Raises:
        AxesError: if `axes` lack no axis of the table, or more than one.
        UnmatchedAxesError: if they are not those of `idx` and the table.
        OutOfRangeError: if the table has no row `pad_idx`.
        DTypeError: if `idx` are no integers.
        DuplicateAxisNames: if `idx` has an axis that stays of the table.

    >>> import ngraph_rewrite as ng
    >>> words = ng.placeholder({"REC": 7, "N": None}, "int32")
    >>> ng.lookuptable(ng.variable({"V": 100, "F": 16}), words, ["F", "REC", "N"], pad_idx=0).type
    float32[F:16, REC:7, N:N]
    """
    table, index = as_op(lut), as_op(idx)
    name, order = _looked_up(table, index, axes)
    source = table if update else stop_gradient(table)
    found = apply("axes.lookuptable", source, index, axis=name, axes=order)
    if pad_idx is None:
        return found
    return select(_is_row("lookuptable", table, name, index, pad_idx), stop_gradient(found), found)


def lookuptable_update(
    delta: Operand, lut: Operand, idx: Operand, fprop_op: Op | None = None, pad_idx: int | None = None
) -> Op:
    """The adjoint of `lookuptable`: a table with the axes of `lut`, with `delta` added up in the rows `idx`.

    `deriv` builds it by itself; this is for updates of your own.

    Args:
        delta: What to add: the axes of a lookup, in any order.
        fprop_op: The lookup, for the axis that is looked up; by default the axis that `delta` lacks tells.
        pad_idx: A row that stays 0.

    Raises:
        AxesError: if `delta` lacks no axis of the table, or more than one.
        UnmatchedAxesError: if `delta` does not have the axes of a lookup.
        DTypeError: if `idx` are no integers.

    >>> import ngraph_rewrite as ng
    >>> lut, idx = ng.variable({"V": 100, "F": 16}), ng.placeholder({"N": None}, "int32")
    >>> ng.lookuptable_update(ng.placeholder({"N": None, "F": 16}), lut, idx).type
    float32[V:100, F:16]
    """
    change, table, index = as_op(delta), as_op(lut), as_op(idx)
    name, _ = _looked_up(table, index, (change if fprop_op is None else as_op(fprop_op)).axes)
    if pad_idx is not None:
        change = select(_is_row("lookuptable_update", table, name, index, pad_idx), 0, change)
    return apply("axes.lookuptable_update", change, index, axis=name, axes=table.axes)


def _looked_up(table: Op, index: Op, axes: Any) -> tuple[str, Axes | None]:
    """The axis of the table that is looked up, and the axes of the result if they are given."""
    if axes is None:
        if not table.rank:
            raise AxesError(f"lookuptable: {table.type!r} is no table", where=user_line(), do="give it an axis")
        return str(table.axes[0].name), None
    whole = [*index.axes, *table.axes]
    listed = [axes] if isinstance(axes, str | Axis) else axes
    named = checked("lookuptable", Axes, listed if isinstance(listed, Axes) else _axes_of(whole, listed))
    missing = [a for a in table.axes if a not in named]
    if len(missing) != 1:
        raise AxesError(
            f"lookuptable: the axes {named!r} lack {len(missing)} axes of the table {table.type!r}",
            where=user_line(),
            do="leave out the one axis that is looked up",
        )
    return str(missing[0].name), named


def _axes_of(whole: list[Axis], listed: Any) -> Any:
    """Axes given by name, among those there are."""
    if not isinstance(listed, list | tuple):
        return listed
    by_name = {a.name: a for a in whole}
    return [by_name.get(a, a) if isinstance(a, str) else a for a in listed]


def _is_row(call: str, table: Op, name: str, index: Op, row: int) -> Op:
    """Where the index is a row, whichever end it counts from."""
    axis = table.axes.get_by_names(name)
    number = checked(call, as_int, row, "pad_idx")
    length = axis.length if isinstance(axis, Axis) else None
    if isinstance(length, int) and not -length <= number < length:
        raise OutOfRangeError(
            f"{call}: pad_idx is {row}, and {axis!r} has {length} rows", where=user_line(), do=f"use 0 to {length - 1}"
        )
    rows = tensor_size(table, [name])
    wrapped = select(index < 0, index + rows, index)
    return equal(wrapped, number if number >= 0 else rows + number)
