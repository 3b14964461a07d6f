# SPDX-License-Identifier: Apache-2.0
"""Derivatives of what stands in an order: they read variables as the term they belong to reads them.

The adjoint of ``v * x`` by `x` has the factor `v`. Where the product is the last item of a sequence that writes
`v` first, so is the adjoint: it becomes the last item of a sequence with the same writes, which happen once
however often they are listed. A value that is listed before the product was read in a place of its own: its adjoint is
swept on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ngraph_rewrite.lowering.fitting import accumulated
from ngraph_rewrite.lowering.sweep import Adjoint, Found, Pair, Pairs, Sweep, Waiting
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
    if last in sweep.wanted or not last.args:
        return [(last, adjoint)]
    listed = _listed(before)
    if last in listed:
        listed = listed[: listed.index(last)]
    values = [place for place, term in enumerate(listed) if term.args and sweep.needs(term)]
    if _reads_the_same(last, listed, values, sweep):
        return [(last, adjoint)]
    return _placed([*listed, last], [*values, len(listed)], adjoint, sweep, earlier)


def _reads_the_same(last: Op, before: Sequence[Op], values: Sequence[int], sweep: Sweep) -> bool:
    """Whether nothing that a term or one of the values before it reads is written, before it or inside."""
    if sweep.overwritten(before, last):
        return False
    return not any(sweep.overwritten([last], before[place]) for place in values)


def _listed(before: Sequence[Op]) -> list[Op]:
    """What items list, in the order in which it runs: a sequence among them after what it lists itself."""
    found: dict[Op, None] = {}
    left = [*reversed(before)]
    while left:
        item = left.pop()
        inside = item.args if item.definition.name == "core.sequential" and aside(item) is None else ()
        if item in found or all(term in found for term in inside):
            found[item] = None
        else:
            left += [item, *reversed(inside)]
    return [*found]


def _placed(
    listed: Sequence[Op], values: Sequence[int], adjoint: Adjoint, sweep: Sweep, earlier: Sequence[Op]
) -> Waiting[list[Pair]]:
    """What sweeps from the last of some values down find, each as the last item of a sequence with the same writes.

    A sweep ends at the values that are listed before: they were read there, and swept on from there.

    Args:
        listed: All items, in the order in which they run.
        values: The places of those that adjoints pass through, ascending.
        earlier: What is read before the first item.
    """
    found: Found = {listed[values[-1]]: adjoint}
    given: list[Pair] = []
    while values:
        *values, place = values
        value, before = listed[place], listed[:place]
        part = found.pop(value, None)
        if part is None:
            continue
        if value in sweep.wanted or _reads_the_same(value, before, values, sweep):
            given.append((value, part))
            continue
        items = [*earlier]
        below = yield from sweep.apart(value, _read_before(part, items), (*earlier, *(listed[v] for v in values)))
        for term, one in below.items():
            found[term] = accumulated(found.get(term), _after(items, before, one), term.type)
    return [*given, *found.items()]


def _read_before(adjoint: Adjoint, items: list[Op]) -> Adjoint:
    """An incoming adjoint, listed before the writes: its own reads are of the state from before."""
    if isinstance(adjoint, Mapping):
        return {place: _read_before(part, items) for place, part in adjoint.items()}
    if not adjoint.args:  # a variable would be read anew at each place
        adjoint = Op(lookup("core.value_of"), (adjoint,), (), adjoint.type, adjoint.info)
    items.append(adjoint)
    return adjoint


def _after(items: Sequence[Op], before: Sequence[Op], part: Adjoint) -> Adjoint:
    if isinstance(part, Mapping):
        return {place: _after(items, before, one) for place, one in part.items()}
    scope = *(mark for mark in part.info.scope if not isinstance(mark, Aside)), Aside(len(items))
    return Op(lookup("core.sequential"), (*items, *before, part), (), part.type, part.info._replace(scope=scope))
