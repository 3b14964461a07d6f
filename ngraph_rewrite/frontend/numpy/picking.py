# SPDX-License-Identifier: Apache-2.0
"""Elements at integer arrays along several axes at once: picked, or put, along those axes taken as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import OutOfRangeError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.operands import apply, as_term
from ngraph_rewrite.frontend.semi_indices import scatter
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, product

Index = Op | NDArray[Any]


class Arranged(NamedTuple):
    """A term whose indexed axes are one, which one index takes.

    Attributes:
        term: The term, transposed and reshaped.
        places: The index into all of these axes.
        axis: Where they stand.
        order: Which axes of the term that was given stand where, before some became one.
        shape: Their lengths, in that order.
    """

    term: Op
    places: Op
    axis: int
    order: tuple[int, ...]
    shape: tuple[Extent, ...]


def picked(x: Op, indices: Mapping[int, Index], together: bool) -> Op:
    """`x` at integer arrays along some axes; the arrays are broadcast with each other.

    Args:
        indices: An array for each of these axes.
        together: Whether the axes of the arrays take the place of the first of them; else they come first.
    """
    told = indices if len(indices) == 1 else _all_told(x, indices)  # a call looks at what one axis is taken by
    found = _arranged(x, told, together)
    return apply("gather", found.term, found.places, axis=found.axis)


def put(x: Op, indices: Mapping[int, Index], together: bool, values: Op, how: str) -> Op:
    """`x` with `values`, of the type that `picked` has, at integer arrays along some axes.

    Args:
        how: What is there then, as ``semi.scatter`` has it.
    """
    found = _arranged(x, _all_told(x, indices), together)
    new = scatter(found.term, found.places, values, found.axis, how)
    if found.shape != new.shape:
        new = apply("reshape", new, shape=found.shape)
    back = tuple(found.order.index(k) for k in range(x.rank))
    return new if back == found.order == tuple(range(x.rank)) else apply("transpose", new, perm=back)


def _arranged(x: Op, indices: Mapping[int, Index], together: bool) -> Arranged:
    places = sorted(indices)
    lengths = [x.shape[k] for k in places]
    if not any(0 in i.shape for i in indices.values()):  # else nothing is picked
        for place, length in zip(places, lengths, strict=True):
            refuse_outside(indices[place], length, place)
    at = places[0] if together else 0
    rest = [k for k in range(x.rank) if k not in places]
    order = (*rest[:at], *places, *rest[at:])
    moved = x if order == tuple(range(x.rank)) else apply("transpose", x, perm=order)
    if len(places) == 1:
        return Arranged(moved, as_term(indices[places[0]]), at, order, moved.shape)
    checked("index", stretched, *(i.shape for i in indices.values()))
    shape = (*(x.shape[k] for k in rest[:at]), product(lengths), *(x.shape[k] for k in rest[at:]))
    flat = _flat([indices[k] for k in places], lengths)
    return Arranged(apply("reshape", moved, shape=shape), flat, at, order, moved.shape)


def refuse_outside(index: Index, length: Extent, place: int) -> None:
    """Refuse an index that is known if it is outside of an axis whose length is.

    Raises:
        OutOfRangeError: naming the axis by its `place`.

    >>> refuse_outside(np.array([2, -3]), 3, 0)
    """
    known = _values(index)
    if known is None or not isinstance(length, int) or not known.size:
        return
    low, high = int(known.min()), int(known.max())
    if low < -length or high >= length:
        raise OutOfRangeError(
            f"index {high if high >= length else low} is out of range for axis {place} of length {length}",
            where=user_line(),
            do=f"use {-length} to {length - 1}" if length else None,
        )


def _values(index: Index) -> NDArray[Any] | None:
    """The integers of an index; None for a term that is no constant."""
    if isinstance(index, np.ndarray):
        return index
    return index.attribute("value").array(index.shape) if index.definition.name == "core.constant" else None


def _all_told(x: Op, indices: Mapping[int, Index]) -> Mapping[int, Index]:
    """Each index as calls look at it. If one is empty nothing is taken, and none is outside."""
    if any(0 in i.shape for i in indices.values()):
        return indices
    return {k: told_by_calls(i, x.shape[k]) for k, i in indices.items()}


def told_by_calls(index: Index, length: Extent) -> Index:
    """A known index of an axis of unknown length, made of positions of that axis: calls look at these.

    The greatest place less its position is added, which is nothing; so is, where it is negative, the least one's, which
    is the length.

    >>> import ngraph_rewrite as ng
    >>> n = ng.placeholder((None,)).shape[0]
    >>> told_by_calls(np.array([2]), 3), told_by_calls(np.array([2]), n).type
    (array([2]), int64[1])
    """
    known = _values(index)
    if isinstance(length, int) or known is None or not known.size:
        return index
    low, high, found = int(known.min()), int(known.max()), as_term(known.astype(np.int64))
    if high >= 0:
        found = apply("add", found, apply("subtract", place_along(length, high), high))
    if low < 0:
        whole = apply("add", found, apply("subtract", place_along(length, low), low))
        found = apply("select", apply("less", found, 0), whole, found)
    return found


def place_along(length: Extent, index: int) -> Op:
    """The place of an element of an axis, counted from its beginning: a call that lacks it is refused.

    >>> import ngraph_rewrite as ng
    >>> n = ng.placeholder((None,)).shape[0]
    >>> with ng.make_transformer("cpu") as transformer:
    ...     x = ng.placeholder((n,))
    ...     transformer.computation(place_along(n, -1), x)([0.0, 0.0, 0.0])
    array(2)
    """
    positions = build_term("semi.iota", shape=(length,), axis=0, dtype="int64")
    return apply("tensor_slice", positions, items=(index,))


def _flat(indices: Sequence[Index], lengths: Sequence[Extent]) -> Op:
    """One index into the axes taken as one; where any of them is outside, so is it."""
    strides = [product(lengths[k + 1 :]) for k in range(len(lengths))]
    if all(isinstance(i, np.ndarray) for i in indices) and all(isinstance(n, int) for n in lengths):
        wide: list[Any] = [np.asarray(i, np.int64) for i in indices]  # in fewer bits, places in all axes would wrap
        wrapped = [np.where(i < 0, i + n, i) * s for i, n, s in zip(wide, lengths, strides, strict=True)]
        return as_term(np.asarray(reduce(np.add, wrapped)))
    places = [_wrapped(as_term(i), _number(n)) for i, n in zip(indices, lengths, strict=True)]
    inside = [apply("less", i, _number(n)) for i, n in zip(places, lengths, strict=True)]
    inside += [apply("greater_equal", i, 0) for i in places]
    terms = [apply("multiply", i, _number(s)) for i, s in zip(places, strides, strict=True)]
    every = reduce(lambda a, b: apply("logical_and", a, b), inside)
    return apply("select", every, reduce(lambda a, b: apply("add", a, b), terms), _number(product(lengths)))


def _wrapped(index: Op, length: Op) -> Op:
    wide = apply("cast", index, dtype="int64")
    if index.dtype.kind == "u":
        return wide
    return apply("select", apply("less", wide, 0), apply("add", wide, length), wide)


def _number(length: Extent) -> Op:
    """A length as a term: it may be known only when arguments are."""
    return build_term("semi.size", value=length, dtype="int64")
