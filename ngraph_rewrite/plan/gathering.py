# SPDX-License-Identifier: Apache-2.0
"""Groups that go over the same rows become one: reductions, what is computed from their results, reductions of that.

A reduction reads a tensor row by row; what reads its result for each element of the same row, or once a row, can run
while the row is in cache, and so can other reductions of the same tensor.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ngraph_rewrite.plan.fusion import REDUCTIONS, Groups, RowGroup
from ngraph_rewrite.plan.growing import Growth
from ngraph_rewrite.plan.nests import CopyFirst
from ngraph_rewrite.plan.row_facts import Rows
from ngraph_rewrite.plan.row_forms import RowPrograms
from ngraph_rewrite.plan.rows import OutOfStep
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.terms.op import Op


def gather_rows(groups: Groups, forced: Set[Op]) -> None:
    """Make one group of those that go over the same rows; every reduction is in one.

    Args:
        forced: Terms that have to be in memory by themselves.
    """
    if any(root.definition.name in REDUCTIONS for root in groups.roots):
        _settle(Growth(groups, forced).found(), groups)
        for root in groups.roots:
            if root.definition.name in REDUCTIONS and root not in groups.rows:
                groups.rows[root] = RowGroup(known(groups.reduced(root)), groups.axes(root), (root,))


def _settle(found: Sequence[Rows], groups: Groups) -> None:
    """Make groups over rows those of all their terms; but none that needs of one row what another one found."""
    if not found:
        return
    group_of, gone, programs = groups.group_of, set[Op](), RowPrograms(groups)
    inside: dict[Op, list[Op]] = {root: [] for rows in found for root in rows.roots}
    for term, group in group_of.items():
        if group in inside:
            inside[group].append(term)
    for rows in found:
        roots = sorted(rows.roots, key=rows.roots.__getitem__)
        last = roots[-1]
        outputs = tuple([root for root in roots if rows.is_read_outside(groups.uses[root])])
        group_of.update(dict.fromkeys([t for root in roots for t in inside[root]], last))
        totals = tuple([root for root in outputs if root in rows.totals])
        groups.rows[last] = RowGroup(rows.shape, rows.axes, outputs, totals)
        try:
            groups.programs[last] = programs.program(groups.rows[last], last)
        except CopyFirst:
            pass  # whoever makes the job will ask for the copies
        except OutOfStep:
            group_of.update((t, root) for root in roots for t in inside[root])
            del groups.rows[last]
            continue
        gone.update(roots[:-1])
    groups.roots = [root for root in groups.roots if root not in gone]
