# SPDX-License-Identifier: Apache-2.0
"""What of one attempt at a plan stands in the next: the jobs of groups in which nothing they see has changed."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.kinds import VIEW
from ngraph_rewrite.terms.op import Op


def stale_roots(order: Sequence[Op], old: Groups, new: Groups) -> set[Op]:
    """The roots whose jobs have to be made anew: they, what they draw in or what these read is grouped otherwise.

    The layouts that stand are handed on.

    Args:
        order: The terms of the graph, arguments first.
    """
    before, after, kinds = old.group_of, new.group_of, new.kinds
    changed: set[Op] = set()  # terms grouped otherwise, and views of such
    stale: set[Op] = set()
    for term in order:
        group = after.get(term)
        moved = group is not before.get(term) or new.again.get(term) != old.again.get(term)
        touched = moved or not changed.isdisjoint(new.stead.get(term, term).args)
        if moved or (touched and (kinds[term.definition] == VIEW or term in new.again)):
            changed.add(term)
        if touched and group is not None:
            stale.add(group)
        if moved and term in before:
            stale.add(before[term])
    stale.update(root for root in new.rows if new.rows[root] != old.rows.get(root))
    stale.update(root for root in old.rows if root not in new.rows)
    new.layouts.update((term, load) for term, load in old.layouts.items() if term not in changed)
    return stale
