# SPDX-License-Identifier: Apache-2.0
"""Sweeps: each term of a graph is tried once, from the roots down or from the leaves up.

A term may become another one of the graph, which becomes something else in the same sweep. So that a history never
runs from one into the other, what a term passes through on its way is copied where the graph has it already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ngraph_rewrite.lowering.stage import ARGUMENTS, Forward
from ngraph_rewrite.lowering.stepping import Stepper
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological


def bottom_up_once(roots: Sequence[Op], stepper: Stepper) -> list[Op]:
    """The roots after a sweep from the leaves up."""
    return _from_below(roots, stepper, lambda term, rebuilt: stepper.step(rebuilt))


def one_step(roots: Sequence[Op], stepper: Stepper) -> list[Op]:
    """The roots after one step: at the first redex from the top, each argument after the one to its left."""
    seen: set[Op] = set()
    stack = list(roots[::-1])
    while stack:
        term = stack.pop()
        if term not in seen:
            seen.add(term)
            step = stepper.step(term)
            if step is not None:
                return _from_below(roots, stepper, _only(term, step))
            stack.extend(term.args[::-1])
    return list(roots)


def _only(term: Op, step: Forward) -> Callable[[Op, Op], Forward | None]:
    """At one term this step, at all others none."""
    return lambda one, rebuilt: step if one is term else None


def _from_below(roots: Sequence[Op], stepper: Stepper, step: Callable[[Op, Op], Forward | None]) -> list[Op]:
    """Each term once, its arguments first: `step` says where it goes, given it and what it is by then."""
    order = topological(roots)
    given, normal, counted = set(order), stepper.stage.normal, set[Op]()
    for term in order:
        rebuilt = stepper.rebuilt(term, tuple([normal[a] for a in term.args]))
        taken = step(term, rebuilt)
        if taken is not None and rebuilt not in counted:
            counted.add(rebuilt)
            stepper.count(taken)
        path = [] if rebuilt is term else [Forward(rebuilt, ARGUMENTS)]
        normal[term] = _recorded(term, path + ([] if taken is None else [taken]), given, stepper)
    return [normal[root] for root in roots]


def _recorded(term: Op, path: list[Forward], given: set[Op], stepper: Stepper) -> Op:
    """Write the way of a term into the stage, and return where it ends."""
    forward, at = stepper.stage.forward, term
    for i, (to, why) in enumerate(path):
        passed = to
        if i + 1 < len(path) and (to in given or forward.get(to, path[i + 1]) != path[i + 1]):
            passed = Op(to.definition, to.args, to.attrs, to.type, to.info)
        forward[at] = Forward(passed, why)
        stepper.carry(at, to)
        at = passed
    return at


def top_down_once(roots: Sequence[Op], stepper: Stepper) -> list[Op]:
    """The roots after a sweep from the top down.

    A term that is met again inside what it was rewritten to is not tried there; what is below it is.
    """
    given, normal, found = set(topological(roots)), stepper.stage.normal, dict[Op, Forward]()
    begun, again = set[Op](), dict[Op, Op]()
    stack = [(root, False) for root in roots[::-1]]
    while stack:
        term, ready = stack.pop()
        if ready:
            _finish(term, found.get(term), given, again, stepper)
        elif term not in begun:
            begun.add(term)
            step = stepper.step(term) if term in given else None
            if step is not None:
                found[term] = step
                stepper.count(step)
            image = term if step is None else step.to
            stack.append((term, True))
            for arg in image.args[::-1]:
                inner = arg
                if arg in begun and arg not in normal:  # it stands inside itself
                    inner = again.setdefault(arg, Op(arg.definition, arg.args, arg.attrs, arg.type, arg.info))
                stack.append((inner, False))
    return [normal[root] for root in roots]


def _finish(term: Op, step: Forward | None, given: set[Op], again: dict[Op, Op], stepper: Stepper) -> None:
    """The arguments of what a term became are done: it is built of them."""
    normal, image = stepper.stage.normal, term if step is None else step.to
    args = tuple([normal[a] if a in normal else normal[again[a]] for a in image.args])
    last = stepper.bank.make(image.definition, args, image.attrs, image.info)
    path = [] if step is None else [step]
    if last is not image:
        path.append(Forward(last, ARGUMENTS))
    normal[term] = _recorded(term, path, given, stepper)
