# SPDX-License-Identifier: Apache-2.0
"""Derivatives of what stands in an order: they read variables as the term they belong to reads them.

The adjoint of ``v * x`` by `x` has the factor `v`. Where the product is the last item of a sequence that writes
`v` first, so is the adjoint: it becomes the last item of a sequence with the same writes, which happen once
however often they are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ngraph_rewrite.lowering.sweep import Adjoint, Pair, Pairs, Sweep, Waiting
from ngraph_rewrite.lowering.write_orders import Aside, aside
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op


def sequential_adjoint(term: Op, adjoint: Adjoint, sweep: Sweep) -> Pairs:
    """The last item gets the adjoint, in the state that the others leave."""
    first, last = aside(term) or 0, term.args[-1]
    return _in_state(last, term.args[first:-1], adjoint, sweep, term.args[:first])


def after_adjoint(term: Op, adjoint: Adjoint, sweep: Sweep) -> Pairs:
    """What waits gets the adjoint, in the state that the effects leave."""
    return _in_state(term.args[0], term.args[1:], adjoint, sweep)


def _in_state(last: Op, before: Sequence[Op], adjoint: Adjoint, sweep: Sweep, earlier: Sequence[Op] = ()) -> Pairs:
    if last in sweep.wanted or not last.args or not sweep.overwritten(before, last):
        return [(last, adjoint)]
    return _placed(last, before, adjoint, sweep, earlier)


def _placed(
    last: Op, before: Sequence[Op], adjoint: Adjoint, sweep: Sweep, earlier: Sequence[Op]
) -> Waiting[list[Pair]]:
    """What a sweep from `last` down finds, each as the last item of a sequence with the same writes."""
    items = [*earlier]
    found = yield from sweep.apart(last, _listed(adjoint, items), earlier)
    return [(below, _after(items, before, part)) for below, part in found.items()]


def _listed(adjoint: Adjoint, items: list[Op]) -> Adjoint:
    """An incoming adjoint, listed before the writes: its own reads are of the state from before."""
    if isinstance(adjoint, Mapping):
        return {place: _listed(part, items) for place, part in adjoint.items()}
    if not adjoint.args:  # a variable would be read anew at each place
        adjoint = Op(lookup("core.value_of"), (adjoint,), (), adjoint.type, adjoint.info)
    items.append(adjoint)
    return adjoint


def _after(items: Sequence[Op], before: Sequence[Op], part: Adjoint) -> Adjoint:
    if isinstance(part, Mapping):
        return {place: _after(items, before, one) for place, one in part.items()}
    scope = *(mark for mark in part.info.scope if not isinstance(mark, Aside)), Aside(len(items))
    return Op(lookup("core.sequential"), (*items, *before, part), (), part.type, part.info._replace(scope=scope))
