# SPDX-License-Identifier: Apache-2.0
"""Groups over rows grow along the graph: each takes in what reads its results row by row, while nothing is in between.

What only such a group reads is computed in it, and sums over all rows of what it knows are taken on the way. Memory is
read and written less often, whatever the rows: a group is not made only where too few rows are left to share out among
threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from ngraph_rewrite.plan.fusion import LARGEST_GROUP, MAP, REDUCTIONS, VIEW, Groups
from ngraph_rewrite.plan.pooling import is_pooling
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import MOST
from ngraph_rewrite.terms.op import Op

# Rows that are enough to share out; below that, elements that one thread can be left with.
_ENOUGH, _FEW = 16, 1 << 15
# Rows of a chunk that are worth a sum of its own over them, and about how many elements a chunk has.
_MANY, _CHUNK = 16, 1 << 12
_TOTAL = "semi.sum"
# Terms between groups that are looked at: those that have more are taken for groups that something is between.
_FAR = 24
Shape = tuple[int, ...]


@dataclass(eq=False)
class Rows:
    """A group over rows while it grows.

    Attributes:
        roots: The roots of the groups in it, with their numbers in the graph.
        totals: Those that are sums over all rows.
        outside: What these groups read from outside, some of it of each other.
        reads, waits: The writes that end what it reads, and those it waits for, as bits.
    """

    shape: Shape
    axes: tuple[int, ...]
    roots: dict[Op, int] = field(default_factory=dict)
    totals: set[Op] = field(default_factory=set)
    outside: list[Op] = field(default_factory=list)
    size: int = 0
    reads: int = 0
    waits: int = 0

    @cached_property
    def kept(self) -> Shape:
        """The shape of what there is one of for each row."""
        return tuple([n for k, n in enumerate(self.shape) if k not in self.axes])

    def takes(self, root: Op, groups: Groups) -> bool:
        """Whether a group has a place in its loops."""
        if root.definition.name in REDUCTIONS:
            return known(groups.reduced(root)) == self.shape and groups.axes(root) == self.axes
        return known(root) in (self.shape, self.kept)


class Growth:
    """The groups over rows of a graph."""

    def __init__(self, order: Sequence[Op], groups: Groups, forced: Set[Op]) -> None:
        self.groups, self.forced = groups, forced
        self.number = dict(zip(order, range(len(order)), strict=True))
        self.rows_of: dict[Op, Rows] = {}
        self.outside: dict[Op, tuple[int, list[Op]]] = {}
        self.near: dict[Op, dict[Rows, None]] = {}  # of a group, those over rows of which it reads something
        self.first: dict[tuple[Op, Shape, tuple[int, ...]], Op] = {}  # a reduction of each tensor
        self.sums: set[tuple[Shape, tuple[int, ...]]] = set()  # of floats: the shapes and axes of those there are

    def found(self) -> list[Rows]:
        """The groups over rows that have several parts."""
        for root in self.groups.roots:
            if root.definition.name in REDUCTIONS:
                self._place_reduction(root)
            elif root in self.near and self._is_map(root):
                self._place(root, None)
        several = [rows for rows in dict.fromkeys(self.rows_of.values()) if len(rows.roots) > 1]
        for rows in several:
            self._draw_in(rows)
            if self._add_totals(rows):
                self._draw_in(rows)
        return [rows for rows in several if len(rows.roots) > 1]

    def _add_totals(self, rows: Rows) -> bool:
        """Add sums over all rows of what this group has, if rows lie along memory; say whether there are any."""
        if prod(rows.kept) < _MANY * min(MOST, 1 + prod(rows.shape) // _CHUNK) or 0 in rows.shape:
            return False
        axes = tuple(k for k in range(len(rows.shape)) if k not in rows.axes)
        along = max((k for k, n in enumerate(rows.shape) if n > 1), default=None)
        if along not in rows.axes or (rows.shape, axes) not in self.sums:
            return False
        known_here = dict.fromkeys([*rows.roots, *(o for root in rows.roots for o in self._outside(root)[1])])
        for root in dict.fromkeys(g for term in known_here for g, _, _ in self.groups.uses[term] if g is not None):
            if root.definition.name != _TOTAL or root in self.forced or root in self.groups.stead:
                continue
            own = self.rows_of.get(root)
            if own is rows or (own is not None and any(r.definition.name not in REDUCTIONS for r in own.roots)):
                continue
            if root.dtype.kind != "f" or known(root.args[0]) != rows.shape or root.attribute("axes") != axes:
                continue
            used = any(group in rows.roots for group, _, _ in self.groups.uses[root])
            if not used and self._fits(rows, {root: self.number[root]}, self._outside(root)[1], *self._facts(root)):
                if own is not None:
                    del own.roots[root]
                self._add(rows, root)
                rows.totals.add(root)
        return bool(rows.totals)

    def _is_map(self, root: Op) -> bool:
        return self.groups.kinds[root.definition] == MAP and root not in self.forced

    def _place_reduction(self, root: Op) -> None:
        """Add a reduction to a group that reduces the same, or let it be the first of its rows."""
        shape, axes = known(self.groups.reduced(root)), self.groups.axes(root)
        if root.definition.name == _TOTAL and root.dtype.kind == "f":
            self.sums.add((shape, axes))
        if root in self.forced or is_pooling(root) or not _is_worth(shape, axes):
            return
        near = dict[Rows, None]()
        for term in self._outside(root)[1]:
            first = self.first.setdefault((term, shape, axes), root)
            if first is not root:
                near[self.rows_of[first]] = None
        self.near[root] = near | self.near.get(root, {})
        self._place(root, Rows(shape, axes))

    def _place(self, root: Op, own: Rows | None) -> None:
        """Add a group to one of which it reads something; what reads several row by row makes one of them."""
        near = [rows for rows in self._now(root) if rows.takes(root, self.groups)]
        if len(near) > 1:
            near.sort(key=lambda rows: -max(rows.roots.values()))
        alone, outside = {root: self.number[root]}, self._outside(root)[1]
        joined = next((r for r in near if self._fits(r, alone, outside, *self._facts(root))), own)
        if joined is None:
            return
        self._add(joined, root)
        if joined is own or known(root) == joined.kept:
            return
        for rows in near:
            if rows is not joined and rows.shape == joined.shape and rows.axes == joined.axes:
                if self._fits(joined, rows.roots, rows.outside, rows.size, rows.reads, rows.waits):
                    for other in rows.roots:
                        self._add(joined, other)

    def _now(self, root: Op) -> list[Rows]:
        """The groups over rows near a group, as they are after others were made one."""
        found = [self.rows_of[next(iter(rows.roots))] for rows in self.near.get(root, ())]
        return list(dict.fromkeys(found)) if len(found) > 1 else found

    def _draw_in(self, rows: Rows) -> None:
        """Add what only this group reads, the last first."""
        pending, group_of = list(rows.roots), self.groups.group_of
        while pending:
            for term in self._outside(pending.pop())[1]:
                if group_of.get(term) is not term or term in self.rows_of or known(term) != rows.shape:
                    continue
                if not self._is_map(term) or any(group not in rows.roots for group, _, _ in self.groups.uses[term]):
                    continue
                if self._is_small(rows, *self._facts(term)):
                    self._add(rows, term)
                    pending.append(term)

    def _facts(self, root: Op) -> tuple[int, int, int]:
        """The terms of a group, the writes that end what it reads, and those it waits for."""
        effects = self.groups.effects
        last = self.groups.reduced(root) if root.definition.name in REDUCTIONS else root
        return self._outside(root)[0], effects.reads.get(last, 0), effects.waits.get(root, 0)

    def _add(self, rows: Rows, root: Op) -> None:
        size, reads, waits = self._facts(root)
        rows.roots[root] = self.number[root]
        rows.outside += self._outside(root)[1]
        rows.size, rows.reads, rows.waits = rows.size + size, rows.reads | reads, rows.waits | waits
        self.rows_of[root] = rows
        for group, _, _ in self.groups.uses[root]:
            if group is not None:
                self.near.setdefault(group, {})[rows] = None

    def _fits(
        self, rows: Rows, roots: Mapping[Op, int], outside: Sequence[Op], size: int, reads: int, waits: int
    ) -> bool:
        """Whether groups can be done together with a group over rows."""
        return self._is_small(rows, size, reads, waits) and not self._is_between(rows, roots, outside)

    def _is_small(self, rows: Rows, size: int, reads: int, waits: int) -> bool:
        """Whether a group over rows with some terms more is one kernel, and no write has to come between."""
        return rows.size + size <= LARGEST_GROUP and not (rows.reads | reads) & (rows.waits | waits)

    def _is_between(self, before: Rows, after: Mapping[Op, int], outside: Sequence[Op]) -> bool:
        """Whether something between these groups is none of them: it needs one of them and another one needs it.

        Args:
            outside: What the later ones read.
        """
        group_of, rows_of, number, stead = self.groups.group_of, self.rows_of, self.number, self.groups.stead
        numbers = before.roots.values()
        earliest = min(min(numbers), min(after.values()))
        if min(after.values()) < max(numbers):  # else the earlier ones need none of these
            outside = [*outside, *before.outside]
        pending = [a for a in outside if number[a] > earliest]
        if not pending:
            return False
        roots = {**before.roots, **after}
        pending = [a for a in pending if group_of.get(a) not in roots]
        seen: set[Op | Rows] = set()
        while pending:
            term = pending.pop()
            if term in seen:
                continue
            if len(seen) >= _FAR:
                return True
            seen.add(term)
            group = group_of.get(term)
            if group in roots:
                return True
            args: Sequence[Op] = stead[term].args if term in stead else term.args
            if group is term and term in rows_of:
                rows = rows_of[term]
                args = () if rows in seen else rows.outside
                seen.add(rows)
            pending += [a for a in args if number[a] >= earliest]
        return False

    def _outside(self, root: Op) -> tuple[int, list[Op]]:
        """How many terms a group has, and what it reads from outside, whatever the views."""
        known_before = self.outside.get(root)
        if known_before is not None:
            return known_before
        group_of, kinds, stead = self.groups.group_of, self.groups.kinds, self.groups.stead
        pending, seen, found, size = [root], {root}, list[Op](), 0
        while pending:
            term = pending.pop()
            group = group_of.get(term)
            if group is root:
                size += 1
            elif group is not None or kinds[term.definition] != VIEW:
                found.append(term)
                continue
            for arg in stead[term].args if term in stead else term.args:
                if arg not in seen:
                    seen.add(arg)
                    pending.append(arg)
        self.outside[root] = size, found
        return size, found


def _is_worth(shape: Shape, axes: tuple[int, ...]) -> bool:
    """Whether there are rows enough to share out, or no need to."""
    rows = prod([n for k, n in enumerate(shape) if k not in axes])
    return rows >= _ENOUGH or prod(shape) <= _FEW
