# SPDX-License-Identifier: Apache-2.0
"""Groups over rows grow along the graph: each takes in what reads its results row by row, while nothing is in between.

What only such a group reads is computed in it, and sums over all rows of what it knows are taken on the way. Memory is
read and written less often, whatever the rows. Where too few rows are left to share out among threads, a group has
reductions alone, none of which needs another one: those are taken in parts (`ngraph_rewrite.plan.splitting`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from math import prod

from ngraph_rewrite.plan.fusion import REDUCTIONS, Groups, is_scalar_constant
from ngraph_rewrite.plan.kinds import LONG, MAP
from ngraph_rewrite.plan.pooling import is_pooling
from ngraph_rewrite.plan.row_facts import Fact, Rows, Shape, facts_of
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import MOST
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import is_float

# Rows of a chunk that are worth a sum of its own over them, and about how many elements a chunk has.
_MANY, _CHUNK = 16, 1 << 12
_TOTAL = "semi.sum"
_PLACES = ("semi.argmax", "semi.argmin")
# Terms and groups that are looked at between two groups: if there are more, something is taken to be between.
_FAR = 24


class Growth:
    """The groups over rows of a graph."""

    def __init__(self, groups: Groups, forced: Set[Op]) -> None:
        self.groups, self.forced, self.facts = groups, forced, facts_of(groups)
        self.number = groups.number
        self.rows_of: dict[Op, Rows] = {}
        self.first: dict[tuple[Op, Shape, tuple[int, ...]], Op] = {}  # a reduction of each tensor
        self.sums: set[tuple[Shape, tuple[int, ...]]] = set()  # of floats: the shapes and axes of those there are

    def found(self) -> list[Rows]:
        """The groups over rows that have several parts."""
        for root in self.groups.roots:
            fact = self.facts.get(root)
            if fact is None:
                continue
            if fact.axes is not None:
                self._place_reduction(root, fact)
            elif root not in self.forced:
                near = self._near(fact)
                if near:
                    self._place(root, fact, near)
        several = [rows for rows in dict.fromkeys(self.rows_of.values()) if len(rows.roots) > 1]
        for rows in several:
            self._draw_in(rows)
            if self._add_totals(rows):
                self._draw_in(rows)
        return [rows for rows in several if len(rows.roots) > 1]

    def _add_totals(self, rows: Rows) -> bool:
        """Add sums over all rows of what this group has, if rows lie along memory; say whether there are any."""
        if not self.groups.renderer.totals or rows.alone:
            return False
        if prod(rows.kept) < _MANY * min(MOST, 1 + prod(rows.shape) // _CHUNK) or 0 in rows.shape:
            return False
        axes = tuple(k for k in range(len(rows.shape)) if k not in rows.axes)
        along = max((k for k, n in enumerate(rows.shape) if n > 1), default=None)
        if along not in rows.axes or (rows.shape, axes) not in self.sums:
            return False
        read = [o for root in rows.roots for o in self.facts[root].outside if not is_scalar_constant(o)]
        known_here = dict.fromkeys([*rows.roots, *read])
        for root in dict.fromkeys(g for term in known_here for g, _, _ in self.groups.uses[term] if g is not None):
            if root.definition.name != _TOTAL or root in self.forced or root in self.groups.stead:
                continue
            own, fact = self.rows_of.get(root), self.facts[root]
            if own is rows or (own is not None and any(r.definition.name not in REDUCTIONS for r in own.roots)):
                continue
            if not is_float(root.dtype) or fact.shape != rows.shape or fact.axes != axes:
                continue
            used = any(group in rows.roots for group, _, _ in self.groups.uses[root])
            if not used and self._fits(rows, root, fact):
                if own is not None:
                    del own.roots[root]
                self._add(rows, root)
                rows.totals.add(root)
        return bool(rows.totals)

    def _is_map(self, root: Op) -> bool:
        is_map = self.groups.kinds[root.definition] == MAP and root.definition.name not in LONG
        return is_map and root not in self.forced

    def _place_reduction(self, root: Op, fact: Fact) -> None:
        """Add a reduction to a group that reduces the same, or let it be the first of its rows."""
        shape, axes = fact.shape, fact.axes
        assert axes is not None
        if root.definition.name == _TOTAL and is_float(root.dtype):
            self.sums.add((shape, axes))
        pooled = self.groups.renderer.pooling and is_pooling(root)
        if root in self.forced or pooled:
            return
        alone = not self.groups.renderer.worth(shape, axes)
        if alone and root.definition.name in _PLACES:
            return
        near = {} if alone else self._near(fact)
        for term in fact.outside:
            first = self.first.setdefault((term, shape, axes), root)
            if first is not root:
                near[self.rows_of[first]] = None
        self._place(root, fact, near, alone)

    def _near(self, fact: Fact) -> dict[Rows, None]:
        """The groups over rows of which a group reads something."""
        rows_of = self.rows_of
        found: dict[Rows, None] = {}
        for term in fact.outside:
            rows = rows_of.get(term)
            if rows is not None:
                found[rows] = None
        return found

    def _place(self, root: Op, fact: Fact, around: Iterable[Rows], alone: bool = False) -> None:
        """Add a group to one of those around it, else a reduction to one of its own; what reads several joins them.

        Args:
            alone: Whether nothing but reductions may come to the reduction.
        """
        near = [rows for rows in around if rows.takes(fact)]
        if len(near) > 1:
            near.sort(key=lambda rows: -rows.last)
        for joined in near:
            if self._fits(joined, root, fact):
                break
        else:
            if fact.axes is not None:
                self._add(Rows(fact.shape, fact.axes, alone), root)
            return
        self._add(joined, root)
        if len(near) == 1 or joined.is_once(known(root)):
            return
        for rows in near:
            if rows is not joined and rows.shape == joined.shape and rows.axes == joined.axes:
                if joined.is_small(rows) and not self._is_between(joined, rows.roots, rows.first, rows.outside):
                    for other in rows.roots:
                        self._add(joined, other)

    def _draw_in(self, rows: Rows) -> None:
        """Add what only this group reads, the last first."""
        pending, group_of = list(rows.roots), self.groups.group_of
        while pending:
            for term in self.facts[pending.pop()].outside:
                if group_of.get(term) is not term or term in self.rows_of or known(term) != rows.shape:
                    continue
                if not self._is_map(term) or rows.is_read_outside(self.groups.uses[term]):
                    continue
                if rows.is_small(self.facts[term]):
                    self._add(rows, term)
                    pending.append(term)

    def _add(self, rows: Rows, root: Op) -> None:
        rows.add(root, self.number[root], self.facts[root])
        self.rows_of[root] = rows

    def _fits(self, rows: Rows, root: Op, fact: Fact) -> bool:
        """Whether a group can be done together with a group over rows."""
        if not rows.is_small(fact):
            return False
        number, roots, group_of = self.number, rows.roots, self.groups.group_of
        if number[root] > rows.last:  # as most are: it needs them, or what came before them all
            first = rows.first
            for term in fact.outside:
                if group_of.get(term) not in roots and self._is_late(term, first + 1):
                    break
            else:
                if not any(self._is_late(term, number[root]) for term in rows.outside):
                    return True
        return not self._is_between(rows, {root: number[root]}, number[root], fact.outside)

    def _is_late(self, term: Op, number: int) -> bool:
        """Whether a term has this number or a later one, or is done together with one that has."""
        if self.number[term] >= number:
            return True
        rows = self.rows_of.get(term)
        return rows is not None and rows.last >= number

    def _is_between(self, before: Rows, after: Mapping[Op, int], first: int, outside: Sequence[Op]) -> bool:
        """Whether something between these groups is none of them: it needs one of them and another one needs it.

        Args:
            after: The later ones, with their numbers; `first` is the least of these, `outside` what they read.
        """
        group_of, rows_of, stead = self.groups.group_of, self.rows_of, self.groups.stead
        earliest, roots = min(before.first, first), before.roots
        # Else the earlier ones need none of these, unless what they need is done together with something later.
        needed = before.outside if first < before.last else [a for a in before.outside if self._is_late(a, first)]
        late = [a for a in (*outside, *needed) if self._is_late(a, earliest + 1)]
        pending = [a for a in late if (g := group_of.get(a)) not in roots and g not in after]
        met: set[Op | Rows] = {*pending}
        while pending and len(met) <= _FAR:
            term = pending.pop()
            rows = rows_of.get(term)
            if rows in met:
                continue
            if rows is not None:
                met.add(rows)
            for arg in stead.get(term, term).args if rows is None else rows.outside:
                if arg not in met and self._is_late(arg, earliest):
                    group = group_of.get(arg)
                    if group in roots or group in after:
                        return True
                    met.add(arg)
                    pending.append(arg)
        return len(met) > _FAR
