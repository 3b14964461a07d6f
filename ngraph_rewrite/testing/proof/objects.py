# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays of objects, which stand for expressions: functions of each, and of all along some axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.testing.proof.symbols import Scalar

Objects = NDArray[Any]


def as_objects(data: Any) -> Objects:
    """An array of objects, also of a single one."""
    if isinstance(data, np.ndarray):
        return data
    result = np.empty((), object)
    result[()] = data
    return result


def mapped(function: Callable[..., Scalar], *arrays: Objects) -> Objects:
    """A function of the elements of arrays, which are broadcast."""
    several = np.broadcast_arrays(*arrays) if len(arrays) > 1 else arrays
    result = np.empty(several[0].shape, object)
    result.reshape(-1)[:] = [function(*s) for s in zip(*(a.flat for a in several), strict=True)] or None
    return result


class Line:
    """Elements that are taken together; no sequence, so that NumPy sees one object in it."""

    __slots__ = "items"

    def __init__(self, items: list[Scalar]) -> None:
        self.items = items


def normal_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front; None is all of them."""
    axes = range(rank) if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    return tuple(int(k) % rank if rank else int(k) for k in axes)


def lines_of(data: Objects, axes: tuple[int, ...]) -> Objects:
    """The elements along some axes as one object each, for every place in the others."""
    kept = [k for k in range(data.ndim) if k not in axes]
    shape = tuple(data.shape[k] for k in kept)
    moved = data.transpose([*kept, *sorted(axes)])
    result = np.empty(shape, object)
    for place in np.ndindex(*shape):
        result[place] = Line(list(as_objects(moved[place]).flat))
    return result
