# SPDX-License-Identifier: Apache-2.0
"""Batched forms of what reads and puts at indices: each of the batch may have indices of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ngraph_rewrite.lowering.batch import Batch, Form, Operand, whole
from ngraph_rewrite.terms.op import Op


def gather(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    (x, x_same), (indices, indices_same) = operands
    axis = term.attribute("axis")
    if indices_same:
        return batch.again(term, x, indices, axis=axis + 1)
    if x_same:  # the batch comes to stand at the axis, with the other axes of the indices
        found = batch.again(term, x, indices)
        return batch.turned(found, axis, *(k for k in range(found.rank) if k != axis))
    lines, places = _lines(x, axis, batch), _places(indices, term.args[0], axis, batch)
    return _from_lines(batch.made("semi.take_along", lines, places, axis=1), term.args[0], indices, axis, batch)


def scattered(along: str) -> Form:
    """Rows that are put, each at indices of its own or all at the same."""

    def form(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
        (indices, indices_same), axis, was = operands[1], term.attribute("axis"), term.args[0]
        x, _, updates = whole(operands, batch)
        if indices_same:
            return batch.again(term, x, indices, updates, axis=axis + 1)
        places = _places(indices, was, axis, batch)
        rank = indices.rank - 1  # of the updates so many axes stand at the axis
        found = batch.made(
            along, _lines(x, axis, batch), places, _lines(updates, axis, batch, rank),
            **{name: term.attribute(name) for name in term.definition.attributes if name != "axis"}, axis=1,
        )  # fmt: skip
        perm = _to_front(axis, x.rank, 1)
        return batch.turned(batch.shaped(found, tuple(x.shape[k] for k in perm)), *_inverse(perm))

    return form


def _lines(x: Op, axis: int, batch: Batch, count: int = 1) -> Op:
    """A batched term as (batch, `count` axes from an axis on, all others)."""
    perm = _to_front(axis, x.rank, count)
    shape = [x.shape[k] for k in perm]
    return batch.shaped(batch.turned(x, *perm), (shape[0], prod(shape[1 : count + 1]), prod(shape[count + 1 :])))


def _to_front(axis: int, rank: int, count: int) -> tuple[int, ...]:
    """The order in which axes of each come first behind the batch."""
    first = tuple(range(axis + 1, axis + 1 + count))
    return (0, *first, *(k for k in range(1, rank) if k not in first))


def _places(indices: Op, x: Op, axis: int, batch: Batch) -> Op:
    """Batched indices for lines as `_lines` has them."""
    n, others = batch.length, prod(m for k, m in enumerate(x.shape) if k != axis)
    flat = batch.shaped(indices, (n, prod(indices.shape[1:])))
    return batch.made("semi.broadcast", flat, shape=(*flat.shape, others), dims=(0, 1))


def _from_lines(found: Op, x: Op, indices: Op, axis: int, batch: Batch) -> Op:
    """Lines with places of the indices in the order of a gather."""
    own = indices.shape[1:]
    shape = (batch.length, *own, *(m for k, m in enumerate(x.shape) if k != axis))
    rank = len(shape)
    perm = _to_front(axis, rank, len(own))
    return batch.turned(batch.shaped(found, shape), *_inverse(perm))


def _inverse(perm: Sequence[int]) -> list[int]:
    return sorted(range(len(perm)), key=perm.__getitem__)


def searchsorted(term: Op, operands: Sequence[Operand], batch: Batch) -> Op:
    return batch.again(term, operands[0][0], operands[1][0])
