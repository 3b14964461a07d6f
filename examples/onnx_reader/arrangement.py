# SPDX-License-Identifier: Apache-2.0
"""Operators that make, move and cut tensors. Shapes are arrays while a model is read, and NumPy computes with them."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.files import dtype_of
from onnx_reader.table import ModelError, Value, cast, is_term, known_length, lengths, op, places, space, term

Axes = list[int] | None


# -- what is known ----------------------------------------------------------------------------------------


@op("Constant")
def constant(
    *, value: Any = None, value_float: Any = None, value_floats: Any = None, value_int: Any = None,
    value_ints: Any = None,
) -> Value:  # fmt: skip
    if value is not None:
        return value
    floats = value_float if value_float is not None else value_floats
    return (
        np.asarray(floats, np.float32)
        if floats is not None
        else np.asarray(value_int if value_int is not None else value_ints, np.int64)
    )


@op("Shape")
def shape(x: Value, *, start: int = 0, end: int | None = None) -> Value:
    return lengths(x.shape[start:end])


@op("Size")
def size(x: Value) -> Value:
    return np.reshape(lengths([math.prod(x.shape)]), ())


@op("ConstantOfShape", known="shape")
def constant_of_shape(shape: Value, *, value: Value = None) -> Value:
    filling = np.zeros(1, np.float32) if value is None else value
    make = ng.numpy.full if shape.dtype == object else np.full
    return make(tuple(shape.tolist()), filling.item(), dtype=filling.dtype)


@op("EyeLike")
def eye_like(x: Value, *, dtype: int | None = None, k: int = 0) -> Value:
    return ng.numpy.eye(*x.shape, k=k, dtype=x.dtype if dtype is None else dtype_of(dtype))


@op("Range", known="start limit delta")
def arange(start: Value, limit: Value, delta: Value, *, stash_type: int = 1) -> Value:
    """Floats are computed in their dtype, those of 16 bits in another."""
    ends = [v.item() for v in (start, limit, delta)]
    if any(isinstance(n, ng.Length) for n in ends):
        if any(n != int(n) for n in ends if not isinstance(n, ng.Length)):
            raise ModelError("a range of parts of one that ends at an unknown length", do="read(model, lengths=...)")
        whole = ng.numpy.arange(*(n if isinstance(n, ng.Length) else int(n) for n in ends))
        return ng.numpy.astype(whole, start.dtype if start.dtype != object else "int64")
    if start.dtype.kind in "iu":
        return np.arange(*ends, dtype=start.dtype)
    a, b, step = (cast(v, dtype_of(stash_type) if v.dtype.itemsize < 4 else v.dtype) for v in (start, limit, delta))
    return cast(a + np.arange(max(np.ceil((b - a) / step), 0)).astype(a.dtype) * step, start.dtype)


# -- shapes -----------------------------------------------------------------------------------------------


@op("Reshape", known="given")
def reshape(x: Value, given: Value = None, *, allowzero: int = 0, shape: Axes = None) -> Value:
    """A 0 is the length that is there."""
    wanted = shape if given is None else given.tolist()
    return np.reshape(x, [x.shape[i] if _is_zero(n) and not allowzero else n for i, n in enumerate(wanted)])


def _is_zero(n: Any) -> bool:
    return isinstance(n, int) and n == 0


@op("Flatten")
def flatten(x: Value, *, axis: int = 1) -> Value:
    at = axis % len(x.shape) if axis < 0 else axis
    return np.reshape(x, (math.prod(x.shape[:at]), math.prod(x.shape[at:])))


@op("Squeeze", known="given")
def squeeze(x: Value, given: Value = None, *, axes: Axes = None) -> Value:
    chosen = axes if given is None else given
    return np.squeeze(x, tuple(i for i, n in enumerate(x.shape) if n == 1) if chosen is None else _ints(chosen))


@op("Unsqueeze", known="given")
def unsqueeze(x: Value, given: Value = None, *, axes: Axes = None) -> Value:
    return np.expand_dims(x, _ints(axes if given is None else given))


def _ints(values: Value) -> tuple[int, ...]:
    return tuple(np.asarray(values).reshape(-1).tolist())


@op("Transpose")
def transpose(x: Value, *, perm: Axes = None) -> Value:
    return np.transpose(x, perm)


@op("Expand", known="shape")
def expand(x: Value, shape: Value) -> Value:
    x = term(x) if shape.dtype == object else x
    return np.broadcast_to(x, ng.numpy.broadcast_shapes(tuple(x.shape), tuple(shape.tolist())))


@op("Tile", known="repeats")
def tile(x: Value, repeats: Value) -> Value:
    return np.tile(term(x) if repeats.dtype == object else x, tuple(repeats.tolist()))


@op("Concat")
def concat(*xs: Value, axis: int = 1) -> Value:
    return space(*xs).concatenate([v if not is_term(v) and not any(map(is_term, xs)) else term(v) for v in xs], axis)


@op("Slice", since=10, known="starts ends axes steps")
def cut(x: Value, starts: Value, ends: Value, axes: Value = None, steps: Value = None) -> Value:
    """What is behind an end means the end, as in NumPy."""
    chosen, along = [slice(None)] * len(x.shape), places(axes, len(x.shape))
    steps = np.ones(len(starts), int) if steps is None else steps
    for axis, start, end, step in zip(along, starts.tolist(), ends.tolist(), steps.tolist(), strict=False):
        chosen[axis] = _piece(start, end, step, x.shape[axis])
    return (term(x) if any(isinstance(n, ng.Length) for s in chosen for n in (s.start, s.stop)) else x)[tuple(chosen)]


def _piece(start: Any, end: Any, step: int, n: Any) -> slice:
    """A slice of `n` elements. Before the first of them a step back starts at it, where NumPy's has nothing left."""
    if _far(start) and start > 0 < step or _far(end) and end * step < 0:
        return slice(0, 0)
    if step < 0 and isinstance(start, int) and start < 0:
        start = max(start, -n) if isinstance(n, int) else 0 if _far(start) else start
    return slice(None if _far(start) else start, None if _far(end) else end, step)


def _far(place: Any) -> bool:
    """Whether a place is beyond either end of whatever axis: exporters write the greatest integer, or a billion."""
    return isinstance(place, int) and abs(place) >= 10**9


@op("Slice")
def cut_1(x: Value, *, starts: list[int], ends: list[int], axes: Axes = None) -> Value:
    return cut(x, np.array(starts), np.array(ends), axes)


@op("Split", known="parts")
def split(
    x: Value, parts: Value = None, *, axis: int = 0, split: Axes = None, num_outputs: int | None = None, outputs: int
) -> Value:
    given = parts if parts is not None else split
    if given is None:
        given = even(known_length(x.shape[axis], "what is split"), outputs)
    return tuple(cut_along(x, axis, np.asarray(given).tolist()))


def even(length: int, parts: int) -> list[int]:
    """`parts` parts of one length, but for the last, which may be shorter."""
    each = -(-length // parts)
    return [min(each, max(length - i * each, 0)) for i in range(parts)]


def cut_along(x: Value, axis: int, parts: Any) -> list[Value]:
    """Neighbouring parts of `x`, of these lengths along an axis."""
    before = (slice(None),) * (axis % len(x.shape))
    return [x[(*before, slice(a, b))] for a, b in pairwise([0, *accumulate(parts)])]


@op("Pad", since=11, known="pads axes value")
def pad(x: Value, pads: Value, value: Value = None, axes: Value = None, *, mode: str = "constant") -> Value:
    """Negative numbers cut off, before anything is added."""
    rank, amounts = len(x.shape), np.asarray(pads).reshape(2, -1).T
    every, x = np.zeros((rank, 2), amounts.dtype), term(x) if amounts.dtype == object else x
    every[list(places(axes, rank))] = amounts
    cuts = [(_less(a), n - _less(b) if _less(b) else None) for (a, b), n in zip(every.tolist(), x.shape, strict=True)]
    x = x[tuple(slice(*cut) for cut in cuts)]
    more = [(a + _less(a), b + _less(b)) for a, b in every.tolist()]
    options = {} if mode != "constant" else {"constant_values": 0 if value is None else value.item()}
    return np.pad(x, more, mode=mode, **options)


def _less(n: Any) -> int:
    """How many elements a padding cuts off; an unknown one none."""
    return 0 if isinstance(n, ng.Length) else max(-n, 0)


@op("Pad")
def pad_2(x: Value, *, pads: list[int], value: float = 0.0, mode: str = "constant") -> Value:
    return pad(x, np.array(pads), np.array(value), mode=mode)


@op("CenterCropPad", known="shape")
def center(x: Value, shape: Value, *, axes: Axes = None) -> Value:
    pads = np.zeros((2, len(x.shape)), int)
    for axis, n in zip(places(axes, len(x.shape)), shape.tolist(), strict=True):
        more = n - x.shape[axis]
        pads[:, axis] = (more // 2, more - more // 2) if more > 0 else (-(-more // 2), more + -more // 2)
    return pad(x, pads.reshape(-1))


@op("DepthToSpace")
def depth_to_space(x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    n, c, h, w = x.shape
    b, c = blocksize, c // blocksize**2
    shape, perm = (
        ((n, b, b, c, h, w), (0, 3, 4, 1, 5, 2)) if mode == "DCR" else ((n, c, b, b, h, w), (0, 1, 4, 2, 5, 3))
    )
    return np.reshape(np.transpose(np.reshape(x, shape), perm), (n, c, h * b, w * b))


@op("SpaceToDepth")
def space_to_depth(x: Value, *, blocksize: int, mode: str = "DCR") -> Value:
    n, c, h, w = x.shape
    b, perm = blocksize, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    split = np.transpose(np.reshape(x, (n, c, h // b, b, w // b, b)), perm)
    return np.reshape(split, (n, c * b * b, h // b, w // b))


@op("Trilu", known="k")
def trilu(x: Value, k: Value = None, *, upper: int = 1) -> Value:
    return (np.triu if upper else np.tril)(x, 0 if k is None else int(k))


@op("CumSum", known="axis")
def cumsum(x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    return _running(np.cumsum, x, int(axis), exclusive, reverse, 0)


@op("CumProd", known="axis")
def cumprod(x: Value, axis: Value, *, exclusive: int = 0, reverse: int = 0) -> Value:
    return _running(np.cumprod, x, int(axis), exclusive, reverse, 1)


def _running(function: Any, x: Value, axis: int, exclusive: int, reverse: int, first: int) -> Value:
    x = np.flip(x, axis) if reverse else x
    if exclusive:
        amounts = [(int(i == axis % len(x.shape)), 0) for i in range(len(x.shape))]
        x = np.pad(x, amounts, constant_values=first)[(*(slice(None),) * (axis % len(x.shape)), slice(0, -1))]
    found = function(x, axis, dtype=x.dtype)
    return np.flip(found, axis) if reverse else found
