# SPDX-License-Identifier: Apache-2.0
"""A graph whose largest products are computed a strip of rows at a time: scans over strips in their place.

What the strips of a region give is stacked, and what is summed over its rows is a state (`ngraph_rewrite.plan.strips`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

import numpy as np

from ngraph_rewrite.codegen.scalar import HALVES
from ngraph_rewrite.plan.batch_first import BatchFirst
from ngraph_rewrite.plan.changed import made_like
from ngraph_rewrite.plan.followed import Mixed, sized
from ngraph_rewrite.plan.needs import SCAN
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.strip_levels import apart, regions_apart, regions_of, with_levels
from ngraph_rewrite.plan.strip_parts import Part, parts_of, waiting_order
from ngraph_rewrite.plan.strips import Region, Sizes, Stripped
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import rebuilt
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import anonymous


def stripped(roots: Sequence[Op], order: Sequence[Op], sizes: Sizes) -> Stripped:
    """The graph with loops over strips, wherever a region is worth it; the same where there is none.

    Args:
        order: All terms, arguments first.
        sizes: What is large.
    """
    graph = Stripped(list(roots), list(order), {})
    while regions := regions_apart(graph, sizes):
        graph = _with_loops(*_with_batch_first(graph, regions, sizes))
    return graph


def _with_batch_first(graph: Stripped, regions: Sequence[Region], sizes: Sizes) -> tuple[Stripped, Sequence[Region]]:
    """The graph with the batches of regions first, where they can be, and the regions then."""
    may = {region.seed for region in regions}
    while True:
        turned, seeds, first = _turned(graph, regions, may)
        if not first:
            return graph, regions
        found = with_levels(list(apart(regions_of(turned, list(seeds.values()), sizes))), turned.order)
        there = {region.seed for region in found}
        lost = {old for old in first if seeds[old] not in there}
        if not lost:
            return turned, found
        may -= lost


def _turned(
    graph: Stripped, regions: Sequence[Region], may: Set[Op]
) -> tuple[Stripped, Mapping[Op, Op], Collection[Op]]:
    """The graph with the batches of some regions first, what the product of each is then, and those that are so."""
    new = dict[Op, Op]()
    places = {term: place for place, term in enumerate(graph.order)}
    first, owners = dict[Op, BatchFirst](), dict[Op, list[Region]]()
    for region in regions:
        if region.seed in may:
            with suppress(Mixed):
                terms = sorted(region.steps, key=places.__getitem__)
                first[region.seed] = BatchFirst(region, terms, lambda term: new.get(term, term))
                for term in terms:
                    owners.setdefault(term, []).append(region)
    for term in graph.order:
        args = tuple([new.get(arg, arg) for arg in term.args])
        if args != term.args:
            new[term] = rebuilt(term, args)
        for region in owners.get(term, ()):
            try:
                made = first[region.seed].make(term)
            except Mixed:
                return _turned(graph, regions, may - {region.seed})
            if term in region.results:
                new[term] = made
    roots = [new.get(root, root) for root in graph.roots]
    noted = {made: old for old, made in new.items()}
    for one in first.values():
        noted |= one.origins
    origins = graph.origins | {made: graph.origins.get(old, old) for made, old in noted.items()}
    seeds = {r.seed: first[r.seed].made[r.seed] if r.seed in first else new.get(r.seed, r.seed) for r in regions}
    return Stripped(roots, topological(roots), origins), seeds, first


def _with_loops(graph: Stripped, regions: Sequence[Region]) -> Stripped:
    """The graph with the loops of regions; of the first one, if what they are made of waits for each other."""
    try:
        return _Loops(graph, regions).graph
    except Mixed:
        return _Loops(graph, regions[:1]).graph


class _Loops:
    """The loops of regions, one for each level.

    Attributes:
        graph: The graph with them.

    Raises:
        Mixed: if loops wait for each other.
    """

    def __init__(self, graph: Stripped, regions: Sequence[Region]) -> None:
        self._origins = dict(graph.origins)
        self._new: dict[Op, Op] = {}  # what stands for a term
        places = {term: place for place, term in enumerate(graph.order)}
        parts = {term: part for region in regions for part in parts_of(region, places) for term in part.results}
        for node in waiting_order(graph.roots, parts):
            if isinstance(node, Part):
                self._new |= self._loop(node)
            elif (args := tuple([self._now(arg) for arg in node.args])) != node.args:
                self._new[node] = self._noted(rebuilt(node, args), node)
        roots = [self._now(root) for root in graph.roots]
        self.graph = Stripped(roots, topological(roots), self._origins)

    def _loop(self, part: Part) -> dict[Op, Op]:
        """What stands for the results of a loop."""
        region, results = part.region, part.results
        slices = {place: self._leaf(*place, part.strip) for place in part.given}
        made = self._step(part, slices)
        sums, outputs = [t for t in results if t in region.sums], [t for t in results if t not in region.sums]
        states = [self._leaf(term, dtype=_summed_in(term)) for term in sums]
        following = [
            self._made("semi.add", (state, self._cast(made[term], state.dtype)), (), term)
            for state, term in zip(states, sums, strict=True)
        ]
        sequences = [self._strips(term, axis, part.strip) for term, axis in part.given]
        args = (*map(self._zeros, sums), *sequences, *following, *(made[term] for term in outputs))
        attributes: dict[str, Any] = {
            "parameters": tuple([leaf.attribute("uid") for leaf in (*states, *slices.values())]),
            "states": len(sums),
            "sequences": len(sequences),
            "length": region.rows // part.strip,
            "reverse": False,
        }
        scan = self._made(SCAN, args, tuple([attributes[name] for name in lookup(SCAN).attributes]), region.seed)
        items = {term: self._made("core.item", (scan,), (i,), term) for i, term in enumerate((*sums, *outputs))}
        return {
            t: self._cast(x, t.dtype) if t in region.sums else self._joined(x, region.axes[t], t)
            for t, x in items.items()
        }

    def _step(self, part: Part, slices: Mapping[tuple[Op, int], Op]) -> dict[Op, Op]:
        """The terms of a step with a strip of rows."""
        found: dict[Op, Op] = {}
        for term in part.terms:
            axes, changed = part.region.steps[term]
            if not term.args:
                found[term] = self._noted(sized(term, part.region.axes[term], part.strip), term)
                continue
            args = [
                self._now(arg) if axis is None else found[arg] if arg in found else slices[arg, axis]
                for arg, axis in zip(term.args, axes, strict=True)
            ]
            own = part.region.axes.get(term, 0)
            cut = {name: (*at[:own], part.strip, *at[own + 1 :]) for name, at in changed.items()}
            attributes = dict(zip(term.definition.attributes, term.attrs, strict=True)) | cut
            found[term] = self._noted(made_like(term.definition, tuple(args), tuple(attributes.values()), term), term)
        return found

    def _strips(self, term: Op, axis: int, rows: int) -> Op:
        """Strips of what has all rows along an axis, so many in each, one after the other."""
        shape = known(term)
        cut = (*shape[:axis], shape[axis] // rows, rows, *shape[axis + 1 :])
        apart = self._made("semi.reshape", (self._now(term),), (cut,), term)
        order = (axis, *(i for i in range(len(cut)) if i != axis))
        return apart if axis == 0 else self._made("semi.transpose", (apart,), (order,), term)

    def _now(self, term: Op) -> Op:
        """What stands for a term of the graph."""
        return self._new.get(term, term)

    # -- terms, each noted with the one it stands for ------------------------------------------------------------------

    def _noted(self, new: Op, old: Op) -> Op:
        self._origins[new] = self._origins.get(old, old)
        return new

    def _made(self, name: str, args: tuple[Op, ...], attributes: tuple[Any, ...], like: Op) -> Op:
        return self._noted(made_like(lookup(name), args, attributes, like), like)

    def _cast(self, term: Op, dtype: np.dtype[Any]) -> Op:
        return term if term.dtype == dtype else self._made("semi.cast", (term,), (dtype,), term)

    def _leaf(self, term: Op, axis: int = 0, rows: int | None = None, dtype: np.dtype[Any] | None = None) -> Op:
        """A parameter for a state, or for a slice with so many rows along an axis."""
        shape = known(term)
        axes = anonymous(shape if rows is None else (*shape[:axis], rows, *shape[axis + 1 :]))
        given: dict[str, Any] = {"uid": Uid(), "axes": axes, "dtype": dtype or term.dtype}
        return self._made("core.parameter", (), tuple([given[n] for n in lookup("core.parameter").attributes]), term)

    def _zeros(self, term: Op) -> Op:
        given: dict[str, Any] = {"value": Literal(0, _summed_in(term)), "axes": anonymous(known(term))}
        return self._made("core.constant", (), tuple([given[n] for n in lookup("core.constant").attributes]), term)

    def _joined(self, stack: Op, axis: int, term: Op) -> Op:
        """What a term is with all rows, of its strips."""
        order = (*range(1, axis + 1), 0, *range(axis + 1, stack.rank))
        turned = stack if axis == 0 else self._made("semi.transpose", (stack,), (order,), term)
        return self._made("semi.reshape", (turned,), (known(term),), term)


def _summed_in(term: Op) -> np.dtype[Any]:
    """The dtype in which what strips give is added up: floats of 16 bits would be rounded with each of them."""
    return np.dtype(np.float32) if term.dtype.name in HALVES else term.dtype
