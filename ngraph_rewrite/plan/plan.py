# SPDX-License-Identifier: Apache-2.0
"""The plan of a computation: kernels with their arguments, in order, and the memory they use.

It is cost and sharing, not equations, so it is code. It works on a graph whose lengths are known; addresses
are symbolic until a call fills them in.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from typing import NamedTuple

from ngraph_rewrite.plan.attempt import Attempt, parts_of
from ngraph_rewrite.plan.bands import banded
from ngraph_rewrite.plan.closing import close
from ngraph_rewrite.plan.corners import with_corners
from ngraph_rewrite.plan.cpu import CPU
from ngraph_rewrite.plan.foresight import foreseen
from ngraph_rewrite.plan.kinds import kinds_of
from ngraph_rewrite.plan.launches import Work, weight
from ngraph_rewrite.plan.loop_body import LOOP, LoopBody
from ngraph_rewrite.plan.loops import Band
from ngraph_rewrite.plan.narrowing import narrowed
from ngraph_rewrite.plan.nesting import nested
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.placing import placed
from ngraph_rewrite.plan.planned import CopyAll, Cycle, Plan
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.shares import SHARED_TIME
from ngraph_rewrite.plan.strip_loops import stripped
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.waiting import Waiting, finished

Origins = MutableMapping[Op, Op]
# Nanoseconds of a loop whose bands are worth threads of their own.
BANDS_TIME = 4 * SHARED_TIME


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
    count = len(results)
    every = topological([*results, *writes]) if order is None else order
    roots, order, was = with_corners([*results, *writes], every)
    parts = set[Op]()
    if renderer.strips is not None:
        roots, order, cut = stripped(roots, order, renderer.strips())
        parts.update(cut)
        was = was | {new: was.get(old, old) for new, old in cut.items()}
    results, writes = roots[:count], roots[count:]
    closed = close(results, writes, order)
    was = was | {new: was.get(old, old) for new, old in closed.origins.items()}
    parts.update([new for new, old in closed.origins.items() if old in parts])
    plan = finished(_planned(closed.results, closed.writes, closed.order, renderer, threads, was, whole=True))
    if plan.inside:
        plan.work = placed(plan.work)
        plan.tell_of_bodies()
    if was:
        plan.inlined = {was.get(t, t): was.get(g, g) for t, g in plan.inlined.items()}
        plan.again = {was.get(t, t): [was.get(g, g) for g in groups] for t, groups in plan.again.items()}
        plan.costs = {was.get(t, t): costs for t, costs in plan.costs.items()}
    plan.origins, plan.parts = was, parts
    return plan


def _planned(
    results: Sequence[Op],
    writes: Sequence[Op],
    order: Sequence[Op],
    renderer: Renderer,
    threads: int | None,
    origins: Origins,
    whole: bool,
) -> Waiting[Plan]:
    """The plan of a graph without scans, after those of the bodies of its loops.

    Args:
        order: Its terms, arguments first.
        origins: What terms were before; those of bands are added.
        whole: Whether this is all of a call, not a step of a loop.
    """
    kinds = kinds_of(order)
    loops = [t for t in order if t.definition.name == LOOP] if any(d.name == LOOP for d in kinds) else []
    parts = parts_of(loops, order)
    steps = dict[Op, _Steps]()
    for term in loops:
        steps[term] = yield _steps(term, parts[term], renderer, threads, origins)
    bodies, inside = {term: one.bands for term, one in steps.items()}, [p for one in steps.values() for p in one.plans]
    order, stead = nested(order, kinds)
    forced, layouts = foreseen(order, renderer, kinds)
    forced |= narrowed(results, order, kinds)
    direct, attempt = True, None
    while True:
        how = (forced, kinds, direct, whole, bodies, inside, stead, attempt)
        attempt = Attempt(results, writes, order, renderer, *how)
        attempt.groups.layouts.update(layouts)
        layouts = {}  # from here on attempts hand on theirs
        try:
            return attempt.plan(threads)
        except CopyAll as need:
            more = need.terms
            if more <= forced:
                raise
        except Cycle as circle:
            if direct and writes:  # updates that wait for each other: compute first, then write
                direct, more = False, set()
            else:  # at worst, copy what they read; what else waits for each other is done one by one
                more = {*attempt.effects.ends} - forced or circle.terms - forced
                if not more:
                    raise
        forced = forced | more


class _Steps(NamedTuple):
    """What a loop does in a step, by rows, and the plans of that."""

    bands: Sequence[Band]
    plans: Sequence[Plan]


def _steps(
    loop: Op, parts: Mapping[int, Op], renderer: Renderer, threads: int | None, origins: Origins
) -> Waiting[_Steps]:
    """The plan of a loop's body, or those of its bands, if it has several and they are worth threads of their own."""
    body: LoopBody = loop.attrs[0]
    found = banded(body, body.read(parts)) if renderer.bands else None
    if found is not None:
        own, plans = {new: origins.get(was, was) for new, was in found.origins.items()}, dict[int, Plan]()
        for _, band in found.bands:
            if id(band) not in plans:
                plans[id(band)] = yield _body_plan(band, parts, renderer, 1, ChainMap(own, origins))
        bands = [Band(first, b, plans[id(b)].work, plans[id(b)].arena) for first, b in found.bands]
        if body.length * sum(weight(band.work) for band in bands) >= BANDS_TIME:
            origins.update(own)
            return _Steps(bands, [*plans.values()])
    plan = yield _body_plan(body, parts, renderer, threads, origins)
    return _Steps([Band(0, body, plan.work, plan.arena)], [plan])


def _body_plan(
    body: LoopBody, parts: Mapping[int, Op], renderer: Renderer, threads: int | None, origins: Origins
) -> Waiting[Plan]:
    results = [r for _, r in body.read(parts)]
    order = topological([*results, *body.writes])
    return _planned(results, body.writes, order, renderer, threads, origins, whole=False)


__all__ = ["Plan", "Ref", "Work", "make_plan"]
