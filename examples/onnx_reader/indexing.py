# SPDX-License-Identifier: Apache-2.0
"""Operators that take or put elements where indices say, and those that find such indices."""

from __future__ import annotations

from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import Value, cast, count, known_length, op, space, term

HOW = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}


@op("Gather")
def gather(x: Value, indices: Value, *, axis: int = 0) -> Value:
    return space(x, indices).take(x, indices, axis=axis)


@op("GatherElements")
def gather_elements(x: Value, indices: Value, *, axis: int = 0) -> Value:
    return term(x)[_beside(indices, axis)]


@op("GatherND")
def gather_nd(x: Value, indices: Value, *, batch_dims: int = 0) -> Value:
    return term(x)[(*_counting(indices.shape[:-1], range(batch_dims)), *_parts(indices))]


@op("ScatterElements", "Scatter")
def scatter_elements(x: Value, indices: Value, updates: Value, *, axis: int = 0, reduction: str = "none") -> Value:
    return getattr(ng.numpy.at(term(x))[_beside(indices, axis)], HOW[reduction])(updates)


@op("ScatterND")
def scatter_nd(x: Value, indices: Value, updates: Value, *, reduction: str = "none") -> Value:
    return getattr(ng.numpy.at(term(x))[_parts(indices)], HOW[reduction])(updates)


def _parts(indices: Value) -> tuple[Value, ...]:
    """The places along each axis, of vectors of such places."""
    return tuple(indices[..., k] for k in range(known_length(indices.shape[-1], "a vector of indices")))


def _beside(indices: Value, axis: int) -> tuple[Value, ...]:
    """Indices along one axis, each at its own place along the others."""
    rank = len(indices.shape)
    found = list(_counting(indices.shape, range(rank)))
    found[axis % rank] = indices
    return tuple(found)


def _counting(shape: Any, axes: Any) -> list[Value]:
    """For each axis its places, 0, 1, ..., such that they stretch to the shape."""
    every = []
    for axis in axes:
        own = (*(1,) * axis, shape[axis], *(1,) * (len(shape) - axis - 1))
        every.append(np.reshape(count(shape[axis]), own))
    return every


@op("TensorScatter")
def tensor_scatter(past: Value, update: Value, first: Value = None, *, axis: int = -2, mode: str = "linear") -> Value:
    """Puts `update` into `past` from a place of each sample on, and around if the mode is circular."""
    at = axis % len(past.shape)
    found = _counting(update.shape, range(len(update.shape)))
    if first is not None:
        found[at] = found[at] + np.reshape(first, (-1, *(1,) * (len(past.shape) - 1)))
    if mode == "circular":
        found[at] = np.remainder(found[at], past.shape[at])
    return ng.numpy.at(term(past))[tuple(np.broadcast_arrays(*found))].set(update)


@op("ReverseSequence")
def reverse_sequence(x: Value, steps: Value, *, batch_axis: int = 1, time_axis: int = 0) -> Value:
    """The first steps of each sample backwards, and the others as they are."""
    times = count(x.shape[time_axis])
    own = np.expand_dims(steps, 1 if batch_axis == 0 else 0)
    times = np.expand_dims(times, 0 if batch_axis == 0 else 1)
    source = np.where(times < own, own - 1 - times, times)
    source = np.expand_dims(source, tuple(range(2, len(x.shape))))
    return ng.numpy.take_along_axis(term(x), term(cast(source, np.int64)), axis=time_axis)


@op("OneHot", known="depth")
def one_hot(indices: Value, depth: Value, values: Value, *, axis: int = -1) -> Value:
    many, rank = int(np.reshape(depth, ())), len(indices.shape)
    at = axis % (rank + 1)
    own = np.expand_dims(indices, at)
    classes = np.reshape(np.arange(many), (many, *(1,) * (rank - at)))
    own = np.where(own < 0, own + many, own)
    return np.where(np.equal(own, classes), values[1], values[0])


@op("ArgMax")
def argmax(x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Value:
    return _extreme(np.argmax, x, axis, keepdims, select_last_index)


@op("ArgMin")
def argmin(x: Value, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Value:
    return _extreme(np.argmin, x, axis, keepdims, select_last_index)


def _extreme(function: Any, x: Value, axis: int, keepdims: int, last: int) -> Value:
    found = function(np.flip(x, axis) if last else x, axis=axis, keepdims=bool(keepdims))
    return cast(x.shape[axis] - 1 - found if last else found, np.int64)


@op("TopK", known="count")
def top_k(
    x: Value, count: Value = None, *, axis: int = -1, k: int = 0, largest: int = 1, sorted: int = 1
) -> tuple[Value, ...]:
    """The first of an order; ties in the order of their places."""
    many = k if count is None else int(np.reshape(count, ()))
    return tuple(ng.numpy.top_k(term(x), many, axis=axis, mode="largest" if largest else "smallest"))


@op("Compress", known="condition")
def compress(x: Value, condition: Value, *, axis: int | None = None) -> Value:
    flat, at = (np.reshape(x, -1), 0) if axis is None else (x, axis)
    return space(flat).take(flat, np.nonzero(condition)[0], axis=at)


@op("NonZero", known="x")
def nonzero(x: Value) -> Value:
    """Of what the model computes it is refused: how many there are nobody knows before."""
    return np.argwhere(x).T.astype(np.int64)


@op("Unique", known="x")
def unique(x: Value, *, axis: int | None = None, sorted: int = 1) -> tuple[Value, ...]:
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    if not sorted:
        order = np.argsort(first)
        values, first, counts = np.take(values, order, axis=axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return values, first.astype(np.int64), inverse.reshape(-1).astype(np.int64), counts.astype(np.int64)
