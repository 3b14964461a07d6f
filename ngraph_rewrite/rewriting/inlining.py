# SPDX-License-Identifier: Apache-2.0
"""A call becomes the results of its function, with arguments in the place of parameters.

What does not depend on a parameter is not made anew: all calls share it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from ngraph_rewrite.rewriting.matcher import Make
from ngraph_rewrite.rewriting.registry import term_function
from ngraph_rewrite.terms.binders import body_terms, free_parameters, is_binder, is_parameter
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import anonymous


@term_function(consumes="core.call")
def inlined(make: Make, call: Op) -> Op:
    """The results of a call, as one term: a tuple unless the function has a single result."""
    parameters = call.attribute("parameters")
    given = dict(zip(parameters, call.args, strict=False))
    results = call.args[len(parameters) :]
    inside = _inside(results, given)
    new = {t: _like(make, given[t.attribute("uid")], t) for t in inside if is_parameter(t)}
    found = substituted(results, new, lambda term, args: make(term.definition, args, term.attrs), inside)
    return found[0] if call.attribute("single") else make(lookup("core.make_tuple"), tuple(found), ())


def _inside(results: Iterable[Op], own: Container[Uid]) -> list[Op]:
    """The terms that depend on a parameter in `own`: without binders, which may bind it again, one pass finds them."""
    order = topological(results)
    if any(map(is_binder, order)):
        return body_terms(results, own, free_parameters(order))
    found: dict[Op, None] = {}
    for term in order:
        if not found.keys().isdisjoint(term.args) or (is_parameter(term) and term.attribute("uid") in own):
            found[term] = None
    return [*found]


def _like(make: Make, argument: Op, parameter: Op) -> Op:
    """The argument with the axes of the parameter, which may have lost their names on the way."""
    if argument.type == parameter.type:
        return argument
    plain = anonymous(argument.shape)
    stripped = argument if argument.axes == plain else make(lookup("core.strip"), (argument,), ())
    return stripped if parameter.axes == plain else make(lookup("core.label"), (stripped,), (parameter.axes,))
