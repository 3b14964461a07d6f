# SPDX-License-Identifier: Apache-2.0
"""Whether two terms have the value that a rule's class promises, for given leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.rewriting.rule import EXACT, FAST, REAL
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.changes import coarse, overflown, poisoned, refilled, settled, shaken
from ngraph_rewrite.testing.draws import lost_effect, other_draw
from ngraph_rewrite.testing.evaluate import Array, Change, Undefined, Values, evaluate
from ngraph_rewrite.testing.wide import widened
from ngraph_rewrite.types.dtypes import BFLOAT16, FLOAT16, DType, finfo, is_float
from ngraph_rewrite.types.tuples import TupleType, tensors

# Evaluations with shaken results per side, and how many times their spread two values may differ.
SHAKES = 6
SLACK = 8


class Difference(NamedTuple):
    """The values of two terms, and where they are not what a class promises (everywhere, if they are of two types)."""

    left: Array
    right: Array
    wrong: Array

    @property
    def place(self) -> tuple[int, ...] | None:
        """The index of the first wrong element; None if the values are of two types or shapes."""
        if self.left.shape != self.right.shape or self.left.shape != self.wrong.shape:
            return None
        return tuple(int(i) for i in np.argwhere(self.wrong)[0])


def differ(left: Op, right: Op, values: Values, grade: str) -> tuple[Array, Array] | None:
    """None if both values agree as the class demands; else the two values. See `difference`."""
    found = difference(left, right, values, grade)
    return None if found is None else (found.left, found.right)


def difference(left: Op, right: Op, values: Values, grade: str, effects: bool = True) -> Difference | None:
    """None if both values agree as the class demands; else where they do not.

    exact
        The same bits; every NaN is one NaN, signed zeros are told apart. Which of two zeros a maximum or minimum
        chose is open, so that a difference counts only if there is one where it is the positive one, too.
    refines
        Where no value the left side computes with is NaN or infinite: as close as rounding explains. Where its
        value is finite all the same, that value or the one it has in float64.
    real
        Everywhere: what is NaN or infinite is the same, and so is what is finite although a leaf is not. Where the
        left side overflows on its way to a finite value, that value or the one it has in float64.
    fast
        As refines, to half the digits; and only where no value that the right side computes with is NaN or infinite.

    Integers and bool are always exact: an order of floats may be another one if these were rounded in another way, but
    where the left side has no floats nothing is.

    Args:
        effects: Whether the right side has to have the effects of the left one; not in a whole program, of which they
            are compared by themselves.

    Raises:
        Undefined: if the left side has no defined value.
    """
    if isinstance(left.type, TupleType):
        parts = (difference(a, b, values, grade, effects) for a, b in zip(_parts(left), _parts(right), strict=True))
        return next((d for d in parts if d is not None), None)
    known = evaluate(left, values)[left]
    try:
        found = evaluate(right, values, strict=False)[right]
    except Undefined:
        return Difference(known, np.array("undefined"), np.array(True))
    unseen = other_draw(left, right) or (lost_effect(left, right) if effects else None)
    if unseen is not None or found.dtype != known.dtype or found.shape != known.shape:
        return Difference(known, found, np.array(True))
    wrong = ~same_bits(known, found)
    if wrong.any() and is_float(known.dtype):
        wrong &= ~same_bits(*(evaluate(side, values, settled, strict=False)[side] for side in (left, right)))
    if grade != EXACT and wrong.any():
        wrong &= ~explained(left, right, values, (known, found), grade)
    return Difference(known, found, wrong) if wrong.any() else None


def _has_floats(term: Op) -> bool:
    """Whether anything in a term is a float, so that it may be rounded."""
    parts = topological([term])
    dtypes = [type_.dtype for part in parts for type_ in tensors(part.type)]
    return any(map(is_float, [*dtypes, *(a.dtype for part in parts for a in part.attrs if isinstance(a, Literal))]))


def same_bits(a: Array, b: Array) -> Array:
    """Where two arrays of one dtype are equal bit by bit, any NaN being equal to any other."""
    if not is_float(a.dtype):
        return np.asarray(a == b)
    return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def _parts(term: Op) -> list[Op]:
    assert isinstance(term.type, TupleType)
    return [Op(lookup("core.item"), (term,), (i,), t) for i, t in enumerate(term.type.elements)]


def explained(
    left: Op, right: Op, values: Values, means: tuple[Array, Array], grade: str, got: tuple[Array, Array] | None = None
) -> Array:
    """Where a difference is due to rounding, or to a special value that the class may change.

    Args:
        means: The values that both terms have by their meanings.
        got: The values that are compared, if they were computed in another way.
    """
    known, found = got or means
    if not is_float(known.dtype) and not _has_floats(left):
        return np.zeros(known.shape, bool)
    lefts, rights = ([_shaken(side, values, shaken(seed)) for seed in range(SHAKES)] for side in (left, right))
    if not is_float(known.dtype):
        fills = [_shaken(left, values, refilled(seed, every=grade != REAL)) for seed in range(SHAKES)]
        moved = [s is None or s != p for side, p in ((lefts + fills, means[0]), (rights, means[1])) for s in side]
        return np.asarray(np.logical_or.reduce([np.broadcast_to(m, known.shape) for m in moved]))
    with np.errstate(all="ignore"):
        spread = np.maximum(_spread(lefts, means[0]), _spread(rights, means[1]))
        digits = np.sqrt(finfo(known.dtype).eps) * np.abs(known) if grade == FAST else 0.0
        close = _distance(found, known) <= _allowed(spread, known) + digits
    if known.dtype in (FLOAT16, BFLOAT16) and grade != FAST:
        close &= ~_apart_in_truth(left, right, values, known.dtype)
    # a spread that is not finite says that a finite value stands at the edge of overflow
    edge = ~np.isfinite(spread) & ~_never_meet((*lefts, *means[:1], known), (*rights, *means[1:], found))
    special = ~np.isfinite(evaluate(left, values, overflown if grade == REAL else poisoned)[left])
    special = special & np.isfinite(known) if grade == REAL else special | ~np.isfinite(known)
    if grade == FAST:
        special |= ~np.isfinite(evaluate(right, values, poisoned, strict=False)[right])
    excused = special & ~close & ~edge
    if (excused & np.isfinite(known)).any():
        special &= ~_wrong_in_truth(left, right, values, known, found, _spread(rights, means[1]))
    return np.asarray(close | edge | special)


def _never_meet(lefts: Sequence[Array | None], rights: Sequence[Array | None]) -> Array:
    """Where one side is finite and the other is not, however both are rounded: no edge is between them."""
    of_left, of_right = ([np.isfinite(v) for v in side if v is not None] for side in (lefts, rights))
    all_of = np.logical_and.reduce
    none_of_left, none_of_right = (all_of([~f for f in side]) for side in (of_left, of_right))
    return np.asarray((none_of_left & all_of(of_right)) | (all_of(of_left) & none_of_right))


def _wrong_in_truth(left: Op, right: Op, values: Values, known: Array, found: Array, spread: Array) -> Array:
    """Where the right side computes with finite values only, and misses the left side's value in float64."""
    wide = widened([left], values)
    clean = evaluate(right, values, poisoned, strict=False)[right]
    if wide is None:
        return np.zeros(known.shape, bool)
    truth = evaluate(wide[0][0], wide[1], poisoned)[wide[0][0]]
    with np.errstate(all="ignore"):
        rounded = truth.astype(known.dtype)
        near = _distance(found, truth) <= _allowed(spread, rounded) + finfo(known.dtype).tiny
        return np.asarray(np.isfinite(known) & np.isfinite(clean) & np.isfinite(rounded) & ~near)


def _apart_in_truth(left: Op, right: Op, values: Values, dtype: DType) -> Array:
    """Where two terms are not one number in float64 either: 16 bits have too few digits to tell a thousandth."""
    wide = widened([left, right], values)
    if wide is None:
        return np.zeros((), bool)
    given = wide[1]
    sides = [(side, evaluate(side, given, poisoned, strict=False)[side]) for side in wide[0]]
    spreads = []
    for side, value in sides:
        for change in (shaken, partial(coarse, dtype=dtype)):
            moved = [_shaken(side, given, change(seed)) for seed in range(SHAKES)]
            spreads.append(_spread(moved, value))
    with np.errstate(all="ignore"):
        rounding = _allowed(np.maximum(spreads[0], spreads[2]), sides[0][1])
        allowed = rounding + 2 * np.maximum(spreads[1], spreads[3])
        return np.asarray(_distance(sides[1][1], sides[0][1]) > allowed)


def _distance(found: Array, known: Array) -> Array:
    return np.asarray(np.abs(found.astype(np.float64) - known))


def _allowed(spread: Array, known: Array) -> Array:
    return np.asarray(SLACK * (spread + np.spacing(np.abs(known)).astype(np.float64)))


def as_rounded(term: Op, values: Values, known: Array, found: Array) -> Array:
    """Where a value that was computed in another way differs from the term's by no more than rounding explains."""
    if not is_float(known.dtype):
        return np.zeros(known.shape, bool)
    with np.errstate(all="ignore"):
        spread = _spread([_shaken(term, values, shaken(seed)) for seed in range(SHAKES)], known)
        return np.asarray((_distance(found, known) <= _allowed(spread, known)) | ~np.isfinite(spread))


def _spread(shaken_values: list[Array | None], value: Array) -> Array:
    """How far the shaken values are from the plain one; NaN or infinite only where just some of them are finite."""
    with np.errstate(all="ignore"):
        distances = [np.full(value.shape, np.inf) if s is None else _distance(s, value) for s in shaken_values]
    same = np.logical_and.reduce([same_bits(value if s is None else s, value) for s in shaken_values])
    return np.asarray(np.where(same, 0.0, np.maximum.reduce(distances)))


def _shaken(side: Op, values: Values, change: Change) -> Array | None:
    try:
        return evaluate(side, values, change)[side]
    except Undefined:
        return None
