# SPDX-License-Identifier: Apache-2.0
"""Whether two terms have the value that a rule's class promises, for given leaves."""

from __future__ import annotations

import numpy as np

from ngraph_rewrite.rewriting.rule import EXACT, FAST, REFINES
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.evaluate import Array, Change, Undefined, Values, evaluate, poisoned, shaken

# Evaluations with shaken results per side, and how many times their spread two values may differ.
SHAKES = 6
SLACK = 8


def differ(left: Op, right: Op, values: Values, grade: str) -> tuple[Array, Array] | None:
    """None if both values agree as the class demands; else the two values.

    exact
        The same bits; every NaN is one NaN, signed zeros are told apart.
    real
        Where no value the left side computes with is NaN or infinite: as close as rounding explains.
    refines
        As real, wherever the left value itself is finite.
    fast
        As real, to half the digits.

    Integers and bool are always exact.

    Raises:
        Undefined: if the left side has no defined value.
    """
    known = evaluate(left, values)[left]
    try:
        found = evaluate(right, values)[right]
    except Undefined:
        return known, np.array("undefined")
    if found.dtype != known.dtype or found.shape != known.shape:
        return known, found
    wrong = ~same_bits(known, found)
    if grade != EXACT and wrong.any():
        wrong &= _comparable(left, values, known, grade) & ~_close(left, right, values, known, found, grade)
    return (known, found) if wrong.any() else None


def same_bits(a: Array, b: Array) -> Array:
    """Where two arrays of one dtype are equal bit by bit, any NaN being equal to any other."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def _comparable(left: Op, values: Values, known: Array, grade: str) -> Array:
    if grade == REFINES:
        return np.isfinite(known) if known.dtype.kind == "f" else np.ones(known.shape, bool)
    found = evaluate(left, values, poisoned)
    if known.dtype.kind == "f":
        return np.isfinite(found[left])
    return np.full(known.shape, all(np.isfinite(v).all() for v in found.values() if v.dtype.kind == "f"))


def _close(left: Op, right: Op, values: Values, known: Array, found: Array, grade: str) -> Array:
    shaken_sides = [_shaken(side, values, shaken(seed)) for side in (left, right) for seed in range(SHAKES)]
    plain = [known] * SHAKES + [found] * SHAKES
    if known.dtype.kind != "f":
        unstable = [s is None or s != p for s, p in zip(shaken_sides, plain, strict=True)]
        return np.asarray(np.logical_or.reduce([np.broadcast_to(u, known.shape) for u in unstable]))
    with np.errstate(all="ignore"):
        wide = [(np.inf if s is None else s.astype(np.float64)) - p for s, p in zip(shaken_sides, plain, strict=True)]
        spread = np.maximum.reduce([np.broadcast_to(np.abs(w), known.shape) for w in wide])
        digits = np.sqrt(np.finfo(known.dtype).eps) * np.abs(known) if grade == FAST else 0.0
        allowed = SLACK * (spread + np.spacing(np.abs(known)).astype(np.float64)) + digits
        # a spread that is not finite means that the value stands at the edge of overflow
        return np.asarray((np.abs(found.astype(np.float64) - known) <= allowed) | ~np.isfinite(spread))


def _shaken(side: Op, values: Values, change: Change) -> Array | None:
    try:
        return evaluate(side, values, change)[side]
    except Undefined:
        return None
