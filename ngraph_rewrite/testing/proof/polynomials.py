# SPDX-License-Identifier: Apache-2.0
"""Polynomials with rational coefficients in numbered atoms, whose exponents may be negative or fractions.

They are a normal form: sums and products written in any way are one polynomial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

Power = int | Fraction
# The atoms with their powers, by atom.
Monomial = tuple[tuple[int, Power], ...]
# More terms than this are given up.
MOST = 4000


class TooLarge(Exception):
    """An expression that grows beyond what is worth a proof."""


class Poly:
    """An immutable polynomial.

    >>> x, y = Poly.atom(0), Poly.atom(1)
    >>> (x + y) * (x - y) == x * x - y * y
    True
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {m: c for m, c in terms.items() if c}
        self._hash = hash(frozenset(self.terms.items()))
        if len(self.terms) > MOST:
            raise TooLarge

    @staticmethod
    def number(value: int | Fraction) -> Poly:
        """A constant."""
        return Poly({(): Fraction(value)})

    @staticmethod
    def atom(number: int, power: Power = 1) -> Poly:
        """A power of an atom."""
        return Poly({((number, power),) if power else (): Fraction(1)})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Poly) -> Poly:
        found = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            found[monomial] = found.get(monomial, Fraction(0)) + coefficient
        return Poly(found)

    def __sub__(self, other: Poly) -> Poly:
        return self + other.scaled(-1)

    def __mul__(self, other: Poly) -> Poly:
        if len(self.terms) * len(other.terms) > 16 * MOST:
            raise TooLarge
        found: dict[Monomial, Fraction] = {}
        for m, c in self.terms.items():
            for n, e in other.terms.items():
                product = times(m, n)
                found[product] = found.get(product, Fraction(0)) + c * e
        return Poly(found)

    def __pow__(self, exponent: int) -> Poly:
        found = ONE
        for _ in range(exponent):
            found = found * self
        return found

    def scaled(self, factor: int | Fraction) -> Poly:
        """It times a number."""
        return Poly({m: c * factor for m, c in self.terms.items()})

    def shifted(self, monomial: Monomial) -> Poly:
        """It times a monomial."""
        return Poly({times(m, monomial): c for m, c in self.terms.items()})

    @property
    def constant(self) -> Fraction | None:
        """Its value, if it is a number."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(()) if len(self.terms) == 1 else None

    def leading(self) -> Monomial:
        """The monomial that comes first in an order that products keep."""
        return max(self.terms, key=_dense(atoms_of(self.terms)))

    def content(self) -> Monomial:
        """The least power of each atom in all its terms: what can be taken out."""
        least = {a: min(dict(m).get(a, 0) for m in self.terms) for a in atoms_of(self.terms)}
        return tuple((a, p) for a, p in sorted(least.items()) if p)

    def divided(self, by: Poly) -> Poly | None:
        """The quotient, if nothing remains."""
        first = by.leading()
        rest, found, steps = self, Poly({}), 4 * len(self.terms) + 4
        while rest and steps:
            steps -= 1
            atoms = atoms_of([*rest.terms, *by.terms])
            top = max(rest.terms, key=_dense(atoms))
            quotient = times(top, inverse(first))
            if any(p < 0 for _, p in quotient):
                return None
            part = Poly({quotient: rest.terms[top] / by.terms[first]})
            found, rest = found + part, rest - part * by
        return found if not rest else None


ONE, ZERO = Poly.number(1), Poly.number(0)


def times(m: Monomial, n: Monomial) -> Monomial:
    """The product of two monomials."""
    if not m or not n:
        return m or n
    powers = dict(m)
    for atom, power in n:
        powers[atom] = powers.get(atom, 0) + power
    return tuple((a, p) for a, p in sorted(powers.items()) if p)


def inverse(m: Monomial) -> Monomial:
    """1 / a monomial."""
    return tuple((a, -p) for a, p in m)


def atoms_of(monomials: Iterable[Monomial]) -> list[int]:
    """The atoms in monomials."""
    return sorted({a for m in monomials for a, _ in m})


def _dense(atoms: list[int]):  # type: ignore[no-untyped-def]
    return lambda m: tuple([dict(m).get(a, 0) for a in atoms])


class Ratio(NamedTuple):
    """A polynomial over a product of powers of others, whose leading coefficients are 1."""

    above: Poly
    below: tuple[tuple[Poly, int], ...] = ()

    @staticmethod
    def number(value: int | Fraction) -> Ratio:
        """A constant."""
        return Ratio(Poly.number(value))

    @property
    def constant(self) -> Fraction | None:
        """Its value, if it is a number."""
        return None if self.below else self.above.constant


def over(factors: Iterable[tuple[Poly, int]]) -> Poly:
    """The product of powers."""
    found = ONE
    for factor, power in factors:
        found = found * factor**power
    return found
