# SPDX-License-Identifier: Apache-2.0
"""Terms made of others so that they have a given type: forgotten, cut, repeated, counted, cast and labelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.lengths import product
from ngraph_rewrite.types.tensor import TensorType


def shaped(random: Random, x: Op, type_: TensorType) -> Op:
    """A term without names, of the type's shape, whose numbers are those of `x`."""
    x = make_op("core.strip", x) if x.axes and x.axes != anonymous(x.shape) else x
    if x.shape == type_.shape:
        return x
    x = known_lengths(x)
    if not all(isinstance(n, int) for n in type_.shape):
        spread = make_op("semi.broadcast", total(x), shape=type_.shape, dims=())
        if spread.dtype.kind == "b":
            return spread
        return make_op("semi.add", spread, counted(type_.shape, x.dtype))
    have, want = int(x.size), int(np.prod(type_.shape, dtype=np.int64))  # type: ignore[arg-type]
    if have == 0 < want:
        return make_op("semi.broadcast", total(x), shape=type_.shape, dims=())
    return reshaped(cut(random, reshaped(x, (have,)), have, want), type_.shape)


def cut(random: Random, x: Op, have: int, want: int) -> Op:
    """A vector of another length: a part, forwards or backwards, or places taken several times."""
    if have == want:
        return x
    if have > want:
        start = random.randint(0, have - want)
        if random.random() < 0.5:
            return make_op("semi.slice", x, starts=(start,), stops=(start + want,), steps=(1,))
        return make_op("semi.slice", x, starts=(start + want - 1,), stops=(start - 1,), steps=(-1,))
    places = constant(np.array([random.randrange(have) for _ in range(want)], "int64"))
    return make_op("semi.gather", x, places, axis=0)


def known_lengths(x: Op) -> Op:
    """Sums over what is of unknown length."""
    axes = tuple(i for i, n in enumerate(x.shape) if not isinstance(n, int))
    return summed(x, axes) if axes else x


def reshaped(x: Op, shape: Sequence[Any]) -> Op:
    """The same numbers in another shape, and the same term in its own."""
    return x if x.shape == tuple(shape) else make_op("semi.reshape", x, shape=tuple(shape))


def labels(type_: TensorType) -> Callable[[Op], Op]:
    """What gives a term the axes of a type."""
    return lambda x: x if x.axes == type_.axes else make_op("core.label", x, axes=type_.axes)


def filled(x: Op, number: float) -> Op:
    """A constant like `x`."""
    return make_op("core.constant", value=Literal(number, x.dtype), axes=Axes(x.axes))


def total(x: Op) -> Op:
    """The sum of all; of bool, whether any is true."""
    return summed(x, tuple(range(x.rank)))


def summed(x: Op, axes: tuple[int, ...]) -> Op:
    """The sum along some axes; of bool, whether any is true."""
    return make_op("semi.any" if x.dtype.kind == "b" else "semi.sum", x, axes=axes)


def counted(shape: Sequence[Any], dtype: DType) -> Op:
    """0, 1, 2, ... in a shape."""
    flat = make_op("semi.iota", shape=(product(shape),), axis=0, dtype=np.dtype("int64"))
    return reshaped(make_op("semi.cast", flat, dtype=dtype), shape)


def relabelled(x: Op, named: bool) -> Op:
    """The same numbers with names, or without."""
    x = make_op("core.strip", x) if x.rank and x.axes != anonymous(x.shape) else x
    return make_op("core.label", x, axes=named_axes(x.shape)) if named and x.rank else x


def of_family(type_: TensorType, named: bool) -> TensorType:
    """The type with names, its own if it has some, or without."""
    if not named or type_.axes.named:
        return type_ if named else type_.stripped()
    return type_.with_axes(named_axes(type_.shape))


def named_axes(shape: Sequence[Any]) -> Axes:
    """Axes of these lengths whose names say only where they stand."""
    return Axes([Axis(f"S{i}", n) for i, n in enumerate(shape)])
