# SPDX-License-Identifier: Apache-2.0
"""Whether two terms have the value that a rule's class promises, for given leaves."""

from __future__ import annotations

import numpy as np

from ngraph_rewrite.rewriting.rule import EXACT, FAST, REAL
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.evaluate import Array, Change, Undefined, Values, evaluate, poisoned, shaken

# Evaluations with shaken results per side, and how many times their spread two values may differ.
SHAKES = 6
SLACK = 8


def differ(left: Op, right: Op, values: Values, grade: str) -> tuple[Array, Array] | None:
    """None if both values agree as the class demands; else the two values.

    exact
        The same bits; every NaN is one NaN, signed zeros are told apart.
    refines
        Where no value the left side computes with is NaN or infinite: as close as rounding explains.
    real
        As refines; and where the left value is NaN or infinite, the right one is the same.
    fast
        As refines, to half the digits.

    Integers and bool are always exact.

    Raises:
        Undefined: if the left side has no defined value.
    """
    known = evaluate(left, values)[left]
    try:
        found = evaluate(right, values, strict=False)[right]
    except Undefined:
        return known, np.array("undefined")
    if found.dtype != known.dtype or found.shape != known.shape:
        return known, found
    wrong = ~same_bits(known, found)
    if grade != EXACT and wrong.any():
        wrong &= ~_explained(left, right, values, known, found, grade)
    return (known, found) if wrong.any() else None


def same_bits(a: Array, b: Array) -> Array:
    """Where two arrays of one dtype are equal bit by bit, any NaN being equal to any other."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def _explained(left: Op, right: Op, values: Values, known: Array, found: Array, grade: str) -> Array:
    """Where a difference is due to rounding, or to a special value that the class may change."""
    lefts, rights = ([_shaken(side, values, shaken(seed)) for seed in range(SHAKES)] for side in (left, right))
    clean = evaluate(left, values, poisoned)
    if known.dtype.kind != "f":
        special = not all(np.isfinite(v).all() for v in clean.values() if v.dtype.kind == "f")
        moved = [s is None or s != p for side, p in ((lefts, known), (rights, found)) for s in side]
        return np.asarray(np.logical_or.reduce([np.broadcast_to(m, known.shape) for m in moved]) | special)
    with np.errstate(all="ignore"):
        spread = np.maximum(_spread(lefts, known), _spread(rights, found))
        digits = np.sqrt(np.finfo(known.dtype).eps) * np.abs(known) if grade == FAST else 0.0
        allowed = SLACK * (spread + np.spacing(np.abs(known)).astype(np.float64)) + digits
        close = np.abs(found.astype(np.float64) - known) <= allowed
    # a spread that is not finite says that a finite value stands at the edge of overflow
    edge = ~np.isfinite(spread)
    kept = np.isfinite(known) | edge if grade == REAL else np.ones(known.shape, bool)
    return np.asarray(close | edge | (~np.isfinite(clean[left]) & kept))


def as_rounded(term: Op, values: Values, known: Array, found: Array) -> Array:
    """Where a value that was computed in another way differs from the term's by no more than rounding explains."""
    if known.dtype.kind != "f":
        return np.zeros(known.shape, bool)
    with np.errstate(all="ignore"):
        spread = _spread([_shaken(term, values, shaken(seed)) for seed in range(SHAKES)], known)
        allowed = SLACK * (spread + np.spacing(np.abs(known)).astype(np.float64))
        return np.asarray((np.abs(found.astype(np.float64) - known) <= allowed) | ~np.isfinite(spread))


def _spread(shaken_values: list[Array | None], value: Array) -> Array:
    """How far the shaken values are from the plain one; NaN or infinite only where just some of them are finite."""
    distances = [
        np.full(value.shape, np.inf) if s is None else np.abs(s.astype(np.float64) - value) for s in shaken_values
    ]
    same = np.logical_and.reduce([same_bits(value if s is None else s, value) for s in shaken_values])
    return np.asarray(np.where(same, 0.0, np.maximum.reduce(distances)))


def _shaken(side: Op, values: Values, change: Change) -> Array | None:
    try:
        return evaluate(side, values, change)[side]
    except Undefined:
        return None
