# SPDX-License-Identifier: Apache-2.0
"""A region of large products with the batch of these as the first axis of every term, and as one axis.

Frontends have axes in their own order: scores of attention may have samples and heads apart, and queries between them.
Where the batch comes first everywhere, nothing is transposed between products, and the entries of a batch are what
bands are made of (`ngraph_rewrite.plan.bands`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from ngraph_rewrite.plan.changed import made_like
from ngraph_rewrite.plan.followed import Mixed
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.strips import PRODUCTS, Region
from ngraph_rewrite.rewriting.attributes_positions import identity, inverse, is_identity, others, pick
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.tensor import TensorType

# The axes that make the batch, in the order of the batch; none of what is the same for all its entries.
Batch = tuple[int, ...]


class BatchFirst:
    """The terms of a region with the batch first.

    Args:
        order: The terms of the graph, arguments first.
        now: What stands for a term that is not of the region.

    Attributes:
        made: By term, what `make` has made.
        origins: Which terms new ones stand for.

    Raises:
        Mixed: if there is no batch, or it cannot come first.
    """

    def __init__(self, region: Region, order: Sequence[Op], now: Callable[[Op], Op]) -> None:
        if region.seed.rank != 3:
            raise Mixed
        self._region, self._size, self._now = region, known(region.seed)[0], now
        terms = [term for term in order if term in region.steps]
        self._batches: dict[Op, Batch] = {}
        for term in reversed(terms):
            self._follow(term)
        for term in terms:
            if term not in self._batches:
                self._batches[term] = self._lead(term) if term.args else ()
        self.made: dict[Op, Op] = {}
        self.origins: dict[Op, Op] = {}

    def make(self, term: Op) -> Op:
        """A term of the region as it was, of one with the batch first; what it is made of has been made."""
        made = self.made[term] = self._term(term)
        batch, shape = self._batches[term], known(term)
        order = (*batch, *others(batch, len(shape)))
        return self._transposed(self._reshaped(made, pick(shape, order), term), inverse(order), term)

    # -- where the batch is --------------------------------------------------------------------------------------------

    def _follow(self, term: Op) -> None:
        """Say where the arguments of a term have the batch, if it is known where the term has it."""
        if term.definition.name in PRODUCTS:
            self._note(term, (0,))
        if term in self._batches:
            for arg, batch in zip(term.args, self._of_arguments(term), strict=True):
                if arg in self._region.steps:
                    self._note(arg, batch)

    def _note(self, term: Op, batch: Batch) -> None:
        whole = not batch or prod(pick(known(term), batch)) == self._size
        if not whole or self._batches.setdefault(term, batch) != batch:
            raise Mixed

    def _of_arguments(self, term: Op) -> list[Batch]:
        batch, name = self._batches[term], term.definition.name
        if name in PRODUCTS:
            if term.rank != 3:
                raise Mixed
            return [(0,), (0,)]
        if "elementwise" in term.definition.traits:
            return [batch] * len(term.args)
        if term.args and name not in _BACK:
            raise Mixed
        return [_BACK[name](term, batch, self._size)] if term.args else []

    def _lead(self, term: Op) -> Batch:
        """Where a reduction has the batch, as its argument tells."""
        if term.definition.name not in _REDUCTIONS or term.args[0] not in self._batches:
            raise Mixed
        left, batch = others(term.attribute("axes"), term.args[0].rank), self._batches[term.args[0]]
        kept = tuple([left.index(axis) for axis in batch if axis in left])
        if kept and len(kept) < len(batch):
            raise Mixed
        return kept

    # -- with the batch first ------------------------------------------------------------------------------------------

    def _term(self, term: Op) -> Op:
        batch, definition = self._batches[term], term.definition
        if not term.args:
            return self._constant(term)
        own, change = self._given(term), _CHANGES.get(definition.name)
        args = [
            self.made[arg] if arg in self._region.steps else self._brought(arg, batch)
            for arg, batch in zip(term.args, own, strict=True)
        ]
        if definition.name == "semi.reshape":
            return self._reshaped(args[0], self._shape(term), term)
        if definition.name == "semi.transpose":
            ways = _places(own[0], term.args[0].rank)
            order = [ways[axis] for axis in pick(term.attribute("perm"), others(batch, term.rank))]
            return self._transposed(args[0], (*((0,) if batch else ()), *order), term)
        attributes = dict(zip(definition.attributes, term.attrs, strict=True))
        if change is not None:
            attributes |= change(term, batch, own[0], self._shape(term))
        return self._noted(made_like(definition, tuple(args), tuple(attributes.values()), term), term)

    def _given(self, term: Op) -> list[Batch]:
        """Where its arguments have the batch."""
        if term.definition.name in _REDUCTIONS and term.args[0] in self._batches:
            return [self._batches[term.args[0]]]
        return self._of_arguments(term)

    def _shape(self, term: Op) -> tuple[int, ...]:
        batch, shape = self._batches[term], known(term)
        return (*((self._size,) if batch else ()), *pick(shape, others(batch, len(shape))))

    def _constant(self, term: Op) -> Op:
        axes = anonymous(self._shape(term))
        found = dict(zip(term.definition.attributes, term.attrs, strict=True)) | {"axes": axes}
        return self._noted(
            Op(term.definition, (), tuple(found.values()), TensorType(term.dtype, axes), term.info), term
        )

    def _brought(self, arg: Op, batch: Batch) -> Op:
        """What is not of the region, with the batch first."""
        if not batch:
            return self._now(arg)
        order, shape = (*batch, *others(batch, arg.rank)), known(arg)
        turned = self._transposed(self._now(arg), order, arg)
        return self._reshaped(turned, (prod(pick(shape, batch)), *pick(shape, order[len(batch) :])), arg)

    def _transposed(self, x: Op, order: Sequence[int], like: Op) -> Op:
        order = tuple(order)
        return x if is_identity(order) else self._noted(made_like(lookup("semi.transpose"), (x,), (order,), like), like)

    def _reshaped(self, x: Op, shape: Sequence[int], like: Op) -> Op:
        shape = tuple(shape)
        return x if known(x) == shape else self._noted(made_like(lookup("semi.reshape"), (x,), (shape,), like), like)

    def _noted(self, new: Op, old: Op) -> Op:
        self.origins[new] = old
        return new


def _places(batch: Batch, rank: int) -> dict[int, int]:
    """Where each axis is when the batch has come first."""
    first = dict.fromkeys(batch, 0)
    return first | {axis: i + bool(batch) for i, axis in enumerate(others(batch, rank))}


# -- by what a term is -------------------------------------------------------------------------------------------------


def _of_reshape(term: Op, batch: Batch, size: int) -> Batch:
    """The first axes are the batch before and after."""
    shape = known(term.args[0])
    count = next((i for i in range(1, len(shape) + 1) if prod(shape[:i]) == size), 0)
    if batch != identity(len(batch)) or not count:
        raise Mixed
    return identity(count) if batch else ()


def _of_transpose(term: Op, batch: Batch, size: int) -> Batch:
    return pick(term.attribute("perm"), batch)


def _of_broadcast(term: Op, batch: Batch, size: int) -> Batch:
    (x,), dims = term.args, term.attribute("dims")
    there = [axis for axis in batch if axis in dims and x.shape[dims.index(axis)] == term.shape[axis]]
    if there and len(there) < len(batch):
        raise Mixed
    return tuple([dims.index(axis) for axis in there])


def _of_reduction(term: Op, batch: Batch, size: int) -> Batch:
    return pick(others(term.attribute("axes"), term.args[0].rank), batch)


def _broadcast(term: Op, batch: Batch, given: Batch, shape: tuple[int, ...]) -> dict[str, Any]:
    dims, places = term.attribute("dims"), _places(batch, term.rank)
    rest = [places[dims[axis]] for axis in others(given, len(dims))]
    return {"shape": shape, "dims": (*((0,) if given else ()), *rest)}


def _reduction(term: Op, batch: Batch, given: Batch, shape: tuple[int, ...]) -> dict[str, Any]:
    places = _places(given, term.args[0].rank)
    return {"axes": tuple(sorted({places[axis] for axis in term.attribute("axes")}))}


_REDUCTIONS = frozenset(f"semi.{name}" for name in ("sum", "prod", "max", "min", "any", "all"))
_BACK: Mapping[str, Callable[[Op, Batch, int], Batch]] = {
    "semi.reshape": _of_reshape,
    "semi.transpose": _of_transpose,
    "semi.broadcast": _of_broadcast,
    **dict.fromkeys(_REDUCTIONS, _of_reduction),
}
_CHANGES: Mapping[str, Callable[[Op, Batch, Batch, tuple[int, ...]], dict[str, Any]]] = {
    "semi.broadcast": _broadcast,
    **dict.fromkeys(_REDUCTIONS, _reduction),
}
