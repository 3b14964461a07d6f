# SPDX-License-Identifier: Apache-2.0
"""Derivatives: one reverse sweep over the graph, whose facts are the rules of ``rules/deriv.rules``.

`deriv` builds terms and computes nothing. A rule gives one adjoint per variable of its left side; the
sweep reduces each to the axes and dtype of what it belongs to and adds up those that meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, overload

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError, DerivativeError, NGraphRewriteError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op, as_constant, build, combine, describe, located, topological, user_line
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import is_float


@overload
def deriv(dependent: Op, independent: Op, error: Any = None) -> Op: ...
@overload
def deriv(dependent: Op, independent: Sequence[Op], error: Any = None) -> list[Op]: ...
def deriv(dependent: Op, independent: Op | Sequence[Op], error: Any = None) -> Op | list[Op]:
    """The derivative of `dependent` with respect to `independent`, as terms.

    Args:
        dependent: A float term: a scalar, or of any axes if `error` is given.
        independent: A float term `dependent` is built from, or a list of them (one sweep serves all).
        error: The adjoint of `dependent`, with its axes in any order; 1 for a scalar.

    Returns:
        A term with the axes and dtype of `independent`; zero where nothing connects the two.

    Raises:
        DerivativeError: for a dependent that is not a scalar without `error`, an `error` of other axes,
            a dtype that has no derivative, or an op without an adjoint on the way.
        ArgumentError: for anything that is not a term.

    >>> from ngraph_rewrite.frontend.axes import tanh, variable
    >>> w = variable([], name="w")
    >>> deriv(tanh(w), w)
    axes.multiply(1.0, axes.subtract(1.0, axes.multiply(..., ...)))
    """
    place = user_line()
    wanted = [independent] if isinstance(independent, Op) else _terms(independent, place)
    for term in (*_terms([dependent], place), *wanted):
        if not is_float(term.dtype):
            raise DerivativeError(f"{describe(term, 1)} is {term.dtype}, which has no derivative", where=place)
    adjoints = _sweep(dependent, wanted, _first_adjoint(dependent, error, place), place)
    found = [adjoints[w] if w in adjoints else _zero(w) for w in wanted]
    return found[0] if isinstance(independent, Op) else found


def _terms(terms: Any, place: str) -> list[Op]:
    found = list(terms) if isinstance(terms, Iterable) else [terms]
    for term in found:
        if not isinstance(term, Op):
            what = f"{term!r} is not a term: a derivative is of a term and with respect to terms"
            raise ArgumentError(what, where=place)
    return found


def _first_adjoint(dependent: Op, error: Any, place: str) -> Op:
    if error is None and dependent.rank:
        raise DerivativeError(
            f"the derivative of {describe(dependent, 1)} with axes {dependent.axes!r} needs an error",
            where=place,
            do="reduce it to a scalar first, or give error= with its axes",
        )
    if error is None:
        return as_constant(1.0, [dependent])
    term = error if isinstance(error, Op) else as_constant(error, [dependent])
    if not term.axes.is_equal_set(dependent.axes) and term.rank:
        raise DerivativeError(f"the error has axes {term.axes!r}, the dependent {dependent.axes!r}", where=place)
    return _fit(term, dependent)


@cache
def _matcher() -> Matcher:
    return Matcher(library().of_kind("derive"), Cache())


@cache
def _plain_matcher() -> Matcher:
    """The rules that see one op only: for a term whose argument's own derivative is asked for."""
    rules = library().of_kind("derive")
    return Matcher(RuleSet(r for r in rules if not any(isinstance(a, App) for a in r.left.args)), Cache())


def _sweep(dependent: Op, wanted: Iterable[Op], first: Op, place: str) -> dict[Op, Op]:
    order = topological([dependent])
    wanted = set(wanted)
    needed = _depending(order, wanted)
    adjoints: dict[Op, Op] = {dependent: first}
    for term in reversed(order):
        if term in adjoints and term in needed and any(a in needed for a in term.args):
            for variable, adjoint in _adjoints(term, adjoints[term], needed, wanted, place):
                fitted = _fit(adjoint, variable)
                before = adjoints.get(variable)
                adjoints[variable] = fitted if before is None else combine("add", before, fitted)
    return adjoints


def _depending(order: Iterable[Op], wanted: set[Op]) -> set[Op]:
    """The terms through which `wanted` is reached, themselves included."""
    needed: set[Op] = set()
    for term in order:
        if term in wanted or any(a in needed for a in term.args):
            needed.add(term)
    return needed


def _adjoints(term: Op, d: Op, needed: set[Op], wanted: set[Op], place: str) -> list[tuple[Op, Op]]:
    """Pairs of a term below `term` and what it gets from the adjoint `d`, for those that are needed."""
    found = _rule(_matcher(), term, d)
    if found is not None and not wanted.isdisjoint(_passed(term, found[1])):
        found = _rule(_plain_matcher(), term, d)
    if found is None:
        raise DerivativeError(
            f"{term.definition} has no adjoint, and a derivative has to pass through it",
            where=term.info.place if term.info.lineno else place,
            do="add a rule to a derive file, or cut the path with ng.stop_gradient",
        )
    return _needed(found[1], needed)


def _rule(matcher: Matcher, term: Op, d: Op) -> Any:
    """What the first rule of `matcher` for `term` gives, or None."""
    step = matcher.steps.get(term.definition)
    try:
        return step(term, _make(term), d) if step is not None else None
    except NGraphRewriteError as error:
        raise located(error, term.definition, term.args, term.info.place) from error


def _passed(term: Op, found: Iterable[tuple[Any, Any]]) -> set[Op]:
    """The terms between `term` and what its rule gives adjoints to: the rule sees through them."""
    reached = {v for value, _ in found for v in (value if isinstance(value, tuple) else (value,))}
    between: set[Op] = set()
    pending = [a for a in term.args if a not in reached]
    while pending:
        inner = pending.pop()
        between.add(inner)
        pending.extend(a for a in inner.args if a not in reached)
    return between


def _needed(found: Iterable[tuple[Any, Any]], needed: set[Op]) -> list[tuple[Op, Op]]:
    pairs: list[tuple[Op, Op]] = []
    for value, adjoint in found:
        if adjoint is not None:
            both = zip(value, adjoint, strict=True) if isinstance(value, tuple) else [(value, adjoint)]
            pairs.extend((v, a) for v, a in both if v in needed and is_float(v.dtype))
    return pairs


def _make(origin: Op) -> Any:
    """Builds the adjoint's terms as handles that stand at the line of the op they belong to."""

    def make(definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
        stored, type_ = definition.infer(tuple(a.type for a in args), attrs)
        return Op(definition, args, stored, type_, origin.info._replace(name=None, initial=None))

    return make


def _fit(adjoint: Op, to: Op) -> Op:
    """An adjoint summed over the axes that broadcasting added, in the order and dtype of `to`."""
    if adjoint.type == to.type:
        return adjoint
    extra = Axes(a for a in adjoint.axes if a not in to.axes)
    if extra:
        adjoint = build(lookup("axes.sum"), (adjoint,), axes=extra)
    if adjoint.dtype != to.dtype:
        adjoint = build(lookup("axes.cast"), (adjoint,), dtype=to.dtype)
    if not adjoint.axes.is_super_set(to.axes):
        adjoint = build(lookup("axes.broadcast"), (adjoint,), axes=to.axes)
    if adjoint.axes != to.axes:
        adjoint = build(lookup("axes.axes_with_order"), (adjoint,), axes=to.axes)
    return adjoint


def _zero(term: Op) -> Op:
    return build(lookup("core.constant"), (), value=Literal(0, term.dtype), axes=term.axes)
