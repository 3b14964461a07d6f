# SPDX-License-Identifier: Apache-2.0
"""Derivatives by central differences, in float64 on values away from kinks, and adjoints compared with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.lowering.fitting import fitted
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values, evaluate, varied
from ngraph_rewrite.testing.strategies import lengths
from ngraph_rewrite.types.dtypes import FLOAT64
from ngraph_rewrite.types.tuples import TupleType

# The error of a central difference is about STEP ** 2 + eps / STEP for functions of moderate curvature.
STEP = 1e-5
TOLERANCE = 1e-6
# How many times as long as the other one the longer of two steps is.
_SHORTER = 8
# At how many elements of an argument differences are taken.
_PLACES = 16
# How far the differences of two steps may be apart where there is a slope and no kink.
_STEADY = 1e-4


class NoDifferences(Exception):
    """The differences do not tell what the slope is."""


class Adjoint(NamedTuple):
    """What a rule says that the derivative by an argument is.

    Attributes:
        argument: A leaf of what is differentiated.
        found: The adjoint; None if no derivative passes.
    """

    argument: Op
    found: Op | None


def adjoints(matcher: Matcher, term: Op, make: Any, incoming: Op) -> list[Adjoint] | None:
    """The adjoints that a derive rule builds for a term; None if it does not fire.

    Args:
        incoming: The adjoint of the term.
    """
    step = matcher.steps[term.definition](term, make, incoming)
    if step is None:
        return None
    pairs: Any = step[1]  # of a derive rule: each variable's value, and its adjoint
    return [one for value, found in pairs for one in listed(value, found)]


def listed(value: Any, found: Any) -> Iterator[Adjoint]:
    """The adjoint of an argument; of the terms of a sequence, one by one."""
    arguments = value if isinstance(value, tuple) else (value,)
    yield from map(Adjoint, arguments, found if isinstance(found, list) else [found] * len(arguments))


def weights_of(term: Op) -> Array:
    """Incoming adjoints for the elements of a term, no two alike."""
    return np.linspace(0.6, 1.4, int(term.size)).reshape(lengths(term))  # type: ignore[arg-type]


def is_double(term: Op) -> bool:
    """Whether all floats in a term are float64, so that its differences are worth something."""
    plain = [t for t in topological([term]) if not isinstance(t.type, TupleType)]
    return all(t.dtype == FLOAT64 or t.dtype.kind in "biu" for t in plain)


def disagreement(
    term: Op, argument: Op, found: Op | None, values: Values, weights: Array
) -> tuple[Array, Array] | None:
    """The values of an adjoint and of the differences it should be, if they differ.

    Elements at a kink, where two steps find two slopes, are not compared; of many elements only some are.

    Args:
        term: What is differentiated, by a leaf `argument` that has a value.
        found: The adjoint, in which `weights` is the value of the incoming one; None for no slope.

    Raises:
        NoDifferences: if there is a kink at every element.
        Undefined: if the term has no value.
    """
    some = np.unique(np.linspace(0, max(0, values[argument].size - 1), _PLACES).astype(int))
    value = varied(term, values, argument)
    wanted = _differences(value, values[argument], weights, STEP, some)
    got = np.zeros(wanted.shape) if found is None else _value(fitted(found, argument.type), values)
    if weights.size == 0:  # 0 times what is not defined where the argument is
        got = np.nan_to_num(got, nan=0.0)
    stopped = term.definition.name == "core.stop_gradient"
    if wanted.size and not stopped:
        if np.isclose(np.ravel(got)[some], np.ravel(wanted)[some], rtol=TOLERANCE, atol=TOLERANCE).all():
            return None  # whatever a shorter step finds
    nearer = _differences(value, values[argument], weights, STEP / _SHORTER, some)
    steady = np.isclose(wanted, nearer, rtol=_STEADY, atol=_STEADY)
    if wanted.size and not steady.any():
        raise NoDifferences
    if stopped:
        wanted[steady] = 0
    scale = 1 + float(np.abs(wanted[steady]).max(initial=0))
    straight = nearer + (nearer - wanted) / (_SHORTER**2 - 1)  # without the error of second order, which may be large
    near = [np.isclose(got, one, rtol=TOLERANCE, atol=TOLERANCE * scale) for one in (wanted, straight)]
    return None if (near[0] | near[1] | ~steady).all() else (got, wanted)


def _value(term: Op, values: Values) -> Array:
    return evaluate(term, values)[term]


def differences(
    term: Op, argument: Op, values: Values, weights: Array, step: float, places: Array | None = None
) -> Array:
    """The derivative of ``sum(weights * term)`` by central differences, for each element of a leaf.

    It is NaN for one that an infinite element of the term is made of: at a pole there is no slope. Of the others the
    finite elements tell.

    Args:
        places: Numbers of elements, in row-major order; the others get NaN. By default all.
    """
    return _differences(varied(term, values, argument), values[argument], weights, step, places)


def _differences(
    value: Callable[[Array], Array], at: Array, weights: Array, step: float, places: Array | None
) -> Array:
    """The same of a function of an array."""
    result = np.full(at.shape, np.nan)
    here = value(at) if at.size else weights
    for flat in range(at.size) if places is None or not at.size else places:
        place = np.unravel_index(flat, at.shape)
        sides = [value(_moved(at, place, sign * step)) for sign in (1, -1)]
        lost = ~np.logical_and.reduce([np.isfinite(v) for v in (here, *sides)])
        if lost.any() and not _untouched(value, _moved(at, place, np.nan), here, lost):
            continue
        sums = [float(np.sum(weights * np.where(lost, 0, side))) for side in sides]
        result[place] = (sums[0] - sums[1]) / (2 * step)
    return result


def _moved(at: Array, place: tuple[Any, ...], step: float) -> Array:
    moved = at.copy()
    moved[place] += step
    return moved


def _untouched(value: Callable[[Array], Array], missing: Array, here: Array, lost: Array) -> bool:
    """Whether none of the infinite elements of a value is made of the one that is missing: NaN would have got there."""
    try:
        return bool((value(missing) == here)[lost].all())
    except Undefined:
        return False
