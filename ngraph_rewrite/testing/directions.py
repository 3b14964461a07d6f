# SPDX-License-Identifier: Apache-2.0
"""Adjoints held to eight digits: along one direction that moves all elements of all arguments at once.

A difference of fourth order over a longer step has so many digits where a function is smooth, and differences of two
steps tell where that is (Richardson's extrapolation). A constant such as 2 / sqrt(pi) is found wrong in its seventh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from ngraph_rewrite.lowering.fitting import fitted
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.differences import Adjoint
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values, evaluate
from ngraph_rewrite.types.dtypes import is_float

# The longer of two steps; the error of a difference is about its fourth power, and eps / STEP.
STEP = 4e-4
# What a slope may be off, of the sum of the sizes of its parts, and of those of the values it is the slope of. Two
# steps must agree in a tenth of that.
TOLERANCE, _OF_VALUES, _STEADY = 1e-8, 1e-10, 0.1


def wrong_along(term: Op, pairs: Sequence[Adjoint], values: Values, weights: Array, random: Random) -> str | None:
    """None if the adjoints of a term add up to its slope along a drawn direction, or it has none; else what is wrong.

    Args:
        pairs: The adjoints, in which `weights` is the value of the incoming one.

    Raises:
        Undefined: if the term has no value.
    """
    leaves = [p for p in pairs if is_float(p.argument.dtype) and p.argument in values]
    if not leaves or not weights.size or term.definition.name == "core.stop_gradient":
        return None
    if any(p.argument is q.argument for p in leaves for q in leaves if p is not q):  # then each is a part of a slope
        return None
    directions = {p.argument: _direction(random, values[p.argument]) for p in leaves}
    with np.errstate(all="ignore"):
        parts = np.concatenate([np.ravel(_adjoint(p, values) * directions[p.argument]) for p in leaves])
        near, far, size = _slopes(term, directions, values, weights)
        allowed = TOLERANCE * (np.abs(parts).sum() + abs(near)) + _OF_VALUES * size
        slope = float(parts.sum())
        if not abs(near - far) <= _STEADY * allowed or abs(slope - near) <= allowed:
            return None
    return f"along a direction the adjoints add up to {slope:.12g}, the slope is {near:.12g}"


def _direction(random: Random, value: Array) -> Array:
    """How fast each element moves; all of them do."""
    speeds = [random.uniform(0.5, 1.0) * random.choice((1, -1)) for _ in range(value.size)]
    return np.array(speeds, np.float64).reshape(value.shape)


def _adjoint(pair: Adjoint, values: Values) -> Array:
    if pair.found is None:
        return np.zeros(values[pair.argument].shape)
    adjoint = fitted(pair.found, pair.argument.type)
    return evaluate(adjoint, values)[adjoint]


def _slopes(term: Op, directions: Mapping[Op, Array], values: Values, weights: Array) -> tuple[float, float, float]:
    """The slope by differences of a step and of one of twice its length, and how large the values are it is made of."""
    at = {n: _weighted(term, directions, values, weights, n * STEP / 2) for n in (1, -1, 2, -2, 4, -4)}
    one, two, four = ((float(at[n].sum()) - float(at[-n].sum())) / (n * STEP) for n in (1, 2, 4))
    return (4 * one - two) / 3, (4 * two - four) / 3, float(np.abs(at[1]).sum())


def _weighted(term: Op, directions: Mapping[Op, Array], values: Values, weights: Array, step: float) -> Array:
    moved = dict(values)
    moved.update((leaf, values[leaf] + step * direction) for leaf, direction in directions.items())
    try:
        return np.asarray(weights * evaluate(term, moved)[term])
    except Undefined:
        return np.full(weights.shape, np.nan)
