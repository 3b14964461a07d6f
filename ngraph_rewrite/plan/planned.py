# SPDX-License-Identifier: Apache-2.0
"""What one try at a plan comes to: a plan, or what it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ngraph_rewrite.plan.accesses import Access
from ngraph_rewrite.plan.copies import LayoutCopy
from ngraph_rewrite.plan.costs import Costs
from ngraph_rewrite.plan.launches import Loop, Work
from ngraph_rewrite.plan.operands import Ref, Scratch
from ngraph_rewrite.terms.op import Op


@dataclass
class Plan:
    """What to run for one binding of the unknown lengths.

    Attributes:
        arena: Bytes of memory that lives inside a call.
        results: The terms whose values are returned, by number; their shapes and dtypes.
        inlined: Terms that exist in registers only, and the term whose kernel computes them.
        temporaries: The number of blocks in the arena.
        again: Terms that several kernels compute, each for itself, and the terms that these compute.
        costs: What decided of terms that several read, between that and memory.
        origins: What the terms of the plan were before corners were marked, and scans became loops.
        parts: Those of them that may be a part of what they were, or have other axes.
        copies: Its layout copies, those of the bodies of its loops once each.
        home: Where each term lies that has memory, but for those inside loops.
        accesses: Of each of its work what memory it touches, if the target asks.
        inside: The plans of what its loops do in a step.
    """

    work: list[Work | Loop]
    arena: int
    results: list[Op]
    inlined: dict[Op, Op] = field(default_factory=dict)
    temporaries: int = 0
    again: dict[Op, list[Op]] = field(default_factory=dict)
    costs: dict[Op, Costs] = field(default_factory=dict)
    origins: dict[Op, Op] = field(default_factory=dict)
    parts: set[Op] = field(default_factory=set)
    copies: list[LayoutCopy] = field(default_factory=list)
    home: Mapping[Op | Scratch, Ref] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    inside: Sequence[Plan] = ()

    def tell_of_bodies(self) -> None:
        """Tell of the terms of loops too, in each other as they are."""
        waiting = [*reversed(self.inside)]
        while waiting:
            body = waiting.pop()
            self.inlined.update(body.inlined)
            self.again.update(body.again)
            self.costs.update(body.costs)
            self.copies += body.copies
            waiting += reversed(body.inside)


class CopyAll(Exception):
    """Terms whose elements have to be in memory by themselves."""

    def __init__(self, terms: set[Op]) -> None:
        super().__init__(terms)
        self.terms = terms


class Cycle(Exception):
    """Jobs that wait for each other.

    Attributes:
        terms: What one of them computes that does several things: each by itself might not wait.
    """

    def __init__(self, terms: set[Op]) -> None:
        super().__init__(terms)
        self.terms = terms
