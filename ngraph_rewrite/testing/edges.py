# SPDX-License-Identifier: Apache-2.0
"""Adjoints where functions have kinks: at ties, at zero, at the end of a domain; central differences do not see them.

At a kink an adjoint is between the slopes of both sides; where one side has no value, it is the slope of the other.
Along a direction that keeps ties ties, a maximum has no kink, and what the adjoints of all tied elements share out
must add up to its slope. Of the ops of this library more is demanded: a maximum or minimum of two that are tied has
the mean of both slopes, and elements that are tied for the greatest or the least have equal parts.
See Griewank and Walther, *Evaluating Derivatives*, 14 (2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from ngraph_rewrite.lowering.fitting import fitted
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.differences import Adjoint
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values, evaluate
from ngraph_rewrite.testing.strategies import distinct, lengths
from ngraph_rewrite.types.dtypes import is_float

STEP = 1e-7
# The error of a one-sided difference is about STEP times a moderate curvature, and eps / STEP.
_TOLERANCE = 2e-5
# Ops of which an adjoint at a kink is halfway between both slopes, and those of which tied elements share alike.
_HALFWAY, _SHARED = frozenset({"maximum", "minimum", "relu"}), frozenset({"max", "min"})
_FEW = (0.0, 0.0, 0.5, 0.5, 1.0, 2.0)


def few_values(random: Random, leaves: Mapping[Op | Uid, Op]) -> dict[Op | Uid, Array]:
    """Values for leaves; the floats are of few sizes, so that there are ties and zeros."""
    signs = random.choice(((1,), (1, -1)))
    values = distinct(random, leaves)
    for key, term in leaves.items():
        if is_float(term.dtype):
            numbers = [random.choice(_FEW) * random.choice(signs) for _ in range(values[key].size)]
            values[key] = np.array(numbers, term.dtype).reshape(lengths(term))
    return values


def wrong_at_edges(term: Op, pairs: Sequence[Adjoint], values: Values, weights: Array, random: Random) -> str | None:
    """None if all adjoints of a term are right at kinks, as far as these values tell; else what is wrong, in a line.

    Args:
        pairs: The adjoints, in which `weights` is the value of the incoming one.

    Raises:
        Undefined: if the term has no value.
    """
    at = _total(term, values, weights)
    if not np.isfinite(at) or not weights.size or term.definition.name == "core.stop_gradient":
        return None
    floats = [p for p in pairs if is_float(p.argument.dtype) and p.argument in values]
    found = {p.argument: _adjoint(p, values) for p in floats}
    shares: dict[tuple[float, ...], float] = {}
    for leaf, adjoint in found.items():
        for place in np.ndindex(*adjoint.shape):
            direction = np.zeros(adjoint.shape)
            direction[place] = 1.0
            bounds = _slopes(term, {leaf: direction}, values, weights, at)
            if bounds is None:
                continue
            slope, where = float(adjoint[place]), f"{list(map(int, place))} of {leaf!r}" if place else repr(leaf)
            if not _between(slope, bounds):
                return f"at {where} the adjoint is {slope:.6g}, {_said(bounds)}"
            wanted = _wanted(term, float(values[leaf][place]), slope, bounds, shares)
            if not _between(slope, (wanted, wanted)):
                return f"at {where}, where there is a tie, the adjoint is {slope:.6g} instead of {wanted:.6g}"
    return _wrong_at_ties(term, found, values, weights, at, random)


def _wanted(
    term: Op, value: float, slope: float, bounds: tuple[float, float], shares: dict[tuple[float, ...], float]
) -> float:
    """The adjoint that the library's ops have between two slopes; of tied elements that of the first one."""
    if np.isclose(*bounds, rtol=_TOLERANCE, atol=_TOLERANCE):
        return slope
    if term.definition.short in _HALFWAY:
        return sum(bounds) / 2
    if term.definition.short in _SHARED:
        return shares.setdefault((value, round(bounds[0], 3), round(bounds[1], 3)), slope)
    return slope


def _wrong_at_ties(
    term: Op, found: Mapping[Op, Array], values: Values, weights: Array, at: float, random: Random
) -> str | None:
    """As `wrong_at_edges`, where all elements of one size are moved together; those that are zero in one leaf at most.

    The zeros of two leaves need not tie: where one is a size and the other a sign, both are kinks of their own.
    """
    speeds: dict[float, float] = {}
    directions = {}
    from_zero = random.choice([None, *found])
    for leaf in found:
        at_leaf = values[leaf]
        speeds[0.0] = float(leaf is from_zero)
        flat = [speeds.setdefault(abs(float(v)), random.uniform(0.5, 1.5)) for v in at_leaf.flat]
        directions[leaf] = np.array(flat).reshape(at_leaf.shape) * np.where(at_leaf >= 0, 1, -1)
    bounds = _slopes(term, directions, values, weights, at)
    if bounds is None or not np.isclose(*bounds, rtol=_TOLERANCE, atol=_TOLERANCE):
        return None
    with np.errstate(all="ignore"):
        slope = sum(float(np.sum(np.where(d == 0, 0.0, d * found[k]))) for k, d in directions.items())
    return None if _between(slope, bounds) else f"along ties the adjoints add up to {slope:.6g}, {_said(bounds)}"


def _adjoint(pair: Adjoint, values: Values) -> Array:
    if pair.found is None:
        return np.zeros(values[pair.argument].shape)
    adjoint = fitted(pair.found, pair.argument.type)
    return evaluate(adjoint, values)[adjoint]


def _total(term: Op, values: Values, weights: Array) -> float:
    with np.errstate(all="ignore"):
        return float(np.sum(weights * evaluate(term, values)[term]))


def _slopes(
    term: Op, directions: Mapping[Op, Array], values: Values, weights: Array, at: float
) -> tuple[float, float] | None:
    """The slopes of both sides along a direction, the lesser first; None if a side that has values has no slope."""
    found = []
    for sign in (1, -1):
        near, far = (_one_sided(term, directions, values, weights, at, sign * s) for s in (STEP / 8, STEP))
        if not np.isfinite([near, far]).any():
            continue
        if not np.isclose(near, far, rtol=_TOLERANCE, atol=_TOLERANCE):
            return None
        found.append(far)
    return (min(found), max(found)) if found else None


def _one_sided(
    term: Op, directions: Mapping[Op, Array], values: Values, weights: Array, at: float, step: float
) -> float:
    moved = dict(values)
    moved.update((k, values[k] + step * d) for k, d in directions.items())
    try:
        return (_total(term, moved, weights) - at) / step
    except Undefined:
        return float("nan")


def _between(slope: float, bounds: tuple[float, float]) -> bool:
    slack = _TOLERANCE * (1 + max(map(abs, bounds)))
    return bool(bounds[0] - slack <= slope <= bounds[1] + slack)


def _said(bounds: tuple[float, float]) -> str:
    low, high = bounds
    one = np.isclose(low, high, rtol=_TOLERANCE, atol=_TOLERANCE)
    return f"the slope {high:.6g}" if one else f"the slopes of both sides {low:.6g} and {high:.6g}"
