# SPDX-License-Identifier: Apache-2.0
"""How named axes combine: operands are matched by name, and no length stretches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, UnmatchedAxesError
from ngraph_rewrite.ops.checks import known_shape, several
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import FLOAT64, INT64, DType, as_dtype, is_float
from ngraph_rewrite.types.tensor import TensorType


def combine(*several: Axes) -> Axes:
    """The axes of an elementwise result: an operand's own if it has all names, else left and what right adds.

    Raises:
        IncompatibleAxesError: if a name has two lengths.

    >>> combine(Axes({"H": 2, "W": 3}), Axes({"W": 3, "H": 2}))
    Axes(H:2, W:3)
    >>> combine(Axes({"H": 2}), Axes({"W": 3, "H": 2}))
    Axes(W:3, H:2)
    """
    left = several[0]
    for right in several[1:]:
        union = left | right
        left = right if len(union) == len(right) > len(left) else union
    return left


def align(array: Any, have: Axes, want: Axes) -> Any:
    """`array` with its axes in the order of `want`, and length 1 where it has none: NumPy can broadcast it."""
    order = [have.index(a) for a in want if a in have]
    moved = np.transpose(array, order)
    return moved.reshape([have[have.index(a)].length if a in have else 1 for a in want])


def spread(array: Any, have: Axes, want: Axes) -> Any:
    """`array` repeated to all of `want`."""
    return np.broadcast_to(align(array, have, want), known_shape(want))


def aligned(term: Op, arrays: Iterable[Any], want: Axes) -> list[Any]:
    """The arguments' arrays of a term, each aligned to `want`."""
    return [align(a, arg.axes, want) for a, arg in zip(arrays, term.args, strict=True)]


def axis_of(x: Axes, axis: Any) -> Axis:
    """The axis of `x` with the name (or the name of the axis) given.

    Raises:
        UnmatchedAxesError: if there is none.
    """
    name = axis.name if isinstance(axis, Axis) else axis
    found = x.find(name) if isinstance(name, str) else None
    if found is None:
        do = f"use one of {', '.join(x.names)}" if x.named else "write label(x, axes=...) to name its axes"
        raise UnmatchedAxesError(f"{x!r} has no axis {axis!r}", do=do if x else None)
    return found


def some_of(x: Axes, axes: Any) -> Axes:
    """Some axes of `x`, given as axes or names, in the order of `x`.

    Raises:
        UnmatchedAxesError: if one is not there.
        IncompatibleAxesError: if one has another length.
    """
    axes = Axes(axes) if isinstance(axes, Mapping) else axes
    listed = [axes] if isinstance(axes, str | Axis) else several(axes, "axes")
    found = Axes(axis_of(x, a) for a in listed)
    return x & found & Axes(a if isinstance(a, Axis) else axis_of(x, a) for a in listed)


def same_set(x: Axes, axes: Axes) -> None:
    """Demand the same names in both, in any order."""
    if len(x | axes) != len(x) or len(x) != len(axes):
        raise UnmatchedAxesError(f"expected the axes of {x!r} in some order, got {axes!r}")


def contained(x: Axes, axes: Axes) -> None:
    """Demand that `axes` has all axes of `x`."""
    missing = x - axes
    if missing:
        raise UnmatchedAxesError(f"{axes!r} lacks {', '.join(missing.names)}", do="a broadcast keeps every axis")


def floating(dtype: DType) -> DType:
    """The float dtype in which NumPy computes a function such as exp.

    >>> floating(INT64), floating(as_dtype("int8"))
    (dtype('float64'), dtype('float16'))
    """
    if is_float(dtype):
        return dtype
    return as_dtype({1: "float16", 2: "float32"}.get(dtype.itemsize, "float64"))


def averaging(dtype: DType) -> DType:
    """The dtype of a mean: float64 unless it is a float already."""
    return dtype if is_float(dtype) else FLOAT64


def totalling(dtype: DType) -> DType:
    """The dtype in which NumPy sums: small integers and bool are widened to 64 bits.

    >>> totalling(as_dtype("uint8")), totalling(as_dtype("bool"))
    (dtype('uint64'), dtype('int64'))
    """
    if is_float(dtype):
        return dtype
    return as_dtype("uint64") if dtype.kind == "u" else INT64


def replace_axis(x: TensorType, position: int, *axes: Axis) -> Axes:
    """The axes of `x` with the one at `position` replaced by others."""
    return Axes((*x.axes[:position], *axes, *x.axes[position + 1 :]))


def not_flattened(axis: Axis) -> Axes:
    """The components of a flattened axis.

    Raises:
        AxesError: if it has none.
    """
    if axis.components is None:
        raise AxesError(f"{axis!r} is not a flattened axis", do="only what flatten has made can be unflattened")
    return axis.components
