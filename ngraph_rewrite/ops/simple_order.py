# SPDX-License-Identifier: Apache-2.0
"""Simple ops that repeat, order and regroup axes; the elements stay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, UnmatchedAxesError
from ngraph_rewrite.ops.checks import extents, known_shape, position, several
from ngraph_rewrite.ops.simple_marks import (
    Key,
    Marker,
    aligned_to,
    common,
    features,
    key_of,
    keys,
    marked,
    old_keys,
    placed,
    simple,
)
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.lengths import Extent, Length, product
from ngraph_rewrite.types.tensor import TensorType


def _broadcast_attributes(x: TensorType, *, axes: Any, new: Any) -> Attributes:
    simple(x)
    wanted = marked(axes)
    numbers = tuple(sorted(position(n, len(features(wanted)), "new feature") for n in several(new, "new")))
    if len(set(numbers)) != len(numbers):
        raise AttributeValueError(f"new is {numbers}, which names one feature twice")
    return {"axes": wanted, "new": numbers}


def _broadcast(term: Op, x: Any) -> Any:
    own, wanted = keys(term.args[0].axes), old_keys(term.axes, term.attribute("new"))
    return np.broadcast_to(aligned_to(x, own, wanted), known_shape(term.axes))


@op("simple.broadcast", "view", meaning=_broadcast, normalise=_broadcast_attributes)
def broadcast(x: TensorType, *, axes: Axes, new: tuple[int, ...]) -> TensorType:
    """`x` repeated to `axes`: along N and R where it lacks them, and along the features numbered `new`.

    What `x` has stays, in the order of `axes`.
    """
    missing = [k for k in keys(x.axes) if isinstance(k, Marker) and k not in keys(axes)]
    if missing:
        raise UnmatchedAxesError(f"{axes!r} lacks {missing[0]}", do="a broadcast keeps every axis")
    kept = tuple(n for i, n in enumerate(features(axes)) if i not in new)
    if features(x.axes) != kept:
        raise AxesError(
            f"{x!r} does not have the features {kept} that are not new in {axes!r}",
            do="no length stretches: say which features are new",
        )
    common(x.axes, axes)
    return x.with_axes(axes)


def _order(x: TensorType, *, order: Any) -> Attributes:
    simple(x)
    given = tuple(key_of(x, k) for k in several(order, "order"))
    if len(set(given)) != len(given) or len(given) != x.rank:
        raise AttributeValueError(f"order is {given}", do=f"name each of the axes {keys(x.axes)} once")
    return {"order": given}


def _moved(x: Axes, order: Iterable[Key]) -> list[int]:
    own = keys(x)
    return [own.index(k) for k in order]


@op(
    "simple.transpose",
    "view",
    meaning=lambda term, x: np.transpose(x, _moved(term.args[0].axes, term.attribute("order"))),
    normalise=_order,
)
def transpose(x: TensorType, *, order: tuple[Key, ...]) -> TensorType:
    """`x` with its axes in the order given: features by number, N and R. Features are counted anew."""
    return x.with_axes(x.axes[i] for i in _moved(x.axes, order))


def _shape(x: TensorType, *, shape: Any) -> Attributes:
    return {"shape": extents((shape,) if isinstance(shape, int | Length) else shape)}


def blocked(axes: Axes) -> list[int]:
    """The positions of axes with the features side by side: what stands between them comes after them."""
    own = keys(axes)
    first = own.index(0) if 0 in own else len(own)
    block = [i for i, k in enumerate(own) if isinstance(k, int)]
    return [*range(first), *block, *(i for i in range(first, len(own)) if i not in block)]


def _reshape(term: Op, x: Any) -> Any:
    have, want = term.args[0].axes, term.axes
    shape, order = known_shape(want), blocked(want)
    regrouped = np.transpose(x, blocked(have)).reshape([shape[i] for i in order])
    return np.transpose(regrouped, np.argsort(order))


@op("simple.reshape", "view", meaning=_reshape, normalise=_shape)
def reshape(x: TensorType, *, shape: tuple[Extent, ...]) -> TensorType:
    """`x` with features of another shape and the same size, row-major; N and R stay before or behind them."""
    simple(x)
    if product(shape) != product(features(x.axes)):
        raise AxesError(f"cannot reshape the features {features(x.axes)} to {shape}", do="keep the number of elements")
    return x.with_axes(placed(shape, x.axes))
