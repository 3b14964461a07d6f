# SPDX-License-Identifier: Apache-2.0
"""The plan of a computation: kernels with their arguments, in order, and the memory they use.

It is cost and sharing, not equations, so it is code. It works on a graph whose lengths are known; addresses
are symbolic until a call fills them in.
"""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.plan.attempt import Attempt, CopyAll, Cycle, Plan, parts_of
from ngraph_rewrite.plan.closing import LOOP, LoopBody, close
from ngraph_rewrite.plan.cpu import CPU
from ngraph_rewrite.plan.foresight import foreseen
from ngraph_rewrite.plan.kinds import kinds_of
from ngraph_rewrite.plan.launches import Work
from ngraph_rewrite.plan.narrowing import narrowed
from ngraph_rewrite.plan.nesting import nested
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.terms.op import Op, topological


def make_plan(
    results: Sequence[Op],
    writes: Sequence[Op],
    order: Sequence[Op] | None = None,
    renderer: Renderer = CPU,
    threads: int | None = None,
) -> Plan:
    """The plan that computes `results` and performs `writes`, in that order of effects.

    Args:
        order: All terms, in the order in which `topological` gives them, for those who have it.
        renderer: How the target writes kernels.
        threads: How many run chunks at once, each in workspace of its own; by default each chunk has some.
    """
    closed = close(results, writes, order)
    plan = _planned(closed.results, closed.writes, closed.order, renderer, threads, echoes=True)
    was = closed.origins
    if was:
        plan.inlined = {was.get(t, t): was.get(g, g) for t, g in plan.inlined.items()}
        plan.again = {was.get(t, t): [was.get(g, g) for g in groups] for t, groups in plan.again.items()}
        plan.costs = {was.get(t, t): costs for t, costs in plan.costs.items()}
    plan.origins = was
    return plan


def _planned(
    results: Sequence[Op],
    writes: Sequence[Op],
    order: Sequence[Op],
    renderer: Renderer,
    threads: int | None,
    echoes: bool,
) -> Plan:
    """The plan of a graph without scans, after those of the bodies of its loops.

    Args:
        order: Its terms, arguments first.
        echoes: Whether a result that is a view of an input may be left to the caller.
    """
    bodies: dict[Op, Plan] = {}
    kinds = kinds_of(order)
    for term in order if any(definition.name == LOOP for definition in kinds) else ():
        if term.definition.name == LOOP:
            body: LoopBody = term.attrs[0]
            inside = [r for _, r in body.read(parts_of(term, order))]
            within = topological([*inside, *body.writes])
            bodies[term] = _planned(inside, body.writes, within, renderer, threads, echoes=False)
    order, stead = nested(order, kinds)
    forced, layouts = foreseen(order, renderer, kinds)
    forced |= narrowed(results, order, kinds)
    direct, attempt = True, None
    while True:
        attempt = Attempt(results, writes, order, renderer, forced, kinds, direct, echoes, bodies, stead, attempt)
        attempt.groups.layouts.update(layouts)
        layouts = {}  # from here on attempts hand on theirs
        try:
            return attempt.plan(threads)
        except CopyAll as need:
            more = need.terms
            if more <= forced:
                raise
        except Cycle:  # updates that wait for each other: compute first, then write; at worst, copy what they read
            more = set() if direct else set(attempt.effects.ends)
            if not direct and more <= forced:
                raise
            direct = False
        forced = forced | more


__all__ = ["Plan", "Ref", "Work", "make_plan"]
