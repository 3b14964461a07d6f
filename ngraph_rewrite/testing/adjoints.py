# SPDX-License-Identifier: Apache-2.0
"""Adjoint rules compared with central finite differences, in float64 on values away from kinks."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume

from ngraph_rewrite.lowering.fitting import fitted
from ngraph_rewrite.rewriting.instances import signature
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.evaluate import Array, Values, evaluate
from ngraph_rewrite.testing.strategies import Example, lengths
from ngraph_rewrite.types.dtypes import FLOAT64

# The error of a central difference is about STEP ** 2 + eps / STEP for functions of moderate curvature.
STEP = 1e-5
TOLERANCE = 1e-6


def wrong_adjoint(rule: Rule, matcher: Matcher, example: Example, given: Values) -> str | None:
    """None if every adjoint the rule builds agrees with finite differences, else what is wrong."""
    term = example.instance.term
    assume(all(t.dtype == FLOAT64 or t.dtype.kind in "biu" for t in topological([term])))
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
    both = disagreement(term, argument, found, values, values[adjoint])
    if both is None:
        return None
    lines = [f"gives {argument!r} a wrong adjoint", f"  {rule.text}", f"  {signature(term)}"]
    return "\n".join([*lines, *shown(values, both)])


def disagreement(
    term: Op, argument: Op, found: Op | None, values: Values, weights: Array
) -> tuple[Array, Array] | None:
    """The values of an adjoint and of the differences it should be, if they differ.

    Args:
        term: What is differentiated, by a leaf `argument` that has a value.
        found: The adjoint, in which `weights` is the value of the incoming one; None for no slope.
    """
    wanted = differences(term, argument, values, weights, STEP)
    nearer = differences(term, argument, values, weights, STEP / 8)
    assume(np.allclose(wanted, nearer, rtol=1e-4, atol=1e-4))  # else there is a kink, or hardly a slope
    if term.definition.name == "core.stop_gradient":
        wanted = np.zeros_like(wanted)
    got = np.zeros_like(wanted) if found is None else _value(fitted(found, argument.type), values)
    if weights.size == 0:  # 0 times what is not defined where the argument is
        got = np.nan_to_num(got, nan=0.0)
    scale = 1 + float(np.abs(wanted).max(initial=0))
    return None if np.allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE * scale) else (got, wanted)


def shown(values: Values, both: tuple[Array, Array]) -> list[str]:
    """The lines of a counterexample: what the leaves are, the adjoint and the differences."""
    lines = [f"  {t!r} = {v!r}" for t, v in values.items() if isinstance(t, Op)]
    return [*lines, f"  adjoint      {both[0]!r}", f"  differences  {both[1]!r}"]


def _value(term: Op, values: Values) -> Array:
    return evaluate(term, values)[term]


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
