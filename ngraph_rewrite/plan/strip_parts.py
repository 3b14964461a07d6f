# SPDX-License-Identifier: Apache-2.0
"""What each loop over strips computes, and which has to come before which: parts of regions, a level each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ngraph_rewrite.plan.followed import Mixed
from ngraph_rewrite.plan.strips import Region
from ngraph_rewrite.terms.op import Op


class Part:
    """What a level computes in a step.

    Attributes:
        results: What is read outside of it.
        terms: Its terms, arguments first.
        given: What it is given strips of, and along which axis it has the rows.
        strip: How many rows a strip has.
    """

    def __init__(self, region: Region, level: int, results: Sequence[Op], places: Mapping[Op, int]) -> None:
        self.region, self.results, self.strip = region, results, region.strip
        self.given = dict[tuple[Op, int], None]()
        found, waiting = set(results), list(results)
        while waiting:
            for arg, axis in region.inside(waiting.pop()):
                own = arg in region.steps and arg not in region.sums
                if own and (region.levels[arg] == level or region.is_cheap(arg)):
                    if arg not in found:
                        found.add(arg)
                        waiting.append(arg)
                else:
                    self.given[arg, axis] = None
        self.terms = sorted(found, key=places.__getitem__)

    @property
    def needs(self) -> Iterator[Op]:
        """What has to be computed before."""
        yield from (term for term, _ in self.given)
        for term in self.terms:
            yield from self.region.whole(term)


def parts_of(region: Region, places: Mapping[Op, int]) -> Iterator[Part]:
    """The parts of a region, last level first; none of a level that has nothing but views."""
    read = {*region.results}
    order = sorted(region.steps, key=places.__getitem__)
    for level in range(max(region.levels.values()), -1, -1):
        results = [term for term in order if region.levels[term] == level and term in read]
        part = Part(region, level, results, places)
        read.update(term for term, _ in part.given)
        if results:
            yield part


def waiting_order(roots: Sequence[Op], parts: Mapping[Op, Part]) -> list[Op | Part]:
    """Parts and terms that are in none, each behind what it needs.

    Raises:
        Mixed: if parts wait for each other.
    """
    order, begun, done = list[Op | Part](), set[Op | Part](), set[Op | Part]()
    stack: list[Op | Part | None] = [parts.get(root, root) for root in reversed(roots)]
    while stack:
        node = stack.pop()
        if node is None:  # what stands below it was waiting for what it needs
            node = stack.pop()
            assert node is not None
            done.add(node)
            order.append(node)
        elif node not in done:
            if node in begun:
                raise Mixed
            begun.add(node)
            stack += (node, None)
            stack += [parts.get(arg, arg) for arg in (node.needs if isinstance(node, Part) else node.args)]
    return order
