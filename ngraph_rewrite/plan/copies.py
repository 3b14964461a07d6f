# SPDX-License-Identifier: Apache-2.0
"""Layout copies: launches that do nothing but put elements into another order. They are counted, to be avoided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.terms.op import Op


class LayoutCopy(NamedTuple):
    """A copy in another order: of which term, and how many bytes are written."""

    term: Op
    bytes: int


def layout_copies(jobs: Iterable[Job]) -> Iterator[LayoutCopy]:
    """The layout copies among jobs."""
    for job in jobs:
        if job.is_one_map and not job.pieces[0].body.steps and len(job.pieces[0].body.loads) == 1:
            source, target = job.pieces[0].body.loads[0].layout, job.pieces[0].store
            if reorders(source, target):
                yield LayoutCopy(job.term, prod(target.shape) * job.term.dtype.itemsize)


@lru_cache(maxsize=1 << 12)
def reorders(source: Layout, target: Layout) -> bool:
    """Whether two axes that lie one way round in memory lie the other way round in the copy.

    >>> reorders(Layout(0, (2, 3), (1, 2)), Layout(0, (2, 3), (3, 1)))
    True
    >>> reorders(Layout(0, (2, 3), (3, 1)), Layout(0, (2, 3), (3, 1)))
    False
    """
    if 0 in target.shape:
        return False
    strides = [
        (abs(s), abs(t)) for n, s, t in zip(target.shape, source.strides, target.strides, strict=True) if n > 1 and s
    ]
    return any((a - b) * (c - d) < 0 for i, (a, c) in enumerate(strides) for b, d in strides[i + 1 :])
