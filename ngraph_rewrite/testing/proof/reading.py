# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions read as functions of real numbers, where the signs that they depend on are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.testing.proof.field import ABOVE_AT, EXP, TRUE_AT, ZERO_AT, Field
from ngraph_rewrite.testing.proof.polynomials import ONE, Poly, Ratio
from ngraph_rewrite.testing.proof.real_functions import FUNCTIONS, Unknown, number, odd, oriented, product, total
from ngraph_rewrite.testing.proof.symbols import NUMBER, SYMBOL, Scalar
from ngraph_rewrite.types.dtypes import can_cast, is_float

Value = Ratio | bool
# The greatest number of the narrowest dtype.
_FEW = 127


class Undecided(Exception):
    """The sign of a polynomial, or the truth of a term, on which an expression depends."""

    def __init__(self, what: Poly | Scalar) -> None:
        super().__init__(what)
        self.what = what


class Case(NamedTuple):
    """What is assumed: signs of polynomials, truths of terms, and values that follow for atoms."""

    signs: Mapping[Poly, int] = {}
    truths: Mapping[Scalar, bool] = {}
    values: Mapping[Scalar, Ratio] = {}


class Reader:
    """The normal forms of scalar expressions in one case.

    Without `splits`, a choice is an unknown of its own: the same one for equal conditions and equal branches.
    What a branch needs is then kept, unless the reader `assumes` what is needed: it may not be the branch taken.
    """

    def __init__(self, field: Field, case: Case, splits: bool, assumes: bool = False) -> None:
        self.field, self.case, self.splits, self.assumes = field, case, splits, assumes
        self._known: dict[Scalar, Value] = {}

    def of(self, term: Scalar) -> Value:
        """The normal form of a number, or a truth."""
        if term not in self._known:
            self._known[term] = self._truth(term) if term.dtype.kind == "b" else self._number(term)
        return self._known[term]

    def real(self, term: Scalar) -> Ratio:
        """The normal form of a number; a truth is 0 or 1."""
        if term.dtype.kind == "b":
            return self.indicator(term)
        found = self.of(term)
        assert not isinstance(found, bool)
        return found

    def indicator(self, term: Scalar) -> Ratio:
        """1 where a term is true, 0 elsewhere."""
        try:
            return Ratio.number(int(self._known_truth(term)))
        except Undecided as which:
            if self.splits:
                raise
            what = which.what
        field, one = self.field, Ratio(ONE)
        if term.op in _COMPARISONS and isinstance(what, Poly):
            turned, p = self.oriented(field.subtract(*map(self.real, term.args)))
            zero, above = field.atom(ZERO_AT, p), field.atom(ABOVE_AT, p)
            below = field.subtract(field.subtract(one, zero), above)
            parts = {0: zero, 1: below if turned else above, -1: above if turned else below}
            return total(field, *(parts[s] for s in parts if _COMPARISONS[term.op](s)))
        if term.op == "logical_not":
            return field.subtract(one, self.real(term.args[0]))
        if term.op in ("logical_and", "all"):
            return product(field, *map(self.real, term.args))
        if term.op in ("logical_or", "any"):
            return field.subtract(one, product(field, *(field.subtract(one, self.real(a)) for a in term.args)))
        return field.atom(TRUE_AT, term)

    def _number(self, term: Scalar) -> Ratio:
        if term.op == NUMBER:
            return number(self.field, term)
        if term.op == SYMBOL:
            return self.case.values.get(term) or self.field.atom(SYMBOL, term)
        if term.op == "cast":
            return self._cast(term)
        if term.op == "select":
            return self._select(term)
        if term.op == "sum" and _counts(term):
            return total(self.field, *map(self.real, term.args))
        if not is_float(term.dtype) or term.op == "bitcast":  # integers wrap: only that equal terms are equal is known
            return self.field.atom("integer", term)
        if term.op in _CHOICES:
            return _CHOICES[term.op](self, term)
        if term.op in FUNCTIONS:
            return FUNCTIONS[term.op](self.field, *map(self.real, term.args))
        return self.opaque(term)

    def opaque(self, term: Scalar) -> Ratio:
        """A function of which nothing is known."""
        return self.field.atom(term.op, tuple(self.real(a) for a in term.args) or term)

    def _cast(self, term: Scalar) -> Ratio:
        old = term.args[0].dtype
        if is_float(term.dtype) or (is_float(old) is False and can_cast(old, term.dtype)):
            return self.real(term.args[0])
        return self.field.atom("integer", term)

    def _select(self, term: Scalar) -> Ratio:
        try:
            chosen = self._truth(term.args[0])
        except Undecided:
            if self.splits:
                raise
            condition = self.real(term.args[0])
            before = dict(self.field.needs)
            x, y = map(self.real, term.args[1:])
            if self.assumes:
                self.field.needs = before
            return self.field.add(y, self.field.multiply(condition, self.field.subtract(x, y)))
        return self.real(term.args[1 if chosen else 2])

    # -- signs

    def sign(self, a: Ratio) -> int:
        """-1, 0 or 1."""
        p = self.field.sign_of(a)
        value = p.constant
        if value is not None:
            return (value > 0) - (value < 0)
        turned, p = self.oriented(a)
        found = 1 if self.field.is_positive(p) else self.case.signs.get(p)
        if found is None:
            raise Undecided(p)
        return -found if turned else found

    def oriented(self, a: Ratio) -> tuple[bool, Poly]:
        """A polynomial with the sign of a quotient, or the other sign: the same one for all that have it plainly."""
        p = self.field.sign_of(a)
        p = p.shifted(tuple((n, -q) for n, q in p.content() if self.field.keys[n][0] == EXP))
        p = p.scaled(1 / abs(p.terms[p.leading()]))
        turned = p.terms[p.leading()] < 0
        return turned, p.scaled(-1) if turned else p

    def _truth(self, term: Scalar) -> bool:
        if term.op == NUMBER:
            return bool(term.value)
        if term.op in _COMPARISONS and all(is_float(a.dtype) or _counts(a) for a in term.args):
            infinite = [_infinite(a) for a in term.args]
            if any(infinite):
                return _COMPARISONS[term.op](infinite[0] - infinite[1])
            return _COMPARISONS[term.op](self.sign(self.field.subtract(*map(self.real, term.args))))
        if term.op in _LOGIC and all(a.dtype.kind == "b" for a in term.args):
            return _LOGIC[term.op]([bool(self._known_truth(a)) for a in term.args])
        if term.op in ("isnan", "isinf", "isfinite") and is_float(term.args[0].dtype):
            self.real(term.args[0])
            return term.op == "isfinite"
        if term.op == "cast" and is_float(term.args[0].dtype):
            return self.sign(self.real(term.args[0])) != 0
        if term.op == "select":
            return self._known_truth(term.args[1 if self._known_truth(term.args[0]) else 2])
        if term in self.case.truths:
            return self.case.truths[term]
        raise Undecided(term)

    def _known_truth(self, term: Scalar) -> bool:
        found = self.of(term)
        assert isinstance(found, bool)
        return found

    def extremum(self, term: Scalar, sign: int) -> Ratio:
        """The greatest of some numbers, or the least."""
        args = [a for a in term.args if _infinite(a) != -sign]
        if not args:
            raise Unknown
        values = list(dict.fromkeys(map(self.real, args)))
        found, open_ = values[0], []
        for value in values[1:]:
            try:
                found = value if self.sign(self.field.subtract(value, found)) == sign else found
            except Undecided:
                if self.splits:
                    raise
                open_.append(value)
        if open_:  # of more than two in any order the same
            return self.field.atom("max" if sign > 0 else "min", frozenset(values))
        return found

    def absolute(self, a: Ratio) -> Ratio:
        try:
            return self.field.negative(a) if self.sign(a) < 0 else a
        except Undecided:
            if self.splits:
                raise
            return self.field.atom("absolute", oriented(self.field, a)[1])

    def signum(self, a: Ratio) -> Ratio:
        try:
            return Ratio.number(self.sign(a))
        except Undecided:
            if self.splits:
                raise
            return odd(self.field, "sign", a)


def _counts(term: Scalar) -> bool:
    """Whether it says how many of a few truths hold, or if one does, which wraps in no dtype."""
    summed = term.args if term.op == "sum" else (term,)
    few = term.dtype.kind in "iu" and len(summed) < _FEW
    return few and all(a.dtype.kind == "b" or (a.op == "cast" and a.args[0].dtype.kind == "b") for a in summed)


def _infinite(term: Scalar) -> int:
    """1 or -1 for an infinite number, else 0."""
    return int(np.sign(term.value)) if term.op == NUMBER and np.isinf(term.value) else 0


_CHOICES: Mapping[str, Callable[[Reader, Scalar], Ratio]] = {
    **{name: lambda r, t: r.extremum(t, 1) for name in ("maximum", "max")},
    **{name: lambda r, t: r.extremum(t, -1) for name in ("minimum", "min")},
    "absolute": lambda r, t: r.absolute(r.real(t.args[0])),
    "sign": lambda r, t: r.signum(r.real(t.args[0])),
}
_COMPARISONS: Mapping[str, Callable[[int], bool]] = {
    "equal": lambda s: s == 0,
    "not_equal": lambda s: s != 0,
    "less": lambda s: s < 0,
    "less_equal": lambda s: s <= 0,
    "greater": lambda s: s > 0,
    "greater_equal": lambda s: s >= 0,
}
_LOGIC: Mapping[str, Callable[[list[bool]], bool]] = {
    "logical_not": lambda a: not a[0],
    **dict.fromkeys(("logical_and", "all", "multiply", "minimum", "min"), all),
    **dict.fromkeys(("logical_or", "any", "add", "maximum", "max"), any),
    **{name: lambda a: a[0] != a[1] for name in ("logical_xor", "not_equal")},
    "equal": lambda a: a[0] == a[1],
    "select": lambda a: a[1] if a[0] else a[2],
}
