# SPDX-License-Identifier: Apache-2.0
"""Whether two scalar expressions are equal for every value of their symbols, as a rule's class demands."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ngraph_rewrite.rewriting.rule import EXACT
from ngraph_rewrite.testing.compare import same_bits
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.proof.numeric import Point, evaluate, every, known, moderate, special, symbols_of
from ngraph_rewrite.testing.proof.polynomials import Ratio
from ngraph_rewrite.testing.proof.reading import Case
from ngraph_rewrite.testing.proof.real import equal_over_reals, value_at
from ngraph_rewrite.testing.proof.ring import equal_in_ring
from ngraph_rewrite.testing.proof.signs import without_signs
from ngraph_rewrite.testing.proof.smt import difference
from ngraph_rewrite.testing.proof.symbols import Scalar, parts
from ngraph_rewrite.types.dtypes import FLOAT64, is_float

# So many combinations of values are all tried.
_EVERY = 1 << 16
# Seconds for asking z3 of floats what was not shown over the reals, and how large that may be.
_IEEE, _SMALL = 0.2, 24
# Values over the reals that differ by more than this, relative to their size, differ; two precisions, and values
# beside each other, must agree in them.
_APART, _TOGETHER, _BESIDE = 1e-6, 1e-8, 1e-9


@dataclass(frozen=True)
class Verdict:
    """What could be decided about two expressions.

    Attributes:
        proved: Whether they are equal; None if this was not decided.
        how: By what, and for which values: "bit-vectors", "over the reals, by normal form".
        model: Values of the symbols, by name, for which they differ: NumPy says so.
    """

    proved: bool | None
    how: str
    model: Mapping[str, Any] | None = None


def decide(left: Scalar, right: Scalar, grade: str, seconds: float) -> Verdict:
    """Whether two expressions are equal for every value of their symbols.

    Integers and truths, and floats in rules of class ``exact``, are equal bit by bit (of all NaN there is one).
    Otherwise they are equal over the real numbers, where the left one has a value: what becomes of NaN and
    infinities is then not decided here.

    Args:
        grade: The class: exact, real, refines or fast.
        seconds: About how long it may take.

    >>> from ngraph_rewrite.testing.proof.symbols import apply, number, symbol
    >>> x = symbol("x", "float32")
    >>> zero = apply("multiply", "float32", x, number(0, "float32"))
    >>> decide(zero, number(0, "float32"), "exact", 1.0).proved
    False
    >>> decide(zero, number(0, "float32"), "real", 1.0)
    Verdict(proved=True, how='over the reals, by normal form', model=None)
    """
    if left is right:
        return Verdict(True, "the same expression")
    if left.dtype != right.dtype:
        return Verdict(None, f"one is {left.dtype}, the other {right.dtype}")
    if grade == EXACT or not any(is_float(t.dtype) for t in parts([left, right])):
        return _exactly(left, right, seconds)
    return _really(left, right, seconds)


# -- bit by bit ---------------------------------------------------------------------------------------


def _exactly(left: Scalar, right: Scalar, seconds: float) -> Verdict:
    symbols = symbols_of([left, right])
    if known([left, right]) and not _in_open_order(left, right):
        whole = every(symbols, _EVERY)
        at = special(symbols) if whole is None else whole
        model = _unlike(left, right, at)
        if model is not None:
            return Verdict(False, "by values", model)
        if whole is not None:
            return Verdict(True, f"for each of {_count(at)} values")
    if equal_in_ring(left, right):
        return Verdict(True, "as polynomials of integers that wrap")
    left, right = without_signs(left), without_signs(right)
    if left is right:
        return Verdict(True, "by laws of IEEE 754")
    same, found = difference(left, right, seconds)
    theory = "IEEE 754 floats" if any(is_float(t.dtype) for t in parts([left, right])) else "bit-vectors"
    if same:
        return Verdict(True, f"z3: {theory}")
    if found is not None and known([left, right]) and not _in_open_order(left, right):
        at = {s: np.asarray([v]) for s, v in found.items()}
        model = _unlike(left, right, {s: at.get(s, np.zeros(1, s.dtype)) for s in symbols})
        if model is not None:
            return Verdict(False, f"z3: {theory}", model)
    return Verdict(
        None, "z3 found no proof in time" if same is None else f"z3's {theory} tell them apart, NumPy does not"
    )


def _in_open_order(left: Scalar, right: Scalar) -> bool:
    """Whether floats are added up in an order that is nobody's business."""
    return any(t.op in ("sum", "dot", "prod") and is_float(t.dtype) and len(t.args) > 1 for t in parts([left, right]))


def _unlike(left: Scalar, right: Scalar, at: Point) -> Mapping[str, Any] | None:
    """Values for which both differ in their bits and the left one is defined."""
    value, defined, _ = evaluate(left, at)
    other = evaluate(right, at)[0]
    wrong = defined & ~same_bits(value, other)
    return _model(at, int(np.argmax(wrong))) if wrong.any() else None


def _model(at: Point, place: int) -> Mapping[str, Any]:
    return {str(s.name): v[place].item() for s, v in at.items()}


def _count(at: Point) -> int:
    return len(next(iter(at.values()))) if at else 1


# -- over the reals -----------------------------------------------------------------------------------


def _really(left: Scalar, right: Scalar, seconds: float) -> Verdict:
    until = time.monotonic() + seconds
    evaluated = known([left, right])
    if evaluated:
        model = _apart(left, right)
        if model is not None:
            return Verdict(False, "by values, over the reals", model)
    how = equal_over_reals(left, right, seconds / 2)
    if how is not None:
        return Verdict(True, how)
    if sum(1 for _ in parts([left, right])) > _SMALL:
        return Verdict(None, "no proof over the reals was found")
    same, _ = difference(left, right, min(_IEEE, max(0.02, until - time.monotonic())))
    return Verdict(True, "z3: IEEE 754 floats") if same else Verdict(None, "no proof over the reals was found")


def _apart(left: Scalar, right: Scalar) -> Mapping[str, Any] | None:
    """Real numbers for which both differ, by more than rounding can explain."""
    at = moderate(symbols_of([left, right]))
    wrong = _differ(left, right, at, FLOAT64)
    if not wrong.any():
        return None
    stable = wrong & _differ(left, right, at, np.longdouble)
    stable &= _steady(left, at) & _steady(right, at)
    if stable.any():
        return _model(at, int(np.argmax(stable)))
    places = [int(i) for i in np.flatnonzero(wrong)[:8]]
    return next((_model(at, i) for i in places if _differ_as_fractions(left, right, at, i)), None)


def _differ(left: Scalar, right: Scalar, at: Point, wide: Any) -> Array:
    """Where the left value and all that it is made of are finite, and the right one is another."""
    value, defined, finite = evaluate(left, at, wide)
    other = evaluate(right, at, wide)[0]
    if not is_float(value.dtype):
        return np.asarray(defined & finite & (value != other))
    with np.errstate(all="ignore"):
        far = np.abs(other - value) > _APART * (1 + np.abs(value))
    return np.asarray(defined & finite & (far | np.isnan(other)))


def _steady(term: Scalar, at: Point) -> Array:
    """Where a value hardly depends on the last digits of the symbols', nor on those of what is computed."""
    moved = {s: v * (1 + _BESIDE) + _BESIDE if is_float(v.dtype) else v for s, v in at.items()}
    plain = evaluate(term, at, FLOAT64)[0]
    others = [evaluate(term, moved, FLOAT64)[0], evaluate(term, at, np.longdouble)[0]]
    if not is_float(plain.dtype):
        return np.asarray((plain == others[0]) & (plain == others[1]))
    with np.errstate(all="ignore"):
        near = [np.abs(o - plain) <= _TOGETHER * (1 + np.abs(plain)) for o in others]
    return np.asarray((near[0] & near[1]) | (np.isnan(plain) & np.isnan(others[0]) & np.isnan(others[1])))


def _differ_as_fractions(left: Scalar, right: Scalar, at: Point, place: int) -> bool:
    """Whether the left one is a rational number and the right one another, or none: no rounding is involved."""
    truths = {s: bool(v[place]) for s, v in at.items() if s.dtype.kind == "b"}
    values = {s: Ratio.number(Fraction(v[place].item())) for s, v in at.items() if s not in truths}
    one, other = (value_at(side, Case({}, truths, values)) for side in (left, right))
    return not isinstance(one, str) and one is not None and other is not None and one != other
