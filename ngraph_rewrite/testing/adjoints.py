# SPDX-License-Identifier: Apache-2.0
"""Adjoint rules compared with central finite differences, in float64 on values away from kinks."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume

from ngraph_rewrite.rewriting.instances import signature
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.evaluate import Array, Values, evaluate
from ngraph_rewrite.testing.strategies import Example, lengths
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64

# The error of a central difference is about STEP ** 2 + eps / STEP for functions of moderate curvature.
STEP = 1e-5
TOLERANCE = 1e-6


def wrong_adjoint(rule: Rule, matcher: Matcher, example: Example, given: Values) -> str | None:
    """None if every adjoint the rule builds agrees with finite differences, else what is wrong."""
    term = example.instance.term
    assume(all(t.dtype in (FLOAT64, BOOL) for t in topological([term])))
    adjoint = example.bank.leaf("d", term.type)
    weights = np.linspace(0.6, 1.4, int(term.size)).reshape(lengths(term))  # type: ignore[arg-type]
    values: dict[Any, Array] = {**given, adjoint: weights}
    step = matcher.steps[term.definition](term, example.bank.make, adjoint)
    assume(step is not None)
    assert step is not None
    pairs: Any = step[1]  # of a derive rule: each variable's value, and its adjoint
    for value, found in pairs:
        arguments = value if isinstance(value, tuple) else (value,)
        adjoints = found if isinstance(found, list) else [found] * len(arguments)
        for argument, one in zip(arguments, adjoints, strict=True):
            wrong = _compare(rule, term, argument, one, values, adjoint)
            if wrong is not None:
                return wrong
    return None


def _compare(rule: Rule, term: Op, argument: Op, found: Op | None, values: Values, adjoint: Op) -> str | None:
    if argument.dtype.kind != "f" or argument not in values:
        return None
    wanted = differences(term, argument, values, values[adjoint], STEP)
    nearer = differences(term, argument, values, values[adjoint], STEP / 8)
    assume(np.allclose(wanted, nearer, rtol=1e-4, atol=1e-4))  # else there is a kink, or hardly a slope
    if term.definition.name == "core.stop_gradient":
        wanted = np.zeros_like(wanted)
    got = np.zeros_like(wanted) if found is None else fitted(evaluate(found, values)[found], found.axes, argument)
    scale = 1 + float(np.abs(wanted).max(initial=0))
    if np.allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE * scale):
        return None
    lines = [f"gives {argument!r} a wrong adjoint", f"  {rule.text}", f"  {signature(term)}"]
    lines += [f"  {t!r} = {v!r}" for t, v in values.items() if isinstance(t, Op)]
    return "\n".join([*lines, f"  adjoint      {got!r}", f"  differences  {wanted!r}"])


def differences(term: Op, argument: Op, values: Values, weights: Array, step: float) -> Array:
    """The derivative of ``sum(weights * term)`` by central differences, for each element of a leaf."""
    at = values[argument]
    result = np.zeros(at.shape)
    for place in np.ndindex(*at.shape):
        sides = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * step
            value = evaluate(term, {**values, argument: moved})[term]
            with np.errstate(all="ignore"):
                sides.append(float(np.sum(weights * value)))
        result[place] = (sides[0] - sides[1]) / (2 * step) if np.isfinite(sides).all() else np.nan
    return result


def fitted(adjoint: Array, have: Axes, argument: Op) -> Array:
    """An adjoint brought to the axes of its argument: summed over what it has more, repeated along what it lacks."""
    if not have.named or not argument.axes.named:
        return np.broadcast_to(adjoint, lengths(argument))
    extra = tuple(i for i, a in enumerate(have) if a not in argument.axes)
    left = Axes(a for a in have if a in argument.axes)
    summed = adjoint.sum(axis=extra)
    ordered = np.transpose(summed, [left.index(a) for a in argument.axes if a in left])
    shape = [int(a.length) if a in left else 1 for a in argument.axes]  # type: ignore[arg-type]
    return np.broadcast_to(ordered.reshape(shape), lengths(argument))
