# SPDX-License-Identifier: Apache-2.0
"""What is known of groups that may become one over rows: of each before it is in any, and of those over rows so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ngraph_rewrite.plan.costs import Use
from ngraph_rewrite.plan.fusion import LARGEST_GROUP, REDUCTIONS, Groups
from ngraph_rewrite.plan.kinds import MAP, VIEW
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.terms.op import Op

Shape = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Fact:
    """What is known of a group before it is in any over rows.

    Attributes:
        shape, axes: Of a reduction, what it reduces and over which axes; of another group, its own shape, and None.
        size: How many terms it has.
        outside: What it reads from outside, whatever the views.
        reads, waits: The writes that end what it reads, and those it waits for, as bits.
    """

    shape: Shape
    axes: tuple[int, ...] | None
    size: int
    outside: list[Op]
    reads: int
    waits: int


def thin(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """A shape with 1 for what is reduced.

    >>> thin((2, 5, 3), (1,))
    (2, 1, 3)
    """
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def facts_of(groups: Groups) -> dict[Op, Fact]:
    """The facts of groups of elementwise terms and of reductions."""
    sizes, outside, found = Counter(groups.group_of.values()), _outside(groups), dict[Op, Fact]()
    effects, kinds = groups.effects, groups.kinds
    for root in groups.roots:
        axes, last = None, root
        if root.definition.name in REDUCTIONS:
            reduction = groups.stead.get(root, root)
            last, axes = reduction.args[0], reduction.attribute("axes")
        elif kinds[root.definition] != MAP:
            continue
        reads, waits = effects.reads.get(last, 0), effects.waits.get(root, 0)
        found[root] = Fact(known(last), axes, sizes[root], outside.get(root, []), reads, waits)
    return found


def _outside(groups: Groups) -> dict[Op, list[Op]]:
    """What each group reads from outside, as far as it is computed in the loops of the group; each once."""
    found, group_of, kinds = dict[Op, list[Op]](), groups.group_of, groups.kinds
    for term, own in groups.uses.items():
        inside = group_of.get(term)
        if inside is not None or (kinds[term.definition] != VIEW and term not in groups.again):
            for group, _, _ in own:
                if group is not None and group is not inside:
                    read = found.get(group)
                    if read is None:
                        found[group] = [term]
                    elif read[-1] is not term:
                        read.append(term)
    return found


@dataclass(eq=False, slots=True)
class Rows:
    """A group over rows while it grows.

    Attributes:
        alone: Whether it has reductions of what nobody in it computes, and nothing else, as it is done in parts.
        kept: The shape of what there is one of for each row.
        thin: The same where what is reduced is left as axes of length 1.
        roots: The roots of the groups in it, with their numbers in the graph.
        first, last: The least and the greatest of these numbers.
        totals: Those that are sums over all rows.
        outside: What these groups read from outside, some of it of each other.
        reads, waits: The writes that end what it reads, and those it waits for, as bits.
    """

    shape: Shape
    axes: tuple[int, ...]
    alone: bool = False
    roots: dict[Op, int] = field(default_factory=dict)
    first: int = 0
    last: int = -1
    totals: set[Op] = field(default_factory=set)
    outside: list[Op] = field(default_factory=list)
    size: int = 0
    reads: int = 0
    waits: int = 0
    kept: Shape = field(init=False)
    thin: Shape = field(init=False)

    def __post_init__(self) -> None:
        self.kept = tuple([n for k, n in enumerate(self.shape) if k not in self.axes])
        self.thin = thin(self.shape, self.axes)

    def takes(self, fact: Fact) -> bool:
        """Whether a group has a place in its loops."""
        if fact.axes is not None:
            given = self.alone and any(term in self.roots for term in fact.outside)
            return fact.shape == self.shape and fact.axes == self.axes and not given
        if self.alone:
            return False
        return fact.shape == self.shape or self.is_once(fact.shape)

    def is_once(self, shape: Shape) -> bool:
        """Whether something of a shape is there once for each row."""
        return shape in (self.kept, self.thin)

    def add(self, root: Op, number: int, fact: Fact) -> None:
        """Take a group in."""
        if number < self.first or not self.roots:
            self.first = number
        if number > self.last:
            self.last = number
        self.roots[root] = number
        self.outside += fact.outside
        self.size, self.reads, self.waits = self.size + fact.size, self.reads | fact.reads, self.waits | fact.waits

    def is_read_outside(self, uses: Iterable[Use]) -> bool:
        """Whether anybody else is among those who read something."""
        for group, _, _ in uses:
            if group not in self.roots:
                return True
        return False

    def is_small(self, other: Fact | Rows) -> bool:
        """Whether it is one kernel with another group, and no write has to come between."""
        small = self.size + other.size <= LARGEST_GROUP
        return small and not (self.reads | other.reads) & (self.waits | other.waits)
