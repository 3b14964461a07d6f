# SPDX-License-Identifier: Apache-2.0
"""The ops: `stencil.smooth` for users, above the axes family; two that the target `stencil` executes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from ngraph_rewrite import checks

ng.place_family("stencil", above="axes")


def _smoothed(x: Any, side: float, axis: int) -> Any:
    """`x[i] + side * (x[i - 1] + x[i + 1])`."""
    rest = [(0, 0)] * x.ndim
    rest[axis] = (1, 1)
    wide, n = np.pad(x, rest), x.shape[axis]
    left, right = (np.take(wide, range(first, first + n), axis) for first in (0, 2))
    return x + (left + right) * x.dtype.type(side)


def _normalised(x: ng.TensorType, *, axes: Any, side: Any) -> dict[str, Any]:
    return {"axes": ng.Axes(axes), "side": float(side)}


@ng.op(
    "stencil.smooth",
    meaning=lambda term, x: _smoothed(x, term.attribute("side"), term.axes.index(term.attribute("axes")[0])),
    normalise=_normalised,
)
def smooth(x: ng.TensorType, *, axes: ng.Axes, side: float) -> ng.TensorType:
    """Each element of `x` plus `side` times its neighbours along the one axis in `axes`."""
    checks.float_only(x)
    if len(axes) != 1 or axes[0] not in tuple(x.axes):  # `Axes` finds an axis by its name alone
        raise ng.UnmatchedAxesError(f"smooth: {axes!r} is not one of the axes of {x!r}", do="name one of its axes")
    return x


@ng.op("stencil_base.smooth_rows", meaning=lambda term, x: _smoothed(x, term.attribute("side"), 1))
def smooth_rows(x: ng.TensorType, *, side: float) -> ng.TensorType:
    """Each element of a matrix plus `side` times its neighbours in its row."""
    checks.float_only(x)
    checks.positional(x)
    if x.rank != 2:
        raise ng.AxesError(f"smooth_rows takes a matrix, got {x!r}")
    return x


@ng.op("stencil_base.multiply_add", "elementwise", meaning=lambda term, x, y, z: x * y + z)
def multiply_add(x: ng.TensorType, y: ng.TensorType, z: ng.TensorType) -> ng.TensorType:
    """``x * y + z``, rounded twice, in one pass over memory."""
    checks.float_only(x, y, z)
    checks.positional(x, y, z)
    checks.alike(x, y, z)
    return x


# -- what rules may call -------------------------------------------------------------------------------


@ng.attribute_function
def one_at(place: int, rank: int) -> tuple[int, ...]:
    """1 at one place, 0 elsewhere."""
    return tuple(int(i == place) for i in range(rank))


@ng.attribute_function
def moved(shape: Sequence[Any], by: Sequence[int]) -> tuple[Any, ...]:
    """Each length plus a number."""
    return tuple(n + k for n, k in zip(shape, by, strict=True))


# -- what property tests draw --------------------------------------------------------------------------


@ng.attribute_domain("stencil.smooth")
def _smooth_attributes(types: Sequence[ng.TensorType], wish: Any, domain: ng.Domain) -> Iterator[tuple[Any, ...]]:
    for side in (0.5, 0.0, -1.0, 2.0):
        yield from ((ng.Axes([axis]), side) for axis in types[0].axes)


@ng.attribute_domain("stencil_base.smooth_rows")
def _row_attributes(types: Sequence[ng.TensorType], wish: Any, domain: ng.Domain) -> list[tuple[float]]:
    return [(0.5,), (0.0,), (-1.0,), (2.0,)]


@ng.argument_domain("stencil_base.smooth_rows")
def _matrices(position: int, known: Any, wish: ng.TensorType | None, domain: ng.Domain) -> list[ng.TensorType]:
    return [t for t in ([wish] if wish else domain.pool("semi")) if t.rank == 2]
