# SPDX-License-Identifier: Apache-2.0
"""Semi ops that move elements and compute nothing; most are views. Axes are positions, layout row-major."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import (
    extents,
    integer_only,
    known_shape,
    literal,
    position,
    positional,
    same_dtype,
    several,
    tensor,
)
from ngraph_rewrite.ops.indexing import as_slice, canonical_triples, count
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, natural, product
from ngraph_rewrite.types.tensor import TensorType


def _reshape_attributes(x: TensorType, *, shape: Any) -> Attributes:
    return {"shape": extents(shape)}


@op(
    "semi.reshape",
    "view",
    meaning=lambda term, x: np.reshape(x, term.shape),
    normalise=_reshape_attributes,
)
def reshape(x: TensorType, *, shape: tuple[Extent, ...]) -> TensorType:
    """The elements of `x` in row-major order, in another shape of the same size."""
    positional(x)
    if product(shape) != x.size:
        raise AxesError(f"cannot reshape {x.size!r} elements to {shape}, which has {product(shape)!r}")
    return tensor(x.dtype, shape)


def _broadcast_attributes(x: TensorType, *, shape: Any, dims: Any) -> Attributes:
    lengths = extents(shape)
    return {"shape": lengths, "dims": tuple(position(d, len(lengths), "dimension") for d in several(dims, "dims"))}


def _broadcast(term: Op, x: Any) -> Any:
    dims = term.attribute("dims")
    spread = [x.shape[dims.index(k)] if k in dims else 1 for k in range(term.rank)]
    return np.broadcast_to(np.asarray(x).reshape(spread), known_shape(term.axes))


@op("semi.broadcast", "view", meaning=_broadcast, normalise=_broadcast_attributes)
def broadcast(x: TensorType, *, shape: tuple[Extent, ...], dims: tuple[int, ...]) -> TensorType:
    """`x` repeated to `shape`; `dims[i]` is the place of its axis i there. Lengths of 1 do not stretch."""
    positional(x)
    if len(dims) != x.rank or any(a >= b for a, b in zip(dims, dims[1:], strict=False)):
        raise AttributeValueError(
            f"dims is {dims}", do=f"give {x.rank} strictly increasing places; transpose first to reorder"
        )
    if tuple(shape[d] for d in dims) != x.shape:
        raise AxesError(f"{x!r} does not have the lengths of {shape} at {dims}", do="no length-1 stretching: reshape")
    return tensor(x.dtype, shape)


def _transpose_attributes(x: TensorType, *, perm: Any) -> Attributes:
    return {"perm": tuple(position(p, x.rank) for p in several(perm, "perm"))}


@op(
    "semi.transpose",
    "view",
    meaning=lambda term, x: np.transpose(x, term.attribute("perm")),
    normalise=_transpose_attributes,
)
def transpose(x: TensorType, *, perm: tuple[int, ...]) -> TensorType:
    """`x` with axis `perm[i]` moved to place i."""
    positional(x)
    if sorted(perm) != list(range(x.rank)):
        raise AttributeValueError(f"perm is {perm}", do=f"name each of the {x.rank} axes once")
    return tensor(x.dtype, (x.shape[p] for p in perm))


def _slice_attributes(x: TensorType, *, starts: Any, stops: Any, steps: Any) -> Attributes:
    return canonical_triples(x.shape, starts=starts, stops=stops, steps=steps)


def _slice(term: Op, x: Any) -> Any:
    triples = zip(*term.attrs, strict=True)
    return x[tuple(as_slice(t) for t in triples)] if x.ndim else x


@op("semi.slice", "view", meaning=_slice, normalise=_slice_attributes)
def slice_(
    x: TensorType, *, starts: tuple[Extent, ...], stops: tuple[Extent, ...], steps: tuple[int, ...]
) -> TensorType:
    """Per axis the positions ``range(start, stop, step)``, all inside; with a step < 0, stop -1 is "down to 0"."""
    positional(x)
    return tensor(x.dtype, (count(t) for t in zip(starts, stops, steps, strict=True)))


def _pad_attributes(x: TensorType, *, before: Any, after: Any, interior: Any, value: Any) -> Attributes:
    before, after, interior = several(before, "before"), several(after, "after"), several(interior, "interior")
    if not len(before) == len(after) == len(interior) == x.rank:
        raise AttributeValueError(f"before {before}, after {after}, interior {interior}", do=f"give {x.rank} of each")
    return {
        "before": extents(before, "padding"),
        "after": extents(after, "padding"),
        "interior": extents(interior, "padding"),
        "value": literal(value, x.dtype),
    }


def _pad(term: Op, x: Any) -> Any:
    before, _, interior, value = term.attrs
    result = np.full(known_shape(term.axes), value.scalar, term.dtype)
    inside = (
        slice(b, b + (n - 1) * (i + 1) + 1 if n else b, i + 1)
        for b, i, n in zip(before, interior, x.shape, strict=True)
    )
    result[tuple(inside)] = x
    return result


def _padded(n: Extent, before: Extent, after: Extent, interior: Extent) -> Extent:
    return before + (n if interior == 0 else n + natural(n - 1) * interior) + after


@op("semi.pad", meaning=_pad, normalise=_pad_attributes)
def pad(
    x: TensorType,
    *,
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    interior: tuple[Extent, ...],
    value: Literal,
) -> TensorType:
    """`x` with `value` before, after and (`interior` times) between its elements, per axis."""
    positional(x)
    return tensor(x.dtype, map(_padded, x.shape, before, after, interior))


def _concat_attributes(x: TensorType, *xs: TensorType, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank)}


@op(
    "semi.concat",
    meaning=lambda term, *xs: np.concatenate(xs, term.attribute("axis")),
    normalise=_concat_attributes,
)
def concat(x: TensorType, *xs: TensorType, axis: int) -> TensorType:
    """The arguments one after the other along `axis`; other lengths and dtypes are equal."""
    kinds = dict.fromkeys((x, *xs))  # few types of very many operands, each looked at once
    positional(*kinds)
    same_dtype(*kinds)
    for other in kinds:
        if other.rank != x.rank or _without(other.shape, axis) != _without(x.shape, axis):
            raise AxesError(f"expected equal lengths outside axis {axis}, got {x!r} and {other!r}")
    along = {kind: kind.shape[axis] for kind in kinds}
    length = sum([along[other] for other in xs], along[x])
    return tensor(x.dtype, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def _without(shape: Sequence[Extent], axis: int) -> tuple[Extent, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _gather_attributes(x: TensorType, indices: TensorType, *, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank)}


@op(
    "semi.gather",
    meaning=lambda term, x, indices: functions.gather(x, indices, term.attribute("axis")),
    normalise=_gather_attributes,
)
def gather(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    """`x` at `indices` along `axis`, whose place their axes take; negative ones wrap, outside reads zeros."""
    positional(x, indices)
    integer_only(indices)
    return tensor(x.dtype, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
