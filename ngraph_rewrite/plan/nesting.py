# SPDX-License-Identifier: Apache-2.0
"""Reductions over more than rows are done by rows first, where what they reduce comes of reductions of these rows.

The sum of all losses of a batch is that of the losses of its samples: each is known while its row is in cache. The
first step is a term of the planner alone, and so is what stands for the second one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ngraph_rewrite.plan.fusion import REDUCTIONS
from ngraph_rewrite.plan.kinds import MAP, VIEW, Kinds, terms_of
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import wide

_TOTALS = frozenset({"semi.sum", "semi.prod"})
_NESTING = _TOTALS | {"semi.max", "semi.min", "semi.any", "semi.all"}
# Terms that are looked at below a reduction.
_MOST = 64


def nested(order: Sequence[Op], kinds: Kinds) -> tuple[Sequence[Op], Mapping[Op, Op]]:
    """The terms of a graph with the first steps among them, and what the reductions are that have one.

    Args:
        order: The terms of a graph, arguments first.
        kinds: Those of their ops.
    """
    stead = dict[Op, Op]()
    rows: dict[tuple[int, ...], set[frozenset[int]]] = {}  # the axes over which tensors of a shape are reduced
    for term in terms_of(order, REDUCTIONS, kinds):
        own, mine = rows.setdefault(known(term.args[0]), set()), frozenset(term.attribute("axes"))
        if _is_nesting(term) and any(axes < mine for axes in own):
            found = _axes_of_rows(term, kinds)
            if found is not None:
                stead[term] = _in_steps(term, found)
        own.add(mine)
    if not stead:
        return order, stead
    return [one for term in order for one in ((stead[term].args[0], term) if term in stead else (term,))], stead


def _is_nesting(term: Op) -> bool:
    """Whether it loses nothing by two steps: between them a sum or a product of 16 bits would be rounded."""
    name = term.definition.name
    return name in _NESTING and (name not in _TOTALS or wide(term.dtype) == term.dtype)


def _in_steps(term: Op, axes: tuple[int, ...]) -> Op:
    """The reduction after one over some of its axes."""
    first = make_op(term.definition.name, term.args[0], axes=axes)
    left = [k for k in range(len(known(term.args[0]))) if k not in axes]
    rest = tuple(left.index(k) for k in term.attribute("axes") if k not in axes)
    return Op(lookup(term.definition.name), (first,), (rest,), term.type, term.info)


def _axes_of_rows(term: Op, kinds: Kinds) -> tuple[int, ...] | None:
    """The axes over which something else is reduced of which, element by element, this is a reduction."""
    (arg,), shape = term.args, known(term.args[0])
    pending, seen = [arg], {arg}
    while pending and len(seen) < _MOST:
        below = pending.pop()
        if kinds[below.definition] in (MAP, VIEW):
            for arg in below.args:
                if arg not in seen:
                    seen.add(arg)
                    pending.append(arg)
        elif below.definition.name in REDUCTIONS:
            axes: tuple[int, ...] = below.attribute("axes")
            if known(below.args[0]) == shape and set(axes) < set(term.attribute("axes")):
                return axes
    return None
