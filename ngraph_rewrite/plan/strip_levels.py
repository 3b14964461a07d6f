# SPDX-License-Identifier: Apache-2.0
"""Which regions get their loops together, and the levels of their terms: found by a few walks over the graph for all.

The *level* of a term of a region is one more than that of terms of it that it needs in another way than as rows, by
whatever leads there. Regions that have no terms in common are leveled together, as vectors of numbers: a network has
one in each layer, and to look at all of it for each would take four times as long for twice as many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

import numpy as np

from ngraph_rewrite.plan.followed import Mixed
from ngraph_rewrite.plan.strips import PRODUCTS, Region, Sizes, Stripped, is_worth_it
from ngraph_rewrite.terms.binders import free_parameters
from ngraph_rewrite.terms.op import Op

_MOST_LEVELS = 3


def regions_apart(graph: Stripped, sizes: Sizes) -> list[Region]:
    """The first region there is, and later ones that have nothing in common with those before."""
    seeds = [term for term in graph.order if term.definition.name in PRODUCTS and is_worth_it(term, sizes)]
    while seeds:
        found = list(apart(regions_of(graph, seeds, sizes)))
        leveled = with_levels(found, graph.order)
        if leveled or not found:
            return leveled
        hopeless = {region.seed for region in found}
        seeds = [seed for seed in seeds if seed not in hopeless]
    return []


def regions_of(graph: Stripped, seeds: Sequence[Op], sizes: Sizes) -> Iterator[Region]:
    """The regions of products, of those that have one."""
    free, users, roots = free_parameters(graph.order), dict[Op, list[Op]](), {*graph.roots}
    for term in graph.order:
        for arg in term.args:
            users.setdefault(arg, []).append(term)
    for seed in seeds:
        if seed not in free:
            with suppress(Mixed):
                yield Region(seed, users, roots, sizes, free)


def apart(regions: Iterator[Region]) -> Iterator[Region]:
    """Those of regions that have no terms in common with earlier ones, but for constants."""
    taken = set[Op]()
    for region in regions:
        own = {term for term in region.steps if term.args}
        if not own & taken:
            taken |= own
            yield region


def with_levels(regions: Collection[Region], order: Sequence[Op]) -> list[Region]:
    """The regions with the levels of their terms, but for those that have too many.

    Args:
        order: All terms of the graph, arguments first.
    """
    owners = dict[Op, list[int]]()
    every = list(regions)
    for number, region in enumerate(every):
        for term in region.steps:
            owners.setdefault(term, []).append(number)
    none = np.zeros(len(every), np.int32)
    found = dict[Op, np.ndarray]()
    for term in order:
        level = none
        for arg in term.args:
            reached = found[arg]
            higher = [n for n in owners.get(arg, ()) if not _as_rows(every[n], term, arg)]
            if higher:
                reached = reached.copy()
                reached[higher] += 1
            if reached is not none:
                level = reached if level is none else np.maximum(level, reached)
        found[term] = level
    for number, region in enumerate(every):
        region.levels = {term: int(found[term][number]) for term in region.steps}
    return [region for region in every if max(region.levels.values()) < _MOST_LEVELS]


def _as_rows(region: Region, term: Op, arg: Op) -> bool:
    """Whether a term of a region needs rows of another one, and nothing else of it."""
    if term not in region.steps or arg in region.sums:
        return False
    return any(one is arg for one, _ in region.inside(term)) and all(one is not arg for one in region.whole(term))
