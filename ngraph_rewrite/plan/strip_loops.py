# SPDX-License-Identifier: Apache-2.0
"""A graph whose largest products are computed a strip of rows at a time: scans over strips in their place.

What the strips of a region give is stacked, and what is summed over its rows is a state (`ngraph_rewrite.plan.strips`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ngraph_rewrite.plan.batch_first import BatchFirst
from ngraph_rewrite.plan.followed import Mixed, sized
from ngraph_rewrite.plan.needs import SCAN
from ngraph_rewrite.plan.scan_changes import made_like
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.strips import PRODUCTS, Region, Stripped, is_worth_it, strip_of
from ngraph_rewrite.terms.binders import free_parameters
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.terms.substitution import rebuilt, substituted
from ngraph_rewrite.types.axes import anonymous


def stripped(roots: Sequence[Op], order: Sequence[Op]) -> Stripped:
    """The graph with loops over strips, wherever a region is worth it; the same where there is none.

    Args:
        order: All terms, arguments first.
    """
    graph = Stripped(list(roots), list(order), {})
    while (region := _first(graph)) is not None:
        graph, region = _with_batch_first(graph, region)
        graph = _Loops(graph, region).graph
    return graph


def _first(graph: Stripped) -> Region | None:
    """The first region there is."""
    seeds = [term for term in graph.order if term.definition.name in PRODUCTS and is_worth_it(term)]
    return next(_regions(graph, seeds), None) if seeds else None


def _regions(graph: Stripped, seeds: Sequence[Op]) -> Iterator[Region]:
    free, users = free_parameters(graph.order), dict[Op, list[Op]]()
    for term in graph.order:
        for arg in term.args:
            users.setdefault(arg, []).append(term)
    for seed in seeds:
        if seed not in free:
            with suppress(Mixed):
                yield Region(seed, users, graph, free)


def _with_batch_first(graph: Stripped, region: Region) -> tuple[Stripped, Region]:
    """The graph with the batch of a region first, if it can be, and the region then."""
    with suppress(Mixed):
        new: dict[Op, Op] = {}
        first, results = BatchFirst(region, graph.order, lambda term: new.get(term, term)), region.results(graph)
        for term in graph.order:
            made = first.make(term) if term in region.steps else None
            args = tuple([new.get(arg, arg) for arg in term.args])
            if term in results and made is not None:
                new[term] = made
            elif args != term.args:
                new[term] = rebuilt(term, args)
        roots = [new.get(root, root) for root in graph.roots]
        noted = {made: old for old, made in new.items()} | first.origins
        origins = graph.origins | {made: graph.origins.get(old, old) for made, old in noted.items()}
        turned = Stripped(roots, topological(roots), origins)
        found = next(_regions(turned, [first.made[region.seed]]), None)
        if found is not None:
            return turned, found
    return graph, region


class _Loops:
    """The loops of a region, one for each level.

    Attributes:
        graph: The graph with them.
    """

    def __init__(self, graph: Stripped, region: Region) -> None:
        self._roots, self._all, self._region, levels = graph.roots, graph.order, region, region.levels
        self._origins = dict(graph.origins)
        self._strip = strip_of(region.seed) or 1
        self._order = [term for term in graph.order if term in region.steps]
        self._new: dict[Op, Op] = {}  # what stands for a term after the loops so far
        read, last = region.results(graph), max(levels.values())
        parts = list[tuple[list[Op], _Part]]()
        for level in range(last, -1, -1):
            results = [term for term in self._order if levels[term] == level and term in read]
            parts.append((results, part := _Part(region, level, results)))
            read.update(term for term, _ in part.given)
        for results, part in reversed(parts):
            if results:  # a level may have nothing but views
                self._replace(self._loop(results, part))
        self.graph = Stripped(self._roots, topological(self._roots), self._origins)

    def _loop(self, results: Sequence[Op], part: _Part) -> dict[Op, Op]:
        """What stands for the results of a loop."""
        region, count = self._region, self._region.rows // self._strip
        slices = {place: self._leaf(*place, self._strip) for place in part.given}
        made = self._step(part, slices)
        sums, outputs = [t for t in results if t in region.sums], [t for t in results if t not in region.sums]
        states = [self._leaf(term) for term in sums]
        following = [self._made("semi.add", (s, made[term]), (), term) for s, term in zip(states, sums, strict=True)]
        sequences = [self._strips(term, axis) for term, axis in part.given]
        args = (*map(self._zeros, sums), *sequences, *following, *(made[term] for term in outputs))
        attributes: dict[str, Any] = {
            "parameters": tuple([leaf.attribute("uid") for leaf in (*states, *slices.values())]),
            "states": len(sums),
            "sequences": len(sequences),
            "length": count,
            "reverse": False,
        }
        scan = self._made(SCAN, args, tuple([attributes[name] for name in lookup(SCAN).attributes]), region.seed)
        items = {term: self._made("core.item", (scan,), (i,), term) for i, term in enumerate((*sums, *outputs))}
        return {t: x if t in region.sums else self._joined(x, region.axes[t], t) for t, x in items.items()}

    def _step(self, part: _Part, slices: Mapping[tuple[Op, int], Op]) -> dict[Op, Op]:
        """The terms of a step with a strip of rows."""
        found: dict[Op, Op] = {}
        for term in self._order:
            if term not in part.terms:
                continue
            axes, changed = self._region.steps[term]
            if not term.args:
                found[term] = self._noted(sized(term, self._region.axes[term], self._strip), term)
                continue
            args = [
                self._now(arg) if axis is None else found[arg] if arg in part.terms else slices[arg, axis]
                for arg, axis in zip(term.args, axes, strict=True)
            ]
            own = self._region.axes.get(term, 0)
            cut = {name: (*at[:own], self._strip, *at[own + 1 :]) for name, at in changed.items()}
            attributes = dict(zip(term.definition.attributes, term.attrs, strict=True)) | cut
            found[term] = self._noted(made_like(term.definition, tuple(args), tuple(attributes.values()), term), term)
        return found

    def _strips(self, term: Op, axis: int) -> Op:
        """Strips of what has all rows along an axis, one after the other."""
        shape = known(term)
        cut = (*shape[:axis], shape[axis] // self._strip, self._strip, *shape[axis + 1 :])
        apart = self._made("semi.reshape", (self._now(term),), (cut,), term)
        order = (axis, *(i for i in range(len(cut)) if i != axis))
        return apart if axis == 0 else self._made("semi.transpose", (apart,), (order,), term)

    def _now(self, term: Op) -> Op:
        """What stands for a term of the graph."""
        while term in self._new:
            term = self._new[term]
        return term

    def _replace(self, results: Mapping[Op, Op]) -> None:
        """Put the results of a loop in the place of terms."""

        def rebuild(term: Op, args: tuple[Op, ...]) -> Op:
            new = self._new[term] = self._noted(rebuilt(term, args), term)
            return new

        found = {self._now(old): new for old, new in results.items()}
        self._roots = substituted(self._roots, found, rebuild, self._all)
        self._new |= found
        self._all = [self._new.get(term, term) for term in self._all]

    # -- terms, each noted with the one it stands for ------------------------------------------------------------------

    def _noted(self, new: Op, old: Op) -> Op:
        self._origins[new] = self._origins.get(old, old)
        return new

    def _made(self, name: str, args: tuple[Op, ...], attributes: tuple[Any, ...], like: Op) -> Op:
        return self._noted(made_like(lookup(name), args, attributes, like), like)

    def _leaf(self, term: Op, axis: int = 0, rows: int | None = None) -> Op:
        """A parameter for a state, or for a slice with so many rows along an axis."""
        shape = known(term)
        axes = anonymous(shape if rows is None else (*shape[:axis], rows, *shape[axis + 1 :]))
        given: dict[str, Any] = {"uid": Uid(), "axes": axes, "dtype": term.dtype}
        return self._made("core.parameter", (), tuple([given[n] for n in lookup("core.parameter").attributes]), term)

    def _zeros(self, term: Op) -> Op:
        given: dict[str, Any] = {"value": Literal(0, term.dtype), "axes": anonymous(known(term))}
        return self._made("core.constant", (), tuple([given[n] for n in lookup("core.constant").attributes]), term)

    def _joined(self, stack: Op, axis: int, term: Op) -> Op:
        """What a term is with all rows, of its strips."""
        order = (*range(1, axis + 1), 0, *range(axis + 1, stack.rank))
        turned = stack if axis == 0 else self._made("semi.transpose", (stack,), (order,), term)
        return self._made("semi.reshape", (turned,), (known(term),), term)


class _Part:
    """What a level computes in a step.

    Attributes:
        terms: Its terms.
        given: What it is given strips of, and along which axis it has the rows.
    """

    def __init__(self, region: Region, level: int, results: Sequence[Op]) -> None:
        self.terms, self.given = set(results), dict[tuple[Op, int], None]()
        waiting = list(results)
        while waiting:
            for arg, axis in region.inside(waiting.pop()):
                own = arg in region.steps and arg not in region.sums
                if own and (region.levels[arg] == level or region.is_cheap(arg)):
                    if arg not in self.terms:
                        self.terms.add(arg)
                        waiting.append(arg)
                else:
                    self.given[arg, axis] = None
