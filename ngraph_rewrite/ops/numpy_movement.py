# SPDX-License-Identifier: Apache-2.0
"""Numpy ops that arrange elements anew, in another shape or in another order, and compute nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops.checks import as_int, extents, known_shape, listed, position, positional, several, tensor
from ngraph_rewrite.ops.stretching import positions, solved, stretches, without
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.types.lengths import Extent, product
from ngraph_rewrite.types.tensor import TensorType

Places = tuple[int, ...]
Shape = tuple[Extent, ...]

# -- shapes -------------------------------------------------------------------------------------------


def _reshape_attributes(x: TensorType, *, shape: Any) -> Attributes:
    return {"shape": solved(shape, x.size)}


@op(
    "numpy.reshape",
    "view",
    meaning=lambda term, x: np.reshape(x, known_shape(term.axes)),
    normalise=_reshape_attributes,
)
def reshape(x: TensorType, *, shape: Shape) -> TensorType:
    """The elements of `x` in row-major order, in another shape; one length may be given as -1."""
    positional(x)
    if product(shape) != x.size:
        raise AxesError(f"cannot reshape {x.size!r} elements to {shape}, which has {product(shape)!r}")
    return tensor(x.dtype, shape)


def _expand_attributes(x: TensorType, *, axis: Any) -> Attributes:
    return {"axis": positions(axis, x.rank + len(listed(axis)))}


@op(
    "numpy.expand_dims",
    "view",
    meaning=lambda term, x: np.expand_dims(x, term.attribute("axis")),
    normalise=_expand_attributes,
)
def expand_dims(x: TensorType, *, axis: Places) -> TensorType:
    """`x` with new axes of length 1, which stand at the positions `axis` of the result."""
    positional(x)
    rest = iter(x.shape)
    return tensor(x.dtype, [1 if k in axis else next(rest) for k in range(x.rank + len(axis))])


def _squeeze_attributes(x: TensorType, *, axis: Any) -> Attributes:
    return {"axis": positions(axis, x.rank)}


@op(
    "numpy.squeeze",
    "view",
    meaning=lambda term, x: np.squeeze(x, term.attribute("axis")),
    normalise=_squeeze_attributes,
)
def squeeze(x: TensorType, *, axis: Places) -> TensorType:
    """`x` without the axes `axis`, whose lengths are 1."""
    positional(x)
    for k in axis:
        if x.shape[k] != 1:
            raise AxesError(f"axis {k} has the length {x.shape[k]!r}", do="only axes of length 1 can be squeezed")
    return tensor(x.dtype, without(x.shape, axis))


def _broadcast_attributes(x: TensorType, *, shape: Any) -> Attributes:
    return {"shape": extents(listed(shape))}


@op(
    "numpy.broadcast_to",
    "view",
    meaning=lambda term, x: np.broadcast_to(x, known_shape(term.axes)),
    normalise=_broadcast_attributes,
)
def broadcast_to(x: TensorType, *, shape: Shape) -> TensorType:
    """`x` repeated to `shape`: matched from the last axis on, lengths of 1 stretch."""
    positional(x)
    stretches(x.shape, shape)
    return tensor(x.dtype, shape)


# -- orders -------------------------------------------------------------------------------------------


def _transpose_attributes(x: TensorType, *, perm: Any) -> Attributes:
    return {"perm": tuple(position(p, x.rank) for p in several(perm, "perm"))}


@op(
    "numpy.transpose",
    "view",
    meaning=lambda term, x: np.transpose(x, term.attribute("perm")),
    normalise=_transpose_attributes,
)
def transpose(x: TensorType, *, perm: Places) -> TensorType:
    """`x` with axis `perm[i]` moved to place i."""
    positional(x)
    if sorted(perm) != list(range(x.rank)):
        raise AttributeValueError(f"the axes are {perm}", do=f"name each of the {x.rank} axes once")
    return tensor(x.dtype, [x.shape[p] for p in perm])


def _flip_attributes(x: TensorType, *, axis: Any) -> Attributes:
    return {"axis": positions(axis, x.rank)}


@op("numpy.flip", "view", meaning=lambda term, x: np.flip(x, term.attribute("axis")), normalise=_flip_attributes)
def flip(x: TensorType, *, axis: Places) -> TensorType:
    """`x` with the order along the axes `axis` reversed."""
    positional(x)
    return x


def _roll_attributes(x: TensorType, *, shift: Any, axis: Any) -> Attributes:
    place, moved = position(axis, x.rank), as_int(shift, "the shift")
    length = x.shape[place]
    return {"shift": moved % max(length, 1) if isinstance(length, int) else moved, "axis": place}


@op("numpy.roll", meaning=lambda term, x: np.roll(x, *term.attrs), normalise=_roll_attributes)
def roll(x: TensorType, *, shift: int, axis: int) -> TensorType:
    """`x` with its elements moved up by `shift` along an axis; what leaves at one end enters at the other."""
    positional(x)
    return x
