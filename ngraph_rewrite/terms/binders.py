# SPDX-License-Identifier: Apache-2.0
"""Binders and their parameters: which terms have a value only inside a step of a scan, or a call of a function.

A term of trait ``parameter`` has a value where a term of trait ``binder`` that lists its identity in the
attribute ``parameters`` supplies one. What depends on a parameter is *open*: it is evaluated by the binder,
once for each step or call, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.waiting import Waiting, finished

NONE: frozenset[Uid] = frozenset()
Free = Mapping[Op, frozenset[Uid]]
# What the meaning of a binder is: it yields values of parameters, is sent those of the arguments for them, and returns
# its own.
Bound = Generator[Mapping[Uid, Any], list[Any], Any]
# The value of a term, from those of its arguments (None for an open one); of a binder it may be a `Bound`.
Valuation = Callable[[Op, list[Any]], Any]


def is_parameter(term: Op) -> bool:
    """Whether a binder supplies its value."""
    return "parameter" in term.definition.traits


def is_binder(term: Op) -> bool:
    """Whether it supplies values to parameters."""
    return "binder" in term.definition.traits


def free_parameters(order: Iterable[Op]) -> dict[Op, frozenset[Uid]]:
    """The parameters that each term depends on and does not bind; terms without any are left out.

    Args:
        order: Terms, arguments first.
    """
    return _with_parameters_of(order, {})


class FreeParameters:
    """The free parameters of terms that are asked about one after another: each is gone through once."""

    def __init__(self) -> None:
        self._free: dict[Op, frozenset[Uid]] = {}
        self._known: set[Op] = set()

    def under(self, roots: Iterable[Op]) -> Free:
        """Those of all terms under some roots, among others; terms without any are left out."""
        new = [term for term in topological(roots, self._known) if term not in self._known]
        self._known.update(new)
        return _with_parameters_of(new, self._free)


def _with_parameters_of(order: Iterable[Op], free: dict[Op, frozenset[Uid]]) -> dict[Op, frozenset[Uid]]:
    """What is known of terms below, and the free parameters of some more, arguments first."""
    for term in order:
        own = frozenset((term.attribute("uid"),)) if is_parameter(term) else NONE
        if free:
            for arg in term.args:
                if arg in free and not free[arg] <= own:
                    own = own | free[arg]
            if own and is_binder(term):
                own = own.difference(term.attribute("parameters"))
        if own:
            free[term] = own
    return free


def open_parameter(roots: Iterable[Op], order: Sequence[Op] | None = None) -> Op | None:
    """A parameter that is used under `roots` and not bound there, or None.

    Args:
        order: All terms under the roots, arguments first, for those who have them.

    >>> from ngraph_rewrite.frontend.axes import tanh, variable
    >>> open_parameter([tanh(variable([]))])
    """
    roots = list(roots)
    order = topological(roots) if order is None else order
    if not any("parameter" in definition.traits for definition in set(map(attrgetter("definition"), order))):
        return None
    free = free_parameters(order)
    unbound = {uid for root in roots for uid in free.get(root, NONE)}
    return next((t for t in order if is_parameter(t) and t.attribute("uid") in unbound), None)


def body_terms(roots: Iterable[Op], own: Container[Uid], free: Free) -> list[Op]:
    """The terms under `roots` that depend on parameters in `own`, arguments first.

    What does not depend on them is not looked into: the same parameters may be bound again in there.
    """
    found: list[Op] = []
    seen: set[Op] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        term, ready = stack.pop()
        if ready:
            found.append(term)
        elif term not in seen and any(uid in own for uid in free.get(term, NONE)):
            seen.add(term)
            stack.append((term, True))
            stack.extend([(arg, False) for arg in term.args[::-1] if arg not in seen])
    return found


def evaluated(
    roots: Iterable[Op], value: Valuation, given: Mapping[Uid, Any], ends: Container[Op] | None = None
) -> dict[Op, Any]:
    """The value of every term under `roots` that is not open.

    Args:
        value: Evaluates one term.
        given: The values of parameters that nothing under `roots` binds.
        ends: What is evaluated without what stands below it.
    """
    order = topological(roots, ends)
    found: dict[Op, Any] = {}
    finished(_Evaluation(value, free_parameters(order)).run(order, found, given))
    return found


def evaluations(roots: Iterable[Op], value: Valuation) -> Iterator[tuple[Op, Any]]:
    """Every term under `roots` that is not open, and its value: each is evaluated when it is asked for."""
    order = topological(roots)
    found: dict[Op, Any] = {}
    evaluation = _Evaluation(value, free_parameters(order))
    for term in order:
        finished(evaluation.run((term,), found, {}))
        if term in found:
            yield term, found[term]


class _Evaluation:
    def __init__(self, value: Valuation, free: Mapping[Op, frozenset[Uid]]) -> None:
        self.value, self.free = value, free
        self.bodies: dict[Op, list[Op]] = {}

    def run(self, terms: Iterable[Op], found: dict[Op, Any], bound: Mapping[Uid, Any]) -> Waiting[None]:
        """Evaluate the terms whose free parameters are all bound."""
        for term in terms:
            if is_parameter(term):
                if term.attribute("uid") in bound:
                    found[term] = bound[term.attribute("uid")]
            elif term not in self.free or all(uid in bound for uid in self.free[term]):
                value = self.value(term, [found.get(a) for a in term.args])
                found[term] = (yield self.steps(term, value, found, bound)) if isinstance(value, Generator) else value

    def steps(self, binder: Op, meaning: Bound, found: dict[Op, Any], bound: Mapping[Uid, Any]) -> Waiting[Any]:
        """What a binder comes to; the values of its body are there during a step only."""
        if binder not in self.bodies:
            self.bodies[binder] = body_terms(binder.args, binder.attribute("parameters"), self.free)
        inner, values = self.bodies[binder], None
        outside = {term: found[term] for term in inner if term in found}  # the same parameters are bound around it
        while True:
            try:
                parameters = meaning.send(values)  # type: ignore[arg-type]  # None begins
            except StopIteration as end:
                found.update(outside)
                return end.value
            yield self.run(inner, found, {**bound, **parameters})
            values = [found.get(a) for a in binder.args]
            for term in inner:
                found.pop(term, None)


def afterwards(value: Any, then: Callable[[Any], Any]) -> Any:
    """What is made of a value; of a binder once it is known."""
    return _made(value, then) if isinstance(value, Generator) else then(value)


def _made(meaning: Bound, then: Callable[[Any], Any]) -> Bound:
    return then((yield from meaning))
