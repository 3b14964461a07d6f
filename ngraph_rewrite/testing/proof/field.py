# SPDX-License-Identifier: Apache-2.0
"""Rational functions of unknowns and of their exponentials, logarithms, roots, sines and cosines, in a normal form.

Two expressions of equal normal form are equal wherever both are defined; what must hold for that is kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import NamedTuple

from ngraph_rewrite.testing.proof.polynomials import (
    ONE,
    Monomial,
    Poly,
    Power,
    Ratio,
    TooLarge,
    inverse,
    over,
    times,
)

# What must hold of a polynomial.
NONZERO, POSITIVE, NONNEGATIVE = "nonzero", "positive", "nonnegative"
EXP, LOG, ROOT, SIN, COS = "exp", "log", "root", "sin", "cos"
# 1 where a polynomial is 0, where it is positive, and where a truth of which no more is known holds; 0 elsewhere.
ZERO_AT, ABOVE_AT, TRUE_AT = "zero at", "above at", "true at"
_POWERS = 32


class Need(NamedTuple):
    """A condition under which an expression has a value."""

    kind: str
    of: Poly


class Field:
    """The atoms that expressions share, and the arithmetic that knows how they are related.

    Attributes:
        needs: What must hold for the values computed since it was last emptied.
        work: How many more products of terms it computes.
    """

    def __init__(self, work: int = 200_000) -> None:
        self.work = work
        self.keys: list[tuple[str, Hashable]] = []
        self.needs: dict[Need, None] = {}
        self._numbers: dict[tuple[str, Hashable], int] = {}

    def atom(self, kind: str, key: Hashable) -> Ratio:
        """The unknown, or the function of something, with this name."""
        return Ratio(Poly.atom(self.numbered(kind, key)))

    def numbered(self, kind: str, key: Hashable) -> int:
        if (kind, key) not in self._numbers:
            self._numbers[kind, key] = len(self.keys)
            self.keys.append((kind, key))
        return self._numbers[kind, key]

    # -- arithmetic

    def add(self, a: Ratio, b: Ratio) -> Ratio:
        if a.below == b.below:
            return self.reduced(a.above + b.above, a.below)
        powers = dict(a.below)
        for factor, power in b.below:
            powers[factor] = max(power, powers.get(factor, 0))
        sides = []
        for s in (a, b):
            missing = over((f, p - dict(s.below).get(f, 0)) for f, p in powers.items())
            sides.append(self._product(s.above, missing))
        return self.reduced(sides[0] + sides[1], powers.items())

    def multiply(self, a: Ratio, b: Ratio) -> Ratio:
        powers = dict(a.below)
        for factor, power in b.below:
            powers[factor] = powers.get(factor, 0) + power
        return self.reduced(self._product(a.above, b.above), powers.items())

    def _product(self, p: Poly, q: Poly) -> Poly:
        self._spend(len(p.terms) * len(q.terms))
        return p * q

    def _spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise TooLarge

    def negative(self, a: Ratio) -> Ratio:
        return Ratio(a.above.scaled(-1), a.below)

    def subtract(self, a: Ratio, b: Ratio) -> Ratio:
        return self.add(a, self.negative(b))

    def divide(self, a: Ratio, b: Ratio) -> Ratio:
        """The quotient; what it is divided by must not be 0."""
        self.need(NONZERO, b.above)
        if not b.above:
            raise ZeroDivisionError
        coefficient, monomial, rest = self.parted(b.above)
        stays: list[tuple[Poly, int]] = [] if rest == ONE else [(rest, 1)]
        free = []
        for atom, power in monomial:
            if self.keys[atom][0] in (ROOT, COS, ZERO_AT, ABOVE_AT, TRUE_AT):
                stays.append((Poly.atom(atom), int(power)))
            else:
                free.append((atom, -power))
        turned = Ratio(over(b.below).shifted(tuple(free)).scaled(1 / coefficient), tuple(stays))
        return self.multiply(a, turned)

    def power(self, a: Ratio, exponent: int) -> Ratio:
        if abs(exponent) > _POWERS:
            raise TooLarge
        found = Ratio(ONE)
        for _ in range(abs(exponent)):
            found = self.multiply(found, a)
        return found if exponent >= 0 else self.divide(Ratio(ONE), found)

    def parted(self, p: Poly) -> tuple[Fraction, Monomial, Poly]:
        """A number, a monomial and a polynomial that they are the product of, its leading coefficient 1."""
        content = p.content()
        rest = p.shifted(inverse(content))
        coefficient = rest.terms[rest.leading()]
        return coefficient, content, rest.scaled(1 / coefficient)

    def reduced(self, above: Poly, below: Iterable[tuple[Poly, int]] = ()) -> Ratio:
        """The quotient in normal form, common factors cancelled."""
        above = self._related(above)
        left: list[tuple[Poly, int]] = []
        for factor, power in below:
            while power and above:
                quotient = self._quotient(above, factor)
                if quotient is None:
                    break
                above, power = quotient, power - 1
            if power and above:
                left.append((factor, power))
        return Ratio(above, tuple(sorted(left, key=lambda f: sorted(map(str, f[0].terms.items())))))

    def _quotient(self, above: Poly, factor: Poly) -> Poly | None:
        """Exact division: of what has negative powers after they are taken out."""
        self._spend(4 * len(above.terms) * len(factor.terms))
        down = tuple((a, p) for a, p in above.content() if p < 0)
        found = above.shifted(inverse(down)).divided(factor)
        return None if found is None else found.shifted(down)

    def _related(self, p: Poly) -> Poly:
        """With the squares of roots, cosines and truths replaced by what they are."""
        for monomial, coefficient in p.terms.items():
            if self._excluded(monomial):
                return self._related(p - Poly({monomial: coefficient}))
            for atom, power in monomial:
                square = self._square(atom) if power >= 2 else None
                if square is not None:
                    rest = Poly({times(monomial, ((atom, -2),)): coefficient})
                    return self._related(p - Poly({monomial: coefficient}) + rest * square)
        return p

    def _square(self, atom: int) -> Poly | None:
        kind, key = self.keys[atom]
        if kind in (ZERO_AT, ABOVE_AT, TRUE_AT):
            return Poly.atom(atom)
        if kind == COS:
            sine = Poly.atom(self.numbered(SIN, key))
            return ONE - sine * sine
        return key if kind == ROOT and isinstance(key, Poly) else None

    def _excluded(self, monomial: Monomial) -> bool:
        """Whether it asks that something be 0 and positive."""
        zero, above = ({self.keys[a][1] for a, _ in monomial if self.keys[a][0] == k} for k in (ZERO_AT, ABOVE_AT))
        return bool(zero & above)

    def equal(self, a: Ratio, b: Ratio) -> bool:
        """Whether two normal forms are equal."""
        if a.below == b.below:
            return a.above == b.above
        return not self._related(self._product(a.above, over(b.below)) - self._product(b.above, over(a.below)))

    # -- conditions

    def need(self, kind: str, p: Poly) -> None:
        """Remember what must hold."""
        self.needs[Need(kind, p)] = None

    def sign_of(self, a: Ratio) -> Poly:
        """A polynomial with the sign of a quotient, where this has a value."""
        return self._related(a.above * over((f, p % 2) for f, p in a.below))

    def is_positive(self, p: Poly) -> bool:
        """Whether it can be seen to be positive: a sum of squares and exponentials, not all of them 0."""
        return self.is_nonnegative(p) and any(self._positive_monomial(m) for m in p.terms)

    def is_nonnegative(self, p: Poly) -> bool:
        """Whether it can be seen to be no less than 0."""
        return all(c > 0 and all(self._even(a, q) for a, q in m) for m, c in p.terms.items())

    def _positive_monomial(self, m: Monomial) -> bool:
        return all(self.keys[a][0] == EXP for a, _ in m)

    def _even(self, atom: int, power: Power) -> bool:
        return self.keys[atom][0] in (EXP, ROOT, ZERO_AT, ABOVE_AT, TRUE_AT, "absolute") or power % 2 == 0
