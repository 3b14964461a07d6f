# SPDX-License-Identifier: Apache-2.0
"""Axes ops of lookup tables: rows of a table by number, and the adjoint, which adds up what belongs to one row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import UnmatchedAxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import align, axis_of, same_set
from ngraph_rewrite.ops.checks import integer_only, known_shape, named, numeric
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.tensor import TensorType


def found_axes(table: Axes, axis: str, index: Axes) -> Axes:
    """The axes of the table, with those of the index in the place of the axis that it looks up.

    >>> found_axes(Axes({"V": 9, "F": 4}), "V", Axes({"N": 2}))
    Axes(N:2, F:4)
    """
    k = table.index(axis)
    return table[:k] + index + table[k + 1 :]


def _lookup_attributes(lut: TensorType, idx: TensorType, *, axis: Any, axes: Any) -> Attributes:
    name = str(axis_of(lut.axes, axis).name)
    return {"axis": name, "axes": found_axes(lut.axes, name, idx.axes) if axes is None else Axes(axes)}


def _lookup(term: Op, lut: Any, idx: Any) -> Any:
    table, index = (a.axes for a in term.args)
    found = functions.gather(lut, idx, table.index(term.attribute("axis")))
    return align(found, found_axes(table, term.attribute("axis"), index), term.axes)


@op("axes.lookuptable", meaning=_lookup, normalise=_lookup_attributes)
def lookuptable(lut: TensorType, idx: TensorType, *, axis: str, axes: Axes) -> TensorType:
    """The table `lut` at the integers `idx` along `axis`, whose place their axes take, in the order of `axes`.

    Negative integers count from the end, and outside are zeros.
    """
    named(lut, idx)
    integer_only(idx)
    same_set(found_axes(lut.axes, axis, idx.axes), axes)
    return lut.with_axes(axes)


def _update_attributes(delta: TensorType, idx: TensorType, *, axis: Any, axes: Any) -> Attributes:
    return {"axis": str(axis_of(Axes(axes), axis).name), "axes": Axes(axes)}


def _update(term: Op, delta: Any, idx: Any) -> Any:
    axis, table = term.attrs
    index = term.args[1].axes
    rest = table - axis_of(table, axis)
    rows, valid = functions.wrap(idx, known_shape(table)[table.index(axis)])
    moved = align(delta, term.args[0].axes, index + rest).reshape((idx.size, *known_shape(rest)))
    result = np.zeros((known_shape(table)[table.index(axis)], *known_shape(rest)), term.dtype)
    with np.errstate(all="ignore"):
        np.add.at(result, rows[valid], moved[valid.reshape(-1)])
    return np.moveaxis(result, 0, table.index(axis))


@op("axes.lookuptable_update", meaning=_update, normalise=_update_attributes)
def lookuptable_update(delta: TensorType, idx: TensorType, *, axis: str, axes: Axes) -> TensorType:
    """A table of these `axes` with `delta` added up in the rows `idx` along `axis`: the adjoint of `lookuptable`.

    What lies outside of the table is left out.
    """
    named(delta, idx, delta.with_axes(axes))
    integer_only(idx)
    numeric(delta)
    wanted = found_axes(axes, axis, idx.axes)
    if not delta.axes.is_equal_set(wanted):
        raise UnmatchedAxesError(f"{delta!r} does not have the axes {wanted!r} that a lookup has")
    same_set(delta.axes, wanted)
    return delta.with_axes(axes)
